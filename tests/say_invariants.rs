//! The invariants of the design on say/ask messages from plausible to hostile: generated, the same at every run.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use std::collections::BTreeMap;

use chatrows::{Format, Limits, Options};
use serde_json::{Value, json};
use support::{Chat, Cuts, Random, chat_of, without_ids};

const SAYS: [&str; 22] = [
    "task",
    "error",
    "api_req_started",
    "api_req_finished",
    "text",
    "reasoning",
    "completion_result",
    "command",
    "command_output",
    "tool",
    "mcp_server_request_started",
    "mcp_server_response",
    "use_mcp_server",
    "task_progress",
    "hook_status",
    "hook_output_stream",
    "error_retry",
    "api_req_rate_limit_wait",
    "tool_preparing",
    "tool_result",
    "condense_context",
    "unheard_of",
];
const ASKS: [&str; 8] = [
    "followup",
    "command",
    "command_output",
    "tool",
    "api_req_failed",
    "resume_task",
    "use_mcp_server",
    "completion_result",
];

fn text(random: &mut Random) -> String {
    const WORDS: [&str; 12] = ["a", "naïve ", "\r", "\n", "\0", "😀", "{", "\"", "\u{202e}", "done", "\\", "<img>"];
    (0..random.below(6)).map(|_| WORDS[random.below(WORDS.len())]).collect()
}

fn body(random: &mut Random) -> String {
    let names =
        ["tool", "path", "content", "toolName", "byteCount", "question", "options", "status", "cost", "attempt"];
    let mut body = serde_json::Map::new();
    for _ in 0..random.below(5) {
        let value = match random.below(5) {
            0 => json!(random.below(2_000_000)),
            1 => json!([text(random)]),
            2 => json!("readFile"),
            3 => json!(null),
            _ => json!(text(random)),
        };
        body.insert(names[random.below(names.len())].to_owned(), value);
    }
    let body = Value::Object(body).to_string();
    match random.below(8) {
        0 => body.chars().take(random.below(20)).collect(),
        _ => body,
    }
}

fn message(random: &mut Random) -> Value {
    let ask = random.below(3) == 0;
    let kind = if ask { ASKS[random.below(ASKS.len())] } else { SAYS[random.below(SAYS.len())] };
    let family = if ask { "ask" } else { "say" };
    let text = if random.below(2) == 0 { body(random) } else { text(random) };
    let mut message = json!({"ts": random.below(9), "type": family, family: kind, "text": text});
    for (name, value) in [
        ("partial", json!(random.below(2) == 0)),
        ("seq", json!(random.below(30))),
        ("epoch", json!(random.below(3))),
        ("images", json!(["https://a/b.png"])),
        ("isAnswered", json!(true)),
        ("commandCompleted", json!(true)),
        ("streamBlockId", json!("b")),
        ("text", json!(4)),
        ("ts", json!("7")),
    ] {
        if random.below(if name == "partial" { 2 } else { 9 }) == 0 {
            message[name] = value;
        }
    }
    message
}

fn record(random: &mut Random) -> Value {
    match random.below(9) {
        0 => {
            let messages: Vec<Value> = (0..random.below(5)).map(|_| message(random)).collect();
            json!({"type": "state", "state": {"clineMessages": messages}})
        }
        1 => json!({"type": "messageUpdated", "clineMessage": message(random)}),
        2 => json!({"type": "grpc_response", "grpc_response": {"message": message(random)}}),
        3 if random.below(3) == 0 => json!({"type": "theme"}),
        _ => message(random),
    }
}

fn conversation(seed: u64) -> (Vec<Value>, String) {
    let mut random = Random(seed);
    let mut records: Vec<Value> = Vec::new();
    for _ in 0..1 + random.below(25) {
        let again = random.below(5) == 0 && !records.is_empty();
        let record = if again { records[random.below(records.len())].clone() } else { record(&mut random) };
        records.push(record);
    }
    let text = records.iter().map(|record| format!("{record}\n")).collect();
    (records, text)
}

fn rests(chat: &Chat) {
    support::rests(&chat.rows(), "at the end");
    for row in chat.rows().as_array().unwrap() {
        assert_ne!(row["kind"], "tool-preparing", "a prepared row outlives its stream: {row}");
    }
}

