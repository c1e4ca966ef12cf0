//! The invariants of the design for `api-stream`, as properties of generated streams: chunks of every type, markers whole,
//! glued, cut and broken, block arrays, records that are none. Each test names its invariant by number.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{End, Format};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use support::*;

/// One thing that the wire says.
#[derive(Debug, Clone)]
enum Item {
    Record(Value),
    /// Reasoning with a marker somewhere in it, in one piece or two.
    Marker {
        before: &'static str,
        marker: String,
        after: &'static str,
        cut: Option<Index>,
    },
    /// A line as it is: no JSON, or of no known type.
    Line(&'static str),
}

const TEXT: &[&str] = &["a", "b c", "é", "漢字", "😀", "\n", "\"", "<b>", ""];
const NAMES: &[&str] = &["f", "write_file", "a b"];
const IDS: &[&str] = &["c1", "c2", "c3"];
const ARGUMENTS: &[&str] =
    &["{", "}", "{}", "\"a\":", "\"é😀", "\"", "1", "[", "]", ",", "{\"x\":[1,null]}", "junk", ""];

fn text() -> impl Strategy<Value = &'static str> {
    select(TEXT)
}

fn marker() -> impl Strategy<Value = String> {
    let preparing =
        (select(NAMES), 0u64..3000).prop_map(|(name, bytes)| format!("\0tool_preparing\0{name}\0{bytes}\0"));
    let broken = select(&["\0", "\0\0", "\0tool_preparing\0\x007\0", "\0tool_preparing\0f\0-1\0", "\0x\0"][..]);
    prop_oneof![
        6 => preparing,
        1 => Just("\0response_metadata\0{\"model\":\"m\"}\0".to_owned()),
        2 => broken.prop_map(str::to_owned),
    ]
}

fn call() -> impl Strategy<Value = Value> {
    let id = || option::weighted(0.9, select(IDS));
    prop_oneof![
        2 => (id(), select(NAMES), select(ARGUMENTS)).prop_map(
            |(id, name, arguments)| json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments})
        ),
        2 => (id(), select(NAMES)).prop_map(|(id, name)| json!({"type": "tool_call_start", "id": id, "name": name})),
        4 => (id(), select(ARGUMENTS)).prop_map(|(id, delta)| json!({"type": "tool_call_delta", "id": id, "delta": delta})),
        1 => id().prop_map(|id| json!({"type": "tool_call_end", "id": id})),
        3 => (option::of(0..3), id(), option::of(select(NAMES)), option::of(select(ARGUMENTS))).prop_map(
            |(index, id, name, arguments)| {
                json!({"type": "tool_call_partial", "index": index, "id": id, "name": name, "arguments": arguments})
            }
        ),
    ]
}

