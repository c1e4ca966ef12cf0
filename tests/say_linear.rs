//! Say messages in orders that make a careless reader walk over all that it knows for each of them: inputs on which
//! anything quadratic would not end.

#![cfg(not(target_arch = "wasm32"))]

use chatrows::{ChatRows, Format, Options, RowOp};
use serde_json::{Value, json};

const MANY: u64 = 30_000;

/// Feeds the records, with a drain after each.
fn feed(records: impl Iterator<Item = Value>) -> ChatRows {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::Say);
    for record in records {
        chat.push_message(stream, &record.to_string());
        chat.drain(&mut |_: RowOp<'_>| ());
    }
    chat
}

fn say(ts: u64, kind: &str, text: &str) -> Value {
    json!({"ts": ts, "type": "say", "say": kind, "text": text})
}

#[test]
fn reading_tools_in_reverse() {
    let read = |ts| say(MANY - ts, "tool", r#"{"tool":"readFile","path":"a"}"#);
    assert_eq!(feed((0..MANY).map(read)).rows().count() as u64, MANY);
}

#[test]
fn states_in_turn_beside_many_single_messages() {
    let singles = (0..MANY).map(|ts| say(2 + ts, "text", "a"));
    let states = (0..MANY).map(|turn| json!([say(turn % 2, "text", "b")]));
    assert_eq!(feed(singles.chain(states)).rows().count() as u64, MANY + 1);
}

#[test]
fn texts_before_many_hidden_messages() {
    let hidden = (0..MANY).map(|ts| say(MANY + ts, "api_req_finished", "{}"));
    let texts = (0..MANY).map(|ts| say(ts, "text", "a"));
    assert_eq!(feed(hidden.chain(texts)).rows().count() as u64, MANY);
}

#[test]
fn output_of_a_long_command_piece_by_piece() {
    let command = say(0, "command", &"x".repeat(1 << 20));
    let outputs = (1..MANY).map(|ts| say(ts, "command_output", "ok"));
    let chat = feed(std::iter::once(command).chain(outputs));
    let row = chat.rows().next().unwrap();
    assert_eq!(row.tool.as_ref().unwrap().output.as_ref().unwrap().lines().count() as u64, MANY - 1);
}

/// No order can make a command be put together again and again without end: the messages that go too far are faults.
#[test]
fn output_in_reverse_is_put_together_as_far_as_its_length_pays_for_it() {
    let command = say(0, "command", "make");
    let outputs = (1..MANY).map(|ts| say(MANY - ts, "command_output", "ok"));
    let chat = feed(std::iter::once(command).chain(outputs));
    assert!(chat.faults().all(|fault| fault.reason == "order"));
    assert!(chat.tally().faulted > 0 && chat.tally().faulted < MANY);
}
