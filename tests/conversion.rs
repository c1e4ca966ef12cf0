//! Any wire as OpenAI chat completion chunks: the table of the plain style row by row, and the modern style, which read
//! again gives the same text, reasoning and arguments.

#![cfg(all(not(target_arch = "wasm32"), feature = "conversion"))]

mod support;

use chatrows::{ChatRows, CompletionOptions, CompletionStyle, Conversion, Format, Options, RowKind};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Random, cases};

fn options(style: CompletionStyle) -> CompletionOptions {
    CompletionOptions { id: "chat-1".into(), model: "monkeycode".into(), created: 1_719_561_600, style }
}

fn plain() -> Conversion {
    Conversion::new(Format::TaskStream, options(CompletionStyle::Plain))
}

fn modern(format: Format) -> Conversion {
    Conversion::new(format, options(CompletionStyle::Modern))
}

fn event(event: Value) -> String {
    json!({"type": "task-running", "kind": "acp_event", "data": event.to_string()}).to_string()
}

fn take(conversion: &mut Conversion) -> Vec<Value> {
    conversion.take().iter().map(|json| serde_json::from_str(json).unwrap()).collect()
}

/// Deltas and finish reasons.
fn said(conversion: &mut Conversion) -> Vec<Value> {
    take(conversion).into_iter().map(|mut chunk| chunk["choices"][0].take()).collect()
}

fn delta(delta: Value) -> Value {
    json!({"index": 0, "delta": delta, "finish_reason": null})
}

fn stop() -> Value {
    json!({"index": 0, "delta": {}, "finish_reason": "stop"})
}

#[test]
fn each_chunk_carries_what_the_caller_gave() {
    let mut conversion = plain();
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "Hello"})));
    let expected = json!({
        "id": "chat-1", "object": "chat.completion.chunk", "created": 1_719_561_600, "model": "monkeycode",
        "choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": null}],
    });
    assert_eq!(take(&mut conversion), [expected]);
}

#[test]
fn the_table_of_the_plain_style() {
    for (input, expected) in [
        (json!({"type": "agent_message_chunk", "text": "Hello"}), Some("Hello")),
        (json!({"type": "agent_message_chunk", "content": "Hello"}), Some("Hello")),
        (json!({"type": "agent_message_chunk", "text": ""}), None),
        (json!({"type": "agent_thought_chunk", "content": "思考中..."}), Some("[Thinking] 思考中...")),
        (json!({"type": "agent_thought_chunk", "text": ""}), None),
        (json!({"type": "tool_call", "tool_name": "bash", "tool_input": "ls -la"}), Some("[Tool: bash] ls -la")),
        (json!({"type": "usage_update", "input_tokens": 150, "output_tokens": 450}), None),
        (json!({"type": "tool_call_update", "status": "completed", "tool_input": "ls"}), None),
        (json!({"type": "plan", "steps": ["a"]}), None),
        (json!({"type": "available_commands_update", "commands": []}), None),
    ] {
        let mut conversion = plain();
        conversion.push_message(&event(input.clone()));
        let expected: Vec<Value> = expected.iter().map(|text| delta(json!({"content": text}))).collect();
        assert_eq!(said(&mut conversion), expected, "{input}");
    }
}

#[test]
fn each_thought_has_its_own_prefix() {
    let mut conversion = plain();
    for text in ["a", "b"] {
        conversion.push_message(&event(json!({"type": "agent_thought_chunk", "text": text})));
    }
    let expected = ["[Thinking] a", "[Thinking] b"].map(|text| delta(json!({"content": text})));
    assert_eq!(said(&mut conversion), expected);
}

#[test]
fn a_task_ends_with_stop_and_no_usage_where_the_total_is_zero() {
    let mut conversion = plain();
    conversion.push_message(&event(json!({"type": "usage_update", "input_tokens": 150, "output_tokens": 450})));
    conversion.push_message(
        &json!({"type": "task-ended", "data": r#"{"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}"#})
            .to_string(),
    );
    let chunks = take(&mut conversion);
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0]["choices"][0], stop());
    assert_eq!(chunks[0].get("usage"), None, "neither of a total of zero, nor of what ended the task");
}

