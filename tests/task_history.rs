//! Pages of a task's history: what they show, where they say that the next begins, and that the end of the task does
//! not end them.

use chatrows::{ChatRows, Format, Options, PanelName, RowState, StreamId};

fn attached() -> (ChatRows, StreamId) {
    let mut chat = ChatRows::new(Options::default());
    let stream = chat.stream(Format::TaskStream);
    chat.push_message(stream, r#"{"type":"cursor","timestamp":90,"data":{"cursor":"50","has_more":true}}"#);
    for frame in [user("three", 50), text("3", 51), r#"{"type":"task-ended","timestamp":52}"#.to_owned()] {
        chat.push_message(stream, &frame);
    }
    (chat, stream)
}

fn user(text: &str, time: u64) -> String {
    format!(r#"{{"event":"user-input","timestamp":{time},"data":{{"content":"{text}","encoding":"plaintext"}}}}"#)
}

fn text(text: &str, time: u64) -> String {
    format!(
        r#"{{"event":"task-running","kind":"acp_event","timestamp":{time},"data":{{"type":"agent_message_chunk","text":"{text}"}}}}"#
    )
}

fn page(frames: &[String], rest: &str) -> String {
    format!(r#"{{"code":0,"data":{{"chunks":[{}]{rest}}}}}"#, frames.join(","))
}

fn texts(chat: &ChatRows) -> Vec<&str> {
    chat.rows().filter_map(|row| row.text.as_deref()).collect()
}

fn session(chat: &ChatRows) -> [Option<&str>; 2] {
    ["cursor", "hasMore"].map(|name| chat.panel(PanelName::Session).get(name))
}

#[test]
fn a_page_says_where_the_next_begins() {
    let (mut chat, stream) = attached();
    assert_eq!(session(&chat), [Some(r#""50""#), Some("true")]);
    let two = [user("two", 30), text("2", 31)];
    chat.load_history(stream, &page(&two, r#","next_cursor":"30","has_more":true"#));
    assert_eq!(session(&chat), [Some(r#""30""#), Some("true")]);
    // A line that attaches again names the latest turn again.
    chat.restart_turn(stream);
    chat.push_message(stream, r#"{"type":"cursor","timestamp":99,"data":{"cursor":"50","has_more":true}}"#);
    assert_eq!(session(&chat), [Some(r#""30""#), Some("true")]);
    chat.load_history(stream, &page(&[user("one", 10), text("1", 11)], r#","next_cursor":"10","has_more":false"#));
    assert_eq!(session(&chat), [Some(r#""10""#), Some("false")]);
    assert_eq!(texts(&chat), ["one", "1", "two", "2", "three", "3"]);
}

#[test]
fn a_page_without_a_cursor_is_the_last() {
    for page in [page(&[user("two", 30)], ""), "[]".to_owned(), r#"{"chunks":[],"next_cursor":null}"#.to_owned()] {
        let (mut chat, stream) = attached();
        chat.load_history(stream, &page);
        assert_eq!(session(&chat), [None, Some("false")], "{page}");
    }
}

#[test]
fn a_frame_that_is_twice_in_a_page_is_shown_once() {
    let (mut chat, stream) = attached();
    chat.load_history(stream, &page(&[user("two", 30), text("B", 31), text("B", 31), text("B", 32)], ""));
    assert_eq!(texts(&chat), ["two", "BB", "three", "3"]);
}

#[test]
fn what_is_no_page_changes_nothing() {
    for page in ["{", "7", r#"{"code":500}"#] {
        let (mut chat, stream) = attached();
        let rows = chat.rows_json();
        chat.load_history(stream, page);
        assert_eq!((session(&chat), chat.rows_json()), ([Some(r#""50""#), Some("true")], rows));
        assert_eq!(chat.tally().faulted, 1, "{page}");
    }
}

#[test]
fn pages_may_come_after_the_end() {
    for abort in [false, true] {
        let (mut chat, stream) = attached();
        if abort {
            chat.abort(stream);
        } else {
            chat.finish(stream);
        }
        let late = chat.tally().late;
        for (text_, time) in [("two", 30), ("one", 10)] {
            chat.load_history(stream, &page(&[user(text_, time), text(text_, time + 1)], ""));
        }
        assert_eq!(texts(&chat), ["one", "one", "two", "two", "three", "3"]);
        assert!(chat.rows().all(|row| row.state == RowState::Done), "{}", chat.rows_json());
        assert_eq!(chat.tally().late, late);
        chat.push_message(stream, &text("late", 60));
        assert_eq!((texts(&chat).len(), chat.tally().late), (6, late + 1));
    }
}

#[test]
fn a_stream_that_ends_without_its_task_asks_nobody_any_more() {
    let call = r#"{"type":"task-running","kind":"acp_event","timestamp":61,"data":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"t","status":"in_progress"}}}"#;
    let ask = r#"{"type":"task-running","kind":"acp_ask_user_question","timestamp":62,"data":{"request_id":"q","questions":[{"question":"Which?"}]}}"#;
    let leave = r#"{"type":"permission-req","timestamp":63,"data":{"id":"p","title":"May I?"}}"#;
    for fails in [false, true] {
        let (mut chat, stream) = attached();
        for frame in [call, ask, leave] {
            chat.push_message(stream, frame);
        }
        if fails {
            chat.fail(stream, "", "unreachable", Some(true));
        }
        chat.finish(stream);
        let states: Vec<_> = chat.rows().skip(2).map(|row| (row.kind.name(), row.state)).collect();
        let mut expected =
            vec![("tool", RowState::Interrupted), ("question", RowState::Expired), ("permission", RowState::Expired)];
        expected.extend(fails.then_some(("error", RowState::Done)));
        assert_eq!(states, expected);
    }
}
