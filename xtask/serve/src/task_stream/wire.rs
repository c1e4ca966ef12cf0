//! The task stream's frames: records of a task's log in, text for the socket
//! or for a page of history out; and what clients send, read in each form that
//! the real server takes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::script::{DataForm, EventShape, NameForm, TimeUnit, Wire};

/// One entry of a task's log.
#[derive(Debug)]
pub(super) enum Record {
    Frame(Frame),
    Text(String),
    Binary(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) data: Option<Value>,
    pub(super) seq: Option<u64>,
    /// Nanoseconds since 1970, no two alike in a task.
    pub(super) time: u64,
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    data: Value,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_seq: Option<usize>,
    timestamp: u64,
}

impl Frame {
    /// As the socket carries it.
    pub(super) fn text(&self, wire: &Wire) -> String {
        let timestamp = self.time
            / match wire.time {
                TimeUnit::S => 1_000_000_000,
                TimeUnit::Ms => 1_000_000,
                TimeUnit::Us => 1_000,
                TimeUnit::Ns => 1,
            };
        let envelope = Envelope {
            name: (wire.name == NameForm::Type).then_some(&self.name),
            event: (wire.name == NameForm::Event).then_some(&self.name),
            data: self.data(wire),
            kind: &self.kind,
            seq: self.seq,
            turn_seq: None,
            timestamp,
        };
        serde_json::to_string(&envelope).expect("an envelope")
    }

    /// As a page of history carries it: `event`, and nanoseconds.
    pub(super) fn entry(&self, wire: &Wire, turn: usize) -> Value {
        let envelope = Envelope {
            name: None,
            event: Some(&self.name),
            data: self.data(wire),
            kind: &self.kind,
            seq: self.seq,
            turn_seq: Some(turn),
            timestamp: self.time,
        };
        serde_json::to_value(envelope).expect("an entry")
    }

    fn data(&self, wire: &Wire) -> Value {
        let Some(data) = &self.data else { return Value::Null };
        // As first described, all data is JSON text but a question's.
        let question = self.kind == ASK && wire.events == EventShape::Flat;
        match wire.data {
            DataForm::Inline => data.clone(),
            DataForm::Text if !question => Value::String(data.to_string()),
            DataForm::Text | DataForm::Base64 => Value::String(STANDARD.encode(data.to_string())),
        }
    }
}

pub(super) const EVENT: &str = "acp_event";
pub(super) const ASK: &str = "acp_ask_user_question";

/// The server's heartbeat.
pub(super) fn ping(wire: &Wire) -> String {
    Frame { name: "ping".into(), kind: String::new(), data: None, seq: None, time: 0 }.text(wire)
}

/// The data of an agent's event. `update` has its `sessionUpdate`.
pub(super) fn event(update: Value, shape: EventShape) -> Value {
    match (shape, update) {
        (EventShape::Nested, update) => json!({ "update": update }),
        (EventShape::Flat, Value::Object(update)) => flat(update),
        (EventShape::Flat, other) => other,
    }
}

/// The names of the flat shape for those of ACP.
fn flat(update: Map<String, Value>) -> Value {
    let mut event = Map::new();
    for (name, value) in update {
        let (name, value) = match (name.as_str(), value) {
            ("sessionUpdate", value) => ("type", value),
            ("content", Value::Object(mut block)) if block.contains_key("text") => ("text", block["text"].take()),
            ("title", value) => ("tool_name", value),
            ("rawInput", Value::String(input)) => ("tool_input", Value::String(input)),
            ("rawInput", value) => ("tool_input", Value::String(value.to_string())),
            ("entries", value) => ("steps", value),
            ("availableCommands", value) => ("commands", value),
            (_, value) => (name.as_str(), value),
        };
        event.insert(name.to_owned(), value);
    }
    Value::Object(event)
}

/// The data of a question.
pub(super) fn question(id: &str, questions: &Value, shape: EventShape) -> Value {
    match shape {
        EventShape::Nested => json!({ "toolCall": { "toolCallId": id, "rawInput": { "questions": questions } } }),
        EventShape::Flat => json!({ "request_id": id, "questions": questions }),
    }
}

/// What a user has said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct UserInput {
    /// In plain text.
    pub(super) content: String,
    pub(super) attachments: Value,
}

impl UserInput {
    pub(super) fn of(content: impl Into<String>) -> UserInput {
        UserInput { content: content.into(), attachments: json!([]) }
    }

    /// The data of its echo: the text is in base64, and all of it is again in the envelope.
    pub(super) fn echo(&self) -> Value {
        json!({ "content": STANDARD.encode(&self.content), "attachments": self.attachments })
    }

    /// Base64 of JSON with the text in base64 or, where `encoding` says so,
    /// plain; base64 of plain text; plain text.
    fn read(data: &Value) -> UserInput {
        let plain =
            || UserInput::of(data.as_str().map_or_else(String::new, |text| decoded(text).unwrap_or(text.into())));
        let Value::Object(mut fields) = opened(data) else { return plain() };
        let content = fields.get("content").and_then(Value::as_str).unwrap_or_default();
        let in_base64 = fields.get("encoding").is_none_or(|encoding| encoding != "plaintext");
        let content = decoded(content).filter(|_| in_base64).unwrap_or_else(|| content.to_owned());
        UserInput { content, attachments: fields.remove("attachments").unwrap_or_else(|| json!([])) }
    }
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) data: Value,
}

