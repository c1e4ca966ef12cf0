//! What a task does, as data: the turns that its agent plays, how the wire
//! looks, and what goes wrong on the way. A test writes a [`Script`] in Rust; a
//! page posts the same as JSON, where every field but those it needs is left out.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::scene;

/// A task. A record is a frame of the task's log, counted from 0 (the echo of
/// the first input); pings and cursors are no records.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The task's id; the server makes one up where it is absent.
    pub id: Option<String>,
    /// What is played after each user input that opens a turn; the last also
    /// answers every later one. [`Step::End`] is understood at the end of each.
    pub turns: Vec<Vec<Step>>,
    /// Inputs that were given, and answered, before anyone dials. Their turns wait for nobody.
    pub past: Vec<String>,
    /// Played after a cancel, before `task-ended`: an agent's late updates.
    pub on_cancel: Vec<Step>,
    /// Every [`Step::Delay`] is multiplied by it.
    pub pace: f64,
    /// 0: never.
    pub ping_ms: u64,
    pub wire: Wire,
    /// In the place of the server's own clock.
    pub clock: Option<Clock>,
    /// What the first dials are answered with.
    pub refuse: Vec<Refusal>,
    /// Each happens once: of two at one place, the second on the next connection.
    pub cuts: Vec<Cut>,
    pub repeat: Repeat,
    /// Each of these records is sent after the one that follows it. In a replay
    /// all stand in order again, as a store has them.
    pub swap: Vec<usize>,
}

impl Default for Script {
    /// The live scene, on a line without faults.
    fn default() -> Script {
        Script {
            id: None,
            turns: scene::turns(),
            past: Vec::new(),
            on_cancel: Vec::new(),
            pace: 1.0,
            ping_ms: 10_000,
            wire: Wire::default(),
            clock: None,
            refuse: Vec::new(),
            cuts: Vec::new(),
            repeat: Repeat::default(),
            swap: Vec::new(),
        }
    }
}

impl Script {
    /// A task that plays these turns.
    pub fn of(turns: impl Into<Vec<Vec<Step>>>) -> Script {
        Script { turns: turns.into(), ..Script::default() }
    }

    pub(super) fn delay(&self, ms: u64) -> Duration {
        // Out of range where the pace is: no delay.
        Duration::try_from_secs_f64(Duration::from_millis(ms).as_secs_f64() * self.pace).unwrap_or_default()
    }
}

/// What an agent does next. In JSON a variant without content is a string
/// (`"hang"`), any other an object of one key (`{"text": "Hello"}`).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A chunk of the answer. In it and in a thought, `{input}` stands for the
    /// last user input, `{answer}` for the labels of the last answer.
    Text(String),
    Thought(String),
    /// The fields of an ACP update, `sessionUpdate` aside.
    ToolCall(Value),
    ToolCallUpdate(Value),
    /// The plan's entries.
    Plan(Value),
    /// `{used, size}`, or the token counts of the flat shape.
    Usage(Value),
    /// The commands, as a list.
    Commands(Value),
    /// Any other ACP update, in full.
    Update(Value),
    /// Any other frame.
    Frame {
        #[serde(rename = "type")]
        name: String,
        #[serde(default)]
        kind: String,
        #[serde(default)]
        data: Option<Value>,
    },
    /// A question; waits for its answer, as [`Step::Reply`] does.
    Ask {
        id: String,
        questions: Value,
    },
    /// Waits for the answer to a question that was asked in another way, and echoes it.
    Reply(String),
    /// Waits for another user input within the turn, and echoes it.
    Input,
    /// Waits until the client has said `auto-approve`.
    Approval,
    /// Milliseconds.
    Delay(u64),
    /// Waits for ever; a cancel or a stop ends the turn all the same.
    Hang,
    /// `task-error`; the turn goes on.
    Error(String),
    /// A text frame that is no envelope. It stands in the log as a record.
    Garbage(String),
    /// The same in a binary frame.
    GarbageBytes(Vec<u8>),
    /// `task-ended` with this data; what follows is not played.
    End(Option<Value>),
}

/// How frames are written.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wire {
    /// Whether frames are numbered, from 1; the echo of an input never is.
    pub seq: bool,
    pub data: DataForm,
    pub name: NameForm,
    pub events: EventShape,
    pub time: TimeUnit,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire {
            seq: true,
            data: DataForm::default(),
            name: NameForm::default(),
            events: EventShape::default(),
            time: TimeUnit::default(),
        }
    }
}

/// What `data` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataForm {
    /// Base64 of JSON text.
    #[default]
    Base64,
    /// JSON text.
    Text,
    /// The value itself.
    Inline,
}

/// The field that names a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameForm {
    #[default]
    Type,
    Event,
}

/// What an agent's event looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventShape {
    /// `{update: {sessionUpdate, …}}`, as ACP has it.
    #[default]
    Nested,
    /// `{type, text | tool_name | …}`, as the protocol was first described.
    Flat,
}

/// The unit of `timestamp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    S,
    #[default]
    Ms,
    Us,
    Ns,
}

/// A clock that goes on with each record.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Since 1970.
    pub start_ms: u64,
    #[serde(default)]
    pub step_ms: u64,
}

/// Which records are sent twice.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Repeat {
    /// All or none: `true`, `false`.
    Each(bool),
    /// These.
    Records(Vec<usize>),
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat::Each(false)
    }
}

impl Repeat {
    pub(super) fn includes(&self, record: usize) -> bool {
        match self {
            Repeat::Each(all) => *all,
            Repeat::Records(records) => records.contains(&record),
        }
    }
}

/// How a dial fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "RefusalForm")]
pub enum Refusal {
    /// `403`: an HTTP answer of this status.
    Status(u16),
    /// `"reset"`: no answer, the TCP connection is reset.
    Reset,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RefusalForm {
    Status(u16),
    Word(ResetWord),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResetWord {
    Reset,
}

impl From<RefusalForm> for Refusal {
    fn from(form: RefusalForm) -> Refusal {
        match form {
            RefusalForm::Status(status) => Refusal::Status(status),
            RefusalForm::Word(ResetWord::Reset) => Refusal::Reset,
        }
    }
}

/// How a line is lost, and what the dials after it meet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Loss {
    /// The code of a closing handshake; absent: the TCP connection just ends.
    pub close: Option<u16>,
    /// What so many of the next dials are answered with.
    pub refuse: Vec<Refusal>,
    /// The server has gone for good: every later dial is reset.
    pub gone: bool,
}

/// A place at which the line is lost: `{"record": 3, "at": "inside"}`.
#[derive(Clone, Debug, Deserialize)]
pub struct Cut {
    pub record: usize,
    pub at: CutAt,
    #[serde(flatten)]
    pub loss: Loss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutAt {
    Before,
    /// Half of the record's frame is sent; `close` means nothing here.
    Inside,
    After,
}
