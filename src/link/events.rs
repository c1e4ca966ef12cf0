//! What a task stream tells, for those who want no rows: the texts of its frames go in, and what is new of them comes
//! out as an event of four kinds, beside the tokens that the task has used. An event comes once, however often and from
//! how far back an attach replays it.

use super::answers::data_text;
use super::seen::SeenFrames;
use crate::json::{JsonWriter, Tape, Value};
use crate::limits::SEEN_FRAMES;

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
#[derive(Debug)]
pub struct TaskEvents {
    seen: SeenFrames,
    /// Frames of the turn that were new.
    taken: usize,
    /// So many of a replay are to come that were taken before. Only counted where it is longer than what was seen.
    repeated: usize,
    usage: [u64; 3],
    tape: Tape,
    data_tape: Tape,
}

/// The numbers of a usage record.
const USAGE: [&str; 3] = ["input_tokens", "output_tokens", "total_tokens"];

impl Default for TaskEvents {
    fn default() -> Self {
        TaskEvents {
            seen: SeenFrames::new(SEEN_FRAMES),
            taken: 0,
            repeated: 0,
            usage: [0; 3],
            tape: Tape::default(),
            data_tape: Tape::default(),
        }
    }
}

impl TaskEvents {
    /// The connection was lost and is there again: what comes now repeats the turn from its start.
    pub fn attached_again(&mut self) {
        self.repeated = if self.taken > SEEN_FRAMES { self.taken } else { 0 };
    }

    /// A frame. The event is an object as JSON text: its `type` is `task-started` or `task-ended`, with empty `data`;
    /// `acp`, with what the agent told, nested or flat as it came; or `task-error`, with its words.
    pub fn frame(&mut self, text: &str) -> Option<String> {
        let record = self.tape.read(text).ok()?;
        let frame = record.root();
        let name = frame.get("type").str().or(frame.get("event").str())?.text();
        if matches!(&*name, "ping" | "cursor") || !self.seen.is_new(frame) {
            return None;
        }
        if self.repeated > 0 {
            self.repeated -= 1;
            return None;
        }
        self.taken += 1;
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
                let said = [value, value.get("error"), value.get("message"), value.get("details"), data];
                let words = said.into_iter().find_map(Value::str).map(|words| words.text());
                json.string(&words.unwrap_or_default());
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
