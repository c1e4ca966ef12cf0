//! Calls that a message writes as tags (tagged-text.md 2): the cases of its lists, one rule a test, the input beside the
//! blocks. Text stands as `"hi"`, a call as `read_file{path: "a"}`, and `~` before what is not at its end. Where the
//! originals do otherwise the test says so and why.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{Grammar, TaggedArgs};
use support::Random;
use support::tagged::{Block, Message, PARAMS, line};

/// The ways a message may come: at once, character by character, in two pieces cut anywhere, and in random pieces of 1
/// to 10 characters.
fn ways(message: &str) -> Vec<Vec<&str>> {
    let places: Vec<usize> = message.char_indices().map(|(at, _)| at).chain([message.len()]).collect();
    let cut = |at: &[usize]| at.windows(2).map(|pair| &message[pair[0]..pair[1]]).collect::<Vec<_>>();
    let mut ways = vec![vec![message], cut(&places)];
    ways.extend(places.iter().map(|at| vec![&message[..*at], &message[*at..]]));
    for seed in 0..8 {
        let mut random = Random(seed);
        let mut ends = vec![0];
        let mut place = 0;
        while place < places.len() - 1 {
            place = (place + 1 + random.below(10)).min(places.len() - 1);
            ends.push(places[place]);
        }
        ways.push(cut(&ends));
    }
    ways
}

#[track_caller]
fn check_with(grammar: &Grammar, message: &str, expected: &str, ended: bool) {
    for way in ways(message) {
        let mut so_far = Message::new(grammar, usize::MAX);
        way.iter().for_each(|piece| so_far.push(piece));
        if ended {
            so_far.finish();
        }
        assert_eq!(line(&so_far.blocks()), expected, "{way:?}");
    }
}

/// What a message comes to that ended.
#[track_caller]
fn check(message: &str, expected: &str) {
    check_with(&Grammar::default(), message, expected, true);
}

/// What has come of a message that goes on.
#[track_caller]
fn check_open(message: &str, expected: &str) {
    check_with(&Grammar::default(), message, expected, false);
}

/// What was told after each piece.
#[track_caller]
fn check_steps<const N: usize>(steps: [(&str, &str); N]) {
    let mut so_far = Message::new(&Grammar::default(), usize::MAX);
    for (piece, expected) in steps {
        so_far.push(piece);
        assert_eq!(line(so_far.told()), expected, "after {piece:?}");
    }
}

// Section 2.2, in its order.

#[test]
fn nothing_is_no_block() {
    check_open("", "");
    check("", "");
    check(" \n\t\u{a0}\u{feff} ", "");
}

