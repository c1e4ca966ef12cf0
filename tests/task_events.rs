//! The events of a task stream for those who want no rows: frames in, events and the record of usage out.

use chatrows::{ChatRows, Fact, Format, Options, TaskEvents};
use serde_json::Value;

fn check(frames: &[&str], expected: &[&str]) -> TaskEvents {
    let mut events = TaskEvents::default();
    let told: Vec<String> = frames.iter().filter_map(|frame| events.frame(frame)).collect();
    assert_eq!(told, expected);
    events
}

fn text(text: &str, time: usize) -> String {
    format!(
        r#"{{"type":"task-running","kind":"acp_event","timestamp":{time},"data":{{"type":"agent_message_chunk","text":"{text}"}}}}"#
    )
}

#[test]
fn the_kinds_of_frames_are_four_kinds_of_events() {
    check(
        &[
            r#"{"type":"cursor","timestamp":1,"data":{"cursor":"7","has_more":true}}"#,
            r#"{"type":"user-input","timestamp":2,"data":"aGk="}"#,
            r#"{"type":"task-started","timestamp":3,"data":null}"#,
            // {"update":{"sessionUpdate":"plan","entries":[]}}
            r#"{"type":"task-running","kind":"acp_event","timestamp":4,"data":"eyJ1cGRhdGUiOnsic2Vzc2lvblVwZGF0ZSI6InBsYW4iLCJlbnRyaWVzIjpbXX19"}"#,
            r#"{"event":"task-running","kind":"acp_event","timestamp":5,"data":"{\"type\":\"plan\",\"steps\":[]}"}"#,
            r#"{"type":"task-running","kind":"acp_ask_user_question","timestamp":6,"data":{"request_id":"q"}}"#,
            r#"{"type":"ping","data":null,"timestamp":0}"#,
            r#"{"type":"task-ended","timestamp":8,"data":{"usage":{"total_tokens":9}}}"#,
        ],
        &[
            r#"{"type":"task-started","data":{}}"#,
            r#"{"type":"acp","data":{"update":{"sessionUpdate":"plan","entries":[]}}}"#,
            r#"{"type":"acp","data":{"type":"plan","steps":[]}}"#,
            r#"{"type":"task-ended","data":{}}"#,
        ],
    );
}

