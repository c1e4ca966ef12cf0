//! The parser of tagged text against one that reads the whole message at once, on generated messages: after each piece,
//! however the message is cut, what was told and what is held back are what has come so far. `Message` asserts that no value
//! shrinks, but for the one cut when a call ends.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Format, Grammar, Options, StreamOptions, TaggedTools};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use support::tagged::{Block, Message, TOOLS, line, reference, trim};
use support::{Chat, cases, chat_of, end, many_cases, sse, without_ids};

/// Pieces of which any order is a message: tags, what is nearly one, code, and letters that are no ASCII.
const TEXT: &[&str] = &[
    "<",
    ">",
    "/",
    "</",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "\n",
    "\r\n",
    "\n```\n",
    "\n~~~x\n",
    "\n   ```rs",
    " ",
    "  ",
    "\t",
    "a",
    "b c",
    "é",
    "漢",
    "😀",
    "\u{a0}",
    "\u{feff}",
    "\u{85}",
    "pa",
    "con",
    "\\",
    "<foo>",
    "</foo>",
    "<thinking>",
    "</thinking>",
];
const TAGS: &[&str] = &[
    "<read_file>",
    "</read_file>",
    "<write_to_file>",
    "</write_to_file>",
    "<new_rule>",
    "</new_rule>",
    "<content>",
    "</content>",
    "<path>",
    "</path>",
    "<diff>",
    "</diff>",
];
const NEARLY: &[&str] = &[
    "<read_fil>",
    "<read_file",
    "</read_file",
    "<READ_FILE>",
    "<read_file >",
    "< read_file>",
    "<<read_file>",
    "<read_file>>",
    "</pa",
    "<pth",
    "</ path>",
    "</cont",
    "<content",
    "</write_to_fil",
    "<write_to_file/>",
];
const OPENINGS: &[&str] = &[
    "<write_to_file><content>",
    "<write_to_file><path>a</path><content>b</content>",
    "<read_file><path>",
    "<new_rule><content>",
    "`<read_file>`",
    "\n```xml\n<read_file>",
];

/// What may stand in content and behind its closing tags.
const CONTENT: &[&str] = &[
    "</content>",
    "</content>",
    "</content> ",
    "</content>\r\n",
    "<content>",
    "<path>q</path>",
    "<path>",
    "</path>",
    "<url>u</url>\n",
    "<foo>",
    "</foo>",
    "<pa",
    "<con",
    "</",
    "<",
    "</cont",
    "</write_to_fil",
    "</write_to_file>",
    "a",
    " b",
    "é",
    "😀",
    " ",
    "\n",
    "\u{a0}",
    "\u{85}",
];

fn message() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => select(TEXT),
        5 => select(TAGS),
        2 => select(NEARLY),
        2 => select(OPENINGS),
    ];
    vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

/// A call whose content may hold all of that.
fn content() -> impl Strategy<Value = String> {
    vec(select(CONTENT), 0..14).prop_map(|pieces| format!("<write_to_file><path>p</path><content>{}", pieces.concat()))
}

fn places(message: &str) -> Vec<usize> {
    (0..=message.len()).filter(|at| message.is_char_boundary(*at)).collect()
}

/// The chat of a response whose text comes in these pieces, drained after each; `drain` compares the ops with the rows.
fn chat<'a>(pieces: impl Iterator<Item = &'a str>) -> Chat {
    let mut chat = chat_of(Format::OpenAiChat, Options::default());
    let options =
        StreamOptions { tagged_tools: Some(TaggedTools::default()), ..StreamOptions::from(Format::OpenAiChat) };
    chat.stream = chat.chat.stream(options);
    for piece in pieces {
        let chunk = json!({"choices": [{"delta": {"content": piece}}]}).to_string();
        chat.push(sse([chunk]).as_bytes());
        chat.drain();
    }
    chat.push(sse([end("stop")]).as_bytes());
    chat.finish();
    chat.drain();
    chat
}

