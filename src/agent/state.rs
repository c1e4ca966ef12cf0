//! The state of an agent as its events tell it: whether it is at work, the message that streams, all messages, the calls
//! that run, and what went wrong. One event goes in, what it changed comes out; the cost of an event does not grow with
//! the number of messages. Facts: agent-events.md §2.

use crate::json::{Half, JsonStr, JsonWriter, Raw, ReadError, Tape, Value};
use crate::sorted::{Keyed, Sorted};

/// The state.
///
/// ```
/// use chatrows::AgentState;
/// let mut state = AgentState::default();
/// state.push(r#"{"type":"agent_start"}"#).unwrap();
/// assert!(state.is_streaming());
/// let said = r#"{"role":"user","content":"hello"}"#;
/// let change = state.push(&format!(r#"{{"type":"message_end","message":{said}}}"#)).unwrap();
/// assert!(change.message && !change.is_streaming);
/// assert_eq!(state.messages().last(), Some(said));
/// ```
#[derive(Debug, Default)]
pub struct AgentState {
    is_streaming: bool,
    streaming: Option<Streaming>,
    messages: Vec<Raw>,
    pending: Sorted<Pending>,
    /// Calls that began so far.
    began: u64,
    error: Option<String>,
    tape: Tape,
}

/// A call that runs.
#[derive(Debug)]
struct Pending {
    id: Box<str>,
    /// Which it was of all that began.
    number: u64,
}

impl Keyed for Pending {
    fn key(&self) -> &str {
        &self.id
    }
}

/// What an event changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentStateChange {
    /// Whether the agent is at work.
    pub is_streaming: bool,
    /// The message that streams: it began, went on, or is none any more.
    pub streaming_message: bool,
    /// There is one more message: the last.
    pub message: bool,
    /// The calls that run.
    pub pending_tool_calls: bool,
    /// What went wrong.
    pub error_message: bool,
}

impl AgentStateChange {
    /// Whether anything changed.
    pub fn any(self) -> bool {
        self != AgentStateChange::default()
    }
}

/// The message that streams, as far as it is known.
#[derive(Debug, PartialEq)]
enum Streaming {
    /// The wire repeats all of it.
    Whole(Raw),
    /// The wire tells what is new of it.
    Parts {
        /// Its members but for the content, each with its comma.
        head: String,
        parts: Vec<Part>,
        /// A character of which the next delta of this place has the other half.
        half: (usize, Half),
    },
}

#[derive(Debug, PartialEq)]
enum Part {
    /// A place that nothing was said of.
    Nothing,
    Text(String),
    Thinking(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// The wire said all of it.
    Known(Raw),
}

impl AgentState {
    /// Takes one event: a JSON object. What is no event of an agent changes nothing.
    ///
    /// # Errors
    /// Where the text is no JSON.
    pub fn push(&mut self, event: &str) -> Result<AgentStateChange, ReadError> {
        let mut tape = std::mem::take(&mut self.tape);
        let change = tape.read(event).map(|record| self.reduce(record.root()));
        self.tape = tape;
        change
    }

    fn reduce(&mut self, event: Value<'_>) -> AgentStateChange {
        let mut change = AgentStateChange::default();
        let kind = event.get("type").str().map(JsonStr::text).unwrap_or_default();
        let message = event.get("message");
        match &*kind {
            "agent_start" => {
                change.is_streaming = !std::mem::replace(&mut self.is_streaming, true);
                change.streaming_message = self.streaming.take().is_some();
                change.error_message = self.error.take().is_some();
            }
            "message_start" => {
                self.streaming = Some(Streaming::begun(message));
                change.streaming_message = true;
            }
            "message_update" => {
                change.streaming_message = match message.is_object() {
                    true => self.stream(Streaming::Whole(Raw::of(message))),
                    false => self.advance(event.get("assistantMessageEvent")),
                };
            }
            "message_end" => {
                change.streaming_message = self.streaming.take().is_some();
                self.messages.push(Raw::of(message));
                change.message = true;
            }
            "tool_execution_start" => change.pending_tool_calls = self.begin_call(event.get("toolCallId")),
            "tool_execution_end" => change.pending_tool_calls = self.end_call(event.get("toolCallId")),
            "turn_end" => {
                let failed = message.get("errorMessage").str().filter(|_| is_assistant(message));
                if let Some(failed) = failed.map(|words| words.text().into_owned()).filter(|words| !words.is_empty()) {
                    change.error_message = self.error.as_ref() != Some(&failed);
                    self.error = Some(failed);
                }
            }
            "agent_end" => {
                change.streaming_message = self.streaming.take().is_some();
                // A wire that says whether the run is tried again says when it is over, too; on the others this is it.
                if !event.get("willRetry").exists() {
                    return self.finish(change);
                }
            }
            "agent_settled" | "settled" => return self.finish(change),
            _ => {}
        }
        change
    }

