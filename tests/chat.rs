//! What the host and the user do with a chat: user rows and their echo, tools that run, aborts, several streams, rows
//! that are removed, the clock. The wire is the same throughout; the oracle looks on.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Cadence, Chunk, Due, Effect, End, Format, Options, RowId, RowState, StreamOptions, ToolError, ToolRef};
use serde_json::{Value, json};
use support::*;

const CALL: &str = r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"x\":1}"}}"#;

/// A chat after these records.
fn chat(records: impl IntoIterator<Item = String>) -> Chat {
    let mut chat = Chat::new();
    chat.push(sse(records).as_bytes());
    chat.drain();
    chat
}

/// A chat with one pending call `c`.
fn pending() -> Chat {
    chat([call(CALL), end("tool_calls")])
}

fn first(chat: &Chat) -> RowId {
    chat.chat.rows().next().unwrap().id
}

#[track_caller]
fn shows(chat: &mut Chat, expected: &str) {
    chat.drain();
    assert_eq!(chat.lines(), unindent(expected));
}

// What the user says.

#[test]
fn a_user_row_shows_at_once_and_its_echo_is_the_same_row() {
    let mut chat = Chat::new();
    let id = chat.chat.add_user("hello").unwrap();
    chat.chat.add_user("again").unwrap();
    chat.drain();
    let echo = |chat: &mut Chat, id: Option<&str>, text: &str| chat.chat.chunk(chat.stream, Chunk::User { id, text });
    assert_eq!(echo(&mut chat, Some("m1"), "hello"), Effect::Changed);
    shows(&mut chat, "user done \"hello\"\nuser done \"again\"");
    assert_eq!(chat.chat.row(id).unwrap().key.as_deref(), Some("m1"));
    // Once: the second of the same text is said twice.
    assert_eq!(echo(&mut chat, Some("m2"), "hello"), Effect::Changed);
    shows(&mut chat, "user done \"hello\"\nuser done \"again\"\nuser done \"hello\"");
    // An echo without identity changes nothing that shows.
    assert_eq!(echo(&mut chat, None, "again"), Effect::None);
    assert_eq!(chat.drain(), Vec::<Value>::new());
}

#[test]
fn equal_user_rows_are_matched_in_their_order() {
    let mut chat = Chat::new();
    let ids = [chat.chat.add_user("a").unwrap(), chat.chat.add_user("a").unwrap()];
    for key in ["m1", "m2"] {
        chat.chat.chunk(chat.stream, Chunk::User { id: Some(key), text: "a" });
    }
    chat.drain();
    assert_eq!(ids.map(|id| chat.chat.row(id).unwrap().key.clone().unwrap()).map(String::from), ["m1", "m2"]);
}

#[test]
fn user_rows_stand_where_they_were_said() {
    let mut chat = chat([content("a"), end("stop")]);
    chat.chat.add_user("b").unwrap();
    chat.push(sse([content("c"), end("stop")]).replace("\"r\"", "\"r2\"").as_bytes());
    shows(
        &mut chat,
        r#"
        text done "a"
        user done "b"
        text done "c"
        "#,
    );
}

// Tools.