fn block() -> impl Strategy<Value = Value> {
    let open = any::<bool>;
    prop_oneof![
        4 => (text(), open()).prop_map(|(text, partial)| json!({"type": "text", "content": text, "partial": partial})),
        1 => (text(), open()).prop_map(|(text, partial)| json!({"type": "reasoning", "reasoning": text, "partial": partial})),
        3 => (option::of(select(&["b1", "b2"][..])), text(), open()).prop_map(
            |(id, text, partial)| json!({"type": "tool_use", "id": id, "name": "f", "params": {"p": text}, "partial": partial})
        ),
        1 => Just(json!({"type": "x"})),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    const LINES: &[&str] = &["{}", "7", "{\"type\":\"x\"}", "{\"type\":\"text\",\"text\":\"x", "{oops}", "[]"];
    let record = prop_oneof![
        6 => text().prop_map(|text| json!({"type": "text", "text": text})),
        4 => text().prop_map(|text| json!({"type": "reasoning", "text": text})),
        8 => call(),
        4 => (select(NAMES), 0u64..3000).prop_map(
            |(name, bytes)| json!({"type": "tool_preparing", "toolName": name, "byteCount": bytes})
        ),
        1 => (0u32..9).prop_map(|tokens| json!({"type": "usage", "inputTokens": tokens, "totalCost": 0.5})),
        1 => Just(json!({"type": "grounding", "sources": [{"url": "https://a.test"}]})),
        1 => Just(json!({"type": "thinking_complete", "signature": "s"})),
        1 => Just(json!({"type": "error", "error": "e", "message": "m"})),
        3 => vec(block(), 0..4).prop_map(|blocks| json!({"type": "assistantMessageContent", "blocks": blocks})),
    ];
    prop_oneof![
        16 => record.prop_map(Item::Record),
        5 => (text(), marker(), text(), option::of(any::<Index>()))
            .prop_map(|(before, marker, after, cut)| Item::Marker { before, marker, after, cut }),
        1 => select(LINES).prop_map(Item::Line),
    ]
}

fn items(most: usize) -> impl Strategy<Value = Vec<Item>> {
    vec(item(), 1..most)
}

fn records(item: &Item) -> Vec<String> {
    match item {
        Item::Record(record) => vec![record.to_string()],
        Item::Line(line) => vec![(*line).to_owned()],
        Item::Marker { before, marker, after, cut } => {
            let whole = [before, &**marker, after].concat();
            let at = cut.map_or(0, |cut| cut.index(whole.len() + 1));
            let at = (0..=at).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
            let pieces =
                [&whole[..at], &whole[at..]].map(|text| json!({"type": "reasoning", "text": text}).to_string());
            pieces.into_iter().skip(usize::from(at == 0)).collect()
        }
    }
}

/// The bytes, and where records end.
fn wire(items: &[Item], events: bool) -> (Vec<u8>, Vec<usize>) {
    // Whatever the first record looks like, this says whether events or bare values come.
    let mut bytes = if events { b": x\n\n".to_vec() } else { b"{}\n".to_vec() };
    let mut ends = Vec::new();
    for record in items.iter().flat_map(records) {
        bytes.extend(if events { format!("data: {record}\n\n") } else { format!("{record}\n") }.bytes());
        ends.push(bytes.len());
    }
    (bytes, ends)
}

fn run(bytes: &[u8], cuts: Cuts) -> Chat {
    let mut chat = Chat::of(Format::ApiStream);
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

proptest! {
    #![proptest_config(cases(128))]

    /// 1 and 4: `Chat::drain` compares the oracle after every batch, and the oracle refuses an op that changes nothing.
    #[test]
    fn ops_lead_to_the_rows_and_none_changes_nothing(items in items(24), events in any::<bool>()) {
        let (bytes, ends) = wire(&items, events);
        let mut chat = Chat::of(Format::ApiStream);
        let mut from = 0;
        for to in ends {
            chat.push(&bytes[from..to]);
            chat.drain();
            prop_assert!(chat.drain().is_empty());
            from = to;
        }
        chat.finish();
        chat.drain();
    }

    /// 2: at every byte.
    #[test]
    fn cuts_change_nothing(items in items(8), events in any::<bool>(), seed in any::<u64>()) {
        let (bytes, _) = wire(&items, events);
        let whole = run(&bytes, Cuts::Whole).outcome();
        for cuts in [Cuts::Seed(seed), Cuts::Every(1)] {
            prop_assert_eq!(&run(&bytes, cuts).outcome(), &whole, "{:?}", cuts);
        }
        let summary = run(&bytes, Cuts::Whole).summary();
        for place in 1..bytes.len() {
            let mut chat = Chat::of(Format::ApiStream);
            chat.push(&bytes[..place]);
            chat.push(&bytes[place..]);
            chat.finish();
            prop_assert_eq!(&chat.summary(), &summary, "cut at {}", place);
        }
    }

    /// 3 and 10: an id is one row, and no NUL of a marker reaches the page.
    #[test]
    fn one_call_id_is_one_row_and_no_nul_shows(items in items(24)) {
        let chat = run(&wire(&items, false).0, Cuts::Whole);
        let rows = row_values(&chat);
        let mut ids: Vec<&str> = rows.iter().filter_map(|row| row["tool"]["callId"].as_str()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), count, "{}", chat.lines());
        prop_assert!(!chat.rows().to_string().contains("\\u0000"));
    }

    /// 6
    #[test]
    fn after_an_end_everything_is_at_rest(items in items(24), cut in any::<Index>()) {
        let (bytes, _) = wire(&items, false);
        let start = &bytes[..cut.index(bytes.len() + 1)];
        let mut finished = Chat::of(Format::ApiStream);
        finished.push(start);
        finished.drain();
        let end = finished.finish();
        prop_assert_eq!((finished.finish(), finished.abort()), (end, end));
        finished.drain();
        prop_assert!(row_values(&finished).iter().all(is_at_rest), "{}", finished.lines());
        prop_assert!(!finished.lines().contains("tool-preparing"), "{}", finished.lines());
        prop_assert_eq!(&finished.panels()["activity"]["state"], "idle");

        let mut aborted = Chat::of(Format::ApiStream);
        aborted.push(start);
        prop_assert_eq!(aborted.abort(), End::Cancelled);
        aborted.drain();
        prop_assert!(row_values(&aborted).iter().all(|row| is_at_rest(row) && row["state"] != "pending"));
        prop_assert!(!aborted.lines().contains("tool-preparing"), "{}", aborted.lines());
        let before = aborted.rows();
        aborted.push(&bytes);
        prop_assert!(aborted.drain().is_empty());
        prop_assert_eq!(aborted.rows(), before);

        let mut failed = Chat::of(Format::ApiStream);
        failed.push(start);
        failed.chat.fail(failed.stream, "connection lost", "read-error", Some(true));
        failed.drain();
        prop_assert!(row_values(&failed).iter().all(is_at_rest), "{}", failed.lines());
    }

    /// 7: the same bytes again, declared as a replay, also where the first pass broke off at a record's end.
    #[test]
    fn a_replay_leaves_the_rows(mut items in items(20), seed in any::<u64>(), cut in any::<Index>()) {
        // A block that vanished and came again has taken another place in the first pass than in the second.
        let mut arrays = 0;
        items.retain(|item| {
            let is_array = matches!(item, Item::Record(record) if record["type"] == "assistantMessageContent");
            arrays += usize::from(is_array);
            !is_array || arrays == 1
        });
        let (bytes, ends) = wire(&items, false);
        let whole = run(&bytes, Cuts::Whole);
        let mut chat = Chat::of(Format::ApiStream);
        chat.feed(&bytes[..*cut.get(&ends)], Cuts::Seed(seed));
        if seed % 2 == 0 {
            // On this wire an end that is none would be the response's.
            chat.chat.fail(chat.stream, "connection lost", "read-error", Some(true));
            chat.finish();
        }
        chat.drain();
        chat.chat.restart(chat.stream);
        chat.feed(&bytes, Cuts::Seed(!seed));
        chat.finish();
        chat.drain();
        prop_assert_eq!(lines(&chat.rows()), lines(&whole.rows()));
        // Once more, now that all of it stands.
        chat.chat.restart(chat.stream);
        chat.feed(&bytes, Cuts::Whole);
        chat.finish();
        chat.drain();
        prop_assert_eq!(lines(&chat.rows()), lines(&whole.rows()));
    }

    /// 8: what may run parses strictly, and no response with an error has any of it among its chunks.
    #[test]
    fn a_call_may_run_only_if_it_is_whole(items in items(24)) {
        let chat = run(&wire(&items, false).0, Cuts::Whole);
        let error = chat.lines().contains("error done !e");
        for row in row_values(&chat).iter().filter(|row| row["kind"] == "tool") {
            let (pending, whole) = (row["state"] == "pending", row["tool"]["inputDone"] == true);
            prop_assert_eq!(pending, whole, "{}", row);
            prop_assert!(!whole || is_strict_json(row["tool"]["input"].as_str().unwrap()) || row["tool"]["input"] == "");
            prop_assert!(row["state"] != "failed" || row["error"]["code"].is_string(), "{}", row);
            let of_array = row["tool"]["input"].as_str().is_some_and(|input| input.starts_with("{\"p\":"));
            prop_assert!(!(pending && error) || of_array, "{}", chat.lines());
        }
    }

    /// 9: every record is counted once.
    #[test]
    fn the_counts_add_up_to_the_records(items in items(24), events in any::<bool>()) {
        let (bytes, ends) = wire(&items, events);
        let tally = run(&bytes, Cuts::Whole).counts();
        let records = ends.len() as u64 + u64::from(!events);
        prop_assert_eq!((tally.records(), tally.bytes), (records, bytes.len() as u64), "{:?}", tally);
    }

    /// 9: no text and no reasoning is lost, whatever markers stand in it; nor does any of a marker become text.
    #[test]
    fn every_text_is_in_a_row(mut items in items(24)) {
        items.retain(|item| !matches!(item, Item::Record(record) if record["type"] == "assistantMessageContent"));
        let said = |kind: &str| -> String {
            let plain = items.iter().map(|item| match item {
                Item::Record(record) if record["type"] == kind => record["text"].as_str().unwrap().to_owned(),
                Item::Marker { before, marker, after, .. } if kind == "reasoning" => {
                    let broken = marker.contains("\0-1\0") || marker.contains("\0\x007\0") || marker.len() < 5;
                    let inside = if broken { marker.replace('\0', "") } else { String::new() };
                    [before, &*inside, after].concat()
                }
                _ => String::new(),
            });
            plain.collect()
        };
        let chat = run(&wire(&items, false).0, Cuts::Whole);
        for kind in ["text", "reasoning"] {
            let rows = row_values(&chat);
            let shown: String = rows.iter().filter(|row| row["kind"] == kind).filter_map(|row| row["text"].as_str()).collect();
            prop_assert_eq!(shown, said(kind), "{}", kind);
        }
    }

    /// 10: bytes without any sense, and a plausible stream with bytes broken.
    #[test]
    fn no_bytes_can_panic(items in items(12), breaks in vec((any::<Index>(), any::<u8>()), 1..8), seed in any::<u64>()) {
        let mut bytes = wire(&items, false).0;
        for (place, byte) in breaks {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let whole = run(&bytes, Cuts::Whole).outcome();
        prop_assert_eq!(run(&bytes, Cuts::Seed(seed)).outcome(), whole);
    }
}
