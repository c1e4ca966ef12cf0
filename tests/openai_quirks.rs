//! What providers really send under the name of chat completions: one test for each row of the quirk table that can
//! concern `openai-chat`. Input and expected rows stand side by side; `support::check` feeds every input in every cut.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use serde_json::json;
use support::*;

/// An answer in two deltas with its finish, as events.
fn hello() -> String {
    sse([content("Hel"), content("lo"), end("stop")])
}

// CRLF, also split between CR and LF; CR only.

#[test]
fn lines_that_end_with_crlf_are_lines() {
    check(hello().replace('\n', "\r\n"), r#"text done "Hello""#);
}

#[test]
fn a_crlf_cut_between_its_two_bytes_is_one_line_end() {
    let input = sse([content("a")]).replace('\n', "\r\n") + &sse([end("stop")]);
    // `check` cuts at every place; this one says which cut it is about.
    let place = input.find("\r\n").unwrap() + 1;
    let mut chat = Chat::new();
    chat.feed(input.as_bytes(), Cuts::At(place));
    chat.finish();
    assert_eq!(chat.lines(), r#"text done "a""#);
    check(&input, r#"text done "a""#);
}

#[test]
fn lines_that_end_with_cr_alone_are_lines() {
    check(hello().replace('\n', "\r"), r#"text done "Hello""#);
}

#[test]
fn line_ends_of_all_kinds_may_mix() {
    let input = format!("data: {}\r\n\ndata: {}\r\rdata: {}\n\r\n", content("Hel"), content("lo"), end("stop"));
    check(input, r#"text done "Hello""#);
}

// BOM first.

#[test]
fn a_byte_order_mark_at_the_start_is_dropped() {
    check(format!("\u{feff}{}", hello()), r#"text done "Hello""#);
    check(format!("\u{feff}{}", values([content("Hello"), end("stop")])), r#"text done "Hello""#);
}

#[test]
fn a_byte_order_mark_is_dropped_only_once() {
    // The second mark belongs to the first line, which is then no field of an event.
    let outcome = check_faults(
        format!("\u{feff}\u{feff}{}", sse([content("a"), content("b"), end("stop")])),
        r#"text done "b""#,
        &["not-a-record"],
    );
    assert_eq!(outcome.faults[0].0, 3, "the fault stands where the second mark does");
}

#[test]
fn a_byte_order_mark_inside_text_is_text() {
    check(sse([content("a\u{feff}b"), end("stop")]), "text done \"a\u{feff}b\"");
}

// `: ping` comments.

#[test]
fn comments_are_ignored_and_counted_as_signs_of_life() {
    let input = format!(": ping\n\n{}:\n\n: OPENROUTER PROCESSING\n\n{}", sse([content("a")]), sse([end("stop")]));
    let outcome = check(input, r#"text done "a""#);
    assert_eq!((outcome.tally.pings, outcome.tally.records()), (3, 2));
}

#[test]
fn a_comment_inside_an_event_is_ignored() {
    let input = "data: {\"choices\":\n: ping\ndata: [{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"
        .to_string();
    check(input, r#"text done "a""#);
}

// `data:{…}` without space; two `data:` lines.

#[test]
fn the_space_after_the_colon_may_be_missing() {
    check(hello().replace("data: ", "data:"), r#"text done "Hello""#);
}

#[test]
fn only_one_space_after_the_colon_is_no_data() {
    check(hello().replace("data: ", "data:   "), r#"text done "Hello""#);
}

#[test]
fn two_data_lines_of_one_event_join_with_a_line_feed() {
    // Between tokens the line feed is space …
    let split = content("a").replace("\"choices\"", "\ndata: \"choices\"");
    check(format!("data: {split}\n\n{}", sse([end("stop")])), r#"text done "a""#);
    // … inside a string JSON does not allow it, so joining with nothing would hide a fault.
    let broken = "data: {\"choices\":[{\"delta\":{\"content\":\"a\ndata: b\"}}]}\n\n";
    check_faults(format!("{}{broken}{}", sse([content("x")]), sse([end("stop")])), r#"text done "x""#, &["json"]);
}

#[test]
fn event_id_and_retry_fields_are_no_records() {
    let input = format!("event: message\nid: 7\nretry: 100\n{}", sse([content("a"), end("stop")]));
    assert_eq!(check(input, r#"text done "a""#).tally.records(), 2);
}

// `data:` empty then blank.

#[test]
fn empty_payloads_are_skipped() {
    let input = format!("data:\n\ndata: \n\ndata\n\n{}", hello());
    let outcome = check(input, r#"text done "Hello""#);
    assert_eq!(outcome.tally.records(), 3);
}

// UTF-8 split in a scalar.

#[test]
fn a_character_cut_between_its_bytes_is_whole() {
    check(sse([content("é😀漢"), end("stop")]), r#"text done "é😀漢""#);
}

// No `[DONE]`.

#[test]
fn the_end_marker_may_come_or_not() {
    let with = check(hello() + "data: [DONE]\n\n", r#"text done "Hello""#);
    let without = check(hello(), r#"text done "Hello""#);
    assert_eq!(with.rows, without.rows);
    assert_eq!(with.end, without.end);
    assert_eq!(with.tally.records(), 3, "the marker is no record");
}

#[test]
fn the_end_marker_may_lack_its_blank_line() {
    check(hello() + "data: [DONE]", r#"text done "Hello""#);
    check(hello() + "data:[DONE]\n", r#"text done "Hello""#);
}

// No finish_reason.

#[test]
fn without_a_finish_reason_rows_stay_and_are_interrupted() {
    let outcome = check(
        sse([
            chunk(r#"{"reasoning":"hm"}"#),
            content("par"),
            call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#),
        ]),
        r#"
        reasoning done "hm"
        text done "par"
        tool interrupted f#c({})
        "#,
    );
    assert_eq!(outcome.end, Some(chatrows::End::Interrupted));
    check(sse([content("par")]), r#"text interrupted "par""#);
}

#[test]
fn the_end_marker_alone_finishes_nothing() {
    // DESIGN.md: the format's own end marker is the finish reason.
    check(sse([content("par")]) + "data: [DONE]\n\n", r#"text interrupted "par""#);
}

#[test]
fn a_finish_reason_that_is_empty_or_null_is_none() {
    for reason in [r#""""#, "null"] {
        let record = format!(r#"{{"choices":[{{"delta":{{"content":"a"}},"finish_reason":{reason}}}]}}"#);
        check_lines(&[record], r#"text interrupted "a""#);
    }
}

// `{"error":{}}` in the middle of a stream; an error beside choices.

#[test]
fn an_error_in_the_stream_is_a_row_and_interrupts_what_was_open() {
    check_lines(
        &[
            content("par"),
            r#"{"error":{"message":"overloaded","type":"server_error","code":"overloaded_error"}}"#.into(),
        ],
        r#"
        text interrupted "par"
        error done !overloaded_error "overloaded" retryable
        "#,
    );
}

#[test]
fn an_error_without_words_is_a_row_all_the_same() {
    check_lines(
        &[content("par"), r#"{"error":{}}"#.into()],
        r#"
        text interrupted "par"
        error done
        "#,
    );
}

#[test]
fn an_error_beside_choices_finalises_their_rows() {
    check_lines(
        &[
            call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#),
            r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"error":{"message":"boom","code":502}}"#
                .into(),
        ],
        r#"
        tool interrupted f#c({})
        text interrupted "x"
        error done !502 "boom" retryable
        "#,
    );
}

#[test]
fn an_error_inside_a_choice_is_an_error_of_the_stream() {
    check_lines(
        &[r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"},"error":{"code":429,"message":"slow down"}}]}"#],
        r#"
        text interrupted "x"
        error done !429 "slow down" retryable
        "#,
    );
}

#[test]
fn an_error_may_be_a_bare_text_or_an_event_of_that_type() {
    check_lines(&[r#"{"error":"no such model"}"#], r#"error done "no such model""#);
    check_lines(
        &[r#"{"object":"error","message":"no such model","code":404}"#],
        r#"error done !404 "no such model" final"#,
    );
    check_lines(
        &[r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#],
        r#"error done !overloaded_error "busy" retryable"#,
    );
}

#[test]
fn an_error_that_is_null_or_false_is_none() {
    for error in ["null", "false", r#""""#] {
        let record = format!(r#"{{"choices":[{{"delta":{{"content":"a"}},"finish_reason":"stop"}}],"error":{error}}}"#);
        check_lines(&[record], r#"text done "a""#);
    }
}

#[test]
fn an_error_after_the_finish_leaves_done_rows_done() {
    check_lines(
        &[content("a"), end("stop"), r#"{"error":{"message":"late trouble"}}"#.into()],
        r#"
        text done "a"
        error done "late trouble"
        "#,
    );
}

// Broken JSON line.

#[test]
fn a_broken_record_is_counted_and_shown_and_the_next_one_is_read() {
    let broken = r#"{"choices":[{"delta":{"content":"x"#;
    let outcome =
        check_faults(sse([content("a"), broken.into(), content("b"), end("stop")]), r#"text done "ab""#, &["json"]);
    let start = sse([content("a")]).len() as u64;
    assert_eq!(outcome.faults, [(start, "json".into(), broken.into())]);
    assert_eq!((outcome.tally.faulted, outcome.tally.records()), (1, 4));

    let outcome =
        check_faults(values([content("a"), broken.into(), content("b"), end("stop")]), r#"text done "ab""#, &["json"]);
    let start = values([content("a")]).len() as u64;
    assert_eq!(outcome.faults, [(start, "json".into(), broken.into())]);
}

#[test]
fn every_kind_of_broken_record_costs_that_record_alone() {
    for broken in [
        "{",
        "}",
        "{\"a\":1",
        "{\"a\":1}}",
        "{'a':1}",
        "nonsense",
        "{\"a\":tru}",
        "{\"a\":01}",
        "{\"a\":\"\\x\"}",
        "[1,]",
        "{\"choices\":[{\"delta\":{\"content\":\"a\tb\"}}]}",
        "{\"a\":1} {\"b\":2}",
    ] {
        let input = sse([content("a"), broken.to_owned(), content("b"), end("stop")]);
        let outcome = check_faults(&input, r#"text done "ab""#, &["json"]);
        assert_eq!(outcome.faults[0].2, broken);
    }
}

#[test]
fn a_record_in_another_encoding_shows_with_replacement_characters_and_is_a_fault() {
    let input = [
        sse([content("a")]).as_bytes(),
        b"data: {\"choices\":[{\"delta\":{\"content\":\"\xe9!\"}}]}\n\n",
        sse([end("stop")]).as_bytes(),
    ]
    .concat();
    check_faults(input, "text done \"a\u{fffd}!\"", &["utf-8"]);
}

#[test]
fn a_record_in_another_encoding_alone_is_no_empty_body() {
    let input = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\xe9y\"},\"finish_reason\":\"stop\"}]}\n\n";
    check_faults(input, "text done \"x\u{fffd}y\"", &["utf-8"]);
}

// Chunk without `choices`.

#[test]
fn a_chunk_without_choices_changes_nothing_and_is_counted() {
    let record = r#"{"id":"r","object":"chat.completion.chunk","created":1}"#;
    let outcome = check_lines(&[content("a"), record.into(), end("stop")], r#"text done "a""#);
    assert_eq!((outcome.tally.no_op, outcome.tally.records()), (1, 3));
    let outcome = check_lines(&[content("a"), r#"{"x":1}"#.into(), "{}".into(), end("stop")], r#"text done "a""#);
    assert_eq!((outcome.tally.skipped, outcome.tally.records()), (2, 4));
}

#[test]
fn choices_that_are_null_empty_or_no_list_change_nothing() {
    for choices in ["null", "[]", "{}", "7", r#""x""#, "[null]", "[7]", "[{}]", r#"[{"delta":null}]"#] {
        let record = format!(r#"{{"id":"r","object":"chat.completion.chunk","choices":{choices}}}"#);
        check_lines(&[content("a"), record, end("stop")], r#"text done "a""#);
    }
}

#[test]
fn a_first_chunk_with_an_empty_id_and_no_choices_begins_nothing() {
    let record =
        r#"{"id":"","object":"","model":"","created":0,"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#;
    check_lines(&[record.into(), content("a"), end("stop")], r#"text done "a""#);
}

// Duplicate finish; text after finish.

#[test]
fn a_second_finish_changes_nothing() {
    let outcome = check_lines(&[content("a"), end("stop"), end("stop"), end("length")], r#"text done "a""#);
    assert_eq!(outcome.tally.no_op, 2);
}

#[test]
fn a_second_finish_does_not_touch_a_call_that_may_run() {
    let one = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#);
    check_lines(&[one, end("tool_calls"), end("length")], "tool pending f#c({}) whole");
}

#[test]
fn text_after_the_finish_appends_to_the_done_row() {
    check_lines(&[content("a"), end("stop"), content("b")], r#"text done "ab""#);
}

#[test]
fn text_after_the_finish_where_no_text_stood_is_a_done_row() {
    check_lines(
        &[chunk(r#"{"reasoning":"hm"}"#), end("stop"), content("b")],
        r#"
        reasoning done "hm"
        text done "b"
        "#,
    );
}

// Usage in every chunk.

#[test]
fn usage_in_every_chunk_is_replaced_never_summed() {
    let record = |text: &str, tokens: u32, finish: &str| {
        format!(
            r#"{{"id":"r","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}],"usage":{{"prompt_tokens":7,"completion_tokens":{tokens},"total_tokens":{}}}}}"#,
            tokens + 7
        )
    };
    let outcome = check_lines(
        &[record("a", 1, "null"), record("b", 2, "null"), record("c", 3, "\"stop\"")],
        r#"text done "abc""#,
    );
    assert_eq!(outcome.panels["usage"], json!({"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}));
}

#[test]
fn usage_in_a_last_chunk_of_its_own_counts_under_every_provider_name() {
    let usage = r#"{"id":"r","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    let expected =
        json!({"inputTokens": 20, "outputTokens": 5, "totalTokens": 25, "cachedTokens": 8, "reasoningTokens": 2});
    let outcome = check_lines(&[content("a"), end("stop"), usage.into()], r#"text done "a""#);
    assert_eq!(outcome.panels["usage"], expected);
    let nested = r#"{"id":"r","choices":[],"x_groq":{"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,"prompt_cache_hit_tokens":8,"completion_tokens_details":{"reasoning_tokens":2}}}}"#;
    let outcome = check_lines(&[content("a"), end("stop"), nested.into()], r#"text done "a""#);
    assert_eq!(outcome.panels["usage"], expected);
}

#[test]
fn usage_that_is_null_says_nothing() {
    let null = r#"{"id":"r","choices":[{"index":0,"delta":{"content":"a"}}],"usage":null}"#;
    let some = r#"{"id":"r","choices":[],"usage":{"prompt_tokens":1}}"#;
    let outcome = check_lines(&[some, null], r#"text interrupted "a""#);
    assert_eq!(outcome.panels["usage"], json!({"inputTokens": 1}));
}

// `reasoning` and `reasoning_content` both equal.

#[test]
fn the_same_reasoning_under_two_names_shows_once() {
    check_lines(
        &[
            chunk(r#"{"reasoning":"think","reasoning_content":"think"}"#),
            chunk(
                r#"{"reasoning_content":"ing","reasoning":"ing","reasoning_details":[{"type":"reasoning.text","text":"ing"}]}"#,
            ),
            end("stop"),
        ],
        r#"reasoning done "thinking""#,
    );
}

#[test]
fn one_name_that_is_empty_or_null_leaves_the_other() {
    check_lines(
        &[
            chunk(r#"{"reasoning_content":null,"reasoning":"a"}"#),
            chunk(r#"{"reasoning_content":"","reasoning":"b"}"#),
            chunk(r#"{"reasoning_content":"c","reasoning":""}"#),
            end("stop"),
        ],
        r#"reasoning done "abc""#,
    );
}

// Reasoning deltas.

#[test]
fn reasoning_deltas_append_under_each_name() {
    for name in ["reasoning_content", "reasoning"] {
        let delta = |text: &str| chunk(&format!(r#"{{"role":"assistant","content":null,"{name}":"{text}"}}"#));
        check_lines(
            &[delta("a "), delta("b"), content("c"), end("stop")],
            r#"
            reasoning done "a b"
            text done "c"
            "#,
        );
    }
}

#[test]
fn reasoning_that_comes_in_details_alone_is_reasoning() {
    let details =
        |details: &str| chunk(&format!(r#"{{"content":"","reasoning":null,"reasoning_details":[{details}]}}"#));
    check_lines(
        &[
            details(r#"{"type":"reasoning.text","text":"a ","format":"x"}"#),
            details(r#"{"type":"reasoning.summary","summary":"b"},{"type":"reasoning.encrypted","data":"AAAA"}"#),
            content("c"),
            end("stop"),
        ],
        r#"
        reasoning done "a b"
        text done "c"
        "#,
    );
}

#[test]
fn empty_content_beside_reasoning_closes_nothing() {
    let delta = |text: &str| chunk(&format!(r#"{{"content":"","reasoning_content":"{text}"}}"#));
    check_lines(&[delta("a"), delta("b"), end("stop")], r#"reasoning done "ab""#);
}

#[test]
fn reasoning_and_text_close_one_another() {
    check_lines(
        &[
            chunk(r#"{"reasoning":"a"}"#),
            content("b"),
            chunk(r#"{"reasoning":"c"}"#),
            chunk(r#"{"reasoning":""}"#),
            content(""),
            chunk(r#"{"reasoning":"d"}"#),
            end("stop"),
        ],
        r#"
        reasoning done "a"
        text done "b"
        reasoning done "cd"
        "#,
    );
}

// Content as an array of parts (Mistral).

#[test]
fn content_as_parts_is_flattened_and_thinking_is_reasoning() {
    check_lines(
        &[
            chunk(
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Let me "}]}]}"#,
            ),
            chunk(
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"think."}]},{"type":"text","text":"The "}]}"#,
            ),
            chunk(r#"{"content":[{"type":"text","text":"an"},{"type":"text","text":"sw"}]}"#),
            content("er."),
            end("stop"),
        ],
        r#"
        reasoning done "Let me think."
        text done "The answer."
        "#,
    );
}

#[test]
fn a_thinking_part_may_hold_its_text_plainly() {
    check_lines(
        &[chunk(r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}"#), end("stop")],
        r#"
        reasoning done "hm"
        text done "a"
        "#,
    );
}

#[test]
fn an_image_part_is_a_row_of_its_own() {
    check_lines(
        &[
            chunk(
                r#"{"content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}"#,
            ),
            end("stop"),
        ],
        r#"
        text done "see"
        image done images data:image/png;base64,AA
        "#,
    );
}

#[test]
fn a_part_of_an_unknown_type_without_text_changes_nothing() {
    check_lines(&[content("a"), chunk(r#"{"content":[{"type":"x","y":1},null,7]}"#), end("stop")], r#"text done "a""#);
}

// Role missing, empty, or `model`.

#[test]
fn the_role_is_ignored() {
    for role in ["", r#""role":"","#, r#""role":"model","#, r#""role":null,"#, r#""role":7,"#] {
        let delta = chunk(&format!(r#"{{{role}"content":"a"}}"#));
        check_lines(&[delta, content("b"), end("stop")], r#"text done "ab""#);
    }
}

// Index missing, one call.

#[test]
fn fragments_without_index_go_to_the_id_else_to_the_last_call() {
    check_lines(
        &[
            call(r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\""}}"#),
            call(r#"{"function":{"arguments":":1"}}"#),
            call(r#"{"id":"c","function":{"arguments":"}"}}"#),
            end("tool_calls"),
        ],
        r#"tool pending f#c({"a":1}) whole"#,
    );
}

// Index missing, parallel; two ids share index 0.

#[test]
fn two_ids_without_index_are_two_calls() {
    check_lines(
        &[
            call(r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#),
            call(r#"{"id":"b","function":{"name":"f","arguments":"{\"x\""}}"#),
            call(r#"{"function":{"arguments":":1}"}}"#),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({}) whole
        tool pending f#b({"x":1}) whole
        "#,
    );
}

#[test]
fn two_ids_that_share_an_index_are_two_calls() {
    check_lines(
        &[
            call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#),
            call(r#"{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}}"#),
            call(r#"{"index":0,"function":{"arguments":":2}"}}"#),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({"x":1}) whole
        tool pending g#b({"y":2}) whole
        "#,
    );
}

#[test]
fn a_known_id_is_that_call_whatever_its_index() {
    check_lines(
        &[
            call(
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}"#,
            ),
            call(
                r#"{"index":1,"id":"a","function":{"arguments":":1}"}},{"index":0,"id":"b","function":{"arguments":":2}"}}"#,
            ),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({"x":1}) whole
        tool pending g#b({"y":2}) whole
        "#,
    );
}

#[test]
fn fragments_with_an_index_and_no_id_go_to_that_call() {
    check_lines(
        &[
            call(
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}"#,
            ),
            call(r#"{"index":0,"function":{"arguments":"{\"x\""}}"#),
            call(r#"{"index":1,"function":{"arguments":"{\"y\""}}"#),
            call(r#"{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":":2}"}}"#),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({"x":1}) whole
        tool pending g#b({"y":2}) whole
        "#,
    );
}

#[test]
fn an_empty_id_is_no_id() {
    check_lines(
        &[
            call(r#"{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":"}}"#),
            call(r#"{"index":0,"id":"","type":"function","function":{"name":null,"arguments":"1}"}}"#),
            end("tool_calls"),
        ],
        r#"tool pending f#c({"a":1}) whole"#,
    );
}

// Name repeated in every delta.

#[test]
fn a_repeated_name_is_never_appended() {
    check_lines(
        &[
            call(r#"{"index":0,"id":"c","function":{"name":"get_weather","arguments":"{\"a\""}}"#),
            call(r#"{"index":0,"id":"c","function":{"name":"get_weather","arguments":":1"}}"#),
            call(r#"{"index":0,"function":{"name":"get_weather","arguments":"}"}}"#),
            end("tool_calls"),
        ],
        r#"tool pending get_weather#c({"a":1}) whole"#,
    );
}

// Name `""` first, real later.

#[test]
fn a_name_that_comes_later_names_the_row_and_the_id_stays() {
    let first = call(r#"{"index":0,"id":"c","function":{"name":"","arguments":""}}"#);
    let then = call(r#"{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}"#);
    check_open(sse([&first]), "tool preparing ?#c()");
    check_lines(&[first, then, end("tool_calls")], "tool pending f#c({}) whole");
}

// Id late / never.

#[test]
fn an_id_that_comes_late_is_attached_to_the_row_that_stands() {
    let first = call(r#"{"index":0,"function":{"name":"f","arguments":"{\"a\""}}"#);
    let then = call(r#"{"index":0,"id":"late","function":{"arguments":":1}"}}"#);
    let open = check_open(sse([&first]), r#"tool preparing f({"a")"#);
    let outcome = check_lines(&[first, then, end("tool_calls")], r#"tool pending f#late({"a":1}) whole"#);
    assert_eq!(outcome.rows[0]["id"], open[0]["id"]);
    assert_eq!(outcome.rows[0]["key"], "late");
}

#[test]
fn a_call_that_never_gets_an_id_is_a_row_all_the_same() {
    check_lines(
        &[
            call(
                r#"{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"g","arguments":"{}"}}"#,
            ),
            end("tool_calls"),
        ],
        r#"
        tool pending f({}) whole
        tool pending g({}) whole
        "#,
    );
}

#[test]
fn calls_without_ids_or_arguments_are_told_apart_by_their_names() {
    for index in ["", r#""index":0,"#] {
        let one = |name: &str| call(&format!(r#"{{{index}"function":{{"name":"{name}","arguments":""}}}}"#));
        check_lines(
            &[one("f"), one("g"), end("tool_calls")],
            r#"
            tool pending f() whole
            tool pending g() whole
            "#,
        );
    }
}

// `arguments` object.

#[test]
fn arguments_that_come_as_an_object_are_serialised() {
    check_lines(
        &[call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":{"x":1}}}"#), end("tool_calls")],
        r#"tool pending f#c({"x":1}) whole"#,
    );
}

#[test]
fn whole_arguments_without_ids_are_a_call_each() {
    for (one, two) in [(r#"{"x":1}"#, r#"{"x":2}"#), ("[1]", "[2]")] {
        let fragment = |arguments: &str| call(&format!(r#"{{"function":{{"name":"f","arguments":{arguments}}}}}"#));
        check_lines(
            &[fragment(one), fragment(two), end("tool_calls")],
            &format!("tool pending f({one}) whole\ntool pending f({two}) whole"),
        );
    }
}

// `arguments:null`, no `type`.

#[test]
fn arguments_may_be_null_or_absent_and_the_type_may_be_missing() {
    for function in [r#"{"name":"f","arguments":null}"#, r#"{"name":"f"}"#, r#"{"name":"f","arguments":""}"#] {
        let first = call(&format!(r#"{{"index":0,"id":"c","function":{function}}}"#));
        // A tool without arguments counts as `{}`.
        check_lines(&[first.clone(), end("tool_calls")], "tool pending f#c() whole");
        let then = call(r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#);
        check_lines(&[first, then, end("tool_calls")], r#"tool pending f#c({"a":1}) whole"#);
    }
}

// Tool call with finish `stop`.

#[test]
fn calls_decide_whether_there_are_calls_whatever_the_finish_reason() {
    for reason in ["stop", "tool_calls", "function_call", "tool_use", "eos", "unknown"] {
        check_lines(
            &[call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#), end(reason)],
            "tool pending f#c({}) whole",
        );
    }
    check_lines(&[content("a"), end("tool_calls")], r#"text done "a""#);
}

#[test]
fn the_old_function_call_is_a_call() {
    check_lines(
        &[
            chunk(r#"{"content":null,"function_call":{"name":"f","arguments":""}}"#),
            chunk(r#"{"function_call":{"arguments":"{\"a\""}}"#),
            chunk(r#"{"function_call":{"arguments":":1}"}}"#),
            end("function_call"),
        ],
        r#"tool pending f({"a":1}) whole"#,
    );
}

// Cut by `length`.

#[test]
fn what_the_length_limit_cut_is_marked_and_no_call_of_that_message_may_run() {
    check_lines(
        &[
            call(
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}"#,
            ),
            end("length"),
        ],
        r#"
        tool interrupted f#a({"x":1}) truncated
        tool interrupted g#b({"y":) truncated
        "#,
    );
}

#[test]
fn text_that_the_length_limit_cut_is_done_and_marked() {
    check_lines(&[content("par"), end("length")], r#"text done "par" truncated"#);
}

#[test]
fn reasoning_that_the_length_limit_cut_is_marked() {
    check_lines(&[chunk(r#"{"reasoning":"par"}"#), end("length")], r#"reasoning done "par" truncated"#);
}

// `{"__proto__":…}`, `{"a":1} junk`.

#[test]
fn what_a_replay_brings_to_its_end_is_cut_no_longer() {
    let call = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#);
    for (record, cut, whole) in [
        (&call, "tool interrupted f#c({}) truncated", "tool pending f#c({}) whole"),
        (&content("par"), r#"text done "par" truncated"#, r#"text done "par""#),
    ] {
        let mut chat = Chat::new();
        for (finish, expected) in [("length", cut), ("stop", whole), ("stop", whole)] {
            chat.push(sse([record, &end(finish)]).as_bytes());
            chat.finish();
            chat.drain();
            assert_eq!(chat.lines(), expected);
            chat.chat.restart(chat.stream);
        }
    }
}

#[test]
fn a_key_named_proto_is_plain_data() {
    let arguments = r#"{\"__proto__\":{\"polluted\":true},\"constructor\":1}"#;
    let outcome = check_lines(
        &[
            call(&format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":"{arguments}"}}}}"#)),
            end("tool_calls"),
        ],
        r#"tool pending f#c({"__proto__":{"polluted":true},"constructor":1}) whole"#,
    );
    assert_eq!(fields(&outcome.rows[0]), "__proto__.polluted=true constructor=1");
}

#[test]
fn text_after_the_arguments_is_flagged() {
    let outcome = check_lines(
        &[call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1} junk"}}"#), end("tool_calls")],
        r#"tool failed f#c({"a":1} junk) !arguments-malformed"#,
    );
    assert_eq!(fields(&outcome.rows[0]), "a=1");
}

// What the format's description holds beside the table.

#[test]
fn a_refusal_is_text() {
    check_lines(
        &[
            chunk(r#"{"role":"assistant","content":null,"refusal":"I can"}"#),
            chunk(r#"{"refusal":"not."}"#),
            end("stop"),
        ],
        r#"text done "I cannot.""#,
    );
}

#[test]
fn padding_that_hides_lengths_is_ignored() {
    let record = |text: &str, padding: &str| {
        format!(
            r#"{{"id":"r","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}],"obfuscation":"{padding}"}}"#
        )
    };
    check_lines(&[record("a", "xYz"), record("b", ""), record("c", "pq\\\"r"), end("stop")], r#"text done "abc""#);
}

#[test]
fn other_choices_are_sibling_rows() {
    let record = |index: u32, text: &str, reason: &str| {
        format!(
            r#"{{"id":"r","choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{reason}}}]}}"#
        )
    };
    check_lines(
        &[
            record(0, "a", "null"),
            record(1, "x", "null"),
            record(0, "b", "null"),
            record(1, "y", "\"stop\""),
            record(0, "c", "\"stop\""),
        ],
        r#"
        text done "abc"
        text done "xy" choice 1
        "#,
    );
}

#[test]
fn a_new_response_id_counts_only_after_a_finish() {
    let record = |id: &str, text: &str, reason: &str| {
        format!(r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{reason}}}]}}"#)
    };
    check_lines(
        &[record("r1", "a", "null"), record("r2", "b", "\"stop\""), record("r3", "c", "\"stop\"")],
        r#"
        text done "ab"
        text done "c"
        "#,
    );
}

#[test]
fn the_same_call_id_in_another_response_is_another_call() {
    let record = |id: &str, reason: &str| {
        format!(
            r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_0","function":{{"name":"f","arguments":"{{}}"}}}}]}},"finish_reason":{reason}}}]}}"#
        )
    };
    check_lines(
        &[record("r1", "\"tool_calls\""), record("r2", "\"tool_calls\"")],
        r#"
        tool pending f#call_0({}) whole
        tool pending f#call_0({}) whole
        "#,
    );
}

#[test]
fn an_object_that_names_itself_something_else_is_skipped() {
    let other = r#"{"id":"r","object":"text_completion","choices":[{"index":0,"text":"x","delta":{"content":"x"}}]}"#;
    let outcome = check_lines(&[content("a"), other.into(), end("stop")], r#"text done "a""#);
    assert_eq!((outcome.tally.skipped, outcome.tally.records()), (1, 3));
}

#[test]
fn an_object_without_a_name_is_taken() {
    for object in ["", r#""object":"","#, r#""object":null,"#, r#""object":"chat.completion","#] {
        let record =
            format!(r#"{{{object}"choices":[{{"index":0,"delta":{{"content":"a"}},"finish_reason":"stop"}}]}}"#);
        check_lines(&[record], r#"text done "a""#);
    }
}

#[test]
fn a_response_that_does_not_stream_is_a_message() {
    check_lines(
        &[
            r#"{"id":"r","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"Hello","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
        ],
        r#"
        reasoning done "hm"
        text done "Hello"
        tool pending f#c({}) whole
        "#,
    );
}

#[test]
fn a_filter_that_ends_the_answer_is_a_notice_and_no_call_may_run() {
    check_lines(
        &[
            content("par"),
            call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#),
            end("content_filter"),
        ],
        r#"
        text done "par"
        tool interrupted f#c({}) truncated
        notice done finish.filtered
        "#,
    );
}

#[test]
fn citations_are_sources_of_the_text_and_repeats_show_once() {
    let record = |text: &str, citations: &str| {
        format!(r#"{{"id":"r","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}],"citations":{citations}}}"#)
    };
    check_lines(
        &[
            record("a", r#"["https://x.test/1"]"#),
            record("b", r#"["https://x.test/1","https://x.test/2"]"#),
            end("stop"),
        ],
        r#"text done "ab" sources https://x.test/1 https://x.test/2"#,
    );
}

#[test]
fn a_surrogate_pair_cut_between_two_deltas_is_one_character() {
    check_lines(&[content("a\\ud83d"), content("\\ude00b"), end("stop")], r#"text done "a😀b""#);
    check_lines(&[content("a\\ud83d"), content("b"), end("stop")], "text done \"a\u{fffd}b\"");
    check_lines(&[content("a\\ud83d"), end("stop")], "text done \"a\u{fffd}\"");
    check_lines(&[content("a\\ud83d")], "text interrupted \"a\u{fffd}\"");
}

#[test]
fn a_key_that_stands_twice_counts_as_a_strict_parser_has_it() {
    let record = r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x","content":"a"},"finish_reason":null,"finish_reason":"stop"}]}"#;
    check_lines(&[record], r#"text done "a""#);
    let record = r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"}}],"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    check_lines(&[record], r#"text done "a""#);
}

#[test]
fn a_body_that_is_no_stream_is_one_error_row() {
    check(
        r#"{"error":{"message":"bad key","type":"authentication_error","code":"invalid_api_key"}}"#,
        r#"error done !invalid_api_key "bad key" final"#,
    );
    check(
        "{\n  \"error\": {\n    \"message\": \"bad key\",\n    \"code\": 401\n  }\n}\n",
        r#"error done !401 "bad key" final"#,
    );
    let outcome = check_faults(
        "<html>\n<head><title>502 Bad Gateway</title></head>\n\n<body>nginx</body>\n</html>\n",
        r#"error done !no-records "<html>""#,
        &["not-a-record"],
    );
    assert_eq!(outcome.end, Some(chatrows::End::Interrupted));
    check_faults("upstream connect error", r#"error done !no-records "upstream connect error""#, &["not-a-record"]);
}

#[test]
fn a_whole_row_has_the_properties_of_the_interface() {
    let outcome = check_lines(
        &[
            content("a"),
            call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"x\":[1]}"}}"#),
            end("tool_calls"),
        ],
        r#"
        text done "a"
        tool pending f#c({"x":[1]}) whole
        "#,
    );
    assert_eq!(
        outcome.rows,
        json!([
            {"id": 1, "kind": "text", "state": "done", "busy": false, "key": "r:0", "text": "a", "startedAt": 0, "endedAt": 0},
            {
                "id": 2, "kind": "tool", "state": "pending", "busy": false, "key": "c", "startedAt": 0,
                "bytes": {"count": 9, "label": "9 B"},
                "tool": {
                    "name": "f", "callId": "c", "input": "{\"x\":[1]}", "inputDone": true,
                    "fields": [{"path": ["x", 0], "text": "1", "closed": true}],
                },
            },
        ])
    );
}
