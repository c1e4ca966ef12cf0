//! The work of taking tagged text apart is linear, however it is cut and whatever it is made of: counted in bytes visited,
//! never in time. And for the work that the count could miss, anything quadratic would not end (report 9).

#![cfg(not(target_arch = "wasm32"))]

use chatrows::json::FieldSpan;
use chatrows::{Grammar, TaggedArgs, TaggedParser, TaggedSink};

const MIB: usize = 1 << 20;

/// Pieces of 24 bytes, as a model sends them.
fn pieces(message: &str) -> impl Iterator<Item = &str> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let end = (24.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end))?;
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// Keeps the body and the fields of the last call, as a row does.
struct Call {
    grammar: Grammar,
    args: TaggedArgs,
    body: String,
    fields: Vec<FieldSpan>,
    /// Of the calls before.
    work: u64,
    /// Bytes of fields that were shown again.
    again: usize,
    /// Fields lacked parameters for a while.
    truncated: bool,
}

impl TaggedSink for Call {
    fn tool_start(&mut self, name: &str) {
        self.work += self.args.work();
        self.args = TaggedArgs::new(&self.grammar, name);
        self.body.clear();
        self.fields.clear();
    }

    fn tool_body(&mut self, text: &str) {
        self.body.push_str(text);
        self.args.advance(&self.body, &mut self.fields);
        self.truncated |= self.args.preview_truncated();
        self.count_again();
    }

    fn tool_end(&mut self, closed: bool) {
        self.args.finish(closed, &self.body, &mut self.fields);
        self.count_again();
    }
}

impl Call {
    /// Whoever shows the fields shows all of them again where one was taken back.
    fn count_again(&mut self) {
        if self.args.take_rewritten() {
            self.again += self.fields.iter().map(|field| (field.shown_end - field.start) as usize).sum::<usize>();
        }
    }
}

/// Bytes visited, and the last call.
fn read(grammar: &Grammar, message: &str) -> (u64, Call) {
    let args = TaggedArgs::new(grammar, "");
    let mut call = Call {
        grammar: grammar.clone(),
        args,
        body: String::new(),
        fields: Vec::new(),
        work: 0,
        again: 0,
        truncated: false,
    };
    let mut parser = TaggedParser::new(grammar.clone(), usize::MAX);
    pieces(message).for_each(|piece| parser.push(piece, &mut call));
    parser.finish(&mut call);
    (parser.work() + call.work + call.args.work(), call)
}

/// `make(n)` makes a message of n bytes or so: the work for each byte is no more than `most`, and the same for more
/// bytes.
#[track_caller]
fn check(make: impl Fn(usize) -> String, most: f64) {
    let per_byte = |size: usize| {
        let message = make(size);
        read(&Grammar::default(), &message).0 as f64 / message.len() as f64
    };
    let (small, large) = (per_byte(MIB / 4), per_byte(MIB));
    assert!(large < small * 1.02 + 0.01, "{small} for each byte grow to {large}");
    assert!((1.0..=most).contains(&large), "{large} for each byte");
}

fn repeated(piece: &'static str) -> impl Fn(usize) -> String {
    move |size| piece.repeat(size / piece.len())
}

fn content(piece: &'static str) -> impl Fn(usize) -> String {
    move |size| {
        let content = piece.repeat(size / piece.len());
        format!("<write_to_file><path>p</path><content>{content}</content></write_to_file>")
    }
}

#[test]
fn plain_text() {
    check(repeated("Some words and a line.\n"), 2.1);
}

/// Three looks at each byte of a value: where its tag ends, in the message and in the body, and what shows of it.
#[test]
fn content_of_a_file() {
    check(content("let a = b < c; // é\n"), 6.1);
}

#[test]
fn text_of_what_may_begin_a_tag() {
    for piece in ["<", "<thin", "<read_fil", "</content>", "<read_file<", "<r ", "<read_file >"] {
        check(repeated(piece), 4.1);
    }
}

#[test]
fn code() {
    for piece in ["`", "``` ", "```\n", "~", "`<read_file>`", "~~~\n<read_file>\n~~~\n"] {
        check(repeated(piece), 4.1);
    }
}

#[test]
fn spaces() {
    check(repeated(" "), 4.1);
    check(repeated("\u{a0}"), 4.1);
    check(|size| ["a", &" ".repeat(size), "b"].concat(), 4.1);
}

#[test]
fn a_value_of_what_may_end_it() {
    for piece in ["<", "</content>", "</conten", " ", "</write_to_file>", "<path>", "<path>a</path>", "</c </path>"] {
        check(content(piece), 10.1);
    }
}

