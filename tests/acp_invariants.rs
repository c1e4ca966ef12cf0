//! The invariants of the design on agents' records: recordings found through `CHATROWS_CORPUS` and small ones in their
//! shape, records from plausible to hostile, and updates whose cost must not be that of what they do not change.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use chatrows::{AcpAnswer, ChatRows, Format, Limits, Options, RowOp, RowState, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, Random, chat_of, rests, unindent, without_ids};

fn chat() -> Chat {
    chat_of(Format::Acp, Options::default())
}

fn run(input: &str, cuts: Cuts) -> Chat {
    let mut chat = chat();
    chat.feed(input.as_bytes(), cuts);
    chat.drain();
    chat
}

fn update(session: &str, kind: &str, mut members: Value) -> Value {
    members["sessionUpdate"] = json!(kind);
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": members}})
}

/// Calls of an agent are its own.
fn never_run(chat: &mut Chat) {
    let waits = |row: &&chatrows::Row| row.tool.is_some() && row.state == RowState::Pending;
    let calls: Vec<_> = chat.chat.rows().filter(waits).map(|row| row.id).collect();
    calls.into_iter().for_each(|id| assert!(chat.chat.tool_started(ToolRef::Row(id)).is_err()));
}

// Recordings.

/// The same rows under any cut, no fault, every record counted, and nothing to say of a replay, whole or after it broke
/// off anywhere.
fn keeps_the_invariants(name: &str, input: &str, records: u64) -> Chat {
    let whole = run(input, Cuts::Whole);
    let counts = whole.counts();
    assert_eq!(whole.faults(), Vec::<String>::new(), "{name}");
    assert_eq!((counts.records(), counts.skipped, counts.late), (records, 0, 0), "{name}");
    for cuts in [1, 2, 3, 7, 64].map(Cuts::Every).into_iter().chain((0..20).map(Cuts::Seed)) {
        let other = run(input, cuts);
        assert_eq!((other.rows(), other.panels()), (whole.rows(), whole.panels()), "{name}, {cuts:?}");
        assert_eq!(other.counts(), counts, "{name}, {cuts:?}");
    }
    let mut ended = run(input, Cuts::Whole);
    ended.finish();
    ended.drain();
    rests(&ended.rows(), name);
    never_run(&mut ended);
    let (rows, panels) = (ended.rows(), ended.panels());
    for cuts in [Cuts::Whole, Cuts::Every(1000)] {
        ended.chat.restart(ended.stream);
        ended.feed(input.as_bytes(), cuts);
        ended.finish();
        let ops = ended.drain();
        assert_eq!(
            (ended.rows(), ended.panels()),
            (rows.clone(), panels.clone()),
            "{name}: a replay changes something"
        );
        assert!(!matches!(cuts, Cuts::Whole) || ops.is_empty(), "{name}: a replay says {ops:#?}");
    }
    // A chat that was saved finds the rows that have a name again, and shows nothing of them twice.
    let mut again = ChatRows::restore(&ended.chat.snapshot_json(), Options::default()).unwrap();
    let stream = again.stream(Format::Acp);
    again.push(stream, input.as_bytes());
    again.finish(stream);
    let of_key = |rows: &Value| -> BTreeMap<String, u64> {
        let rows = rows.as_array().unwrap().iter();
        rows.filter_map(|row| Some((row["key"].as_str()?.to_owned(), row["id"].as_u64()?))).collect()
    };
    let restored: Value = serde_json::from_str(&again.rows_json()).unwrap();
    assert_eq!(of_key(&restored), of_key(&rows), "{name}");
    let named = |rows: &Value| rows.as_array().unwrap().iter().filter(|row| row.get("key").is_some()).count();
    assert_eq!(named(&restored), named(&rows), "{name}");
    // The first pass breaks off anywhere, inside a record too.
    for part in 0..40 {
        let mut chat = run(&input[..cut_at(input, input.len() * part / 40)], Cuts::Whole);
        chat.finish();
        chat.drain();
        chat.chat.restart(chat.stream);
        chat.feed(input.as_bytes(), Cuts::Seed(part as u64));
        chat.finish();
        chat.drain();
        assert_eq!(by_place(&chat.rows()), by_place(&rows), "{name}, broken off at {part} of 40");
        assert_eq!(chat.panels(), panels, "{name}, broken off at {part} of 40");
    }
    whole
}

