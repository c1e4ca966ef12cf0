//! The rows of a session follow its leaf: what a walk from one branch to another tells a stream leads to the rows that
//! the other branch has when it is shown alone.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Format, Limits, Node, Options, Session};
use serde_json::{Value, json};
use support::{Chat, Random, chat_of, lines};

fn entry(random: &mut Random, id: usize, parent: Option<usize>) -> Value {
    let text = format!("text of {id}");
    let call = json!({"type": "toolCall", "id": format!("c{}", random.below(6)), "name": "f", "arguments": {"x": id}});
    let content = [json!([{"type": "text", "text": text}]), json!([{"type": "text", "text": text}, call])];
    let members = match random.below(7) {
        0 | 1 => json!({"type": "message", "message": {"role": "user", "content": text}}),
        2 | 3 => json!({"type": "message", "message": {
            "role": "assistant", "content": content[random.below(2)], "stopReason": (["stop", "aborted"][random.below(2)]),
        }}),
        4 => json!({"type": "message", "message": {
            "role": "toolResult", "toolCallId": format!("c{}", random.below(6)), "content": text, "isError": false,
        }}),
        5 => json!({"type": "compaction", "summary": text, "tokensBefore": 1, "firstKeptEntryId": "0"}),
        _ => json!({"type": "label", "targetId": "0", "label": text}),
    };
    let mut entry = members;
    entry["id"] = json!(format!("{id:08x}"));
    entry["parentId"] = parent.map_or(json!(null), |parent| json!(format!("{parent:08x}")));
    entry["timestamp"] = json!("2026-11-30T19:15:45.617Z");
    entry
}

/// A tree of so many entries: most go on, some begin a branch.
fn session(random: &mut Random) -> Session {
    let mut file =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/p"}).to_string() + "\n";
    for id in 0..4 + random.below(20) {
        let parent = match random.below(4) {
            0 if id > 0 => Some(random.below(id)),
            _ => id.checked_sub(1),
        };
        file += &format!("{}\n", entry(random, id, parent));
    }
    Session::import(file.as_bytes(), &Limits::default()).unwrap()
}

fn shown(chat: &mut Chat, session: &Session, from: Option<Node>, to: Option<Node>) -> String {
    chat.push(session.walk(from, to).as_bytes());
    chat.drain();
    lines(&chat.rows())
}

#[test]
fn rows_follow_the_leaf() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let session = session(&mut random);
        let nodes: Vec<Node> = session.entries().map(|entry| entry.node).collect();
        let (mut chat, mut at) = (chat_of(Format::AgentEvents, Options::default()), None);
        for _ in 0..6 {
            let to = Some(nodes[random.below(nodes.len())]).filter(|_| random.below(8) > 0);
            let walked = shown(&mut chat, &session, at, to);
            let alone = shown(&mut chat_of(Format::AgentEvents, Options::default()), &session, None, to);
            assert_eq!(
                walked,
                alone,
                "seed {seed}, {at:?} to {to:?} in {}",
                String::from_utf8(session.export()).unwrap()
            );
            at = to;
        }
        assert_eq!(chat.faults(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_file_as_a_stream_shows_the_branch_of_its_leaf() {
    for seed in 0..300 {
        let session = session(&mut Random(seed));
        let mut file = chat_of(Format::AgentEvents, Options::default());
        file.push(&session.export());
        let alone = shown(&mut chat_of(Format::AgentEvents, Options::default()), &session, None, session.leaf());
        assert_eq!(file.lines(), alone, "seed {seed} in {}", String::from_utf8(session.export()).unwrap());
    }
}

#[test]
fn a_walk_tells_what_two_branches_do_not_share() {
    let file = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}
{"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"three"}}
"#;
    let session = Session::import(file.as_bytes(), &Limits::default()).unwrap();
    let [b, c] = ["b", "c"].map(|id| session.node(id));
    let entry = file.lines().nth(3).unwrap();
    assert_eq!(session.walk(b, c), format!("{}\n{entry}\n", r#"{"type":"leaf","targetId":"a"}"#));
    assert_eq!(session.walk(b, b), "");
    assert_eq!(session.walk(b, None), "{\"type\":\"leaf\",\"targetId\":null}\n");
}