#[test]
fn an_error_is_its_words_in_each_of_its_forms() {
    check(
        &[
            r#"{"type":"task-error","timestamp":1,"data":{"error":"a"}}"#,
            r#"{"type":"task-error","timestamp":2,"data":"eyJlcnJvciI6ImIifQ=="}"#,
            r#"{"type":"task-error","timestamp":3,"data":"timeout"}"#,
            r#"{"type":"error","timestamp":4,"data":"\"c\""}"#,
            r#"{"type":"task-error","timestamp":5,"data":{"details":"d"}}"#,
            r#"{"type":"task-error","timestamp":6}"#,
            r#"{"type":"task-error","timestamp":7,"data":null}"#,
            r#"{"type":"task-error","timestamp":8,"data":{"error":{"message":"e"}}}"#,
            r#"{"type":"task-error","timestamp":9,"data":{"error":{"error":[{"msg":"f"}]}}}"#,
            // timed out
            r#"{"type":"task-error","timestamp":10,"data":"dGltZWQgb3V0"}"#,
        ],
        &["a", "b", "timeout", "c", "d", "", "", "e", "f", "timed out"]
            .map(|words| format!(r#"{{"type":"task-error","data":"{words}"}}"#))
            .each_ref()
            .map(String::as_str),
    );
}

#[test]
fn what_is_no_frame_and_what_cannot_be_decoded_is_no_event() {
    check(
        &[
            "",
            "{",
            "7",
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"never-heard-of","timestamp":1}"#,
            r#"{"type":"task-running","kind":"acp_event","timestamp":1,"data":"%"}"#,
            r#"{"type":"task-running","kind":"acp_event","timestamp":2,"data":null}"#,
            r#"{"type":"task-running","kind":"acp_event","timestamp":3,"data":"[]"}"#,
        ],
        &[],
    );
}

#[test]
fn numbers_of_usage_that_are_not_zero_replace() {
    let update = |fields: &str, time: u64| {
        format!(
            r#"{{"type":"task-running","kind":"acp_event","timestamp":{time},"data":{{"update":{{"sessionUpdate":"usage_update",{fields}}}}}}}"#
        )
    };
    let mut events = TaskEvents::default();
    for (time, (fields, expected)) in [
        (r#""used":5,"size":9"#, [0, 0, 0]),
        (r#""input_tokens":150,"output_tokens":450"#, [150, 450, 0]),
        (r#""input_tokens":0,"output_tokens":null,"total_tokens":600"#, [150, 450, 600]),
        (r#""input_tokens":7,"total_tokens":"8""#, [7, 450, 600]),
    ]
    .into_iter()
    .enumerate()
    {
        events.frame(&update(fields, 1 + time as u64));
        let [input, output, total] = expected;
        let usage = format!(r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{total}}}"#);
        assert_eq!(events.usage_json(), usage, "{fields}");
    }
}

#[test]
fn a_replay_of_any_length_brings_only_what_is_new() {
    for length in [1, 1999, 2000, 2001, 2500, 4000, 10_000] {
        for cut in [1, length / 2, length] {
            let mut events = TaskEvents::default();
            let mut told = 0;
            let mut play = |events: &mut TaskEvents, upto: usize| {
                for time in 1..=upto {
                    // A server may repeat itself besides.
                    for _ in 0..2 {
                        told += usize::from(events.frame(&text("x", time)).is_some());
                    }
                }
                told
            };
            assert_eq!(play(&mut events, cut), cut);
            for _ in 0..2 {
                events.attached_again();
                assert_eq!(play(&mut events, length), length, "{length} frames, cut after {cut}");
            }
        }
    }
}

/// What each connection brings, one attached after the other: how many frames of it are events that are new.
#[track_caller]
fn check_attached(connections: &[(&[String], usize)]) {
    let mut events = TaskEvents::default();
    for (number, (frames, expected)) in connections.iter().enumerate() {
        if number > 0 {
            events.attached_again();
        }
        let told = frames.iter().filter(|frame| events.frame(frame).is_some()).count();
        assert_eq!(told, *expected, "connection {number}");
    }
}

/// Frames that nothing but their place tells from others that say the same.
fn undated(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|words| text(words, 0).replace(r#""timestamp":0,"#, "")).collect()
}

fn dated(times: std::ops::Range<usize>) -> Vec<String> {
    times.map(|time| text("x", time)).collect()
}

#[test]
fn frames_without_a_time_that_are_replayed_are_known_by_their_places() {
    let all = undated(&["a", "b", "a", "c", "c"]);
    check_attached(&[(&all[..3], 3), (&all, 2), (&all, 0)]);
}

#[test]
fn a_replay_that_is_cut_is_known_when_it_comes_again() {
    for all in [undated(&["a"; 9]), dated(1..9001)] {
        let some = all.len() / 3;
        check_attached(&[(&all[..2 * some], 2 * some), (&all[..some], 0), (&all, some), (&all, 0)]);
    }
}

#[test]
fn a_newer_turn_that_an_attach_shows_is_told_whole() {
    let long = dated(1..2501);
    check_attached(&[(&long, 2500), (&dated(9000..9100), 100), (&dated(9000..9101), 1)]);
    check_attached(&[(&undated(&["a", "b"]), 2), (&undated(&["c", "b"]), 2), (&undated(&["c", "b", "d"]), 1)]);
    let begun =
        |words: &str| [vec![format!(r#"{{"type":"user-input","data":"{words}"}}"#)], undated(&["a", "b"])].concat();
    check_attached(&[(&begun("one"), 2), (&begun("two"), 2), (&begun("two"), 0)]);
}

#[test]
fn frames_with_and_without_a_time_are_known_beside_each_other() {
    let all: Vec<String> = (1..3501).map(|time| text("x", if time % 2 == 0 { time } else { 0 })).collect();
    check_attached(&[(&all[..3000], 3000), (&all[..3000], 0), (&all, 500), (&all, 0)]);
}

#[test]
fn the_next_turn_of_a_connection_is_the_one_that_is_replayed() {
    let turn = |words: &str| {
        let (start, end) = (r#"{"type":"task-started"}"#.to_owned(), r#"{"type":"task-ended"}"#.to_owned());
        [vec![start], undated(&[words, words]), vec![end]].concat()
    };
    check_attached(&[(&[turn("a"), turn("b")].concat(), 8), (&turn("b"), 0), (&[turn("b"), turn("c")].concat(), 4)]);
}

#[test]
fn an_error_has_the_words_that_its_row_has() {
    for data in [r#"{"error":{"message":"m"}}"#, r#"{"details":"d","error":"e"}"#, r#"{"code":7}"#, r#""words""#, "{}"]
    {
        let frame = format!(r#"{{"type":"task-error","data":{data}}}"#);
        let mut chat = ChatRows::new(Options::default());
        let stream = chat.stream(Format::TaskStream);
        chat.push_message(stream, &frame);
        let error: Value = serde_json::from_str(chat.rows().next().unwrap().facts.get(Fact::Error).unwrap()).unwrap();
        let event: Value = serde_json::from_str(&TaskEvents::default().frame(&frame).unwrap()).unwrap();
        assert_eq!(event["data"], error["message"], "{data}");
    }
}
