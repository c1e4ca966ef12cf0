//! Calls written as tags in a message's text become rows of calls, on every format that carries text.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, Format, Grammar, Limits, Options, StreamOptions, TaggedTools, Thoughts, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, chat_of, end, fields, lines, sse, unindent, without_ids};

fn content(text: &str) -> String {
    json!({"choices": [{"delta": {"content": text}}]}).to_string()
}

fn tagged(tools: TaggedTools) -> Chat {
    let mut chat = chat_of(Format::OpenAiChat, Options::default());
    chat.stream =
        chat.chat.stream(StreamOptions { tagged_tools: Some(tools), ..StreamOptions::from(Format::OpenAiChat) });
    chat
}

/// The rows of a response of these texts, in every cut, and of its replay.
#[track_caller]
fn check(texts: &[&str], finish: &str, expected: &str) -> Chat {
    check_with(&TaggedTools::default(), texts, finish, expected)
}

#[track_caller]
fn check_with(tools: &TaggedTools, texts: &[&str], finish: &str, expected: &str) -> Chat {
    let wire = sse(texts.iter().map(|text| content(text)).chain([end(finish)]));
    let run = |cuts: Cuts| {
        let mut chat = tagged(tools.clone());
        chat.feed(wire.as_bytes(), cuts);
        chat.finish();
        chat.drain();
        chat
    };
    let mut chat = run(Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    for cuts in [Cuts::Every(1), Cuts::Seed(1), Cuts::Seed(2)] {
        assert_eq!(without_ids(&run(cuts).rows()), without_ids(&chat.rows()), "{cuts:?}");
    }
    let rows = chat.rows();
    chat.chat.restart(chat.stream);
    chat.push(wire.as_bytes());
    chat.finish();
    chat.drain();
    assert_eq!(chat.rows(), rows, "a replay changes nothing");
    chat
}

#[test]
fn text_and_calls_are_rows_in_their_order() {
    let chat = check(
        &["I look. <read_f", "ile><path>a.rs</pa", "th></read_file> Then", " more."],
        "stop",
        r#"
        text done "I look."
        tool pending read_file(<path>a.rs</path>) whole
        text done "Then more."
        "#,
    );
    assert_eq!(fields(&chat.rows()[1]), "path=a.rs");
    assert_eq!(chat.rows()[1]["tool"]["tagged"], true);
}

#[test]
fn the_parameters_of_a_call_are_its_arguments() {
    let mut chat = check(
        &["<read_file><path>a \"b\"</path><end_line>3</end_line></read_file>"],
        "stop",
        "tool pending read_file(<path>a \"b\"</path><end_line>3</end_line>) whole",
    );
    let id = chat.chat.rows().next().unwrap().id;
    assert_eq!(chat.chat.args(id).as_deref(), Some(r#"{"path":"a \"b\"","end_line":"3"}"#));
    chat.chat.tool_started(ToolRef::Row(id)).unwrap();
    chat.chat.tool_result(ToolRef::Row(id), Some("x"), false).unwrap();
    assert_eq!(chat.lines(), "tool done read_file(<path>a \"b\"</path><end_line>3</end_line>) whole output \"x\"");
}

#[test]
fn parameters_stream() {
    let mut chat = tagged(TaggedTools::default());
    let mut shown = Vec::new();
    let body =
        ["<write_to_file><path>a.", "txt</path><content>\nOne", " </content> two </cont", "ent></write_to_file>"];
    for text in body {
        chat.push(sse([content(text)]).as_bytes());
        chat.drain();
        let row = &chat.rows()[0];
        shown.push(format!("{} {}", row["state"].as_str().unwrap(), fields(row)));
    }
    assert_eq!(
        shown,
        [
            "preparing path=a.…",
            "preparing path=a.txt content=One…",
            "preparing path=a.txt content=One </content> two…",
            "pending path=a.txt content=One </content> two",
        ]
    );
}

/// Whatever was shown before: the ops lead there too.
#[test]
fn what_was_taken_for_content_is_taken_back() {
    let body = "<path>p</path><content>A</content>junk";
    let chat = check(
        &[&format!("<write_to_file>{body}"), "</write_to_file>"],
        "stop",
        &format!("tool pending write_to_file({body}) whole"),
    );
    assert_eq!(fields(&chat.rows()[0]), "path=p content=A");
    let chat = check(
        &[&format!("<write_to_file>{body}")],
        "stop",
        &format!("tool failed write_to_file({body}) !arguments-incomplete"),
    );
    assert_eq!(fields(&chat.rows()[0]), "path=p content=A…");
}

/// The fields move when the call ends; what was shown of them moves too.
#[test]
fn a_parameter_behind_content_takes_the_place_of_the_one_before() {
    let body = "<path>p</path><content>A</content><path>q</path>";
    let chat = check(
        &[&format!("<write_to_file>{body}"), "</write_to_file>"],
        "stop",
        &format!("tool pending write_to_file({body}) whole"),
    );
    assert_eq!(fields(&chat.rows()[0]), "content=A path=q");
}

/// The original runs it as if it were complete.
#[test]
fn a_call_that_was_never_closed_is_never_run() {
    let chat =
        check(&["<read_file><path>a</path>"], "stop", "tool failed read_file(<path>a</path>) !arguments-incomplete");
    assert_eq!(chat.chat.args(chat.chat.rows().next().unwrap().id).as_deref(), None);
}

#[test]
fn no_call_of_a_message_that_was_cut_may_run() {
    check(
        &["<read_file><path>a</path></read_file><list_files><path>"],
        "length",
        r#"
        tool interrupted read_file(<path>a</path>) truncated
        tool interrupted list_files(<path>) truncated
        "#,
    );
}

#[test]
fn what_stands_in_thinking_tags_is_reasoning_or_text() {
    let texts = ["<thinking>hm ", "hm</thinking>\n\nSo <", " 3"];
    check(&texts, "stop", "reasoning done \"hm hm\"\ntext done \"So < 3\"");
    let inline = TaggedTools { thoughts: Thoughts::Inline, ..TaggedTools::default() };
    check_with(&inline, &texts, "stop", "text done \"hm hm\\n\\nSo < 3\"");
}

#[test]
fn a_tag_in_code_is_text() {
    check(&["use `<read_file>` to read"], "stop", r#"text done "use `<read_file>` to read""#);
}

#[test]
fn names_of_ones_own_are_tools_too() {
    let tools =
        TaggedTools { grammar: Grammar::default().with_tool("deploy").with_param("stage"), ..TaggedTools::default() };
    check_with(
        &tools,
        &["<deploy><stage>test</stage></deploy>"],
        "stop",
        "tool pending deploy(<stage>test</stage>) whole",
    );
}

#[test]
fn half_a_tag_is_given_back_when_the_stream_ends_without_one() {
    for abort in [false, true] {
        let mut chat = tagged(TaggedTools::default());
        chat.push(sse([content("if a <")]).as_bytes());
        chat.drain();
        assert_eq!(chat.lines(), r#"text streaming "if a""#);
        if abort {
            chat.abort()
        } else {
            chat.finish()
        };
        chat.drain();
        let state = if abort { "cancelled" } else { "interrupted" };
        assert_eq!(chat.lines(), format!("text {state} \"if a <\""));
    }
}

/// Whatever stood half written when it broke off.
#[test]
fn a_replay_of_half_a_message_is_read_from_its_start() {
    let whole = "I look. <read_file><path>a</path></read_file> Then";
    for cut in 1..whole.len() {
        let mut chat = tagged(TaggedTools::default());
        chat.push(sse([content(&whole[..cut])]).as_bytes());
        chat.chat.restart(chat.stream);
        chat.push(sse([content(whole), end("stop")]).as_bytes());
        chat.finish();
        chat.drain();
        assert_eq!(
            chat.lines(),
            "text done \"I look.\"\ntool pending read_file(<path>a</path>) whole\ntext done \"Then\"",
            "{cut}"
        );
    }
}

#[test]
fn the_end_of_one_choice_gives_back_only_what_it_held() {
    let choice = |index: u32, text: &str, finish: Option<&str>| {
        json!({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}).to_string()
    };
    let mut chat = tagged(TaggedTools::default());
    chat.push(sse([choice(0, "a <", None), choice(1, "b <read_", None), choice(0, "", Some("stop"))]).as_bytes());
    chat.drain();
    assert_eq!(chat.lines(), "text done \"a <\"\ntext streaming \"b\" choice 1");
    let rest = [choice(1, "file><path>c</path>", None), choice(1, "</read_file>", None), choice(1, "", Some("stop"))];
    chat.push(sse(rest).as_bytes());
    chat.drain();
    let call = "tool pending read_file(<path>c</path>) whole choice 1";
    assert_eq!(chat.lines(), format!("text done \"a <\"\ntext done \"b\" choice 1\n{call}"));
}

#[test]
fn reasoning_of_the_wire_stands_between_text_as_ever() {
    let mut chat = tagged(TaggedTools::default());
    let hm = r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#.to_owned();
    chat.push(sse([hm, content("a <read_file>"), end("stop")]).as_bytes());
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), "reasoning done \"hm\"\ntext done \"a\"\ntool failed read_file() !arguments-incomplete");
}

#[test]
fn a_restored_call_keeps_its_parameters() {
    let chat =
        check(&["<read_file><path>a</path></read_file>"], "stop", "tool pending read_file(<path>a</path>) whole");
    let again = ChatRows::restore(&chat.chat.snapshot_json(), Options::default()).unwrap();
    let rows = |chat: &ChatRows| serde_json::from_str::<Value>(&chat.rows_json()).unwrap();
    assert_eq!(rows(&again), rows(&chat.chat));
    assert_eq!(again.args(again.rows().next().unwrap().id).as_deref(), Some(r#"{"path":"a"}"#));
}

#[test]
fn a_record_that_was_lost_in_a_call_keeps_it_from_running() {
    let mut chat = tagged(TaggedTools::default());
    let wire = [content("<read_file><path>a"), "{oops".to_owned(), content("b</path></read_file>"), end("stop")];
    chat.push(sse(wire).as_bytes());
    chat.drain();
    assert_eq!(chat.lines(), "tool failed read_file(<path>ab</path>) !arguments-incomplete");
    // One that was lost after it takes nothing from it.
    let mut chat = tagged(TaggedTools::default());
    let wire = [content("<read_file><path>a</path></read_file>"), "{oops".to_owned(), content("b"), end("stop")];
    chat.push(sse(wire).as_bytes());
    chat.drain();
    assert_eq!(chat.lines(), "tool pending read_file(<path>a</path>) whole\ntext done \"b\"");
}

#[test]
fn what_passes_the_cap_on_text_is_cut_and_says_so() {
    let limits = Limits { text_bytes: 12, ..Limits::default() };
    let mut chat = chat_of(Format::OpenAiChat, Options { limits, ..Options::default() });
    let tools = Some(TaggedTools::default());
    chat.stream = chat.chat.stream(StreamOptions { tagged_tools: tools, ..StreamOptions::from(Format::OpenAiChat) });
    chat.push(sse([content("0123456789"), content("abcdef"), end("stop")]).as_bytes());
    chat.drain();
    assert_eq!(chat.rows()[0]["truncated"], true);
    assert_eq!(chat.rows()[0]["text"], "0123456789ab");
}

#[test]
fn records_count_by_what_came_of_their_text() {
    let limits = Limits { text_bytes: 24, ..Limits::default() };
    let mut chat = chat_of(Format::OpenAiChat, Options { limits, ..Options::default() });
    let tools = Some(TaggedTools::default());
    chat.stream = chat.chat.stream(StreamOptions { tagged_tools: tools, ..StreamOptions::from(Format::OpenAiChat) });
    for (text, applied, no_op, faulted) in [
        ("<read_", 0, 1, 0),
        ("file>", 1, 1, 0),
        ("</read_file>", 2, 1, 0),
        ("a text", 2, 1, 1),
        // That it is cut was said.
        ("that is cut", 2, 2, 1),
    ] {
        chat.push(sse([content(text)]).as_bytes());
        let counts = chat.counts();
        assert_eq!((counts.applied, counts.no_op, counts.faulted), (applied, no_op, faulted), "{text}");
    }
}

#[test]
fn chunks_of_an_extension_carry_tags_as_well() {
    let mut chat = ChatRows::new(Options::default());
    let tools = Some(TaggedTools::default());
    let stream = chat.stream(StreamOptions { tagged_tools: tools, ..StreamOptions::from(Format::ApiStream) });
    for text in ["Look: <list_", "files><path>.</path></list_files>"] {
        chat.push_message(stream, &json!({"type": "text", "text": text}).to_string());
    }
    chat.finish(stream);
    let rows = serde_json::from_str(&chat.rows_json()).unwrap();
    assert_eq!(lines(&rows), "text done \"Look:\"\ntool pending list_files(<path>.</path>) whole");
}
