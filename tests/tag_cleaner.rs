//! Text without the tags that models leave in it (tagged-text.md 1.4): every line of its table, the rules around it, and
//! a cleaner that reads the whole text at once to compare with on generated texts. Where the original does otherwise
//! the test says so and why.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{CleanSink, Grammar, TagCleaner, TaggedParser, TaggedSink, Thoughts};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use support::many_cases;
use support::tagged::{code, trim};

/// Runs of text, and of reasoning in `[]`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Told(Vec<(bool, String)>);

impl Told {
    fn add(&mut self, reasoning: bool, text: &str) {
        assert!(!text.is_empty());
        match self.0.last_mut() {
            Some((last, told)) if *last == reasoning => told.push_str(text),
            _ => self.0.push((reasoning, text.to_owned())),
        }
    }

    fn line(&self) -> String {
        let run = |(reasoning, text): &(bool, String)| if *reasoning { format!("[{text}]") } else { text.clone() };
        self.0.iter().map(run).collect::<Vec<_>>().join("|")
    }
}

impl CleanSink for Told {
    fn text(&mut self, text: &str) {
        self.add(false, text);
    }

    fn reasoning(&mut self, text: &str) {
        self.add(true, text);
    }
}

/// What is told of a text that came in these pieces.
fn clean(thoughts: Thoughts, pieces: &[&str], whole: bool) -> String {
    let (mut cleaner, mut told) = (TagCleaner::new(thoughts), Told::default());
    pieces.iter().for_each(|piece| cleaner.push(piece, &mut told));
    if whole {
        cleaner.end_block(&mut told);
    }
    told.line()
}

#[track_caller]
fn check_with(thoughts: Thoughts, text: &str, expected: &str, whole: bool) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let by_one: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
    assert_eq!(clean(thoughts, &by_one, whole), expected, "one by one");
    for at in places {
        assert_eq!(clean(thoughts, &[&text[..at], &text[at..]], whole), expected, "cut at {at}");
    }
}

/// What shows of a text that goes on.
#[track_caller]
fn check_partial(text: &str, expected: &str) {
    check_with(Thoughts::Apart, text, expected, false);
}

/// What a whole text comes to, reasoning apart.
#[track_caller]
fn check(text: &str, expected: &str) {
    check_with(Thoughts::Apart, text, expected, true);
}

/// What a whole text comes to if only the tags go.
#[track_caller]
fn check_inline(text: &str, expected: &str) {
    check_with(Thoughts::Inline, text, expected, true);
}

/// What shows after each piece.
#[track_caller]
fn check_steps<const N: usize>(steps: [(&str, &str); N]) {
    let (mut cleaner, mut told) = (TagCleaner::default(), Told::default());
    for (piece, expected) in steps {
        cleaner.push(piece, &mut told);
        assert_eq!(told.line(), expected, "after {piece:?}");
    }
}

// The table of half tags, line by line.

#[test]
fn half_1_an_angle_bracket() {
    check_partial("x <", "x");
    check_partial("x </", "x");
}

/// The original shows the bracket, and takes it back when a letter follows. Here text only grows, so it waits.
#[test]
fn half_2_an_angle_bracket_and_a_space() {
    check_partial("x < ", "x");
    check_partial("x </ ", "x");
    check_steps([("x < ", "x"), ("t", "x"), ("h b", "x < th b")]);
    check_steps([("x < ", "x"), ("3", "x < 3")]);
}

#[test]
fn half_3_a_word() {
    check_partial("x <thin", "x");
    check_partial("x </thin", "x");
    check_partial("x < think", "x");
}

#[test]
fn half_4_a_word_on_the_next_line() {
    check_partial("x <\nfoo", "x");
}

#[test]
fn half_5_spaces_at_the_start_do_not_show() {
    check_partial("  lead <ab", "lead");
}

#[test]
fn half_6_two_words() {
    check_partial("x <t hinking", "x <t hinking");
    check_partial("x <t ", "x");
}

#[test]
fn half_7_any_other_letter() {
    for text in ["x <3", "x <h1", "x <read-file", "x <é"] {
        check_partial(text, text);
    }
}

#[test]
fn half_8_attributes_and_comments() {
    check_partial("x <a href=\"u", "x <a href=\"u");
    check_partial("x <!--", "x <!--");
}

#[test]
fn half_9_a_closed_code_span() {
    check_partial("`<div`", "`<div`");
}

#[test]
fn half_10_an_open_code_span() {
    check_partial("`<div", "`");
    check_steps([("`<div", "`"), ("`", "`<div`")]);
}

