//! Agent events, rule by rule of the fact sheet: the smallest lines that show a rule, and the rows they come to. `check`
//! feeds each input in every cut, compares the oracle after every batch, ends it, and declares it a replay, which must
//! leave everything as it was and say nothing.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Format, Options, RowState, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, chat_of, rests, unindent, without_ids};

fn of(kind: &str, mut members: Value) -> Value {
    members["type"] = json!(kind);
    members
}

fn start(role: &str) -> Value {
    json!({"type": "message_start", "message": {"role": role, "content": []}})
}

/// An event about one part of the assistant's message.
fn part(kind: &str, index: u64, mut members: Value) -> Value {
    members["contentIndex"] = json!(index);
    of("message_update", json!({"assistantMessageEvent": of(kind, members)}))
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    part(kind, index, json!({"delta": delta}))
}

fn message(role: &str, content: Value, mut members: Value) -> Value {
    members["role"] = json!(role);
    members["content"] = content;
    members
}

fn end(content: Value, reason: &str) -> Value {
    of("message_end", json!({"message": message("assistant", content, json!({"stopReason": reason}))}))
}

fn words(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn call(id: &str, arguments: Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": "f", "arguments": arguments})
}

/// A call that an assistant's message makes, whole.
fn called(ids: &[&str]) -> Vec<Value> {
    let calls: Vec<Value> = ids.iter().map(|id| call(id, json!({"x": 1}))).collect();
    vec![start("assistant"), end(json!(calls), "toolUse")]
}

fn runs(id: &str) -> Value {
    of("tool_execution_start", json!({"toolCallId": id, "toolName": "f", "args": {"x": 1}}))
}

fn says(id: &str, text: &str) -> Value {
    let result = json!({"content": [words(text)], "details": {}});
    of("tool_execution_update", json!({"toolCallId": id, "toolName": "f", "partialResult": result}))
}

fn ran(id: &str, text: &str, is_error: bool) -> Value {
    let result = json!({"content": [words(text)], "details": {}});
    of("tool_execution_end", json!({"toolCallId": id, "toolName": "f", "result": result, "isError": is_error}))
}

/// Both events of a message of another role than the assistant's.
fn pair(message: Value) -> [Value; 2] {
    ["message_start", "message_end"].map(|kind| of(kind, json!({"message": message})))
}

fn result(id: &str, text: &str) -> [Value; 2] {
    pair(message("toolResult", json!([words(text)]), json!({"toolCallId": id, "toolName": "f", "isError": false})))
}

fn lines_of(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn run(input: &str, cuts: Cuts) -> Chat {
    let mut chat = chat_of(Format::AgentEvents, Options::default());
    chat.feed(input.as_bytes(), cuts);
    chat.drain();
    chat
}

/// Feeds the records in every way; these rows must stand before the end, and no fault.
#[track_caller]
fn check(records: &[Value], expected: &str) -> Chat {
    check_text(&lines_of(records), expected)
}

#[track_caller]
fn check_text(input: &str, expected: &str) -> Chat {
    let chat = run(input, Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.faults(), Vec::<String>::new());
    for cuts in [1, 2, 7, 64].map(Cuts::Every).into_iter().chain((0..4).map(Cuts::Seed)) {
        let other = run(input, cuts);
        assert_eq!(without_ids(&other.rows()), without_ids(&chat.rows()), "{cuts:?}");
        assert_eq!((other.panels(), other.counts()), (chat.panels(), chat.counts()), "{cuts:?}");
    }
    let mut ended = run(input, Cuts::Whole);
    // Calls of an agent are its own.
    let waits = |row: &&chatrows::Row| row.tool.is_some() && row.state == RowState::Pending;
    let calls: Vec<_> = ended.chat.rows().filter(waits).map(|row| row.id).collect();
    calls.into_iter().for_each(|id| assert!(ended.chat.tool_started(ToolRef::Row(id)).is_err()));
    ended.finish();
    ended.drain();
    rests(&ended.rows(), "at the end");
    let (rows, panels) = (ended.rows(), ended.panels());
    ended.chat.restart(ended.stream);
    ended.feed(input.as_bytes(), Cuts::Whole);
    ended.finish();
    let ops = ended.drain();
    assert_eq!((ended.rows(), ended.panels(), ops), (rows, panels, vec![]), "a replay changes something");
    chat
}

fn all(parts: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    parts.into_iter().flatten().collect()
}

// Parts of a message.

#[test]
fn parts_grow_by_their_deltas() {
    let records = [
        start("assistant"),
        part("thinking_start", 0, json!({})),
        delta("thinking_delta", 0, "hm"),
        part("thinking_end", 0, json!({"content": "hm"})),
        part("text_start", 1, json!({})),
        delta("text_delta", 1, "He"),
        delta("text_delta", 1, "llo"),
    ];
    check(&records, "reasoning done \"hm\"\n text streaming \"Hello\"");
}

#[test]
fn what_a_message_holds_when_it_begins_is_not_shown_twice() {
    let begun = of("message_start", json!({"message": message("assistant", json!([words("Hi")]), json!({}))}));
    let mut records = vec![begun, part("text_start", 0, json!({})), delta("text_delta", 0, "Hi")];
    check(&records, r#"text streaming "Hi""#);
    records.push(part("text_end", 0, json!({"content": "Hi"})));
    check(&records, r#"text done "Hi""#);
}

#[test]
fn a_part_that_begins_again_is_empty() {
    let again = [delta("text_delta", 0, "old"), part("text_start", 0, json!({})), delta("text_delta", 0, "new")];
    check(&again, r#"text streaming "new""#);
}

#[test]
fn the_end_of_a_part_says_what_it_is() {
    let records =
        [start("assistant"), delta("text_delta", 0, "Helo"), part("text_end", 0, json!({"content": "Hello"}))];
    check(&records, r#"text done "Hello""#);
}

#[test]
fn the_end_of_a_message_says_what_it_is() {
    let records = [
        start("assistant"),
        delta("text_delta", 0, "one"),
        delta("text_delta", 1, "two"),
        delta("text_delta", 2, "three"),
        end(json!([words("ONE"), {"type": "thinking", "thinking": "hm"}]), "stop"),
    ];
    check(&records, "text done \"ONE\"\n reasoning done \"hm\"");
}

#[test]
fn parts_overlap() {
    let records = [
        start("assistant"),
        part("thinking_start", 0, json!({})),
        delta("thinking_delta", 0, "a"),
        part("text_start", 1, json!({})),
        delta("text_delta", 1, "x"),
        delta("thinking_delta", 0, "b"),
        part("thinking_end", 0, json!({"content": "ab"})),
        delta("text_delta", 1, "y"),
    ];
    check(&records, "reasoning done \"ab\"\n text streaming \"xy\"");
}

#[test]
fn text_and_a_call_interleave() {
    let records = [
        start("assistant"),
        delta("text_delta", 0, "a"),
        part("toolcall_start", 1, json!({"id": "A", "toolName": "f"})),
        delta("toolcall_delta", 1, "{\"x\":"),
        delta("text_delta", 0, "b"),
        delta("toolcall_delta", 1, "1}"),
    ];
    check(&records, "text streaming \"ab\"\n tool preparing f#A({\"x\":1})");
}

#[test]
fn parts_stand_in_the_order_of_their_places() {
    let records = [
        start("assistant"),
        delta("text_delta", 2, "c"),
        delta("text_delta", 0, "a"),
        part("toolcall_start", 1, json!({"id": "A", "toolName": "f"})),
    ];
    check(&records, "text streaming \"a\"\n tool preparing f#A()\n text streaming \"c\"");
}

#[test]
fn blank_parts_show_nothing() {
    let mut records = vec![start("assistant"), delta("text_delta", 0, "\n "), delta("thinking_delta", 1, " ")];
    check(&records, "");
    records.push(delta("text_delta", 0, "x"));
    check(&records, r#"text streaming "\n x""#);
    records.push(end(json!([words("\n x"), {"type": "thinking", "thinking": " "}, words("")]), "stop"));
    check(&records, r#"text done "\n x""#);
}

#[test]
fn hidden_reasoning_is_known_from_its_end() {
    let start = [start("assistant"), part("thinking_start", 0, json!({}))];
    let shown = end(json!([{"type": "thinking", "thinking": "[hidden]", "redacted": true}, words("x")]), "stop");
    check(&all([start.to_vec(), vec![shown]]), "reasoning done \"[hidden]\"\n text done \"x\"");
}

#[test]
fn parts_of_a_message_that_did_not_begin_are_shown() {
    check(&[delta("text_delta", 0, "x")], r#"text streaming "x""#);
    // The old wire says what came before.
    let so_far = json!({"role": "assistant", "content": [words("before x")]});
    let mut event = delta("text_delta", 0, "x");
    event["message"] = so_far;
    check(&[event], r#"text streaming "before x""#);
}

#[test]
fn events_of_a_provider_need_no_wrapping() {
    let bare = |kind: &str, members: Value| of(kind, members);
    let records = [
        bare("start", json!({"partial": {"role": "assistant", "content": []}})),
        bare("text_start", json!({"contentIndex": 0})),
        bare("text_delta", json!({"contentIndex": 0, "delta": "x"})),
    ];
    let done = message("assistant", json!([words("xy")]), json!({"stopReason": "stop"}));
    let records = records.to_vec();
    check(&all([records.clone(), vec![bare("done", json!({"reason": "stop", "message": done}))]]), r#"text done "xy""#);
    let failed = message("assistant", json!([words("x")]), json!({"stopReason": "error", "errorMessage": "gone"}));
    let failed = bare("error", json!({"reason": "error", "error": failed}));
    check(&all([records, vec![failed]]), "text interrupted \"x\"\n error done \"gone\"");
}

// Calls as they stream.

#[test]
fn arguments_stream_and_mean_what_they_are_said_to_be() {
    let records = [
        start("assistant"),
        part("toolcall_start", 0, json!({"id": "A", "toolName": "f"})),
        delta("toolcall_delta", 0, "{ \"x\" : \"\\u0061"),
        delta("toolcall_delta", 0, "\" }"),
        part("toolcall_end", 0, json!({"toolCall": call("A", json!({"x": "a"}))})),
    ];
    check(&records, r#"tool pending f#A({ "x" : "\u0061" }) whole"#);
    let mut other = records.to_vec();
    other[4] = part("toolcall_end", 0, json!({"toolCall": call("A", json!({"x": "b"}))}));
    check(&other, r#"tool pending f#A({"x":"b"}) whole"#);
}

#[test]
fn a_call_is_named_when_its_name_is_known() {
    let records = [
        start("assistant"),
        part("toolcall_start", 0, json!({})),
        delta("toolcall_delta", 0, "{\"x\":1}"),
        part("toolcall_end", 0, json!({"toolCall": call("A", json!({"x": 1}))})),
    ];
    check(&records[..3], "tool preparing ?({\"x\":1})");
    let chat = check(&records, "tool pending f#A({\"x\":1}) whole");
    assert_eq!(chat.rows()[0]["id"], 1, "the row is the same");
    // The old wire has the name in what it repeats.
    let mut begun = part("toolcall_start", 0, json!({}));
    begun["assistantMessageEvent"]["partial"] = message("assistant", json!([call("A", json!({}))]), json!({}));
    check(&[start("assistant"), begun], "tool preparing f#A()");
}

#[test]
fn a_call_that_waits_for_its_agent_is_busy() {
    let chat = check(&called(&["A"]), "tool pending f#A({\"x\":1}) whole");
    assert_eq!(chat.rows()[0]["busy"], true);
    let chat = check(&all([called(&["A"]), vec![runs("A")]]), "tool running f#A({\"x\":1}) whole");
    assert_eq!((chat.rows()[0]["busy"].clone(), chat.rows()[0]["id"].clone()), (json!(true), json!(1)));
}

#[test]
fn arguments_that_are_no_arguments_are_an_error() {
    let wrong = json!([{"type": "toolCall", "id": "A", "name": "f", "arguments": {}, "argumentsError": "not JSON"}]);
    check(&[start("assistant"), end(wrong, "toolUse")], r#"tool pending f#A({}) whole "not JSON""#);
}

#[test]
fn ids_that_come_again_are_other_calls() {
    let first = all([called(&["A"]), vec![runs("A"), ran("A", "1", false)]]);
    let second = all([called(&["A"]), vec![runs("A"), ran("A", "2", false)]]);
    let rows = "tool done f#A({\"x\":1}) whole output \"1\"\n tool done f#A({\"x\":1}) whole output \"2\"";
    check(&all([first, second]), rows);
}

#[test]
fn a_call_is_one_row_in_any_order() {
    let row = r#"tool done f#A({"x":1}) whole output "r""#;
    check(&all([result("A", "r").to_vec(), called(&["A"])]), row);
    check(&all([vec![runs("A"), ran("A", "r", false)], called(&["A"])]), row);
    check(&all([called(&["A"]), vec![ran("A", "r", false), runs("A")]]), row);
    // Its id is known after it ran.
    let unnamed = [start("assistant"), part("toolcall_start", 0, json!({})), delta("toolcall_delta", 0, "{\"x\":1}")];
    let known = end(json!([call("A", json!({"x": 1}))]), "toolUse");
    let records = all([unnamed.to_vec(), vec![runs("A"), known, ran("A", "r", false)]]);
    assert_eq!(run(&lines_of(&records), Cuts::Whole).lines(), row);
}

#[test]
fn results_are_those_of_their_own_calls() {
    let message = |id: &str| json!({"role": "toolResult", "toolCallId": id, "content": id});
    let records =
        [of("message_start", json!({"message": message("A")})), of("message_end", json!({"message": message("B")}))];
    check(&records, "tool done ?#A() output \"A\"\n tool done ?#B() output \"B\"");
}

#[test]
fn a_character_may_be_cut_between_two_deltas() {
    let lines = |kind: &str, halves: [&str; 2]| -> String {
        let line = |half: &str| {
            let event = format!(r#"{{"type":"{kind}","contentIndex":0,"delta":"{half}"}}"#);
            format!("{{\"type\":\"message_update\",\"assistantMessageEvent\":{event}}}\n")
        };
        halves.map(line).concat()
    };
    check_text(&lines("text_delta", [r"a\ud83d", r"\ude00b"]), r#"text streaming "a😀b""#);
    check_text(&lines("toolcall_delta", [r#"[\"\ud83d"#, r#"\ude00\"]"#]), r#"tool preparing ?(["😀"])"#);
    let alone = lines("text_delta", [r"a\ud83d", ""]) + &lines_of(&[of("agent_settled", json!({}))]);
    check_text(&alone, "text interrupted \"a\u{fffd}\"");
    let shell = |half: &str| format!("{{\"type\":\"bash_execution_update\",\"id\":\"1\",\"delta\":\"{half}\"}}\n");
    check_text(&[r"\ud83d", r"\ude00"].map(shell).concat(), r#"tool running bash() output "😀""#);
}

#[test]
fn a_message_has_no_more_parts_than_may_be_open() {
    let far = chatrows::limits::OPEN_BLOCKS as u64;
    let chat = run(&lines_of(&[delta("text_delta", far, "x"), delta("text_delta", far - 1, "y")]), Cuts::Whole);
    assert_eq!(
        (chat.lines(), chat.faults()),
        ("notice done limit.open-blocks\ntext streaming \"y\"".to_owned(), vec!["open-blocks".to_owned()])
    );
}

// Ends that are none.

#[test]
fn an_abort_keeps_the_text_and_ends_it() {
    let records = [start("assistant"), delta("text_delta", 0, "This wi"), end(json!([words("This wi")]), "aborted")];
    check(&records, r#"text cancelled "This wi""#);
}

#[test]
fn an_abort_ends_the_call_and_keeps_its_arguments() {
    let begun = [
        start("assistant"),
        part("toolcall_start", 0, json!({"id": "A", "toolName": "f"})),
        delta("toolcall_delta", 0, "{\"x\":\"a"),
    ];
    for content in [json!([call("A", json!({}))]), json!([])] {
        let records = all([begun.to_vec(), vec![end(content, "aborted")]]);
        let chat = check(&records, r#"tool cancelled f#A({"x":"a)"#);
        assert_eq!(chat.rows()[0]["busy"], false);
    }
    let known = end(json!([call("A", json!({"x": "ab"}))]), "aborted");
    check(&all([begun.to_vec(), vec![known]]), r#"tool cancelled f#A({"x":"ab"})"#);
    let failed = end(json!([call("A", json!({}))]), "error");
    check(&all([begun.to_vec(), vec![failed]]), "tool interrupted f#A({\"x\":\"a)\n error done");
}

#[test]
fn an_error_before_the_start_is_shown_once() {
    let failed = message("assistant", json!([]), json!({"stopReason": "error", "errorMessage": "529 overloaded"}));
    let mut records = pair(failed.clone()).to_vec();
    records.push(of("turn_end", json!({"message": failed, "toolResults": []})));
    records.push(of("agent_end", json!({"messages": [failed], "willRetry": false})));
    check(&records, r#"error done !529 "529 overloaded" retryable"#);
}

#[test]
fn an_error_of_the_provider_says_what_it_says() {
    let body = r#"400 {"error":{"message":"no such model","type":"x"}}"#;
    let failed = message("assistant", json!([]), json!({"stopReason": "error", "errorMessage": body}));
    check(&pair(failed), r#"error done !400 "no such model" final"#);
}

#[test]
fn a_failure_that_only_the_end_of_the_run_tells_of_is_shown() {
    let user = message("user", json!("go"), json!({}));
    let failed = message("assistant", json!([words("")]), json!({"stopReason": "error", "errorMessage": "boom"}));
    let run = of("agent_end", json!({"messages": [user, failed]}));
    let records = all([vec![of("agent_start", json!({}))], pair(user.clone()).to_vec(), vec![run]]);
    check(&records, "user done \"go\"\n error done \"boom\"");
}

#[test]
fn the_end_of_a_run_tells_nothing_twice() {
    let answer = |text: &str, time: u64| message("assistant", json!([words(text)]), json!({"timestamp": time}));
    let over = of("agent_end", json!({"messages": [answer("a", 1), answer("b", 2)], "willRetry": false}));
    let told = |text: &str, time: u64| of("message_end", json!({"message": answer(text, time)}));
    check(&[told("a", 1), told("b", 2), over.clone(), over.clone()], "text done \"a\"\n text done \"b\"");
    // The stream was joined in the run.
    check(&[told("b", 2), over.clone()], r#"text done "b""#);
    check(&[told("a", 1), over.clone()], "text done \"a\"\n text done \"b\"");
    check(&[over], "text done \"a\"\n text done \"b\"");
}

#[test]
fn an_empty_answer_that_was_aborted_shows_nothing() {
    let records = [start("assistant"), part("text_start", 0, json!({})), end(json!([words("")]), "aborted")];
    check(&records, "");
}

#[test]
fn an_answer_without_an_end_ends_with_its_run() {
    let open = [of("agent_start", json!({})), start("assistant"), delta("text_delta", 0, "x"), runs("A")];
    let over = of("agent_end", json!({"messages": [], "willRetry": false}));
    let rows = "text interrupted \"x\"\n tool interrupted f#A({\"x\":1}) whole";
    check(&all([open.to_vec(), vec![over]]), rows);
    let settled = of("agent_settled", json!({"aborted": true}));
    check(&all([open.to_vec(), vec![settled]]), "text cancelled \"x\"\n tool cancelled f#A({\"x\":1}) whole");
    // The next message begins: the one before has lost its end.
    let next = [start("assistant"), delta("text_delta", 0, "a"), start("assistant"), delta("text_delta", 0, "b")];
    check(&next, "text interrupted \"a\"\n text streaming \"b\"");
}

#[test]
fn calls_of_an_answer_that_was_cut_fail_by_their_results() {
    let records = [
        start("assistant"),
        end(json!([call("A", json!({"x": 1}))]), "length"),
        runs("A"),
        ran("A", "cut: ask again", true),
    ];
    let rows = "tool failed f#A({\"x\":1}) whole output \"cut: ask again\" wrong\n notice done finish.length";
    check(&records, rows);
}

// Calls as they run.

#[test]
fn parallel_calls_end_in_their_own_order() {
    let mut records = all([called(&["A", "B"]), vec![runs("A"), runs("B"), says("A", "p"), ran("B", "b", false)]]);
    let running = r#"
        tool running f#A({"x":1}) whole output "p"
        tool done f#B({"x":1}) whole output "b"
    "#;
    check(&records, running);
    records.push(ran("A", "a", false));
    records.extend(result("A", "a"));
    records.extend(result("B", "b"));
    let done = r#"
        tool done f#A({"x":1}) whole output "a"
        tool done f#B({"x":1}) whole output "b"
    "#;
    check(&records, done);
}

#[test]
fn a_call_that_was_blocked_ends_before_an_earlier_one_speaks() {
    let records = all([called(&["A", "B"]), vec![runs("A"), runs("B"), ran("B", "blocked", true), says("A", "p")]]);
    let rows = r#"
        tool running f#A({"x":1}) whole output "p"
        tool failed f#B({"x":1}) whole output "blocked" wrong
    "#;
    check(&records, rows);
}

#[test]
fn a_partial_result_takes_the_place_of_the_one_before() {
    let records = all([called(&["A"]), vec![runs("A"), says("A", "one"), says("A", "two"), says("A", "two three")]]);
    check(&records, r#"tool running f#A({"x":1}) whole output "two three""#);
}

#[test]
fn what_comes_after_the_end_of_a_call_is_nothing() {
    let records = all([called(&["A"]), vec![runs("A"), ran("A", "done", false), says("A", "late")]]);
    check(&records, r#"tool done f#A({"x":1}) whole output "done""#);
}

#[test]
fn a_call_that_nobody_made_has_a_row() {
    check(&[runs("Z")], r#"tool running f#Z({"x":1}) whole"#);
    check(&[says("Z", "p")], r#"tool running f#Z() output "p""#);
    check(&[ran("Z", "d", false)], r#"tool done f#Z() output "d""#);
    check(&result("Z", "d"), r#"tool done f#Z() output "d""#);
}

#[test]
fn a_nested_call_stands_in_the_row_of_its_parent() {
    let mut nested = runs("N");
    nested["parentToolCallId"] = json!("A");
    let mut over = ran("N", "n", false);
    over["parentToolCallId"] = json!("A");
    let records = all([called(&["A"]), vec![runs("A"), nested, over, ran("A", "a", false)]]);
    let rows = r#"
        tool done f#A({"x":1}) whole output "a"
        tool done f#N({"x":1}) whole output "n" parent 1
    "#;
    check(&records, rows);
}

#[test]
fn a_result_without_events_ends_the_call() {
    let records = all([called(&["A"]), result("A", "a").to_vec()]);
    check(&records, r#"tool done f#A({"x":1}) whole output "a""#);
}

#[test]
fn a_result_has_its_time_its_images_and_its_change() {
    let content = json!([words("see"), {"type": "image", "mimeType": "image/gif", "data": "QQ=="}]);
    let result = json!({"content": content, "details": {"diff": "-a\n+b"}});
    let end =
        of("tool_execution_end", json!({"toolCallId": "A", "toolName": "edit", "result": result, "durationMs": 9}));
    let chat = check(&[end], r#"tool done edit#A() output "see" images data:image/gif;base64,QQ=="#);
    let row = &chat.rows()[0];
    assert_eq!(row["meta"], json!({"durationMs": 9}));
    assert_eq!(row["tool"]["content"], json!([{"type": "patch", "text": "-a\n+b"}]));
    assert_eq!(row["tool"]["kind"], "edit");
}

// Messages of others.

#[test]
fn what_the_user_said_is_one_row() {
    check(&pair(message("user", json!([words("hello")]), json!({}))), r#"user done "hello""#);
    check(&pair(message("user", json!("hello"), json!({}))), r#"user done "hello""#);
}

#[test]
fn what_the_page_has_shown_is_not_shown_twice() {
    let mut chat = chat_of(Format::AgentEvents, Options::default());
    chat.chat.add_user("hello");
    chat.push(lines_of(&pair(message("user", json!([words("hello")]), json!({})))).as_bytes());
    assert_eq!(chat.lines(), r#"user done "hello""#);
}

#[test]
fn images_of_the_user_have_either_name_of_their_type() {
    for name in ["mimeType", "mediaType"] {
        let image = json!([words("see"), {"type": "image", name: "image/png", "data": "QQ=="}]);
        let rows = r#"user done "see" images data:image/png;base64,QQ=="#;
        check(&pair(message("user", image, json!({}))), rows);
    }
}

#[test]
fn an_image_has_its_data_whatever_it_is_escaped_by() {
    let line = r#"{"role":"user","content":[{"type":"image","data":"iVBO\/w0K\u003d","mimeType":"image/png"}]}"#;
    check_text(&format!("{line}\n"), "user done images data:image/png;base64,iVBO/w0K=");
}

#[test]
fn messages_may_overlap() {
    let [user, custom] = [message("user", json!("u"), json!({})), message("custom", json!("c"), json!({}))].map(pair);
    let records = [user[0].clone(), custom[0].clone(), user[1].clone(), custom[1].clone()];
    check(&records, "user done \"u\"\n custom done \"c\"");
}

#[test]
fn what_is_for_the_model_only_shows_nothing() {
    check(&pair(message("system", json!("be kind"), json!({}))), "");
    check(&pair(message("custom", json!("x"), json!({"customType": "t", "display": false}))), "");
}

#[test]
fn what_an_extension_says_is_a_row() {
    let said = pair(message("custom", json!("note"), json!({"customType": "t", "display": true, "details": {"k": 1}})));
    let chat = check(&said, r#"custom done "note""#);
    assert_eq!(chat.rows()[0]["meta"], json!({"customType": "t", "details": {"k": 1}}));
}

#[test]
fn summaries_are_rows() {
    let branch = pair(json!({"role": "branchSummary", "summary": "tried", "fromId": "x"}));
    check(&branch, r#"summary done "tried""#);
    let compaction = pair(json!({"role": "compactionSummary", "summary": "so far", "tokensBefore": 9}));
    check(&compaction, r#"compaction done say.condense "so far""#);
}

#[test]
fn commands_of_the_user_are_calls_of_the_shell() {
    let shell = |members: Value| {
        let mut shell = json!({"role": "bashExecution", "command": "ls", "output": "a\n", "excludeFromContext": true});
        shell.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        pair(shell)
    };
    let rows = |state: &str, wrong: &str| format!(r#"tool {state} bash({{"command":"ls"}}) whole output "a\n"{wrong}"#);
    check(&shell(json!({"exitCode": 0})), &rows("done", ""));
    check(&shell(json!({"exitCode": 2})), &rows("failed", " wrong"));
    check(&shell(json!({"cancelled": true})), &rows("cancelled", ""));
    let update = |id: &str, delta: &str| of("bash_execution_update", json!({"id": id, "delta": delta}));
    let grows = |delta: &str| update("1", delta);
    let running = [grows("a"), grows("\n")];
    check(&running, r#"tool running bash() output "a\n""#);
    check(&all([running.to_vec(), shell(json!({"exitCode": 0})).to_vec()]), &rows("done", ""));
    // One that was given up gets nothing of the next.
    let next = [update("0", "old"), of("agent_settled", json!({})), grows("a"), grows("\n")];
    let left = format!("tool interrupted bash() output \"old\"\n {}", rows("done", ""));
    check(&all([next.to_vec(), shell(json!({"exitCode": 0})).to_vec()]), &left);
}

#[test]
fn messages_may_come_as_they_are() {
    let mut chat = chat_of(Format::AgentEvents, Options::default());
    let assistant = message("assistant", json!([words("yes"), call("A", json!({"x": 1}))]), json!({}));
    let result = message("toolResult", json!([words("done")]), json!({"toolCallId": "A", "isError": false}));
    for record in [json!("hello"), assistant, json!([result, message("user", json!("more"), json!({}))])] {
        chat.chat.push_message(chat.stream, &record.to_string());
    }
    let rows = r#"
        user done "hello"
        text done "yes"
        tool done f#A({"x":1}) whole output "done"
        user done "more"
    "#;
    assert_eq!(chat.lines(), unindent(rows));
    assert_eq!(chat.counts().applied, 3);
}

// What else an agent tells.

fn activity(chat: &Chat) -> Value {
    chat.panels()["activity"]["state"].clone()
}

#[test]
fn a_run_is_at_work_until_it_settles() {
    let mut records = vec![of("agent_start", json!({}))];
    assert_eq!(activity(&check(&records, "")), "waiting");
    records.push(of("agent_end", json!({"messages": [], "willRetry": true})));
    assert_eq!(activity(&check(&records, "")), "waiting");
    records.push(of("agent_settled", json!({"aborted": false})));
    assert_eq!(activity(&check(&records, "")), "idle");
    let over = [of("agent_start", json!({})), of("agent_end", json!({"messages": []}))];
    assert_eq!(activity(&check(&over, "")), "idle");
}

#[test]
fn a_request_that_is_tried_again_has_one_row() {
    let attempt = |attempt: u64| {
        let why = json!({"attempt": attempt, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529 busy"});
        of("auto_retry_start", why)
    };
    let waits = [attempt(1), attempt(2)];
    let chat = check(&waits, r#"retry running say.retry attempt=2 max=3 !529 "529 busy" retryable"#);
    assert_eq!(activity(&chat), "retrying");
    for (success, state) in [(true, "done"), (false, "failed")] {
        let over = of("auto_retry_end", json!({"success": success, "attempt": 2}));
        let rows = format!(r#"retry {state} say.retry attempt=2 max=3 !529 "529 busy" retryable"#);
        check(&all([waits.to_vec(), vec![over]]), &rows);
    }
}

#[test]
fn a_compaction_is_a_row_from_its_start() {
    let begun = of("compaction_start", json!({"reason": "threshold"}));
    check(std::slice::from_ref(&begun), "compaction running say.condensing");
    let over = |members: Value| [begun.clone(), of("compaction_end", members)];
    let result = json!({"summary": "so far", "tokensBefore": 9});
    check(&over(json!({"result": result, "aborted": false})), r#"compaction done say.condense "so far""#);
    check(&over(json!({"aborted": true})), "compaction cancelled say.condense");
    check(&over(json!({"errorMessage": "no"})), r#"compaction failed say.condense "no""#);
}

#[test]
fn queues_are_a_panel() {
    let queued = of("queue_update", json!({"steering": ["s1", "s2"], "followUp": []}));
    assert_eq!(check(std::slice::from_ref(&queued), "").panels()["queue"], json!({"steering": ["s1", "s2"]}));
    let empty = of("queue_update", json!({"steering": [], "followUp": []}));
    assert_eq!(check(&[queued, empty], "").panels().get("queue"), None);
}

#[test]
fn the_session_and_its_settings_are_panels() {
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/p"});
    let chat = check(
        &[
            header,
            of("session_info_changed", json!({"name": "a plan"})),
            of("thinking_level_changed", json!({"level": "high"})),
            of("entry_appended", json!({"entry": {"type": "model_change", "id": "1", "modelId": "m"}})),
        ],
        "",
    );
    assert_eq!(chat.panels()["session"], json!({"id": "s", "cwd": "/p", "title": "a plan"}));
    assert_eq!(chat.panels()["mode"], json!({"thinkingLevel": "high", "model": "m"}));
    let taken = [of("session_info_changed", json!({"name": "a"})), of("session_info_changed", json!({}))];
    assert_eq!(check(&taken, "").panels().get("session"), None);
}

#[test]
fn entries_that_are_written_are_not_shown_twice() {
    let said = message("user", json!("hello"), json!({}));
    let written = of("entry_appended", json!({"entry": {"type": "message", "id": "1", "message": said}}));
    check(&all([pair(said.clone()).to_vec(), vec![written]]), r#"user done "hello""#);
}

#[test]
fn failures_beside_the_run_are_errors() {
    check(&[of("extension_error", json!({"error": "broken"}))], r#"error done "broken""#);
    let refused = of("response", json!({"id": "1", "command": "prompt", "success": false, "error": "busy"}));
    check(&[refused], r#"error done "busy""#);
    let taken = of("response", json!({"id": "1", "command": "prompt", "success": true}));
    check(&[of("prompt", json!({"message": "hi"})), taken], "");
}

#[test]
fn tokens_are_those_of_the_message() {
    let used = json!({"input": 10, "output": 7, "cacheRead": 3, "totalTokens": 20});
    let mut event = delta("text_delta", 0, "x");
    event["usage"] = used;
    let chat = check(&[start("assistant"), event.clone()], r#"text streaming "x""#);
    let counts = |chat: &Chat| {
        ["inputTokens", "outputTokens", "cachedTokens", "totalTokens"].map(|name| chat.panels()["usage"][name].clone())
    };
    assert_eq!(counts(&chat), [10, 7, 3, 20]);
    let mut next = delta("text_delta", 0, "y");
    next["usage"] = json!({"input": 4, "output": 0, "cacheRead": 0, "totalTokens": 4});
    let chat = check(&[start("assistant"), event, next], r#"text streaming "xy""#);
    assert_eq!(counts(&chat), [4, 0, 0, 4]);
}

#[test]
fn a_line_separator_is_a_part_of_the_text() {
    check_text("{\"role\":\"user\",\"content\":\"a\u{2028}b\"}\n", "user done \"a\u{2028}b\"");
}

#[test]
fn what_is_unknown_is_skipped() {
    let chat = check(&[of("brand_new", json!({})), json!({"no": "type"})], "");
    assert_eq!(chat.counts().skipped, 2);
}

// The three generations.

/// A conversation as the newest wire, the one before, and the oldest tell of it.
fn generations() -> [String; 3] {
    let mut content: Vec<Value> = Vec::new();
    let mut wires: [Vec<Value>; 3] = Default::default();
    let mut step = |event: Value, content: &[Value]| {
        let so_far = json!({"role": "assistant", "content": content});
        wires[0].push(of("message_update", json!({"usage": {}, "assistantMessageEvent": event})));
        let mut unnamed = event.clone();
        for name in ["id", "toolName"] {
            unnamed.as_object_mut().unwrap().remove(name);
        }
        wires[1].push(of("message_update", json!({"usage": {}, "assistantMessageEvent": unnamed.clone()})));
        unnamed["partial"] = so_far.clone();
        wires[2].push(of("message_update", json!({"message": so_far, "assistantMessageEvent": unnamed})));
    };
    let event = |kind: &str, index: usize, mut members: Value| {
        members["contentIndex"] = json!(index);
        of(kind, members)
    };
    content.push(json!({"type": "thinking", "thinking": ""}));
    step(event("thinking_start", 0, json!({})), &content);
    content[0]["thinking"] = json!("hm");
    step(event("thinking_delta", 0, json!({"delta": "hm"})), &content);
    step(event("thinking_end", 0, json!({"content": "hm"})), &content);
    content.push(words(""));
    step(event("text_start", 1, json!({})), &content);
    content[1] = words("He");
    step(event("text_delta", 1, json!({"delta": "He"})), &content);
    content.push(call("A", json!({})));
    step(event("toolcall_start", 2, json!({"id": "A", "toolName": "f"})), &content);
    content[1] = words("Hey");
    step(event("text_delta", 1, json!({"delta": "y"})), &content);
    step(event("text_end", 1, json!({"content": "Hey"})), &content);
    content[2] = call("A", json!({"x": 1}));
    step(event("toolcall_delta", 2, json!({"delta": "{\"x\":1}"})), &content);
    step(event("toolcall_end", 2, json!({"toolCall": call("A", json!({"x": 1}))})), &content);
    wires.map(|updates| {
        let head = all([
            vec![of("agent_start", json!({})), of("turn_start", json!({}))],
            pair(message("user", json!([words("go")]), json!({}))).to_vec(),
            vec![start("assistant")],
        ]);
        let tail = all([
            vec![end(json!(content), "toolUse"), runs("A"), ran("A", "a", false)],
            result("A", "a").to_vec(),
            vec![of("agent_end", json!({"messages": []}))],
        ]);
        lines_of(&all([head, updates, tail]))
    })
}

#[test]
fn the_generations_of_a_conversation_show_the_same() {
    let rows = r#"
        user done "go"
        reasoning done "hm"
        text done "Hey"
        tool done f#A({"x":1}) whole output "a"
    "#;
    let shown = generations().map(|wire| check_text(&wire, rows).rows());
    assert!(shown.iter().all(|rows| *rows == shown[0]));
}

// Sessions.

fn entry(id: &str, parent: Value, kind: &str, mut members: Value) -> Value {
    members["id"] = json!(id);
    members["parentId"] = parent;
    members["timestamp"] = json!("t");
    of(kind, members)
}

fn user_entry(id: &str, parent: Value, text: &str) -> Value {
    entry(id, parent, "message", json!({"message": message("user", json!(text), json!({}))}))
}

#[test]
fn a_session_shows_its_branch() {
    let answer =
        message("assistant", json!([words("yes"), call("A", json!({"x": 1}))]), json!({"stopReason": "toolUse"}));
    let result = message("toolResult", json!([words("r")]), json!({"toolCallId": "A", "isError": false}));
    let records = [
        json!({"type": "session", "version": 3, "id": "s", "cwd": "/p"}),
        user_entry("1", json!(null), "go"),
        entry("2", json!("1"), "message", json!({"message": answer})),
        entry("3", json!("2"), "message", json!({"message": result})),
        entry("4", json!("3"), "custom", json!({"customType": "t", "data": 1})),
        entry("5", json!("4"), "custom_message", json!({"customType": "t", "content": "note", "display": true})),
        entry("6", json!("5"), "custom_message", json!({"customType": "t", "content": "hidden", "display": false})),
        entry("7", json!("6"), "compaction", json!({"summary": "so far", "tokensBefore": 5, "firstKeptEntryId": "5"})),
        entry("8", json!("7"), "branch_summary", json!({"fromId": "x", "summary": "tried"})),
        entry("9", json!("8"), "label", json!({"targetId": "1", "label": "here"})),
        entry("a", json!("9"), "session_info", json!({"name": "plan"})),
        entry("b", json!("a"), "thinking_level_change", json!({"thinkingLevel": "low"})),
        entry("c", json!("b"), "active_tools_change", json!({"activeToolNames": ["read"]})),
        entry("d", json!("c"), "usage", json!({"kind": "k", "usage": {}})),
        entry("e", json!("d"), "context_edit", json!({"targetId": "1", "replacement": null})),
    ];
    let rows = r#"
        user done "go"
        text done "yes"
        tool done f#A({"x":1}) whole output "r"
        custom done "note"
        compaction done say.condense "so far"
        summary done "tried"
    "#;
    let chat = check(&records, rows);
    assert_eq!(chat.panels()["mode"], json!({"thinkingLevel": "low", "activeTools": ["read"]}));
    assert_eq!(chat.panels()["session"]["title"], "plan");
}

#[test]
fn an_unfinished_call_of_a_session_is_at_rest() {
    let answer = message("assistant", json!([call("A", json!({"x": 1}))]), json!({"stopReason": "toolUse"}));
    let chat = check(
        &[entry("1", json!(null), "message", json!({"message": answer}))],
        r#"tool interrupted f#A({"x":1}) whole"#,
    );
    assert_eq!(chat.rows()[0]["busy"], false);
}

/// What the records come to, at any cut. A replay of a file with branches shows them on the way.
#[track_caller]
fn check_branch(records: &[Value], expected: &str) {
    for cuts in [Cuts::Whole, Cuts::Every(1), Cuts::Seed(1)] {
        assert_eq!(run(&lines_of(records), cuts).lines(), unindent(expected));
    }
}

#[test]
fn an_entry_that_hangs_elsewhere_begins_another_branch() {
    let records = [
        user_entry("1", json!(null), "a"),
        user_entry("2", json!("1"), "b"),
        user_entry("3", json!("2"), "c"),
        user_entry("4", json!("1"), "d"),
    ];
    check_branch(&records, "user done \"a\"\n user done \"d\"");
    let root = all([records.to_vec(), vec![user_entry("5", json!(null), "e")]]);
    check_branch(&root, r#"user done "e""#);
    let nowhere = all([records.to_vec(), vec![user_entry("5", json!("gone"), "e")]]);
    check_branch(&nowhere, r#"user done "e""#);
    assert_eq!(run(&lines_of(&nowhere), Cuts::Whole).faults(), ["missing-parent"]);
}

#[test]
fn a_branch_that_was_left_is_there_again() {
    let records = [
        user_entry("a", json!(null), "a"),
        user_entry("b", json!("a"), "b"),
        user_entry("c", json!("a"), "c"),
        user_entry("d", json!("b"), "d"),
    ];
    check_branch(&records, "user done \"a\"\n user done \"b\"\n user done \"d\"");
    let leaf = |target: Value| of("leaf", json!({"id": "l", "parentId": "c", "targetId": target}));
    check_branch(&all([records[..3].to_vec(), vec![leaf(json!("b"))]]), "user done \"a\"\n user done \"b\"");
    let nowhere = all([records[..3].to_vec(), vec![leaf(json!("x"))]]);
    check_branch(&nowhere, "user done \"a\"\n user done \"c\"");
    assert_eq!(run(&lines_of(&nowhere), Cuts::Whole).faults(), ["missing-target"]);
}

#[test]
fn an_entry_that_comes_twice_stands_once() {
    let records =
        [user_entry("a", json!(null), "a"), user_entry("b", json!("a"), "b"), user_entry("a", json!(null), "x")];
    check_branch(&records, "user done \"a\"\n user done \"b\"");
    assert_eq!(run(&lines_of(&records), Cuts::Whole).faults(), ["duplicate-id"]);
}

#[test]
fn an_entry_without_a_parent_is_a_root() {
    let mut orphan = user_entry("b", json!(null), "b");
    orphan.as_object_mut().unwrap().remove("parentId");
    check_branch(&[user_entry("a", json!(null), "a"), orphan], r#"user done "b""#);
}

#[test]
fn the_settings_are_those_of_the_branch() {
    let level = |id: &str, parent: &str, level: &str| {
        entry(id, json!(parent), "thinking_level_change", json!({"thinkingLevel": level}))
    };
    let records = [
        user_entry("a", json!(null), "a"),
        level("b", "a", "low"),
        level("c", "b", "high"),
        entry("d", json!("c"), "model_change", json!({"modelId": "m"})),
    ];
    let mode = |more: Vec<Value>| run(&lines_of(&all([records.to_vec(), more])), Cuts::Whole).panels()["mode"].clone();
    assert_eq!(mode(vec![]), json!({"thinkingLevel": "high", "model": "m"}));
    assert_eq!(mode(vec![user_entry("e", json!("b"), "e")]), json!({"thinkingLevel": "low"}));
    assert_eq!(mode(vec![user_entry("e", json!("a"), "e")]), Value::Null);
}

#[test]
fn a_leaf_moves_the_branch() {
    let records = [user_entry("1", json!(null), "a"), user_entry("2", json!("1"), "b")];
    let leaf = |target: Value| of("leaf", json!({"id": "l", "parentId": "2", "targetId": target}));
    check_branch(&all([records.to_vec(), vec![leaf(json!("1"))]]), r#"user done "a""#);
    check_branch(&all([records.to_vec(), vec![leaf(json!(null))]]), "");
    let on = [leaf(json!("1")), user_entry("3", json!("1"), "c")];
    check_branch(&all([records.to_vec(), on.to_vec()]), "user done \"a\"\n user done \"c\"");
}

#[test]
fn a_result_on_another_branch_is_none_here() {
    let answer = message("assistant", json!([call("A", json!({"x": 1}))]), json!({"stopReason": "toolUse"}));
    let result = message("toolResult", json!([words("r")]), json!({"toolCallId": "A", "isError": false}));
    let records = [
        entry("1", json!(null), "message", json!({"message": answer})),
        entry("2", json!("1"), "message", json!({"message": result})),
        user_entry("3", json!("1"), "no"),
    ];
    check_branch(&records, "tool interrupted f#A({\"x\":1}) whole\n user done \"no\"");
    let again = entry("4", json!("1"), "message", json!({"message": result}));
    check_branch(&all([records.to_vec(), vec![again]]), r#"tool done f#A({"x":1}) whole output "r""#);
}

#[test]
fn the_oldest_sessions_are_lists() {
    let line = |message: Value| json!({"type": "message", "timestamp": "t", "message": message});
    let records = [
        json!({"type": "session", "id": "s", "cwd": "/p", "provider": "p", "modelId": "m", "thinkingLevel": "off"}),
        line(message("user", json!("a"), json!({}))),
        line(message("assistant", json!([words("b")]), json!({"stopReason": "stop"}))),
        line(message("hookMessage", json!("c"), json!({"customType": "t", "display": true}))),
    ];
    let chat = check(&records, "user done \"a\"\n text done \"b\"\n custom done \"c\"");
    assert_eq!(chat.panels()["mode"], json!({"model": "m", "thinkingLevel": "off"}));
}

// Cost.

#[test]
fn each_character_of_the_arguments_is_read_once() {
    let work = |deltas: u64| {
        let mut chat = chat_of(Format::AgentEvents, Options::default());
        let mut input = lines_of(&[start("assistant"), part("toolcall_start", 0, json!({"id": "A", "toolName": "f"}))]);
        input += &lines_of(&[delta("toolcall_delta", 0, "{\"x\":\"")]);
        (0..deltas).for_each(|_| input += &lines_of(&[delta("toolcall_delta", 0, "y")]));
        chat.push(input.as_bytes());
        chat.chat.stream_tally(chat.stream).work as f64 / input.len() as f64
    };
    let (small, large) = (work(1000), work(16_000));
    assert!(large < small * 1.1, "work a byte: {small} at 1,000 deltas, {large} at 16,000");
}