/// The rows with their places for ids: a row that came and went in between has taken one.
fn by_place(rows: &Value) -> Value {
    let mut rows = rows.clone();
    let rows_mut = rows.as_array_mut().unwrap();
    let ids: Vec<Value> = rows_mut.iter().map(|row| row["id"].clone()).collect();
    for row in rows_mut {
        for name in ["id", "parent"] {
            let place = ids.iter().position(|id| row.get(name) == Some(id));
            row[name] = json!(place);
        }
    }
    rows
}

fn cut_at(text: &str, place: usize) -> usize {
    (0..=place).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// A recording of either form, and how many records it has.
fn recordings() -> Vec<(String, String, u64)> {
    let Some(folder) = std::env::var_os("CHATROWS_CORPUS") else {
        println!("skipped: CHATROWS_CORPUS is not set");
        return Vec::new();
    };
    let folder = PathBuf::from(folder).join("acp");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"))
        .map(|path| {
            let input = fs::read_to_string(&path).unwrap();
            let records = serde_json::Deserializer::from_str(&input).into_iter::<Value>().count() as u64;
            (path.file_name().unwrap().to_str().unwrap().to_owned(), input, records)
        })
        .collect();
    found.sort();
    assert!(found.len() >= 4, "recordings are missing: {found:?}");
    found
}

#[test]
fn recordings_come_to_the_same_rows_however_they_come() {
    for (name, input, records) in recordings() {
        let chat = keeps_the_invariants(&name, &input, records);
        assert!(chat.rows().as_array().unwrap().iter().all(|row| row["state"] != "failed"), "{name}");
    }
}

/// An edit that the user allows, as one adapter tells it.
const EDIT: &str = r#"
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"usage_update","used":2,"size":100}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call","toolCallId":"e","name":"Edit","title":"Edit","kind":"edit","status":"pending","content":[],"locations":[]}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"e","title":"Edit tides.txt","locations":[{"path":"/h/tides.txt"}]}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"e","rawInput":{"file":"/h/tides.txt"},"content":[{"type":"diff","path":"/h/tides.txt","oldText":"low","newText":"high"}]}}}
{"kind":"requestPermission","payload":{"sessionId":"h","options":[{"optionId":"y","kind":"allow_once","name":"Yes"}],"toolCall":{"toolCallId":"e","title":"Edit tides.txt","rawInput":{"file":"/h/tides.txt"},"content":[{"type":"diff","path":"/h/tides.txt","oldText":null,"newText":""}]}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"e","status":"completed","rawOutput":"tides.txt was changed"}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"e","content":[{"type":"diff","path":"/h/tides.txt","oldText":"6:00 low","newText":"6:00 high"}],"locations":[{"path":"/h/tides.txt","line":1}]}}}
{"kind":"promptResponse","payload":{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}}
"#;

#[test]
fn an_edit_with_permission() {
    let chat = keeps_the_invariants("edit", EDIT, 8);
    assert_eq!(
        chat.lines(),
        r#"tool done Edit#e({"file":"/h/tides.txt"}) whole title "Edit tides.txt" output "tides.txt was changed""#
    );
    let tool = &chat.rows()[0]["tool"];
    let diff = json!([{"type": "diff", "path": "/h/tides.txt", "oldText": "6:00 low", "newText": "6:00 high"}]);
    assert_eq!(tool["content"], diff);
    assert_eq!(tool["locations"], json!([{"path": "/h/tides.txt", "line": 1}]));
    assert_eq!(chat.panels()["activity"]["state"], "idle");
    assert_eq!(chat.panels()["usage"], json!({"used": 2, "size": 100}));
}

