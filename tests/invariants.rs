//! The invariants of the design, as properties of generated streams from plausible to hostile. Each test names its
//! invariant by number; caps stand in `limits.rs`, linear work in `linear.rs`. Runs are the same every time;
//! `PROPTEST_RNG_SEED` and `PROPTEST_CASES` ask for others and more.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use chatrows::{End, ToolRef};
use proptest::prelude::*;
use serde_json::Value;
use support::*;

/// Feeds all of it in this way and finishes; the oracle looks on where it is drained.
fn run(bytes: &[u8], cuts: Cuts) -> Chat {
    let mut chat = Chat::new();
    chat.feed(bytes, cuts);
    chat.finish();
    chat
}

fn row_values(chat: &Chat) -> Vec<Value> {
    chat.rows().as_array().unwrap().clone()
}

fn is_at_rest(row: &Value) -> bool {
    row["busy"] == false && !["streaming", "preparing", "running"].iter().any(|state| row["state"] == *state)
}

/// Without the characters that stand or fall with how halves of surrogate pairs meet.
fn comparable(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\u{fffd}' | '😀')).collect()
}

/// Decodes what stands between the quotes of a JSON string, halves and all.
fn decoded(raw: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        let unit = match (c, c == '\\') {
            (_, true) => match chars.next().unwrap() {
                'n' => 10,
                'u' => u16::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).unwrap(),
                plain => plain as u16,
            },
            (c, false) => {
                units.extend(c.encode_utf16(&mut [0; 2]).iter());
                continue;
            }
        };
        units.push(unit);
    }
    String::from_utf16_lossy(&units)
}

/// What these bytes come to, with or without the shortcut of the hot path.
fn with_shortcut(shortcut: bool, bytes: &[u8], cuts: Cuts) -> Outcome {
    let mut chat = Chat::unwatched();
    if !shortcut {
        chat.chat.without_shortcut(chat.stream);
    }
    chat.feed(bytes, cuts);
    chat.finish();
    assert!(shortcut || chat.chat.tally().shortcuts == 0);
    chat.outcome()
}

