//! The recordings of real providers, found through `CHATROWS_CORPUS`: what a checker of its own concatenates from the
//! records must stand in the rows, whatever the framing and however it is cut.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chatrows::End;
use serde_json::Value;
use support::*;

/// The folders whose recordings are chat completions.
const PROVIDERS: [&str; 9] =
    ["openai", "deepseek", "azure-deepseek", "groq", "mistral", "xai", "alibaba", "perplexity", "cerebras"];

/// The recording of the format that came before chat completions.
const LEGACY: &str = "openai-completion-text.chunks.txt";

/// The recordings by file name; none where there is no corpus.
fn recordings() -> Option<BTreeMap<String, String>> {
    let Some(folder) = std::env::var_os("CHATROWS_CORPUS") else {
        println!("skipped: CHATROWS_CORPUS is not set");
        return None;
    };
    let providers = PathBuf::from(folder).join("providers");
    let mut recordings = BTreeMap::new();
    for provider in PROVIDERS {
        let folder = providers.join(provider);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".chunks.txt") {
                recordings.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(recordings.len() >= PROVIDERS.len(), "recordings are missing: {:?}", recordings.keys());
    Some(recordings)
}

fn chat_recordings() -> Vec<(String, String)> {
    recordings().into_iter().flatten().filter(|(name, _)| name != LEGACY).collect()
}

/// What one response carries, concatenated.
#[derive(Debug, Default, PartialEq)]
struct Carried {
    /// By choice.
    text: BTreeMap<u64, String>,
    reasoning: BTreeMap<u64, String>,
    /// Id, name and arguments.
    calls: Vec<(String, String, String)>,
}

/// The checker: what a recording carries, by response id in the order of the file.
fn carried(recording: &str) -> Vec<(String, Carried)> {
    let mut responses: Vec<(String, Carried)> = Vec::new();
    for line in recording.lines().filter(|line| !line.trim().is_empty()) {
        let record: Value = serde_json::from_str(line).unwrap();
        let id = record["id"].as_str().unwrap_or_default();
        if !id.is_empty() && responses.last().is_none_or(|(last, _)| last != id) {
            responses.push((id.to_owned(), Carried::default()));
        }
        let Some((_, response)) = responses.last_mut() else { continue };
        for choice in record["choices"].as_array().into_iter().flatten() {
            let (index, delta) = (choice["index"].as_u64().unwrap_or(0), &choice["delta"]);
            let mut text = String::new();
            let mut reasoning = String::new();
            for part in parts(&delta["content"]) {
                match part["type"].as_str() {
                    Some("thinking") => parts(&part["thinking"]).iter().for_each(|part| say(&mut reasoning, part)),
                    _ => say(&mut text, &part),
                }
            }
            let mut named = ["reasoning_content", "reasoning"].iter().filter_map(|name| delta[name].as_str());
            reasoning.push_str(named.find(|text| !text.is_empty()).unwrap_or_default());
            if !text.is_empty() {
                response.text.entry(index).or_default().push_str(&text);
            }
            if !reasoning.is_empty() {
                response.reasoning.entry(index).or_default().push_str(&reasoning);
            }
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
                if !id.is_empty() && response.calls.iter().all(|(known, ..)| known != id) {
                    let name = function["name"].as_str().unwrap_or_default();
                    response.calls.push((id.to_owned(), name.to_owned(), String::new()));
                }
                // No recording interleaves calls: a fragment belongs to the last one.
                let (.., arguments) = response.calls.last_mut().unwrap();
                arguments.push_str(function["arguments"].as_str().unwrap_or_default());
            }
        }
    }
    responses
}

fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        Value::Null => Vec::new(),
        plain => vec![plain.clone()],
    }
}

fn say(text: &mut String, part: &Value) {
    text.push_str(part.as_str().or(part["text"].as_str()).unwrap_or_default());
}

/// The same, read off the rows.
fn shown(rows: &Value, responses: &[(String, Carried)]) -> Vec<(String, Carried)> {
    let mut shown: Vec<(String, Carried)> = responses.iter().map(|(id, _)| (id.clone(), Carried::default())).collect();
    let mut at = 0;
    for row in rows.as_array().unwrap() {
        let choice = row["meta"]["choice"].as_u64().unwrap_or(0);
        let key = row["key"].as_str().unwrap_or_default();
        if row["kind"] == "tool" {
            // A call's key is its own id: it belongs to the response whose turn it is, or to the next.
            while !responses[at].1.calls.iter().any(|(id, ..)| id == key) {
                at += 1;
            }
            let tool = &row["tool"];
            let part = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
            shown[at].1.calls.push((part("callId"), part("name"), part("input")));
            continue;
        }
        at = shown.iter().position(|(id, _)| key.rsplit_once(':').unwrap().0 == id).expect("a row of no response");
        let response = &mut shown[at].1;
        let texts = match row["kind"].as_str().unwrap() {
            "text" => &mut response.text,
            "reasoning" => &mut response.reasoning,
            kind => panic!("a recording without errors shows a row of kind {kind}"),
        };
        texts.entry(choice).or_default().push_str(row["text"].as_str().unwrap());
    }
    shown
}

