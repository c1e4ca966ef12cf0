//! Chats that are saved and restored.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, Format, Limits, Options, RowId, ToolRef};
use serde_json::{Value, json};
use support::{Chat, call, chat_of, content, end, lines, sse, values};

fn rows(chat: &ChatRows) -> Value {
    serde_json::from_str(&chat.rows_json()).unwrap()
}

fn restored(chat: &ChatRows) -> ChatRows {
    ChatRows::restore(&chat.snapshot_json(), Options::default()).unwrap()
}

fn refuses(snapshot: &Value, reason: &str) {
    let error = ChatRows::restore(&snapshot.to_string(), Options::default()).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

/// A chat with a row of nearly every kind.
fn full() -> Chat {
    let mut chat = chat_of(Format::Say, Options::default());
    for message in [
        json!({"ts": 1, "type": "say", "say": "task", "text": "do it", "files": ["a"]}),
        json!({"ts": 2, "type": "say", "say": "tool", "text": json!({"tool": "readFile", "path": "a"}).to_string()}),
        json!({"ts": 3, "type": "say", "say": "error_retry", "text": json!({"attempt": 1, "failed": true}).to_string()}),
        json!({"ts": 4, "type": "ask", "ask": "api_req_failed", "text": "503"}),
        json!({"ts": 5, "type": "ask", "ask": "followup", "text": json!({"question": "?", "options": ["a"]}).to_string()}),
        json!({"ts": 6, "type": "say", "say": "task_progress", "text": "- [x] a"}),
    ] {
        chat.chat.push_message(chat.stream, &message.to_string());
    }
    chat
}

#[test]
fn a_restored_chat_has_the_same_rows_and_panels() {
    let mut chat = full();
    chat.finish();
    let again = restored(&chat.chat);
    assert_eq!(rows(&again), chat.rows());
    assert_eq!(again.panels_json(), chat.chat.panels_json());
    assert_eq!(again.snapshot_json(), chat.chat.snapshot_json());
}

#[test]
fn listeners_of_a_restored_chat_hear_it_as_inserts() {
    let chat = full();
    let mut again = restored(&chat.chat);
    let mut ids = Vec::new();
    again.drain(&mut |op: chatrows::RowOp<'_>| {
        if let chatrows::RowOp::Insert { before: None, row } = op {
            ids.push(row.id);
        }
    });
    assert_eq!(ids, again.rows().map(|row| row.id).collect::<Vec<_>>());
}

#[test]
fn what_was_under_way_is_interrupted() {
    let mut chat = Chat::new();
    chat.push(sse([content("Hel")]).as_bytes());
    assert_eq!(lines(&rows(&restored(&chat.chat))), r#"text interrupted "Hel""#);
}

#[test]
fn a_call_that_waits_may_still_be_run() {
    let mut chat = Chat::new();
    chat.push(
        sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}"#), end("tool_calls")])
            .as_bytes(),
    );
    chat.finish();
    let mut again = restored(&chat.chat);
    let id = again.rows().next().unwrap().id;
    assert_eq!(again.args(id).as_deref(), Some("{\"a\":1}"));
    again.tool_started(ToolRef::Row(id)).unwrap();
}

#[test]
fn arguments_are_judged_anew() {
    let saved = json!({"chatrows": 1, "ids": 1, "panels": {}, "rows": [{
        "id": 1, "kind": "tool", "state": "pending", "busy": false,
        "tool": {"name": "f", "input": "{\"a\":", "inputDone": true},
    }]});
    let again = ChatRows::restore(&saved.to_string(), Options::default()).unwrap();
    assert_eq!(again.args(RowId::new(1).unwrap()).as_deref(), None);
    assert_eq!(lines(&rows(&again)), "tool interrupted f({\"a\":)");
}

