//! Recorded session files, found through `CHATROWS_CORPUS`: all are read, what is version 3 comes out byte for byte,
//! and the model is told what the agent that wrote the file says.

#![cfg(all(feature = "sessions", not(target_arch = "wasm32")))]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chatrows::{EntryKind, Limits, Session};
use serde_json::{Value, json};

/// The files by name; none where there is no corpus.
fn recordings() -> Option<BTreeMap<String, Vec<u8>>> {
    let Some(folder) = std::env::var_os("CHATROWS_CORPUS") else {
        println!("skipped: CHATROWS_CORPUS is not set");
        return None;
    };
    let folder = PathBuf::from(folder).join("agent-events");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut recordings = BTreeMap::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if ["v1-", "v2-", "v3-"].iter().any(|version| name.starts_with(version)) {
            recordings.insert(name, fs::read(&path).unwrap());
        }
    }
    assert!(recordings.len() >= 7, "recordings are missing: {:?}", recordings.keys());
    Some(recordings)
}

fn sessions() -> Vec<(String, Vec<u8>, Session)> {
    let files = recordings().into_iter().flatten().filter(|(name, _)| name.ends_with(".jsonl"));
    files
        .map(|(name, file)| {
            let session = Session::import(&file, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, file, session)
        })
        .collect()
}

fn messages(session: &Session) -> Vec<Value> {
    let context = session.context(session.leaf());
    context.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

#[test]
fn every_session_is_read_without_a_fault() {
    for (name, file, session) in sessions() {
        let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert_eq!((session.fault_count(), session.entries().count()), (0, lines - 1), "{name}");
        assert_eq!(session.header().version, u64::from(name.as_bytes()[1] - b'0'), "{name}");
    }
}

#[test]
fn what_is_version_3_comes_out_byte_for_byte() {
    for (name, file, session) in sessions().iter().filter(|(_, _, session)| session.header().version == 3) {
        assert!(session.export() == *file, "{name}");
    }
}

#[test]
fn the_generated_session_tells_what_its_agent_says() {
    let Some(recordings) = recordings() else { return };
    let expected: Value = serde_json::from_slice(&recordings["v3-generated-all-entries.context.json"]).unwrap();
    let session = Session::import(&recordings["v3-generated-all-entries.jsonl"], &Limits::default()).unwrap();
    let state = session.state(session.leaf());
    let model = state.model.map(|[provider, id]| json!({"provider": provider, "modelId": id}));
    let told = json!({"messages": messages(&session), "thinkingLevel": state.thinking_level, "model": model});
    assert_eq!(told, expected);
    assert_eq!((session.name().as_deref(), state.active_tools), (Some("demo session"), None));
    let label = session.labels().next().unwrap();
    assert_eq!((label.0, label.1.as_str()), (session.node("2d4f0624").unwrap(), "checkpoint"));
    assert_eq!((session.leaves().count(), session.branches().count()), (2, 2));
}

#[test]
fn a_session_of_version_1_is_migrated_once_and_tells_every_message() {
    for (name, file, session) in sessions().iter().filter(|(_, _, session)| session.header().version == 1) {
        let migrated = session.export();
        let again = Session::import(&migrated, &Limits::default()).unwrap();
        assert!(again.export() == migrated, "{name}");
        assert_eq!((again.header().version, again.leaves().count()), (3, 1), "{name}");
        let lines = std::str::from_utf8(file).unwrap().lines().skip(1);
        let said: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let said: Vec<Value> =
            said.into_iter().map(|mut line| line["message"].take()).filter(Value::is_object).collect();
        assert_eq!(messages(&again), said, "{name}");
        let (from, to) = (session.context(session.leaf()), again.context(again.leaf()));
        assert_eq!(from, to, "{name}");
    }
}

#[test]
fn a_compaction_that_keeps_all_tells_all_after_its_summary() {
    let Some(recordings) = recordings() else { return };
    let session = Session::import(&recordings["v3-irrlicht-context-compaction.jsonl"], &Limits::default()).unwrap();
    let roles: Vec<String> = messages(&session).iter().map(|told| told["role"].as_str().unwrap().to_owned()).collect();
    assert_eq!(roles, ["compactionSummary", "user", "assistant", "user", "assistant"]);
}

#[test]
fn a_session_that_was_rewound_has_two_branches() {
    let Some(recordings) = recordings() else { return };
    let session = Session::import(&recordings["v3-irrlicht-checkpoint-rewind.jsonl"], &Limits::default()).unwrap();
    let leaves: Vec<_> = session.leaves().collect();
    let difference = session.difference(Some(leaves[0]), Some(leaves[1]));
    assert_eq!((difference.left.len(), difference.entered.len()), (2, 2));
    assert_eq!(session.branches().map(|branch| branch.fork).collect::<Vec<_>>(), [difference.common; 2]);
    assert_eq!(session.entry(leaves[0]).unwrap().kind, EntryKind::Message);
}
