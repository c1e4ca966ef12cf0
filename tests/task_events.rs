//! The events of a task stream for those who want no rows: frames in, events and the record of usage out.

use chatrows::TaskEvents;

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
        ],
        &["a", "b", "timeout", "c", "d", ""]
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
