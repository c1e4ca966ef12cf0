//! Task stream messages of every type and kind, in all their shapes, and what a reconnect may bring again: frames and
//! expected rows side by side. `check` feeds each input in every cut and compares the oracle after every batch.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, End, Format, Limits, Options, PanelName, RowState};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Chat, Cuts, Random, cases, chat_of, lines, unindent, without_ids};

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a server writes; the decoder reads it with code of its own.
fn base64(bytes: &[u8]) -> String {
    let bits = |group: &[u8]| group.iter().chain(&[0, 0]).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
    let digits =
        |group: &[u8]| {
            let bits = bits(group);
            (0..4)
                .map(|place| {
                    if place <= group.len() { ALPHABET[(bits >> (18 - 6 * place) & 63) as usize] as char } else { '=' }
                })
                .collect::<String>()
        };
    bytes.chunks(3).map(digits).collect()
}

/// Frames of one task, each later than the one before.
#[derive(Debug, Clone, Default)]
struct Frames {
    frames: Vec<Value>,
    time: u64,
    seq: bool,
}

const START: u64 = 1_782_000_000_000;

impl Frames {
    fn frame(mut self, kind: &str, sub: &str, data: Value) -> Self {
        self.time += 10;
        let data = if data.is_null() { data } else { json!(base64(data.to_string().as_bytes())) };
        let mut frame = json!({"type": kind, "data": data, "kind": sub, "timestamp": START + self.time});
        if self.seq {
            frame["seq"] = json!(self.frames.len());
        }
        self.frames.push(frame);
        self
    }

    fn user(self, text: &str) -> Self {
        self.frame("user-input", "", json!({"content": base64(text.as_bytes()), "attachments": []}))
    }

    fn started(self) -> Self {
        self.frame("task-started", "", Value::Null)
    }

    fn update(self, update: Value) -> Self {
        self.frame("task-running", "acp_event", json!({"update": update}))
    }

    fn text(self, text: &str) -> Self {
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    }

    fn thought(self, text: &str) -> Self {
        self.update(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}))
    }

    fn call(self, id: &str, more: Value) -> Self {
        let mut update = json!({"sessionUpdate": "tool_call", "toolCallId": id});
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.update(update)
    }

    fn more(self, id: &str, more: Value) -> Self {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.update(update)
    }

    fn ask(self, id: &str, questions: Value) -> Self {
        let data = json!({"toolCall": {"toolCallId": id, "rawInput": {"questions": questions}}});
        self.frame("task-running", "acp_ask_user_question", data)
    }

    fn reply(self, id: &str, answers: Value) -> Self {
        let data = json!({"request_id": id, "answers_json": answers.to_string(), "cancelled": false});
        self.frame("reply-question", "", data)
    }

    fn ended(self) -> Self {
        self.frame("task-ended", "", Value::Null)
    }

    fn bytes(&self) -> Vec<u8> {
        bytes(&self.frames)
    }
}

fn bytes(frames: &[Value]) -> Vec<u8> {
    frames.iter().flat_map(|frame| format!("{frame}\n").into_bytes()).collect()
}

fn task() -> Frames {
    Frames::default().user("go").started()
}

fn chat() -> Chat {
    chat_of(Format::TaskStream, Options::default())
}

fn push(chat: &mut Chat, frames: &[Value]) {
    for frame in frames {
        chat.push(format!("{frame}\n").as_bytes());
        chat.drain();
    }
}

/// Feeds the frames in every way; these rows must stand before the end, and no fault.
#[track_caller]
fn check(frames: &Frames, expected: &str) -> Chat {
    let input = frames.bytes();
    let run = |cuts: Cuts| {
        let mut chat = chat();
        chat.feed(&input, cuts);
        chat.drain();
        assert!(chat.drain().is_empty());
        chat
    };
    let chat = run(Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.chat.faults().count(), 0, "{:?}", chat.chat.faults().collect::<Vec<_>>());
    for cuts in [Cuts::Every(1), Cuts::Every(7), Cuts::Every(64), Cuts::Seed(1), Cuts::Seed(2)] {
        let cut = run(cuts);
        assert_eq!(cut.chat.rows_json(), chat.chat.rows_json(), "{cuts:?}");
        assert_eq!(cut.chat.panels_json(), chat.chat.panels_json(), "{cuts:?}");
        assert_eq!(cut.chat.tally().records(), chat.chat.tally().records(), "{cuts:?}");
    }
    chat
}

fn panel(chat: &Chat, name: PanelName, value: &str) -> Value {
    chat.chat.panel(name).get(value).map_or(Value::Null, |json| serde_json::from_str(json).unwrap())
}

// --- Types and kinds ----------------------------------------------------------------------------------------------