/// Each byte is read once more where it shows late.
#[test]
fn content_that_goes_on_behind_its_closing_tags() {
    for piece in [
        "</content>x",
        "</content> \r\n",
        "</content> <path>q</path>",
        "</content> <path>q</path> B",
        "</content><content>",
        "</content><pat>",
        "</content></write_to_fil ",
        "</content><path></write_to_file>",
    ] {
        check(content(piece), 10.1);
    }
    // One closing tag, and then no other.
    for piece in ["x ", "<path>q</path> ", "<pat ", "</write_to_fil ", " ", "\u{a0}", "<", "<content>", "<url>u</url>x"]
    {
        let tail = |end: &'static str| {
            move |size: usize| format!("<write_to_file><content>A</content>{}{end}", piece.repeat(size / piece.len()))
        };
        check(tail(""), 12.1);
        check(tail("</write_to_file>"), 12.1);
    }
}

/// Content that is taken back costs one more showing of what is left, once a call.
#[test]
fn text_behind_content_is_taken_back_once() {
    let long = "0123456789abcde\n".repeat(MIB / 64);
    let message = format!("<write_to_file><content>{long}</content>{long}<url>u</url></write_to_file>");
    let (_, call) = read(&Grammar::default(), &message);
    assert!(call.again > long.len() / 2 && call.again <= message.len() / 2, "{} bytes again", call.again);
    let settled = format!("<write_to_file><content>{}</content>", format!("{long}</content>").repeat(8));
    assert_eq!(read(&Grammar::default(), &settled).1.again, 0);
}

#[test]
fn a_body_of_what_may_be_tags() {
    for piece in
        ["<", "<path>", "<path></path>", "</read_fil", "<pat", " ", "<path> ", "</path>", "<content></content>"]
    {
        check(|size| ["<read_file>", &piece.repeat(size / piece.len())].concat(), 10.1);
    }
}

#[test]
fn calls() {
    check(repeated("<read_file></read_file>"), 6.1);
    check(repeated("a <read_file><path>b</path></read_file> "), 8.1);
}

/// Wherever in the body they stand.
#[test]
fn parameters_that_come_again_and_again() {
    let long = "x".repeat(MIB / 4);
    let short = "<path>a</path><url>b</url>\n".repeat(MIB / 108);
    for before in ["", &long] {
        let message = format!("<replace_in_file>{before}<path>c</path><diff>{long}</diff>{short}<url>d</url>");
        let (work, call) = read(&Grammar::default(), &message);
        assert!(work <= 10 * message.len() as u64, "{work}");
        assert!(call.again <= 2 * message.len(), "{} bytes again", call.again);
        assert!(call.truncated && !call.args.preview_truncated());
        let texts: Vec<String> = call.fields.iter().map(|field| field.text(&call.body)).collect();
        assert_eq!(texts, [&long, "a", "d"]);
    }
}

/// What counts is what shows again, not where it stands.
#[test]
fn short_parameters_may_come_again_behind_a_long_text() {
    let long = "x".repeat(MIB / 4);
    let message = format!("<read_file>{long}<url>u</url>{}</read_file>", "<path>a</path>".repeat(100));
    assert!(!read(&Grammar::default(), &message).1.truncated);
}

#[test]
fn the_number_of_names_makes_no_difference() {
    let many = (0..10_000).fold(Grammar::default(), |grammar, n| {
        grammar.with_tool(&format!("read_file_{n}")).with_param(&format!("path_{n}"))
    });
    for message in [
        repeated("a <read_file_x <rea ")(MIB / 4),
        content("a <path_> ")(MIB / 4),
        repeated("<read_file><path>a</path></read_file>")(MIB / 4),
    ] {
        let (few, many) = (read(&Grammar::default(), &message).0, read(&many, &message).0);
        assert!(many as f64 <= few as f64 * 1.2, "{few} to {many}");
    }
}

/// Report 9: no re-reading for each token, and the value arrives as it came.
#[test]
fn report_9_a_long_message_in_small_pieces() {
    let message = content("0123456789 abcdefghijkl\n")(256 << 10);
    let (work, call) = read(&Grammar::default(), &message);
    let looks = work as f64 / message.len() as f64;
    // Two in the message, three in the body.
    assert!((4.9..=6.0).contains(&looks), "{looks} for each byte");
    assert!(call.fields[1].closed);
    assert_eq!(call.fields[1].text(&call.body).len(), (256 << 10) / 24 * 24 - 1);
}