#[test]
fn a_closed_tag_is_no_half_one() {
    check_partial("x <b>", "x <b>");
    check_partial("x <b> <c", "x <b>");
}

// Whole text.

#[test]
fn whole_text_loses_nothing() {
    for text in ["if a < b", "vec<int", "x <", "x </", "<", "a <thinking", "x < "] {
        check(text, trim(text));
    }
}

/// The original removes a fence with a language at the end.
#[test]
fn a_fence_at_the_end_stays() {
    for text in ["x\n```xml", "x\n```", "```rs"] {
        check(text, text);
        check_partial(text, text);
    }
}

#[test]
fn text_is_trimmed_at_both_ends() {
    check(" \n hi\u{a0} there \n", "hi\u{a0} there");
    check_steps([(" ", ""), ("hi ", "hi"), (" ", "hi"), ("x", "hi  x")]);
}

// Tags that go.

#[test]
fn every_tag_of_the_list_goes() {
    for name in ["thinking", "think", "function_calls"] {
        check_inline(&format!("a<{name}>b</{name}>c"), "abc");
    }
}

#[test]
fn an_opening_tag_takes_one_space_behind_it_along() {
    check_inline("a<thinking>  b", "a b");
    check_inline("a<function_calls>\n\nb", "a\nb");
    check_inline("a<think>\u{3000}b", "ab");
}

#[test]
fn a_closing_tag_takes_one_space_before_it_along() {
    check_inline("a  </thinking>b", "a b");
    check_inline("a\n\n</function_calls>b", "a\nb");
}

#[test]
fn no_tag_takes_a_space_twice() {
    check_inline("a <thinking> </thinking> b", "a b");
    check_inline("a <thinking></thinking> b", "a b");
    check_inline("a<thinking></thinking>b", "ab");
}

#[test]
fn tags_count_to_the_letter() {
    for text in [
        "<Thinking>",
        "<thinking >",
        "< thinking>",
        "<thinking a=\"b\">",
        "<thinkin>",
        "<thinkings>",
        "<thinking/>",
        "</ think>",
        "<tool>",
        "<function_call>",
    ] {
        check(text, text);
    }
}

#[test]
fn there_is_one_scan() {
    check("<thin<thinking>king>a", "<thin|[king>a]");
    check_inline("<thin<thinking>king>a", "<thinking>a");
}

#[test]
fn a_closing_tag_without_an_opening_one_goes() {
    check("a </thinking>b", "ab");
    check("</think>\n\nhi", "hi");
}

/// The original takes tags out of code too, and with them what an answer about them is about.
#[test]
fn tags_in_code_stay() {
    check("the `<thinking>` tag", "the `<thinking>` tag");
    check("``a ` </think>`` b", "``a ` </think>`` b");
    check("```\n<thinking>a</thinking>\n```\nb", "```\n<thinking>a</thinking>\n```\nb");
    check("```\r\n<think>\r\n```\r\nb", "```\r\n<think>\r\n```\r\nb");
    check("~~~xml\n<function_calls>\n~~~", "~~~xml\n<function_calls>\n~~~");
}

/// A code span ends at a newline, and at no other space behind an angle bracket.
#[test]
fn only_a_newline_ends_a_code_span_that_is_not_closed() {
    check("`a <\u{200a}<think>` b", "`a <\u{200a}<think>` b");
    check("`a <\n<think>` b", "`a <|[` b]");
}

#[test]
fn behind_code_tags_go() {
    check("`a` <think>b</think>", "`a`|[b]");
    check("a ` b\n<think>c</think>", "a ` b|[c]");
    check("```\na\n```\n<think>b</think>", "```\na\n```|[b]");
}

#[test]
fn behind_a_tag_a_line_begins() {
    check("<thinking>```\n</thinking>\n```\n</thinking>a", "[```\n</thinking>\n```]|a");
}

// Reasoning. The original leaves it in the text.

#[test]
fn what_is_thought_is_reasoning() {
    check("<thinking>\na b\n</thinking>\n\nc", "[a b]|c");
    check("<think>a</think>b<think>c</think>", "[a]|b|[c]");
}

#[test]
fn what_is_thought_shows_as_it_comes() {
    check_steps([("<think>a ", "[a]"), ("b<", "[a b]"), ("/think", "[a b]"), (">c", "[a b]|c")]);
}

#[test]
fn calls_may_be_wrapped_in_a_thought() {
    check("<thinking>a<function_calls>b</function_calls>c</thinking>d", "[abc]|d");
}

/// Hidden text is worse than a thought that shows: the tags of the two kinds close each other.
#[test]
fn any_closing_thinking_tag_ends_the_thought() {
    check("<thinking>a</think>b", "[a]|b");
    check("<thinking>a<think>b</think>c</thinking>d", "[ab]|cd");
}

