//! Work is linear: twice the input costs twice the work, counted in bytes visited (`tally().work`), never in time. And
//! for the work that the count could miss there are inputs on which anything quadratic would not end.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Format, Limits, Options, RowOp};
use serde_json::{Map, Value, json};
use support::*;

/// Work for each byte of input, and the chat. Drained after each piece, as a page would.
fn work(input: &[u8], piece: usize) -> (f64, Chat) {
    let mut chat = Chat::unwatched();
    for piece in input.chunks(piece) {
        chat.push(piece);
        chat.chat.drain(&mut |_: RowOp<'_>| ());
    }
    chat.finish();
    chat.chat.drain(&mut |_: RowOp<'_>| ());
    (chat.chat.tally().work as f64 / input.len() as f64, chat)
}

/// `make(n)` makes an input of size n: the work for each byte is the same for n and for 4 n, within a few per cent,
/// for pieces of the network's size and for small ones.
#[track_caller]
fn check(make: impl Fn(usize) -> Vec<u8>, n: usize) {
    for piece in [16 << 10, 300] {
        let (small, _) = work(&make(n), piece);
        let (large, _) = work(&make(4 * n), piece);
        assert!(large < small * 1.05 + 0.02, "{small} per byte grow to {large}, pieces of {piece}");
        assert!(large < 8.0, "{large} per byte, pieces of {piece}");
    }
}

fn deltas(count: usize, delta: impl Fn(usize) -> String) -> Vec<u8> {
    sse((0..count).map(delta)).into_bytes()
}

/// One call with an argument of `bytes` bytes in deltas of 24.
fn argument(bytes: usize) -> Vec<u8> {
    let first =
        call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{\"path\":\"a.txt\",\"content\":\""}}"#);
    let piece = call(r#"{"index":0,"function":{"arguments":"0123456789 abcdefghij\\\\n"}}"#);
    let last = call(r#"{"index":0,"function":{"arguments":"\"}"}}"#);
    let rest = [last, end("tool_calls")];
    let pieces = std::iter::repeat_n(piece, bytes / 24);
    sse(std::iter::once(first).chain(pieces).chain(rest)).into_bytes()
}

#[test]
fn text() {
    check(|n| deltas(n, |i| content(&format!("word {i} "))), 1000);
}

#[test]
fn text_with_escapes_that_no_shortcut_takes() {
    check(|n| deltas(n, |i| format!(r#"{{"n":{i},"choices":[{{"delta":{{"content":"w\n{i}"}}}}]}}"#)), 1000);
}

#[test]
fn one_argument_in_small_deltas() {
    // 256 KiB and 1 MiB.
    check(argument, 256 << 10);
    let (_, chat) = work(&argument(1 << 20), 16 << 10);
    assert!(chat.lines().ends_with("whole"));
}

#[test]
fn an_argument_of_many_values() {
    check(
        |n| {
            let value = |i: usize| {
                let start = if i == 0 { "[" } else { "," };
                call(&format!(r#"{{"index":0,"id":"c","function":{{"arguments":"{start}{{\"k{i}\":{i}}}"}}}}"#))
            };
            deltas(n, value)
        },
        1000,
    );
}

#[test]
fn an_argument_that_repeats_its_keys() {
    check(
        |n| {
            let value = |i: usize| {
                let start = if i == 0 { "{" } else { "," };
                call(&format!(r#"{{"index":0,"id":"c","function":{{"arguments":"{start}\"k\":{i}"}}}}"#))
            };
            deltas(n, value)
        },
        1000,
    );
}

#[test]
fn many_calls() {
    // As many as may be open, in one response after the other.
    check(
        |n| {
            let record = |i: usize| {
                let (response, finish) = (i / 8, if i % 8 == 7 { "\"tool_calls\"" } else { "null" });
                format!(
                    r#"{{"id":"r{response}","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{i},"id":"c{i}","function":{{"name":"f","arguments":"{{}}"}}}}]}},"finish_reason":{finish}}}]}}"#
                )
            };
            deltas(n, record)
        },
        800,
    );
}

#[test]
fn many_responses() {
    check(
        |n| {
            deltas(n, |i| {
                format!(r#"{{"id":"r{i}","choices":[{{"delta":{{"content":"x"}},"finish_reason":"stop"}}]}}"#)
            })
        },
        1000,
    );
}

#[test]
fn many_faults() {
    check(|n| deltas(n, |_| "{\"a\":".to_owned()), 1000);
    check(|n| deltas(n, |_| "nonsense".to_owned()), 1000);
    check(|n| "<p>no stream</p>\n".repeat(n).into_bytes(), 1000);
}

#[test]
fn bare_lines() {
    check(|n| values((0..n).map(|i| content(&format!("word {i} ")))).into_bytes(), 1000);
}

#[test]
fn bare_lines_that_break() {
    let with = |broken: &'static str| {
        move |n: usize| {
            values([content("a"), end("stop")].into_iter().chain((0..n).map(|_| broken.to_owned()))).into_bytes()
        }
    };
    for broken in ["{\"a\":", "{\"a\":\"x", "{\"a\":tru}", "[1,2", "nonsense", "{\"a\":{\"b\":[", "[", "data: {"] {
        check(with(broken), 1000);
    }
}

#[test]
fn values_over_many_lines() {
    check(|n| format!("{{\"choices\":[\n{}null]}}\n", "null,\n".repeat(n)).into_bytes(), 4000);
    // One that never ends and one that breaks at its end.
    check(|n| format!("{{\"a\":[\n{}", "1,\n".repeat(n)).into_bytes(), 4000);
    check(|n| format!("{{\"a\":[\n{}x]}}\n", "1,\n".repeat(n)).into_bytes(), 4000);
    check(|n| format!("{{\"a\":[\n{}x\n", "{\"b\":1},\n".repeat(n)).into_bytes(), 4000);
}

#[test]
fn repeated_error_bodies() {
    let error = r#"{"error":{"message":"busy","code":503}}"#;
    check(|n| deltas(n, |_| error.to_owned()), 1000);
    check(|n| values((0..n).map(|_| error)).into_bytes(), 1000);
    check(|n| error.repeat(n).into_bytes(), 1000);
}

#[test]
fn one_large_record() {
    check(|n| sse([content(&"x".repeat(n))]).into_bytes(), 256 << 10);
    check(|n| values([content(&"x".repeat(n))]).into_bytes(), 256 << 10);
    check(|n| format!("data: {}\n\n", "data".repeat(n)).into_bytes(), 64 << 10);
    check(|n| "data: 1\n".repeat(n).into_bytes(), 4000);
}

#[test]
fn line_ends_without_lines() {
    check(|n| "\r\n".repeat(n).into_bytes(), 10_000);
    check(|n| format!("data: {{}}\n\n{}", "\r".repeat(n)).into_bytes(), 10_000);
    check(|n| ": ping\n\n".repeat(n).into_bytes(), 4000);
}

#[test]
fn a_replay_costs_as_much_as_the_stream() {
    let run = |n: usize| {
        let input = deltas(n, |i| content(&format!("word {i} ")));
        let (first, mut chat) = work(&input, 4096);
        chat.chat.restart(chat.stream);
        for piece in input.chunks(4096) {
            chat.push(piece);
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.chat.tally().work as f64 / input.len() as f64 / first
    };
    let (small, large) = (run(1000), run(4000));
    // It goes the ordinary way, without the shortcut.
    assert!(small < 4.0 && large < small * 1.05, "{small}, {large}");
}

#[test]
fn many_streams_at_once() {
    let run = |streams: usize| {
        let mut chat = Chat::unwatched();
        let all: Vec<_> = (0..streams).map(|_| chat.chat.stream(chatrows::Format::OpenAiChat)).collect();
        let mut bytes = 0;
        for round in 0..20 {
            for stream in &all {
                let record = sse([content(&format!("word {round} "))]);
                bytes += record.len();
                chat.chat.push(*stream, record.as_bytes());
            }
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.chat.tally().work as f64 / bytes as f64
    };
    let (few, many) = (run(10), run(40));
    assert!(many < few * 1.05, "{few} against {many}");
}

#[test]
fn field_lines_that_end_no_event() {
    check(|n| "retry: 1\n".repeat(n).into_bytes(), 4_000);
    check(|n| "event: x\nid: 1\n".repeat(n).into_bytes(), 4_000);
}

#[test]
fn values_on_one_line() {
    check(|n| "{\"a\":1}".repeat(n).into_bytes(), 4_000);
}

/// Block arrays: what is looked at for each byte may grow by the steps of a search among the keys, and by no more.
#[track_caller]
fn check_arrays(make: impl Fn(usize) -> Vec<String>, n: usize) {
    let run = |n: usize| {
        let mut chat = chat_of(Format::ApiStream, Options::default());
        let mut bytes = 0;
        for array in make(n) {
            bytes += array.len();
            chat.chat.push_message(chat.stream, &array);
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.chat.tally().work as f64 / bytes as f64
    };
    let (small, large) = (run(n), run(4 * n));
    assert!(large < small * 1.2 && large < 8.0, "{small} per byte grow to {large}");
}

/// A number that follows no order.
fn mixed(number: usize) -> u32 {
    (number as u32).wrapping_mul(0x9E37_79B9)
}

fn array(blocks: impl Iterator<Item = String>) -> String {
    ["[", &blocks.collect::<Vec<_>>().join(","), "]"].concat()
}

fn text_block(number: usize, partial: bool) -> String {
    format!(r#"{{"type":"text","content":"{number}","partial":{partial}}}"#)
}

fn tool_block(id: &str, partial: bool) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"w","params":{{}},"partial":{partial}}}"#)
}

#[test]
fn a_long_block_array() {
    for partial in [false, true] {
        check_arrays(|n| vec![array((0..n).map(|i| text_block(i, partial)))], 2000);
        check_arrays(|n| vec![array((0..n).map(|i| tool_block(&i.to_string(), partial)))], 2000);
        check_arrays(|n| vec![array((0..n).map(|i| tool_block(&mixed(i).to_string(), partial)))], 2000);
    }
    let both = |n: usize| array((0..n).flat_map(|i| [text_block(i, false), tool_block(&mixed(i).to_string(), false)]));
    check_arrays(|n| vec![both(n)], 1000);
    // One call many times, and unknown blocks.
    check_arrays(|n| vec![array((0..n).map(|_| tool_block("c", false)))], 2000);
    check_arrays(|n| vec![array((0..n).map(|_| r#"{"type":"x"}"#.to_owned()))], 2000);
}

#[test]
fn a_block_array_that_grows_block_by_block() {
    check_arrays(|n| (0..n).map(|n| array((0..n).map(|i| text_block(i, false)))).collect(), 50);
    check_arrays(|n| (0..n).map(|n| array((0..n).map(|i| tool_block(&i.to_string(), i + 1 == n)))).collect(), 50);
    // Before what stands already.
    let calls = |from: usize, to: usize| array((from..to).map(|i| tool_block(&i.to_string(), false)));
    check_arrays(|n| (0..n).map(|first| calls(n - first, n)).collect(), 50);
    // Open blocks that come and go behind what stands.
    let flicker = |n: usize, round: usize| {
        let last = tool_block(&format!("x{round}"), true);
        array((0..n).map(|i| text_block(i, false)).chain([last]))
    };
    check_arrays(|n| (0..n).map(|round| flicker(n, round)).collect(), 50);
}

#[test]
fn many_block_arrays_of_many_messages() {
    let late = r#"[{"type":"tool_use","name":"w","params":{},"partial":true}]"#;
    let call = |i: usize| array([tool_block(&mixed(i).to_string(), false)].into_iter());
    check_arrays(|n| (0..n).flat_map(|i| [late.to_owned(), call(i)]).collect(), 500);
    check_arrays(|n| (0..n).map(call).collect(), 500);
    check_arrays(|n| (0..n).map(|i| array([text_block(i, false)].into_iter())).collect(), 500);
}

#[test]
fn many_complete_calls() {
    let call = |i: usize| format!(r#"{{"type":"tool_call","id":"c{}","name":"f","arguments":"{{}}"}}"#, mixed(i));
    let partial = r#"{"type":"tool_call_partial","index":7,"arguments":"x"}"#.to_owned();
    check_arrays(|n| (0..n).map(call).collect(), 2000);
    check_arrays(|n| (0..n).flat_map(|i| [call(i), partial.clone()]).collect(), 1000);
    // More than that would not end.
    let mut chat = chat_of(Format::ApiStream, Options::default());
    for i in 0..50_000 {
        chat.chat.push_message(chat.stream, &call(i));
    }
    chat.push(b"{oops\n".repeat(10_000).as_slice());
    chat.finish();
    assert_eq!(chat.chat.rows().filter(|row| row.state == chatrows::RowState::Pending).count(), 50_000);
}

/// Anything that looks at a block for each other block would not end.
#[test]
fn fifty_thousand_blocks() {
    let n = 50_000;
    let limits = Limits { rows: 10 * n, open_blocks: 10 * n, ..Limits::default() };
    let show = |arrays: &[String]| {
        let mut chat = chat_of(Format::ApiStream, Options { limits, ..Options::default() });
        for array in arrays {
            chat.chat.push_message(chat.stream, array);
            chat.chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.finish();
        chat.chat.rows().count()
    };
    let texts = |n: usize, partial: bool| array((0..n).map(|i| text_block(i, partial)));
    let calls = |n: usize, partial: bool| array((0..n).map(|i| tool_block(&mixed(i).to_string(), partial)));
    assert_eq!(show(&[texts(n, true), texts(n, false)]), n);
    assert_eq!(show(&[calls(n, true), calls(n, false)]), n);
    assert_eq!(show(&[calls(n, true), texts(n, true)]), n);
    assert_eq!(show(&[texts(n, false), calls(n, false)]), 2 * n);
    let mixed = array((0..n).flat_map(|i| [text_block(i, false), tool_block(&mixed(n - i).to_string(), false)]));
    assert_eq!(show(&[mixed]), 2 * n);
}

/// The work for each byte of `of(n)`, records of an agent that are pushed one by one, is the same for n and for 4 n but
/// for the logarithm of a search.
#[track_caller]
fn check_agent(format: Format, n: usize, of: impl Fn(usize) -> Vec<Value>) {
    let work = |n: usize| {
        let (mut chat, mut bytes) = (chat_of(format, Options::default()).chat, 0);
        let stream = chat.stream(format);
        for record in of(n) {
            let record = record.to_string();
            bytes += record.len();
            chat.push_message(stream, &record);
            chat.drain(&mut |_: RowOp<'_>| ());
        }
        chat.tally().work as f64 / bytes as f64
    };
    let (small, large) = (work(n), work(4 * n));
    assert!(large < small * 1.2 + 0.02, "{small} per byte grow to {large}");
}

fn agent(session: &str, update: Value) -> Value {
    json!({"method": "session/update", "params": {"sessionId": session, "update": update}})
}

#[test]
fn many_sessions_of_an_agent_and_many_turns() {
    let said = |n: usize| {
        let content = json!({"type": "text", "text": "a"});
        agent(&format!("s{n}"), json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    };
    let cancel = |_| json!({"method": "session/cancel", "params": {"sessionId": "s"}});
    check_agent(Format::Acp, 500, |n| (0..n).map(said).chain((0..n).map(cancel)).collect());
    let prompt = |n: usize| {
        let params = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]});
        json!({"id": n, "method": "session/prompt", "params": params})
    };
    check_agent(Format::Acp, 500, |n| (0..n).map(said).chain((0..n).map(prompt)).collect());
}

#[test]
fn many_questions_of_an_agent_that_are_asked_again_and_answered() {
    let name = |n: usize| format!("Question {n}?");
    let asked = |n: usize| {
        let questions: Vec<Value> = (0..n).map(|n| json!({"question": name(n)})).collect();
        json!({"type": "task-running", "kind": "acp_ask_user_question", "data": {"id": "q", "questions": questions}})
    };
    let answered = |n: usize| {
        let answers: Map<String, Value> = (0..n).map(|n| (name(n), json!("yes"))).collect();
        let data = json!({"request_id": "q", "answers_json": Value::from(answers).to_string(), "cancelled": false});
        json!({"type": "reply-question", "data": data})
    };
    check_agent(Format::TaskStream, 1000, |n| vec![asked(n), answered(n), asked(n), answered(n)]);
    let form = |n: usize| {
        let properties: Map<String, Value> = (0..n).map(|n| (name(n), json!({"type": "string"}))).collect();
        let params = json!({"sessionId": "s", "message": "m", "requestedSchema": {"properties": properties}});
        let content: Map<String, Value> = (0..n).map(|n| (name(n), json!("yes"))).collect();
        let result = json!({"action": "accept", "content": content});
        vec![json!({"id": 1, "method": "elicitation/create", "params": params}), json!({"id": 1, "result": result})]
    };
    check_agent(Format::Acp, 1000, form);
}

/// What the count does not see: were each update to look through what the row asks, this would not end.
#[test]
fn many_updates_of_a_call_that_asks_much() {
    let option = |n: usize| json!({"optionId": n.to_string(), "name": "word ".repeat(20)});
    let options: Vec<Value> = (0..20_000).map(option).collect();
    let params = json!({"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "x"}, "options": options});
    let mut chat = chat_of(Format::Acp, Options::default()).chat;
    let stream = chat.stream(Format::Acp);
    chat.push_message(stream, &json!({"id": 1, "method": "session/request_permission", "params": params}).to_string());
    for n in 0..50_000 {
        let title = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": n.to_string()});
        chat.push_message(stream, &agent("s", title).to_string());
        chat.drain(&mut |_: RowOp<'_>| ());
    }
    let row = chat.rows().next().unwrap();
    assert_eq!((row.busy, row.facts.get(chatrows::Fact::Title)), (false, Some(r#""49999""#)));
}