#[test]
fn a_usage_with_a_total_comes_with_the_end() {
    let mut conversion = plain();
    conversion.push_message(&event(
        json!({"type": "usage_update", "input_tokens": 150, "output_tokens": 450, "total_tokens": 600}),
    ));
    conversion.push_message(&event(
        json!({"type": "usage_update", "input_tokens": 0, "output_tokens": 460, "total_tokens": 0}),
    ));
    conversion.push_message(r#"{"type":"task-ended"}"#);
    let chunks = take(&mut conversion);
    assert_eq!(chunks[0]["usage"], json!({"prompt_tokens": 150, "completion_tokens": 460, "total_tokens": 600}));
}

#[test]
fn a_task_that_failed_says_so_and_ends() {
    for data in [json!("timeout"), json!({"error": "timeout"}), json!(r#"{"error":"timeout"}"#)] {
        let mut conversion = plain();
        conversion.push_message(&json!({"type": "task-error", "data": data}).to_string());
        assert_eq!(said(&mut conversion), [delta(json!({"content": "[Error] timeout"})), stop()]);
    }
}

#[test]
fn a_task_ends_once_and_a_further_turn_ends_again() {
    let mut conversion = plain();
    conversion.push_message(r#"{"type":"task-ended"}"#);
    conversion.push_message(r#"{"type":"task-ended"}"#);
    assert_eq!(said(&mut conversion), [stop()]);
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "more"})));
    conversion.push_message(r#"{"type":"task-ended"}"#);
    assert_eq!(said(&mut conversion), [delta(json!({"content": "more"})), stop()]);
}

#[test]
fn an_input_that_breaks_off_ends_with_length() {
    let mut conversion = plain();
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "mo"})));
    conversion.finish();
    let said = said(&mut conversion);
    assert_eq!(said[1]["finish_reason"], "length");
    let mut nothing = plain();
    nothing.finish();
    assert!(nothing.take().is_empty());
}

#[test]
fn as_events_each_chunk_is_one() {
    let mut conversion = plain();
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "a\nb"})));
    conversion.push_message(r#"{"type":"task-ended"}"#);
    let events = conversion.take_events();
    assert_eq!(events.matches("data: {").count(), 2);
    assert!(events.ends_with("\n\n") && !events.contains("[DONE]"));
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::OpenAiChat);
    chat.push(stream, events.as_bytes());
    assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("a\nb"));
}

#[test]
fn a_turn_that_comes_again_is_not_written_again() {
    for style in [CompletionStyle::Plain, CompletionStyle::Modern] {
        let frames = [
            event(json!({"type": "agent_thought_chunk", "text": "hm"})),
            event(json!({"type": "agent_message_chunk", "text": "Hel"})),
            event(json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "ls", "status": "completed"})),
        ];
        let mut conversion = Conversion::new(Format::TaskStream, options(style));
        frames.iter().for_each(|frame| conversion.push_message(frame));
        let before = conversion.take().len();
        assert_eq!(before, 3);
        assert!(conversion.restart_turn());
        frames.iter().for_each(|frame| conversion.push_message(frame));
        assert!(conversion.take().is_empty(), "{style:?}");
        conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "lo"})));
        assert_eq!(said(&mut conversion)[0]["delta"], json!({"content": "lo"}));
    }
}

#[test]
fn blank_text_that_a_cut_left_waiting_adds_no_tail() {
    let frames = [
        event(json!({"type": "agent_message_chunk", "text": "<think>"})),
        event(json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "ls", "status": "completed"})),
        event(json!({"type": "agent_message_chunk", "text": " "})),
    ];
    let mut conversion = plain();
    frames.iter().for_each(|frame| conversion.push_message(frame));
    assert_eq!(said(&mut conversion).len(), 2);
    assert!(conversion.restart_turn());
    frames.iter().for_each(|frame| conversion.push_message(frame));
    assert_eq!(said(&mut conversion), [] as [Value; 0]);
}