/// Even if the page looks in between: no row that has ended flickers.
#[test]
fn a_replay_of_what_has_ended_is_silent_record_by_record() {
    let question =
        json!({"toolCallId": "q", "rawInput": {"questions": [{"question": "Which?", "options": ["a", "b"]}]}});
    let answered = json!({"toolCallId": "q", "status": "completed", "rawOutput": {"answers": {"Which?": "a"}}});
    let asked = [update("h", "tool_call", question), update("h", "tool_call_update", answered)];
    let input = EDIT.to_owned() + &asked.map(|record| format!("{record}\n")).concat();
    let mut chat = run(&input, Cuts::Whole);
    assert!(chat.lines().ends_with(r#"question done "Which?" (a | b) answer "a""#), "{}", chat.lines());
    chat.finish();
    chat.drain();
    chat.chat.restart(chat.stream);
    chat.drain();
    for line in input.lines() {
        chat.push(format!("{line}\n").as_bytes());
        for op in chat.drain() {
            assert_eq!(op["op"], "panel", "{line} says {op}");
        }
    }
}

/// A history that is loaded: a subagent, a terminal told through `_meta`, a thought and a message of one id.
const HISTORY: &str = r#"
{"kind":"initialize","payload":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"user_message_chunk","messageId":"u","content":{"type":"text","text":"When is high tide?"}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"agent_thought_chunk","messageId":"r1","content":{"type":"text","text":"The table knows."}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"agent_message_chunk","messageId":"r1","content":{"type":"text","text":"I look."}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call","toolCallId":"b","name":"Bash","kind":"execute","title":"cat","status":"pending","rawInput":{"command":"cat"},"content":[{"type":"terminal","terminalId":"b"}],"_meta":{"terminal_info":{"terminal_id":"b"}}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"subagent_spawned","subagentSessionId":"h:1","name":"Pilot","task":"Sound the depth"}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"b","_meta":{"terminal_output_delta":{"terminal_id":"b","data":"6:10"}}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"completed","_meta":{"terminal_exit":{"terminal_id":"b","exit_code":0,"signal":null}}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h:1","update":{"sessionUpdate":"agent_message_chunk","messageId":"s","content":{"type":"text","text":"Four fathoms."},"_meta":{"claudeCode":{"parentToolUseId":"x"}}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"agent_message_chunk","messageId":"r2","content":{"type":"text","text":"At 6:10."}}}}
{"kind":"sessionUpdate","payload":{"sessionId":"h","update":{"sessionUpdate":"subagent_state_update","subagentSessionId":"h:1","state":"completed"}}}
"#;

#[test]
fn a_history_that_is_loaded() {
    let chat = keeps_the_invariants("history", HISTORY, 11);
    let expected = r#"
        user done "When is high tide?"
        reasoning done "The table knows."
        text done "I look."
        tool done Bash#b({"command":"cat"}) whole title "cat" output "6:10"
        tool done Pilot() title "Sound the depth"
        text done "Four fathoms." parent 5
        text streaming "At 6:10."
    "#;
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.rows()[3]["meta"], json!({"exitCode": 0}));
}

/// Pretty-printed, one value after the other: what another adapter writes.
#[test]
fn a_history_in_pretty_print() {
    let record = |update: Value| json!({"method": "sessionUpdate", "args": [{"sessionId": "h", "update": update}]});
    let text = |kind: &str, id: &str, text: &str| {
        record(json!({"sessionUpdate": kind, "messageId": id, "content": {"type": "text", "text": text}}))
    };
    let records = [
        record(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "chart", "description": "Show the chart.", "input": null}]}),
        ),
        record(json!({"sessionUpdate": "session_info_update", "_meta": {"goal": {"status": "paused"}}})),
        record(json!({"sessionUpdate": "session_info_update", "title": "Tides"})),
        text("user_message_chunk", "u", "See "),
        text("user_message_chunk", "u", "this"),
        text("agent_message_chunk", "a", "Hello!"),
        text("agent_thought_chunk", "r", "Hm"),
        record(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "title": "ls", "status": "completed", "content": [{"type": "terminal", "terminalId": "c"}], "rawInput": {"command": "ls"}}),
        ),
        record(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": {"formatted_output": "a\nb\n", "exit_code": 0}, "_meta": {"terminal_output_delta": {"data": "a\nb\n", "terminal_id": "c"}}}),
        ),
        record(
            json!({"sessionUpdate": "tool_call", "toolCallId": "g", "kind": "other", "title": "Draw", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "A lighthouse"}}, {"type": "content", "content": {"type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/gif"}}], "rawOutput": {"status": "completed", "result": "R0lGODlhAQABAAAAACw="}}),
        ),
        record(
            json!({"sessionUpdate": "tool_call", "toolCallId": "k", "kind": "think", "title": "Condense", "status": "completed"}),
        ),
    ];
    let input: Vec<String> = records.iter().map(|record| serde_json::to_string_pretty(record).unwrap()).collect();
    let chat = keeps_the_invariants("pretty", &input.join("\n"), records.len() as u64);
    let expected = r#"
        user done "See this"
        text done "Hello!"
        reasoning done "Hm"
        tool done ?#c({
        "command": "ls"
        }) whole title "ls" output "a\nb\n"
        tool done ?#g() title "Draw" output "A lighthouse" images data:image/gif;base64,R0lGODlhAQABAAAAACw=
        tool done ?#k() title "Condense"
    "#;
    assert_eq!(unindent(&chat.lines()), unindent(expected), "arguments stand as received");
    assert_eq!(chat.panels()["session"], json!({"title": "Tides"}));
}

