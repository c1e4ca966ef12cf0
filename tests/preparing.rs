//! The row that announces a call while its arguments stream (tool-preparing.md): the marker, the chunk, the row's life,
//! its label and its sign of life; and the state machine that says which markers a provider sends.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{End, Format, Limits, Options, PREPARING_INTERVAL_MILLIS, PreparingEmitter};
use chatrows::{parse_preparing_marker, preparing_marker};
use serde_json::{Value, json};
use support::*;

/// A marker as a provider sends it: the value of one piece of reasoning.
fn marker(name: &str, bytes: u64) -> Value {
    reasoning(&preparing_marker(name, bytes).unwrap())
}

fn reasoning(text: &str) -> Value {
    json!({"type": "reasoning", "text": text})
}

/// What the extension makes of a marker.
fn preparing(name: &str, bytes: u64) -> Value {
    json!({"type": "tool_preparing", "toolName": name, "byteCount": bytes})
}

fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_call", "id": id, "name": name, "arguments": "{}"})
}

fn start(id: &str, name: &str) -> Value {
    json!({"type": "tool_call_start", "id": id, "name": name})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn wire<const N: usize>(records: [Value; N]) -> String {
    values(records.map(|record| record.to_string()))
}

/// What shows while the stream lives. Afterwards nothing that announces is left, in any cut.
#[track_caller]
fn check<const N: usize>(records: [Value; N], expected: &str) -> Value {
    let outcome = outcome_of(Format::ApiStream, Options::default(), wire(records.clone()).as_bytes());
    assert!(!lines(&outcome.rows).contains("tool-preparing"), "{}", lines(&outcome.rows));
    assert!(!outcome.rows.to_string().contains("\\u0000"), "a NUL in {}", outcome.rows);
    assert_eq!(outcome.faults, []);
    check_open_of(Format::ApiStream, wire(records), expected)
}

/// A chat after these records.
fn chat<const N: usize>(records: [Value; N]) -> Chat {
    let mut chat = Chat::of(Format::ApiStream);
    chat.push(wire(records).as_bytes());
    chat.drain();
    chat
}

fn push<const N: usize>(chat: &mut Chat, records: [Value; N]) -> Vec<Value> {
    chat.push(wire(records).as_bytes());
    chat.drain()
}

// 2.1 The marker's format.

#[test]
fn the_marker_is_name_and_count_between_nuls() {
    assert_eq!(preparing_marker("write_to_file", 0).unwrap(), "\0tool_preparing\0write_to_file\x000\0");
    assert_eq!(preparing_marker("f", u64::MAX).unwrap(), "\0tool_preparing\0f\x0018446744073709551615\0");
}

#[test]
fn a_name_that_no_marker_can_carry_makes_none() {
    assert_eq!(preparing_marker("", 7), None);
    assert_eq!(preparing_marker("a\0b", 7), None);
}

#[test]
fn what_is_built_is_parsed_back() {
    for name in ["f", "my tool", "a\nb", "é漢😀", "\u{1}", "tool_preparing", " "] {
        for bytes in [0, 7, 1_048_525, u64::MAX] {
            assert_eq!(parse_preparing_marker(&preparing_marker(name, bytes).unwrap()), Some((name, bytes)));
        }
    }
}

// 2.3 Detection: as a whole string.

#[test]
fn only_a_whole_well_formed_marker_is_one() {
    for text in [
        "",
        "tool_preparing",
        "tool_preparing\0f\x007\0",
        "\0tool_preparing\0f\x007",
        "\0tool_preparing\0\x007\0",
        "\0tool_preparing\0f\0\0",
        "\0tool_preparing\0f\0-7\0",
        "\0tool_preparing\0f\0+7\0",
        "\0tool_preparing\0f\x007.5\0",
        "\0tool_preparing\0f\0 7\0",
        "\0tool_preparing\0f\0٣\0",
        "x\0tool_preparing\0f\x007\0",
        "\0tool_preparing\0f\x007\0x",
        "\0tool_preparing\0f\x007\0\0tool_preparing\0g\x007\0",
        ";\0tool_preparing\0f\x007\0",
    ] {
        assert_eq!(parse_preparing_marker(text), None, "{text:?}");
    }
}

#[test]
fn leading_zeros_count_and_a_count_beyond_all_numbers_is_the_greatest() {
    assert_eq!(parse_preparing_marker("\0tool_preparing\0f\x00007\0"), Some(("f", 7)));
    assert_eq!(parse_preparing_marker("\0tool_preparing\0f\x0099999999999999999999\0"), Some(("f", u64::MAX)));
}

// The chunk and the marker are the same row.

#[test]
fn a_marker_is_a_row_with_spinner_name_and_label() {
    let rows = check([marker("myTool", 1234)], "tool-preparing preparing myTool 1.2 KB");
    let row = &rows[0];
    assert_eq!(row["busy"], true);
    assert_eq!(row["message"], json!({"key": "toolPreparing.preparing", "params": {"name": "myTool"}}));
    assert_eq!(row["bytes"], json!({"count": 1234, "label": "1.2 KB"}));
    assert_eq!(row.get("text"), None);
}

#[test]
fn the_chunk_is_the_same_row_as_the_marker() {
    let rows = check([preparing("myTool", 1234)], "tool-preparing preparing myTool 1.2 KB");
    assert_eq!(rows, check([marker("myTool", 1234)], "tool-preparing preparing myTool 1.2 KB"));
}

#[test]
fn a_chunk_without_name_is_no_row_and_one_without_count_stands_at_0() {
    check(
        [
            json!({"type": "tool_preparing", "byteCount": 7}),
            preparing("", 7),
            json!({"type": "tool_preparing", "toolName": 7}),
        ],
        "",
    );
    for count in [json!(null), json!("x"), json!(-1), json!(1.5), json!([])] {
        check(
            [json!({"type": "tool_preparing", "toolName": "f", "byteCount": count})],
            "tool-preparing preparing f 0 B",
        );
    }
    check(
        [json!({"type": "tool_preparing", "toolName": "f", "byteCount": "1280"})],
        "tool-preparing preparing f 1.3 KB",
    );
    check([preparing("f", 7), json!({"type": "tool_preparing", "toolName": "f"})], "tool-preparing preparing f 7 B");
}

#[test]
fn the_label_goes_through_b_kb_mb_and_gb() {
    for (bytes, label) in [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (1234, "1.2 KB"),
        (1280, "1.3 KB"),
        (1536, "1.5 KB"),
        (2304, "2.3 KB"),
        (102_400, "100.0 KB"),
        (1_048_524, "1023.9 KB"),
        (1_048_525, "1.0 MB"),
        (1_048_576, "1.0 MB"),
        (1 << 30, "1.0 GB"),
    ] {
        check([marker("f", bytes)], &format!("tool-preparing preparing f {label}"));
    }
}

// Markers inside reasoning: none of their NULs and none of the text is lost or shown.

#[test]
fn text_around_a_marker_is_reasoning() {
    let glued = format!("a{}b", preparing_marker("f", 7).unwrap());
    check([reasoning(&glued)], "reasoning streaming \"ab\"\ntool-preparing preparing f 7 B");
}

#[test]
fn markers_glued_together_are_two_markers() {
    let two = preparing_marker("f", 7).unwrap() + &preparing_marker("g", 8).unwrap();
    check([reasoning(&two)], "tool-preparing preparing f 7 B\ntool-preparing preparing g 8 B");
    let grown = preparing_marker("f", 7).unwrap() + &preparing_marker("f", 8).unwrap();
    check([reasoning(&grown)], "tool-preparing preparing f 8 B");
}

#[test]
fn a_marker_cut_in_two_anywhere_is_a_marker() {
    let glued = format!("a{}b", preparing_marker("f é", 1280).unwrap());
    for (at, _) in glued.char_indices().skip(1) {
        let (start, end) = glued.split_at(at);
        let input = wire([reasoning(start), reasoning(end)]);
        let mut chat = Chat::of(Format::ApiStream);
        chat.feed(input.as_bytes(), Cuts::Whole);
        chat.drain();
        assert_eq!(chat.lines(), "reasoning streaming \"ab\"\ntool-preparing preparing f é 1.3 KB", "cut at {at}");
    }
}

#[test]
fn a_marker_cut_in_two_may_have_other_chunks_between() {
    let marker = preparing_marker("f", 7).unwrap();
    let usage = json!({"type": "usage", "inputTokens": 7});
    check(
        [reasoning(&marker[..9]), usage, preparing("g", 1), reasoning(&marker[9..])],
        "tool-preparing preparing g 1 B\ntool-preparing preparing f 7 B",
    );
}

#[test]
fn a_name_may_be_anything_but_nul() {
    for name in ["a b", "a\nb", "a\"b", "é漢😀", "\u{1}", "<b>", "tool_preparing", "response_metadata"] {
        let rows = check([marker(name, 7)], &format!("tool-preparing preparing {name} 7 B"));
        assert_eq!(rows[0]["message"]["params"]["name"], name);
    }
}

#[test]
fn what_is_no_marker_is_reasoning_without_its_nuls() {
    for (value, shown) in [
        ("tool_preparing", "tool_preparing"),
        ("a\0b", "ab"),
        ("\0tool_preparing\0\x007\0", "tool_preparing7"),
        ("\0tool_preparing\0f\0-7\0", "tool_preparingf-7"),
        ("\0tool_preparing\0f\x007.5\0", "tool_preparingf7.5"),
        ("\0tool_preparing\0f\0\0", "tool_preparingf"),
        ("\0preparing\0f\x007\0", "preparingf7"),
    ] {
        check([reasoning(value)], &format!("reasoning streaming {}", json!(shown)));
    }
}

#[test]
fn half_a_marker_at_the_end_is_given_back_without_its_nuls_and_makes_no_row() {
    for (half, shown) in [
        ("\0", None),
        ("\0tool_prep", Some("tool_prep")),
        ("\0tool_preparing\0f", Some("tool_preparingf")),
        ("\0tool_preparing\0f\x007", Some("tool_preparingf7")),
        ("\0response_metadata\0{", Some("response_metadata{")),
    ] {
        let shown = |before: &str| match shown {
            Some(shown) => format!("reasoning done \"{before}{shown}\""),
            None => format!("reasoning done \"{before}\""),
        };
        check_of(Format::ApiStream, wire([reasoning(half)]), "", &[]);
        let marker = "\0tool_preparing\0f\x0012\0";
        if let Some(rest) = marker.strip_prefix(half) {
            let mut chat = chat([reasoning(half)]);
            chat.finish();
            chat.chat.restart(chat.stream);
            push(&mut chat, [reasoning(half), reasoning(rest), call("c", "f")]);
            chat.finish();
            chat.drain();
            assert_eq!(chat.lines(), "tool pending f#c({}) whole", "{half:?}");
        }
        check_of(Format::ApiStream, wire([reasoning("a "), reasoning(half)]), &shown("a "), &[]);
        let closed = format!("{}\ntext done \"b\"", shown("a "));
        check_of(Format::ApiStream, wire([reasoning("a "), reasoning(half), text("b")]), &closed, &[]);
    }
}

// 4. The row's life.

#[test]
fn three_markers_of_one_tool_are_one_row() {
    let mut chat = chat([marker("f", 0)]);
    let id = chat.rows()[0]["id"].clone();
    for (bytes, label) in [(600, "600 B"), (1300, "1.3 KB")] {
        let ops = push(&mut chat, [marker("f", bytes)]);
        assert_eq!(ops, [json!({"op": "update", "id": id, "patch": {"bytes": {"count": bytes, "label": label}}})]);
    }
}

#[test]
fn a_marker_that_says_the_same_again_says_nothing() {
    let mut chat = chat([marker("f", 7)]);
    assert_eq!(push(&mut chat, [marker("f", 7), preparing("f", 7)]), Vec::<Value>::new());
    assert_eq!(chat.counts().no_op, 2);
}

#[test]
fn a_starting_call_ends_its_row() {
    check([marker("f", 7), call("c", "f")], "tool preparing f#c({})");
    check([marker("f", 7), start("c", "f")], "tool preparing f#c()");
    let partial = json!({"type": "tool_call_partial", "index": 0, "id": "c", "name": "f", "arguments": "{"});
    check([marker("f", 7), partial], "tool preparing f#c({)");
    let blocks = json!([{"type": "tool_use", "id": "c", "name": "f", "params": {}, "partial": true}]);
    check([marker("f", 7), blocks], "tool preparing f#c({)");
}

#[test]
fn consecutive_tools_are_rows_of_their_own() {
    check([marker("f", 7), call("c", "f"), marker("f", 3)], "tool preparing f#c({})\ntool-preparing preparing f 3 B");
}

#[test]
fn tools_prepared_at_once_are_rows_of_their_own() {
    check(
        [marker("f", 7), marker("g", 5), marker("f", 1280), marker("g", 6)],
        "tool-preparing preparing f 1.3 KB\ntool-preparing preparing g 6 B",
    );
}

#[test]
fn two_of_one_name_are_two_rows_from_where_a_count_falls() {
    check([marker("f", 0), marker("f", 0)], "tool-preparing preparing f 0 B");
    check(
        [marker("f", 0), marker("f", 0), marker("f", 100), marker("f", 20)],
        "tool-preparing preparing f 100 B\ntool-preparing preparing f 20 B",
    );
}

#[test]
fn a_marker_belongs_to_the_greatest_count_not_above_its_own() {
    let two = [marker("f", 100), marker("f", 20)];
    let after = |bytes: u64| {
        let [a, b] = two.clone();
        [a, b, marker("f", bytes)]
    };
    check(after(30), "tool-preparing preparing f 100 B\ntool-preparing preparing f 30 B");
    check(after(100), "tool-preparing preparing f 100 B\ntool-preparing preparing f 20 B");
    check(after(150), "tool-preparing preparing f 150 B\ntool-preparing preparing f 20 B");
    check(
        after(5),
        "tool-preparing preparing f 100 B\ntool-preparing preparing f 20 B\ntool-preparing preparing f 5 B",
    );
}

#[test]
fn a_starting_call_ends_the_oldest_row_of_its_name() {
    check(
        [marker("g", 1), marker("f", 100), marker("f", 20), start("c", "f")],
        "tool-preparing preparing g 1 B\ntool-preparing preparing f 20 B\ntool preparing f#c()",
    );
}

#[test]
fn a_starting_call_of_another_name_ends_the_only_row_and_none_of_several() {
    check([marker("f", 7), start("c", "x")], "tool preparing x#c()");
    check(
        [marker("f", 7), marker("g", 7), start("c", "x")],
        "tool-preparing preparing f 7 B\ntool-preparing preparing g 7 B\ntool preparing x#c()",
    );
}

#[test]
fn a_call_that_starts_without_name_ends_its_row_once_it_has_one() {
    let fragment = |name: Value| json!({"type": "tool_call_partial", "index": 0, "name": name, "arguments": "1"});
    check([marker("f", 7), fragment(json!(null))], "tool preparing ?(1)");
    let both = [marker("f", 7), marker("g", 7), fragment(json!(null))];
    check(both.clone(), "tool-preparing preparing f 7 B\ntool-preparing preparing g 7 B\ntool preparing ?(1)");
    let [f, g, first] = both;
    check([f, g, first, fragment(json!("g"))], "tool-preparing preparing f 7 B\ntool preparing g(11)");
}

#[test]
fn a_start_that_comes_again_ends_nothing() {
    let again = "tool preparing f#c()\ntool-preparing preparing g 7 B";
    check([start("c", "f"), marker("g", 7), start("c", "f")], again);
    check([marker("f", 1), start("c", "f"), marker("g", 7), start("c", "f")], again);
    check([call("c", "f"), marker("f", 7), call("c", "f")], "tool preparing f#c({})\ntool-preparing preparing f 7 B");
}

#[test]
fn a_marker_of_a_call_that_has_its_row_makes_no_other() {
    let partial = |index: u32, id: &str, name: &str, arguments: &str| json!({"type": "tool_call_partial", "index": index, "id": id, "name": name, "arguments": arguments});
    let first = || partial(0, "c", "f", "{\"a\"");
    check([marker("f", 0), first(), marker("f", 4), marker("f", 9)], "tool preparing f#c({\"a\")");
    check([first(), preparing("f", 4)], "tool preparing f#c({\"a\")");
    check([start("c", "f"), marker("f", 0), marker("f", 9)], "tool preparing f#c()");
    // Another name is another call, and so is one of the same name whose count fell.
    check([first(), marker("g", 4)], "tool preparing f#c({\"a\")\ntool-preparing preparing g 4 B");
    check(
        [first(), marker("f", 4), marker("f", 0), marker("f", 2), marker("f", 9)],
        "tool preparing f#c({\"a\")\ntool-preparing preparing f 2 B",
    );
    // Once the call is whole no marker is about it.
    check([call("c", "f"), marker("f", 7)], "tool preparing f#c({})\ntool-preparing preparing f 7 B");
}

#[test]
fn later_deltas_of_a_call_end_nothing() {
    let delta = json!({"type": "tool_call_delta", "id": "c", "delta": "{}"});
    let end = json!({"type": "tool_call_end", "id": "c"});
    check([start("c", "f"), marker("g", 7), delta, end], "tool preparing f#c({})\ntool-preparing preparing g 7 B");
}

#[test]
fn interleaved_reasoning_and_text_neither_end_nor_orphan_a_row() {
    let mut chat = chat([
        reasoning("a"),
        marker("f", 1),
        reasoning("b"),
        marker("f", 2),
        text("c"),
        reasoning("d"),
        marker("f", 3),
    ]);
    assert_eq!(
        chat.lines(),
        "reasoning done \"ab\"\ntool-preparing preparing f 3 B\ntext done \"c\"\nreasoning streaming \"d\""
    );
    push(&mut chat, [call("c", "f")]);
    assert_eq!(chat.lines(), "reasoning done \"ab\"\ntext done \"c\"\nreasoning done \"d\"\ntool preparing f#c({})");
}

#[test]
fn a_call_that_does_not_parse_ends_its_row() {
    let call = json!({"type": "tool_call", "id": "c", "name": "f", "arguments": "{\"x\":"});
    check([marker("f", 7), call.clone()], "tool preparing f#c({\"x\":)");
    let outcome =
        check_of(Format::ApiStream, wire([marker("f", 7), call]), "tool failed f#c({\"x\":) !arguments-malformed", &[]);
    assert_eq!(outcome.end, Some(End::Done));
}

#[test]
fn an_error_ends_all_rows() {
    let error = json!({"type": "error", "error": "e", "message": "m"});
    check([marker("f", 7), marker("g", 7), error], "error done !e \"m\"");
    check([marker("f", 7), json!({"type": "response_metadata", "error": "m"})], "error done \"m\"");
}

#[test]
fn an_abort_ends_all_rows_and_a_replay_does_not_bring_them_back() {
    let mut chat = chat([text("a"), marker("f", 7), marker("g", 7)]);
    chat.abort();
    let ops = chat.drain();
    assert_eq!(ops.iter().filter(|op| op["op"] == "remove").count(), 2);
    assert_eq!(chat.lines(), "text cancelled \"a\"");
    chat.chat.restart(chat.stream);
    push(&mut chat, [text("a"), marker("f", 7), marker("g", 7)]);
    assert_eq!(chat.lines(), "text cancelled \"a\"");
}

#[test]
fn the_end_of_the_stream_ends_all_rows() {
    let mut chat = chat([text("a"), marker("f", 7), marker("g", 7)]);
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), "text done \"a\"");
}