#[test]
fn what_the_user_said_is_base64_twice_and_survives_in_any_script() {
    check(&Frames::default().user("修复 bug 😀"), r#"user done "修复 bug 😀""#);
}

#[test]
fn what_the_user_said_may_be_plain_bytes_or_marked_as_plain_text() {
    for data in [
        json!("hello there"),
        json!(base64(b"hello there")),
        json!({"encoding": "plaintext", "content": "hello there"}),
        json!({"content": base64(b"hello there")}),
        json!({"content": "hello there"}),
        json!(r#"{"content":"aGVsbG8gdGhlcmU="}"#),
    ] {
        let mut chat = chat();
        push(&mut chat, &[json!({"type": "user-input", "timestamp": 5, "data": data})]);
        assert_eq!(chat.lines(), r#"user done "hello there""#, "{data}");
    }
}

#[test]
fn files_of_the_user_are_files_of_the_row() {
    let data = json!({"content": base64(b"look"), "attachments": [{"url": "https://f/a.png", "filename": "a.png"}]});
    let chat = check(&Frames::default().frame("user-input", "", data), r#"user done "look" file a.png"#);
    let files: Value = serde_json::from_str(&chat.chat.rows_json()).unwrap();
    assert_eq!(files[0]["files"], json!([{"url": "https://f/a.png", "name": "a.png"}]));
}

#[test]
fn what_the_user_typed_here_is_not_shown_twice() {
    let mut chat = chat();
    chat.chat.add_user("go");
    push(&mut chat, &task().text("on it").frames);
    assert_eq!(chat.lines(), "user done \"go\"\ntext streaming \"on it\"");
}

#[test]
fn a_turn_starts_and_ends() {
    let chat = check(&task(), r#"user done "go""#);
    assert_eq!(panel(&chat, PanelName::Activity, "state"), "waiting");
    let mut chat = check(&task().text("done").ended(), "user done \"go\"\ntext done \"done\"");
    assert_eq!(panel(&chat, PanelName::Activity, "state"), "idle");
    assert_eq!(chat.finish(), End::Done);
}

#[test]
fn an_input_that_ends_without_the_end_of_its_turn_is_interrupted() {
    let mut chat = check(&task().text("do"), "user done \"go\"\ntext streaming \"do\"");
    assert_eq!(chat.finish(), End::Interrupted);
    assert_eq!(chat.lines(), "user done \"go\"\ntext interrupted \"do\"");
}

#[test]
fn a_ping_shows_nothing() {
    let ping = json!({"type": "ping", "data": null, "timestamp": 0});
    let mut chat = chat();
    push(&mut chat, &[ping.clone(), ping]);
    assert_eq!((chat.lines().as_str(), chat.chat.tally().no_op), ("", 2));
}

#[test]
fn the_end_of_a_task_fails_tools_that_are_open() {
    let frames =
        task().call("a", json!({"title": "ls", "status": "in_progress"})).call("b", json!({"title": "rm"})).ended();
    check(&frames, "user done \"go\"\ntool failed ?#a() title \"ls\"\ntool failed ?#b() title \"rm\"");
}

#[test]
fn tokens_come_with_updates_and_with_the_end() {
    let update = json!({"type": "usage_update", "input_tokens": 150, "output_tokens": 450});
    let frames = task().frame("task-running", "acp_event", update).frame(
        "task-ended",
        "",
        json!({"usage": {"input_tokens": 200, "output_tokens": 0}}),
    );
    let chat = check(&frames, r#"user done "go""#);
    assert_eq!(panel(&chat, PanelName::Usage, "inputTokens"), 200);
    assert_eq!(panel(&chat, PanelName::Usage, "outputTokens"), 450, "a zero says nothing");
    let frames = task()
        .update(json!({"sessionUpdate": "usage_update", "used": 10, "size": 100}))
        .update(json!({"sessionUpdate": "usage_update", "used": 20}));
    let chat = check(&frames, r#"user done "go""#);
    assert_eq!(panel(&chat, PanelName::Usage, "used"), 20);
    assert_eq!(panel(&chat, PanelName::Usage, "size"), 100, "what is missing stays");
}

#[test]
fn a_task_that_failed_says_why_in_any_of_the_shapes() {
    for data in [
        json!({"error": "out of memory"}),
        json!({"details": "out of memory"}),
        json!("out of memory"),
        json!("\"out of memory\""),
        json!(base64(br#"{"error":"out of memory"}"#)),
        json!(base64(b"\"out of memory\"")),
    ] {
        for kind in ["task-error", "error"] {
            let mut chat = chat();
            push(&mut chat, &task().text("x").frames);
            push(&mut chat, &[json!({"type": kind, "timestamp": START + 99, "data": data})]);
            assert_eq!(
                chat.lines(),
                "user done \"go\"\ntext done \"x\"\nerror done \"out of memory\"",
                "{kind} {data}"
            );
        }
    }
    // Four letters and eight are base64 as well.
    let mut chat = chat();
    push(&mut chat, &[json!({"type": "task-error", "timestamp": 1, "data": "timeout"})]);
    push(&mut chat, &[json!({"type": "task-error", "timestamp": 2, "data": "time out"})]);
    assert_eq!(chat.lines(), "error done \"timeout\"\nerror done \"time out\"");
}

#[test]
fn an_error_that_is_not_the_end_ends_nothing() {
    let frames = task().call("a", json!({"title": "ls", "status": "in_progress"})).frame(
        "task-error",
        "",
        json!({"error": "slow", "terminal": false}),
    );
    check(&frames, "user done \"go\"\ntool running ?#a() title \"ls\"\nerror done \"slow\"");
    let frames = task().call("a", json!({"title": "ls", "status": "in_progress"})).frame(
        "task-error",
        "",
        json!({"error": "gone"}),
    );
    check(&frames, "user done \"go\"\ntool failed ?#a() title \"ls\"\nerror done \"gone\"");
}

#[test]
fn a_cancelled_turn_says_so_and_its_tools_are_cancelled() {
    let frames = task()
        .call("a", json!({"title": "ls", "status": "in_progress"}))
        .text("so far")
        .frame("user-cancel", "", Value::Null)
        .more("a", json!({"status": "in_progress", "rawOutput": "late"}))
        .ended();
    let expected = "
        user done \"go\"
        tool cancelled ?#a() title \"ls\" output \"late\"
        text cancelled \"so far\"
        notice done task.cancelled";
    check(&frames, expected);
}

#[test]
fn a_cursor_is_where_history_goes_on() {
    let chat = check(&task().frame("cursor", "", json!({"cursor": "c1", "has_more": true})), r#"user done "go""#);
    assert_eq!(panel(&chat, PanelName::Session, "cursor"), "c1");
    assert_eq!(panel(&chat, PanelName::Session, "hasMore"), true);
}

#[test]
fn types_that_show_nothing_are_known_and_others_are_skipped() {
    let mut chat = chat();
    for (number, kind) in ["file-change", "permission-resp", "task-event", "call-response", "sync"].iter().enumerate() {
        push(&mut chat, &[json!({"type": kind, "timestamp": number + 1, "data": null})]);
    }
    let tally = chat.chat.tally();
    assert_eq!((tally.no_op, tally.skipped, tally.faulted), (3, 2, 0));
}

#[test]
fn an_event_that_cannot_be_decoded_is_a_fault_and_the_next_frame_is_read() {
    let mut chat = chat();
    push(&mut chat, &[json!({"type": "task-running", "kind": "acp_event", "timestamp": 1, "data": "%%%"})]);
    push(&mut chat, &task().text("fine").frames);
    assert_eq!(chat.chat.faults().next().unwrap().reason, "data");
    assert_eq!(chat.lines(), "user done \"go\"\ntext streaming \"fine\"");
}

#[test]
fn leave_that_a_task_asks_for_waits_on_its_row() {
    let frames = task().call("a", json!({"title": "rm", "kind": "execute"})).frame(
        "permission-req",
        "",
        json!({"id": "p1", "title": "rm", "tool": "shell", "tool_call_id": "a"}),
    );
    let chat = check(&frames, "user done \"go\"\ntool pending ?#a() title \"rm\" may");
    let row = chat.chat.rows().last().unwrap();
    assert!(!row.busy, "somebody else has to act");
    let frames = frames.frame("permission-resolved", "", json!({"id": "p1", "outcome": "approved"}));
    check(&frames, "user done \"go\"\ntool pending ?#a() title \"rm\" chose approved");
    for (outcome, state) in [("timeout", "expired"), ("cancelled", "cancelled"), ("denied", "done")] {
        let frames = task().frame("permission-req", "", json!({"id": "p2", "title": "push", "tool": "git"})).frame(
            "permission-resolved",
            "",
            json!({"id": "p2", "outcome": outcome}),
        );
        let mut chat = chat_of(Format::TaskStream, Options::default());
        push(&mut chat, &frames.frames);
        assert!(chat.lines().contains(&format!("permission {state} \"push\"")), "{outcome}: {}", chat.lines());
    }
}

// --- Shapes -------------------------------------------------------------------------------------------------------

/// The same frame in every way its data may be written, and by either name of its type.
fn shapes(frame: &Value) -> Vec<Value> {
    let text = |data: &Value| {
        let bytes = data.as_str().map(unbase64);
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let mut shapes = vec![frame.clone()];
    if let Some(text) = text(&frame["data"]) {
        for data in [json!(text), serde_json::from_str(&text).unwrap()] {
            let mut shape = frame.clone();
            shape["data"] = data;
            shapes.push(shape);
        }
    }
    for place in 0..shapes.len() {
        let mut shape = shapes[place].clone();
        let kind = shape.as_object_mut().unwrap().remove("type").unwrap();
        shape["event"] = kind;
        shapes.push(shape);
    }
    shapes
}

fn unbase64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| ALPHABET.iter().position(|known| *known == byte);
    let digits: Vec<usize> = text.bytes().filter_map(digit).collect();
    let group = |four: &[usize]| {
        let bits = four.iter().chain(&[0, 0, 0]).take(4).fold(0, |bits, digit| bits << 6 | *digit);
        (0..four.len().saturating_sub(1)).map(move |place| (bits >> (16 - 8 * place)) as u8).collect::<Vec<_>>()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[test]
fn data_may_be_base64_or_text_or_in_place_and_the_type_may_be_an_event() {
    let frames = task()
        .thought("思考中…")
        .text("Hello 😀")
        .call("a", json!({"title": "ls", "rawInput": {"command": "ls"}}))
        .ended();
    let rows = |frames: &[Value]| {
        let mut chat = chat();
        push(&mut chat, frames);
        assert_eq!(chat.chat.faults().count(), 0);
        chat.lines()
    };
    let expected = rows(&frames.frames);
    assert!(expected.contains("Hello 😀"));
    for shape in 0..6 {
        let as_shape = |frame: &Value| shapes(frame).get(shape).cloned().unwrap_or_else(|| frame.clone());
        let written: Vec<Value> = frames.frames.iter().map(as_shape).collect();
        assert_eq!(rows(&written), expected, "shape {shape}");
    }
}

#[test]
fn events_may_be_flat() {
    let flat = |frames: Frames, event: Value| frames.frame("task-running", "acp_event", event);
    let mut frames = task();
    for event in [
        json!({"type": "agent_thought_chunk", "content": "思考中..."}),
        json!({"type": "agent_message_chunk", "text": "Hello"}),
        json!({"type": "agent_message_chunk", "content": " there"}),
        json!({"type": "agent_message_chunk", "text": ""}),
        json!({"type": "tool_call", "tool_name": "bash", "tool_input": "ls -la"}),
        json!({"type": "plan", "steps": ["look", "mend"]}),
        json!({"type": "available_commands_update", "commands": ["init"]}),
    ] {
        frames = flat(frames, event);
    }
    let expected = "
        user done \"go\"
        reasoning done \"思考中...\"
        text done \"Hello there\"
        tool done bash(\"ls -la\") whole title \"bash\"";
    let chat = check(&frames, expected);
    assert_eq!(panel(&chat, PanelName::Plan, "entries"), json!([{"content": "look"}, {"content": "mend"}]));
    assert_eq!(panel(&chat, PanelName::Commands, "available"), json!(["init"]));
}

// --- Rows ---------------------------------------------------------------------------------------------------------

#[test]
fn what_shows_beside_the_rows_does_not_part_a_text() {
    let frames = task()
        .text("one ")
        .update(json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending"}]}))
        .update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}))
        .update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []}))
        .text("two");
    check(&frames, "user done \"go\"\ntext streaming \"one two\"");
}

#[test]
fn a_blank_start_is_no_row_and_is_not_lost() {
    check(&task().text("\n\n").text("Hi").text(" "), "user done \"go\"\ntext streaming \"\\n\\nHi \"");
    check(&task().text("\n").thought("hm"), "user done \"go\"\nreasoning streaming \"hm\"");
    check(&task().text("(no content)").ended(), "user done \"go\"");
}

#[test]
fn a_call_is_put_together_from_its_updates() {
    let frames = task()
        .call("a", json!({"title": "run", "kind": "execute", "status": "pending", "rawInput": {}}))
        .more("a", json!({"title": "cargo test", "rawInput": {"command": "cargo test"}, "status": "in_progress"}))
        .call("a", json!({"title": "cargo test"}))
        .more("a", json!({"status": "completed", "rawOutput": {"stdout": "ok\n", "stderr": "warn\n"}}));
    let row = r#"tool done ?#a({"command":"cargo test"}) whole title "cargo test" output "ok\nwarn\n""#;
    check(&frames, &format!("user done \"go\"\n{row}"));
}

#[test]
fn a_change_to_files_is_read_from_what_a_call_gave_back() {
    let raw = json!({"metadata": {"files": [{"path": "a.rs", "patch": "@@ -1 +1 @@\n-a\n+b\n"}]}});
    let frames = task()
        .call("a", json!({"title": "edit", "kind": "edit"}))
        .more("a", json!({"status": "completed", "rawOutput": raw}));
    let chat = check(&frames, "user done \"go\"\ntool done ?#a() title \"edit\"");
    let rows: Value = serde_json::from_str(&chat.chat.rows_json()).unwrap();
    assert_eq!(rows[1]["tool"]["content"], json!([{"type": "patch", "path": "a.rs", "text": "@@ -1 +1 @@\n-a\n+b\n"}]));
}

#[test]
fn requests_that_are_tried_again_say_so_until_something_comes() {
    let retry = json!({"sessionUpdate": "llm_call_retry", "attempt": 2, "message": "overloaded"});
    let expected = "user done \"go\"\nretry running say.retryAttempt attempt=2 \"overloaded\" retryable";
    let chat = check(&task().update(retry.clone()), expected);
    assert_eq!(panel(&chat, PanelName::Activity, "state"), "retrying");
    let again = json!({"sessionUpdate": "llm_call_retry", "attempt": 3, "message": "overloaded"});
    let frames = task().update(retry).update(again).text("here");
    let expected = "
        user done \"go\"
        retry done say.retryAttempt attempt=3 \"overloaded\" retryable
        text streaming \"here\"";
    check(&frames, expected);
}

#[test]
fn a_compaction_has_a_row_that_ends() {
    let status = |status: &str| json!({"sessionUpdate": "compact_status", "status": status});
    check(&task().update(status("started")), "user done \"go\"\ncompaction running say.condensing");
    for (word, state) in [("ended", "done"), ("failed", "failed"), ("cancelled", "cancelled")] {
        let expected = format!("user done \"go\"\ncompaction {state} say.condense");
        check(&task().update(status("started")).update(status(word)), &expected);
    }
    check(&task().update(status("started")).ended(), "user done \"go\"\ncompaction failed say.condensing");
}

#[test]
fn a_plan_that_is_done_goes_when_the_next_turn_starts() {
    let plan = |status: &str| json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": status}]});
    for (status, kept) in [("completed", Value::Null), ("pending", json!([{"content": "a", "status": "pending"}]))] {
        let frames = task().update(plan(status)).ended().user("more").started();
        let chat = check(&frames, "user done \"go\"\nuser done \"more\"");
        assert_eq!(panel(&chat, PanelName::Plan, "entries"), kept, "{status}");
    }
}

#[test]
fn history_that_is_read_meanwhile_leaves_the_plan_as_it_is() {
    let done = json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "completed"}]});
    let mut chat = chat();
    push(&mut chat, &at(1_000).user("go").started().update(done).ended().frames);
    chat.chat.load_history(chat.stream, &page(&[&at(0).user("before").started().ended()]).to_string());
    push(&mut chat, &at(2_000).user("more").started().frames);
    assert_eq!(panel(&chat, PanelName::Plan, "entries"), Value::Null, "the plan was done before this turn");
}

// --- Questions ----------------------------------------------------------------------------------------------------

fn which() -> Value {
    json!([{"question": "Which way?", "options": [{"label": "left"}, {"label": "right", "description": "longer"}]}])
}

#[test]
fn a_question_waits_for_its_answer() {
    let frames = task().ask("q", which());
    let chat = check(&frames, "user done \"go\"\nquestion pending \"Which way?\" (left | right)");
    assert!(chat.chat.rows().all(|row| !row.busy));
    assert_eq!(panel(&chat, PanelName::Activity, "state"), "idle", "nobody thinks while the user is asked");
    check(
        &frames.reply("q", json!({"Which way?": "left"})),
        "user done \"go\"\nquestion done \"Which way?\" (left | right) answer \"left\"",
    );
}

#[test]
fn a_question_is_found_wherever_it_stands() {
    let expected = "user done \"go\"\nquestion pending \"Which way?\" (left | right)";
    for data in [
        json!({"toolCall": {"toolCallId": "q", "rawInput": {"questions": which()}}}),
        json!({"toolCall": {"toolCallId": "q", "_meta": {"askUserQuestion": {"questions": which()}}}}),
        json!({"toolCall": {"toolCallId": "q", "_meta": {"askUserQuestion": which()}}}),
        json!({"request_id": "q", "questions": which()}),
        json!({"id": "q", "question": "Which way?", "options": ["left", "right"]}),
    ] {
        check(&task().frame("task-running", "acp_ask_user_question", data), expected);
    }
    // A call that is one by its name.
    for title in ["question", "User Question", "ask_user_question", "mcp-ask-user-question-v2", ""] {
        check(&task().call("q", json!({"title": title, "rawInput": {"questions": which()}})), expected);
    }
    let other = check(
        &task().call("q", json!({"title": "survey", "rawInput": {"questions": []}})),
        "user done \"go\"\ntool pending ?#q({\"questions\":[]}) whole title \"survey\"",
    );
    assert!(other.chat.rows().last().unwrap().busy, "the other side is at work on it");
}

#[test]
fn a_call_that_turns_out_to_ask_is_a_question_in_its_place() {
    let frames = task()
        .call("q", json!({"title": "ask_user_question"}))
        .text("waiting")
        .more("q", json!({"rawInput": {"questions": which()}}));
    check(&frames, "user done \"go\"\nquestion pending \"Which way?\" (left | right)\ntext streaming \"waiting\"");
}

#[test]
fn several_questions_of_one_call_are_answered_together_and_keep_what_is_known() {
    let questions = json!([
        {"question": "Which?", "header": "Way", "options": ["a", "b"], "multiSelect": true},
        {"question": "Why?", "custom": true},
        {"question": "How?", "options": ["x"], "custom": false},
    ]);
    let frames =
        task().ask("q", questions.clone()).reply("q", json!({"Which?": ["a", "b"], "Why?": "since", "How?": "x"}));
    // It is sent again as it was asked: what was answered stays.
    let frames = frames.ask("q", questions);
    let mut chat = chat();
    push(&mut chat, &frames.frames);
    let rows: Value = serde_json::from_str(&chat.chat.rows_json()).unwrap();
    let row = &rows[1];
    assert_eq!(row["state"], "done", "never back from completed");
    let parts = row["question"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[0]["answer"], json!(["a", "b"]));
    assert_eq!((&parts[0]["multiple"], &parts[0]["header"]), (&json!(true), &json!("Way")));
    assert_eq!((&parts[1]["answer"], &parts[1]["custom"]), (&json!("since"), &json!(true)));
    assert_eq!((&parts[2]["answer"], &parts[2]["custom"]), (&json!("x"), &json!(false)));
}

#[test]
fn a_question_nobody_answered_expires_with_its_turn() {
    let expected = "user done \"go\"\nquestion expired \"Which way?\" (left | right)";
    check(&task().ask("q", which()).ended(), expected);
    let frames = task().ask("q", which()).frame(
        "reply-question",
        "",
        json!({"request_id": "q", "answers_json": "{}", "cancelled": true}),
    );
    check(&frames, "user done \"go\"\nquestion cancelled \"Which way?\" (left | right)");
}

#[test]
fn answers_that_are_no_json_answer_nothing_and_throw_nothing() {
    let frames = task().ask("q", which()).frame("reply-question", "", json!({"request_id": "q", "answers_json": ""}));
    check(&frames, "user done \"go\"\nquestion done \"Which way?\" (left | right)");
}

// --- What comes again ---------------------------------------------------------------------------------------------

/// A turn with everything in it, after one that is over.
fn long_turn(seq: bool) -> Frames {
    Frames { seq, ..Frames::default() }
        .user("before")
        .started()
        .text("over ")
        .text("and done")
        .ended()
        .user("go")
        .started()
        .update(json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "in_progress"}]}))
        .thought("hm ")
        .thought("ha")
        .text("ha")
        .text("ha")
        .call("a", json!({"title": "ls", "status": "pending"}))
        .more("a", json!({"status": "in_progress", "rawInput": {"command": "ls"}}))
        .text("meanwhile")
        .more("a", json!({"status": "completed", "rawOutput": "one\ntwo"}))
        .update(json!({"sessionUpdate": "llm_call_retry", "attempt": 1, "message": "busy"}))
        .text("again ")
        .ask("q", which())
        .reply("q", json!({"Which way?": "left"}))
        .update(json!({"sessionUpdate": "compact_status", "status": "started"}))
        .update(json!({"sessionUpdate": "compact_status", "status": "ended"}))
        .text("left ")
        .text("then")
        .ended()
}