proptest! {
    #![proptest_config(cases(128))]

    /// 1 and 4: `Chat::drain` compares the oracle after every batch, and the oracle refuses an op that changes nothing.
    #[test]
    fn ops_lead_to_the_rows_and_none_changes_nothing(stream in streams(24), seed in any::<u64>()) {
        let wire = stream.wire();
        let mut chat = Chat::new();
        let mut from = 0;
        let mut random = Random(seed);
        for to in wire.boundaries.iter().copied().chain([wire.bytes.len()]) {
            let within = from + random.below(to - from + 1);
            chat.push(&wire.bytes[from..within]);
            if random.below(2) == 0 {
                chat.drain();
            }
            chat.push(&wire.bytes[within..to]);
            chat.drain();
            prop_assert!(chat.drain().is_empty());
            from = to;
        }
        chat.finish();
        chat.drain();
    }

    /// 2
    #[test]
    fn cuts_change_nothing(stream in streams(24), seed in any::<u64>(), prefix in any::<prop::sample::Index>()) {
        let wire = stream.wire();
        let whole = run(&wire.bytes, Cuts::Whole).outcome();
        for cuts in [Cuts::Seed(seed), Cuts::Seed(!seed), Cuts::At(prefix.index(wire.bytes.len()))] {
            prop_assert_eq!(&run(&wire.bytes, cuts).outcome(), &whole, "{:?}", cuts);
        }
        let mut by_one = Chat::unwatched();
        by_one.feed(&wire.bytes, Cuts::Every(1));
        by_one.finish();
        prop_assert_eq!(&by_one.outcome(), &whole);

        // At a record boundary in the middle of the stream, too.
        let bytes = &wire.bytes[..*prefix.get(&wire.boundaries)];
        let (mut once, mut cut) = (Chat::new(), Chat::new());
        once.feed(bytes, Cuts::Whole);
        cut.feed(bytes, Cuts::Seed(seed));
        prop_assert_eq!(once.rows(), cut.rows());
        prop_assert_eq!(once.panels(), cut.panels());
    }

    /// 2: the shortcut of the hot path is never another meaning.
    #[test]
    fn the_shortcut_changes_nothing(stream in streams(24), repeat in 1usize..5, seed in any::<u64>()) {
        // Neighbours that are alike are what the shortcut waits for.
        let items = stream.items.iter().flat_map(|item| std::iter::repeat_n(item.clone(), repeat)).collect();
        let bytes = Stream { items, ..stream }.wire().bytes;
        let expected = with_shortcut(false, &bytes, Cuts::Whole);
        for cuts in [Cuts::Whole, Cuts::Seed(seed)] {
            prop_assert_eq!(&with_shortcut(true, &bytes, cuts), &expected);
        }
    }

    /// 3: rows keep their ids (the oracle refuses a second insert), and one call id is one row.
    #[test]
    fn one_call_id_is_one_row(mut stream in streams(24)) {
        // An id of the response that changes before its end is none; when it counts, its calls are others.
        stream.items.retain(|item| !matches!(item, Item::NextResponse));
        let chat = run(&stream.wire().bytes, Cuts::Whole);
        let mut ids = BTreeSet::new();
        let rows = row_values(&chat);
        for id in rows.iter().filter_map(|row| row["tool"]["callId"].as_str()) {
            prop_assert!(ids.insert(id), "{} twice: {}", id, chat.lines());
        }
        // Rows come in the order in which they were first seen.
        prop_assert!(rows.is_sorted_by_key(|row| row["id"].as_u64()));
    }

    /// 6: after the end, an abort and an error in the stream everything is at rest.
    #[test]
    fn after_an_end_everything_is_at_rest(stream in streams(24), seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let wire = stream.wire();
        let bytes = &wire.bytes[..cut.index(wire.bytes.len() + 1)];
        let mut finished = Chat::new();
        finished.feed(bytes, Cuts::Seed(seed));
        let end = finished.finish();
        prop_assert_eq!(finished.finish(), end, "finish is idempotent");
        prop_assert_eq!(finished.abort(), end, "an abort after the end changes nothing");
        finished.drain();
        prop_assert!(row_values(&finished).iter().all(is_at_rest), "{}", finished.lines());
        prop_assert_eq!(&finished.panels()["activity"]["state"], "idle");

        let mut aborted = Chat::new();
        aborted.feed(bytes, Cuts::Seed(seed));
        prop_assert_eq!(aborted.abort(), End::Cancelled);
        aborted.drain();
        for row in row_values(&aborted) {
            prop_assert!(is_at_rest(&row) && row["state"] != "pending", "{}", row);
        }
        // What comes late is counted and dropped.
        let before = aborted.rows();
        aborted.push(&wire.bytes);
        aborted.finish();
        prop_assert!(aborted.drain().is_empty());
        prop_assert_eq!(aborted.rows(), before);
        prop_assert_eq!(aborted.counts().late_bytes, wire.bytes.len() as u64);

        let mut chat = Chat::new();
        let mut from = 0;
        for (item, to) in stream.items.iter().zip(wire.boundaries) {
            chat.push(&wire.bytes[from..to]);
            from = to;
            if let Item::Error(_) = item {
                prop_assert!(row_values(&chat).iter().all(is_at_rest), "{}", chat.lines());
            }
        }
    }

    /// 7: the same bytes again, declared as a replay, wherever the first pass broke off and however both are cut.
    #[test]
    fn a_replay_leaves_the_rows(stream in streams(24), seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let wire = stream.wire();
        let whole = run(&wire.bytes, Cuts::Whole);
        let mut chat = Chat::new();
        chat.feed(&wire.bytes[..cut.index(wire.bytes.len() + 1)], Cuts::Seed(seed));
        if seed % 2 == 0 {
            chat.finish();
        }
        chat.drain();
        chat.chat.restart(chat.stream);
        chat.feed(&wire.bytes, Cuts::Seed(!seed));
        chat.finish();
        chat.drain();
        prop_assert_eq!(without_ids(&chat.rows()), without_ids(&whole.rows()));
        // Once more, now that all of it stands: nothing is said.
        chat.chat.restart(chat.stream);
        chat.feed(&wire.bytes, Cuts::Whole);
        chat.finish();
        prop_assert_eq!(chat.drain(), Vec::<Value>::new());
    }

    /// 7: a connection that breaks again and again, each time further on or sooner, with the host's word for it or without.
    #[test]
    fn replays_that_break_off_leave_the_rows(
        stream in streams(24),
        breaks in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..4), 1..5),
        seed in any::<u64>(),
    ) {
        let wire = stream.wire();
        let whole = run(&wire.bytes, Cuts::Whole);
        let mut chat = Chat::new();
        for (place, how) in breaks {
            chat.feed(&wire.bytes[..place.index(wire.bytes.len() + 1)], Cuts::Seed(seed));
            if how & 1 == 0 {
                chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
            }
            if how & 2 == 0 {
                chat.finish();
                chat.drain();
                prop_assert!(row_values(&chat).iter().all(is_at_rest));
            }
            chat.chat.restart(chat.stream);
        }
        chat.feed(&wire.bytes, Cuts::Seed(!seed));
        chat.finish();
        chat.drain();
        prop_assert_eq!(without_ids(&chat.rows()), without_ids(&whole.rows()));
    }

    /// 7: a replay after an abort moves nothing and leaves no row turning.
    #[test]
    fn a_replay_after_an_abort_comes_to_rest(stream in streams(24), seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let wire = stream.wire();
        let mut chat = Chat::new();
        chat.feed(&wire.bytes[..cut.index(wire.bytes.len() + 1)], Cuts::Seed(seed));
        chat.abort();
        chat.drain();
        let before = row_values(&chat);
        chat.chat.restart(chat.stream);
        chat.feed(&wire.bytes, Cuts::Seed(!seed));
        chat.finish();
        chat.drain();
        let after = row_values(&chat);
        for (before, after) in before.iter().zip(&after) {
            prop_assert_eq!(&before["id"], &after["id"]);
            // Only interrupted may go on: cancelled stays cancelled.
            prop_assert!(before["state"] != "cancelled" || after["state"] == "cancelled", "{} became {}", before, after);
        }
        prop_assert!(after.iter().all(is_at_rest));
    }

    /// 8
    #[test]
    fn a_call_may_run_only_if_it_is_whole_and_its_message_ended_well(stream in streams(24), seed in any::<u64>()) {
        let chat = run(&stream.wire().bytes, Cuts::Seed(seed));
        let ends = |choice: u64| {
            stream.items.iter().any(|item| match item {
                Item::Finish { choice: ended, reason } => {
                    u64::from(*ended) == choice && !matches!(*reason, "length" | "content_filter" | "error")
                }
                _ => false,
            })
        };
        for row in row_values(&chat).iter().filter(|row| row["kind"] == "tool") {
            let tool = &row["tool"];
            let (pending, whole) = (row["state"] == "pending", tool["inputDone"] == true);
            prop_assert_eq!(pending, whole);
            if whole {
                prop_assert!(is_strict_json(tool["input"].as_str().unwrap()), "{}", row);
                prop_assert!(ends(row["meta"]["choice"].as_u64().unwrap_or(0)), "no finish said so: {}", row);
            }
            let id = chat.chat.rows().find(|known| u64::from(known.id.get()) == row["id"]).unwrap().id;
            prop_assert_eq!(chat.chat.args(id).is_some(), pending);
            if row["state"] == "failed" {
                prop_assert!(row["error"]["code"].is_string());
            }
        }
    }

    /// 8 and 9, exactly: on a stream where all goes well it is known which call must be what.
    #[test]
    fn every_call_of_a_plain_stream_is_what_its_arguments_and_its_finish_make_it(stream in tame_streams(10), seed in any::<u64>()) {
        let mut calls: BTreeMap<String, (String, &str)> = BTreeMap::new();
        let (mut response, mut here) = (0, BTreeSet::new());
        for item in &stream.items {
            match item {
                Item::Calls { fragments, .. } => {
                    let fragment = &fragments[0];
                    let id = format!("call_{response}_0_{}", fragment.id.unwrap());
                    let Arguments::Text(text) = &fragment.arguments else { unreachable!() };
                    calls.entry(id.clone()).or_default().0.push_str(text);
                    here.insert(id);
                }
                Item::Finish { reason, .. } => {
                    for id in std::mem::take(&mut here) {
                        let (input, state) = calls.get_mut(&id).unwrap();
                        *state = match (*reason, is_strict_json(input)) {
                            ("length", _) => "interrupted",
                            (_, true) => "pending",
                            (_, false) => "failed",
                        };
                    }
                }
                Item::NextResponse => response += 1,
                _ => {}
            }
        }
        let chat = run(&stream.wire().bytes, Cuts::Seed(seed));
        let mut seen = BTreeMap::new();
        for row in row_values(&chat).iter().filter(|row| row["kind"] == "tool") {
            let input = row["tool"]["input"].as_str().unwrap().to_owned();
            seen.insert(row["tool"]["callId"].as_str().unwrap().to_owned(), (input, row["state"].as_str().unwrap().to_owned()));
            let truncated = row["state"] == "interrupted";
            prop_assert_eq!(row["truncated"] == true, truncated);
        }
        let calls: BTreeMap<_, _> = calls.into_iter().map(|(id, (input, state))| (id, (input, state.to_owned()))).collect();
        prop_assert_eq!(seen, calls);
        prop_assert_eq!(chat.faults(), Vec::<String>::new());
    }

    /// 9: every record is counted once.
    #[test]
    fn the_counts_add_up_to_the_records(stream in streams(30), seed in any::<u64>()) {
        let wire = stream.wire();
        let tally = run(&wire.bytes, Cuts::Seed(seed)).counts();
        let sum = tally.faulted + tally.late + tally.skipped + tally.applied + tally.no_op;
        prop_assert_eq!((sum, tally.records()), (wire.records, wire.records), "{:?}", tally);
        prop_assert_eq!(tally.pings, wire.pings);
        prop_assert_eq!(tally.bytes, wire.bytes.len() as u64);
        let broken = stream.items.iter().filter(|item| matches!(item, Item::Broken(_) | Item::BadBytes)).count() as u64;
        prop_assert!(tally.faulted >= broken);

        // A stream that was aborted counts what comes as late.
        let mut chat = Chat::new();
        chat.abort();
        chat.feed(&wire.bytes, Cuts::Seed(seed));
        chat.finish();
        let tally = chat.counts();
        prop_assert_eq!(tally.records(), wire.records);
        prop_assert_eq!(tally.late + tally.faulted, wire.records);
    }

    /// 9: every piece of text is in a row.
    #[test]
    fn every_text_is_in_a_row(stream in streams(30), seed in any::<u64>()) {
        let mut sent: BTreeMap<(&str, u64), String> = BTreeMap::new();
        let mut arguments = String::new();
        let mut say = |kind: &'static str, choice: u32, raw: &str| {
            sent.entry((kind, u64::from(choice))).or_default().push_str(&comparable(&decoded(raw)));
        };
        for item in &stream.items {
            match item {
                Item::Text { choice, text } => say("text", *choice, text),
                Item::Reasoning { choice, text, .. } => say("reasoning", *choice, text),
                Item::Refusal { text } => say("text", 0, text),
                Item::Parts(parts) => {
                    parts.iter().for_each(|(thinking, text)| say(if *thinking { "reasoning" } else { "text" }, 0, text));
                }
                Item::BadBytes => say("text", 0, "xy"),
                Item::Calls { fragments, .. } => {
                    for fragment in fragments {
                        match &fragment.arguments {
                            Arguments::Text(text) => arguments.push_str(text),
                            Arguments::Object(text) => arguments.push_str(text),
                            Arguments::Null => {}
                        }
                    }
                }
                _ => {}
            }
        }
        sent.retain(|_, text| !text.is_empty());
        let chat = run(&stream.wire().bytes, Cuts::Seed(seed));
        let mut shown: BTreeMap<(&str, u64), String> = BTreeMap::new();
        let rows = row_values(&chat);
        for row in rows.iter().filter(|row| row["text"].is_string()) {
            let key = (row["kind"].as_str().unwrap(), row["meta"]["choice"].as_u64().unwrap_or(0));
            shown.entry(key).or_default().push_str(&comparable(row["text"].as_str().unwrap()));
        }
        shown.retain(|_, text| !text.is_empty());
        prop_assert_eq!(shown, sent);

        // Arguments that come after their call ended are refused as a fault; all others are in a row.
        let inputs: String = rows.iter().filter_map(|row| row["tool"]["input"].as_str()).collect();
        let sorted = |text: &str| {
            let mut chars: Vec<char> = text.chars().collect();
            chars.sort_unstable();
            chars
        };
        if !chat.faults().iter().any(|fault| fault == "arguments-after-end") {
            prop_assert_eq!(sorted(&inputs), sorted(&arguments));
        }
    }

    /// 10: bytes without any sense.
    #[test]
    fn no_bytes_can_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), start in 0usize..4, seed in any::<u64>()) {
        let start: &[u8] = [&b""[..], b"{", b"data: {\"choices\":[{\"delta\":{\"content\":\"", b"\xef\xbb\xbf["][start];
        let bytes = [start, &bytes].concat();
        let whole = run(&bytes, Cuts::Whole).outcome();
        prop_assert_eq!(run(&bytes, Cuts::Seed(seed)).outcome(), whole);
    }

    /// 10: a plausible stream with bytes broken.
    #[test]
    fn a_stream_with_broken_bytes_is_still_a_stream(
        stream in streams(16),
        breaks in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..6),
        seed in any::<u64>(),
    ) {
        let mut bytes = stream.wire().bytes;
        for (place, byte, how) in breaks {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, b"\"{}[]\\,\n\r: "[usize::from(byte) % 11]),
                _ => bytes.truncate(place.max(1)),
            }
        }
        let whole = run(&bytes, Cuts::Whole).outcome();
        prop_assert_eq!(&run(&bytes, Cuts::Seed(seed)).outcome(), &whole);
        let mut plain = Chat::unwatched();
        plain.chat.without_shortcut(plain.stream);
        plain.feed(&bytes, Cuts::Seed(seed));
        plain.finish();
        prop_assert_eq!(plain.outcome(), whole);
    }

    /// 3 and 6: a tool that runs while its stream goes on, ends or is aborted, and a result that comes late.
    #[test]
    fn a_host_that_runs_what_may_run_leaves_nothing_turning(stream in tame_streams(8), seed in any::<u64>()) {
        let wire = stream.wire();
        let mut chat = Chat::new();
        let mut random = Random(seed);
        let mut from = 0;
        for to in wire.boundaries.iter().copied().chain([wire.bytes.len()]) {
            chat.push(&wire.bytes[from..to]);
            from = to;
            let pending: Vec<_> = chat.chat.rows().filter(|row| chat.chat.args(row.id).is_some()).map(|row| row.id).collect();
            for id in pending {
                let call = ToolRef::Row(id);
                // What is done is told again at times: the last word counts.
                let told = match random.below(4) {
                    0 => chat.chat.tool_started(call),
                    1 => chat.chat.tool_progress(call, None, Some("more "), Some("title")),
                    2 => chat.chat.tool_result(call, Some("output"), random.below(2) == 0),
                    _ => Ok(()),
                };
                let state = chat.chat.row(id).unwrap().state;
                prop_assert!(told.is_ok() || state.is_at_rest(), "{:?} in {}", told, state.name());
            }
            if random.below(2) == 0 {
                chat.drain();
            }
        }
        let end = if random.below(2) == 0 { chat.finish() } else { chat.abort() };
        let ids: Vec<_> = chat.chat.rows().filter(|row| row.kind == chatrows::RowKind::Tool).map(|row| row.id).collect();
        for id in ids {
            // A result after the end is taken where the call had been executable.
            let _ = chat.chat.tool_result(ToolRef::Row(id), Some("late"), false);
        }
        chat.drain();
        prop_assert!(row_values(&chat).iter().all(is_at_rest), "{:?}: {}", end, chat.lines());
    }
}