#[test]
fn a_connection_that_breaks_ends_all_rows_and_a_replay_shows_what_is_still_announced() {
    let mut chat = chat([marker("f", 7), call("c", "f"), marker("g", 7)]);
    chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), "tool interrupted f#c({})\nerror done !read-error \"connection lost\" retryable");
    chat.chat.restart(chat.stream);
    push(&mut chat, [marker("f", 7)]);
    assert!(!chat.lines().contains("tool-preparing"), "its call came long ago: {}", chat.lines());
    push(&mut chat, [call("c", "f"), marker("g", 7)]);
    assert_eq!(chat.lines(), "tool preparing f#c({})\ntool-preparing preparing g 7 B");
}

#[test]
fn rows_past_the_cap_are_refused_and_said_so() {
    let limits = Limits { open_blocks: 2, ..Limits::default() };
    let mut chat = chat_of(Format::ApiStream, Options { limits, ..Options::default() });
    push(&mut chat, [marker("f", 7), marker("g", 7), preparing("h", 7)]);
    assert_eq!(
        chat.lines(),
        "tool-preparing preparing f 7 B\ntool-preparing preparing g 7 B\nnotice done limit.open-blocks"
    );
    assert_eq!(chat.faults(), ["open-blocks"]);
}

// The sign of life.

