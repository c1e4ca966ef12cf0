//! What users of other libraries reported, as small neutral inputs: one test for each public report that can concern
//! `openai-chat` or the core. The report stands in the test's doc line, the right behaviour is the test's name.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, Due, Format, Options, RowOp, ToolRef};
use serde_json::{Value, json};
use support::*;

/// Bytes visited, of the stream and of the ops.
fn work(chat: &Chat) -> u64 {
    chat.chat.tally().work
}

/// A call with one long string argument in deltas of `piece` characters, and its finish.
fn long_argument(bytes: usize, piece: usize) -> Vec<String> {
    let text = format!(r#"{{\"path\":\"a.txt\",\"content\":\"{}\"}}"#, "lorem ipsum dolor ".repeat(bytes / 18));
    let pieces: Vec<char> = text.chars().collect();
    let first = call(r#"{"index":0,"id":"c","function":{"name":"write","arguments":""}}"#);
    let mut records = vec![first];
    let mut at = 0;
    while at < pieces.len() {
        let mut end = (at + piece).min(pieces.len());
        // An escape is not cut between two JSON strings.
        end += usize::from(end < pieces.len() && pieces[end - 1] == '\\');
        let piece: String = pieces[at..end].iter().collect();
        records.push(call(&format!(r#"{{"index":0,"function":{{"arguments":"{piece}"}}}}"#)));
        at = end;
    }
    records.push(end("tool_calls"));
    records
}

/// vercel/ai#18771
#[test]
fn text_beside_a_large_tool_result_carries_only_the_new_text() {
    let mut chat = Chat::new();
    chat.push(
        sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#), end("tool_calls")]).as_bytes(),
    );
    let result = "x".repeat(200_000);
    chat.chat.tool_result(ToolRef::Call(chat.stream, "c"), Some(&result), false).unwrap();
    chat.drain();
    let (carried, before) = (chat.op_bytes, work(&chat));
    let mut wire = 0;
    for number in 0..2000 {
        let record = sse([chunk(&format!(r#"{{"content":"word{number} "}}"#)).replace("\"r\"", "\"r2\"")]);
        wire += record.len() as u64;
        chat.chat.push(chat.stream, record.as_bytes());
        // The oracle compares everything there is; the report is about what the chat itself does.
        chat.chat.drain(&mut |op: RowOp<'_>| {
            if let RowOp::Append { text, .. } = op {
                assert!(text.len() < 12);
            }
        });
    }
    assert_eq!(chat.op_bytes, carried);
    assert!(work(&chat) - before < 4 * wire, "{} for {wire} bytes", work(&chat) - before);
}

/// vercel/ai#17113, assistant-ui/assistant-ui#7133, pi#9265, pi#9062, pi#9063
#[test]
fn a_long_argument_in_small_deltas_is_read_once() {
    let run = |bytes: usize, piece: usize| {
        let mut chat = Chat::new();
        let mut wire = 0;
        for record in long_argument(bytes, piece) {
            let record = sse([record]);
            wire += record.len() as u64;
            chat.chat.push(chat.stream, record.as_bytes());
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.finish();
        assert!(chat.lines().starts_with("tool pending write#c({\"path\":\"a.txt\""));
        work(&chat) as f64 / wire as f64
    };
    let (small, large) = (run(16 << 10, 24), run(128 << 10, 24));
    assert!(large < small * 1.05 && large < 4.0, "{small} against {large} per byte");
    // 16,000 deltas of one character.
    let tiny = run(16_000, 1);
    assert!(tiny < 4.0, "{tiny} per byte");
}

/// vercel/ai#6166, vercel/ai#17893
#[test]
fn many_deltas_in_one_task_are_one_batch_and_the_end_state_comes_with_the_last_text() {
    let mut chat = Chat::new();
    chat.push(sse([content("0")]).as_bytes());
    chat.drain();
    for number in 1..500 {
        chat.push(sse([content(&format!(" {number}"))]).as_bytes());
        assert_eq!(chat.chat.due(false), Due::Frame, "one frame, however many deltas came");
    }
    let batch = chat.drain();
    assert_eq!(batch.len(), 1, "one append: {batch:?}");
    assert_eq!(chat.chat.due(false), Due::Never);

    chat.push(sse([content(" end"), end("stop")]).as_bytes());
    let batch = chat.drain();
    let place = |op: &str| batch.iter().position(|known| known["op"] == op).unwrap();
    assert!(place("append") < place("update"), "the text stands before its end shows: {batch:?}");
    assert_eq!(batch[place("update")]["patch"]["state"], "done");
}

/// vercel/ai#13160
#[test]
fn a_stream_that_starts_in_the_middle_opens_its_rows() {
    check_lines(
        &[r#"{"choices":[{"delta":{"content":"and so on"}}]}"#.into(), end("stop")],
        r#"text done "and so on""#,
    );
    // The rest of a call whose start went by is a call without a name: shown, and as whole as it is.
    check_lines(
        &[call(r#"{"index":3,"function":{"arguments":"\"x\":1}"}}"#), end("tool_calls")],
        r#"tool failed ?("x":1}) !arguments-malformed"#,
    );
}

/// vercel/ai#11269, vercel/ai#13733
#[test]
fn new_fields_and_new_record_types_break_nothing_and_are_counted() {
    let outcome = check_lines(
        &[
            r#"{"id":"r","object":"chat.completion.chunk","new":{"a":[1]},"choices":[{"index":0,"new":1,"delta":{"content":"a","new":[{}]},"finish_reason":null}]}"#,
            r#"{"type":"x-new","object":"chat.new.event","payload":1}"#,
            r#"{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop","new":1}],"new":1}"#,
        ],
        r#"text done "a""#,
    );
    assert_eq!((outcome.tally.skipped, outcome.tally.applied), (1, 2));
}

/// vercel/ai#13137, vercel/ai#16838
#[test]
fn arguments_are_final_only_when_the_provider_says_so() {
    let first = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}"#);
    check_open(sse([&first]), r#"tool preparing f#c({"a":1})"#);
    let spaces = call(r#"{"index":0,"function":{"arguments":"   "}}"#);
    check_open(sse([&first, &spaces]), r#"tool preparing f#c({"a":1}   )"#);
    check_lines(&[first.clone(), spaces, end("tool_calls")], r#"tool pending f#c({"a":1}   ) whole"#);
    check(sse([&first]), r#"tool interrupted f#c({"a":1})"#);

    let one = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"1"}}"#);
    let zero = call(r#"{"index":0,"function":{"arguments":"0"}}"#);
    check_open(sse([&one]), "tool preparing f#c(1)");
    check_lines(&[one, zero, end("tool_calls")], "tool pending f#c(10) whole");
}

/// vercel/ai#14277 via apache/maka#1976, huggingface/smolagents#1958
#[test]
fn two_ids_on_index_0_are_two_rows() {
    check_lines(
        &[
            call(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}"#),
            call(r#"{"index":0,"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}"#),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({"x":1}) whole
        tool pending f#b({"x":2}) whole
        "#,
    );
}

/// openai/openai-python#2806, SamSaffron/term-llm#314
#[test]
fn without_an_index_ids_make_rows_and_a_fragment_without_id_goes_to_the_last() {
    check_lines(
        &[
            call(r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#),
            call(r#"{"id":"b","function":{"name":"f","arguments":"{\"x\""}}"#),
            call(r#"{"function":{"arguments":":2}"}}"#),
            end("tool_calls"),
        ],
        r#"
        tool pending f#a({"x":1}) whole
        tool pending f#b({"x":2}) whole
        "#,
    );
}

/// can1357/oh-my-pi#1779
#[test]
fn arguments_that_are_an_object_become_its_text() {
    check_lines(
        &[call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":{"x": {"y":[1, "z"]}}}}"#), end("tool_calls")],
        r#"tool pending f#c({"x": {"y":[1, "z"]}}) whole"#,
    );
    // The same in a message that does not stream.
    check_lines(
        &[
            r#"{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        r#"tool pending f#c({"x":1}) whole"#,
    );
}

/// continuedev/continue#11978 (reported for Responses; the rule is the core's)
#[test]
fn one_call_and_three_argument_deltas_are_one_row_and_three_appends() {
    let mut chat = Chat::new();
    let mut ops: Vec<Value> = Vec::new();
    for (number, arguments) in ["", "{\\\"a\\\"", ":", "1}"].into_iter().enumerate() {
        let start = if number == 0 { r#""id":"c","# } else { "" };
        let name = if number == 0 { r#""name":"f","# } else { "" };
        let record = call(&format!(r#"{{{start}"function":{{{name}"arguments":"{arguments}"}}}}"#));
        chat.push(sse([record]).as_bytes());
        ops.extend(chat.drain());
    }
    let count = |op: &str| ops.iter().filter(|known| known["op"] == op).count();
    assert_eq!(count("insert"), 1);
    let appends: Vec<&Value> =
        ops.iter().filter(|op| op["op"] == "append" && op["field"] == "tool.input").map(|op| &op["text"]).collect();
    assert_eq!(appends, ["{\"a\"", ":", "1}"]);
}

/// continuedev/continue#13144, openai/openai-go#651, mnfst/llm-gateway#2053
#[test]
fn pings_and_empty_events_break_nothing_and_a_payload_that_is_none_is_one_fault() {
    let input = format!(
        ": ping\n\n{}data:\n\n: ping\n\ndata: : PROCESSING\n\n{}event: ping\n\n{}",
        sse([content("a")]),
        sse([content("b")]),
        sse([end("stop")])
    );
    let outcome = check_faults(input, r#"text done "ab""#, &["json"]);
    assert_eq!(outcome.faults[0].2, ": PROCESSING");
}

/// assistant-ui/assistant-ui#4819, hey-api/hey-api#3054, lobehub/lobehub#18805, ollama/ollama-js#255
#[test]
fn frames_with_crlf_and_every_byte_cut_of_a_character_give_the_same_rows() {
    let input = sse([content("é😀"), end("stop")]);
    let lf = check(&input, r#"text done "é😀""#);
    let crlf = check(input.replace('\n', "\r\n"), r#"text done "é😀""#);
    let lines = check(values([content("é😀"), end("stop")]).replace('\n', "\r\n"), r#"text done "é😀""#);
    assert_eq!(lf.rows, crlf.rows);
    assert_eq!(lf.rows, lines.rows);
}

/// ag-ui-protocol/ag-ui#1644, ag-ui-protocol/ag-ui#1048, ag-ui-protocol/ag-ui#883
#[test]
fn a_delta_costs_the_same_however_long_the_chat_is() {
    let cost = |history: usize| {
        let mut chat = Chat::new();
        for number in 0..history {
            let record = format!(
                r#"{{"id":"h{number}","choices":[{{"index":0,"delta":{{"content":"{}"}},"finish_reason":"stop"}}]}}"#,
                "x".repeat(5000)
            );
            chat.push(sse([record]).as_bytes());
        }
        chat.chat.drain(&mut |_: RowOp<'_>| ());
        let before = work(&chat);
        for number in 0..1000 {
            let record = sse([content(&format!("word {number} ")).replace("\"r\"", "\"last\"")]);
            chat.push(record.as_bytes());
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        work(&chat) - before
    };
    let (empty, long) = (cost(0), cost(40));
    // The first event of a response may take the ordinary way once or twice more; nothing else may differ.
    assert!(long < empty + 2000, "{empty} against {long}");
}

/// CopilotKit/CopilotKit#2684 (reported for AG-UI; the rule is the core's)
#[test]
fn text_and_calls_may_interleave() {
    check_lines(
        &[
            content("first "),
            call(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#),
            content("between"),
            call(r#"{"index":0,"function":{"arguments":":1}"}}"#),
            content(" and on"),
            end("tool_calls"),
        ],
        r#"
        text done "first "
        tool pending f#a({"x":1}) whole
        text done "between and on"
        "#,
    );
}

/// CopilotKit/CopilotKit#4934 (reported for AG-UI): a bad record may not leave the chat streaming
#[test]
fn a_record_that_is_wrong_leaves_nothing_streaming_after_the_end() {
    for wrong in [r#"{"choices":[{"delta":{"tool_calls":[{"index":"x","function":7}]}}]}"#, r#"{"choices":"#] {
        let outcome = outcome(sse([content("a"), wrong.to_owned(), end("stop")]).as_bytes());
        assert_eq!(lines(&outcome.rows).lines().next(), Some(r#"text done "a""#));
        assert_eq!(outcome.panels["activity"], json!({"state": "idle"}));
    }
}

/// agentjido/req_llm#638 (reported for Gemini): a finish without content may not be lost
#[test]
fn a_finish_without_content_finishes() {
    check_lines(
        &[content("a"), r#"{"id":"r","choices":[{"index":0,"finish_reason":"stop"}]}"#.into()],
        r#"text done "a""#,
    );
    check_lines(
        &[content("a"), r#"{"id":"r","choices":[{"index":0,"delta":null,"finish_reason":"length"}]}"#.into()],
        r#"text done "a" truncated"#,
    );
}

/// coder/coder#28470
#[test]
fn a_malformed_call_that_the_provider_reports_is_an_error_and_no_empty_success() {
    let outcome = check_lines(
        &[content("a"), end("MALFORMED_FUNCTION_CALL")],
        r#"
        text interrupted "a"
        error done !MALFORMED_FUNCTION_CALL
        "#,
    );
    assert_eq!(outcome.end, Some(chatrows::End::Interrupted));
}

/// zgsm-ai/costrict#1360, pi#10897
#[test]
fn arguments_that_were_cut_are_never_handed_out() {
    let cut =
        call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"path\":\"a.txt\",\"content\":\"half"}}"#);
    for finish in [Some("stop"), Some("tool_calls"), Some("length"), Some("content_filter"), None] {
        let mut chat = Chat::new();
        chat.push(sse([cut.clone()].into_iter().chain(finish.map(end))).as_bytes());
        chat.finish();
        chat.drain();
        let row = chat.chat.rows().next().unwrap();
        assert_eq!((row.tool.as_ref().unwrap().input_done, chat.chat.args(row.id)), (false, None), "{finish:?}");
        let id = row.id;
        assert!(chat.chat.tool_started(ToolRef::Row(id)).is_err(), "{finish:?}");
        assert!(chat.chat.tool_result(ToolRef::Row(id), Some("x"), false).is_err(), "{finish:?}");
    }
    // An abort does the same.
    let mut chat = Chat::new();
    chat.push(sse([&cut]).as_bytes());
    chat.abort();
    chat.drain();
    assert_eq!(chat.lines(), r#"tool cancelled f#c({"path":"a.txt","content":"half)"#);
    assert_eq!(chat.chat.args(chat.chat.rows().next().unwrap().id).as_deref(), None);
}

/// farion1231/cc-switch#6793 (reported for Responses): the whole of an answer at its end may not replay it
#[test]
fn the_whole_message_at_the_end_of_its_deltas_shows_once() {
    let last = r#"{"id":"r","object":"chat.completion.done","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"delta":{"content":""},"finish_reason":"stop"}]}"#;
    check_lines(&[content("Hel"), content("lo"), last.into()], r#"text done "Hello""#);
    // Without an empty delta beside it the message is a repeat all the same.
    let last = r#"{"id":"r","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#;
    check_lines(&[content("Hel"), content("lo"), last.into()], r#"text done "Hello""#);
}

/// farion1231/cc-switch#6793: the same for calls and reasoning
#[test]
fn the_whole_message_at_the_end_of_its_calls_shows_them_once() {
    let whole = |message: &str| {
        format!(
            r#"{{"id":"r","object":"chat.completion","choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}]}}"#
        )
    };
    let one = r#"{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}"#;
    let expected = r#"tool pending f#c({"x":1}) whole"#;
    check_lines(&[call(one), whole(&format!(r#"{{"content":null,"tool_calls":[{one}]}}"#))], expected);
    check_lines(
        &[chunk(r#"{"reasoning":"hm"}"#), call(one), whole(&format!(r#"{{"reasoning":"hm","tool_calls":[{one}]}}"#))],
        &format!("reasoning done \"hm\"\n{expected}"),
    );
}

/// assistant-ui/assistant-ui#5524
#[test]
fn a_lone_minus_leaves_the_fields_as_they_were() {
    let before = call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":\"x\",\"b\":"}}"#);
    let minus = call(r#"{"index":0,"function":{"arguments":"-"}}"#);
    let rows = check_open(sse([&before, &minus]), r#"tool preparing f#c({"a":"x","b":-)"#);
    assert_eq!(fields(&rows[0]), "a=x");
    let rest = call(r#"{"index":0,"function":{"arguments":"1}"}}"#);
    let outcome = check_lines(&[before, minus, rest, end("tool_calls")], r#"tool pending f#c({"a":"x","b":-1}) whole"#);
    assert_eq!(fields(&outcome.rows[0]), "a=x b=-1");
}

/// The chat of the examples, to see that the plain way in works without the tests' own runner.
#[test]
fn a_chat_is_three_lines() {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::OpenAiChat);
    chat.push(stream, sse([content("Hello"), end("stop")]).as_bytes());
    assert_eq!(chat.finish(stream), chatrows::End::Done);
    assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("Hello"));
}