/// 2: equal bytes may mean another call than before. Every two fragments that a call can be told by, one after the
/// other and repeated: the shortcut routes them as the ordinary way does.
#[test]
fn the_shortcut_routes_calls_as_the_ordinary_way_does() {
    let mut fragments = Vec::new();
    for id in ["", r#""id":"a","#, r#""id":"b","#] {
        for index in ["", r#""index":0,"#, r#""index":1,"#] {
            for name in ["", r#""name":"f","#, r#""name":"g","#] {
                for arguments in [r#""""#, r#""[""#, "[1]"] {
                    fragments.push(format!(r#"{{{id}{index}"function":{{{name}"arguments":{arguments}}}}}"#));
                }
            }
        }
    }
    let summary = |shortcut: bool, bytes: &[u8]| {
        let mut chat = Chat::unwatched();
        if !shortcut {
            chat.chat.without_shortcut(chat.stream);
        }
        chat.push(bytes);
        chat.finish();
        chat.summary()
    };
    for first in &fragments {
        for second in &fragments {
            let both = [call(&format!("{first},{second}")), call(&format!("{first},{second}"))];
            for records in [&[call(first), call(first), call(second), call(second), call(first)][..], &both] {
                let bytes = values(records);
                assert_eq!(summary(true, bytes.as_bytes()), summary(false, bytes.as_bytes()), "{bytes}");
            }
        }
    }
}

/// 5: on a plain stream all but the first records take the shortcut, in every framing and for every kind of delta.
#[test]
fn a_plain_stream_takes_the_shortcut() {
    fn record(delta: &str, more: &str) -> String {
        let choices = format!(r#"[{{"index":0,"delta":{delta},"finish_reason":null}}]"#);
        format!(r#"{{"id":"r","object":"chat.completion.chunk","choices":{choices}{more}}}"#)
    }
    fn text(number: usize, more: &str) -> String {
        record(&format!(r#"{{"content":"word {number} \n"}}"#), more)
    }
    fn arguments(number: usize) -> String {
        record(&format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"[{number}] "}}}}]}}"#), "")
    }
    type Kind = (&'static str, fn(usize) -> String);
    let kinds: [Kind; 5] = [
        ("text", |n| text(n, "")),
        ("usage in every record", |n| text(n, &format!(r#","usage":{{"prompt_tokens":7,"completion_tokens":{n}}}"#))),
        ("padding", |n| text(n, &format!(r#","obfuscation":"{}""#, "x".repeat(n % 9)))),
        ("reasoning", |n| record(&format!(r#"{{"reasoning_content":"word {n} "}}"#), "")),
        ("arguments", arguments),
    ];
    let count = 200;
    for (kind, record) in kinds {
        let records: Vec<String> = (0..count).map(record).collect();
        for wire in [sse(&records), sse(&records).replace('\n', "\r\n"), values(&records)] {
            let mut chat = Chat::unwatched();
            chat.feed(wire.as_bytes(), Cuts::Whole);
            let taken = chat.chat.tally().shortcuts;
            assert!(taken as usize >= count - 4, "{kind}: {taken} of {count}, as {:?}", &wire[..40]);
        }
    }
}

/// 4: what an op carries is in proportion to what is new, however much stands already.
#[test]
fn an_op_is_no_larger_than_its_news() {
    let long = "x".repeat(20_000);
    for first in [
        content(&long),
        call(&format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":"{{\"a\":\"{long}"}}}}"#)),
        chunk(&format!(r#"{{"reasoning":"{long}"}}"#)),
    ] {
        let next = first.replace(&long, "y").replace(r#"{\"a\":\""#, "");
        let mut chat = Chat::new();
        chat.push(sse([&first]).as_bytes());
        chat.drain();
        let before = chat.op_bytes;
        for _ in 0..100 {
            chat.push(sse([&next]).as_bytes());
            chat.drain();
        }
        assert!(chat.op_bytes - before < 100 * 200, "{} bytes for {}", chat.op_bytes - before, &next[..90]);
    }
}

/// 4: the same for many values in one call.
#[test]
fn a_new_field_does_not_repeat_the_others() {
    let mut chat = Chat::sparse(200);
    chat.push(sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"["}}"#)]).as_bytes());
    chat.drain();
    let before = chat.op_bytes;
    for number in 0..1000 {
        let record = call(&format!(r#"{{"index":0,"function":{{"arguments":"{number},"}}}}"#));
        chat.feed(sse([record]).as_bytes(), Cuts::Every(4096));
    }
    let bytes = chat.op_bytes - before;
    assert!(bytes < 1000 * 220, "{bytes}");
}

/// 4: a patch of sources carries all of them, so the cap on sources is what bounds it; repeats say nothing.
#[test]
fn sources_cost_no_more_than_their_cap() {
    let most = chatrows::Limits::default().sources;
    let mut chat = Chat::new();
    chat.push(sse([content("a")]).as_bytes());
    for number in 0..2 * most {
        let record =
            |number| format!(r#"{{"id":"r","choices":[],"citations":["https://example.test/page/{number}"]}}"#);
        chat.push(sse([record(number)]).as_bytes());
        let ops = chat.drain();
        assert!(ops.iter().all(|op| op.to_string().len() < 200 + 50 * most), "{number}");
        chat.push(sse([record(number)]).as_bytes());
        assert_eq!(chat.drain(), Vec::<Value>::new());
    }
    assert_eq!(chat.rows()[0]["sources"].as_array().unwrap().len(), most);
}

/// 7: what the host said of a broken connection is no part of the wire, and a replay finds its blocks all the same.
#[test]
fn an_error_of_the_host_does_not_lead_a_replay_astray() {
    let wire = sse([
        content("a"),
        call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#),
        end("tool_calls"),
    ]);
    let mut chat = Chat::new();
    chat.push(&wire.as_bytes()[..wire.find("\n\n").unwrap() + 2]);
    chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
    chat.finish();
    chat.drain();
    for _ in 0..2 {
        chat.chat.restart(chat.stream);
        chat.push(wire.as_bytes());
        chat.finish();
        chat.drain();
        let lines = chat.lines();
        assert_eq!(lines.matches("text done \"a\"").count(), 1, "{lines}");
        assert_eq!(lines.matches("tool pending f#c({}) whole").count(), 1, "{lines}");
        assert_eq!(lines.lines().count(), if lines.contains("read-error") { 3 } else { 2 }, "{lines}");
    }
}

/// 7: a replay shows what has come in between, and keeps what the host did.
#[test]
fn a_replay_keeps_what_the_host_did_and_shows_what_is_new() {
    let wire = sse([call(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#), end("tool_calls")]);
    let mut chat = Chat::new();
    chat.push(wire.as_bytes());
    chat.chat.tool_result(ToolRef::Call(chat.stream, "c"), Some("out"), false).unwrap();
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), r#"tool done f#c({}) whole output "out""#);
    chat.chat.restart(chat.stream);
    chat.push(wire.as_bytes());
    chat.push(sse([content("b"), end("stop")]).replace("\"r\"", "\"r2\"").as_bytes());
    chat.finish();
    chat.drain();
    assert_eq!(chat.lines(), "tool done f#c({}) whole output \"out\"\ntext done \"b\"");
    assert!(chat.chat.tool_result(ToolRef::Call(chat.stream, "c"), Some("again"), false).is_ok());
}

/// 9: a broken line that another broken line swallowed is counted all the same.
#[test]
fn broken_lines_are_counted_one_by_one() {
    let input = values([r#"{"a":"#.to_owned(), r#"{"a":"#.to_owned(), content("b"), end("stop")]);
    let outcome = check_faults(&input, r#"text done "b""#, &["json", "json"]);
    assert_eq!(outcome.tally.records(), 4);
}