#[test]
fn a_row_says_after_5_s_that_it_is_quiet_and_takes_it_back_at_the_next_byte() {
    let mut chat = Chat::of(Format::ApiStream);
    chat.chat.set_now(1_000);
    push(&mut chat, [marker("f", 7)]);
    let id = chat.rows()[0]["id"].clone();
    chat.chat.set_now(5_999);
    assert_eq!(chat.drain(), Vec::<Value>::new());
    chat.chat.set_now(6_000);
    assert_eq!(chat.drain(), [json!({"op": "update", "id": id, "patch": {"quietSince": 1_000}})]);
    chat.chat.set_now(60_000);
    assert_eq!(chat.drain(), Vec::<Value>::new(), "the page counts");
    chat.push(b"{");
    assert_eq!(chat.drain(), [json!({"op": "update", "id": id, "patch": {"quietSince": null}})]);
    chat.chat.set_now(65_000);
    assert_eq!(chat.drain(), [json!({"op": "update", "id": id, "patch": {"quietSince": 60_000}})]);
}

#[test]
fn each_of_several_rows_says_so_in_one_op() {
    let mut chat = chat([marker("f", 7), marker("g", 7)]);
    chat.chat.set_now(5_000);
    let quiet = chat.drain();
    assert_eq!(quiet.len(), 2, "{quiet:?}");
    assert!(quiet.iter().all(|op| op["patch"] == json!({"quietSince": 0})), "{quiet:?}");
    let ended = push(&mut chat, [call("c", "f"), call("d", "g")]);
    assert_eq!(ended.iter().filter(|op| op["op"] == "remove").count(), 2, "{ended:?}");
}