// From plausible to hostile.

fn pick<T: Clone>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())].clone()
}

fn words(random: &mut Random) -> String {
    const WORDS: [&str; 12] = ["a", "naïve ", "\r", "\n", "\0", "😀", "{", "\"", "\u{202e}", "done", "\\", "<img>"];
    (0..random.below(5)).map(|_| WORDS[random.below(WORDS.len())]).collect()
}

/// Anything that JSON can be.
fn anything(random: &mut Random) -> Value {
    match random.below(9) {
        0 => json!(null),
        1 => json!(random.below(3) == 0),
        2 => json!(random.below(1 << 30)),
        3 => json!(-1.5),
        4 => json!([]),
        5 => json!({}),
        6 => json!([words(random), {"type": "text", "text": words(random)}]),
        7 => json!({"text": words(random), "type": "content", "path": 3}),
        _ => json!(words(random)),
    }
}

fn block(random: &mut Random) -> Value {
    let text = words(random);
    pick(
        random,
        &[
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": text}),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
            json!({"type": "resource_link", "name": text, "uri": "file:///a"}),
            json!({"type": "resource", "resource": {"uri": text, "text": "x"}}),
        ],
    )
}

fn of_call(random: &mut Random) -> Value {
    let (text, other) = (words(random), words(random));
    let content = json!([
        {"type": "content", "content": block(random)},
        {"type": "diff", "path": "/a", "oldText": text, "newText": other},
        {"type": "terminal", "terminalId": "x"},
    ]);
    let mut call = json!({"toolCallId": pick(random, &["t", "u", "v", "w"])});
    for (name, value) in [
        ("title", json!(text)),
        ("kind", json!(pick(random, &["edit", "read", "question", "other"]))),
        ("status", json!(pick(random, &["pending", "in_progress", "completed", "failed", "cancelled"]))),
        ("content", Value::Array(content.as_array().unwrap()[..random.below(4)].to_vec())),
        ("locations", json!([{"path": "/a", "line": random.below(9)}])),
        ("rawInput", json!({"a": other, "questions": [{"question": "Which?", "options": ["a", "b"]}]})),
        ("rawOutput", pick(random, &[json!(text), json!({"stdout": other}), json!({"answers": {"Which?": "a"}})])),
        ("_meta", json!({"terminal_output_delta": {"data": other}, "claudeCode": {"parentToolUseId": "t"}})),
        ("name", json!("Bash")),
    ] {
        if random.below(4) == 0 {
            call[name] = value;
        }
    }
    call
}

fn session(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("s{}", random.below(1000)),
        1 => "sub".to_owned(),
        _ => "s".to_owned(),
    }
}

