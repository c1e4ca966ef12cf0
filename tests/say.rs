//! Say/ask messages in every envelope and every kind, and what becomes of them in whatever order they come: input and
//! expected rows side by side. `check` feeds each input in every cut and compares the oracle after every batch.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, End, Format, Limits, Options, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, chat_of, fields, lines, unindent, without_ids};

fn chat() -> Chat {
    chat_of(Format::Say, Options::default())
}

/// A say message of the time `ts`.
fn say(ts: u64, kind: &str, text: &str) -> Value {
    json!({"ts": ts, "type": "say", "say": kind, "text": text})
}

fn ask(ts: u64, kind: &str, text: &str) -> Value {
    json!({"ts": ts, "type": "ask", "ask": kind, "text": text})
}

/// The same while it is still being written.
fn partial(mut message: Value) -> Value {
    message["partial"] = json!(true);
    message
}

fn with(mut message: Value, name: &str, value: Value) -> Value {
    message[name] = value;
    message
}

fn updated(message: Value) -> Value {
    json!({"type": "messageUpdated", "clineMessage": message})
}

fn state(messages: &[Value]) -> Value {
    json!({"type": "state", "state": {"version": "3", "clineMessages": messages}})
}

fn body(value: Value) -> String {
    value.to_string()
}

/// The rows while the stream lives.
fn show(records: &[Value]) -> String {
    let mut chat = chat();
    push(&mut chat, records);
    chat.lines()
}

/// One record after the other, a drain after each.
fn push(chat: &mut Chat, records: &[Value]) {
    for record in records {
        chat.push(format!("{record}\n").as_bytes());
        chat.drain();
    }
}

/// Feeds the records in every way; these rows must stand before the end, and no fault.
#[track_caller]
fn check(records: &[Value], expected: &str) -> Chat {
    check_faults(records, expected, &[])
}

#[track_caller]
fn check_faults(records: &[Value], expected: &str, faults: &[&str]) -> Chat {
    let input: String = records.iter().map(|record| format!("{record}\n")).collect();
    let run = |cuts: Cuts| {
        let mut chat = chat();
        chat.feed(input.as_bytes(), cuts);
        chat.drain();
        assert!(chat.drain().is_empty());
        chat
    };
    let chat = run(Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.faults(), faults);
    assert_eq!(chat.counts().records(), records.len() as u64, "a record is counted twice, or not at all");
    for cuts in [Cuts::Every(1), Cuts::Seed(1), Cuts::Seed(2), Cuts::Seed(3)] {
        let other = run(cuts);
        assert_eq!(without_ids(&other.rows()), without_ids(&chat.rows()), "{cuts:?}");
        assert_eq!(other.counts(), chat.counts(), "{cuts:?}");
    }
    let mut ended = run(Cuts::Whole);
    ended.finish();
    ended.drain();
    for row in ended.rows().as_array().unwrap() {
        let moves = ["streaming", "preparing", "running"].iter().any(|state| row["state"] == *state);
        assert!(!moves && row["busy"] == false, "not at rest: {row}");
    }
    chat
}

// Envelopes.

