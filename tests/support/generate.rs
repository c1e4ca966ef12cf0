//! Chat completion streams from plausible to hostile, as proptest strategies: what the records say, and how they are
//! framed. What was put in is known, so that counts and texts can be told without the crate.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// One thing that a server sends.
#[derive(Debug, Clone)]
pub enum Item {
    Text {
        choice: u32,
        text: String,
    },
    Reasoning {
        choice: u32,
        name: &'static str,
        text: String,
    },
    Refusal {
        text: String,
    },
    /// Content as parts: text, or thinking.
    Parts(Vec<(bool, String)>),
    /// Several fragments of calls in one delta.
    Calls {
        choice: u32,
        fragments: Vec<Fragment>,
    },
    Finish {
        choice: u32,
        reason: &'static str,
    },
    /// What comes now has another response id.
    NextResponse,
    Usage {
        tokens: u32,
    },
    Error(&'static str),
    /// A record of another format, or of none.
    Unknown(&'static str),
    /// A record that is no JSON and ends on its own line.
    Broken(&'static str),
    /// A record with a byte that is no UTF-8, inside its text.
    BadBytes,
    Done,
    Comment,
    Empty,
}

/// A piece of one call.
#[derive(Debug, Clone)]
pub struct Fragment {
    pub id: Option<u8>,
    pub index: Option<u8>,
    pub name: Option<&'static str>,
    pub arguments: Arguments,
}

#[derive(Debug, Clone)]
pub enum Arguments {
    Text(String),
    /// Whole, as an object.
    Object(&'static str),
    Null,
}

/// How records are framed.
#[derive(Debug, Clone)]
pub struct Framing {
    /// Bare values, one a line, instead of events.
    pub bare: bool,
    pub line_end: &'static str,
    pub mark: bool,
    pub space: bool,
    /// A member whose length hides that of the text.
    pub padding: bool,
    /// Members that stand twice.
    pub doubled: bool,
    /// Usage in every record.
    pub usage: bool,
    pub done: bool,
    /// Records over two lines; in events with a comment between them.
    pub split: bool,
    /// Bare values without anything between them.
    pub joined: bool,
}

/// A stream: items and their framing.
#[derive(Debug, Clone)]
pub struct Stream {
    pub items: Vec<Item>,
    pub framing: Framing,
}

/// What a stream comes to on the wire.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    pub bytes: Vec<u8>,
    /// Where records end.
    pub boundaries: Vec<usize>,
    pub records: u64,
    pub pings: u64,
}

/// Pieces of a JSON string as they stand between its quotes.
const TEXT: &[&str] = &[
    "a",
    "bc ",
    "Lorem ipsum ",
    "é",
    "漢字",
    "😀",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u00e9",
    "\\ud83d\\ude00",
    "<b>&amp;</b>",
    "\u{2028}",
    "\\u0000",
    "\u{feff}",
    "data: x",
    "",
];
/// Pieces of arguments, before they are escaped.
const ARGUMENTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\":",
    "\"b\":",
    "\"__proto__\":",
    "\"",
    "x",
    "\\",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\u00",
    "C:\\d",
    "1",
    "-",
    "0",
    ".5",
    "e3",
    "tr",
    "true",
    "null",
    " ",
    "\n",
    "é😀",
    "{\"a\":1}",
    "{\"p\":\"a.txt\",\"c\":\"line\\n\"}",
    "junk",
];
const NAMES: &[&str] = &["f", "get_weather", "write"];

fn text() -> impl Strategy<Value = String> {
    vec(select(TEXT), 0..4).prop_map(|pieces| pieces.concat())
}

/// Text that may hold halves of characters.
fn torn_text() -> impl Strategy<Value = String> {
    prop_oneof![6 => text(), 1 => text().prop_map(|text| text + "\\ud83d"), 1 => text().prop_map(|text| format!("\\ude00{text}"))]
}

fn arguments() -> impl Strategy<Value = Arguments> {
    prop_oneof![
        6 => vec(select(ARGUMENTS), 0..4).prop_map(|pieces| Arguments::Text(pieces.concat())),
        3 => select(&["{}", "{\"a\":1}", "{\"path\":\"x\",\"n\":[1,{\"b\":null}]}"][..]).prop_map(|text| Arguments::Text(text.into())),
        1 => select(&["{\"x\": 1}", "[1, 2]", "{}"][..]).prop_map(Arguments::Object),
        1 => Just(Arguments::Null),
    ]
}

fn fragment() -> impl Strategy<Value = Fragment> {
    (option::of(0u8..3), option::of(0u8..3), option::of(select(NAMES)), arguments())
        .prop_map(|(id, index, name, arguments)| Fragment { id, index, name, arguments })
}

fn choice() -> impl Strategy<Value = u32> {
    prop_oneof![8 => Just(0u32), 1 => Just(1), 1 => Just(2)]
}

fn item() -> impl Strategy<Value = Item> {
    const REASONS: &[&str] = &["stop", "tool_calls", "length", "content_filter", "function_call", "error", "x"];
    const UNKNOWN: &[&str] = &[
        "{}",
        "[]",
        "7",
        "null",
        "\"x\"",
        "{\"object\":\"text_completion\",\"choices\":[{\"text\":\"x\"}]}",
        "{\"type\":\"x-new\",\"choices\":7}",
        "{\"object\":\"chat.completion.chunk\",\"id\":\"\",\"choices\":[]}",
        "{\"choices\":[null,{},7]}",
    ];
    const ERRORS: &[&str] = &[
        "{\"error\":{}}",
        "{\"error\":{\"message\":\"busy\",\"code\":\"rate_limit_exceeded\"}}",
        "{\"error\":\"no\"}",
        "{\"object\":\"error\",\"message\":\"m\",\"code\":500}",
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}],\"error\":{\"code\":429}}",
    ];
    const BROKEN: &[&str] =
        &["{\"choices\":[{\"delta\":{\"content\":\"x", "{\"a\":tru}", "{x}", "{\"a\" 1}", "{\"a\":\"\\q\"}"];
    prop_oneof![
        10 => (choice(), torn_text()).prop_map(|(choice, text)| Item::Text { choice, text }),
        4 => (choice(), select(&["reasoning", "reasoning_content"][..]), torn_text())
            .prop_map(|(choice, name, text)| Item::Reasoning { choice, name, text }),
        1 => text().prop_map(|text| Item::Refusal { text }),
        1 => vec((any::<bool>(), text()), 0..3).prop_map(Item::Parts),
        8 => (choice(), vec(fragment(), 1..3)).prop_map(|(choice, fragments)| Item::Calls { choice, fragments }),
        4 => (choice(), select(REASONS)).prop_map(|(choice, reason)| Item::Finish { choice, reason }),
        2 => Just(Item::NextResponse),
        1 => (0u32..99).prop_map(|tokens| Item::Usage { tokens }),
        1 => select(ERRORS).prop_map(Item::Error),
        1 => select(UNKNOWN).prop_map(Item::Unknown),
        1 => select(BROKEN).prop_map(Item::Broken),
        1 => Just(Item::BadBytes),
        1 => Just(Item::Done),
        1 => Just(Item::Comment),
        1 => Just(Item::Empty),
    ]
}