/// A record that some agent or editor may send.
fn valid(random: &mut Random) -> Value {
    let (session, id) = (session(random), random.below(4));
    let text = words(random);
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    match random.below(22) {
        0..=5 => {
            let kind = pick(random, &["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]);
            let mut chunk = json!({"content": block(random)});
            if random.below(2) == 0 {
                chunk["messageId"] = json!(pick(random, &["m", "n"]));
            }
            update(&session, kind, chunk)
        }
        6..=10 => {
            let kind = pick(random, &["tool_call", "tool_call_update"]);
            update(&session, kind, of_call(random))
        }
        11 => update(&session, "plan", json!({"entries": [{"content": text, "priority": "low", "status": "pending"}]})),
        12 => {
            let kind = pick(random, &["compaction_update", "compaction_summary_chunk", "notice", "llm_call_retry"]);
            let status = pick(random, &["in_progress", "completed", "failed"]);
            update(
                &session,
                kind,
                json!({"compactionId": "c", "status": status, "content": block(random), "title": text}),
            )
        }
        13 => update(&session, "subagent_spawned", json!({"subagentSessionId": "sub", "name": text, "task": "x"})),
        14 => {
            let state = pick(random, &["running", "completed", "failed"]);
            update(&session, "subagent_state_update", json!({"subagentSessionId": "sub", "state": state}))
        }
        15 => {
            let usage = json!({"used": random.below(9), "size": 9, "title": text, "currentModeId": text});
            let kind = pick(random, &["usage_update", "session_info_update", "current_mode_update"]);
            update(&session, kind, usage)
        }
        16 => {
            let tool = of_call(random);
            let options = json!([{"optionId": "y", "kind": "allow_once"}]);
            request("session/request_permission", json!({"sessionId": session, "toolCall": tool, "options": options}))
        }
        17 => {
            let properties =
                pick(random, &[json!({}), json!({"a": {"type": "string"}}), json!({"a": {"enum": ["x"]}, "b": {}})]);
            let form = json!({"sessionId": session, "message": text, "requestedSchema": {"properties": properties}});
            request("elicitation/create", form)
        }
        18 => {
            let result = pick(
                random,
                &[
                    json!({"outcome": {"outcome": "selected", "optionId": "y"}}),
                    json!({"outcome": {"outcome": "cancelled"}}),
                    json!({"action": "accept", "content": {"a": "x"}}),
                    json!({"action": "decline"}),
                    json!({"stopReason": "end_turn"}),
                    json!({"stopReason": "max_tokens"}),
                    json!({"stopReason": "cancelled"}),
                    json!({}),
                    json!(null),
                ],
            );
            answer(result)
        }
        19 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": text}}),
        20 => json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
        _ => {
            let method = pick(random, &["session/prompt", "session/load", "fs/read_text_file", "initialize"]);
            request(method, json!({"sessionId": session, "prompt": [block(random)]}))
        }
    }
}

/// Puts something else at a random place of a record, or takes something out.
fn mutate(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) if !members.is_empty() && random.below(5) > 0 => {
            let key = pick(random, &members.keys().cloned().collect::<Vec<_>>());
            match random.below(6) {
                0 => drop(members.remove(&key)),
                _ => mutate(members.get_mut(&key).unwrap(), random),
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(5) > 0 => {
            let place = random.below(items.len());
            mutate(&mut items[place], random);
        }
        value => *value = anything(random),
    }
}

/// Records, mutated, repeated and put in another order; and as they stand on the wire, some of them damaged.
fn conversation(seed: u64) -> String {
    let mut random = Random(seed);
    let mut records: Vec<Value> = Vec::new();
    for _ in 0..1 + random.below(30) {
        let mut record = match random.below(6) {
            0 if !records.is_empty() => pick(&mut random, &records),
            _ => valid(&mut random),
        };
        for _ in 0..random.below(3) {
            if random.below(3) == 0 {
                mutate(&mut record, &mut random);
            }
        }
        let place = if random.below(5) == 0 { random.below(records.len() + 1) } else { records.len() };
        records.insert(place, record);
    }
    let mut input = String::new();
    let write = if random.below(9) == 0 { serde_json::to_string_pretty } else { serde_json::to_string };
    for record in &records {
        let text = write(record);
        let text = text.unwrap();
        match random.below(40) {
            0 if seed % 2 == 1 => input.push_str(&text[..cut_at(&text, random.below(text.len()))]),
            1 if seed % 2 == 1 => input.push_str("Loaded credentials."),
            _ => input.push_str(&text),
        }
        input.push('\n');
    }
    input
}

/// 1, 2, 4, 6, 9, 10: `Chat::drain` compares the oracle after each batch, and the oracle refuses an op that changes
/// nothing.
#[test]
fn any_records_in_any_cut_keep_the_invariants() {
    for seed in 0..800 {
        let input = conversation(seed);
        let mut whole = run(&input, Cuts::Whole);
        let counts = whole.counts();
        let damaged = seed % 2 == 1;
        assert!(damaged || counts.records() >= 1, "seed {seed}");
        for cuts in [Cuts::Seed(seed), Cuts::Every(101)] {
            let other = run(&input, cuts);
            assert_eq!(without_ids(&other.rows()), without_ids(&whole.rows()), "seed {seed}, {cuts:?}: {input}");
            assert_eq!(other.panels(), whole.panels(), "seed {seed}, {cuts:?}");
            assert_eq!(other.counts(), counts, "seed {seed}, {cuts:?}");
        }
        never_run(&mut whole);
        if seed % 3 == 0 {
            whole.abort()
        } else {
            whole.finish()
        };
        whole.drain();
        rests(&whole.rows(), &format!("seed {seed}: {input}"));
        never_run(&mut whole);
        let rows = whole.rows();
        whole.push(b"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":\"late\"}\n");
        assert!(whole.drain().is_empty() && whole.rows() == rows, "seed {seed}: a stream that ended takes more");
        assert!(whole.counts().late > 0 || damaged, "seed {seed}");
    }
}

/// 7: what was told once, and is told again from the beginning, is the same rows.
#[test]
fn any_records_told_again_are_the_same_rows() {
    for seed in (0..1200).step_by(2) {
        let input = conversation(seed);
        let mut chat = run(&input, Cuts::Whole);
        for ended in [false, true] {
            if ended {
                chat.finish();
                chat.drain();
            }
            let (rows, panels) = (chat.rows(), chat.panels());
            for _ in 0..2 {
                chat.chat.restart(chat.stream);
                chat.feed(input.as_bytes(), Cuts::Whole);
                if ended {
                    chat.finish();
                }
                chat.drain();
                assert_eq!(chat.lines(), support::lines(&rows), "seed {seed}, ended {ended}: {input}");
                assert_eq!(chat.rows(), rows, "seed {seed}, ended {ended}: {input}");
                assert_eq!(chat.panels(), panels, "seed {seed}, ended {ended}: {input}");
            }
        }
    }
}

/// 10: caps hold, and what they keep out is a fault.
#[test]
fn caps_hold() {
    let limits = Limits { rows: 3, open_blocks: 2, text_bytes: 10, ..Limits::default() };
    let mut chat = chat_of(Format::Acp, Options { limits, ..Options::default() });
    for turn in 0..9 {
        let session = format!("s{turn}");
        let text = json!({"content": {"type": "text", "text": "x".repeat(20)}});
        let delta = json!({"toolCallId": "t", "_meta": {"terminal_output_delta": {"data": "x".repeat(20)}}});
        for record in [update(&session, "agent_message_chunk", text), update(&session, "tool_call_update", delta)] {
            chat.chat.push_message(chat.stream, &record.to_string());
            chat.drain();
        }
    }
    let rows = chat.rows();
    let shown = rows.as_array().unwrap().iter().filter(|row| row["kind"] != "notice");
    assert_eq!(shown.clone().count(), 3);
    assert!(shown.clone().all(|row| row["text"].as_str().is_none_or(|text| text.len() <= 10)));
    assert!(shown.clone().all(|row| row["tool"]["output"].as_str().is_none_or(|text| text.len() <= 10)));
    assert!(rows.as_array().unwrap().iter().any(|row| row["message"]["key"] == "limit.rows"));
    assert_eq!(chat.counts().faulted, 18);
}

// Work.

/// Feeds the records to a chat in which `first` stands, with a drain after each; what that cost, in bytes of ops.
fn told(first: &[Value], records: impl Iterator<Item = Value>) -> (ChatRows, usize) {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::Acp);
    for record in first {
        chat.push_message(stream, &record.to_string());
    }
    chat.drain(&mut |_: RowOp<'_>| ());
    let mut bytes = 0;
    for record in records {
        chat.push_message(stream, &record.to_string());
        chat.drain(&mut |op: RowOp<'_>| {
            let mut json = chatrows::json::JsonWriter::default();
            op.write_json(&mut json);
            bytes += json.into_string().len();
        });
    }
    (chat, bytes)
}

const MANY: usize = 100_000;
const FEWER: usize = 20_000;
const LARGE: usize = 1 << 20;

/// A call with a large input, diff and output.
fn large() -> [Value; 2] {
    let text = "word ".repeat(LARGE / 5);
    let content = json!([
        {"type": "diff", "path": "/a", "oldText": text, "newText": text},
        {"type": "content", "content": {"type": "image", "data": "A".repeat(LARGE), "mimeType": "image/png"}},
        {"type": "terminal", "terminalId": "x"},
    ]);
    let call =
        json!({"toolCallId": "t", "title": "x", "status": "in_progress", "rawInput": {"a": text}, "content": content});
    [update("s", "tool_call", call), update("s", "tool_call_update", json!({"toolCallId": "t", "rawOutput": text}))]
}

/// 5: what an update does not change it does not pay for. Were each to cost the size of the call, this would not end.
#[test]
fn tiny_updates_of_a_large_call_cost_what_is_new() {
    let of = |members: fn(usize) -> Value| {
        move |turn: usize| {
            let mut members = members(turn);
            members["toolCallId"] = json!("t");
            update("s", "tool_call_update", members)
        }
    };
    type Members = fn(usize) -> Value;
    let kinds: [(&str, usize, Members); 5] = [
        ("status", MANY, |turn| json!({"status": (["pending", "in_progress"][turn % 2])})),
        ("title", MANY, |turn| json!({"title": format!("step {turn}")})),
        ("locations", FEWER, |turn| json!({"locations": [{"path": "/a", "line": turn}]})),
        ("delta", FEWER, |_| json!({"_meta": {"terminal_output_delta": {"data": "."}}})),
        ("exit", FEWER, |turn| json!({"_meta": {"terminal_exit": {"exit_code": turn}}})),
    ];
    for (name, many, members) in kinds {
        let (chat, bytes) = told(&large(), (0..many).map(of(members)));
        assert!(bytes < 400 * many + 2 * LARGE, "{name}: {bytes} bytes of ops");
        assert_eq!(chat.rows().count(), 1);
    }
}

/// Short outputs one after the other beside large content.
#[test]
fn outputs_that_replace_one_another_cost_their_length() {
    let output =
        |turn: usize| update("s", "tool_call_update", json!({"toolCallId": "t", "rawOutput": format!("{turn} %")}));
    let [call, _] = large();
    let (_, bytes) = told(&[call], (0..FEWER).map(output));
    assert!(bytes < 400 * FEWER + 2 * LARGE, "{bytes} bytes of ops");
    let words = json!([{"type": "content", "content": {"type": "text", "text": "word ".repeat(LARGE / 5)}}]);
    let call = update("s", "tool_call", json!({"toolCallId": "t", "title": "x", "content": words}));
    let (_, bytes) = told(&[call], (0..FEWER).map(output));
    assert!(bytes < 400 * FEWER + 2 * LARGE, "{bytes} bytes of ops");
}

/// Many calls, requests and forms that go on at once: none is looked for among the others one by one.
#[test]
fn many_things_at_once() {
    let call = |n: usize| {
        update("s", "tool_call", json!({"toolCallId": format!("t{n}"), "title": "x", "status": "in_progress"}))
    };
    let end = |n: usize| update("s", "tool_call_update", json!({"toolCallId": format!("t{n}"), "status": "completed"}));
    let (chat, _) = told(&[], (0..FEWER).map(call).chain((0..FEWER).map(end)));
    assert_eq!(chat.rows().filter(|row| row.state == RowState::Done).count(), FEWER);
    let ask = |n: usize| {
        let params = json!({"sessionId": "s", "toolCall": {"toolCallId": format!("t{n}")}, "options": []});
        json!({"jsonrpc": "2.0", "id": n, "method": "session/request_permission", "params": params})
    };
    let answer = |n: usize| json!({"jsonrpc": "2.0", "id": n, "result": {"outcome": {"outcome": "cancelled"}}});
    let stop = json!({"jsonrpc": "2.0", "id": "p", "result": {"stopReason": "end_turn"}});
    let (chat, _) = told(&[], (0..FEWER).map(ask).chain((0..FEWER).map(answer)).chain([stop.clone()]));
    assert_eq!(chat.rows().filter(|row| row.state == RowState::Interrupted).count(), FEWER);
    let form = |n: usize| {
        let params = json!({"sessionId": "s", "mode": "url", "elicitationId": format!("e{n}"), "message": "Sign in", "url": "https://a"});
        json!({"jsonrpc": "2.0", "id": n, "method": "elicitation/create", "params": params})
    };
    let complete = |n: usize| json!({"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": format!("e{n}")}});
    let (chat, _) = told(&[], (0..FEWER).map(form).chain((0..FEWER / 2).map(complete)).chain([stop]));
    assert_eq!(chat.rows().filter(|row| row.state == RowState::Expired).count(), FEWER / 2);
}