    /// The run is over, on a wire that does not say so.
    pub fn finish_run(&mut self) -> AgentStateChange {
        self.finish(AgentStateChange::default())
    }

    fn finish(&mut self, mut change: AgentStateChange) -> AgentStateChange {
        change.is_streaming |= std::mem::take(&mut self.is_streaming);
        change.streaming_message |= self.streaming.take().is_some();
        change.pending_tool_calls |= !std::mem::take(&mut self.pending).is_empty();
        change
    }

    fn stream(&mut self, now: Streaming) -> bool {
        let now = Some(now);
        let differs = self.streaming != now;
        self.streaming = now;
        differs
    }

    fn begin_call(&mut self, id: Value<'_>) -> bool {
        let Some(id) = id.str().map(JsonStr::text) else { return false };
        let (number, before) = (self.began, self.pending.len());
        self.began += 1;
        self.pending.get_or_insert(&id, || Pending { id: (&*id).into(), number });
        self.pending.len() != before
    }

    fn end_call(&mut self, id: Value<'_>) -> bool {
        id.str().is_some_and(|id| self.pending.remove(&id.text()).is_some())
    }

    /// An event about one part of the message that streams.
    fn advance(&mut self, event: Value<'_>) -> bool {
        let kind = event.get("type").str().map(JsonStr::text).unwrap_or_default();
        let Some((of, step)) = kind.split_once('_') else { return false };
        let Some(index) = event.get("contentIndex").u64().and_then(|index| usize::try_from(index).ok()) else {
            return false;
        };
        if let Some(Streaming::Whole(known)) = &self.streaming {
            let mut tape = Tape::default();
            let known = tape.read(known.as_str()).ok().filter(|known| is_assistant(known.root()));
            self.streaming = known.map(|known| Streaming::parts(known.root()));
        }
        let nothing = || Streaming::Parts {
            head: r#""role":"assistant","#.to_owned(),
            parts: Vec::new(),
            half: Default::default(),
        };
        let Streaming::Parts { parts, half, .. } = self.streaming.get_or_insert_with(nothing) else { return false };
        // A message has no more parts than that; one that says it does is no message.
        if index >= crate::limits::OPEN_BLOCKS {
            return false;
        }
        while parts.len() <= index {
            parts.push(Part::Nothing);
        }
        let part = &mut parts[index];
        let text = |name: &str| event.get(name).str().map(|text| text.text().into_owned());
        match (of, step) {
            ("text", "start") => *part = Part::Text(String::new()),
            ("thinking", "start") => *part = Part::Thinking(String::new()),
            ("text", "end") => text("content").into_iter().for_each(|whole| *part = Part::Text(whole)),
            ("thinking", "end") => text("content").into_iter().for_each(|whole| *part = Part::Thinking(whole)),
            ("toolcall", "start") => {
                let (id, name) = (text("id").unwrap_or_default(), text("toolName").unwrap_or_default());
                *part = Part::Call { id, name, arguments: String::new() };
            }
            ("toolcall", "end") if event.get("toolCall").is_object() => {
                *part = Part::Known(Raw::of(event.get("toolCall")))
            }
            (_, "delta") => {
                if half.0 != index {
                    *half = (index, Half::default());
                }
                let mut more = String::new();
                event.get("delta").str().into_iter().for_each(|delta| delta.decode_into(&mut more, &mut half.1));
                part.grow(of, &more);
                return true;
            }
            _ => return false,
        }
        *half = Default::default();
        true
    }

    /// Whether the agent is at work.
    pub fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    /// The message that streams, as JSON text: on a wire that tells what is new of it, put together from that.
    pub fn streaming_message(&self) -> Option<String> {
        Some(match self.streaming.as_ref()? {
            Streaming::Whole(message) => message.as_str().to_owned(),
            Streaming::Parts { head, parts, .. } => {
                let content = Raw::written(|json| json.array(|json| parts.iter().for_each(|part| part.write(json))));
                ["{", head, r#""content":"#, content.as_str(), "}"].concat()
            }
        })
    }

    /// All messages that have ended, oldest first, as JSON text.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.messages.iter().map(Raw::as_str)
    }