/// What is held back is what may yet become a tag that counts, and spaces.
fn is_due(held: &str, blocks: &[Block]) -> bool {
    match blocks.last() {
        Some(Block::Call { name, closed: false, .. }) => format!("</{name}>").starts_with(held),
        _ => trim(held).is_empty() || TOOLS.iter().any(|tool| format!("<{tool}>").starts_with(trim(held))),
    }
}

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn blocks_are_those_of_the_message_so_far_however_it_is_cut(message in prop_oneof![message(), content()]) {
        let grammar = Grammar::default();
        let places = places(&message);
        let expected: Vec<Vec<Block>> = places.iter().map(|at| reference(&message[..*at], false)).collect();
        let whole = reference(&message, true);
        let check = |so_far: &Message, place: usize| {
            let blocks = so_far.blocks();
            prop_assert_eq!(&blocks, &expected[place], "after {:?}", &message[..places[place]]);
            prop_assert!(is_due(so_far.parser.held(), so_far.told()), "held {:?}", so_far.parser.held());
            Ok(())
        };

        let mut by_one = Message::new(&grammar, usize::MAX);
        for (place, pair) in places.windows(2).enumerate() {
            check(&by_one, place)?;
            let before = by_one.told().to_vec();
            by_one.push(&message[pair[0]..pair[1]]);
            // What was told stays, and only the last block goes on.
            let after = by_one.told();
            prop_assert!(after.len() >= before.len());
            if let Some(kept) = before.len().checked_sub(1) {
                prop_assert_eq!(&after[..kept], &before[..kept]);
            }
        }
        by_one.finish();
        prop_assert_eq!(line(by_one.told()), line(&whole));

        for (place, at) in places.iter().enumerate() {
            let mut in_two = Message::new(&grammar, usize::MAX);
            in_two.push(&message[..*at]);
            check(&in_two, place)?;
            in_two.push(&message[*at..]);
            check(&in_two, places.len() - 1)?;
            in_two.finish();
            prop_assert_eq!(in_two.told(), &whole[..]);
        }
    }

    /// Where showing them at once would cost too much, parameters come when the call ends.
    #[test]
    fn parameters_that_came_again_too_often_are_right_at_the_end(message in message(), cut in any::<Index>()) {
        let often = "<path>a</path>".repeat(5);
        let long = "x".repeat(5000);
        let message = format!("<write_to_file><diff>{long}</diff>{often}{message}");
        let mut so_far = Message::new(&Grammar::default(), usize::MAX);
        let places = places(&message);
        let (before, after) = message.split_at(*cut.get(&places));
        so_far.push(before);
        so_far.push(after);
        so_far.finish();
        let line = |blocks: &[Block]| line(blocks).replace(&long, "long");
        prop_assert_eq!(line(so_far.told()), line(&reference(&message, true)));
    }

    #[test]
    fn beyond_its_cap_a_message_is_as_if_it_ended_there(message in message(), cap in 0usize..120) {
        let grammar = Grammar::default();
        let end = (0..=cap.min(message.len())).rev().find(|end| message.is_char_boundary(*end)).unwrap();
        let mut by_one = Message::new(&grammar, cap);
        for pair in places(&message).windows(2) {
            by_one.push(&message[pair[0]..pair[1]]);
        }
        let mut at_once = Message::new(&grammar, cap);
        at_once.push(&message);
        for mut so_far in [by_one, at_once] {
            prop_assert_eq!(so_far.parser.truncated(), message.len() > cap);
            prop_assert_eq!(&so_far.blocks(), &reference(&message[..end], false));
            so_far.finish();
            prop_assert_eq!(so_far.told(), &reference(&message[..end], true)[..]);
        }
    }

    #[test]
    fn no_text_panics(message in "\\PC{0,40}|[<>/`~ \na-f]{0,40}", in_code in any::<bool>()) {
        let tools = ["a", "ab", "b"].into_iter().fold(Grammar::empty(), |grammar, name| grammar.with_tool(name));
        let grammar = tools.with_param("c").with_param("cd").with_last_close("a", "c").tools_in_code(in_code);
        for at in places(&message) {
            let mut so_far = Message::new(&grammar, 32);
            so_far.push(&message[..at]);
            so_far.push(&message[at..]);
            so_far.finish();
        }
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn ops_lead_to_the_rows_however_the_text_is_cut(message in prop_oneof![message(), content()], cut in any::<Index>()) {
        let places = places(&message);
        let by_one = chat(places.windows(2).map(|pair| &message[pair[0]..pair[1]]));
        let (before, after) = message.split_at(*cut.get(&places));
        prop_assert_eq!(without_ids(&by_one.rows()), without_ids(&chat([before, after].into_iter()).rows()));
    }
}