#[test]
fn many_sessions_and_many_messages() {
    let chunk = |n: usize| {
        let message = json!({"messageId": format!("m{n}"), "content": {"type": "text", "text": "a"}});
        update(&format!("s{}", n % 1000), "agent_message_chunk", message)
    };
    let (chat, _) = told(&[], (0..FEWER).map(chunk));
    assert_eq!(chat.rows().count(), FEWER);
    let piece = |n: usize| {
        update(&format!("s{}", n % 900), "agent_message_chunk", json!({"content": {"type": "text", "text": "a"}}))
    };
    let (chat, _) = told(&[], (0..FEWER).map(piece));
    assert_eq!(chat.rows().count(), 900);
}

#[test]
fn many_turns() {
    let turn = |n: usize| {
        let prompt = json!({"jsonrpc": "2.0", "id": n, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}});
        let call = update("s", "tool_call", json!({"toolCallId": format!("t{n}"), "title": "x"}));
        [prompt, call, json!({"jsonrpc": "2.0", "id": n, "result": {"stopReason": "end_turn"}})]
    };
    let (chat, _) = told(&[], (0..FEWER).flat_map(turn));
    assert_eq!(chat.rows().filter(|row| row.state == RowState::Interrupted).count(), FEWER);
}

/// An agent's request is answered once, and not after its time.
#[test]
fn what_is_answered_or_expired_takes_no_answer() {
    let values = json!({"properties": {"a": {"type": "string"}}});
    let leave = json!({"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [{"optionId": "y"}]});
    let requests = [
        ("session/request_permission", leave, AcpAnswer::Option("y")),
        ("elicitation/create", json!({"sessionId": "s", "requestedSchema": values}), AcpAnswer::Values(r#"{"a":"x"}"#)),
        ("elicitation/create", json!({"sessionId": "s", "message": "m"}), AcpAnswer::Option("accept")),
    ];
    for (method, params, accept) in requests {
        let all = [accept, AcpAnswer::Decline, AcpAnswer::Cancel];
        let prompt = json!({"id": 8, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}});
        let ask = json!({"id": 9, "method": method, "params": params});
        let asked = || told(&[prompt.clone(), ask.clone()], std::iter::empty()).0;
        let takes = |chat: &ChatRows| {
            let row = chat.rows().next().unwrap().id;
            all.map(|answer| chat.acp_reply(row, answer))
        };
        for answer in takes(&asked()).into_iter().flatten() {
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let (chat, _) = told(&[prompt.clone(), ask.clone(), answer.clone()], std::iter::empty());
            assert_eq!(takes(&chat), [None, None, None], "{answer}");
        }
        let end = json!({"id": 8, "result": {"stopReason": "end_turn"}});
        let (chat, _) = told(&[prompt.clone(), ask.clone(), end], std::iter::empty());
        assert_eq!(takes(&chat), [None, None, None], "{method}");
    }
}
