//! The invariants of the design on agent events: recordings found through `CHATROWS_CORPUS`, and lines from plausible
//! to hostile in any order.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chatrows::{Format, Options};
use serde_json::{Value, json};
use support::{Chat, Cuts, Random, chat_of, lines, rests, without_ids};

fn run(format: Format, input: &str, cuts: Cuts) -> Chat {
    let mut chat = chat_of(format, Options::default());
    chat.feed(input.as_bytes(), cuts);
    chat.finish();
    chat.drain();
    chat
}

/// The recordings by file name; none where there is no corpus.
fn recordings() -> BTreeMap<String, String> {
    let Some(folder) = std::env::var_os("CHATROWS_CORPUS") else {
        println!("skipped: CHATROWS_CORPUS is not set");
        return BTreeMap::new();
    };
    let folder = PathBuf::from(folder).join("agent-events");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let recordings: BTreeMap<_, _> = files.map(|path| (name(&path), fs::read_to_string(path).unwrap())).collect();
    assert!(recordings.len() >= 14, "recordings are missing: {:?}", recordings.keys());
    recordings
}

#[test]
fn recordings_come_to_rest_without_a_fault_under_any_cut() {
    for (name, input) in recordings() {
        let whole = run(Format::AgentEvents, &input, Cuts::Whole);
        let counts = whole.counts();
        assert_eq!(whole.faults(), Vec::<String>::new(), "{name}");
        assert_eq!((counts.records(), counts.skipped), (input.lines().count() as u64, 0), "{name}");
        rests(&whole.rows(), &name);
        assert!(whole.rows().as_array().unwrap().len() > 1, "{name} shows next to nothing");
        let small = input.len() < 50_000;
        let every: &[usize] = if small { &[1, 7, 64] } else { &[200_003] };
        let seeds = (0..if small { 10 } else { 0 }).map(Cuts::Seed);
        for cuts in every.iter().copied().map(Cuts::Every).chain(seeds) {
            let mut chat = chat_of(Format::AgentEvents, Options::default());
            chat.feed(input.as_bytes(), cuts);
            chat.finish();
            chat.drain();
            assert_eq!(without_ids(&chat.rows()), without_ids(&whole.rows()), "{name}, {cuts:?}");
            assert_eq!((chat.panels(), chat.counts()), (whole.panels(), counts), "{name}, {cuts:?}");
        }
    }
}

#[test]
fn a_replay_of_a_recording_leaves_the_rows() {
    for (name, input) in recordings() {
        let mut chat = run(Format::AgentEvents, &input, Cuts::Whole);
        let (rows, panels) = (chat.rows(), chat.panels());
        chat.chat.restart(chat.stream);
        chat.feed(input.as_bytes(), Cuts::Whole);
        chat.finish();
        chat.drain();
        assert_eq!((chat.rows(), chat.panels()), (rows, panels), "{name}");
    }
}

#[test]
fn recordings_are_told_from_other_formats() {
    for (name, input) in recordings() {
        let (told, named) = (run(Format::Auto, &input, Cuts::Whole), run(Format::AgentEvents, &input, Cuts::Whole));
        assert_eq!((told.rows(), told.faults()), (named.rows(), named.faults()), "{name}");
    }
}

#[test]
fn what_a_recording_says_stands_in_the_rows() {
    let texts = |content: &Value| -> Vec<String> {
        let items = content.as_array().into_iter().flatten();
        let said = items.filter_map(|item| item["text"].as_str().or(item["thinking"].as_str()));
        said.filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
    };
    for (name, input) in
        recordings().into_iter().filter(|(name, _)| name.starts_with("events") || name.starts_with("v1"))
    {
        let mut expected = Vec::new();
        for line in input.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let message = &record["message"];
            let ends = record["type"] == "message_end" || record["type"] == "message";
            if ends && ["user", "assistant"].iter().any(|role| message["role"] == *role) {
                expected.extend(texts(&message["content"]));
            }
        }
        let rows = run(Format::AgentEvents, &input, Cuts::Whole).rows();
        let shown: Vec<_> = rows.as_array().unwrap().iter().filter(|row| row["kind"] != "tool").collect();
        let shown: Vec<_> = shown.iter().filter_map(|row| row["text"].as_str().map(str::to_owned)).collect();
        assert_eq!(shown, expected, "{name}");
    }
}

// Lines in any order.