/// Where the latest turn of `long_turn` starts.
const TURN: usize = 5;

fn rows_of(chat: &Chat) -> Value {
    without_ids(&serde_json::from_str(&chat.chat.rows_json()).unwrap())
}

#[test]
fn a_turn_that_is_replayed_after_a_cut_anywhere_leaves_the_rows_as_they_were() {
    for seq in [false, true] {
        let frames = long_turn(seq).frames;
        let mut whole = chat();
        push(&mut whole, &frames);
        for cut in TURN..frames.len() {
            let mut chat = chat();
            push(&mut chat, &frames[..cut]);
            let before = chat.lines();
            chat.chat.pause(chat.stream, true);
            chat.drain();
            assert!(chat.chat.rows().all(|row| !row.busy), "nothing is busy while the line is cut at {cut}");
            assert_eq!(chat.lines(), before, "states are kept");
            let start = if cut == TURN { 0 } else { TURN };
            assert!(chat.chat.restart_turn(chat.stream));
            chat.chat.pause(chat.stream, false);
            chat.drain();
            for (place, frame) in frames[start..].iter().enumerate() {
                chat.push(format!("{frame}\n").as_bytes());
                chat.drain();
                if start + place + 1 == cut {
                    assert_eq!(chat.lines(), before, "what stood stands, cut at {cut}");
                }
            }
            assert_eq!(rows_of(&chat), rows_of(&whole), "cut at {cut}, seq {seq}");
            assert_eq!(chat.chat.panels_json(), whole.chat.panels_json(), "cut at {cut}");
        }
    }
}

