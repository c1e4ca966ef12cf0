//! `api-stream`: the chunks of a coding agent's extension, one record each, and its block arrays. Input and expected rows
//! stand side by side; `check` feeds every input in every cut, and once more as a replay. What announces a call stands
//! in `preparing.rs`.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{End, Format, Limits, Options, ToolRef};
use serde_json::{Value, json};
use support::*;

/// Records as the wire has them, one a line.
fn wire<const N: usize>(records: [Value; N]) -> String {
    values(records.map(|record| record.to_string()))
}

#[track_caller]
fn check<const N: usize>(records: [Value; N], expected: &str) -> Outcome {
    let events = sse(records.iter().map(Value::to_string));
    let outcome = check_of(Format::ApiStream, wire(records), expected, &[]);
    assert_eq!(check_of(Format::ApiStream, events, expected, &[]).rows, outcome.rows);
    outcome
}

#[track_caller]
fn check_open<const N: usize>(records: [Value; N], expected: &str) -> Value {
    check_open_of(Format::ApiStream, wire(records), expected)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn reasoning(text: &str) -> Value {
    json!({"type": "reasoning", "text": text})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments})
}

fn start(id: &str, name: &str) -> Value {
    json!({"type": "tool_call_start", "id": id, "name": name})
}

fn delta(id: &str, delta: &str) -> Value {
    json!({"type": "tool_call_delta", "id": id, "delta": delta})
}

fn end(id: &str) -> Value {
    json!({"type": "tool_call_end", "id": id})
}

fn partial(mut fragment: Value) -> Value {
    fragment["type"] = json!("tool_call_partial");
    fragment
}

// Text and reasoning.