#[test]
fn text_is_trimmed_as_javascript_does() {
    check_open("  hi  ", r#"~"hi""#);
    check("\u{feff} hi\u{3000}\n", r#""hi""#);
    check("\u{85}hi\u{200b}", r#""\u{85}hi\u{200b}""#);
}

#[test]
fn half_a_tool_tag_is_text_when_nothing_follows() {
    check_open("hi <read_fi", r#"~"hi <read_fi""#);
    check("hi <read_fi", r#""hi <read_fi""#);
}

#[test]
fn half_a_tool_tag_is_held_back() {
    check_steps([("hi <read_fi", r#"~"hi""#), ("x", r#"~"hi <read_fix""#), (" <", r#"~"hi <read_fix""#)]);
    check_steps([("hi <read_fi", r#"~"hi""#), ("le>", r#""hi" ~read_file{}"#)]);
    check_steps([("<", ""), ("read_file", ""), (">", "~read_file{}")]);
}

#[test]
fn what_begins_no_tool_tag_is_told_at_once() {
    check_steps([("a <3", r#"~"a <3""#), (" <z", r#"~"a <3 <z""#), (" </", r#"~"a <3 <z </""#)]);
}

#[test]
fn a_call_begins_with_its_opening_tag() {
    check_open("<read_file>", "~read_file{}");
    check("<read_file>", "~read_file{}");
}

#[test]
fn half_a_closing_tag_is_part_of_a_value_that_ends_there() {
    check("<read_file><path>a</pa", r#"~read_file{path: ~"a</pa"}"#);
}

#[test]
fn half_a_closing_tag_is_held_back_while_the_value_is_open() {
    check_open("<read_file><path>a</pa", r#"~read_file{path: ~"a"}"#);
    check_open("<read_file><path>a</pat ", r#"~read_file{path: ~"a"}"#);
    check_open("<read_file><path>a</pax", r#"~read_file{path: ~"a</pax"}"#);
}

#[test]
fn what_stands_between_parameters_says_nothing() {
    check("<read_file><path>a</path>junk</read_file>", r#"read_file{path: "a"}"#);
    check("<read_file>junk<path>a</path>\n</read_file>", r#"read_file{path: "a"}"#);
}

#[test]
fn an_unknown_parameter_says_nothing() {
    check("<read_file><foo>1</foo><path>a</path></read_file>", r#"read_file{path: "a"}"#);
}

#[test]
fn inside_a_parameter_the_tool_does_not_close() {
    check("<read_file><path>a</read_file>", r#"~read_file{path: ~"a</read_file>"}"#);
    check_open("<read_file><path>a</read_file>", r#"~read_file{path: ~"a</read_file>"}"#);
}

#[test]
fn a_tool_inside_a_tool_says_nothing_and_its_parameters_are_of_the_outer_one() {
    check("<read_file><path>a</path><list_files><path>b</path></list_files></read_file>", r#"read_file{path: "b"}"#);
}

#[test]
fn a_parameter_that_comes_again_takes_the_place_of_the_one_before() {
    check(
        "<read_file><path>a</path><end_line>2</end_line><path>b</path></read_file>",
        r#"read_file{end_line: "2", path: "b"}"#,
    );
    check_open("<read_file><path>a</path><end_line>2</end_line><path>b", r#"~read_file{end_line: "2", path: ~"b"}"#);
}

#[test]
fn content_goes_to_its_last_closing_tag() {
    check(
        "<write_to_file><path>p</path><content>\nA </content> B\n</content></write_to_file>",
        r#"write_to_file{path: "p", content: "A </content> B"}"#,
    );
}

/// Improvement: the originals show `A` until the tool closes (the first) or until a later closing tag; here the value
/// streams on as soon as text shows that it does.
#[test]
fn content_with_its_closing_tag_in_it_streams_on() {
    check_steps([
        ("<write_to_file><content>A ", r#"~write_to_file{content: ~"A"}"#),
        ("</content>", r#"~write_to_file{content: ~"A"}"#),
        (" B ", r#"~write_to_file{content: ~"A </content> B"}"#),
        ("C", r#"~write_to_file{content: ~"A </content> B C"}"#),
        ("</content>", r#"~write_to_file{content: ~"A </content> B C"}"#),
        ("</write_to_file>", r#"write_to_file{content: "A </content> B C"}"#),
    ]);
    check(
        "<write_to_file><content>A</content>B</content>C</content></write_to_file>",
        r#"write_to_file{content: "A</content>B</content>C"}"#,
    );
}

/// Improvement: in the originals what looks like a parameter inside the content overwrites the parameter.
#[test]
fn what_looks_like_a_parameter_inside_content_is_content() {
    check(
        "<write_to_file><path>p</path><content>A </content> <path>q</path> B</content></write_to_file>",
        r#"write_to_file{path: "p", content: "A </content> <path>q</path> B"}"#,
    );
    check(
        "<write_to_file><content>A</content><path>q B</content></write_to_file>",
        r#"write_to_file{content: "A</content><path>q B"}"#,
    );
    check(
        "<write_to_file><content>A</content> <content>B</content> C</content></write_to_file>",
        r#"write_to_file{content: "A</content> <content>B</content> C"}"#,
    );
}

/// Improvement: as long as more content may come, what looks like a parameter behind it is none; the originals show it
/// and take it back.
#[test]
fn parameters_behind_content_come_when_the_call_ends() {
    let message = "<write_to_file><path>p</path><content>A</content><task_progress> t </task_progress>";
    check_open(message, r#"~write_to_file{path: "p", content: ~"A"}"#);
    check(message, r#"~write_to_file{path: "p", content: ~"A", task_progress: "t"}"#);
    check(&[message, "</write_to_file>"].concat(), r#"write_to_file{path: "p", content: "A", task_progress: "t"}"#);
    check(
        "<write_to_file><path>p</path><content>A</content><path>q</path></write_to_file>",
        r#"write_to_file{content: "A", path: "q"}"#,
    );
}

/// Improvement: an opening tag behind the content cannot take the place of what is already known of it.
#[test]
fn content_never_shrinks_though_it_is_opened_again() {
    check("<write_to_file><content>A</content><content>B", r#"~write_to_file{content: ~"A"}"#);
}

#[test]
fn the_tools_closing_tag_inside_content_is_content() {
    check(
        "<write_to_file><content>A </write_to_file> B</content></write_to_file>",
        r#"write_to_file{content: "A </write_to_file> B"}"#,
    );
}

#[test]
fn the_call_ends_at_its_first_closing_tag_outside_a_parameter() {
    check(
        "<write_to_file><content>A</content></write_to_file> say </content></write_to_file>",
        r#"write_to_file{content: "A"} "say </content></write_to_file>""#,
    );
}

#[test]
fn content_of_another_tool_ends_at_its_first_closing_tag() {
    check("<new_rule><content>A </content> B</content></new_rule>", r#"new_rule{content: "A"}"#);
}

#[test]
fn the_grammar_says_which_values_go_to_their_last_closing_tag() {
    check_with(
        &Grammar::default().with_last_close("new_rule", "content"),
        "<new_rule><content>A </content> B</content></new_rule>",
        r#"new_rule{content: "A </content> B"}"#,
        true,
    );
}

/// All of their letters count, not only those that tell them apart.
#[test]
fn closing_tags_that_are_alike_are_not_taken_for_one_another() {
    let names = Grammar::empty().with_tool("t").with_param("ab").with_param("cb").with_param("cbx");
    let grammar = names.with_last_close("t", "ab");
    check_with(&grammar, "<t><ab>1</ab><cb>2</ab></t>", r#"t{ab: "1</ab><cb>2"}"#, true);
    check_with(&grammar, "<t><ab>1</ab><cbx>2</cb>3</cbx></t>", r#"t{ab: "1", cbx: "2</cb>3"}"#, true);
    check_with(&grammar, "<t><ab>1</ab><cbx>2</a>3</cbx></t>", r#"t{ab: "1", cbx: "2</a>3"}"#, true);
}

#[test]
fn any_other_value_ends_at_its_first_closing_tag() {
    check("<replace_in_file><diff>x </diff> y</diff></replace_in_file>", r#"replace_in_file{diff: "x"}"#);
}

#[test]
fn names_are_matched_to_the_letter() {
    for text in
        ["<read_file >", "<READ_FILE>", "< read_file>", "<read_file/>", "<read_fil>", "<read_filee>", "</read_file>"]
    {
        check(text, &format!("{text:?}"));
    }
    check("<read_file><PATH>a</PATH><path >b</path></read_file>", "read_file{}");
    check("<read_file><path>a</Path></path ></path></read_file>", r#"read_file{path: "a</Path></path >"}"#);
}

#[test]
fn a_tag_may_follow_what_began_one() {
    check("<<read_file>", r#""<" ~read_file{}"#);
    check("<read_<read_file>", r#""<read_" ~read_file{}"#);
    check("<read_file><pa<path>a<</path><</read_file>", r#"read_file{path: "a<"}"#);
}

/// Improvement: the originals take the tag for a call, and the rest of the message for its body.
#[test]
fn a_tool_tag_in_a_code_span_is_text() {
    check("use `<read_file>` to read", r#""use `<read_file>` to read""#);
    check("``a ` <read_file>`` b", r#""``a ` <read_file>`` b""#);
    check_steps([("use `<read_file>", r#"~"use `<read_file>""#)]);
}

/// Improvement: the originals run an example.
#[test]
fn a_tool_tag_between_fences_is_text() {
    let fenced = "so:\n```xml\n<read_file>\n<path>a</path>\n</read_file>\n```";
    check(fenced, &format!("{fenced:?}"));
    check(&fenced.replace('\n', "\r\n"), &format!("{:?}", fenced.replace('\n', "\r\n")));
    check("~~~\n<read_file>\n~~~\n<read_file></read_file>", r#""~~~\n<read_file>\n~~~" read_file{}"#);
}

#[test]
fn behind_code_a_tool_tag_is_a_call() {
    check("`a` <read_file></read_file>", r#""`a`" read_file{}"#);
    check("a ` b\n<read_file></read_file>", r#""a ` b" read_file{}"#);
    check("```\na\n```\n<read_file></read_file>", r#""```\na\n```" read_file{}"#);
    check("```a```<read_file></read_file>", r#""```a```" read_file{}"#);
}

#[test]
fn code_in_a_call_protects_nothing() {
    check("<read_file>`<path>`a</path>```\n</read_file>`<read_file>`", r#"read_file{path: "`a"} "`<read_file>`""#);
}

#[test]
fn the_grammar_says_whether_tool_tags_count_in_code() {
    let grammar = Grammar::default().tools_in_code(true);
    check_with(&grammar, "use `<read_file>` to read", r#""use `" ~read_file{}"#, true);
    let fenced = "```xml\n<read_file><path>a</path></read_file>\n```";
    check_with(&grammar, fenced, r#""```xml" read_file{path: "a"} "```""#, true);
    check_with(&grammar, "xread_file>", r#""xread_file>""#, true);
}

#[test]
fn thinking_tags_are_text_here() {
    check("<thinking>t</thinking><read_file></read_file>", r#""<thinking>t</thinking>" read_file{}"#);
}

#[test]
fn an_empty_value_is_a_value() {
    check("<write_to_file><content></content></write_to_file>", r#"write_to_file{content: ""}"#);
    check("<read_file><path> \n </path></read_file>", r#"read_file{path: ""}"#);
    check_open("<read_file><path> ", r#"~read_file{path: ~""}"#);
}

#[test]
fn entities_are_not_decoded() {
    check("<read_file><path>&lt;a&amp;</path></read_file>", r#"read_file{path: "&lt;a&amp;"}"#);
}

// Section 2.3: the suite of the second original, in its order, and its streaming variants: `check` is both.

#[test]
fn suite_1_text() {
    check_open("This is a simple text message.", r#"~"This is a simple text message.""#);
    check_open("one\ntwo\n\nthree", r#"~"one\ntwo\n\nthree""#);
    check_open("The last block", r#"~"The last block""#);
}

#[test]
fn suite_2_one_call() {
    check("<read_file><path>src/file.ts</path></read_file>", r#"read_file{path: "src/file.ts"}"#);
}

#[test]
fn suite_3_three_parameters() {
    check(
        "<read_file><path>src/file.ts</path><start_line>10</start_line><end_line>20</end_line></read_file>",
        r#"read_file{path: "src/file.ts", start_line: "10", end_line: "20"}"#,
    );
}

#[test]
fn suite_4_a_call_that_is_not_closed() {
    check("<read_file><path>src/file.ts</path>", r#"~read_file{path: "src/file.ts"}"#);
}

#[test]
fn suite_5_a_parameter_that_is_not_closed() {
    check("<read_file><path>src/file.ts", r#"~read_file{path: ~"src/file.ts"}"#);
}

#[test]
fn suite_6_text_before_a_call() {
    check(
        "Here's the file content: <read_file><path>src/file.ts</path></read_file>",
        r#""Here's the file content:" read_file{path: "src/file.ts"}"#,
    );
}

#[test]
fn suite_7_text_behind_a_call() {
    let message = "<read_file><path>src/file.ts</path></read_file>Here's what I found";
    check_open(message, r#"read_file{path: "src/file.ts"} ~"Here's what I found""#);
}

#[test]
fn suite_8_text_and_calls_in_turn() {
    check(
        "First file: <read_file><path>a.ts</path></read_file>\nSecond file: <read_file><path>b.ts</path></read_file>",
        r#""First file:" read_file{path: "a.ts"} "Second file:" read_file{path: "b.ts"}"#,
    );
}

#[test]
fn suite_9_content_with_its_closing_tag() {
    check(
        "<write_to_file><path>f.md</path><content>one\na </content> tag\ntwo\n</content></write_to_file>",
        r#"write_to_file{path: "f.md", content: "one\na </content> tag\ntwo"}"#,
    );
}

#[test]
fn suite_10_nothing() {
    check("", "");
}

#[test]
fn suite_11_an_unknown_tag() {
    check(
        "This has a <not_a_tool>malformed tag</not_a_tool>",
        r#""This has a <not_a_tool>malformed tag</not_a_tool>""#,
    );
}

#[test]
fn suite_12_a_call_without_parameters() {
    check("<browser_action></browser_action>", "browser_action{}");
}

#[test]
fn suite_13_a_call_quoted_in_a_parameter() {
    check(
        "<execute_command><command>echo '<read_file><path>a</path></read_file>'</command></execute_command>",
        r#"execute_command{command: "echo '<read_file><path>a</path></read_file>'"}"#,
    );
}

#[test]
fn suite_14_angle_brackets_in_a_parameter() {
    check(
        "<search_files><regex><div>.*</div></regex><path>src</path></search_files>",
        r#"search_files{regex: "<div>.*</div>", path: "src"}"#,
    );
}

#[test]
fn suite_15_two_calls_and_nothing_between() {
    check(
        "<read_file><path>a</path></read_file><read_file><path>b</path></read_file>",
        r#"read_file{path: "a"} read_file{path: "b"}"#,
    );
}

#[test]
fn suite_16_values_are_trimmed() {
    check("<read_file><path>  src/file.ts  </path></read_file>", r#"read_file{path: "src/file.ts"}"#);
}

#[test]
fn suite_17_content_of_several_lines() {
    check(
        "<write_to_file><path>f</path><content>\nline 1\nline 2\nline 3\n</content></write_to_file>",
        r#"write_to_file{path: "f", content: "line 1\nline 2\nline 3"}"#,
    );
}

#[test]
fn suite_18_six_blocks() {
    check(
        "I read:\n\n<read_file>\n<path>a</path>\n</read_file>\n\nI write:\n\n<write_to_file>\n<path>b</path>\n\
         <content>\nc\n</content>\n</write_to_file>\n\nI run:\n\n<execute_command>\n<command>ls</command>\n</execute_command>",
        r#""I read:" read_file{path: "a"} "I write:" write_to_file{path: "b", content: "c"} "I run:" execute_command{command: "ls"}"#,
    );
}

/// The original throws beyond 1 MiB; here the message is cut, and says so.
#[test]
fn beyond_its_cap_a_message_is_truncated_and_nothing_throws() {
    let mut message = Message::new(&Grammar::default(), 30);
    message.push("<read_file><path>a</path>");
    assert!(!message.parser.truncated());
    message.push("<end_line>9</end_line></read_file>");
    message.push("more");
    assert!(message.parser.truncated());
    message.finish();
    assert_eq!(line(message.told()), r#"~read_file{path: "a"}"#);
}

#[test]
fn a_cap_cuts_no_character() {
    let mut message = Message::new(&Grammar::default(), 2);
    message.push("aé");
    assert_eq!((line(message.told()).as_str(), message.parser.truncated()), (r#"~"a""#, true));
}

#[test]
fn a_message_as_long_as_its_cap_is_whole() {
    let mut message = Message::new(&Grammar::default(), 3);
    message.push("aé");
    message.push("");
    assert_eq!((line(message.told()).as_str(), message.parser.truncated()), (r#"~"aé""#, false));
}

/// Once taking back has cost too much, what shows stays until the call ends.
#[test]
fn what_comes_too_often_changes_nothing_that_shows() {
    let long = "x".repeat(8192);
    let (mut args, mut fields) = (TaggedArgs::new(&Grammar::default(), "replace_in_file"), Vec::new());
    let mut body = format!("<diff>{long}</diff>{}", "<path>a</path>".repeat(4));
    for more in ["", "<path>b", "c</path> <url>d"] {
        body.push_str(more);
        args.advance(&body, &mut fields);
        assert!(args.preview_truncated());
        assert_eq!(fields.iter().map(|field| field.text(&body)).collect::<Vec<_>>(), [long.as_str(), "a"]);
    }
    args.finish(false, &body, &mut fields);
    let fields = fields.iter().map(|field| (field.text(&body), field.closed)).collect::<Vec<_>>();
    assert_eq!(fields, [(long, true), ("bc".to_owned(), true), ("d".to_owned(), false)]);
}

/// They are the caller's to take away.
#[test]
fn without_the_fields_that_were_what_comes_is_told() {
    let (mut args, mut fields) = (TaggedArgs::new(&Grammar::default(), "read_file"), Vec::new());
    args.advance("<path>a</path>", &mut fields);
    fields.clear();
    let body = "<path>a</path><path>b</path>";
    args.finish(true, body, &mut fields);
    assert_eq!(fields.iter().map(|field| field.text(body)).collect::<Vec<_>>(), ["b"]);
}

/// The original gives a value of more than 100 KiB up; here a value is as long as the message may be.
#[test]
fn a_long_value_is_kept_whole() {
    let long = "x".repeat((100 << 10) + 1);
    for tool in ["write_to_file", "new_rule"] {
        let message = format!("<{tool}><path>p</path><content>{long}</content></{tool}> done");
        let mut so_far = Message::new(&Grammar::default(), usize::MAX);
        so_far.push(&message);
        so_far.finish();
        assert_eq!(line(so_far.told()), format!(r#"{tool}{{path: "p", content: "{long}"}} "done""#));
    }
}

/// The original counts it as complete, and runs it.
#[test]
fn a_call_that_is_open_at_the_end_is_told_to_be_unclosed() {
    check("<read_file><path>a</path></read_fil", r#"~read_file{path: "a"}"#);
}

#[test]
fn after_the_end_nothing_is_told() {
    let mut message = Message::new(&Grammar::default(), usize::MAX);
    message.push("a <");
    message.finish();
    message.push("b");
    message.finish();
    assert_eq!((line(message.told()).as_str(), message.parser.held()), (r#""a <""#, ""));
}

/// As in the first original, and unlike the second, which keeps content's spaces.
#[test]
fn content_is_trimmed_as_any_value() {
    check("<write_to_file><content>\n\n  a\n\n</content></write_to_file>", r#"write_to_file{content: "a"}"#);
}

/// The format that was given up before: its tags are text.
#[test]
fn invocations_by_attribute_are_text() {
    let message = "<function_calls><invoke name=\"LS\"></invoke></function_calls>";
    check(message, &format!("{message:?}"));
}

// The body, which is what a row keeps as the call's input.

#[track_caller]
fn check_body<const N: usize>(pieces: [&str; N], expected: &str, held: &str) {
    let mut so_far = Message::new(&Grammar::default(), usize::MAX);
    pieces.iter().for_each(|piece| so_far.push(piece));
    let Some(Block::Call { body, .. }) = so_far.told().last() else { panic!("no call") };
    assert_eq!((body.as_str(), so_far.parser.held()), (expected, held));
}

#[test]
fn the_body_is_what_stands_between_the_tags() {
    check_body(["<read_file>\n<path>a</path> \n</read_file>"], "\n<path>a</path> \n", "");
}

#[test]
fn what_may_close_the_call_is_no_body_yet() {
    check_body(["<read_file>a</rea", "d"], "a", "</read");
    check_body(["<read_file>a</rea", "x"], "a</reax", "");
    check_body(["<read_file>a<"], "a", "<");
    check_body(["<read_file>a</rea", "</re"], "a</rea", "</re");
}

#[test]
fn inside_a_value_nothing_of_the_body_is_held() {
    check_body(["<read_file><path>a</read_file", "></pat"], "<path>a</read_file></pat", "");
}

// Section 1.4: what is taken for half a closing tag of a parameter. After it the value is trimmed.

#[track_caller]
fn check_value(value: &str, shown: &str) {
    assert_eq!(support::tagged::without_closing_tag(value, "path"), shown);
    check_open(&format!("<read_file><path>{value}"), &format!("~read_file{{path: ~{shown:?}}}"));
}

#[test]
fn a_half_closing_tag_is_any_of_its_letters_in_order() {
    for half in ["a</pa", "a<pt", "a <", "a</", "a</h", "a<path", "a</path"] {
        check_value(half, "a");
    }
}

#[test]
fn any_other_letter_makes_it_text() {
    for value in ["a<xa", "a</tp", "a<pathh", "a<//", "a< /", "a<p>", "a<P", "a<p a"] {
        check_value(value, value);
    }
}

#[test]
fn only_the_last_angle_bracket_counts() {
    check_value("a<pa<", "a<pa");
    check_value("a <b</pa", "a <b");
}

/// The original cuts one space before a half tag, and would show the others.
#[test]
fn all_spaces_before_a_half_closing_tag_are_held() {
    check_open("<read_file><path>a \n </pa", r#"~read_file{path: ~"a"}"#);
}

#[test]
fn a_value_only_grows_or_closes() {
    check_steps([
        ("<read_file><path> ", r#"~read_file{path: ~""}"#),
        (" a", r#"~read_file{path: ~"a"}"#),
        (" <", r#"~read_file{path: ~"a"}"#),
        ("p", r#"~read_file{path: ~"a"}"#),
        ("z ", r#"~read_file{path: ~"a <pz"}"#),
        ("b</path", r#"~read_file{path: ~"a <pz b"}"#),
        (">", r#"~read_file{path: "a <pz b"}"#),
    ]);
}

// Section 4.

/// Report 10: the last closing tag before the tool closes wins, wherever the message is cut; `Message` asserts that no
/// value shrinks.
#[test]
fn report_10_content_is_not_cut() {
    check(
        "<write_to_file><path>p</path><content>A </content> B</content></write_to_file>",
        r#"write_to_file{path: "p", content: "A </content> B"}"#,
    );
    check(
        "<write_to_file><path>p</path><content>A </content> <path>q</path></content></write_to_file>",
        r#"write_to_file{path: "p", content: "A </content> <path>q</path>"}"#,
    );
}

// What shows behind a closing tag that the content may hold.

/// What shows of the content after each character, each once; in the end at last.
fn content_shown(body: &str) -> Vec<String> {
    let mut so_far = Message::new(&Grammar::default(), usize::MAX);
    so_far.push("<write_to_file><path>p</path><content>");
    let mut shown: Vec<String> = Vec::new();
    let mut see = |so_far: &Message| {
        let Some(Block::Call { params, .. }) = so_far.told().first() else { panic!("no call") };
        let content = params.iter().find(|param| param.name == "content").unwrap();
        if shown.last() != Some(&content.text) {
            shown.push(content.text.clone());
        }
    };
    for (at, c) in body.char_indices() {
        so_far.push(&body[at..at + c.len_utf8()]);
        see(&so_far);
    }
    so_far.finish();
    see(&so_far);
    shown
}

#[track_caller]
fn check_content<const N: usize>(body: &str, shown: [&str; N]) {
    assert_eq!(content_shown(body), shown);
}

#[test]
fn report_10_content_is_not_frozen() {
    let open = "<write_to_file><path>p</path><content>A </content> B";
    check_open(open, r#"~write_to_file{path: "p", content: ~"A </content> B"}"#);
    check_content("A </content> B</content></write_to_file>", ["A", "A </content> B"]);
    check_content(
        "A</content>B C</content>D</content>",
        ["A", "A</content>B", "A</content>B C", "A</content>B C</content>D"],
    );
}

/// The price of a body with text between its parameters.
#[test]
fn text_that_was_taken_for_content_is_taken_back_when_the_call_ends() {
    check_content("A</content>j k</write_to_file>", ["A", "A</content>j", "A</content>j k", "A"]);
    check("<write_to_file><content>A</content>junk</write_to_file>", r#"write_to_file{content: "A"}"#);
    check("<write_to_file><content></content>junk</write_to_file>", r#"write_to_file{content: ""}"#);
    check_content("A</content>j", ["A", "A</content>j", "A"]);
}

#[test]
fn a_parameter_behind_text_that_was_taken_for_content_counts() {
    check_content(
        "A</content>j<url>u</url></write_to_file>",
        [
            "A",
            "A</content>j",
            "A</content>j<u",
            "A</content>j<ur",
            "A</content>j<url",
            "A</content>j<url>",
            "A</content>j<url>u",
            "A</content>j<url>u</u",
            "A</content>j<url>u</ur",
            "A</content>j<url>u</url",
            "A</content>j<url>u</url>",
            "A",
        ],
    );
    check(
        "<write_to_file><content>A</content>j<url>u</url></write_to_file>",
        r#"write_to_file{content: "A", url: "u"}"#,
    );
}

#[test]
fn what_may_be_a_parameter_behind_content_stays_hidden() {
    check_content("A</content>\n<task_progress>t</task_progress>\n</write_to_file>", ["A"]);
    check_content("A</content> <task_progress>t <b> </path> C", ["A"]);
}

#[test]
fn text_behind_what_looked_like_a_parameter_shows_all_of_it() {
    check_content("A </content> <path>q</path> B</content>", ["A", "A </content> <path>q</path> B"]);
    check_content("A</content><content>B</content>", ["A", "A</content><content>B"]);
    check_content("A</content> <path>q</content>", ["A", "A</content> <path>q"]);
}

#[test]
fn an_unknown_tag_behind_content_is_content() {
    check_content("A</content><b></content>", ["A", "A</content><b>"]);
    check_content("A</content><path ></content>", ["A", "A</content><path", "A</content><path >"]);
    check_content("A</content></b></content>", ["A", "A</content></b", "A</content></b>"]);
    check_content(
        "A</content><<path>",
        ["A", "A</content><<p", "A</content><<pa", "A</content><<pat", "A</content><<path", "A</content><<path>", "A"],
    );
}

#[test]
fn half_a_tag_behind_content_is_hidden_until_it_is_none() {
    let opening = PARAMS.iter().map(|name| format!("<{name}>"));
    for tag in opening.chain(["</content>".into(), "</write_to_file>".into()]) {
        for end in 1..tag.len() {
            let half = format!("A</content> {}", &tag[..end]);
            assert_eq!(content_shown(&half), ["A"]);
            let none = format!("{half}z</content>");
            assert_eq!(content_shown(&none), ["A", none.strip_suffix("</content>").unwrap()]);
        }
    }
}

#[test]
fn content_that_streams_on_holds_spaces_and_half_closing_tags_back() {
    check_content("A</content>B \n</cont </content>", ["A", "A</content>B", "A</content>B \n</cont"]);
    check_content("A</content>B</write_to_f</content>", ["A", "A</content>B", "A</content>B</write_to_f"]);
}

#[test]
fn lines_end_as_they_may_behind_content() {
    check_content("A\r\n</content>\r\n<url>u</url>\r\n</write_to_file>", ["A"]);
    check_content("A\r\n</content>\r\nB\r\n</content>\r\n", ["A", "A\r\n</content>\r\nB"]);
}

#[test]
fn what_javascript_trims_is_space_behind_content_and_nothing_else_is() {
    check_content("é</content>\u{a0}\u{feff}\u{3000}</write_to_file>", ["é"]);
    check_content("é</content>\u{a0}漢😀</content>", ["é", "é</content>\u{a0}漢", "é</content>\u{a0}漢😀"]);
    check_content("é</content>\u{85}</content>", ["é", "é</content>\u{85}"]);
}

#[test]
fn of_two_values_that_may_hold_their_closing_tags_the_second_settles_the_first() {
    let grammar = Grammar::default().with_last_close("write_to_file", "diff");
    let open = "<write_to_file><content>A</content>j<diff>b</diff>c";
    check_with(&grammar, open, r#"~write_to_file{content: ~"A", diff: ~"b"}"#, true);
    let closed = format!("{open}</diff></content></write_to_file>");
    check_with(&grammar, &closed, r#"write_to_file{content: "A", diff: "b</diff>c"}"#, true);
}

// Names that are told.

#[test]
fn tools_and_parameters_can_be_added() {
    check_with(
        &Grammar::default().with_tool("use_subagent_docs").with_param("depth"),
        "<use_subagent_docs><depth>2</depth></use_subagent_docs><use_subagent_x>",
        r#"use_subagent_docs{depth: "2"} "<use_subagent_x>""#,
        true,
    );
}

#[test]
fn one_name_may_begin_another() {
    check_with(
        &Grammar::empty().with_tool("a").with_tool("ab").with_tool("abc").with_param("b").with_param("bc"),
        "<ab><b>1</b><bc>2</b></bc></a></abc></ab><abc></ab></abc><a></a>",
        r#"ab{b: "1", bc: "2</b>"} abc{} a{}"#,
        true,
    );
}

/// There is no name to wait for, so nothing is held.
#[test]
fn a_name_longer_than_any_is_no_tag() {
    check_steps([("<list_code_definition_names", ""), ("x", r#"~"<list_code_definition_namesx""#)]);
}
