//! Every cap of `Limits`, overrun in a test of its own: what it cuts is visible, the rest goes on, nothing panics.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Format, Limits, Options, ToolRef};
use support::*;

/// Feeds `input` under these caps in every way; these rows and faults must come out.
#[track_caller]
fn check(limits: Limits, input: impl AsRef<[u8]>, expected: &str, faults: &[&str]) -> Outcome {
    let outcome = outcome_with(Options { limits, ..Options::default() }, input.as_ref());
    assert_eq!(lines(&outcome.rows), unindent(expected));
    let reasons: Vec<&str> = outcome.faults.iter().map(|(_, reason, _)| &**reason).collect();
    assert_eq!(reasons, faults);
    outcome
}

fn arguments(text: &str) -> String {
    call(&format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":{text:?}}}}}"#))
}

#[test]
fn a_record_over_record_bytes_is_a_fault_and_the_next_one_is_read() {
    let limits = Limits { record_bytes: 200, ..Limits::default() };
    let records = [content("a"), content(&"x".repeat(300)), content("b"), end("stop")];
    let outcome = check(limits, sse(&records), r#"text done "ab""#, &["too-long"]);
    assert_eq!(outcome.faults[0].2, records[1][..64]);
    assert_eq!((outcome.tally.faulted, outcome.tally.records()), (1, 4));
    check(limits, values(&records), r#"text done "ab""#, &["too-long"]);
    // Of several data lines, together.
    let lines =
        format!("{}data: {{\ndata: {}\ndata: }}\n\n{}", sse([content("a")]), " ".repeat(300), sse([end("stop")]));
    check(limits, lines, r#"text done "a""#, &["too-long"]);
}

#[test]
fn a_line_without_end_is_held_only_up_to_record_bytes() {
    let limits = Limits { record_bytes: 200, ..Limits::default() };
    for start in ["data: ", "data: {\"a\":\"", ": ", "x"] {
        let input = format!("{}{start}{}", sse([content("a")]), "x".repeat(5000));
        let outcome = outcome_with(Options { limits, ..Options::default() }, input.as_bytes());
        assert_eq!(lines(&outcome.rows), r#"text interrupted "a""#);
        let faulted = if start == ": " { 0 } else { 1 };
        assert_eq!(outcome.tally.faulted, faulted, "{start}");
    }
}

#[test]
fn a_record_at_record_bytes_is_read() {
    let record = content(&"x".repeat(80));
    let limits = Limits { record_bytes: record.len(), ..Limits::default() };
    let text = format!("text interrupted \"{}\"", "x".repeat(80));
    check(limits, sse([&record]), &text, &[]);
    check(limits, values([&record]), &text, &[]);
    let limits = Limits { record_bytes: record.len() - 1, ..Limits::default() };
    let records = [r#"{"choices":[]}"#, &record];
    check(limits, sse(records), "", &["too-long"]);
    check(limits, values(records), "", &["too-long"]);
}

#[test]
fn a_record_of_more_values_than_record_values_is_a_fault() {
    let limits = Limits { record_values: 40, ..Limits::default() };
    let wide = format!(r#"{{"choices":[],"x":[{}1]}}"#, "1,".repeat(50));
    let records = [content("a"), wide, content("b"), end("stop")];
    check(limits, sse(&records), r#"text done "ab""#, &["values"]);
    check(limits, values(&records), r#"text done "ab""#, &["values"]);
}

#[test]
fn arguments_over_tool_input_bytes_are_cut_marked_and_never_executable() {
    let limits = Limits { tool_input_bytes: 10, ..Limits::default() };
    let records = [arguments("{\"a\":"), arguments("\"123"), arguments("4567\"}"), end("tool_calls")];
    let expected = r#"tool failed f#c({"a":"1234) !arguments-too-long truncated"#;
    check(limits, sse(&records), expected, &["tool-input-bytes"]);
    // What stands at the cut is whole by chance: it is not what was sent.
    let records = [arguments("{\"a\":1234}"), arguments(" "), end("tool_calls")];
    let expected = r#"tool failed f#c({"a":1234}) !arguments-too-long truncated"#;
    check(limits, sse(&records), expected, &["tool-input-bytes"]);
    let records = [arguments("{\"a\":1234}"), end("tool_calls")];
    check(limits, sse(&records), r#"tool pending f#c({"a":1234}) whole"#, &[]);
}

#[test]
fn a_cap_cuts_between_characters() {
    let limits = Limits { text_bytes: 4, tool_input_bytes: 4, ..Limits::default() };
    check(limits, sse([content("abé😀"), end("stop")]), r#"text done "abé" truncated"#, &["text-bytes"]);
    check(limits, sse([content("a😀"), end("stop")]), r#"text done "a" truncated"#, &["text-bytes"]);
}

#[test]
fn text_over_text_bytes_is_cut_and_marked() {
    let limits = Limits { text_bytes: 5, ..Limits::default() };
    let outcome = check(
        limits,
        sse([content("abc"), content("def"), content("ghi"), end("stop")]),
        r#"text done "abcde" truncated"#,
        &["text-bytes", "text-bytes"],
    );
    assert_eq!(outcome.tally.faulted, 2);
    let reasoning = |text: &str| chunk(&format!(r#"{{"reasoning":"{text}"}}"#));
    check(
        limits,
        sse([reasoning("abcdef"), content("x"), end("stop")]),
        r#"
        reasoning done "abcde" truncated
        text done "x"
        "#,
        &["text-bytes"],
    );
}

#[test]
fn output_over_text_bytes_is_cut_and_marked() {
    let limits = Limits { text_bytes: 5, ..Limits::default() };
    let mut chat = chat_with(Options { limits, ..Options::default() });
    chat.push(sse([arguments("{}"), end("tool_calls")]).as_bytes());
    let call = ToolRef::Call(chat.stream, "c");
    chat.chat.tool_progress(call, None, Some("abc"), None).unwrap();
    chat.drain();
    chat.chat.tool_progress(call, None, Some("def"), None).unwrap();
    chat.drain();
    assert_eq!(chat.lines(), r#"tool pending f#c({}) whole output "abcde" truncated"#);
    chat.chat.tool_result(call, Some("a longer one"), false).unwrap();
    chat.drain();
    assert_eq!(chat.lines(), r#"tool done f#c({}) whole output "a lon" truncated"#);
}

#[test]
fn a_record_nested_deeper_than_nesting_is_a_fault() {
    let limits = Limits { nesting: 8, ..Limits::default() };
    let deep = |levels: usize| format!(r#"{{"choices":[],"x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let records = [content("a"), deep(7), deep(8), content("b"), end("stop")];
    check(limits, sse(&records), r#"text done "ab""#, &["nesting"]);
    // Bare values find the depth while they look for the end.
    let outcome = outcome_with(Options { limits, ..Options::default() }, values(&records).as_bytes());
    assert_eq!(lines(&outcome.rows), r#"text done "ab""#);
    assert_eq!(outcome.tally.faulted, 1);
    assert_eq!(outcome.faults[0].1, "nesting");
}

#[test]
fn a_very_deep_record_overflows_no_stack() {
    for open in ["[", "{\"a\":"] {
        let deep = open.repeat(2_000_000);
        let mut chat = Chat::unwatched();
        chat.feed(sse([content("a"), deep.clone(), end("stop")]).as_bytes(), Cuts::Whole);
        chat.finish();
        assert_eq!((chat.lines().as_str(), chat.faults().len()), (r#"text done "a""#, 1));
        let mut chat = Chat::unwatched();
        chat.feed(values([content("a"), deep.clone(), end("stop")]).as_bytes(), Cuts::Whole);
        chat.finish();
        assert_eq!((chat.lines().as_str(), chat.faults().len()), (r#"text done "a""#, 1));
        let mut chat = Chat::unwatched();
        chat.feed(sse([arguments(&deep), end("tool_calls")]).as_bytes(), Cuts::Whole);
        chat.finish();
        assert!(chat.lines().ends_with("!arguments-nesting"), "{}", &chat.lines()[chat.lines().len() - 40..]);
    }
}

#[test]
fn arguments_nested_deeper_than_nesting_are_never_executable() {
    let limits = Limits { nesting: 8, ..Limits::default() };
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let fine = sse([arguments(&deep(8)), end("tool_calls")]);
    check(limits, fine, "tool pending f#c([[[[[[[[]]]]]]]]) whole", &[]);
    let over = sse([arguments(&deep(9)), end("tool_calls")]);
    check(limits, over, "tool failed f#c([[[[[[[[[]]]]]]]]]) !arguments-nesting", &[]);
}

#[test]
fn values_deeper_than_preview_depth_show_when_they_close_and_stay_executable() {
    let limits = Limits { preview_depth: 1, ..Limits::default() };
    let outcome = check(
        limits,
        sse([arguments(r#"{"a":{"b":"x"},"c":"y"}"#), end("tool_calls")]),
        r#"tool pending f#c({"a":{"b":"x"},"c":"y"}) whole"#,
        &[],
    );
    assert_eq!(fields(&outcome.rows[0]), r#"a={"b":"x"} c=y"#);
}

#[test]
fn more_values_than_preview_fields_are_marked_and_the_arguments_stay_executable() {
    let limits = Limits { preview_fields: 2, ..Limits::default() };
    let outcome =
        check(limits, sse([arguments("[1,2,3,4]"), end("tool_calls")]), "tool pending f#c([1,2,3,4]) whole", &[]);
    assert_eq!(fields(&outcome.rows[0]), "0=1 1=2");
    assert_eq!(outcome.rows[0]["tool"]["fieldsTruncated"], true);
}

#[test]
fn the_value_under_a_key_over_preview_key_bytes_is_marked_and_the_arguments_stay_executable() {
    let limits = Limits { preview_key_bytes: 3, ..Limits::default() };
    let outcome = check(
        limits,
        sse([arguments(r#"{"abcd":"x","b":{"efgh":1},"c":2}"#), end("tool_calls")]),
        r#"tool pending f#c({"abcd":"x","b":{"efgh":1},"c":2}) whole"#,
        &[],
    );
    assert_eq!(fields(&outcome.rows[0]), "c=2");
    assert_eq!(outcome.rows[0]["tool"]["fieldsTruncated"], true);
}

#[test]
fn more_open_rows_than_open_blocks_are_faults() {
    let limits = Limits { open_blocks: 2, ..Limits::default() };
    let one = |index: u32| {
        call(&format!(r#"{{"index":{index},"id":"c{index}","function":{{"name":"f","arguments":"{{}}"}}}}"#))
    };
    let options = Options { limits, ..Options::default() };
    let outcome = outcome_with(options, sse([one(0), one(1), one(2), end("tool_calls")]).as_bytes());
    let shown = lines(&outcome.rows);
    assert!(shown.starts_with("tool pending f#c0({}) whole\ntool pending f#c1({}) whole\nnotice done"), "{shown}");
    assert_eq!((shown.lines().count(), outcome.tally.faulted), (3, 1));
    let choice = |index: u32| format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"x"}}}}]}}"#);
    let outcome =
        outcome_with(Options { limits, ..Options::default() }, sse([choice(0), choice(1), choice(2)]).as_bytes());
    assert_eq!(lines(&outcome.rows).lines().filter(|line| line.starts_with("text")).count(), 2);
    assert_eq!(outcome.tally.faulted, 1);
}

#[test]
fn more_open_named_rows_than_open_blocks_are_faults_and_one_notice_says_so() {
    let limits = Limits { open_blocks: 2, ..Limits::default() };
    let mut chat = chat_of(Format::Say, Options { limits, ..Options::default() });
    for ts in 0..4 {
        let message = format!(r#"{{"ts":{ts},"type":"say","say":"text","text":"x","partial":true}}"#);
        chat.chat.push_message(chat.stream, &message);
    }
    chat.drain();
    assert_eq!(chat.lines(), "text streaming \"x\"\ntext streaming \"x\"\nnotice done limit.open-blocks");
    assert_eq!(chat.faults(), ["open-blocks", "open-blocks"]);
}

#[test]
fn sources_over_the_cap_are_faults() {
    let limits = Limits { sources: 2, ..Limits::default() };
    let cited = |text: &str, citations: &str| {
        format!(r#"{{"id":"r","choices":[{{"delta":{{"content":"{text}"}}}}],"citations":[{citations}]}}"#)
    };
    check(
        limits,
        sse([cited("a", r#""u","v""#), cited("b", r#""u","v","w""#), end("stop")]),
        r#"text done "ab" sources u v"#,
        &["sources"],
    );
    // The same where they come before the text.
    let before = r#"{"id":"r","choices":[],"citations":["u","v","w"]}"#.to_owned();
    check(limits, sse([before, content("a"), end("stop")]), r#"text done "a" sources u v"#, &["sources"]);
}

#[test]
fn rows_over_the_cap_are_faults_and_one_notice_says_so() {
    let limits = Limits { rows: 2, ..Limits::default() };
    let reasoning = |text: &str| chunk(&format!(r#"{{"reasoning":"{text}"}}"#));
    check(
        limits,
        sse([reasoning("a"), content("b"), reasoning("c"), content("d"), content("e"), end("stop")]),
        r#"
        reasoning done "a"
        text done "b"
        notice done limit.rows
        "#,
        &["rows", "rows", "rows"],
    );
    // Calls and what the user says are rows, too.
    let mut chat = chat_with(Options { limits, ..Options::default() });
    chat.push(sse([content("a"), content("b"), arguments("{}"), arguments("1")]).as_bytes());
    assert_eq!(chat.chat.add_user("x"), None);
    chat.push(sse([arguments("2"), end("stop")]).as_bytes());
    chat.finish();
    chat.drain();
    assert_eq!(chat.chat.rows().count(), 3);
    assert_eq!(chat.lines().lines().last(), Some("notice done limit.rows"));
    // Where rows were removed there is room again.
    let first = chat.chat.rows().next().unwrap().id;
    chat.chat.truncate_from(first);
    assert!(chat.chat.add_user("y").is_some());
    chat.drain();
}

/// Every row of a message repeats its id in the row's key, so a very long one would be no key but a burden.
#[test]
fn a_response_id_over_256_bytes_tells_responses_apart_and_is_no_key() {
    let record = |id: &str, text: &str| {
        format!(r#"{{"id":"{id}","choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#)
    };
    let (fits, long) = ("i".repeat(256), "j".repeat(257));
    let (first, second) = (format!("{long}1"), format!("{long}2"));
    let outcome = check(
        Limits::default(),
        sse([record(&fits, "a"), record(&first, "b"), record(&second, "c")]),
        r#"
        text done "a"
        text done "b"
        text done "c"
        "#,
        &[],
    );
    let keys: Vec<_> = outcome.rows.as_array().unwrap().iter().map(|row| row["key"].as_str()).collect();
    assert_eq!(keys, [Some(&*format!("{fits}:0")), None, None]);
}

#[test]
fn all_faults_are_counted_and_the_last_ones_kept() {
    let limits = Limits { faults: 3, ..Limits::default() };
    for kept in [3, 0] {
        let mut chat = chat_with(Options { limits: Limits { faults: kept, ..limits }, ..Options::default() });
        chat.push(sse([content("a")]).as_bytes());
        for number in 0..10 {
            chat.push(sse([format!("{{{number}")]).as_bytes());
        }
        let excerpts: Vec<&str> = chat.chat.faults().map(|fault| &*fault.excerpt).collect();
        assert_eq!(excerpts, ["{7", "{8", "{9"][3 - kept..]);
        assert_eq!(chat.chat.faults_since(0).0, 10);
        assert_eq!(chat.counts().faulted, 10);
    }
}

#[test]
fn caps_of_nothing_hold_and_nothing_panics() {
    let nothing = Limits {
        record_bytes: 0,
        record_values: 0,
        tool_input_bytes: 0,
        text_bytes: 0,
        nesting: 0,
        preview_depth: 0,
        preview_fields: 0,
        preview_key_bytes: 0,
        open_blocks: 0,
        sources: 0,
        rows: 0,
        faults: 0,
    };
    let input = sse([
        content("a"),
        arguments(r#"{"a":{"b":[1,"x"]}}"#),
        r#"{"choices":[{"index":3,"delta":{"content":"y"}}],"citations":["u"],"error":"e"}"#.to_owned(),
        end("stop"),
    ]);
    outcome_with(Options { limits: nothing, ..Options::default() }, input.as_bytes());
    outcome_with(Options { limits: nothing, ..Options::default() }, values([content("a"), "{".into()]).as_bytes());
    // Each alone beside the defaults.
    let all = Limits::default();
    for limits in [
        Limits { record_bytes: 0, ..all },
        Limits { record_values: 0, ..all },
        Limits { tool_input_bytes: 0, ..all },
        Limits { text_bytes: 0, ..all },
        Limits { nesting: 0, ..all },
        Limits { preview_fields: 0, ..all },
        Limits { preview_key_bytes: 0, ..all },
        Limits { open_blocks: 0, ..all },
        Limits { rows: 0, ..all },
        Limits { sources: 0, ..all },
    ] {
        let outcome = outcome_with(Options { limits, ..Options::default() }, input.as_bytes());
        let shows = outcome.tally.faulted > 0
            || outcome.rows.as_array().unwrap().iter().any(|row| {
                row["truncated"] == true || row["tool"]["fieldsTruncated"] == true || row["kind"] == "notice"
            });
        assert!(shows, "a cap that cuts in silence: {limits:?}\n{}", lines(&outcome.rows));
    }
}