fn framing() -> impl Strategy<Value = Framing> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (0u8..3, select(&["\n", "\n", "\r\n", "\r"][..]), flags, 0u8..12).prop_map(
        |(bare, line_end, (mark, space, padding, doubled, usage, done), lines)| Framing {
            bare: bare == 0,
            // Bare values resynchronise at line feeds.
            line_end: if bare == 0 && line_end == "\r" { "\n" } else { line_end },
            mark,
            space,
            padding,
            doubled: doubled && padding,
            usage: usage && space,
            done,
            split: lines < 3,
            joined: lines > 9,
        },
    )
}

/// Streams of up to `most` items.
pub fn streams(most: usize) -> impl Strategy<Value = Stream> {
    (vec(item(), 1..most), framing()).prop_map(|(items, framing)| Stream { items, framing })
}

/// Streams as a provider sends them when all goes well, of up to `most` items before each finish.
pub fn tame_streams(most: usize) -> impl Strategy<Value = Stream> {
    let item = prop_oneof![
        5 => text().prop_map(|text| Item::Text { choice: 0, text }),
        2 => text().prop_map(|text| Item::Reasoning { choice: 0, name: "reasoning", text }),
        4 => (0u8..3, vec(select(ARGUMENTS), 0..3)).prop_map(|(index, pieces)| Item::Calls {
            choice: 0,
            fragments: vec![Fragment {
                id: Some(index),
                index: Some(index),
                name: Some(NAMES[usize::from(index)]),
                arguments: Arguments::Text(pieces.concat()),
            }],
        }),
    ];
    let reason = select(&["stop", "tool_calls", "length"][..]);
    let response = (vec(item, 1..most), reason).prop_map(|(mut items, reason)| {
        items.extend([Item::Finish { choice: 0, reason }, Item::NextResponse]);
        items
    });
    (vec(response, 1..4), framing()).prop_map(|(responses, framing)| Stream { items: responses.concat(), framing })
}

impl Stream {
    /// The bytes, and what is known of them.
    pub fn wire(&self) -> Wire {
        let framing = &self.framing;
        let mut wire = Wire::default();
        if framing.mark {
            wire.bytes.extend("\u{feff}".bytes());
        }
        // Whatever the first record looks like, this says whether events or bare values come.
        if framing.bare {
            wire.records += 1;
            wire.payload(b"{}", framing);
        } else {
            wire.line("event: x", framing);
        }
        let mut response = 0;
        for item in &self.items {
            match item {
                Item::NextResponse => response += 1,
                Item::Done => wire.payload(b"[DONE]", framing),
                Item::Comment | Item::Empty if framing.bare => wire.line("", framing),
                Item::Comment => {
                    wire.pings += 1;
                    wire.line(": ping", framing);
                    wire.line("", framing);
                }
                Item::Empty => {
                    wire.pings += 1;
                    wire.payload(b"", framing);
                }
                item => {
                    wire.records += 1;
                    wire.payload(&item.record(response, framing), framing);
                }
            }
            wire.boundaries.push(wire.bytes.len());
        }
        if framing.done {
            wire.payload(b"[DONE]", framing);
        }
        wire
    }
}