#[test]
fn a_bare_message_is_a_row() {
    check(&[say(1, "text", "hello")], r#"text done "hello""#);
}

#[test]
fn an_update_replaces_the_row_of_its_time() {
    check(&[partial(say(1, "text", "he")), updated(say(1, "text", "hello"))], r#"text done "hello""#);
    let other = json!({"type": "messageUpdated", "shoferMessage": say(1, "text", "hello")});
    check(&[partial(say(1, "text", "he")), other], r#"text done "hello""#);
}

/// Roo#11371: updates for unknown rows were dropped.
#[test]
fn an_update_of_an_unseen_row_makes_it() {
    check(&[updated(say(7, "text", "a"))], r#"text done "a""#);
}

#[test]
fn an_appended_message_may_come_again_after_a_state_that_holds_it() {
    let appended = json!({"type": "shoferMessageAppended", "shoferMessage": say(1, "text", "a")});
    let chat = check(&[appended.clone(), state(&[say(1, "text", "a")]), appended], r#"text done "a""#);
    assert_eq!(chat.counts().no_op, 2);
}

#[test]
fn a_state_under_either_name_is_all_messages() {
    check(&[state(&[say(1, "text", "a"), say(2, "text", "b")])], "text done \"a\"\ntext done \"b\"");
    let other = json!({"type": "state", "state": {"mode": "code", "shoferMessages": [say(1, "text", "a")]}});
    check(&[other], r#"text done "a""#);
}

#[test]
fn an_array_of_messages_is_a_state() {
    check(&[json!([say(1, "text", "a"), say(2, "text", "b")])], "text done \"a\"\ntext done \"b\"");
}

fn grpc(message: Value) -> Value {
    let response = json!({"request_id": "r", "message": message, "is_streaming": true, "sequence_number": 4});
    json!({"type": "grpc_response", "grpc_response": response})
}

#[test]
fn the_grpc_envelope_has_numbers_for_kinds() {
    check(&[grpc(json!({"ts": 1, "type": 1, "say": 4, "text": "a", "partial": false}))], r#"text done "a""#);
    check(
        &[grpc(json!({"ts": 1, "type": 0, "ask": 2, "text": "ls"}))],
        r#"tool pending command({"command":"ls"}) whole may"#,
    );
}

#[test]
fn the_grpc_envelope_may_have_names_in_upper_case() {
    check(&[grpc(json!({"ts": "1", "type": "SAY", "say": "TEXT", "text": "a"}))], r#"text done "a""#);
}

#[test]
fn defaults_of_the_grpc_envelope_may_be_absent() {
    check(&[grpc(json!({"ts": 1, "text": "which?"}))], r#"question pending "which?""#);
    check(&[grpc(json!({"ts": 1, "type": 1, "text": "build it"}))], r#"user done "build it""#);
}

#[test]
fn the_grpc_envelope_may_hold_a_state_as_json_text() {
    let state_json = body(json!({"clineMessages": [say(1, "text", "a")]}));
    check(&[grpc(json!({"stateJson": state_json}))], r#"text done "a""#);
    check_faults(&[grpc(json!({"stateJson": "{"}))], "", &["state"]);
}

#[test]
fn what_is_none_of_ours_is_skipped_and_counted() {
    let others = [
        json!({"type": "theme", "text": "dark"}),
        json!({"type": "grpc_response", "grpc_response": {"message": {"value": 1}}}),
        json!({"type": "state", "state": {}}),
        json!([1, 2]),
        json!(3),
        json!({"type": "say", "say": "text", "text": "no time"}),
        say(1, "never_heard_of", "x"),
    ];
    let chat = check(&others, "");
    assert_eq!(chat.counts().skipped, others.len() as u64);
}

// Keys, freshness, fences.

#[test]
fn two_kinds_of_one_millisecond_are_two_rows() {
    check(
        &[say(1, "reasoning", "hm"), say(1, "text", "a"), say(1, "text", "ab")],
        "reasoning done \"hm\"\ntext done \"ab\"",
    );
    // In the order of their keys, whichever came first.
    let output = say(1, "command_output", "out");
    check(&[output, ask(1, "command", "ls")], r#"tool running command({"command":"ls"}) whole output "out""#);
}

#[test]
fn with_a_count_the_time_alone_is_the_key() {
    let message = |kind, seq| with(say(1, kind, "a"), "seq", json!(seq));
    check(&[message("text", 1), message("completion_result", 2)], r#"text done say.completion "a""#);
}

#[test]
fn a_higher_count_is_fresher_and_a_lower_one_is_nothing() {
    let message = |text, seq| with(partial(say(1, "text", text)), "seq", json!(seq));
    check(&[message("abc", 5), message("xyzxyz", 4), message("ab", 6)], r#"text streaming "ab""#);
}

#[test]
fn an_older_conversation_is_dropped_and_a_newer_one_replaces_all() {
    let message = |ts, text, epoch| with(say(ts, "text", text), "epoch", json!(epoch));
    check(&[message(1, "a", 1), message(2, "b", 1), message(3, "c", 2), message(4, "d", 1)], r#"text done "c""#);
    check(&[message(1, "a", 2), state(&[message(9, "old", 1)])], r#"text done "a""#);
}

/// cline#9206: text blinked to empty.
#[test]
fn text_only_grows() {
    let partials = ["abc", "", "abcd"].map(|text| updated(partial(say(1, "text", text))));
    check(&partials, r#"text streaming "abcd""#);
}

/// cline#9235: a partial after the end of its row doubled it.
#[test]
fn a_partial_after_its_final_changes_nothing_and_a_new_block_of_the_same_text_is_a_row() {
    check(
        &[say(1, "text", "hi"), partial(say(1, "text", "hi")), say(2, "text", "hi")],
        "text done \"hi\"\ntext done \"hi\"",
    );
}

/// cline#13719: the row flashed when it settled.
#[test]
fn a_row_that_settles_keeps_its_id_and_says_no_text_again() {
    let mut chat = chat();
    push(&mut chat, &[partial(say(1, "text", "## a"))]);
    chat.push(format!("{}\n", say(1, "text", "## a")).as_bytes());
    let ops = chat.drain();
    assert!(ops.iter().all(|op| op["op"] == "update" || op["op"] == "panel"), "{ops:#?}");
    assert!(!json!(ops).to_string().contains("##"));
}

/// cline#9302: the same partial sentence twice.
#[test]
fn an_unchanged_message_says_nothing() {
    let mut chat = chat();
    push(&mut chat, &[partial(say(1, "text", "I will"))]);
    chat.push(format!("{}\n", partial(say(1, "text", "I will"))).as_bytes());
    assert!(chat.drain().is_empty());
    assert_eq!(chat.counts().no_op, 1);
}

#[test]
fn what_a_wire_repeats_is_appended_by_what_is_new() {
    let mut chat = chat();
    push(&mut chat, &[partial(say(1, "text", &"x".repeat(10_000)))]);
    chat.push(format!("{}\n", partial(say(1, "text", &format!("{}yz", "x".repeat(10_000))))).as_bytes());
    let ops = chat.drain();
    assert_eq!(ops, [json!({"op": "append", "id": 1, "field": "text", "text": "yz"})]);
}

/// Roo#11371: a snapshot without the row, or with less of it, lost what had streamed.
#[test]
fn a_state_neither_removes_nor_shortens_what_a_single_message_made() {
    check(
        &[state(&[say(1, "text", "a")]), partial(say(2, "text", "bcd")), state(&[say(1, "text", "a")])],
        "text done \"a\"\ntext streaming \"bcd\"",
    );
    check(&[partial(say(2, "text", "bcd")), state(&[partial(say(2, "text", "b"))])], r#"text streaming "bcd""#);
}

#[test]
fn what_an_earlier_state_held_and_a_later_one_does_not_is_gone() {
    check(&[state(&[say(1, "text", "a"), say(2, "text", "b")]), state(&[say(1, "text", "a")])], r#"text done "a""#);
}

#[test]
fn a_state_of_another_task_replaces_all() {
    check(
        &[say(1, "text", "a"), say(2, "text", "b"), state(&[say(8, "text", "c"), say(9, "text", "d")])],
        "text done \"c\"\ntext done \"d\"",
    );
}

/// A state of the same conversation cannot begin another one.
#[test]
fn a_state_with_a_count_never_removes_what_only_a_single_message_told_of() {
    let counted =
        |ts: u64, seq: u64, text: &str| with(with(say(ts, "text", text), "seq", json!(seq)), "epoch", json!(5));
    check(&[counted(1, 1, "a"), json!([counted(2, 2, "b")])], "text done \"a\"\ntext done \"b\"");
    // A copy that lags behind the single message does not make it the state's.
    let lagging = state(&[counted(1, 1, "a"), partial(counted(2, 4, "he"))]);
    check(
        &[counted(1, 1, "a"), counted(2, 5, "hello"), lagging, state(&[counted(1, 1, "a")])],
        "text done \"a\"\ntext done \"hello\"",
    );
}

#[test]
fn of_a_state_only_the_newest_conversation_is_shown() {
    let of = |ts: u64, epoch: u64| with(with(say(ts, "text", "a"), "seq", json!(ts)), "epoch", json!(epoch));
    check(&[json!([of(4, 4), of(5, 5)])], "text done \"a\"");
}

#[test]
fn panels_of_a_conversation_go_with_it() {
    let of = |message: Value, epoch: u64| with(with(message, "seq", json!(1)), "epoch", json!(epoch));
    let spent = request(1, json!({"tokensIn": 73, "cost": 0.5}));
    let plan = say(2, "task_progress", "- [ ] a");
    let before = [of(spent.clone(), 1), of(plan.clone(), 1)];
    let idle = json!({"activity": {"state": "waiting"}});
    let chat = check(&[&before[..], &[of(say(3, "text", "b"), 2)]].concat(), "text done \"b\"");
    assert_eq!(chat.panels(), idle);
    let chat = check(&[state(&[spent, plan]), state(&[])], "");
    assert_eq!(chat.panels(), json!({"activity": {"state": "idle"}}));
}

#[test]
fn costs_are_the_same_in_any_order() {
    let finished = say(1005, "api_req_finished", &body(json!({"tokensIn": 1, "cost": 1e-11})));
    let started = request(1002, json!({"tokensIn": 92, "cost": 0.05}));
    let panels = |records: &[Value]| check(records, "").panels();
    assert_eq!(panels(&[finished.clone(), started.clone()]), panels(&[started, finished]));
}

#[test]
fn a_first_state_is_a_load_and_nothing_moves() {
    let started = say(1, "api_req_started", &body(json!({"request": "…"})));
    let chat = check(
        &[state(&[started, say(2, "command", "make"), partial(say(3, "text", "ab"))])],
        "tool done command({\"command\":\"make\"}) whole\ntext interrupted \"ab\"",
    );
    assert_eq!(chat.panels()["activity"]["state"], "idle");
}

#[test]
fn a_row_that_was_loaded_half_goes_on() {
    check(
        &[state(&[partial(say(3, "text", "ab"))]), updated(partial(say(3, "text", "abc")))],
        r#"text streaming "abc""#,
    );
}

#[test]
fn a_late_message_takes_its_place() {
    check(
        &[say(1, "text", "a"), say(9, "text", "z"), say(5, "text", "m"), say(3, "text", "c")],
        "text done \"a\"\ntext done \"c\"\ntext done \"m\"\ntext done \"z\"",
    );
}

#[test]
fn a_streamed_block_is_one_row_whatever_its_time() {
    let block = |ts, text| with(partial(say(ts, "text", text)), "streamBlockId", json!("b1"));
    check(&[block(1, "a"), block(5, "ab")], r#"text streaming "ab""#);
}

#[test]
fn a_row_that_the_page_removed_does_not_come_back() {
    let mut chat = chat();
    push(&mut chat, &[say(1, "text", "a"), say(2, "text", "b")]);
    let second = chat.chat.rows().nth(1).unwrap().id;
    chat.chat.truncate_from(second);
    push(&mut chat, &[say(2, "text", "bc"), say(3, "text", "c")]);
    assert_eq!(chat.lines(), "text done \"a\"\ntext done \"c\"");
}

#[test]
fn a_local_user_row_is_the_row_of_its_echo() {
    let mut chat = chat();
    chat.chat.add_user("do it");
    push(&mut chat, &[say(1, "task", "do it"), say(2, "user_feedback", "do it")]);
    assert_eq!(chat.lines(), "user done \"do it\"\nuser done \"do it\"");
}

// Kinds.

#[test]
fn what_the_user_said_is_a_user_row_with_images_and_files() {
    check(
        &[with(with(say(1, "task", "hi"), "images", json!(["data:image/png;base64,AA"])), "files", json!(["a.rs"]))],
        r#"user done "hi" file a.rs images data:image/png;base64,AA"#,
    );
    check(
        &[say(1, "user_feedback_diff", &body(json!({"tool": "editedExistingFile", "diff": "+a"})))],
        r#"user done "+a""#,
    );
}

#[test]
fn text_without_anything_is_no_row() {
    check(&[partial(say(1, "text", "")), say(2, "text", "")], "");
    check(&[with(say(1, "text", ""), "images", json!(["https://a/b.png"]))], "text done images https://a/b.png");
}

#[test]
fn reasoning_is_reasoning() {
    check(&[partial(say(1, "reasoning", "hm"))], r#"reasoning streaming "hm""#);
    check(&[with(say(1, "reasoning", ""), "reasoning", json!("hm"))], r#"reasoning done "hm""#);
}

#[test]
fn a_completion_is_text_that_says_so() {
    check(
        &[say(1, "completion_result", "All done."), ask(2, "completion_result", "")],
        r#"text done say.completion "All done.""#,
    );
}

#[test]
fn errors_of_all_kinds_are_error_rows() {
    for kind in ["error", "diff_error", "clineignore_error", "shoferignore_error", "condense_context_error"] {
        check(&[say(1, kind, "no")], r#"error done "no""#);
    }
}

#[test]
fn notices_have_their_words_and_their_text() {
    for (kind, words) in [
        ("checkpoint_created", "say.checkpoint"),
        ("checkpoint_saved", "say.checkpoint"),
        ("info", "say.info"),
        ("shell_integration_warning", "say.shellIntegration"),
        ("shell_integration_warning_with_suggestion", "say.shellIntegration"),
        ("browser_action_launch", "say.browserLaunch"),
        ("mcp_notification", "say.mcpNotification"),
        ("load_mcp_documentation", "say.docs"),
        ("command_permission_denied", "say.denied"),
        ("conditional_rules_applied", "say.rules"),
        ("subtask_result", "say.subtask"),
        ("peer_message", "say.peer"),
        ("rag_search_result", "say.search"),
        ("git_search_result", "say.search"),
        ("user_edit_todos", "say.todos"),
        ("too_many_tools_warning", "say.tooManyTools"),
    ] {
        check(&[say(1, kind, "x")], &format!("notice done {words} \"x\""));
    }
}

#[test]
fn kinds_that_the_wire_hides_are_known_and_no_rows() {
    for kind in [
        "api_req_finished",
        "api_req_retried",
        "api_req_deleted",
        "deleted_api_reqs",
        "subagent_usage",
        "mcp_server_request_started",
        "task_interaction",
    ] {
        let chat = check(&[say(1, kind, "{}")], "");
        assert_eq!(chat.counts().skipped, 0, "{kind}");
    }
    for kind in ["resume_task", "resume_completed_task"] {
        let chat = check(&[ask(1, kind, "")], "");
        assert_eq!(chat.panels()["activity"]["state"], "idle");
    }
}

#[test]
fn the_plan_is_a_panel() {
    let chat = check(&[say(1, "task_progress", "- [x] one\n- [ ] two\n- [-] three")], "");
    assert_eq!(
        chat.panels()["plan"]["entries"],
        json!([
            {"content": "one", "status": "completed"},
            {"content": "two", "status": "pending"},
            {"content": "three", "status": "in_progress"},
        ])
    );
}

#[test]
fn an_image_is_an_image_row() {
    check(&[with(say(1, "image", ""), "images", json!(["https://a/b.png"]))], "image done images https://a/b.png");
}

#[test]
fn a_question_waits_while_it_is_the_last_word() {
    let question = body(json!({"question": "Which?", "options": ["a", "b"]}));
    check(&[ask(1, "followup", &question)], r#"question pending "Which?" (a | b)"#);
    let answered = body(json!({"question": "Which?", "options": ["a", "b"], "selected": "b"}));
    check(
        &[ask(1, "followup", &question), ask(1, "followup", &answered), say(2, "user_feedback", "b")],
        "question done \"Which?\" (a | b) answer \"b\"\nuser done \"b\"",
    );
    let suggest = body(json!({"question": "Which?", "suggest": [{"answer": "a"}, {"answer": "b", "mode": "code"}]}));
    check(&[ask(1, "followup", &suggest), say(2, "text", "x")], "question done \"Which?\" (a | b)\ntext done \"x\"");
}

#[test]
fn a_question_streams() {
    let question = |text: &str| partial(ask(1, "plan_mode_respond", &body(json!({"response": text, "options": []}))));
    let mut chat = chat();
    push(&mut chat, &[question("Shall")]);
    chat.push(format!("{}\n", question("Shall I?")).as_bytes());
    assert_eq!(chat.drain(), [json!({"op": "append", "id": 1, "field": "text", "text": " I?"})]);
    assert_eq!(chat.lines(), r#"question streaming "Shall I?""#);
}

#[test]
fn asks_for_leave_wait_for_it() {
    for (kind, words) in [
        ("auto_approval_max_req_reached", "say.autoLimit"),
        ("budget_limit", "say.budget"),
        ("mistake_limit_reached", "say.mistakes"),
        ("new_task", "say.newTask"),
        ("condense", "say.condense"),
        ("report_bug", "say.report"),
        ("browser_action_launch", "say.browserLaunch"),
    ] {
        check(&[ask(1, kind, "x")], &format!("permission pending {words} \"x\" may"));
        check(&[ask(1, kind, "x"), say(2, "text", "y")], &format!("permission done {words} \"x\"\ntext done \"y\""));
    }
}

#[test]
fn a_failed_request_may_be_tried_again_while_it_is_the_last_word() {
    check(&[ask(1, "api_req_failed", "503")], r#"error done "503" retryable"#);
    check(&[ask(1, "api_req_failed", "503"), say(2, "text", "a")], r#"text done "a""#);
}

// Tools.

fn tool(value: Value) -> String {
    body(value)
}

#[test]
fn a_tool_is_a_tool_row_with_its_fields() {
    let read = tool(json!({"tool": "readFile", "path": "a.rs"}));
    let chat =
        check(&[say(1, "tool", &read)], r#"tool done readFile({"path":"a.rs","tool":"readFile"}) whole title "a.rs""#);
    let row = &chat.rows()[0];
    assert_eq!((row["tool"]["kind"].as_str(), &row["tool"]["locations"]), (Some("read"), &json!([{"path": "a.rs"}])));
}

#[test]
fn a_tool_that_is_written_shows_its_content_grow() {
    let text =
        |content: &str| format!(r#"{{"tool":"newFileCreated","path":"a","content":{},"inside":true}}"#, json!(content));
    let mut chat = chat();
    push(&mut chat, &[partial(say(1, "tool", &text("line 1\n")))]);
    assert_eq!(fields(&chat.rows()[0]), "tool=newFileCreated path=a content=line 1\n inside=true");
    chat.push(format!("{}\n", partial(say(1, "tool", &text("line 1\nline 2")))).as_bytes());
    let ops = chat.drain();
    assert_eq!(fields(&chat.rows()[0]), "tool=newFileCreated path=a content=line 1\nline 2 inside=true");
    assert_eq!(chat.rows()[0]["state"], "preparing");
    assert!(
        ops.contains(&json!({"op": "append", "id": 1, "field": "tool.fields[2].text", "text": "line 2"})),
        "{ops:#?}"
    );
    push(&mut chat, &[say(1, "tool", &text("line 1\nline 2"))]);
    assert_eq!(chat.rows()[0]["state"], "done");
}

#[test]
fn a_tool_that_asks_waits_for_leave_until_something_follows() {
    let edit = tool(json!({"tool": "editedExistingFile", "path": "a"}));
    let row = r#"editedExistingFile({"path":"a","tool":"editedExistingFile"}) whole title "a""#;
    check(&[ask(1, "tool", &edit)], &format!("tool pending {row} may"));
    check(&[with(ask(1, "tool", &edit), "isAnswered", json!(true))], &format!("tool done {row}"));
    check(&[ask(1, "tool", &edit), say(2, "text", "ok")], &format!("tool done {row}\ntext done \"ok\""));
}

#[test]
fn a_body_that_should_be_json_and_is_not_is_a_fault_and_a_plain_row() {
    for kind in ["tool", "hook_status", "error_retry", "use_mcp_server"] {
        check_faults(&[say(1, kind, "{oops")], r#"notice done say.bodyMalformed "{oops""#, &["body"]);
    }
}

#[test]
fn runs_of_reading_tools_belong_together_and_text_stays_between_them() {
    let read = |ts, path: &str| say(ts, "tool", &tool(json!({"tool": "readFile", "path": path})));
    let groups = |records: &[Value]| -> Vec<Value> {
        let mut chat = chat();
        push(&mut chat, records);
        chat.rows().as_array().unwrap().iter().map(|row| row["meta"]["group"].clone()).collect()
    };
    let look = json!("look");
    assert_eq!(groups(&[read(1, "a"), read(2, "b"), read(3, "c")]), [&look, &look, &look].map(Clone::clone));
    assert_eq!(groups(&[read(1, "a"), read(3, "c"), say(2, "text", "so")]), [look.clone(), Value::Null, look]);
}

#[test]
fn a_servers_tool_runs_from_its_request_to_its_answer() {
    let call = tool(json!({"type": "use_mcp_tool", "serverName": "s", "toolName": "t", "arguments": "{\"a\":1}"}));
    let row = r#"t({"a":1}) whole title "s""#;
    let records = [
        ask(1, "use_mcp_server", &call),
        say(2, "mcp_server_request_started", ""),
        say(3, "mcp_server_response", "42"),
    ];
    check(&records[..1], &format!("tool pending {row} may"));
    check(&records[..2], &format!("tool running {row}"));
    check(&records, &format!("tool done {row} output \"42\""));
}

#[test]
fn what_a_tool_gave_back_is_its_output() {
    check(&[say(1, "tool_result", "42")], r#"tool done tool_result() output "42""#);
}

// Commands.

#[test]
fn a_command_collects_its_output_even_past_other_rows() {
    check(
        &[
            ask(1, "command", "make"),
            say(2, "command_output", "one"),
            say(3, "text", "hm"),
            say(4, "command_output", "two\n"),
        ],
        "tool done command({\"command\":\"make\"}) whole output \"one\\ntwo\\n\"\ntext done \"hm\"",
    );
}

#[test]
fn a_command_waits_runs_and_ends() {
    let row = r#"command({"command":"make"}) whole"#;
    check(&[ask(1, "command", "make")], &format!("tool pending {row} may"));
    check(&[ask(1, "command", "make"), ask(2, "command_output", "one")], &format!("tool running {row} output \"one\""));
    let completed = with(ask(1, "command", "make"), "commandCompleted", json!(true));
    check(&[completed, say(2, "command_output", "one")], &format!("tool done {row} output \"one\""));
}

#[test]
fn empty_output_adds_nothing_and_the_next_command_has_its_own() {
    check(
        &[say(1, "command", "a"), say(2, "command_output", ""), say(3, "command", "b"), say(4, "command_output", "x")],
        "tool done command({\"command\":\"a\"}) whole\ntool running command({\"command\":\"b\"}) whole output \"x\"",
    );
}

#[test]
fn lines_that_are_rewritten_stand_as_they_are_in_the_end() {
    let output = |parts: &[&str]| {
        let parts = parts.iter().zip(2..).map(|(part, ts)| say(ts, "command_output", part));
        let records: Vec<Value> = [say(1, "command", "x")].into_iter().chain(parts).collect();
        let mut chat = chat();
        push(&mut chat, &records);
        chat.rows()[0]["tool"]["output"].clone()
    };
    assert_eq!(output(&["a\n10%\r20%\r30%\ndone"]), "a\n30%\ndone");
    assert_eq!(output(&["a\r\nb\r\n"]), "a\nb\n");
    assert_eq!(output(&["a\n10%", "\r20%", "\r30%"]), "a\n30%");
    assert_eq!(output(&["10%\r", "20%\r", "ok"]), "ok");
}

#[test]
fn output_that_is_told_again_and_again_is_appended() {
    let mut chat = chat();
    push(&mut chat, &[say(1, "command", "x"), partial(say(2, "command_output", "one\n"))]);
    chat.push(format!("{}\n", partial(say(2, "command_output", "one\ntwo\n"))).as_bytes());
    assert_eq!(chat.drain(), [json!({"op": "append", "id": 1, "field": "tool.output", "text": "two\n"})]);
}

#[test]
fn output_that_comes_before_its_command_joins_it() {
    check(
        &[say(2, "command_output", "b"), say(3, "command_output", "c"), say(1, "command", "x")],
        "tool running command({\"command\":\"x\"}) whole output \"b\\nc\"",
    );
}

#[test]
fn output_in_any_order_stands_in_its_order() {
    check(
        &[
            say(1, "command", "x"),
            say(4, "command_output", "c"),
            say(2, "command_output", "a"),
            say(3, "command_output", "b"),
        ],
        "tool running command({\"command\":\"x\"}) whole output \"a\\nb\\nc\"",
    );
}

// Requests.

fn request(ts: u64, value: Value) -> Value {
    say(ts, "api_req_started", &body(value))
}

#[test]
fn a_request_is_no_row_but_the_wait_is_shown() {
    let chat = check(&[request(1, json!({"request": "…"}))], "");
    assert_eq!(chat.panels()["activity"]["state"], "waiting");
    let chat = check(&[request(1, json!({"request": "…", "cost": 0.01}))], "");
    assert_eq!(chat.panels()["activity"]["state"], "idle");
}

#[test]
fn a_request_that_failed_or_was_cancelled_says_so() {
    check(
        &[request(1, json!({"cancelReason": "streaming_failed", "streamingFailedMessage": "reset"}))],
        r#"error done !streaming_failed "reset""#,
    );
    check(&[request(1, json!({"cancelReason": "user_cancelled"}))], "notice done say.apiCancelled");
}

#[test]
fn start_and_finish_of_a_request_are_one_and_costs_add_up() {
    let finished = say(3, "api_req_finished", &body(json!({"tokensIn": 10, "tokensOut": 5, "cost": 0.25})));
    let chat = check(
        &[
            request(1, json!({"request": "…"})),
            say(2, "text", "a"),
            finished,
            request(4, json!({"tokensIn": 1, "cost": 0.05})),
        ],
        r#"text done "a""#,
    );
    let usage = &chat.panels()["usage"];
    assert_eq!((&usage["inputTokens"], &usage["outputTokens"], &usage["cost"]), (&json!(11), &json!(5), &json!(0.3)));
}

#[test]
fn of_retries_only_the_last_is_shown_and_none_after_the_next_request() {
    let retry = |ts, attempt| {
        say(ts, "error_retry", &body(json!({"attempt": attempt, "maxAttempts": 3, "errorMessage": "503"})))
    };
    check(&[retry(1, 1), retry(2, 2)], r#"retry running say.retry attempt=2 max=3 "503""#);
    check(&[retry(1, 1), retry(2, 2), request(3, json!({"cost": 1}))], "");
    let wait = partial(say(2, "api_req_rate_limit_wait", &body(json!({"seconds": 3}))));
    check(&[retry(1, 1), wait, retry(3, 2)], r#"retry running say.retry attempt=2 max=3 "503""#);
    let failed = say(3, "error_retry", &body(json!({"attempt": 3, "maxAttempts": 3, "failed": true})));
    check(&[retry(2, 2), failed, request(4, json!({"cost": 1}))], "retry failed say.retry attempt=3 max=3");
}

#[test]
fn a_countdown_is_shown_while_it_is_the_last_word() {
    let wait = |seconds: u64| partial(say(1, "api_req_rate_limit_wait", &body(json!({"seconds": seconds}))));
    let chat = check(&[wait(10), wait(9)], "retry running say.rateLimit seconds=9");
    assert_eq!(chat.panels()["activity"]["state"], "retrying");
    check(&[wait(10), say(2, "text", "a")], r#"text done "a""#);
    check(
        &[partial(say(1, "api_req_retry_delayed", "503, again in 5 s"))],
        r#"retry running say.retrying "503, again in 5 s""#,
    );
}

#[test]
fn a_compaction_runs_and_ends() {
    check(&[partial(say(1, "condense_context", ""))], "compaction running say.condensing");
    check(&[say(1, "condense_context", "short")], r#"compaction done say.condense "short""#);
    check(&[say(1, "sliding_window_truncation", "")], "compaction done say.slidingWindow");
}

/// What is repeated is compared with the row, not with the message: its text may have been read in another way.
#[test]
fn a_text_that_is_a_body_for_a_while_is_shown_whole_again() {
    let told = |text: &str| partial(say(1, "condense_context", text));
    check(
        &[told(r#"{"summary":"{""#), told(r#"{"summary":"{"}"#), told(r#"{"summary":"{"} and"#)],
        r#"compaction running say.condensing "{\"summary\":\"{\"} and""#,
    );
}

#[test]
fn a_hook_has_its_output() {
    let hook = |status: &str| {
        say(1, "hook_status", &body(json!({"hookName": "PreToolUse", "toolName": "t", "status": status})))
    };
    check(
        &[hook("running"), say(2, "hook_output_stream", "a"), say(3, "hook_output_stream", "b")],
        r#"tool running PreToolUse() title "t" output "a\nb""#,
    );
    check(&[hook("running"), hook("failed")], r#"tool failed PreToolUse() title "t""#);
}

// The tool preparation row.

fn preparing(ts: u64, name: &str, bytes: u64) -> Value {
    partial(say(ts, "tool_preparing", &body(json!({"toolName": name, "byteCount": bytes}))))
}

#[test]
fn a_prepared_tool_is_a_row_until_it_ends() {
    let mut chat = chat();
    push(&mut chat, &[preparing(1, "write_to_file", 0), preparing(1, "write_to_file", 1280)]);
    assert_eq!(chat.lines(), "tool-preparing preparing write_to_file 1.3 KB");
    push(&mut chat, &[say(1, "tool_preparing", &body(json!({"toolName": "write_to_file", "byteCount": 1280})))]);
    assert_eq!(chat.lines(), "");
    push(&mut chat, &[preparing(1, "write_to_file", 1400)]);
    assert_eq!(chat.lines(), "");
}

#[test]
fn two_tools_prepared_at_once_are_two_rows() {
    assert_eq!(
        show(&[preparing(1, "a", 10), preparing(2, "b", 20), preparing(1, "a", 1024), preparing(2, "b", 30)]),
        "tool-preparing preparing a 1.0 KB\n\
         tool-preparing preparing b 30 B"
    );
}

/// The original leaves its row behind where reasoning, or anything else, comes in between and its final is lost.
#[test]
fn a_prepared_tool_ends_when_a_call_begins_or_none_will() {
    let reasoning = say(2, "reasoning", "hm");
    let ends = [
        (ask(3, "tool", &tool(json!({"tool": "newFileCreated"}))), "tool pending newFileCreated"),
        (say(3, "error", "no"), "error done"),
        (say(3, "completion_result", "done"), "text done"),
        (request(3, json!({})), ""),
    ];
    for (end, row) in ends {
        for order in [[0, 1, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0]] {
            let records = [preparing(1, "w", 5), reasoning.clone(), end.clone()];
            let shown = show(&order.map(|place| records[place].clone()));
            assert!(!shown.contains("preparing") && shown.contains(row), "{shown}");
        }
    }
    let going_on = show(&[preparing(1, "w", 5), reasoning, say(3, "text", "so")]);
    assert!(going_on.contains("tool-preparing preparing"), "{going_on}");
}

#[test]
fn a_prepared_tool_ends_with_its_stream() {
    for abort in [false, true] {
        let mut chat = chat();
        push(&mut chat, &[preparing(1, "a", 10)]);
        if abort {
            chat.abort()
        } else {
            chat.finish()
        };
        chat.drain();
        assert_eq!(chat.lines(), "");
    }
}

// Ends.

#[test]
fn what_is_partial_when_the_stream_ends_is_interrupted() {
    let mut chat = chat();
    push(&mut chat, &[say(1, "command", "make"), say(2, "command_output", "x"), partial(say(3, "text", "a"))]);
    assert_eq!(chat.finish(), End::Interrupted);
    assert!(chat.lines().ends_with(r#"text interrupted "a""#));
}

/// What comes and goes between two batches is not told.
#[test]
fn what_flips_back_before_it_was_shown_is_silent() {
    let retry = |attempt: u64| say(1, "error_retry", &body(json!({"attempt": attempt, "maxAttempts": 3})));
    let named = |name: &str| say(1, "hook_status", &body(json!({"hookName": name, "toolName": name})));
    let wait = |text: &str| partial(say(1, "api_req_rate_limit_wait", text));
    for [stands, flips] in [[retry(1), retry(2)], [named("a"), named("b")], [wait(""), wait("abc")]] {
        let mut chat = chat();
        push(&mut chat, std::slice::from_ref(&stands));
        let rows = chat.rows();
        // Fresher by its count, each of them.
        for (seq, record) in [(1, &flips), (2, &stands)] {
            let record = with(record.clone(), "seq", json!(seq));
            chat.push(format!("{record}\n").as_bytes());
        }
        assert!(chat.drain().is_empty(), "{stands}");
        assert_eq!(chat.rows(), rows);
    }
}

/// What a stream told of, another one of the same conversation finds again.
#[test]
fn a_stream_after_an_abort_goes_on_with_the_same_rows() {
    let mut chat = chat();
    let messages = [say(1, "task", "a"), say(2, "text", "b"), say(4, "text", "d")];
    push(&mut chat, &messages);
    chat.abort();
    let ids = |chat: &Chat| -> Vec<u64> {
        chat.rows().as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect()
    };
    let before = ids(&chat);
    chat.stream = chat.chat.stream(Format::Say);
    push(&mut chat, &[state(&[messages[0].clone(), messages[1].clone(), say(3, "text", "c"), messages[2].clone()])]);
    assert_eq!(ids(&chat), [before[0], before[1], 4, before[2]]);
}

/// A replay tells of the way to what stands; nothing of it is taken back on the way.
#[test]
fn a_replay_shortens_nothing_on_its_way() {
    let command = |text: &str| ask(1, "command", text);
    let written = |content: &str| tool(json!({"tool": "newFileCreated", "path": "a", "content": content}));
    let texts =
        ["task", "user_feedback", "error", "condense_context", "text", "reasoning", "image", "completion_result"];
    let mut conversations: Vec<Vec<Value>> =
        texts.map(|kind| vec![partial(say(1, kind, "wo")), say(1, kind, "word")]).to_vec();
    conversations.push(vec![partial(command("ma")), command("make")]);
    conversations.push(vec![partial(ask(1, "tool", &written("on"))), ask(1, "tool", &written("one"))]);
    conversations.push(vec![partial(say(1, "subagent", "wo")), say(1, "subagent", "word")]);
    conversations.push(vec![partial(say(1, "tool", "{\"to")), say(1, "tool", "{\"to oops")]);
    for conversation in conversations {
        let mut chat = chat();
        push(&mut chat, &conversation);
        let rows = chat.rows();
        chat.chat.restart(chat.stream);
        for record in &conversation {
            push(&mut chat, std::slice::from_ref(record));
            assert_eq!(chat.rows(), rows, "{record}");
        }
    }
}

#[test]
fn an_echo_that_comes_in_pieces_is_the_row_of_what_was_said() {
    let mut chat = chat();
    chat.chat.add_user("do it");
    push(&mut chat, &[partial(say(1, "task", "do")), say(1, "task", "do it")]);
    assert_eq!(chat.lines(), r#"user done "do it""#);
}

#[test]
fn an_abort_cancels_what_runs_or_waits() {
    let mut chat = chat();
    push(&mut chat, &[ask(1, "command", "make"), say(2, "command_output", "x")]);
    assert_eq!(chat.abort(), End::Cancelled);
    assert_eq!(lines(&chat.rows()), r#"tool cancelled command({"command":"make"}) whole output "x""#);
}

#[test]
fn an_ask_whose_arguments_do_not_parse_waits_for_an_answer_and_never_runs_here() {
    for arguments in ["{\"a\":", "not json", "{\"a\":1}  x", "[1", "\u{feff}{}"] {
        let body = json!({"serverName": "s", "toolName": "t", "arguments": arguments}).to_string();
        let mut chat = chat();
        push(&mut chat, &[ask(1, "use_mcp_server", &body)]);
        let row = &chat.rows()[0];
        assert_eq!((&row["state"], &row["tool"]["inputDone"]), (&json!("pending"), &json!(false)), "{arguments}");
        assert_eq!(row["error"]["code"], "arguments-malformed");
        assert!(row["permission"].is_object());
        let id = chat.chat.rows().next().unwrap().id;
        assert_eq!(chat.chat.args(id).as_deref(), None);
        assert!(chat.chat.tool_started(ToolRef::Row(id)).is_err());
        // It says so in a chat that is restored, too.
        let again = ChatRows::restore(&chat.chat.snapshot_json(), Options::default()).unwrap();
        assert_eq!((again.rows_json(), again.args(id)), (chat.chat.rows_json(), None));
    }
}

#[test]
fn an_ask_whose_arguments_a_cap_cut_waits_for_an_answer_and_never_runs_here() {
    let limits = Limits { tool_input_bytes: 10, ..Limits::default() };
    let mut chat = chat_of(Format::Say, Options { limits, ..Options::default() });
    let body = json!({"serverName": "s", "toolName": "t", "arguments": "{\"a\":1234}   "}).to_string();
    push(&mut chat, &[ask(1, "use_mcp_server", &body), ask(2, "command", "echo 12345")]);
    for row in chat.rows().as_array().unwrap() {
        assert_eq!((&row["error"]["code"], &row["truncated"]), (&json!("arguments-too-long"), &json!(true)), "{row}");
        assert_eq!(row["tool"]["inputDone"], false);
    }
    assert!(chat.chat.rows().all(|row| chat.chat.args(row.id).is_none()));
}