fn content(random: &mut Random) -> Value {
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "f", "arguments": {"x": 1}});
    match random.below(8) {
        0 => json!([]),
        1 => json!("plain"),
        2 => json!([{"type": "text", "text": "a"}]),
        3 => json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}]),
        4 => json!([{"type": "text", "text": " "}, call("A"), call("B")]),
        5 => json!([call("A"), call("A")]),
        6 => json!([{"type": "image", "mimeType": "image/png", "data": "QQ=="}, null, 7]),
        _ => Value::Null,
    }
}

fn record(random: &mut Random) -> Value {
    let id = ["A", "B", "C", ""][random.below(4)];
    let index = random.below(4);
    let of_parts = ["text", "thinking", "toolcall"][random.below(3)];
    let step = ["start", "delta", "end"][random.below(3)];
    let role = ["assistant", "user", "toolResult", "custom", "system", "bashExecution"][random.below(6)];
    let reason = ["stop", "toolUse", "length", "aborted", "error", "deferred"][random.below(6)];
    let message = json!({
        "role": role, "content": content(random), "stopReason": reason, "toolCallId": id, "errorMessage": "503 x",
        "isError": random.below(2) == 0, "display": random.below(2) == 0, "command": "ls", "output": "o",
    });
    let delta = ["x", " ", "{\"y\":", "1}"][random.below(4)];
    let run = ["agent_start", "agent_settled", "auto_retry_start", "auto_retry_end"][random.below(4)];
    let other = ["compaction_start", "compaction_end", "bash_execution_update"][random.below(3)];
    let parent = [json!(null), json!("1"), json!("2"), json!("3"), json!("9")][random.below(5)].clone();
    let own = ["1", "2", "3", "4"][random.below(4)];
    match random.below(16) {
        0 => json!({"type": "message_start", "message": message}),
        1 | 2 => json!({"type": "message_end", "message": message}),
        3..7 => json!({"type": "message_update", "assistantMessageEvent": {
            "type": format!("{of_parts}_{step}"), "contentIndex": index, "delta": delta,
            "content": "whole", "id": id, "toolName": "f", "toolCall": {"id": id, "name": "f", "arguments": {"y": 1}},
        }}),
        7 => {
            json!({"type": "tool_execution_start", "toolCallId": id, "toolName": "f", "args": {"y": 1}, "parentToolCallId": own})
        }
        8 => json!({"type": "tool_execution_update", "toolCallId": id, "partialResult": {"content": content(random)}}),
        9 => {
            json!({"type": "tool_execution_end", "toolCallId": id, "result": {"content": content(random)}, "isError": false})
        }
        10 => json!({"type": run}),
        11 => {
            json!({"type": other, "delta": "o"})
        }
        12 => json!({"type": "agent_end", "messages": [message], "willRetry": random.below(2) == 0}),
        13 | 14 => json!({"type": "message", "id": own, "parentId": parent, "message": message}),
        _ => json!({"type": "leaf", "id": "l", "parentId": "1", "targetId": parent}),
    }
}

#[test]
fn lines_in_any_order_break_nothing() {
    for seed in 0..if std::env::var_os("CHATROWS_FULL").is_some() { 20_000 } else { 300 } {
        let mut random = Random(seed);
        let records: Vec<Value> = (0..1 + random.below(40)).map(|_| record(&mut random)).collect();
        let mut input: String = records.iter().map(|record| format!("{record}\n")).collect();
        if random.below(4) == 0 {
            let cut = (0..=random.below(input.len())).rev().find(|at| input.is_char_boundary(*at)).unwrap();
            input.truncate(cut);
        }
        let whole = run(Format::AgentEvents, &input, Cuts::Whole);
        rests(&whole.rows(), &input);
        let counts = whole.counts();
        assert_eq!(counts.faulted + counts.skipped + counts.applied + counts.no_op, counts.records(), "{input}");
        for cuts in [Cuts::Every(9), Cuts::Seed(seed)] {
            let other = run(Format::AgentEvents, &input, cuts);
            assert_eq!(lines(&other.rows()), lines(&whole.rows()), "{cuts:?}: {input}");
            assert_eq!((other.panels(), other.counts()), (whole.panels(), counts), "{cuts:?}: {input}");
        }
        let mut again = run(Format::AgentEvents, &input, Cuts::Whole);
        again.chat.restart(again.stream);
        again.feed(input.as_bytes(), Cuts::Every(50));
        again.finish();
        again.drain();
        rests(&again.rows(), &input);
    }
}