// The emitting side.

/// The markers as `name:bytes`.
fn shown(markers: impl IntoIterator<Item = String>) -> Vec<String> {
    let show = |marker: String| {
        let (name, bytes) = parse_preparing_marker(&marker).unwrap();
        format!("{name}:{bytes}")
    };
    markers.into_iter().map(show).collect()
}

fn emitter() -> PreparingEmitter {
    PreparingEmitter::new(PREPARING_INTERVAL_MILLIS)
}

#[test]
fn the_first_marker_goes_out_at_once_with_the_name() {
    let mut emitter = emitter();
    assert_eq!(emitter.delta("0", None, 5, 1_000), None);
    assert!(!emitter.is_preparing());
    assert_eq!(emitter.delta("0", Some(""), 6, 1_001), None);
    assert_eq!(shown(emitter.delta("0", Some("f"), 7, 1_002)), ["f:7"]);
    assert!(emitter.is_preparing());
    let mut emitter = PreparingEmitter::new(100);
    assert_eq!(shown(emitter.delta("0", Some("f"), 0, 0)), ["f:0"], "even if nothing has come yet");
}

#[test]
fn growth_is_told_at_most_once_an_interval_for_each_call() {
    let mut emitter = emitter();
    emitter.delta("0", Some("f"), 0, 0);
    assert_eq!(shown(emitter.delta("1", Some("g"), 0, 10)), ["g:0"]);
    assert_eq!(emitter.delta("0", None, 10, 50), None);
    assert_eq!(emitter.next_due(50), Some(100));
    assert_eq!(emitter.tick(99), Vec::<String>::new());
    assert_eq!(shown(emitter.tick(100)), ["f:10"]);
    assert_eq!(emitter.tick(150), Vec::<String>::new(), "nothing has grown");
    assert_eq!(shown(emitter.delta("0", Some("f"), 20, 200)), ["f:20"]);
    assert_eq!(emitter.delta("0", None, 20, 900), None, "the same count again");
    assert_eq!(shown(emitter.delta("1", None, 5, 110)), ["g:5"]);
}

