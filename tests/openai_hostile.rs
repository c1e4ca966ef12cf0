//! Streams that lie, repeat themselves otherwise than before, or lose something: what may run stays what is certain,
//! and what is shown says what happened.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use support::*;

const WHOLE: &str = r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"path\":\"x\"}"}}"#;

// Ends.

#[test]
fn an_error_beside_the_finish_interrupts_the_call_wherever_it_stands() {
    let in_choice =
        r#"{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls","error":{"message":"e"}}]}"#;
    let beside =
        r#"{"id":"r","error":{"message":"e"},"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    for record in [in_choice, beside] {
        check_lines(
            &[call(WHOLE), record.into()],
            r#"
            tool interrupted f#c({"path":"x"})
            error done "e"
            "#,
        );
    }
}

#[test]
fn an_error_and_its_finish_reason_are_one_error_row() {
    let record = r#"{"id":"r","error":{"code":"server_error","message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    check_lines(
        &[content("a"), record.into()],
        r#"
        text interrupted "a"
        error done !server_error "gone" retryable
        "#,
    );
}

#[test]
fn a_cut_or_a_filter_in_any_spelling_runs_nothing() {
    for reason in
        ["LENGTH", "max_output_tokens", "max-tokens", "token_limit", "incomplete", "model_context_window_exceeded"]
    {
        check_lines(&[call(WHOLE), end(reason)], r#"tool interrupted f#c({"path":"x"}) truncated"#);
    }
    for reason in ["content-filter", "Content_Filtered", "SAFETY", "blocked"] {
        let expected = r#"
            tool interrupted f#c({"path":"x"}) truncated
            notice done finish.filtered
            "#;
        check_lines(&[call(WHOLE), end(reason)], expected);
    }
    for reason in ["ERROR", "timeout", "cancelled"] {
        let expected = format!("tool interrupted f#c({{\"path\":\"x\"}})\nerror done !{reason}");
        check_lines(&[call(WHOLE), end(reason)], &expected);
    }
    for reason in [" ", "null"] {
        check_lines(&[call(WHOLE), end(reason)], r#"tool interrupted f#c({"path":"x"})"#);
    }
}

#[test]
fn a_stream_with_an_error_in_it_is_interrupted_whatever_came_before() {
    for records in [
        vec![r#"{"error":"e"}"#.to_owned(), call(WHOLE), end("tool_calls")],
        vec![content("a"), r#"{"error":"e"}"#.to_owned(), content("b"), end("stop")],
    ] {
        let mut chat = Chat::new();
        chat.feed(sse(&records).as_bytes(), Cuts::Whole);
        assert_eq!(chat.finish(), chatrows::End::Interrupted);
    }
}

// Odd shapes.

#[test]
fn a_call_that_names_no_tool_is_never_run() {
    let call = call(r#"{"index":0,"id":"c","function":{"arguments":"{}"}}"#);
    check_lines(&[call, end("tool_calls")], "tool failed ?#c({}) !name-missing");
}

#[test]
fn a_custom_call_shows_its_name_and_input_and_is_not_run_as_json() {
    let call = call(r#"{"index":0,"id":"c","type":"custom","custom":{"name":"sh","input":"ls -l"}}"#);
    check_lines(&[call, end("tool_calls")], "tool failed sh#c(ls -l) !arguments-malformed");
}

#[test]
fn the_index_of_a_choice_may_be_a_string() {
    let choice = |index: &str, text: &str| {
        format!(r#"{{"id":"r","choices":[{{"index":{index},"delta":{{"content":"{text}"}}}}]}}"#)
    };
    check_lines(
        &[choice("\"0\"", "A"), choice("\"1\"", "B"), choice("\"1\"", "C")],
        r#"
        text interrupted "A"
        text interrupted "BC" choice 1
        "#,
    );
}

#[test]
fn numbers_are_ids() {
    let fragment = |id: u32| call(&format!(r#"{{"id":{id},"function":{{"name":"f","arguments":"{{}}"}}}}"#));
    check_lines(
        &[fragment(1), fragment(2), end("tool_calls")],
        "tool pending f#1({}) whole\ntool pending f#2({}) whole",
    );
}

#[test]
fn error_bodies_of_other_software_are_error_rows() {
    check(r#"{"message":"Unauthorized","request_id":"1"}"#, r#"error done "Unauthorized""#);
    check(r#"{"code":1,"msg":"x"}"#, r#"error done !1 "x""#);
    check(r#"{"errors":[{"message":"x"}]}"#, r#"error done "x""#);
    check(r#"{"detail":"Not Found"}"#, r#"error done "Not Found""#);
}

#[test]
fn sources_without_a_text_have_a_row_of_their_own() {
    let ended = r#"{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"citations":["http://a"]}"#;
    check_lines(&[ended], r#"text done "" sources http://a"#);
    let late = r#"{"id":"r","choices":[],"citations":["http://b"]}"#;
    check_lines(&[ended.into(), late.to_owned(), content("x")], r#"text done "x" sources http://a http://b"#);
}

// Something was lost.

#[test]
fn a_call_of_which_a_record_was_lost_is_never_run() {
    let first = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"amount\":1"}}"#);
    let lost = r#"{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"00"}}]"#;
    let last = call(r#"{"index":0,"function":{"arguments":"}"}}"#);
    let records = [first.clone(), lost.to_owned(), last.clone(), end("tool_calls")];
    let expected = r#"tool failed f#c({"amount":1}) !arguments-incomplete"#;
    check_faults(sse(&records), expected, &["json"]);
    check_faults(values(&records), expected, &["json"]);
    // What is no message, such as a sign of life in the wrong place, is a fault and no loss.
    let records = [first, ": PROCESSING".to_owned(), last, end("tool_calls")];
    check_faults(sse(&records), r#"tool pending f#c({"amount":1}) whole"#, &["json"]);
}

#[test]
fn arguments_in_another_encoding_are_never_run() {
    let mut input =
        sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":\"@\"}"}}"#), end("stop")])
            .into_bytes();
    let place = input.iter().position(|byte| *byte == b'@').unwrap();
    input[place] = 0xE9;
    check_faults(input, "tool failed f#c({\"a\":\"\u{fffd}\"}) !arguments-incomplete", &["utf-8"]);
}

// Replays that go another way.

/// The rows after a pass of `first` and a replay that brings `second`.
fn replayed(first: &[String], second: &[String]) -> String {
    let mut chat = Chat::new();
    chat.feed(sse(first).as_bytes(), Cuts::Whole);
    chat.finish();
    chat.drain();
    chat.chat.restart(chat.stream);
    chat.feed(sse(second).as_bytes(), Cuts::Every(7));
    chat.finish();
    chat.drain();
    chat.lines()
}

#[test]
fn another_call_in_a_replay_is_another_row_and_the_old_one_never_runs() {
    let other = call(r#"{"index":0,"id":"b","function":{"name":"rm","arguments":"{\"all\":true}"}}"#);
    assert_eq!(
        replayed(&[call(WHOLE), end("tool_calls")], &[other, end("tool_calls")]),
        "tool interrupted f#c({\"path\":\"x\"})\ntool pending rm#b({\"all\":true}) whole"
    );
}

#[test]
fn what_a_replay_says_of_a_call_counts() {
    let first = [call(WHOLE), end("tool_calls")];
    let named = |arguments: &str| {
        call(&format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":"{arguments}"}}}}"#))
    };
    for (second, expected) in [
        (vec![named(r#"{\"path\":\"y\"}"#), end("tool_calls")], r#"tool pending f#c({"path":"y"}) whole"#),
        (vec![named(r#"{\"path\":\"x\""#), end("tool_calls")], r#"tool failed f#c({"path":"x") !arguments-malformed"#),
        (vec![named(r#"{\"path\":\"x\"}"#), end("length")], r#"tool interrupted f#c({"path":"x"}) truncated"#),
        (vec![end("stop")], r#"tool interrupted f#c({"path":"x"})"#),
    ] {
        assert_eq!(replayed(&first, &second), expected);
    }
}

#[test]
fn a_replay_that_ends_a_text_sooner_ends_it_there_and_one_that_breaks_off_leaves_it() {
    let first = [content("Hello world"), end("stop")];
    assert_eq!(replayed(&first, &[content("Hello"), end("stop")]), r#"text done "Hello""#);
    assert_eq!(replayed(&first, &[content("Hello")]), r#"text done "Hello world""#);
}

// What would multiply.

#[test]
fn long_keys_above_many_values_cost_no_more_than_the_input() {
    let nested = format!(r#"{{\"{}\":"#, "k".repeat(1000)).repeat(30);
    let arguments = format!("{nested}[{}]{}", "1,".repeat(3999) + "1", "}".repeat(30));
    let call = call(&format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":"{arguments}"}}}}"#));
    let mut chat = Chat::unwatched();
    chat.feed(sse([&call, &end("tool_calls")]).as_bytes(), Cuts::Whole);
    let json = chat.chat.rows_json();
    assert!(json.len() < 10 * call.len(), "{} bytes of rows from {} of input", json.len(), call.len());
    assert!(json.contains(r#""fieldsTruncated":true"#) && json.contains(r#""inputDone":true"#));
}

#[test]
fn a_response_id_that_is_none_stands_in_no_key() {
    let record =
        |text: &str| format!(r#"{{"id":"{}","choices":[{{"index":0,"delta":{{{text}}}}}]}}"#, "i".repeat(100_000));
    let mut chat = Chat::unwatched();
    for _ in 0..20 {
        chat.push(sse([record(r#""content":"a""#), record(r#""reasoning":"b""#)]).as_bytes());
    }
    assert!(chat.chat.rows_json().len() < 10_000);
}

#[test]
fn a_value_over_the_cap_gives_up_its_line_however_it_is_cut() {
    let line = format!(r#"{{"x":"{}"}}{}"#, "x".repeat(200), content("a"));
    let limits = chatrows::Limits { record_bytes: 120, ..Default::default() };
    let input = format!("{line}\n{}\n", r#"{"choices":[{"delta":{"content":"b"}}]}"#);
    let outcome = outcome_with(chatrows::Options { limits, ..Default::default() }, input.as_bytes());
    assert_eq!(lines(&outcome.rows), r#"text interrupted "b""#);
}

#[test]
fn broken_input_before_an_abort_is_counted() {
    let mut chat = Chat::new();
    chat.push(b"<html>\n");
    chat.abort();
    assert_eq!((chat.faults().len(), chat.counts().faulted), (1, 1));
}
