//! Streams that do not say which format they have: records are held until one fits exactly one format.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{End, Format, Options};
use support::{Chat, Cuts, chat_of, content, end, sse, unindent, values, without_ids};

#[track_caller]
fn check(input: &str, expected: &str, faults: &[&str]) -> Chat {
    let run = |format: Format, cuts: Cuts| {
        let mut chat = chat_of(format, Options::default());
        chat.feed(input.as_bytes(), cuts);
        chat.finish();
        chat.drain();
        chat
    };
    let chat = run(Format::Auto, Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.faults(), faults);
    for cuts in [Cuts::Every(1), Cuts::Seed(1), Cuts::Seed(2)] {
        let other = run(Format::Auto, cuts);
        assert_eq!(without_ids(&other.rows()), without_ids(&chat.rows()), "{cuts:?}");
        assert_eq!(other.counts(), chat.counts(), "{cuts:?}");
    }
    chat
}

const SAY: &str = r#"{"ts":1,"type":"say","say":"text","text":"a"}"#;

#[test]
fn the_first_record_that_fits_one_format_decides() {
    check(&sse([content("Hel"), content("lo"), end("stop")]), r#"text done "Hello""#, &[]);
    check(&values([SAY]), r#"text done "a""#, &[]);
    check(&values([r#"{"type":"reasoning","text":"hm"}"#]), r#"reasoning done "hm""#, &[]);
    check(&values([["[", SAY, "]"].concat()]), r#"text done "a""#, &[]);
}

#[test]
fn what_was_held_is_read_after_all_and_each_record_is_counted_once() {
    let chat = check(&values([r#"{"type":"ping"}"#, r#"{"hello":1}"#, SAY]), r#"text done "a""#, &[]);
    let counts = chat.counts();
    assert_eq!((counts.records(), counts.skipped, counts.applied), (3, 2, 1));
}

#[test]
fn a_format_once_decided_stays() {
    let chat = check(&values([SAY, &content("x")]), r#"text done "a""#, &[]);
    assert_eq!(chat.counts().skipped, 1);
}

#[test]
fn a_stream_that_fits_nothing_is_a_fault_a_record_and_says_so() {
    let chat = check(&values([r#"{"hello":1}"#]), r#"error done !no-records "{\"hello\":1}""#, &["format-undecided"]);
    assert_eq!(chat.chat.end(chat.stream), Some(End::Interrupted));
}

#[test]
fn a_lone_error_is_shown_in_its_own_words() {
    for error in [
        r#"{"error":{"message":"bad key"}}"#,
        r#"{"error":"bad key"}"#,
        r#"[{"error":{"message":"bad key"}}]"#,
        r#"{"type":"error","message":"bad key"}"#,
        r#"{"type":"error","error":"auth","message":"bad key"}"#,
        r#"{"type":"error","error":{"type":"auth","message":"bad key"}}"#,
    ] {
        check(&values([error]), r#"error done !no-records "bad key""#, &["format-undecided"]);
    }
}

#[test]
fn what_is_held_has_a_cap_and_a_later_record_may_still_decide() {
    let mut records = vec![r#"{"hello":1}"#; 20];
    records.push(SAY);
    let chat = check(&values(records), r#"text done "a""#, &["format-undecided"; 16]);
    assert_eq!((chat.counts().faulted, chat.counts().skipped), (16, 4));
    let large = format!(r#"{{"hello":"{}"}}"#, "x".repeat(70_000));
    check(&values([&large, SAY]), r#"text done "a""#, &["format-undecided"]);
}