#[test]
fn an_interval_of_0_tells_every_delta() {
    let mut emitter = PreparingEmitter::new(0);
    let counts = [0, 1, 2].map(|bytes| emitter.delta("0", Some("f"), bytes, 0));
    assert_eq!(shown(counts.into_iter().flatten()), ["f:0", "f:1", "f:2"]);
}

#[test]
fn a_sign_of_life_goes_out_after_5_s_in_which_nothing_was_visible() {
    let mut emitter = emitter();
    emitter.delta("0", Some("f"), 7, 1_000);
    emitter.delta("1", Some("g"), 8, 1_000);
    assert_eq!(emitter.next_due(1_000), Some(6_000));
    assert_eq!(emitter.tick(5_999), Vec::<String>::new());
    assert_eq!(shown(emitter.tick(6_000)), ["f:7", "g:8"]);
    assert_eq!(emitter.next_due(6_000), Some(11_000));
    emitter.note_visible(9_000);
    assert_eq!(emitter.tick(11_000), Vec::<String>::new());
    assert_eq!(shown(emitter.tick(14_000)), ["f:7", "g:8"]);
    assert_eq!(emitter.next_due(30_000), Some(30_000), "it is due already");
}

#[test]
fn nothing_goes_out_once_the_call_was_reported() {
    let mut emitter = emitter();
    emitter.delta("0", Some("f"), 7, 0);
    emitter.delta("1", Some("g"), 7, 0);
    emitter.delta("0", None, 8, 10);
    emitter.reported("0");
    assert!(emitter.is_preparing(), "the other call goes on");
    assert_eq!(emitter.delta("0", Some("f"), 9, 200), None);
    assert_eq!(shown(emitter.tick(5_000)), ["g:7"]);
    emitter.reported("1");
    assert!(!emitter.is_preparing());
    assert_eq!((emitter.tick(60_000), emitter.next_due(60_000)), (Vec::new(), None));
    // Also before anything was heard of it.
    emitter.reported("2");
    assert_eq!(emitter.delta("2", Some("h"), 1, 60_000), None);
}