#[test]
fn a_newer_turn_after_an_attach_is_written_whole() {
    let user = |text: &str| json!({"type": "user-input", "data": json!(text).to_string()}).to_string();
    let mut conversion = plain();
    conversion.push_message(&user("a"));
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "hello"})));
    assert!(conversion.restart_turn());
    conversion.take();
    conversion.push_message(&user("b"));
    conversion.push_message(&event(json!({"type": "agent_message_chunk", "text": "worlds apart"})));
    assert_eq!(said(&mut conversion), [stop(), delta(json!({"content": "worlds apart"}))]);
}

// --- The modern style ---------------------------------------------------------------------------------------------

/// Kind, text or arguments, and name of each row that a reader of the answer cares for.
fn spoken(format: Format, input: &[String]) -> Vec<(RowKind, String, String)> {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(format);
    input.iter().for_each(|record| chat.push_message(stream, record));
    chat.finish(stream);
    let row = |row: &chatrows::Row| match row.kind {
        RowKind::Text | RowKind::Reasoning => Some((row.kind, row.text.clone().unwrap_or_default(), String::new())),
        RowKind::Tool => {
            let tool = row.tool.as_ref()?;
            let name = if tool.name.is_empty() {
                serde_json::from_str(row.facts.get(chatrows::Fact::Title)?).ok()?
            } else {
                tool.name.clone()
            };
            Some((row.kind, tool.input.clone(), name))
        }
        _ => None,
    };
    chat.rows().filter_map(row).collect()
}

/// The same, once converted and read as what it became.
fn spoken_again(format: Format, input: &[String]) -> Vec<(RowKind, String, String)> {
    let mut conversion = modern(format);
    input.iter().for_each(|record| conversion.push_message(record));
    conversion.finish();
    spoken(Format::OpenAiChat, &conversion.take())
}

#[test]
fn reasoning_and_calls_have_fields_of_their_own() {
    let mut conversion = modern(Format::TaskStream);
    for update in [
        json!({"type": "agent_thought_chunk", "text": "hm"}),
        json!({"type": "agent_message_chunk", "text": "ok"}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "run", "rawInput": {}}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": "ls", "rawInput": {"command": "ls"}, "status": "completed"}),
    ] {
        conversion.push_message(&event(update));
    }
    conversion.push_message(r#"{"type":"task-ended"}"#);
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "ls", "arguments": r#"{"command":"ls"}"#}}]);
    let expected = [
        delta(json!({"role": "assistant", "reasoning_content": "hm"})),
        delta(json!({"content": "ok"})),
        delta(json!({"tool_calls": call})),
        json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"}),
    ];
    assert_eq!(said(&mut conversion), expected);
}

#[test]
fn calls_whose_arguments_stream_are_passed_on_as_they_come() {
    let chunk = |calls: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string();
    let input = [
        chunk(json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}])),
        chunk(json!([{"index": 0, "function": {"arguments": "{\"pa"}}])),
        chunk(json!([{"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}}])),
        chunk(json!([{"index": 0, "function": {"arguments": "th\":1}"}}])),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).to_string(),
    ];
    let mut conversion = modern(Format::OpenAiChat);
    let mut sent = Vec::new();
    for record in &input {
        conversion.push_message(record);
        sent.push(conversion.take().len());
    }
    assert_eq!(sent, [1, 1, 2, 1, 1], "nothing waits: a call that begins with arguments is two deltas");
    assert_eq!(spoken_again(Format::OpenAiChat, &input), spoken(Format::OpenAiChat, &input));
}

#[test]
fn an_error_in_the_modern_style_is_an_error_beside_no_choices() {
    let mut conversion = modern(Format::TaskStream);
    conversion.push_message(r#"{"type":"task-error","data":{"error":"out of memory"}}"#);
    assert_eq!(take(&mut conversion)[0], json!({"error": {"message": "out of memory"}}));
}

#[test]
fn tokens_that_come_after_the_end_are_not_lost() {
    let mut conversion = modern(Format::OpenAiChat);
    conversion.push_message(r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#);
    conversion.push_message(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#);
    conversion.finish();
    let chunks = take(&mut conversion);
    let last = chunks.last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]["total_tokens"]), (&json!([]), &json!(3)));
}

#[test]
fn each_choice_has_its_role_and_its_end() {
    let choice = |index: u32, delta: Value, finish: Option<&str>| json!({"index": index, "delta": delta, "finish_reason": finish});
    let record = |choices: Value| json!({"choices": choices}).to_string();
    let mut conversion = modern(Format::OpenAiChat);
    let call = json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]);
    conversion.push_message(&record(json!([
        choice(0, json!({"tool_calls": call}), None),
        choice(1, json!({"content": "x"}), None),
    ])));
    conversion.take();
    conversion.push_message(&record(json!([
        choice(1, json!({}), Some("stop")),
        choice(0, json!({}), Some("stop")),
        choice(2, json!({}), Some("length")),
    ])));
    let ends = [
        choice(1, json!({}), Some("stop")),
        choice(0, json!({}), Some("tool_calls")),
        choice(2, json!({}), Some("length")),
    ];
    assert_eq!(said(&mut conversion), ends);
    conversion.push_message(&record(json!([
        choice(0, json!({"content": "y"}), None),
        choice(1, json!({"content": "z"}), None)
    ])));
    conversion.finish();
    let role = |content: &str| json!({"role": "assistant", "content": content});
    let expected = [
        choice(0, role("y"), None),
        choice(1, role("z"), None),
        choice(0, json!({}), Some("length")),
        choice(1, json!({}), Some("length")),
    ];
    assert_eq!(said(&mut conversion), expected);
}