#[test]
fn half_a_frame_at_the_cut_is_forgotten() {
    let frames = long_turn(false).frames;
    let mut whole = chat();
    push(&mut whole, &frames);
    let mut chat = chat();
    push(&mut chat, &frames[..12]);
    chat.push(&frames[12].to_string().as_bytes()[..20]);
    assert!(chat.chat.restart_turn(chat.stream));
    push(&mut chat, &frames[TURN..]);
    assert_eq!(rows_of(&chat), rows_of(&whole));
    assert_eq!(chat.chat.faults().count(), 0);
}

#[test]
fn ten_thousand_chunks_that_come_again_change_nothing() {
    for seq in [false, true] {
        let mut frames = Frames { seq, ..task() };
        for number in 0..10_000 {
            // The same words again and again, and two of them in the same millisecond.
            frames.time -= if number % 7 == 0 { 10 } else { 0 };
            frames =
                if number % 1000 < 500 { frames.text(&format!("{} ", number % 10)) } else { frames.thought("so ") };
        }
        let input = frames.bytes();
        let mut chat = chat();
        chat.push(&input);
        chat.drain();
        let before = chat.chat.rows_json();
        let work = chat.chat.tally().work;
        assert!(chat.chat.restart_turn(chat.stream));
        chat.push(&input);
        assert!(chat.drain().is_empty(), "a replay that brings nothing new says nothing, seq {seq}");
        assert_eq!(chat.chat.rows_json(), before);
        let again = chat.chat.tally().work - work;
        assert!(again < 3 * work / 2, "a replay costs what the first pass did: {again} after {work}");
        push(&mut chat, &Frames { frames: Vec::new(), ..frames }.text("new").frames);
        assert!(chat.lines().ends_with("new\""));
    }
}

