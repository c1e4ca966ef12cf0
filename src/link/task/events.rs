//! What a task stream tells, for those who want no rows: the texts of its frames go in, and what is new of them comes
//! out as an event of four kinds, beside the tokens that the task has used. An event comes once, however often and from
//! how far back an attach replays it.

use std::borrow::Cow;

use super::answers::data_text;
use super::seen::{SeenFrames, is_dated, key};
use crate::json::{JsonWriter, Tape, Value};
use crate::limits::TURN_FRAMES;
use crate::wire::error_words;

/// Reads the frames of one task, one connection after the other.
///
/// ```
/// use chatrows::TaskEvents;
/// let mut events = TaskEvents::default();
/// let frame = r#"{"type":"task-running","kind":"acp_event","timestamp":7,"data":{"type":"usage_update","total_tokens":9}}"#;
/// assert_eq!(events.frame(frame).unwrap(), r#"{"type":"acp","data":{"type":"usage_update","total_tokens":9}}"#);
/// assert_eq!(events.frame(frame), None); // not new
/// assert_eq!(events.usage_json(), r#"{"input_tokens":0,"output_tokens":0,"total_tokens":9}"#);
/// let failed = r#"{"type":"task-error","timestamp":8,"data":"{\"error\":\"no model\"}"}"#;
/// assert_eq!(events.frame(failed).unwrap(), r#"{"type":"task-error","data":"no model"}"#);
/// ```
#[derive(Debug, Default)]
pub struct TaskEvents {
    told: Told,
    usage: [u64; 3],
    tape: Tape,
    data_tape: Tape,
}

/// The numbers of a usage record.
const USAGE: [&str; 3] = ["input_tokens", "output_tokens", "total_tokens"];

/// What has come of the task so far.
#[derive(Debug)]
struct Told {
    seen: SeenFrames,
    /// The keys of the turn's frames that nothing but their place tells from others, in order.
    undated: Vec<u64>,
    /// So many of them have come on this connection: where it is fewer, a replay goes on.
    place: usize,
    /// The turn has ended: what begins now is another one.
    is_over: bool,
}

impl Default for Told {
    fn default() -> Self {
        Told { seen: SeenFrames::new(TURN_FRAMES), undated: Vec::new(), place: 0, is_over: false }
    }
}

impl Told {
    /// Whether a frame of the turn has not come before, on this connection or an earlier one.
    fn is_new(&mut self, frame: Value<'_>, name: &str) -> bool {
        let is_dated = is_dated(frame);
        let key = key(frame);
        if is_dated && !self.seen.insert(key) {
            return false;
        }
        if !is_dated && self.undated.get(self.place) == Some(&key) {
            self.place += 1;
            return false;
        }
        // A replay that says something else is one of another turn. What comes late is of the turn that ended.
        let begins = self.is_over && matches!(name, "user-input" | "task-started");
        if begins || self.place < self.undated.len() {
            self.undated.clear();
            self.is_over = false;
        }
        if !is_dated && self.undated.len() < TURN_FRAMES {
            self.undated.push(key);
        }
        self.place = self.undated.len();
        self.is_over |= name == "task-ended";
        true
    }
}

impl TaskEvents {
    /// The connection was lost and is there again: what comes now repeats the latest turn from its start, be it the one
    /// known here or one that began meanwhile. A frame with a `seq` or a `timestamp` is known again by its key, others by
    /// their places in the turn, as long as they say the same.
    pub fn attached_again(&mut self) {
        self.told.place = 0;
    }

    /// A frame. The event is an object as JSON text: its `type` is `task-started` or `task-ended`, with empty `data`;
    /// `acp`, with what the agent told, nested or flat as it came; or `task-error`, with its words.
    pub fn frame(&mut self, text: &str) -> Option<String> {
        let record = self.tape.read(text).ok()?;
        let frame = record.root();
        let name = frame.get("type").str().or(frame.get("event").str())?.text();
        // Of the others a replay need not show each.
        let is_of_turn =
            matches!(&*name, "user-input" | "task-running" | "task-started" | "task-ended" | "task-error" | "error");
        if !is_of_turn || !self.told.is_new(frame, &name) {
            return None;
        }
        let data = frame.get("data");
        let text = data_text(data);
        let read = self.data_tape.read(&text);
        let value = read.as_ref().map_or(Value::ABSENT, |read| read.root());
        let mut json = JsonWriter::default();
        let kind = match &*name {
            "task-running" if frame.get("kind").str().is_some_and(|kind| kind == *"acp_event") => {
                let update = Some(value.get("update")).filter(|update| update.is_object()).unwrap_or(value);
                count_tokens(update, &mut self.usage);
                if !value.is_object() {
                    return None;
                }
                json.raw(value.raw());
                "acp"
            }
            "task-started" | "task-ended" => {
                json.object(|_| {});
                if &*name == "task-started" { "task-started" } else { "task-ended" }
            }
            "task-error" | "error" => {
                json.string(&match () {
                    () if value.exists() && !value.is_null() => error_words(value),
                    () if data.str().is_some() => Cow::Borrowed(&*text),
                    () => Cow::Borrowed(""),
                });
                "task-error"
            }
            _ => return None,
        };
        let mut event = JsonWriter::default();
        event.object(|event| {
            event.key("type").string(kind);
            event.key("data").raw(&json.into_string());
        });
        Some(event.into_string())
    }

    /// The tokens that the updates told of, as JSON: `input_tokens`, `output_tokens` and `total_tokens`, each 0 until one
    /// was told.
    pub fn usage_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| USAGE.iter().zip(self.usage).for_each(|(name, count)| json.key(name).number(count)));
        json.into_string()
    }
}

/// Each number that is not zero takes the place of the one before.
fn count_tokens(update: Value<'_>, usage: &mut [u64; 3]) {
    let kind = update.get("sessionUpdate").str().or(update.get("type").str());
    if kind.is_some_and(|kind| kind == *"usage_update") {
        for (name, count) in USAGE.iter().zip(usage) {
            *count = update.get(name).u64().filter(|told| *told > 0).unwrap_or(*count);
        }
    }
}