#[test]
fn an_empty_thought_is_nothing() {
    check("a <think> </think> b", "a b");
    check("a  <think> b</think> c", "a|[b]|c");
    check("<think></think>", "");
}

#[test]
fn half_a_tag_in_a_thought_is_reasoning() {
    check("<think>a < b", "[a < b]");
}

#[test]
fn a_thought_that_is_open_when_a_block_ends_is_open_in_the_next() {
    let (mut cleaner, mut told) = (TagCleaner::default(), Told::default());
    cleaner.push("<think>a", &mut told);
    cleaner.end_block(&mut told);
    assert!(cleaner.is_thinking());
    cleaner.push(" b </think> c", &mut told);
    cleaner.end_block(&mut told);
    assert_eq!((told.line().as_str(), cleaner.is_thinking()), ("[ab]|c", false));
}

#[test]
fn code_that_is_open_when_a_block_ends_is_not_open_in_the_next() {
    let (mut cleaner, mut told) = (TagCleaner::default(), Told::default());
    cleaner.push("```\n<think>", &mut told);
    cleaner.end_block(&mut told);
    cleaner.push("<think>a", &mut told);
    assert_eq!(told.line(), "```\n<think>|[a]");
}

/// Both layers, as a presenter joins them.
#[derive(Default)]
struct Joined {
    cleaner: TagCleaner,
    told: Told,
}

impl TaggedSink for Joined {
    fn text(&mut self, text: &str) {
        self.cleaner.push(text, &mut self.told);
    }

    fn text_end(&mut self) {
        self.cleaner.end_block(&mut self.told);
    }

    fn tool_start(&mut self, name: &str) {
        self.told.0.push((false, format!("{{{name}}}")));
        self.told.0.push((true, String::new()));
    }
}

#[track_caller]
fn check_joined(message: &str, expected: &str) {
    for at in (0..=message.len()).filter(|at| message.is_char_boundary(*at)) {
        let (mut parser, mut joined) = (TaggedParser::new(Grammar::default(), usize::MAX), Joined::default());
        parser.push(&message[..at], &mut joined);
        parser.push(&message[at..], &mut joined);
        parser.finish(&mut joined);
        joined.told.0.retain(|(_, text)| !text.is_empty());
        assert_eq!(joined.told.line(), expected, "cut at {at}");
    }
}

#[test]
fn a_call_in_a_thought_is_a_call() {
    check_joined(
        "<thinking>I read.</thinking>\n<read_file><path>a</path></read_file>\nDone.",
        "[I read.]|{read_file}|Done.",
    );
    check_joined("<thinking>a <read_file></read_file> b</thinking> c", "[a]|{read_file}|[b]|c");
    check_joined("a <function_calls>\n<read_file></read_file>\n</function_calls>", "a|{read_file}");
}

// Against a cleaner that reads the whole text at once.

/// The characters that stay, and whether each is reasoning.
fn strip(text: &str, thinking: &mut bool) -> (Vec<(bool, char)>, usize) {
    let mut kept: Vec<(bool, char)> = Vec::new();
    let mut rest = text;
    loop {
        let code = code(rest);
        let tag = rest.match_indices('<').filter(|(at, _)| !code[*at]).find_map(|(at, _)| {
            let tags = ["<thinking>", "</thinking>", "<think>", "</think>", "<function_calls>", "</function_calls>"];
            Some((at, tags.into_iter().find(|tag| rest[at..].starts_with(tag))?))
        });
        let end = tag.map_or(rest.len(), |(at, _)| at);
        let since = kept.len();
        kept.extend(rest[..end].chars().map(|c| (*thinking, c)));
        let Some((at, tag)) = tag else { return (kept, since) };
        rest = &rest[at + tag.len()..];
        let is_space = |c: char| trim(&c.to_string()).is_empty();
        if tag.starts_with("</") {
            kept.pop_if(|(_, c)| is_space(*c));
        } else {
            rest = rest.strip_prefix(is_space).unwrap_or(rest);
        }
        if tag.contains("think") {
            *thinking = !tag.starts_with("</");
        }
    }
}

/// Without half a tag at its end: the table of the sheet, but that spaces behind the bracket wait.
fn without_half_tag(text: &str) -> &str {
    let Some(at) = text.rfind('<') else { return text };
    let word = text[at + 1..].strip_prefix('/').unwrap_or(&text[at + 1..]);
    let is_half = trim(word).chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    if is_half { &text[..at] } else { text }
}