#[test]
fn nothing_goes_out_once_the_stream_ended() {
    let mut emitter = emitter();
    emitter.delta("0", Some("f"), 7, 0);
    emitter.delta("0", None, 8, 10);
    emitter.end();
    assert!(!emitter.is_preparing());
    assert_eq!(emitter.delta("0", None, 9, 200), None);
    assert_eq!(emitter.delta("1", Some("g"), 9, 200), None);
    assert_eq!((emitter.tick(60_000), emitter.next_due(60_000)), (Vec::new(), None));
}

#[test]
fn a_name_keeps_all_but_its_nuls_and_does_not_change() {
    let mut emitter = emitter();
    assert_eq!(emitter.delta("0", Some("\0"), 1, 0), None);
    assert_eq!(shown(emitter.delta("0", Some("a\0b"), 1, 0)), ["ab:1"]);
    assert_eq!(shown(emitter.delta("0", Some("other"), 2, 200)), ["ab:2"]);
}

/// What the emitter sends, the decoder shows: one row from the first name to the call.
#[test]
fn what_is_emitted_is_one_row_until_the_call() {
    let mut emitter = emitter();
    let mut chat = Chat::of(Format::ApiStream);
    for step in 0..200u64 {
        let now = step * 30;
        let marker = emitter.delta("0", (step == 3).then_some("f"), step * 20, now);
        for marker in marker.into_iter().chain(emitter.tick(now)) {
            push(&mut chat, [reasoning(&marker)]);
            assert_eq!(chat.rows().as_array().unwrap().len(), 1);
        }
    }
    push(&mut chat, [call("c", "f")]);
    assert_eq!(chat.lines(), "tool preparing f#c({})");
}