/// 1, 2, 4, 6, 9: `Chat::drain` compares the oracle after each batch, and the oracle refuses an op that changes nothing.
#[test]
fn any_messages_in_any_cut_keep_the_invariants() {
    for seed in 0..800 {
        let (records, input) = conversation(seed);
        let run = |cuts: Cuts| {
            let mut chat = chat_of(Format::Say, Options::default());
            chat.feed(input.as_bytes(), cuts);
            chat.drain();
            chat
        };
        let mut whole = run(Cuts::Whole);
        let counts = whole.counts();
        assert_eq!(counts.records(), records.len() as u64, "seed {seed}");
        for cuts in [Cuts::Seed(seed), Cuts::Every(101)] {
            let other = run(cuts);
            assert_eq!(without_ids(&other.rows()), without_ids(&whole.rows()), "seed {seed}, {cuts:?}: {input}");
            assert_eq!(other.counts(), counts, "seed {seed}, {cuts:?}");
        }
        if seed % 2 == 0 {
            whole.finish()
        } else {
            whole.abort()
        };
        whole.drain();
        rests(&whole);
    }
}

/// 3 and 4: the same conversation once more says nothing of what is final.
#[test]
fn keys_are_rows_for_life_and_repeats_are_silent() {
    for seed in 0..1000 {
        let (records, _) = conversation(seed);
        let mut chat = chat_of(Format::Say, Options::default());
        let mut ids: BTreeMap<String, (u64, String)> = BTreeMap::new();
        for record in &records {
            chat.chat.push_message(chat.stream, &record.to_string());
            chat.drain();
            for row in chat.rows().as_array().unwrap() {
                let key = row["key"].as_str().unwrap().to_owned();
                let now = (row["id"].as_u64().unwrap(), row["kind"].to_string());
                if let Some(known) = ids.insert(key, now.clone()) {
                    assert!(known.1 != now.1 || known.0 <= now.0, "seed {seed}");
                }
            }
            chat.chat.push_message(chat.stream, &record.to_string());
            let repeated = chat.drain();
            assert!(repeated.is_empty(), "seed {seed}: {record} again says {repeated:#?}");
        }
    }
}

/// 10: caps hold, and what they keep out is a fault.
#[test]
fn caps_hold_for_named_rows() {
    let limits = Limits { rows: 3, open_blocks: 2, text_bytes: 10, ..Limits::default() };
    let mut chat = chat_of(Format::Say, Options { limits, ..Options::default() });
    for ts in 0..9 {
        let message = json!({"ts": ts, "type": "say", "say": "text", "text": "x".repeat(20), "partial": ts < 2});
        chat.chat.push_message(chat.stream, &message.to_string());
        chat.drain();
    }
    let rows = chat.rows();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["kind"] == "text").count(), 3);
    assert!(rows.iter().any(|row| row["message"]["key"] == "limit.rows"));
    assert!(rows.iter().all(|row| row["text"].as_str().is_none_or(|text| text.len() <= 10)));
    assert_eq!(chat.counts().faulted, 9);
}

/// 5: what one more delta costs does not depend on how many rows there are.
#[test]
fn a_growing_row_costs_the_same_beside_few_rows_and_many() {
    let work = |rows: u64| {
        let mut chat = chat_of(Format::Say, Options::default());
        for ts in 0..rows {
            let message = json!({"ts": ts, "type": "say", "say": "text", "text": "hello"});
            chat.chat.push_message(chat.stream, &message.to_string());
        }
        chat.drain();
        let before = chat.chat.tally().work;
        let mut ops = 0;
        for len in 1..50 {
            let text = "word ".repeat(len);
            let message = json!({"ts": 10_000, "type": "say", "say": "text", "text": text, "partial": true});
            chat.chat.push_message(chat.stream, &message.to_string());
            ops += chat.drain().len();
        }
        (chat.chat.tally().work - before, ops)
    };
    assert_eq!(work(5), work(500));
}

/// tagged-text §4, 14: 50,000 short lines of output.
#[test]
fn output_in_many_parts_costs_what_is_new() {
    let mut chat = chat_of(Format::Say, Options::default());
    chat.chat.push_message(chat.stream, &json!({"ts": 0, "type": "say", "say": "command", "text": "x"}).to_string());
    for ts in 1..=50_000_u64 {
        let text = if ts % 3 == 0 { format!("\r{ts} %") } else { format!("line {ts}\n") };
        let message = json!({"ts": ts, "type": "say", "say": "command_output", "text": text});
        chat.chat.push_message(chat.stream, &message.to_string());
        if ts % 1000 == 0 {
            chat.chat.drain(&mut |_: chatrows::RowOp<'_>| {});
        }
    }
    let output = chat.rows()[0]["tool"]["output"].as_str().unwrap().len();
    let tally = chat.chat.tally();
    assert!(tally.work < 3 * tally.bytes, "{} of work for {} bytes, {output} of output", tally.work, tally.bytes);
}