fn reference(text: &str, thinking: &mut bool, thoughts: Thoughts, whole: bool) -> Told {
    let (mut kept, since) = strip(text, thinking);
    if !whole {
        // What stands before a tag that went is no half tag with what stands behind it: it was shown.
        let tail: String = kept[since..].iter().map(|(_, c)| c).collect();
        kept.truncate(since + without_half_tag(&tail).chars().count());
    }
    let mut told = Told::default();
    let mut spaces = String::new();
    for (reasoning, c) in kept {
        let reasoning = reasoning && thoughts == Thoughts::Apart;
        spaces.push(c);
        if !trim(&spaces).is_empty() {
            let goes_on = told.0.last().is_some_and(|(last, _)| *last == reasoning);
            told.add(reasoning, if goes_on { &spaces } else { trim(&spaces) });
            spaces.clear();
        }
    }
    told
}

const PIECES: &[&str] = &[
    "<thinking>",
    "</thinking>",
    "<think>",
    "</think>",
    "<function_calls>",
    "</function_calls>",
    "<thin",
    "</thin",
    "<think >",
    "< think>",
    "<Think>",
    "king>",
    "<b>",
    "<h1",
    "<a b",
    "<",
    ">",
    "/",
    "</",
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\r\n",
    "\n```\n",
    "\n~~~x\n",
    " ",
    "  ",
    "\t",
    "\u{a0}",
    "\u{200a}",
    "\u{85}",
    "a",
    "b c",
    "_",
    "é",
    "😀",
    "3",
];

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn what_shows_is_that_of_the_text_so_far_however_it_is_cut(
        blocks in vec(vec(select(PIECES), 0..12).prop_map(|pieces| pieces.concat()), 1..3),
        inline in any::<bool>(),
    ) {
        let thoughts = if inline { Thoughts::Inline } else { Thoughts::Apart };
        let mut one_by_one = TagCleaner::new(thoughts);
        let mut thinking = false;
        for text in blocks {
            let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            let before = one_by_one.clone();
            let partial = |at: usize| reference(&text[..at], &mut { thinking }, thoughts, false);
            let expected: Vec<Told> = places.iter().map(|at| partial(*at)).collect();
            let whole = reference(&text, &mut thinking, thoughts, true);

            let mut told = Told::default();
            for (place, pair) in places.windows(2).enumerate() {
                prop_assert_eq!(&told, &expected[place], "after {:?}", &text[..pair[0]]);
                one_by_one.push(&text[pair[0]..pair[1]], &mut told);
            }
            one_by_one.end_block(&mut told);
            prop_assert_eq!(&told, &whole);
            prop_assert_eq!(one_by_one.is_thinking(), thinking);

            for (place, at) in places.iter().enumerate() {
                let (mut in_two, mut told) = (before.clone(), Told::default());
                in_two.push(&text[..*at], &mut told);
                prop_assert_eq!(&told, &expected[place]);
                in_two.push(&text[*at..], &mut told);
                prop_assert_eq!(&told, &expected[places.len() - 1]);
                in_two.end_block(&mut told);
                prop_assert_eq!(&told, &whole);
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}|[<>/`~ \nthink_]{0,40}") {
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (mut cleaner, mut told) = (TagCleaner::default(), Told::default());
            cleaner.push(&text[..at], &mut told);
            cleaner.push(&text[at..], &mut told);
            cleaner.end_block(&mut told);
        }
    }
}

// Work, counted.

/// A mebibyte of this in pieces of 24 bytes or so: bytes visited for each byte.
#[track_caller]
fn check_work(piece: &str, most: f64) {
    let text = piece.repeat((1 << 20) / piece.len());
    let (mut cleaner, mut sink) = (TagCleaner::default(), Nowhere);
    let mut rest = &text[..];
    while !rest.is_empty() {
        let end = (24.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap();
        cleaner.push(&rest[..end], &mut sink);
        rest = &rest[end..];
    }
    cleaner.end_block(&mut sink);
    let work = cleaner.work() as f64 / text.len() as f64;
    assert!((1.0..=most).contains(&work), "{work} for each byte");
}

struct Nowhere;

impl CleanSink for Nowhere {}

#[test]
fn each_byte_is_visited_a_bounded_number_of_times() {
    check_work("Some words and a line.\n", 2.1);
    for piece in [
        "<",
        "<thin",
        "<thinking>",
        "<think> </think> ",
        "</think>",
        "`",
        "``` ",
        "<a ",
        "< ",
        " ",
        "\u{a0}",
        "a",
        "```\n",
    ] {
        check_work(piece, 4.1);
    }
}