#[test]
fn frames_that_come_twice_are_read_once() {
    for seq in [false, true] {
        let frames = long_turn(seq).frames;
        let mut once = chat();
        push(&mut once, &frames);
        let mut twice = chat();
        for frame in &frames {
            push(&mut twice, &[frame.clone(), frame.clone()]);
        }
        assert_eq!(rows_of(&twice), rows_of(&once));
        assert_eq!(twice.chat.tally().no_op, once.chat.tally().no_op + frames.len() as u64);
    }
}

#[test]
fn the_same_words_under_another_seq_or_time_are_said_twice() {
    let frame = |seq: u64, time: &str| {
        let frame = json!({"type": "task-running", "kind": "acp_event", "seq": seq, "data": {"type": "agent_message_chunk", "text": "ha"}});
        let text = frame.to_string();
        format!("{},\"timestamp\":{time}}}\n", &text[..text.len() - 1])
    };
    let mut chat = chat();
    // The last two differ in a nanosecond.
    for (seq, time) in [(1, "5"), (2, "5"), (2, "5"), (3, "1719561600123456788"), (3, "1719561600123456789")] {
        chat.push(frame(seq, time).as_bytes());
    }
    assert_eq!(chat.lines(), r#"text streaming "hahahaha""#);
}

#[test]
fn an_ended_turn_that_is_attached_to_again_stays_as_it_was() {
    let frames = long_turn(false).frames;
    let mut chat = chat();
    push(&mut chat, &frames);
    let before = chat.chat.rows_json();
    let lines = chat.lines();
    assert!(chat.chat.restart_turn(chat.stream));
    push(&mut chat, &frames[TURN..]);
    assert_eq!(chat.lines(), lines);
    assert_eq!(chat.chat.rows_json(), before);
    let next = Frames { frames: Vec::new(), time: 10_000, seq: false }.user("next").started().text("on").frames;
    push(&mut chat, &next);
    assert!(chat.lines().ends_with("user done \"next\"\ntext streaming \"on\""));
}

#[test]
fn a_newer_turn_after_an_attach_stands_below_the_one_that_is_known() {
    let later =
        |text: &str| Frames { time: 1_000, ..Frames::default() }.user(text).started().text("world").ended().frames;
    for (next, ends) in [("b", false), ("b", true), ("go", false), ("go", true)] {
        let known = task().text("hello").call("t", json!({"title": "ls", "status": "in_progress"}));
        let known = if ends { known.ended() } else { known };
        let mut chat = chat();
        push(&mut chat, &known.frames);
        // Twice: a line may be cut before anything has come.
        assert!(chat.chat.restart_turn(chat.stream) && chat.chat.restart_turn(chat.stream));
        push(&mut chat, &later(next));
        let call = if ends { "failed" } else { "interrupted" };
        let expected = format!(
            "user done \"go\"\ntext done \"hello\"\ntool {call} ?#t() title \"ls\"\nuser done \"{next}\"\ntext done \"world\""
        );
        assert_eq!(chat.lines(), expected);
        assert!(chat.chat.restart_turn(chat.stream));
        push(&mut chat, &later(next));
        assert_eq!(chat.lines(), expected, "the newer one is the latest now");
    }
}

#[test]
fn text_that_a_newer_turn_has_left_behind_is_interrupted_and_whole() {
    let mut chat = chat();
    push(&mut chat, &task().text("hello").frames);
    assert!(chat.chat.restart_turn(chat.stream));
    push(&mut chat, &Frames { time: 1_000, ..Frames::default() }.user("b").frames);
    assert_eq!(chat.lines(), "user done \"go\"\ntext interrupted \"hello\"\nuser done \"b\"");
}

#[test]
fn output_that_comes_piece_by_piece_comes_once_however_often_its_turn_does() {
    let terminal = |text: &str| json!({"_meta": {"terminal_output_delta": {"data": text}}});
    let progress = |text: &str| json!({"progress": {"kind": "output", "text": text}});
    for pieces in [[terminal("one"), terminal(" two")], [progress("one"), progress(" two")]] {
        for ends in [false, true] {
            let frames =
                task().call("a", json!({"title": "ls"})).more("a", pieces[0].clone()).more("a", pieces[1].clone());
            let frames = if ends { frames.more("a", json!({"status": "completed"})) } else { frames };
            let mut chat = chat();
            push(&mut chat, &frames.frames);
            let before = chat.chat.rows_json();
            assert!(before.contains(r#""output":"one two""#), "{before}");
            for _ in 0..2 {
                assert!(chat.chat.restart_turn(chat.stream));
                for frame in &frames.frames {
                    chat.push(format!("{frame}\n").as_bytes());
                    chat.drain();
                    assert!(chat.chat.rows_json().contains(r#""output":"one two""#), "what is known stays meanwhile");
                }
                assert_eq!(chat.chat.rows_json(), before);
            }
            push(&mut chat, &Frames { frames: Vec::new(), ..frames }.more("a", progress(" three")).frames);
            assert!(chat.chat.rows_json().contains(r#""output":"one two three""#));
        }
    }
}

#[test]
fn an_end_that_comes_again_ends_nothing_that_began_after_it() {
    for (end, data) in [("user-cancel", Value::Null), ("task-error", json!({"error": "e", "terminal": true}))] {
        let frames = task().call("old", json!({"title": "old", "status": "in_progress"})).frame(end, "", data);
        let frames = frames.user("again").call("a", json!({"title": "ls", "status": "in_progress"})).ask("q", which());
        let mut chat = chat();
        push(&mut chat, &frames.frames);
        let before = chat.chat.rows_json();
        for (times, again) in [(1, frames.frames.len()), (2, 5), (3, frames.frames.len())] {
            assert!(chat.chat.restart_turn(chat.stream));
            push(&mut chat, &frames.frames[..again]);
            assert_eq!(chat.chat.rows_json(), before, "{end}, repeat {times}");
        }
        push(&mut chat, &Frames { frames: Vec::new(), ..frames }.ended().frames);
        let rows: Vec<_> = chat.chat.rows().filter(|row| row.busy).collect();
        assert!(rows.is_empty(), "the end of the task ends all: {rows:?}");
    }
}

#[test]
fn an_answer_to_what_asks_nothing_changes_nothing() {
    let known = task().call("a", json!({"title": "ls", "rawInput": {"path": "."}, "status": "in_progress"}));
    let mut before = chat();
    push(&mut before, &known.frames);
    let mut chat = chat();
    push(&mut chat, &known.reply("a", json!({"Which way?": "left"})).frames);
    assert_eq!(chat.chat.rows_json(), before.chat.rows_json());
}

#[test]
fn an_answer_that_comes_before_its_question_is_kept_whatever_asks_it() {
    let input = json!({"questions": which()});
    let call = json!({"title": "AskUserQuestion", "rawInput": input, "status": "in_progress"});
    let answer = json!({"Which way?": "left"});
    for frames in [
        task().reply("q", answer.clone()).ask("q", which()),
        task().reply("q", answer.clone()).call("q", call.clone()),
        task().call("q", json!({"title": "AskUserQuestion"})).reply("q", answer).more("q", call),
    ] {
        let mut chat = chat();
        push(&mut chat, &frames.frames);
        let row = chat.chat.rows().last().unwrap();
        assert_eq!((row.kind.name(), row.state), ("question", RowState::Done), "{}", chat.lines());
        assert!(chat.chat.rows_json().contains(r#""answer":"left""#), "{}", chat.chat.rows_json());
    }
}

#[test]
fn blank_text_that_a_cut_left_waiting_is_not_doubled() {
    let blank = task().text(" ");
    let mut chat = chat();
    push(&mut chat, &blank.frames);
    assert!(chat.chat.restart_turn(chat.stream));
    push(&mut chat, &blank.text("a").frames);
    assert_eq!(chat.lines(), "user done \"go\"\ntext streaming \" a\"");
}

#[test]
fn a_request_for_leave_that_comes_again_leaves_its_row_as_it_was() {
    let ask = |frames: Frames, id: &str, call: &str| {
        frames.frame("permission-req", "", json!({"id": id, "title": "May I?", "tool_call_id": call}))
    };
    let approved =
        |frames: Frames, id: &str| frames.frame("permission-resolved", "", json!({"id": id, "outcome": "approved"}));
    let call = || task().call("a", json!({"title": "ls", "status": "pending"}));
    for frames in [
        ask(call(), "p", "a").more("a", json!({"status": "completed"})),
        ask(task(), "p", "a").call("a", json!({"title": "ls"})),
        approved(ask(task(), "p", ""), "p").ended(),
        approved(ask(call(), "p", "a"), "p").more("a", json!({"status": "completed"})).ended(),
        ask(task().frame("user-cancel", "", Value::Null).user("again"), "p", ""),
    ] {
        let frames = frames.frames;
        let mut whole = chat();
        push(&mut whole, &frames);
        for cut in 2..=frames.len() {
            let mut chat = chat();
            push(&mut chat, &frames[..cut]);
            assert!(chat.chat.restart_turn(chat.stream));
            push(&mut chat, &frames);
            assert_eq!(rows_of(&chat), rows_of(&whole), "cut at {cut}");
        }
    }
}

#[test]
fn questions_without_an_id_are_each_asked_and_the_last_is_answered() {
    for nameless in [json!({"questions": which()}), json!({"request_id": "", "questions": which()})] {
        let ask = |frames: Frames| frames.frame("task-running", "acp_ask_user_question", nameless.clone());
        let frames = ask(ask(task())).reply("", json!({"Which way?": "left"}));
        let mut chat = chat();
        for _ in 0..2 {
            push(&mut chat, &frames.frames);
            let rows: Vec<_> = chat.chat.rows().skip(1).map(|row| (row.kind.name(), row.state)).collect();
            assert_eq!(rows, [("question", RowState::Pending), ("question", RowState::Done)], "{}", chat.lines());
            assert_eq!(chat.chat.faults().count(), 0);
            assert!(chat.chat.restart_turn(chat.stream));
        }
    }
}

#[test]
fn a_flat_update_of_no_call_in_particular_is_no_fault() {
    let mut chat = chat();
    for update in
        [json!({"status": "completed", "tool_input": "ls"}), json!({"status": "completed", "tool_name": "bash"})]
    {
        let mut flat = update;
        flat["type"] = json!("tool_call_update");
        push(&mut chat, &task().frame("task-running", "acp_event", flat).frames);
    }
    assert_eq!((chat.lines().as_str(), chat.chat.faults().count()), ("user done \"go\"", 0));
}

#[test]
fn what_comes_late_of_an_ended_turn_opens_no_other() {
    let ended = task().text("x").call("q", json!({"title": "ls", "status": "in_progress"})).ended();
    for late in [
        ended.clone().more("q", json!({"status": "completed"})),
        ended.update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2})),
    ] {
        let mut chat = chat();
        push(&mut chat, &late.frames);
        let before = chat.chat.rows_json();
        assert!(chat.chat.restart_turn(chat.stream));
        push(&mut chat, &late.frames);
        assert_eq!(chat.chat.rows_json(), before);
    }
}

#[test]
fn data_that_are_null_say_nothing_and_an_object_of_another_kind_is_what_was_typed() {
    let mut chat = chat();
    for frame in [
        json!({"type": "user-input", "data": null}),
        json!({"type": "user-input", "data": r#"{"a":1}"#}),
        json!({"type": "task-error", "data": null}),
    ] {
        push(&mut chat, &[frame]);
    }
    let rows = chat.chat.rows_json();
    assert!(!rows.contains(r#""null""#), "{rows}");
    assert!(rows.contains(r#""text":"{\"a\":1}""#), "{rows}");
}

#[test]
fn a_stream_that_has_ended_or_has_no_turns_does_not_repeat_one() {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::OpenAiChat);
    assert!(!chat.restart_turn(stream));
    let stream = chat.stream(Format::TaskStream);
    chat.finish(stream);
    assert!(!chat.restart_turn(stream));
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn cuts_and_repeats_at_random_come_to_the_same_rows(seed: u64, seq: bool) {
        let mut random = Random(seed);
        let mut frames = Frames { seq, ..task() };
        for number in 0..random.below(40) {
            let id = format!("t{}", random.below(3));
            frames = match random.below(9) {
                0 | 1 => frames.text(["a", "bb", " ", "ha"][random.below(4)]),
                2 => frames.thought("hm"),
                3 => frames.call(&id, json!({"title": format!("call {number}"), "rawInput": {"n": number}})),
                4 => {
                    let status = ["in_progress", "completed", "failed"][random.below(3)];
                    frames.more(&id, json!({"status": status}))
                }
                5 => frames.more(&id, json!({"rawOutput": "x".repeat(random.below(30))})),
                6 => frames.ask(&format!("q{}", random.below(2)), which()),
                7 => frames.reply(&format!("q{}", random.below(2)), json!({"Which way?": "left"})),
                _ => frames.update(json!({"sessionUpdate": "llm_call_retry", "attempt": number})),
            };
        }
        let frames = frames.ended().frames;
        let mut whole = chat();
        push(&mut whole, &frames);

        let mut cut = chat();
        let mut at = 0;
        while at < frames.len() {
            let next = at + 1 + random.below(frames.len() - at);
            for frame in &frames[at..next] {
                for _ in 0..1 + random.below(5) / 4 {
                    push(&mut cut, std::slice::from_ref(frame));
                }
            }
            at = next;
            if random.below(3) > 0 && at < frames.len() {
                prop_assert!(cut.chat.restart_turn(cut.stream));
                // Each time it gets further.
                let far = next + random.below(frames.len() - next + 1);
                push(&mut cut, &frames[..far]);
                at = far;
            }
        }
        prop_assert_eq!(cut.lines(), whole.lines());
        prop_assert_eq!(rows_of(&cut), rows_of(&whole));
        prop_assert!(cut.chat.rows().all(|row| row.state.is_at_rest() && !row.busy));
    }
}

// --- History ------------------------------------------------------------------------------------------------------

/// A page as a server gives it: newest turn first, `event` for `type`, times in ns.
fn page(turns: &[&Frames]) -> Value {
    let chunk = |frame: &Value| {
        let time = frame["timestamp"].as_u64().unwrap() * 1_000_000;
        json!({"event": frame["type"], "kind": frame["kind"], "data": frame["data"], "timestamp": time})
    };
    json!({"chunks": turns.iter().rev().flat_map(|turn| turn.frames.iter().map(chunk)).collect::<Vec<_>>()})
}

fn at(time: u64) -> Frames {
    Frames { time, ..Frames::default() }
}

#[test]
fn pages_of_the_history_stand_before_what_is_there_in_their_order() {
    let first = at(0).user("one").started().text("1a").call("x", json!({"title": "never ended"}));
    let second = at(1_000).user("two").started().text("2a").thought("2b").ended();
    let third = at(2_000).user("three").started().text("3a").ended();
    let live = at(3_000).user("four").started().text("4a");
    let mut chat = chat();
    push(&mut chat, &live.frames);
    chat.chat.load_history(chat.stream, &page(&[&second, &third]).to_string());
    chat.drain();
    let page_two = "
        user done \"two\"
        text done \"2a\"
        reasoning done \"2b\"
        user done \"three\"
        text done \"3a\"
        user done \"four\"
        text streaming \"4a\"";
    assert_eq!(chat.lines(), unindent(page_two));
    chat.chat.load_history(chat.stream, &page(&[&first]).to_string());
    chat.drain();
    let page_one = "user done \"one\"\ntext done \"1a\"\ntool failed ?#x() title \"never ended\"\n";
    assert_eq!(chat.lines(), page_one.to_owned() + &unindent(page_two));
    assert_eq!(panel(&chat, PanelName::Activity, "state"), "streaming", "the past is not at work");
    // The same page once more, and one that overlaps.
    let before = chat.chat.rows_json();
    chat.chat.load_history(chat.stream, &page(&[&first, &second]).to_string());
    assert!(chat.drain().is_empty());
    assert_eq!(chat.chat.rows_json(), before);
    // What is live goes on as if nothing had happened.
    push(&mut chat, &at(4_000).text("4b").ended().frames);
    assert!(chat.lines().ends_with("text done \"4a4b\""));
}

#[test]
fn history_before_anything_is_live_and_a_page_that_is_none() {
    let mut chat = chat();
    chat.chat.load_history(chat.stream, &page(&[&at(0).user("one").text("1")]).to_string());
    chat.drain();
    assert_eq!(chat.lines(), "user done \"one\"\ntext done \"1\"");
    push(&mut chat, &at(50).user("two").text("2").frames);
    assert!(chat.lines().ends_with("user done \"two\"\ntext streaming \"2\""));
    for wrong in ["", "{", "7", r#"{"chunks":7}"#] {
        chat.chat.load_history(chat.stream, wrong);
    }
    assert_eq!(chat.chat.faults().count(), 4);
    assert!(chat.drain().is_empty());
}

#[test]
fn times_in_s_ms_us_and_ns_are_one_clock() {
    let frame = |text: &str, time: Value| json!({"event": "task-running", "kind": "acp_event", "timestamp": time, "data": {"type": "agent_message_chunk", "text": text}});
    let chunks = [
        frame("e", json!(1_719_561_604_000_000_000_u64)),
        frame("d", json!(1_719_561_603_000_000_u64)),
        frame("c", json!(1_719_561_602_000_u64)),
        frame("b", json!("1719561601")),
        frame("a", json!(1_719_561_600)),
    ];
    let mut chat = chat();
    chat.chat.load_history(chat.stream, &json!(chunks).to_string());
    assert_eq!(chat.lines(), r#"text done "abcde""#);
}

#[test]
fn a_replay_after_history_was_loaded_leaves_all_rows_as_they_were() {
    let frames = long_turn(false);
    let mut chat = chat();
    push(&mut chat, &frames.frames[..20]);
    let old = Frames { time: 0, ..Frames::default() }.user("old").text("older").ended();
    let old: Vec<Value> = old
        .frames
        .into_iter()
        .map(|mut frame| {
            frame["timestamp"] = json!(frame["timestamp"].as_u64().unwrap() - 1_000_000);
            frame
        })
        .collect();
    chat.chat.load_history(chat.stream, &json!({"chunks": old}).to_string());
    chat.drain();
    let before = chat.chat.rows_json();
    assert!(chat.chat.restart_turn(chat.stream));
    push(&mut chat, &frames.frames[TURN..20]);
    assert_eq!(chat.chat.rows_json(), before);
}

// --- Rest ---------------------------------------------------------------------------------------------------------

#[test]
fn an_abort_ends_everything() {
    let mut chat = check(
        &task().call("a", json!({"title": "ls", "status": "in_progress"})).ask("q", which()),
        "user done \"go\"\ntool running ?#a() title \"ls\"\nquestion pending \"Which way?\" (left | right)",
    );
    chat.abort();
    chat.drain();
    assert!(chat.chat.rows().all(|row| !row.busy && matches!(row.state, RowState::Done | RowState::Cancelled)));
    push(&mut chat, &at(9_999).text("late").frames);
    assert_eq!(chat.chat.tally().late, 1);
}

#[test]
fn calls_of_a_task_are_never_run_from_here() {
    let mut chat = chat();
    push(
        &mut chat,
        &task().call("a", json!({"title": "ls", "status": "pending", "rawInput": {"command": "ls"}})).frames,
    );
    let row = chat.chat.rows().last().unwrap();
    assert!(row.busy && row.state == RowState::Pending, "the other side is at work on it");
    let id = row.id;
    assert!(chat.chat.tool_started(chatrows::ToolRef::Row(id)).is_err());
    assert!(chat.chat.tool_result(chatrows::ToolRef::Row(id), Some("x"), false).is_err());
}

#[test]
fn a_long_replay_is_linear() {
    let work = |chunks: usize| {
        let mut frames = task();
        for _ in 0..chunks {
            frames = frames.text("word ");
        }
        let input = frames.bytes();
        let mut chat = ChatRows::new(Options { limits: Limits::default(), ..Options::default() });
        let stream = chat.stream(Format::TaskStream);
        for _ in 0..2 {
            chat.push(stream, &input);
            chat.restart_turn(stream);
        }
        chat.tally().work as f64 / input.len() as f64
    };
    let (short, long) = (work(500), work(8_000));
    assert!(long < short * 1.1, "{short} and {long} a byte");
}

#[test]
fn its_frames_are_told_from_other_formats() {
    for frame in &task().text("x").ended().frames {
        let mut chat = ChatRows::new(Options::default());
        let stream = chat.stream(Format::Auto);
        chat.push_message(stream, &frame.to_string());
        chat.push_message(stream, &task().text("hi").frames[2].to_string());
        let rows: Value = serde_json::from_str(&chat.rows_json()).unwrap();
        assert!(lines(&rows).contains("hi"), "{frame}");
    }
}

// --- Hostile frames -----------------------------------------------------------------------------------------------

/// Puts a value in the place of another, somewhere inside.
fn spoil_value(value: &mut Value, wrong: Value, random: &mut Random) {
    let count = value.as_object().map_or(0, |object| object.len());
    match value.as_object_mut() {
        Some(object) if count > 0 && random.below(3) > 0 => {
            spoil_value(object.values_mut().nth(random.below(count)).unwrap(), wrong, random);
        }
        _ => *value = wrong,
    }
}

/// Frames as a server that has gone wrong may send them.
fn spoil(frame: &Value, random: &mut Random) -> String {
    let mut frame = frame.clone();
    let wrong = [
        json!(null),
        json!(7),
        json!(-1.5),
        json!(true),
        json!("x"),
        json!([]),
        json!({"a": [1]}),
        json!("%%%="),
        json!("ey"),
    ];
    match random.below(8) {
        0 => {
            let names = ["type", "kind", "data", "timestamp", "seq", "event"];
            frame[names[random.below(6)]] = wrong[random.below(wrong.len())].clone();
        }
        1 => drop(frame.as_object_mut().unwrap().remove(["type", "kind", "data", "timestamp"][random.below(4)])),
        2 | 3 => {
            // The data, one value of it another.
            let text = frame["data"].as_str().map(|data| String::from_utf8_lossy(&unbase64(data)).into_owned());
            if let Some(mut data) = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
                spoil_value(&mut data, wrong[random.below(wrong.len())].clone(), random);
                frame["data"] = if random.below(2) == 0 { data } else { json!(base64(data.to_string().as_bytes())) };
            }
        }
        _ => {}
    }
    let mut text = frame.to_string();
    if random.below(12) == 0 {
        let mut end = random.below(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text + "\n"
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn spoiled_frames_in_any_order_break_nothing(seed: u64) {
        let mut random = Random(seed);
        let frames = long_turn(seed.is_multiple_of(2)).frames;
        let limits = match random.below(3) {
            0 => Limits { rows: 4, open_blocks: 2, text_bytes: 6, tool_input_bytes: 8, ..Limits::default() },
            _ => Limits::default(),
        };
        let mut chat = chat_of(Format::TaskStream, Options { limits, ..Options::default() });
        for _ in 0..random.below(60) {
            match random.below(24) {
                0 => drop(chat.chat.restart_turn(chat.stream)),
                1 => chat.chat.pause(chat.stream, random.below(2) == 0),
                2 => {
                    let from = random.below(frames.len());
                    let page: String = frames[from..].iter().take(4).map(|frame| spoil(frame, &mut random)).collect();
                    let page = page.trim_end().replace('\n', ",");
                    chat.chat.load_history(chat.stream, &format!("[{page}]"));
                }
                3 => drop(chat.finish()),
                _ => {
                    let text = spoil(&frames[random.below(frames.len())], &mut random);
                    let cut = random.below(text.len());
                    chat.push(&text.as_bytes()[..cut]);
                    chat.push(&text.as_bytes()[cut..]);
                }
            }
            // The oracle comes to what the chat says.
            chat.drain();
            let busy = chat.chat.rows().filter(|row| row.busy).count();
            prop_assert!(chat.chat.end(chat.stream).is_none() || busy == 0, "{}", chat.lines());
        }
        match random.below(2) {
            0 => drop(chat.abort()),
            _ => drop(chat.finish()),
        }
        chat.drain();
        prop_assert!(chat.chat.rows().all(|row| row.state.is_at_rest() && !row.busy));
        for row in chat.chat.rows() {
            prop_assert!(row.tool.is_none() || row.state != RowState::Pending, "nothing of it is for the host to run");
        }
        let tally = chat.chat.tally();
        prop_assert_eq!(tally.records(), tally.applied + tally.no_op + tally.skipped + tally.faulted + tally.late);
        prop_assert!(chat.chat.rows().count() <= limits.rows + 2, "the caps hold, with a notice each");
    }
}
