//! The agent's state: row by row of the sheet's table, and against a naive fold of it, on recordings and on events in
//! any order.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{AgentState, AgentStateChange};
use serde_json::{Value, json};
use support::Random;

fn state(events: &[Value]) -> AgentState {
    let mut state = AgentState::default();
    for event in events {
        state.push(&event.to_string()).unwrap();
    }
    state
}

fn json_of(state: &AgentState) -> Value {
    serde_json::from_str(&state.to_json()).expect("a state is JSON")
}

fn part(kind: &str, index: u64, mut members: Value) -> Value {
    (members["type"], members["contentIndex"]) = (json!(kind), json!(index));
    json!({"type": "message_update", "assistantMessageEvent": members})
}

fn user() -> Value {
    json!({"role": "user", "content": "hello"})
}

#[test]
fn a_run_begins_anew() {
    let failed = json!({"type": "turn_end", "message": {"role": "assistant", "errorMessage": "x"}});
    let begun = [json!({"type": "message_start", "message": user()}), failed, json!({"type": "agent_start"})];
    let expected = json!({"isStreaming": true, "streamingMessage": null, "messages": [], "pendingToolCalls": [], "errorMessage": null});
    assert_eq!(json_of(&state(&begun)), expected);
}

#[test]
fn a_message_streams_until_it_ends() {
    let mut all = state(&[json!({"type": "message_start", "message": user()})]);
    assert_eq!(json_of(&all)["streamingMessage"], user());
    let change = all.push(&json!({"type": "message_end", "message": user()}).to_string()).unwrap();
    assert_eq!(change, AgentStateChange { streaming_message: true, message: true, ..AgentStateChange::default() });
    assert_eq!(
        (json_of(&all)["streamingMessage"].clone(), json_of(&all)["messages"].clone()),
        (json!(null), json!([user()]))
    );
    let told: Value = serde_json::from_str(&all.change_json(change)).unwrap();
    assert_eq!(told, json!({"streamingMessage": null, "message": user()}));
}

#[test]
fn a_message_is_what_the_wire_repeats() {
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": "He"}]});
    let event = json!({"type": "message_update", "message": message, "assistantMessageEvent": {"type": "text_delta"}});
    assert_eq!(json_of(&state(&[event]))["streamingMessage"], message);
}

#[test]
fn a_message_is_put_together_from_what_is_new() {
    let events = [
        json!({"type": "message_start", "message": {"role": "assistant", "content": [{"type": "text", "text": "He"}], "model": "m"}}),
        part("thinking_start", 0, json!({})),
        part("thinking_delta", 0, json!({"delta": "hm"})),
        part("text_start", 1, json!({})),
        part("text_delta", 1, json!({"delta": "He"})),
        part("toolcall_start", 2, json!({"id": "A", "toolName": "f"})),
        part("toolcall_delta", 2, json!({"delta": "{\"x\":"})),
    ];
    let call = |arguments: Value| json!({"type": "toolCall", "id": "A", "name": "f", "arguments": arguments});
    let message = |call: Value| {
        let content = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "He"}, call]);
        json!({"role": "assistant", "model": "m", "content": content})
    };
    let mut all = state(&events);
    assert_eq!(json_of(&all)["streamingMessage"], message(call(json!({}))));
    all.push(&part("toolcall_delta", 2, json!({"delta": "1}"})).to_string()).unwrap();
    assert_eq!(json_of(&all)["streamingMessage"], message(call(json!({"x": 1}))));
    all.push(&part("toolcall_end", 2, json!({"toolCall": call(json!({"x": 2}))})).to_string()).unwrap();
    assert_eq!(json_of(&all)["streamingMessage"], message(call(json!({"x": 2}))));
}