impl Reply {
    /// What was chosen, for a text that speaks of it.
    pub(super) fn labels(&self) -> String {
        let answers = self.data["answers_json"].as_str().and_then(|text| serde_json::from_str(text).ok());
        let Some(Value::Object(answers)) = answers else { return String::new() };
        let labels = answers.values().flat_map(|answer| match answer {
            Value::Array(labels) => labels.as_slice(),
            label => std::slice::from_ref(label),
        });
        labels.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// What a client sends that the task acts on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sent {
    Input(UserInput),
    Reply(Reply),
    Cancel,
    Stop,
    AutoApprove(bool),
}

/// A client's frame: its type and its data, decoded, and what the task makes of it.
pub(super) fn read(text: &str) -> (String, Value, Option<Sent>) {
    let frame: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(name) = frame["type"].as_str() else { return ("unreadable".into(), text.into(), None) };
    let data = &frame["data"];
    let (data, sent) = match name {
        "user-input" => {
            let input = UserInput::read(data);
            (json!(input), Some(Sent::Input(input)))
        }
        "reply-question" => {
            let data = opened(data);
            let id = data["request_id"].as_str().unwrap_or_default().to_owned();
            (data.clone(), Some(Sent::Reply(Reply { id, data })))
        }
        "user-cancel" => (opened(data), Some(Sent::Cancel)),
        "user-stop" => (opened(data), Some(Sent::Stop)),
        "auto-approve" => (opened(data), Some(Sent::AutoApprove(true))),
        "disable-auto-approve" => (opened(data), Some(Sent::AutoApprove(false))),
        _ => (opened(data), None),
    };
    (name.to_owned(), data, sent)
}

/// The value in `data`: base64 of JSON, JSON text, or itself.
fn opened(data: &Value) -> Value {
    let Value::String(text) = data else { return data.clone() };
    let json = decoded(text).and_then(|json| serde_json::from_str(&json).ok());
    json.or_else(|| serde_json::from_str(text).ok()).unwrap_or_else(|| data.clone())
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_input(data: Value, content: &str) {
        let (name, read, sent) = read(&json!({ "type": "user-input", "data": data }).to_string());
        assert_eq!((name.as_str(), &read["content"]), ("user-input", &json!(content)));
        assert!(matches!(sent, Some(Sent::Input(input)) if input.content == content));
    }

    #[test]
    fn an_input_is_read_in_each_form_that_the_server_takes() {
        let twice = STANDARD.encode(json!({ "content": STANDARD.encode("héllo 🦀 你好") }).to_string());
        check_input(json!(twice), "héllo 🦀 你好");
        check_input(json!({ "content": STANDARD.encode("inline") }), "inline");
        check_input(json!(json!({ "content": STANDARD.encode("JSON text") }).to_string()), "JSON text");
        let plaintext = json!({ "content": "cGxhaW4=", "encoding": "plaintext" });
        check_input(json!(STANDARD.encode(plaintext.to_string())), "cGxhaW4=");
        check_input(json!(STANDARD.encode("legacy bytes")), "legacy bytes");
        check_input(json!("plain text"), "plain text");
    }

    #[test]
    fn what_is_no_envelope_is_kept_as_it_came() {
        assert_eq!(read("{"), ("unreadable".into(), json!("{"), None));
        assert_eq!(read("[1]"), ("unreadable".into(), json!("[1]"), None));
    }

    #[track_caller]
    fn check_labels(answers_json: &str, labels: &str) {
        let reply = Reply { id: String::new(), data: json!({ "answers_json": answers_json }) };
        assert_eq!(reply.labels(), labels);
    }

    #[test]
    fn an_answer_has_the_labels_that_were_chosen() {
        check_labels(r#"{"Which?":"A"}"#, "A");
        check_labels(r#"{"Which?":["A","B"]}"#, "A, B");
        check_labels("", "");
    }

    #[track_caller]
    fn check_text(wire: Wire, expected: &str) {
        let frame = Frame {
            name: "task-running".into(),
            kind: EVENT.into(),
            data: Some(json!({ "a": 1 })),
            seq: wire.seq.then_some(7),
            time: 1_700_000_000_123_456_789,
        };
        assert_eq!(frame.text(&wire), expected);
    }

    #[test]
    fn a_frame_is_written_as_the_wire_says() {
        let real =
            r#"{"type":"task-running","data":"eyJhIjoxfQ==","kind":"acp_event","seq":7,"timestamp":1700000000123}"#;
        check_text(Wire::default(), real);
        let other = Wire {
            seq: false,
            data: DataForm::Text,
            name: NameForm::Event,
            events: EventShape::Flat,
            time: TimeUnit::Ns,
        };
        let text = r#"{"event":"task-running","data":"{\"a\":1}","kind":"acp_event","timestamp":1700000000123456789}"#;
        check_text(other.clone(), text);
        let inline = r#"{"event":"task-running","data":{"a":1},"kind":"acp_event","timestamp":1700000000}"#;
        check_text(Wire { data: DataForm::Inline, time: TimeUnit::S, ..other }, inline);
    }

    #[test]
    fn a_flat_event_has_the_names_of_the_first_description() {
        let flat = |update| event(update, EventShape::Flat);
        assert_eq!(
            flat(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Hi" } })),
            json!({ "type": "agent_message_chunk", "text": "Hi" })
        );
        assert_eq!(
            flat(json!({ "sessionUpdate": "tool_call", "title": "bash", "rawInput": { "command": "ls" } })),
            json!({ "type": "tool_call", "tool_name": "bash", "tool_input": "{\"command\":\"ls\"}" })
        );
        assert_eq!(flat(json!({ "sessionUpdate": "plan", "entries": [] })), json!({ "type": "plan", "steps": [] }));
    }
}