    /// The ids of the calls that run, in the order in which they began.
    pub fn pending_tool_calls(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut pending: Vec<&Pending> = self.pending.iter().collect();
        pending.sort_by_key(|call| call.number);
        pending.into_iter().map(|call| &*call.id)
    }

    /// What went wrong in this run, an abort included.
    pub fn error_message(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The properties that `which` names, as a JSON object: of the messages only the new one, as `message`.
    pub fn change_json(&self, which: AgentStateChange) -> String {
        self.write(which, |json| json.key("message").raw(self.messages.last().map_or("null", Raw::as_str)))
    }

    /// All of it as a JSON object: `isStreaming`, `streamingMessage` (or null), `messages`, `pendingToolCalls` and
    /// `errorMessage` (or null).
    pub fn to_json(&self) -> String {
        let all = AgentStateChange {
            is_streaming: true,
            streaming_message: true,
            message: true,
            pending_tool_calls: true,
            error_message: true,
        };
        self.write(all, |json| {
            json.key("messages").array(|json| self.messages().for_each(|message| json.raw(message)));
        })
    }

    fn write(&self, which: AgentStateChange, messages: impl Fn(&mut JsonWriter)) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| {
            if which.is_streaming {
                json.key("isStreaming").bool(self.is_streaming);
            }
            if which.streaming_message {
                json.key("streamingMessage").raw(self.streaming_message().as_deref().unwrap_or("null"));
            }
            if which.message {
                messages(json);
            }
            if which.pending_tool_calls {
                json.key("pendingToolCalls").array(|json| self.pending_tool_calls().for_each(|id| json.string(id)));
            }
            if which.error_message {
                match self.error_message() {
                    Some(words) => json.key("errorMessage").string(words),
                    None => json.key("errorMessage").null(),
                }
            }
        });
        json.into_string()
    }
}

impl Streaming {
    /// An assistant's message streams from nothing, whatever it holds when it begins: that comes again.
    fn begun(message: Value<'_>) -> Streaming {
        let ends = message.get("stopReason").str().is_some_and(|reason| reason.raw() != "pending");
        if !is_assistant(message) || ends {
            return Streaming::Whole(Raw::of(message));
        }
        Streaming::parts(message)
    }

    /// A message of which what it holds is still to come.
    fn parts(message: Value<'_>) -> Streaming {
        let mut head = String::new();
        for (name, value) in message.members().filter(|(name, _)| name.text() != "content") {
            head.push_str(&["\"", name.raw(), "\":", value.raw(), ","].concat());
        }
        Streaming::Parts { head, parts: Vec::new(), half: Default::default() }
    }
}

impl Part {
    fn grow(&mut self, of: &str, more: &str) {
        if *self == Part::Nothing {
            *self = match of {
                "text" => Part::Text(String::new()),
                "thinking" => Part::Thinking(String::new()),
                _ => Part::Call { id: String::new(), name: String::new(), arguments: String::new() },
            };
        }
        match self {
            Part::Text(text) | Part::Thinking(text) | Part::Call { arguments: text, .. } => text.push_str(more),
            Part::Nothing | Part::Known(_) => {}
        }
    }

    fn write(&self, json: &mut JsonWriter) {
        match self {
            Part::Nothing => write_part(json, "text", "text", ""),
            Part::Text(text) => write_part(json, "text", "text", text),
            Part::Thinking(text) => write_part(json, "thinking", "thinking", text),
            Part::Known(raw) => json.raw(raw.as_str()),
            Part::Call { id, name, arguments } => json.object(|json| {
                json.key("type").string("toolCall");
                json.key("id").string(id);
                json.key("name").string(name);
                // Half an object is none.
                let is_whole = Tape::default().read(arguments).is_ok_and(|read| read.root().is_object());
                json.key("arguments").raw(if is_whole { arguments } else { "{}" });
            }),
        }
    }
}

fn write_part(json: &mut JsonWriter, kind: &str, name: &str, text: &str) {
    json.object(|json| {
        json.key("type").string(kind);
        json.key(name).string(text);
    });
}

fn is_assistant(message: Value<'_>) -> bool {
    message.get("role").str().is_some_and(|role| role.raw() == "assistant")
}