#[test]
fn a_usage_whose_total_is_zero_is_not_written() {
    for style in [CompletionStyle::Plain, CompletionStyle::Modern] {
        for late in [false, true] {
            let mut conversion = Conversion::new(Format::TaskStream, options(style));
            let end = r#"{"type":"task-ended"}"#;
            if late {
                conversion.push_message(end);
            }
            conversion.push_message(&event(json!({"type": "usage_update", "input_tokens": 150, "output_tokens": 450})));
            if !late {
                conversion.push_message(end);
            }
            conversion.finish();
            let chunks = take(&mut conversion);
            assert_eq!((chunks.len(), chunks[0].get("usage")), (1, None), "{style:?}, late: {late}");
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_was_converted_says_the_same(seed: u64) {
        let mut random = Random(seed);
        let mut input = Vec::new();
        for number in 0..random.below(25) {
            let id = format!("t{}", random.below(4));
            let texts = ["a", "b\n", "\"", "😀", "{", "x y"];
            let text = texts[random.below(6)];
            input.push(event(match random.below(6) {
                0 | 1 => json!({"type": "agent_message_chunk", "text": text}),
                2 => json!({"type": "agent_thought_chunk", "text": text}),
                3 => json!({"sessionUpdate": "tool_call", "toolCallId": format!("n{number}"), "name": "f", "rawInput": {"n": number, "t": text}, "status": "completed"}),
                4 => json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "g", "rawInput": {}}),
                _ => json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "rawInput": {"last": number}}),
            }));
        }
        input.push(r#"{"type":"task-ended"}"#.to_owned());
        let sort = |mut rows: Vec<(RowKind, String, String)>| {
            // A call whose arguments may still change comes later than it began.
            rows.sort();
            rows
        };
        let joined = |rows: &[(RowKind, String, String)], kind: RowKind| {
            rows.iter().filter(|row| row.0 == kind).map(|row| row.1.clone()).collect::<String>()
        };
        let (before, after) = (spoken(Format::TaskStream, &input), spoken_again(Format::TaskStream, &input));
        for kind in [RowKind::Text, RowKind::Reasoning] {
            prop_assert_eq!(joined(&before, kind), joined(&after, kind));
        }
        let calls = |rows: Vec<(RowKind, String, String)>| {
            let arguments = |row: (RowKind, String, String)| (row.0, if row.1.is_empty() { "{}".into() } else { row.1 }, row.2);
            sort(rows.into_iter().filter(|row| row.0 == RowKind::Tool).map(arguments).collect())
        };
        prop_assert_eq!(calls(before), calls(after));
    }
}