#[test]
fn a_call_that_was_cut_never_runs_although_it_parses() {
    let saved = |output: Value| {
        json!({"chatrows": 1, "ids": 1, "panels": {}, "rows": [{
            "id": 1, "kind": "tool", "state": "pending", "busy": false, "truncated": true,
            "tool": {"name": "f", "input": "{}", "inputDone": true, "output": output},
        }]})
    };
    let again = |output: Value| ChatRows::restore(&saved(output).to_string(), Options::default()).unwrap();
    let cut = again(json!(null));
    assert_eq!(cut.args(RowId::new(1).unwrap()).as_deref(), None);
    assert_eq!(lines(&rows(&cut)), "tool interrupted f({}) truncated");
    // What was cut here is what it showed.
    assert_eq!(again(json!("x")).args(RowId::new(1).unwrap()).as_deref(), Some("{}"));
}

#[test]
fn ids_go_on_where_they_were() {
    let mut chat = Chat::new();
    chat.chat.add_user("a");
    let second = chat.chat.add_user("b").unwrap();
    chat.chat.truncate_from(second);
    let mut again = restored(&chat.chat);
    assert_eq!(again.add_user("c").unwrap().get(), 3);
}

#[test]
fn a_wire_finds_its_rows_by_their_keys() {
    let chat = full();
    let mut again = restored(&chat.chat);
    let before = rows(&again);
    let stream = again.stream(Format::Say);
    again.push_message(
        stream,
        &json!({"ts": 1, "type": "say", "say": "task", "text": "do it!", "files": ["a"]}).to_string(),
    );
    let mut expected = before.clone();
    expected[0]["text"] = json!("do it!");
    assert_eq!(rows(&again), expected);
    let input = values([json!({"ts": 9, "type": "say", "say": "text", "text": "new"}).to_string()]);
    again.push(stream, input.as_bytes());
    assert_eq!(rows(&again).as_array().unwrap().len(), before.as_array().unwrap().len() + 1);
}

/// A chat that was fed, saved, restored and fed again, as lines.
fn fed_again(before: &[Value], after: &[Value]) -> String {
    let mut chat = chat_of(Format::Say, Options::default());
    before.iter().for_each(|message| {
        chat.chat.push_message(chat.stream, &message.to_string());
    });
    let mut again = restored(&chat.chat);
    let stream = again.stream(Format::Say);
    after.iter().for_each(|message| {
        again.push_message(stream, &message.to_string());
    });
    lines(&rows(&again))
}

fn said(ts: u64, text: &str) -> Value {
    json!({"ts": ts, "type": "say", "say": "text", "text": text})
}

fn asked(ts: u64, kind: &str, text: &str, partial: bool) -> Value {
    json!({"ts": ts, "type": "ask", "ask": kind, "text": text, "partial": partial})
}

#[test]
fn what_was_missing_takes_its_place_among_restored_rows() {
    let all = "text done \"a\"\ntext done \"b\"\ntext done \"c\"";
    let before = [said(1, "a"), said(3, "c")];
    assert_eq!(fed_again(&before, &[said(2, "b")]), all);
    assert_eq!(fed_again(&before, &[json!([said(1, "a"), said(2, "b"), said(3, "c")])]), all);
}

#[test]
fn the_echo_of_a_local_row_is_found_again() {
    let mut chat = chat_of(Format::Say, Options::default());
    chat.chat.add_user("hi");
    let echo = json!({"ts": 5, "type": "say", "say": "user_feedback", "text": "hi"});
    chat.chat.push_message(chat.stream, &echo.to_string());
    let mut again = restored(&chat.chat);
    let stream = again.stream(Format::Say);
    again.push_message(stream, &json!([echo]).to_string());
    assert_eq!(lines(&rows(&again)), "user done \"hi\"");
}

#[test]
fn arguments_that_grow_on_after_a_restore_have_each_field_once() {
    for cut in [r#"{"tool":"webFet"#, r#"{"tool":"webFetch""#] {
        let whole = r#"{"tool":"webFetch"}"#;
        let mut chat = chat_of(Format::Say, Options::default());
        chat.chat.push_message(chat.stream, &asked(1, "tool", cut, true).to_string());
        let mut again = restored(&chat.chat);
        let stream = again.stream(Format::Say);
        again.push_message(stream, &asked(1, "tool", whole, false).to_string());
        let fields = &rows(&again)[0]["tool"]["fields"];
        assert_eq!(fields, &json!([{"path": ["tool"], "text": "webFetch", "closed": true}]));
    }
}