#[test]
fn a_character_may_be_cut_between_two_deltas() {
    let mut all = AgentState::default();
    for half in [r"a\ud83d", r"\ude00b"] {
        let event = format!(r#"{{"type":"text_delta","contentIndex":0,"delta":"{half}"}}"#);
        all.push(&format!(r#"{{"type":"message_update","assistantMessageEvent":{event}}}"#)).unwrap();
    }
    assert_eq!(json_of(&all)["streamingMessage"]["content"], json!([{"type": "text", "text": "a😀b"}]));
}

#[test]
fn a_message_keeps_what_it_began_with() {
    let begun = json!({"role": "assistant", "content": [], "model": "m", "stopReason": "stop"});
    let events = [json!({"type": "message_start", "message": begun}), part("text_delta", 0, json!({"delta": "x"}))];
    assert_eq!(json_of(&state(&events))["streamingMessage"]["model"], "m");
}

#[test]
fn calls_run_from_their_start_to_their_end() {
    let event = |kind: &str, id: &str| json!({"type": format!("tool_execution_{kind}"), "toolCallId": id});
    let mut all = state(&[event("start", "A"), event("start", "B"), event("end", "A")]);
    assert_eq!(all.pending_tool_calls().collect::<Vec<_>>(), ["B"]);
    assert!(!all.push(&event("end", "A").to_string()).unwrap().any());
}

#[test]
fn an_error_stays_until_the_next_run() {
    let turn = |members: Value| json!({"type": "turn_end", "message": members});
    let failed = turn(json!({"role": "assistant", "errorMessage": "Request was aborted"}));
    let all = state(&[failed.clone(), turn(json!({"role": "assistant"}))]);
    assert_eq!(all.error_message(), Some("Request was aborted"));
    assert_eq!(state(&[turn(json!({"role": "user", "errorMessage": "x"}))]).error_message(), None);
    assert_eq!(state(&[failed, json!({"type": "agent_start"})]).error_message(), None);
}

#[test]
fn a_run_is_over_when_the_wire_says_so() {
    let begun = [json!({"type": "agent_start"}), json!({"type": "tool_execution_start", "toolCallId": "A"})];
    let after = |event: Value| state(&[begun.to_vec(), vec![event]].concat());
    assert!(after(json!({"type": "agent_end", "willRetry": false})).is_streaming());
    for over in [json!({"type": "agent_settled"}), json!({"type": "agent_end", "messages": []})] {
        let all = after(over);
        assert_eq!((all.is_streaming(), all.pending_tool_calls().len()), (false, 0));
    }
    let mut all = after(json!({"type": "agent_end", "willRetry": false}));
    assert!(all.finish_run().is_streaming && !all.is_streaming());
}

#[test]
fn what_is_no_event_changes_nothing() {
    let mut all = AgentState::default();
    for text in ["{}", "[]", "1", r#"{"type":7}"#, r#"{"type":"message_update"}"#, r#"{"type":"queue_update"}"#] {
        assert!(!all.push(text).unwrap().any(), "{text}");
    }
    assert!(all.push("{").is_err());
}

/// The sheet's table, as it stands there.
#[derive(Default)]
struct Fold {
    is_streaming: bool,
    streaming: Value,
    messages: Vec<Value>,
    pending: Vec<Value>,
    error: Value,
}

impl Fold {
    fn event(&mut self, event: &Value) {
        let message = event["message"].clone();
        match event["type"].as_str().unwrap() {
            "agent_start" => (self.is_streaming, self.streaming, self.error) = (true, json!(null), json!(null)),
            "message_start" | "message_update" => self.streaming = message,
            "message_end" => {
                self.streaming = json!(null);
                self.messages.push(message);
            }
            "tool_execution_start" if !self.pending.contains(&event["toolCallId"]) => {
                self.pending.push(event["toolCallId"].clone());
            }
            "tool_execution_end" => self.pending.retain(|id| *id != event["toolCallId"]),
            "turn_end" if message["role"] == "assistant" && message["errorMessage"].is_string() => {
                self.error = message["errorMessage"].clone();
            }
            "agent_end" => self.streaming = json!(null),
            "agent_settled" => (self.is_streaming, self.streaming, self.pending) = (false, json!(null), vec![]),
            _ => {}
        }
    }

    fn json(&self) -> Value {
        json!({
            "isStreaming": self.is_streaming, "streamingMessage": self.streaming, "messages": self.messages,
            "pendingToolCalls": self.pending, "errorMessage": self.error,
        })
    }
}

#[test]
fn the_state_is_a_fold_of_the_table() {
    for seed in 0..500 {
        let mut random = Random(seed);
        let (mut fold, mut all) = (Fold::default(), AgentState::default());
        for at in 0..60 {
            let role = ["assistant", "user", "toolResult"][random.below(3)];
            let message =
                json!({"role": role, "content": [{"type": "text", "text": at.to_string()}], "stopReason": "stop"});
            let id = ["A", "B", "C"][random.below(3)];
            let event = match random.below(9) {
                0 => json!({"type": "agent_start"}),
                1 => json!({"type": "message_start", "message": message}),
                2 => json!({"type": "message_update", "message": message, "assistantMessageEvent": {}}),
                3 => json!({"type": "message_end", "message": message}),
                4 => json!({"type": "tool_execution_start", "toolCallId": id}),
                5 => json!({"type": "tool_execution_end", "toolCallId": id}),
                6 => json!({"type": "turn_end", "message": {"role": role, "errorMessage": format!("e{at}")}}),
                7 => json!({"type": "agent_end", "messages": [], "willRetry": false}),
                _ => json!({"type": "agent_settled"}),
            };
            let before = json_of(&all);
            let change = all.push(&event.to_string()).unwrap();
            fold.event(&event);
            assert_eq!(json_of(&all), fold.json(), "seed {seed}, event {at}: {event}");
            assert_eq!(change.any(), json_of(&all) != before || event["type"] == "message_start", "{event}");
        }
    }
}

#[test]
fn recordings_come_to_their_messages() {
    let Some(folder) = std::env::var_os("CHATROWS_CORPUS") else { return };
    let folder = std::path::PathBuf::from(folder).join("agent-events");
    let mut seen = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("events-") {
            continue;
        }
        seen += 1;
        let events: Vec<Value> =
            std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let all = state(&events);
        let ended = events.iter().find(|event| event["type"] == "agent_end").unwrap();
        assert_eq!(json_of(&all)["messages"], ended["messages"], "{name}");
        assert_eq!((all.is_streaming(), all.streaming_message()), (false, None), "{name}");
    }
    assert!(seen >= 9, "{seen} recordings");
}