impl Wire {
    fn line(&mut self, line: &str, framing: &Framing) {
        self.bytes.extend(line.bytes());
        self.bytes.extend(framing.line_end.bytes());
    }

    fn payload(&mut self, payload: &[u8], framing: &Framing) {
        if !framing.bare {
            self.bytes.extend(if framing.space { "data: " } else { "data:" }.bytes());
        }
        // Only where space may stand; what is broken breaks on its own line.
        let split = framing.split.then(|| payload.windows(9).position(|part| part == br#","object""#)).flatten();
        if let Some(place) = split {
            self.bytes.extend(&payload[..=place]);
            self.line("", framing);
            if !framing.bare {
                self.line(": x", framing);
                self.bytes.extend(b"data:");
                self.pings += 1;
            }
            self.bytes.extend(&payload[place + 1..]);
        } else {
            self.bytes.extend(payload);
        }
        let joined = framing.bare && framing.joined && payload.starts_with(br#"{"id":"r"#) && payload.is_ascii();
        if !joined {
            self.line("", framing);
        }
        if !framing.bare {
            self.line("", framing);
        }
    }
}

impl Item {
    fn record(&self, response: usize, framing: &Framing) -> Vec<u8> {
        let delta = |choice: u32, delta: &str| (choice, delta.to_owned(), "null".to_owned());
        let (choice, delta, finish) = match self {
            Item::Text { choice, text } => delta(*choice, &format!(r#""content":"{text}""#)),
            Item::Reasoning { choice, name, text } => delta(*choice, &format!(r#""content":null,"{name}":"{text}""#)),
            Item::Refusal { text } => delta(0, &format!(r#""refusal":"{text}""#)),
            Item::Parts(parts) => {
                let part = |(thinking, text): &(bool, String)| match thinking {
                    true => format!(r#"{{"type":"thinking","thinking":[{{"type":"text","text":"{text}"}}]}}"#),
                    false => format!(r#"{{"type":"text","text":"{text}"}}"#),
                };
                delta(0, &format!(r#""content":[{}]"#, parts.iter().map(part).collect::<Vec<_>>().join(",")))
            }
            Item::Calls { choice, fragments } => {
                let fragments: Vec<String> =
                    fragments.iter().map(|fragment| fragment.json(response, *choice)).collect();
                delta(*choice, &format!(r#""tool_calls":[{}]"#, fragments.join(",")))
            }
            Item::Finish { choice, reason } => (*choice, String::new(), format!("\"{reason}\"")),
            Item::Usage { tokens } => {
                let usage = format!(r#"{{"prompt_tokens":7,"completion_tokens":{tokens}}}"#);
                return format!(r#"{{"id":"r{response}","choices":[],"usage":{usage}}}"#).into_bytes();
            }
            Item::Error(record) | Item::Unknown(record) | Item::Broken(record) => return record.as_bytes().to_vec(),
            Item::BadBytes => {
                let record = format!(r#"{{"id":"r{response}","choices":[{{"index":0,"delta":{{"content":"x?y"}}}}]}}"#);
                return record.into_bytes().into_iter().map(|byte| if byte == b'?' { 0xE9 } else { byte }).collect();
            }
            _ => unreachable!("no record"),
        };
        let padding = if framing.padding { r#","obfuscation":"Zx\"9""# } else { "" };
        let doubled = if framing.doubled { r#""choices":[{"delta":{"content":"never"}}],"# } else { "" };
        let usage = if framing.usage { r#","usage":{"prompt_tokens":7}"# } else { "" };
        format!(
            r#"{{"id":"r{response}","object":"chat.completion.chunk",{doubled}"choices":[{{"index":{choice},"delta":{{{delta}}},"finish_reason":{finish}}}]{usage}{padding}}}"#
        )
        .into_bytes()
    }
}

impl Fragment {
    fn json(&self, response: usize, choice: u32) -> String {
        let mut members = Vec::new();
        members.extend(self.index.map(|index| format!(r#""index":{index}"#)));
        // Ids differ from response to response and choice to choice, so that every id in the rows is one of a kind.
        members.extend(self.id.map(|id| format!(r#""id":"call_{response}_{choice}_{id}""#)));
        let mut function = Vec::new();
        function.extend(self.name.map(|name| format!(r#""name":"{name}""#)));
        function.push(match &self.arguments {
            Arguments::Text(text) => format!(r#""arguments":{}"#, Value::from(text.as_str())),
            Arguments::Object(json) => format!(r#""arguments":{json}"#),
            Arguments::Null => r#""arguments":null"#.to_owned(),
        });
        members.push(format!(r#""function":{{{}}}"#, function.join(",")));
        format!("{{{}}}", members.join(","))
    }
}