/// The wire of a recording in every framing.
fn framings(recording: &str) -> Vec<(&'static str, String)> {
    let records: Vec<&str> = recording.lines().filter(|line| !line.trim().is_empty()).collect();
    let events = sse(&records) + "data: [DONE]\n\n";
    let commented: String =
        records.iter().map(|record| format!(": ping\n\nevent: x\ndata:{record}\n\ndata:\n\n")).collect();
    vec![
        ("lines", recording.to_owned()),
        ("LF", events.clone()),
        ("CRLF", events.replace('\n', "\r\n")),
        ("CR", events.replace('\n', "\r")),
        ("mark and comments", format!("\u{feff}{commented}")),
    ]
}

fn run(wire: &str, cuts: Cuts) -> Chat {
    let mut chat = Chat::unwatched();
    chat.feed(wire.as_bytes(), cuts);
    chat.finish();
    chat
}

#[test]
fn rows_carry_exactly_what_the_recording_carries() {
    for (name, recording) in chat_recordings() {
        let mut chat = run(&recording, Cuts::Whole);
        let outcome = chat.outcome();
        let expected = carried(&recording);
        assert_eq!(shown(&outcome.rows, &expected), expected, "{name}");
        assert_eq!(outcome.faults, [], "{name}");
        let records = recording.lines().filter(|line| !line.trim().is_empty()).count() as u64;
        assert_eq!((outcome.tally.records(), outcome.tally.skipped), (records, 0), "{name}");
        assert_eq!(outcome.end, Some(End::Done), "{name}");
        for row in outcome.rows.as_array().unwrap() {
            let state = row["state"].as_str().unwrap();
            assert!(matches!(state, "done" | "pending") && row["busy"] == false, "{name}: {row}");
        }
        assert!(outcome.panels["usage"]["totalTokens"].is_u64(), "{name}: {}", outcome.panels);
    }
}

#[test]
fn the_legacy_format_is_skipped_record_by_record() {
    let Some(recordings) = recordings() else { return };
    let recording = &recordings[LEGACY];
    let records = recording.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    let outcome = outcome(recording.as_bytes());
    assert_eq!((outcome.tally.skipped, outcome.tally.records()), (records, records));
    assert_eq!(lines(&outcome.rows), "");
}

#[test]
fn framing_and_cuts_change_nothing() {
    for (name, recording) in chat_recordings() {
        let mut expected = None;
        for (framing, wire) in framings(&recording) {
            let main = matches!(framing, "lines" | "LF");
            let seeds = if main { 0..10 } else { 10..12 };
            let cuts = [Cuts::Whole].into_iter().chain(main.then_some(Cuts::Every(1))).chain(seeds.map(Cuts::Seed));
            let mut counts = None;
            for cuts in cuts {
                let chat = run(&wire, cuts);
                let rows = (chat.chat.rows_json(), chat.chat.panels_json());
                assert_eq!(&rows, expected.get_or_insert(rows.clone()), "{name}, {framing}, {cuts:?}");
                let stats = chat.counts();
                assert_eq!(&stats, counts.get_or_insert(stats), "{name}, {framing}, {cuts:?}");
                assert_eq!(chat.chat.faults().count(), 0, "{name}, {framing}, {cuts:?}");
            }
        }
    }
}

#[test]
fn ops_lead_to_the_rows_all_along() {
    for (name, recording) in chat_recordings() {
        let mut chat = Chat::sparse(50);
        chat.feed(recording.as_bytes(), Cuts::Seed(name.len() as u64));
        chat.finish();
        chat.drain();
        let bytes = chat.op_bytes;
        assert!(bytes < 3 * recording.len(), "{name}: {bytes} bytes of ops");
    }
}

#[test]
fn a_replay_leaves_the_rows() {
    for (name, recording) in chat_recordings() {
        let wire = sse(recording.lines());
        let whole = without_ids(&run(&wire, Cuts::Whole).rows());
        // The first pass breaks off somewhere; the second goes to the end.
        for part in [wire.len(), wire.len() / 2, wire.len() / 3, wire.len() - 40, 200] {
            let mut chat = Chat::unwatched();
            chat.feed(&wire.as_bytes()[..part], Cuts::Whole);
            chat.finish();
            chat.drain();
            chat.chat.restart(chat.stream);
            chat.feed(wire.as_bytes(), Cuts::Seed(part as u64));
            chat.finish();
            assert_eq!(without_ids(&chat.rows()), whole, "{name}, broken off at {part}");
        }
    }
}