#[test]
fn a_pending_call_runs_and_ends() {
    let mut chat = pending();
    let by_id = ToolRef::Call(chat.stream, "c");
    shows(&mut chat, r#"tool pending f#c({"x":1}) whole"#);
    chat.chat.tool_started(by_id).unwrap();
    shows(&mut chat, r#"tool running f#c({"x":1}) whole"#);
    assert_eq!(chat.rows()[0]["busy"], true);
    chat.chat.tool_progress(by_id, Some("read"), None, Some("Reading")).unwrap();
    chat.chat.tool_progress(by_id, None, Some("ing"), None).unwrap();
    shows(&mut chat, r#"tool running f#c({"x":1}) whole title "Reading" output "reading""#);
    let by_row = ToolRef::Row(first(&chat));
    chat.chat.tool_result(by_row, Some("read"), false).unwrap();
    shows(&mut chat, r#"tool done f#c({"x":1}) whole title "Reading" output "read""#);
    assert_eq!(chat.rows()[0]["busy"], false);
    assert_eq!(chat.chat.args(first(&chat)).as_deref(), Some(r#"{"x":1}"#));
}

#[test]
fn a_result_may_be_an_error_and_may_leave_the_output() {
    let mut chat = pending();
    let by_id = ToolRef::Call(chat.stream, "c");
    chat.chat.tool_progress(by_id, None, Some("so far"), None).unwrap();
    chat.chat.tool_result(by_id, None, true).unwrap();
    shows(&mut chat, r#"tool failed f#c({"x":1}) whole output "so far" wrong"#);
}

#[test]
fn output_that_grows_is_appended() {
    let mut chat = pending();
    let by_id = ToolRef::Call(chat.stream, "c");
    chat.chat.tool_progress(by_id, None, Some("a"), None).unwrap();
    chat.drain();
    chat.chat.tool_progress(by_id, None, Some("b"), None).unwrap();
    assert_eq!(chat.drain(), [json!({"op": "append", "id": 1, "field": "tool.output", "text": "b"})]);
}

#[test]
fn a_call_that_cannot_run_takes_nothing() {
    let mut preparing = chat([call(CALL)]);
    let by_id = ToolRef::Call(preparing.stream, "c");
    assert_eq!(preparing.chat.tool_started(by_id), Err(ToolError::NotExecutable(RowState::Preparing)));
    assert_eq!(
        preparing.chat.tool_progress(by_id, Some("x"), None, None),
        Err(ToolError::NotExecutable(RowState::Preparing))
    );
    assert_eq!(preparing.chat.tool_result(by_id, Some("x"), false), Err(ToolError::NotExecutable(RowState::Preparing)));
    let unknown = ToolRef::Call(preparing.stream, "other");
    assert_eq!(preparing.chat.tool_started(unknown), Err(ToolError::Unknown));
    let mut text = chat([content("a")]);
    let row = ToolRef::Row(first(&text));
    assert_eq!(text.chat.tool_started(row), Err(ToolError::Unknown));
    assert_eq!(text.chat.tool_started(ToolRef::Row(RowId::new(99).unwrap())), Err(ToolError::Unknown));
    let mut done = pending();
    let by_id = ToolRef::Call(done.stream, "c");
    done.chat.tool_result(by_id, None, false).unwrap();
    assert_eq!(done.chat.tool_started(by_id), Err(ToolError::NotExecutable(RowState::Done)));
}

#[test]
fn a_cancelled_call_takes_its_output_and_stays_cancelled() {
    let mut chat = pending();
    let by_id = ToolRef::Call(chat.stream, "c");
    chat.chat.tool_started(by_id).unwrap();
    assert_eq!(chat.abort(), End::Cancelled);
    shows(&mut chat, r#"tool cancelled f#c({"x":1}) whole"#);
    chat.chat.tool_result(by_id, Some("late"), false).unwrap();
    shows(&mut chat, r#"tool cancelled f#c({"x":1}) whole output "late""#);
    assert_eq!(chat.chat.args(first(&chat)).as_deref(), None, "nothing is handed out of a cancelled call");
}

// Ends.

#[test]
fn an_abort_is_one_batch_that_ends_everything_as_cancelled() {
    let mut chat = chat([
        call(CALL),
        end("tool_calls"),
        content("text").replace("\"r\"", "\"r2\""),
        call(r#"{"index":0,"id":"d","function":{"name":"g","arguments":"{"}}"#).replace("\"r\"", "\"r2\""),
    ]);
    assert_eq!(chat.abort(), End::Cancelled);
    shows(
        &mut chat,
        r#"
        tool cancelled f#c({"x":1}) whole
        text done "text"
        tool cancelled g#d({)
        "#,
    );
    assert_eq!((chat.abort(), chat.finish()), (End::Cancelled, End::Cancelled));
}

#[test]
fn the_reason_of_an_abort_is_kept_on_what_it_cancelled() {
    let mut chat = chat([content("done"), call(CALL), end("tool_calls"), content("open").replace("\"r\"", "\"r2\"")]);
    assert_eq!(chat.chat.abort_because(chat.stream, Some("a \"better\" idea")), End::Cancelled);
    shows(
        &mut chat,
        r#"
        text done "done"
        tool cancelled f#c({"x":1}) whole
        text cancelled "open"
        "#,
    );
    let reasons: Vec<Value> = chat.rows().as_array().unwrap().iter().map(|row| row["meta"]["reason"].clone()).collect();
    assert_eq!(reasons, [Value::Null, json!("a \"better\" idea"), json!("a \"better\" idea")]);
    // After the end neither state nor reason changes.
    assert_eq!(chat.chat.abort_because(chat.stream, Some("another")), End::Cancelled);
    assert_eq!(chat.drain(), Vec::<Value>::new());
}

#[test]
fn an_aborted_stream_takes_nothing_more_and_the_next_one_is_not_touched() {
    let mut chat = chat([content("a")]);
    chat.abort();
    let next = chat.chat.stream(Format::OpenAiChat);
    chat.push(sse([content("late")]).as_bytes());
    chat.chat.push(next, sse([content("new"), end("stop")]).as_bytes());
    shows(
        &mut chat,
        r#"
        text cancelled "a"
        text done "new"
        "#,
    );
    assert_eq!((chat.counts().late, chat.counts().late_bytes), (1, sse([content("late")]).len() as u64));
}

#[test]
fn a_stream_ends_as_its_wire_says() {
    for (input, expected) in [
        (sse([content("a"), end("stop")]), End::Done),
        (sse([content("a"), end("length")]), End::Done),
        (sse([content("a")]), End::Interrupted),
        (sse([r#"{"error":"x"}"#]), End::Interrupted),
        (String::new(), End::Interrupted),
        ("data: [DONE]\n\n".to_owned(), End::Done),
    ] {
        let mut chat = Chat::new();
        chat.push(input.as_bytes());
        assert_eq!(chat.finish(), expected, "{input}");
        assert_eq!(chat.finish(), expected);
    }
}

#[test]
fn a_last_record_without_its_end_is_read_at_the_end() {
    for input in [format!("data: {}", content("a")), format!("data: {}\n", content("a")), content("a")] {
        let mut chat = Chat::new();
        chat.push(input.as_bytes());
        chat.finish();
        shows(&mut chat, r#"text interrupted "a""#);
    }
}

#[test]
fn a_failure_outside_the_wire_is_an_error_row() {
    let mut chat = chat([content("a")]);
    chat.chat.fail_with_status(chat.stream, 429, r#"{"error":{"message":"slow down","type":"rate_limit"}}"#);
    chat.finish();
    shows(
        &mut chat,
        r#"
        text interrupted "a"
        error done !429 "slow down" retryable
        "#,
    );
    for (status, body, expected) in [
        (401, r#"[{"error":{"message":"no"}}]"#, r#"error done !401 "no" final"#),
        (404, r#"{"detail":"nothing here"}"#, r#"error done !404 "nothing here" final"#),
        (502, "<html>bad gateway</html>", "error done !502 retryable"),
        (500, "", "error done !500 retryable"),
    ] {
        let mut chat = Chat::new();
        chat.chat.fail_with_status(chat.stream, status, body);
        assert_eq!(chat.finish(), End::Interrupted);
        chat.drain();
        let said = chat.lines();
        assert!(said == expected || (status == 502 && said.starts_with("error done !502")), "{said}");
    }
}

#[test]
fn a_failure_after_the_answer_ended_leaves_it_done_and_the_stream_interrupted() {
    let mut chat = chat([content("a"), end("stop")]);
    chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
    assert_eq!(chat.finish(), End::Interrupted);
    shows(
        &mut chat,
        r#"
        text done "a"
        error done !read-error "connection lost" retryable
        "#,
    );
}

// Several streams.

#[test]
fn streams_live_side_by_side_and_end_by_themselves() {
    let mut chat = Chat::new();
    let other = chat.chat.stream(Format::OpenAiChat);
    chat.push(sse([content("a")]).as_bytes());
    chat.chat.push(other, sse([content("x")]).as_bytes());
    chat.push(sse([content("b")]).as_bytes());
    chat.chat.push(other, sse([content("y"), end("stop")]).as_bytes());
    assert_eq!(chat.chat.finish(other), End::Done);
    assert_eq!(chat.panels()["activity"]["state"], "streaming");
    shows(
        &mut chat,
        r#"
        text streaming "ab"
        text done "xy"
        "#,
    );
    chat.abort();
    assert_eq!(chat.panels()["activity"]["state"], "idle");
    shows(
        &mut chat,
        r#"
        text cancelled "ab"
        text done "xy"
        "#,
    );
}

#[test]
fn the_same_call_id_in_two_streams_is_two_calls() {
    let mut chat = pending();
    let other = chat.chat.stream(Format::OpenAiChat);
    chat.chat.push(other, sse([call(CALL), end("tool_calls")]).as_bytes());
    chat.chat.tool_result(ToolRef::Call(other, "c"), Some("out"), false).unwrap();
    shows(
        &mut chat,
        r#"
        tool pending f#c({"x":1}) whole
        tool done f#c({"x":1}) whole output "out"
        "#,
    );
}

#[test]
fn a_stream_of_a_sub_agent_is_drawn_inside_its_call() {
    let mut chat = pending();
    let parent = first(&chat);
    let inner = chat.chat.stream(StreamOptions { parent: Some(parent), ..StreamOptions::from(Format::OpenAiChat) });
    chat.chat.push(inner, sse([chunk(r#"{"reasoning":"hm"}"#), content("inner"), end("stop")]).as_bytes());
    shows(
        &mut chat,
        r#"
        tool pending f#c({"x":1}) whole
        reasoning done "hm" parent 1
        text done "inner" parent 1
        "#,
    );
}

#[test]
fn activity_tells_whether_something_is_to_come() {
    let activity = |chat: &Chat| chat.panels()["activity"]["state"].as_str().unwrap().to_owned();
    let mut chat = Chat::new();
    assert_eq!(activity(&chat), "waiting");
    chat.push(sse([content("a")]).as_bytes());
    assert_eq!(activity(&chat), "streaming");
    chat.push(sse([end("stop")]).as_bytes());
    assert_eq!(activity(&chat), "idle");
    chat.finish();
    assert_eq!(activity(&chat), "idle");
    chat.drain();
}

// Rows that go.

#[test]
fn truncating_removes_the_row_and_all_after_it() {
    let mut chat = chat([content("a"), chunk(r#"{"reasoning":"b"}"#), content("c"), end("stop")]);
    let second = chat.chat.rows().nth(1).unwrap().id;
    assert!(chat.chat.truncate_from(second));
    shows(&mut chat, r#"text done "a""#);
    assert!(!chat.chat.truncate_from(second), "it is gone");
    // What comes now has ids that never were.
    chat.push(sse([content("d"), end("stop")]).replace("\"r\"", "\"r2\"").as_bytes());
    chat.drain();
    assert_eq!(chat.chat.rows().map(|row| row.id.get()).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn a_row_that_was_removed_while_it_grew_does_not_come_back() {
    let mut chat = chat([content("a")]);
    let id = first(&chat);
    chat.chat.truncate_from(id);
    chat.push(sse([content("b"), end("stop")]).as_bytes());
    chat.finish();
    shows(&mut chat, "");
    let mut chat = self::chat([call(CALL)]);
    let id = first(&chat);
    chat.chat.truncate_from(id);
    chat.push(sse([call(CALL), end("tool_calls")]).as_bytes());
    chat.finish();
    shows(&mut chat, "");
}

#[test]
fn a_row_that_came_and_went_between_two_batches_is_never_spoken_of() {
    let mut chat = Chat::new();
    chat.drain();
    let id = chat.chat.add_user("x").unwrap();
    chat.chat.truncate_from(id);
    assert_eq!(chat.drain(), Vec::<Value>::new());
}

#[test]
fn a_reset_ends_streams_and_removes_everything_and_ids_go_on() {
    let mut chat = chat([content("a")]);
    chat.chat.add_user("x").unwrap();
    chat.chat.reset();
    let ops = chat.drain();
    assert_eq!(ops[0], json!({"op": "reset"}));
    assert_eq!((chat.lines().as_str(), chat.chat.end(chat.stream)), ("", Some(End::Cancelled)));
    chat.push(sse([content("late")]).as_bytes());
    shows(&mut chat, "");
    assert_eq!(chat.chat.add_user("y").unwrap().get(), 3);
    shows(&mut chat, r#"user done "y""#);
}

#[test]
fn a_listener_that_comes_late_gets_everything_once() {
    let mut chat = chat([content("a"), end("stop")]);
    let mut oracle = Oracle::default();
    chat.chat.write_all(&mut |op: chatrows::RowOp<'_>| {
        let mut json = chatrows::json::JsonWriter::default();
        op.write_json(&mut json);
        oracle.apply(&serde_json::from_str(&json.into_string()).unwrap()).unwrap();
    });
    assert_eq!((oracle.rows(), oracle.panels()), (chat.rows(), chat.panels()));
    assert!(chat.drain().is_empty());
}

// The clock.

#[test]
fn rows_know_when_they_began_and_ended() {
    let mut chat = Chat::new();
    chat.chat.set_now(1000);
    chat.push(sse([content("a")]).as_bytes());
    chat.chat.set_now(3000);
    chat.push(sse([end("stop")]).as_bytes());
    chat.drain();
    assert_eq!((&chat.rows()[0]["startedAt"], &chat.rows()[0]["endedAt"]), (&json!(1000), &json!(3000)));
    // A clock that runs backwards stands still.
    chat.chat.set_now(10);
    chat.push(sse([content("b")]).replace("\"r\"", "\"r2\"").as_bytes());
    chat.drain();
    assert_eq!(chat.rows()[1]["startedAt"], 3000);
}

#[test]
fn a_call_that_hears_nothing_for_five_seconds_says_so_once_until_the_next_byte() {
    let mut chat = Chat::new();
    chat.chat.set_now(1000);
    chat.push(sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}"#)]).as_bytes());
    chat.drain();
    assert_eq!(chat.chat.due(false), Due::After(5000));
    chat.chat.set_now(5999);
    assert_eq!(chat.drain(), Vec::<Value>::new());
    chat.chat.set_now(6000);
    assert_eq!(chat.drain(), [json!({"op": "update", "id": 1, "patch": {"quietSince": 1000}})]);
    assert_eq!(chat.chat.due(false), Due::Never);
    chat.chat.set_now(60_000);
    assert_eq!(chat.drain(), Vec::<Value>::new());
    // Any byte is a sign of life, a comment's too.
    chat.push(b":");
    assert_eq!(chat.drain(), [json!({"op": "update", "id": 1, "patch": {"quietSince": null}})]);
    chat.chat.set_now(65_000);
    shows(&mut chat, "tool preparing f#c({) quiet");
    chat.finish();
    shows(&mut chat, "tool interrupted f#c({)");
}

#[test]
fn a_cadence_in_milliseconds_holds_appends_but_not_what_appears_or_ends() {
    let mut chat = chat_with(Options { cadence: Cadence::Millis(90), ..Options::default() });
    chat.chat.set_now(1000);
    chat.push(sse([content("a")]).as_bytes());
    assert_eq!(chat.chat.due(false), Due::Frame, "what appears comes at once");
    chat.drain();
    chat.chat.set_now(1030);
    chat.push(sse([content("b")]).as_bytes());
    assert_eq!(chat.chat.due(false), Due::After(60));
    assert_eq!(chat.chat.due(true), Due::After(970), "a hidden page waits a second");
    chat.push(sse([end("stop")]).as_bytes());
    assert_eq!(chat.chat.due(false), Due::Frame, "what ends comes at once");
    chat.drain();
    assert_eq!(chat.chat.due(false), Due::Never);
}

#[test]
fn the_byte_label_moves_with_the_arguments() {
    let mut chat = Chat::new();
    let label = |chat: &Chat| chat.rows()[0]["bytes"]["label"].as_str().unwrap().to_owned();
    let piece = |text: &str| sse([call(&format!(r#"{{"index":0,"id":"c","function":{{"arguments":"{text}"}}}}"#))]);
    chat.push(piece("").as_bytes());
    chat.drain();
    assert_eq!(label(&chat), "0 B");
    chat.push(piece(&format!("[{}", "1".repeat(1022))).as_bytes());
    chat.drain();
    assert_eq!(label(&chat), "1023 B");
    chat.push(piece("é").as_bytes());
    chat.drain();
    assert_eq!(label(&chat), "1.0 KB");
    chat.finish();
    chat.drain();
}