#[test]
fn what_the_wire_hides_by_now_is_gone_after_a_restore() {
    let wait = json!({"ts": 2, "type": "say", "say": "api_req_retry_delayed", "text": "5 s", "partial": true});
    let failed = asked(2, "api_req_failed", "503", false);
    for moving in [wait, failed] {
        let expected = "text done \"a\"\ntext done \"c\"";
        assert_eq!(
            fed_again(&[said(1, "a"), moving.clone()], &[json!([said(1, "a"), moving, said(3, "c")])]),
            expected
        );
    }
    let output = json!({"ts": 2, "type": "say", "say": "command_output", "text": "out"});
    let command = json!({"ts": 1, "type": "say", "say": "command", "text": "ls", "commandCompleted": true});
    let joined = r#"tool done command({"command":"ls"}) whole output "out""#;
    assert_eq!(fed_again(std::slice::from_ref(&output), &[json!([command, output])]), joined);
}

#[test]
fn a_row_that_turns_out_to_be_another_kind_of_row_stands_once() {
    let cut = r#"{"tool":"#;
    let again = fed_again(&[asked(1, "tool", cut, true)], &[asked(1, "tool", cut, false)]);
    assert_eq!(again, r#"notice done say.bodyMalformed "{\"tool\":""#);
}

#[test]
fn a_restored_row_that_is_told_again_as_it_was_stays_as_it_was() {
    let command = json!({"ts": 1, "type": "say", "say": "command", "text": "", "commandCompleted": true});
    let server = asked(1, "use_mcp_server", r#"{"serverName":"s","toolName":"t","arguments":"{\"a\":5}"}"#, false);
    let read = asked(1, "tool", r#"{"tool":"readFile","path":"a"}"#, false);
    for message in [command, server, read, said(1, "a")] {
        let before = std::slice::from_ref(&message);
        assert_eq!(fed_again(before, before), fed_again(before, &[]));
    }
}

#[test]
fn what_lags_behind_a_restored_row_neither_shortens_nor_reopens_it() {
    for (kind, cut, whole) in [("command", "ma", "make"), ("tool", r#"{"tool":"read"#, r#"{"tool":"readFile"}"#)] {
        let before = [asked(1, kind, whole, false)];
        assert_eq!(fed_again(&before, &[asked(1, kind, cut, true)]), fed_again(&before, &[]));
    }
    let lagging = json!({"ts": 1, "type": "say", "say": "text", "text": "Hel", "partial": true});
    assert_eq!(fed_again(&[said(1, "Hello")], &[lagging]), "text done \"Hello\"");
}

#[test]
fn what_is_no_snapshot_is_refused_with_the_reason() {
    refuses(&json!([]), "version");
    refuses(&json!({"chatrows": 2}), "version");
    let row = |row: Value| json!({"chatrows": 1, "rows": [row]});
    refuses(&row(json!({"kind": "text", "state": "done"})), "no id, in row 0");
    refuses(&row(json!({"id": 1, "kind": "x", "state": "done"})), "kind");
    refuses(&row(json!({"id": 1, "kind": "text", "state": "x"})), "state");
    refuses(&row(json!({"id": 4_000_000_000_u32, "kind": "text", "state": "done"})), "id");
    let text = json!({"id": 1, "kind": "text", "state": "done"});
    refuses(&json!({"chatrows": 1, "rows": [text, text]}), "another row's, or beyond all that can be, in row 1");
    assert!(ChatRows::restore("{", Options::default()).unwrap_err().to_string().contains("JSON"));
}

#[test]
fn a_chat_at_its_caps_is_restored_under_the_same_caps() {
    let limits = Limits { rows: 2, open_blocks: 1, nesting: 3, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut chat = chat_of(Format::Say, options);
    for ts in 0..2 {
        let message = json!({"ts": ts, "type": "say", "say": "text", "text": "x", "partial": true});
        chat.chat.push_message(chat.stream, &message.to_string());
    }
    let body = json!({"serverName": "s", "toolName": "t", "arguments": "{\"a\":[[1]]}"}).to_string();
    let mut calls = chat_of(Format::Say, options);
    calls.chat.push_message(
        calls.stream,
        &json!({"ts": 1, "type": "ask", "ask": "use_mcp_server", "text": body}).to_string(),
    );
    for chat in [&mut chat, &mut calls] {
        for _ in 0..4 {
            chat.chat.add_user("x");
        }
        chat.finish();
        let mut again = ChatRows::restore(&chat.chat.snapshot_json(), options).unwrap();
        assert_eq!(rows(&again), rows(&chat.chat));
        // It is as full as it was, and has said so.
        assert_eq!(again.add_user("y"), None);
        assert_eq!(again.rows_json(), chat.chat.rows_json());
    }
    // A notice exempts itself alone.
    let mut saved: Value = serde_json::from_str(&chat.chat.snapshot_json()).unwrap();
    let mut notice = saved["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "notice").unwrap().clone();
    for id in [98, 99] {
        notice["id"] = json!(id);
        saved["rows"].as_array_mut().unwrap().push(notice.clone());
    }
    assert!(ChatRows::restore(&saved.to_string(), options).unwrap_err().to_string().contains("cap on rows"));
}

#[test]
fn a_chat_of_few_rows_at_once_is_restored_however_many_there_were() {
    let options = Options { limits: Limits { rows: 1, ..Limits::default() }, ..Options::default() };
    let mut chat = ChatRows::new(options);
    for _ in 0..100 {
        let row = chat.add_user("x").unwrap();
        chat.truncate_from(row);
    }
    chat.add_user("y");
    let again = ChatRows::restore(&chat.snapshot_json(), options).unwrap();
    assert_eq!(again.rows_json(), chat.rows_json());
}

#[test]
fn what_nests_too_deep_says_so() {
    let limits = Limits { nesting: 3, ..Limits::default() };
    let saved = format!(
        r#"{{"chatrows":1,"ids":0,"rows":[],"panels":{{"plan":{{"x":{}1{}}}}}}}"#,
        "[".repeat(20),
        "]".repeat(20)
    );
    let error = ChatRows::restore(&saved, Options { limits, ..Options::default() }).unwrap_err().to_string();
    assert!(error.contains("nests deeper"), "{error}");
    assert!(ChatRows::restore(&saved, Options::default()).is_ok());
}

#[test]
fn caps_hold_for_what_is_restored() {
    let mut chat = ChatRows::new(Options::default());
    for _ in 0..4 {
        chat.add_user("x");
    }
    let options = Options { limits: Limits { rows: 3, ..Limits::default() }, ..Options::default() };
    assert!(ChatRows::restore(&chat.snapshot_json(), options).unwrap_err().to_string().contains("cap on rows"));
    let huge = json!({"chatrows": 1, "ids": u64::MAX, "rows": []});
    ChatRows::restore(&huge.to_string(), Options::default()).unwrap();
}

#[test]
fn arguments_that_a_cap_cut_come_back_as_they_were_shown() {
    for input in ["12345678901", r#"{"abcd":1234}"#, "[1,2345678901]", r#"["0123456789"]"#, "[true,false]"] {
        let options = || Options { limits: Limits { tool_input_bytes: 10, ..Limits::default() }, ..Options::default() };
        let mut chat = ChatRows::new(options());
        let stream = chat.stream(Format::Acp);
        let update = format!(
            r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","status":"completed","rawInput":{input}}}"#
        );
        chat.push_message(
            stream,
            &format!(r#"{{"method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#),
        );
        let again = ChatRows::restore(&chat.snapshot_json(), options()).unwrap();
        assert_eq!(again.rows_json(), chat.rows_json(), "{input}");
    }
}