#[test]
fn text_grows_and_is_done_where_the_stream_ends() {
    check_open([text("Hel")], r#"text streaming "Hel""#);
    let outcome = check([text("Hel"), text("lo")], r#"text done "Hello""#);
    assert_eq!(outcome.end, Some(End::Done));
}

#[test]
fn reasoning_and_text_close_each_other() {
    check(
        [reasoning("a"), reasoning("b"), text("c"), reasoning("d"), text("e")],
        r#"
        reasoning done "ab"
        text done "c"
        reasoning done "d"
        text done "e"
        "#,
    );
}

#[test]
fn empty_absent_and_wrong_text_closes_nothing() {
    check(
        [
            text("a"),
            reasoning(""),
            json!({"type": "reasoning"}),
            json!({"type": "text", "text": 7}),
            text(""),
            text("b"),
        ],
        r#"text done "ab""#,
    );
}

#[test]
fn a_character_cut_between_two_chunks_is_one() {
    let cut = |kind: &str| {
        let record = |text: &str| format!(r#"{{"type":"{kind}","text":"{text}"}}"#);
        values([record("a\\ud83d"), record("\\ude00b")])
    };
    check_of(Format::ApiStream, cut("text"), r#"text done "a😀b""#, &[]);
    check_of(Format::ApiStream, cut("reasoning"), r#"reasoning done "a😀b""#, &[]);
}

#[test]
fn half_a_character_stands_alone_where_its_text_closes() {
    let records = [r#"{"type":"text","text":"a\ud83d"}"#.to_owned(), reasoning("b").to_string()];
    check_of(Format::ApiStream, values(records), "text done \"a\u{fffd}\"\nreasoning done \"b\"", &[]);
}

#[test]
fn thinking_complete_and_signatures_show_nothing() {
    let signed = json!({"type": "reasoning", "text": "b", "signature": "s"});
    check([reasoning("a"), signed, json!({"type": "thinking_complete", "signature": "s"})], r#"reasoning done "ab""#);
}

#[test]
fn grounding_is_the_sources_of_the_text() {
    let sources = json!([{"title": "A", "url": "https://a.test", "snippet": "s"}, {"url": "https://b.test"}, {}, 7]);
    let grounding = json!({"type": "grounding", "sources": sources});
    let outcome = check(
        [text("x"), grounding.clone(), grounding.clone()],
        r#"text done "x" sources https://a.test https://b.test"#,
    );
    assert_eq!(outcome.rows[0]["sources"][0]["title"], "A");
    check([grounding, text("x")], r#"text done "x" sources https://a.test https://b.test"#);
    check([text("x"), json!({"type": "grounding", "sources": "no"})], r#"text done "x""#);
}

// Usage and metadata.

#[test]
fn usage_fills_the_panel_with_its_cost() {
    let usage = json!({"type": "usage", "inputTokens": 7, "outputTokens": 3, "cacheWriteTokens": 2, "cacheReadTokens": 1,
        "reasoningTokens": 4, "totalCost": 0.25});
    let outcome = check([text("x"), usage], r#"text done "x""#);
    let expected = json!({"inputTokens": 7, "outputTokens": 3, "reasoningTokens": 4, "cachedTokens": 1,
        "cacheWriteTokens": 2, "cost": 0.25});
    assert_eq!(outcome.panels["usage"], expected);
    assert_eq!(outcome.end, Some(End::Done));
}

#[test]
fn usage_that_is_no_usage_changes_nothing() {
    for cost in ["\"1\"", "-1", "1e999", "null", "{}", "0.00000000000000000000000000000000001"] {
        let record = format!(r#"{{"type":"usage","inputTokens":"7","outputTokens":-3,"totalCost":{cost}}}"#);
        let outcome = check_of(Format::ApiStream, values([record]), "", &[]);
        assert_eq!(outcome.panels.get("usage"), None, "{cost}");
        assert_eq!(outcome.tally.no_op, 1);
    }
    let small = values([r#"{"type":"usage","totalCost":1.5e-7}"#]);
    assert_eq!(check_of(Format::ApiStream, small, "", &[]).panels["usage"]["cost"], 1.5e-7);
}

#[test]
fn response_metadata_fills_the_usage_panel() {
    let metadata = json!({"type": "response_metadata", "model": "m", "actualModel": "m-2", "ttfbMs": 5, "ttlbMs": 9,
        "promptTokens": 7, "completionTokens": 3, "costUsd": 0.5, "attempts": 2});
    let outcome = check([text("x"), metadata], r#"text done "x""#);
    assert_eq!(outcome.panels["usage"], json!({"inputTokens": 7, "outputTokens": 3, "cost": 0.5, "model": "m-2"}));
    let outcome = check([json!({"type": "response_metadata", "model": "m"})], "");
    assert_eq!(outcome.panels["usage"], json!({"model": "m"}));
}

#[test]
fn response_metadata_with_an_error_is_an_error_row() {
    check(
        [text("x"), json!({"type": "response_metadata", "error": "upstream gone"})],
        "text interrupted \"x\"\nerror done \"upstream gone\"",
    );
    check(
        [json!({"type": "response_metadata", "error": {"message": "m", "code": 503}})],
        r#"error done !503 "m" retryable"#,
    );
    for nothing in [json!(null), json!(""), json!(false)] {
        check([text("x"), json!({"type": "response_metadata", "error": nothing})], r#"text done "x""#);
    }
}

#[test]
fn metadata_inside_reasoning_is_metadata_and_no_text() {
    let marker = "a\0response_metadata\0{\"actualModel\":\"m\",\"costUsd\":0.5}\0b";
    let outcome = check([reasoning(marker)], r#"reasoning done "ab""#);
    assert_eq!(outcome.panels["usage"], json!({"model": "m", "cost": 0.5}));
    // Cut in two, too.
    let outcome = check([reasoning(&marker[..30]), reasoning(&marker[30..])], r#"reasoning done "ab""#);
    assert_eq!(outcome.panels["usage"], json!({"model": "m", "cost": 0.5}));
}

#[test]
fn metadata_inside_reasoning_that_is_no_json_is_a_fault_and_no_text() {
    for bad in ["", "no", "{\"a\":", "{} {}"] {
        let records = wire([reasoning("a"), reasoning(&["\0response_metadata\0", bad, "\0"].concat()), reasoning("b")]);
        check_of(Format::ApiStream, records, r#"reasoning done "ab""#, &["metadata"]);
    }
}

// Errors.

#[test]
fn an_error_is_a_row_and_interrupts_what_is_open() {
    let outcome = check(
        [
            text("x"),
            start("c", "f"),
            delta("c", "{}"),
            json!({"type": "error", "error": "rate_limit_error", "message": "slow down"}),
        ],
        r#"
        text done "x"
        tool interrupted f#c({})
        error done !rate_limit_error "slow down" retryable
        "#,
    );
    assert_eq!(outcome.end, Some(End::Interrupted));
}

#[test]
fn no_call_of_a_response_with_an_error_may_run() {
    check(
        [call("c", "f", "{}"), json!({"type": "error", "error": "e", "message": "m"}), call("d", "f", "{}"), text("x")],
        r#"
        tool interrupted f#c({})
        error done !e "m"
        tool interrupted f#d({})
        text interrupted "x"
        "#,
    );
}

#[test]
fn an_error_may_lack_anything() {
    check([json!({"type": "error"})], "error done");
    check([json!({"type": "error", "error": "e"})], r#"error done "e""#);
    check([json!({"type": "error", "message": "m"})], r#"error done "m""#);
    check([json!({"type": "error", "error": {"code": 429, "message": "m"}})], r#"error done !429 "m" retryable"#);
}

// Calls.

#[test]
fn a_complete_call_may_run_once_the_stream_has_ended() {
    check_open([call("c", "f", r#"{"x":1}"#)], r#"tool preparing f#c({"x":1})"#);
    let outcome = check([call("c", "f", r#"{"x":1}"#)], r#"tool pending f#c({"x":1}) whole"#);
    assert_eq!(outcome.end, Some(End::Done));
    check([call("c", "f", "")], "tool pending f#c() whole");
    check([json!({"type": "tool_call", "id": "c", "name": "f"})], "tool pending f#c() whole");
}

#[test]
fn a_complete_call_that_does_not_parse_failed() {
    check([call("c", "f", r#"{"x":"#)], r#"tool failed f#c({"x":) !arguments-malformed"#);
    check([json!({"type": "tool_call", "id": "c", "arguments": "{}"})], "tool failed ?#c({}) !name-missing");
}

#[test]
fn arguments_may_come_as_an_object_and_ids_as_numbers() {
    check(
        [json!({"type": "tool_call", "id": 7, "name": "f", "arguments": {"x": 1}})],
        r#"tool pending f#7({"x":1}) whole"#,
    );
}

#[test]
fn a_complete_call_that_comes_again_is_the_same_call() {
    check([call("c", "f", "{}"), text("x"), call("c", "f", "{}")], "tool pending f#c({}) whole\ntext done \"x\"");
}

#[test]
fn a_complete_call_says_the_last_word_on_its_deltas() {
    let deltas = |arguments: &str| [start("c", "f"), delta("c", r#"{"x":"#), call("c", "f", arguments)];
    check(deltas(r#"{"x":1}"#), r#"tool pending f#c({"x":1}) whole"#);
    check_open(deltas("{}"), "tool preparing f#c({})");
    check_open(deltas(r#"{"y":1}"#), r#"tool preparing f#c({"y":1})"#);
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(wire(deltas(r#"{"y":1}"#)).as_bytes());
    chat.finish();
    assert_eq!(chat.lines(), r#"tool pending f#c({"y":1}) whole"#);
}

#[test]
fn complete_calls_without_id_are_calls_of_their_own() {
    let call = json!({"type": "tool_call", "name": "f", "arguments": "{}"});
    check([call.clone(), call], "tool pending f({}) whole\ntool pending f({}) whole");
}

#[test]
fn a_call_streams_from_start_over_deltas_to_end() {
    let records = [start("c", "f"), delta("c", r#"{"x""#), delta("c", ":1}"), end("c")];
    check_open(records.clone(), r#"tool preparing f#c({"x":1})"#);
    check(records, r#"tool pending f#c({"x":1}) whole"#);
}

#[test]
fn deltas_of_two_calls_may_interleave() {
    check(
        [
            start("c", "f"),
            start("d", "g"),
            delta("d", "{"),
            delta("c", "["),
            delta("d", "}"),
            delta("c", "]"),
            end("c"),
            end("d"),
        ],
        "tool pending f#c([]) whole\ntool pending g#d({}) whole",
    );
}

#[test]
fn a_start_that_comes_again_is_the_same_call() {
    check([start("c", "f"), delta("c", "{"), start("c", "f"), delta("c", "}"), end("c")], "tool pending f#c({}) whole");
}

#[test]
fn a_delta_opens_its_call_and_a_later_start_names_it() {
    check_open([delta("c", "{")], "tool preparing ?#c({)");
    check([delta("c", "{"), start("c", "f"), delta("c", "}"), end("c")], "tool pending f#c({}) whole");
}

#[test]
fn a_delta_without_id_belongs_to_the_last_call() {
    let nameless = json!({"type": "tool_call_delta", "delta": "{}"});
    check(
        [start("c", "f"), start("d", "g"), nameless, json!({"type": "tool_call_end"})],
        "tool interrupted f#c()\ntool pending g#d({}) whole",
    );
}

#[test]
fn deltas_after_the_end_of_their_call_are_faults() {
    let records = wire([start("c", "f"), delta("c", "{}"), end("c"), delta("c", "x"), end("x"), end("c")]);
    check_of(Format::ApiStream, records, "tool pending f#c({}) whole", &["arguments-after-end"]);
}

#[test]
fn a_call_that_the_end_left_open_is_whole_only_if_its_arguments_are() {
    check([start("c", "f"), delta("c", r#"{"x":1}"#)], r#"tool pending f#c({"x":1}) whole"#);
    check([start("c", "f"), delta("c", r#"{"x":"#)], r#"tool interrupted f#c({"x":)"#);
    check([start("c", "f")], "tool interrupted f#c()");
    // One that the wire ended needs no arguments.
    check([start("c", "f"), end("c")], "tool pending f#c() whole");
    check([start("c", "f"), delta("c", "{"), end("c")], "tool failed f#c({) !arguments-malformed");
}

#[test]
fn a_call_closes_text_and_its_deltas_do_not() {
    check(
        [text("a"), start("c", "f"), text("b"), delta("c", "{}"), text("c"), end("c")],
        "text done \"a\"\ntool pending f#c({}) whole\ntext done \"bc\"",
    );
}

#[test]
fn raw_fragments_are_routed_by_id_and_index() {
    check(
        [
            partial(json!({"index": 0, "id": "c", "name": "f", "arguments": ""})),
            partial(json!({"index": 1, "id": "d", "name": "g"})),
            partial(json!({"index": 0, "arguments": "[1"})),
            partial(json!({"index": 1, "arguments": "{"})),
            partial(json!({"index": 0, "arguments": "]"})),
            partial(json!({"id": "d", "arguments": "}"})),
        ],
        "tool pending f#c([1]) whole\ntool pending g#d({}) whole",
    );
}

#[test]
fn the_name_and_id_of_a_raw_fragment_may_come_late() {
    check(
        [
            partial(json!({"index": 0, "arguments": "{"})),
            partial(json!({"index": 0, "name": "f"})),
            partial(json!({"index": 0, "id": "c", "arguments": "}"})),
        ],
        "tool pending f#c({}) whole",
    );
}

#[test]
fn raw_fragments_and_what_a_parser_made_of_them_are_one_call() {
    check(
        [
            partial(json!({"index": 0, "id": "c", "name": "f", "arguments": "{"})),
            start("c", "f"),
            delta("c", "{"),
            partial(json!({"index": 0, "arguments": "}"})),
            delta("c", "}"),
            end("c"),
        ],
        "tool pending f#c({}) whole",
    );
}

#[test]
fn a_character_cut_between_two_deltas_of_arguments_is_one() {
    let delta = |text: &str| format!(r#"{{"type":"tool_call_delta","id":"c","delta":"{text}"}}"#);
    let records =
        values([start("c", "f").to_string(), delta(r#"[\"\ud83d"#), delta(r#"\ude00\"]"#), end("c").to_string()]);
    check_of(Format::ApiStream, records, "tool pending f#c([\"😀\"]) whole", &[]);
}

#[test]
fn calls_past_the_cap_are_refused() {
    let limits = Limits { open_blocks: 2, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let records = wire([start("a", "f"), start("b", "f"), start("c", "f"), delta("c", "{}"), end("a"), end("b")]);
    let outcome = outcome_of(Format::ApiStream, options, records.as_bytes());
    assert_eq!(
        lines(&outcome.rows),
        "tool pending f#a() whole\ntool pending f#b() whole\nnotice done limit.open-blocks"
    );
    assert_eq!(outcome.tally.faulted, 2);
}

#[test]
fn complete_calls_are_not_open() {
    let limits = Limits { open_blocks: 2, ..Limits::default() };
    let ended = |id: &str| [start(id, "f"), delta(id, "{}"), end(id)];
    let records = [call("a", "f", "{}"), call("b", "f", "{}"), call("c", "f", "{}"), text("x"), call("d", "f", "{}")];
    let records: Vec<Value> =
        records.into_iter().chain([ended("e"), ended("g"), ended("h")].into_iter().flatten()).collect();
    let input = values(records.iter().map(Value::to_string));
    let outcome = outcome_of(Format::ApiStream, Options { limits, ..Options::default() }, input.as_bytes());
    assert_eq!((outcome.rows.as_array().unwrap().len(), outcome.tally.faulted), (8, 0), "{}", lines(&outcome.rows));
    let rows = outcome.rows.as_array().unwrap();
    assert!(rows.iter().all(|row| row["kind"] == "text" || row["state"] == "pending"));
    // While the response goes on they still prepare, and an abort ends them.
    let mut chat = chat_of(Format::ApiStream, Options { limits, ..Options::default() });
    chat.push(input.as_bytes());
    chat.drain();
    assert_eq!(chat.panels()["activity"]["state"], "streaming");
    chat.abort();
    chat.drain();
    let rows = chat.rows();
    assert!(rows.as_array().unwrap().iter().all(|row| row["state"] != "preparing"), "{}", chat.lines());
}

// Records that are lost.

#[test]
fn a_record_that_is_lost_after_a_call_ended_takes_nothing_from_it() {
    let broken = "{\"type\":\"te}".to_owned();
    let run = |records: &[Value]| {
        let all: Vec<String> =
            records.iter().map(Value::to_string).chain([broken.clone(), text("x").to_string()]).collect();
        let outcome = outcome_of(Format::ApiStream, Options::default(), values(&all).as_bytes());
        (outcome.faults.len(), lines(&outcome.rows))
    };
    let whole = (1, "tool pending f#c({}) whole\ntext done \"x\"".to_owned());
    assert_eq!(run(&[call("c", "f", "{}")]), whole);
    assert_eq!(run(&[start("c", "f"), delta("c", "{}"), end("c")]), whole);
    let incomplete = "tool failed f#c({}) !arguments-incomplete\ntext done \"x\"".to_owned();
    assert_eq!(run(&[start("c", "f"), delta("c", "{}")]), (1, incomplete));
}

#[test]
fn an_input_that_breaks_off_inside_a_record_interrupts_and_a_replay_goes_on() {
    let records = [call("c", "f", "{}"), start("d", "g"), delta("d", "{}"), end("d"), text("x")];
    let input = wire(records);
    for end in [input.len() - 2, input.len() - 10] {
        let mut chat = Chat::of(Format::ApiStream);
        chat.push(&input.as_bytes()[..end]);
        assert_eq!(chat.finish(), End::Interrupted);
        chat.drain();
        assert_eq!(chat.lines(), "tool interrupted f#c({})\ntool interrupted g#d({})");
        assert_eq!(chat.faults(), ["json"]);
        chat.chat.restart(chat.stream);
        chat.push(input.as_bytes());
        assert_eq!(chat.finish(), End::Done);
        chat.drain();
        assert_eq!(chat.lines(), "tool pending f#c({}) whole\ntool pending g#d({}) whole\ntext done \"x\"");
    }
}

#[test]
fn a_call_that_failed_for_a_lost_record_is_judged_anew_by_a_replay() {
    let whole = wire([start("c", "f"), delta("c", "{}"), text("x")]);
    let broken = format!("{}{{\"type\":\"te}}\n{}", wire([start("c", "f"), delta("c", "{}")]), wire([text("x")]));
    let mut chat = Chat::of(Format::ApiStream);
    for (input, expected) in [
        (&broken, "tool failed f#c({}) !arguments-incomplete\ntext done \"x\""),
        (&broken, "tool failed f#c({}) !arguments-incomplete\ntext done \"x\""),
        (&whole, "tool pending f#c({}) whole\ntext done \"x\""),
    ] {
        chat.push(input.as_bytes());
        chat.finish();
        chat.drain();
        assert_eq!(chat.lines(), expected);
        chat.chat.restart(chat.stream);
    }
}

// The stream.

#[test]
fn unknown_types_are_skipped_and_counted() {
    let records = values([
        "{}",
        "7",
        "\"text\"",
        r#"{"type":"x-new","text":"x"}"#,
        r#"{"type":7}"#,
        r#"{"type":"text","text":"a"}"#,
    ]);
    let outcome = check_of(Format::ApiStream, records, r#"text done "a""#, &[]);
    assert_eq!((outcome.tally.skipped, outcome.tally.applied), (5, 1));
}

#[test]
fn a_connection_that_breaks_completes_nothing() {
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(wire([call("c", "f", "{}"), text("a")]).as_bytes());
    chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
    assert_eq!(chat.finish(), End::Interrupted);
    chat.drain();
    assert_eq!(
        chat.lines(),
        "tool interrupted f#c({})\ntext interrupted \"a\"\nerror done !read-error \"connection lost\" retryable"
    );
}

#[test]
fn an_abort_cancels_what_is_open() {
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(wire([call("c", "f", "{}"), text("a")]).as_bytes());
    assert_eq!(chat.abort(), End::Cancelled);
    chat.drain();
    assert_eq!(chat.lines(), "tool cancelled f#c({})\ntext cancelled \"a\"");
}

#[test]
fn a_stream_of_nothing_was_interrupted() {
    assert_eq!(check([], "").end, Some(End::Interrupted));
}

// Block arrays.

fn blocks(blocks: Value) -> Value {
    json!({"type": "assistantMessageContent", "blocks": blocks})
}

fn text_block(content: &str, partial: bool) -> Value {
    json!({"type": "text", "content": content, "partial": partial})
}

fn tool_block(id: &str, params: Value, partial: bool) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "params": params, "partial": partial})
}

#[test]
fn a_block_array_comes_in_three_envelopes() {
    let array = json!([text_block("a", false)]);
    check([blocks(array.clone())], r#"text done "a""#);
    check([json!({"assistantMessageContent": array})], r#"text done "a""#);
    check([array], r#"text done "a""#);
}

#[test]
fn text_of_a_repeated_array_grows_by_what_is_new() {
    let mut chat = Chat::of(Format::ApiStream);
    let mut push = |content: &str, partial: bool| {
        chat.push(wire([blocks(json!([text_block(content, partial)]))]).as_bytes());
        chat.drain()
    };
    push("Hel", true);
    assert_eq!(push("Hello", true), [json!({"op": "append", "id": 1, "field": "text", "text": "lo"})]);
    assert_eq!(push("Hello", true), Vec::<Value>::new());
    let ended = push("Hello", false);
    assert_eq!(ended[0], json!({"op": "update", "id": 1, "patch": {"state": "done", "endedAt": 0}}));
}

#[test]
fn the_parameters_of_an_open_call_grow_by_what_is_new() {
    let mut chat = Chat::of(Format::ApiStream);
    let mut push = |params: Value, partial: bool| {
        chat.push(wire([blocks(json!([tool_block("c", params, partial)]))]).as_bytes());
        chat.drain()
    };
    push(json!({"path": "a"}), true);
    let grown = push(json!({"path": "a.txt", "text": "x"}), true);
    assert!(
        grown.iter().all(|op| op["op"] != "remove" && op["op"] != "insert" && op.get("keep").is_none()),
        "{grown:?}"
    );
    assert_eq!(chat.lines(), r#"tool preparing f#c({"path":"a.txt","text":"x)"#);
    chat.push(wire([blocks(json!([tool_block("c", json!({"path": "a.txt", "text": "xy"}), false)]))]).as_bytes());
    chat.drain();
    assert_eq!(chat.lines(), r#"tool pending f#c({"path":"a.txt","text":"xy"}) whole"#);
}

#[test]
fn blocks_of_all_kinds_are_rows_in_their_order() {
    let reasoning = json!({"type": "reasoning", "reasoning": "r", "partial": false});
    check(
        [blocks(json!([
            reasoning,
            text_block("a", false),
            tool_block("c", json!({"x": "1"}), false),
            text_block("b", true)
        ]))],
        r#"
        reasoning done "r"
        text done "a"
        tool pending f#c({"x":"1"}) whole
        text done "b"
        "#,
    );
}

#[test]
fn a_block_that_comes_later_stands_at_its_place() {
    check(
        [
            blocks(json!([tool_block("c", json!({}), true)])),
            blocks(json!([text_block("a", false), tool_block("c", json!({}), false)])),
        ],
        "text done \"a\"\ntool pending f#c({}) whole",
    );
}

#[test]
fn calls_without_id_are_known_by_their_place() {
    let call =
        |path: &str, partial: bool| json!({"type": "tool_use", "name": "f", "params": {"p": path}, "partial": partial});
    check(
        [
            blocks(json!([call("a", true)])),
            blocks(json!([call("ab", false), call("c", true)])),
            blocks(json!([call("ab", false), call("cd", false)])),
        ],
        "tool pending f({\"p\":\"ab\"}) whole\ntool pending f({\"p\":\"cd\"}) whole",
    );
}

#[test]
fn an_open_block_that_is_no_more_was_never_said() {
    // The start of a tag shows as text until it is one.
    let call = tool_block("c", json!({"path": "a"}), false);
    check(
        [blocks(json!([text_block("<read_fi", true)])), blocks(json!([call]))],
        r#"tool pending f#c({"path":"a"}) whole"#,
    );
}

#[test]
fn text_that_is_open_at_the_end_is_done_and_a_call_is_not() {
    let outcome = check([blocks(json!([text_block("a", true)]))], r#"text done "a""#);
    assert_eq!(outcome.end, Some(End::Done));
    let outcome = check(
        [blocks(json!([text_block("a", false), tool_block("c", json!({"x": "1"}), true)]))],
        r#"
        text done "a"
        tool interrupted f#c({"x":"1)
        "#,
    );
    assert_eq!(outcome.end, Some(End::Interrupted));
}

#[test]
fn an_empty_array_and_one_that_contradicts_begin_the_next_message() {
    let said = blocks(json!([text_block("a", false), tool_block("c", json!({}), false), text_block("end", true)]));
    let expected = "text done \"a\"\ntool pending f#c({}) whole\ntext done \"end\"\ntext done \"b\"";
    check([said.clone(), blocks(json!([])), blocks(json!([text_block("b", true)]))], expected);
    check([said.clone(), blocks(json!([text_block("b", true)]))], expected);
    check([said, blocks(json!([text_block("b", false)]))], expected);
}

#[test]
fn a_call_that_the_next_message_leaves_open_was_interrupted() {
    check(
        [
            blocks(json!([text_block("a", false), tool_block("c", json!({}), true)])),
            blocks(json!([])),
            blocks(json!([text_block("b", true)])),
        ],
        "text done \"a\"\ntool interrupted f#c({)\ntext done \"b\"",
    );
}

#[test]
fn a_complete_call_without_name_or_parameters_failed() {
    let call = json!({"type": "tool_use", "id": "c", "params": {}, "partial": false});
    check([blocks(json!([call]))], "tool failed ?#c({}) !name-missing");
    for params in [json!(null), json!([1]), json!("x")] {
        check([blocks(json!([tool_block("c", params, false)]))], "tool failed f#c() !arguments-malformed");
    }
}

#[test]
fn a_complete_call_whose_parameters_a_cap_cut_failed() {
    let limits = Limits { tool_input_bytes: 10, nesting: 8, ..Limits::default() };
    let run = |params: Value| {
        let input = wire([blocks(json!([tool_block("c", params, false)]))]);
        outcome_of(Format::ApiStream, Options { limits, ..Options::default() }, input.as_bytes())
    };
    let outcome = run(json!({"x": "12345"}));
    assert_eq!(lines(&outcome.rows), r#"tool failed f#c({"x":"1234) !arguments-too-long truncated"#);
    assert_eq!(outcome.faults[0].1, "tool-input-bytes");
    assert_eq!(lines(&run(json!({"x": 1234})).rows), r#"tool pending f#c({"x":1234}) whole"#);
}

#[test]
fn a_complete_call_that_is_told_again_is_judged_again() {
    let mut chat = Chat::of(Format::ApiStream);
    let mut push = |params: Value, partial: bool| {
        chat.push(wire([blocks(json!([tool_block("c", params, partial)]))]).as_bytes());
        chat.drain();
        chat.lines()
    };
    assert_eq!(push(json!({"x": 1}), true), r#"tool preparing f#c({"x":1)"#);
    let whole = r#"tool pending f#c({"x":1}) whole"#;
    assert_eq!(push(json!({"x": 1}), false), whole);
    assert_eq!(push(json!({"x": 1}), false), whole);
}

#[test]
fn the_id_of_an_earlier_call_is_no_late_id_of_another() {
    let nameless = json!({"type": "tool_use", "name": "f", "params": {}, "partial": true});
    check(
        [
            blocks(json!([tool_block("c", json!({}), false)])),
            text("a"),
            blocks(json!([nameless])),
            blocks(json!([tool_block("c", json!({}), false)])),
        ],
        "tool pending f#c({}) whole\ntext done \"a\"",
    );
}

#[test]
fn no_later_stream_means_a_block_by_its_place() {
    let call = |name: &str| json!({"type": "tool_use", "name": name, "params": {"a": "1"}, "partial": false});
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(wire([blocks(json!([text_block("the old answer", false), call("write")]))]).as_bytes());
    let row = chat.chat.rows().last().unwrap().id;
    chat.chat.tool_started(ToolRef::Row(row)).unwrap();
    chat.chat.tool_result(ToolRef::Row(row), Some("out"), false).unwrap();
    chat.finish();
    assert!(chat.chat.rows().all(|row| row.key.is_none()));
    let mut again = chatrows::ChatRows::restore(&chat.chat.snapshot_json(), Options::default()).unwrap();
    let stream = again.stream(Format::ApiStream);
    again.push_message(stream, &json!([text_block("new", true), call("delete")]).to_string());
    assert_eq!(
        lines(&serde_json::from_str(&again.rows_json()).unwrap()),
        unindent(
            r#"
            text done "the old answer"
            tool done write({"a":"1"}) whole output "out"
            text streaming "new"
            tool pending delete({"a":"1"}) whole
            "#
        )
    );
}

#[test]
fn a_later_stream_means_a_call_by_its_id_also_where_that_came_late() {
    let call = |id: Value| json!([{"type": "tool_use", "id": id, "name": "f", "params": {}, "partial": false}]);
    for first in [json!("c"), json!(null)] {
        let mut chat = Chat::of(Format::ApiStream);
        chat.push(wire([call(first), call(json!("c"))]).as_bytes());
        chat.drain();
        assert_eq!(chat.lines(), "tool pending f#c({}) whole");
        let mut again = chatrows::ChatRows::restore(&chat.chat.snapshot_json(), Options::default()).unwrap();
        let stream = again.stream(Format::ApiStream);
        again.push_message(stream, &call(json!("c")).to_string());
        assert_eq!(again.rows().count(), 1);
    }
}

#[test]
fn markers_in_the_reasoning_of_a_block_are_no_text() {
    let block = |text: &str, partial: bool| json!([{"type": "reasoning", "reasoning": text, "partial": partial}]);
    let marker = "a\0tool_preparing\0f\x0012\0b\0c";
    check([block(marker, false)], r#"reasoning done "abc""#);
    check_open([block(&marker[..9], true)], r#"reasoning streaming "a""#);
    check([block(&marker[..9], true), block(marker, true)], r#"reasoning done "abc""#);
}

#[test]
fn unknown_blocks_are_skipped_and_counted() {
    let array = blocks(json!([{"type": "x"}, 7, text_block("a", false)]));
    let outcome = check([array], r#"text done "a""#);
    assert_eq!(outcome.tally.skipped, 1);
    let wrong = [blocks(json!("no")), json!({"type": "assistantMessageContent"})];
    assert_eq!(check(wrong, "").tally.no_op, 2);
}

#[test]
fn empty_blocks_show_nothing_until_they_say_something() {
    check_open([blocks(json!([text_block("", true)]))], "");
    check([blocks(json!([text_block("", true)])), blocks(json!([text_block("a", true)]))], r#"text done "a""#);
}

#[test]
fn what_the_host_ran_stays_run_however_often_the_array_is_repeated() {
    let array = wire([blocks(json!([tool_block("c", json!({"x": "1"}), false)]))]);
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(array.as_bytes());
    let call = ToolRef::Call(chat.stream, "c");
    chat.chat.tool_started(call).unwrap();
    chat.chat.tool_result(call, Some("out"), false).unwrap();
    chat.drain();
    chat.push(array.as_bytes());
    chat.push(wire([blocks(json!([tool_block("c", json!({"x": "1"}), false), text_block("b", true)]))]).as_bytes());
    chat.drain();
    let expected = "tool done f#c({\"x\":\"1\"}) whole output \"out\"\ntext streaming \"b\"";
    assert_eq!(chat.lines(), expected);
    // Nor does a replay of the stream set it back.
    chat.chat.restart(chat.stream);
    chat.push(wire([blocks(json!([tool_block("c", json!({}), true)]))]).as_bytes());
    chat.push(array.as_bytes());
    chat.drain();
    assert_eq!(chat.lines(), expected);
}

#[test]
fn blocks_that_were_cancelled_stay_cancelled() {
    let array = wire([blocks(json!([tool_block("c", json!({}), true), text_block("b", true)]))]);
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(array.as_bytes());
    chat.abort();
    chat.drain();
    chat.chat.restart(chat.stream);
    chat.push(array.as_bytes());
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), "tool cancelled f#c({)\ntext cancelled \"b\"");
}
