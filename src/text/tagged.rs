//! An assistant's message in which calls are written as tags, taken apart while it streams: text, and calls with the
//! text of their bodies. Pieces may be cut between any two characters. What may yet become a tag, and a space at the
//! end of text, is held back until that is decided; nothing that was said is ever taken back.

use super::call_body::{BodyEvent, CallBody};
use super::code_spans::CodeSpans;
use super::grammar::{Grammar, Match};
use super::held::{Held, trim_start};

/// What a [`TaggedParser`] tells. A block is a run of text or a call; blocks come one after the other.
pub trait TaggedSink {
    /// The text block grows by this, never by nothing; the first of it begins the block. It is trimmed at both ends.
    fn text(&mut self, _text: &str) {}
    /// The text block ended.
    fn text_end(&mut self) {}
    /// A call of this tool begins.
    fn tool_start(&mut self, _name: &str) {}
    /// What stands between the call's tags grows by this, never by nothing: parameters, tags and all.
    /// [`TaggedArgs`](super::TaggedArgs) reads it.
    fn tool_body(&mut self, _text: &str) {}
    /// The call ended: by its closing tag, or because nothing more comes.
    fn tool_end(&mut self, _closed: bool) {}
}

/// Takes one message apart.
///
/// ```
/// use chatrows::{Grammar, TaggedParser, TaggedSink};
///
/// #[derive(Default)]
/// struct Log(String);
/// impl TaggedSink for Log {
///     fn text(&mut self, text: &str) {
///         self.0.push_str(text);
///     }
///     fn tool_start(&mut self, name: &str) {
///         self.0.push_str(&format!("[{name}:"));
///     }
///     fn tool_body(&mut self, text: &str) {
///         self.0.push_str(text);
///     }
///     fn tool_end(&mut self, closed: bool) {
///         self.0.push_str(if closed { "]" } else { "…" });
///     }
/// }
///
/// let (mut parser, mut log) = (TaggedParser::new(Grammar::default(), 16 << 20), Log::default());
/// parser.push("I look. <read_f", &mut log);
/// assert_eq!((log.0.as_str(), parser.held()), ("I look.", " <read_f"));
/// parser.push("ile><path>a.rs</path></read", &mut log);
/// assert_eq!(log.0, "I look.[read_file:<path>a.rs</path>");
/// parser.push("_file>", &mut log);
/// parser.finish(&mut log);
/// assert_eq!(log.0, "I look.[read_file:<path>a.rs</path>]");
/// ```
#[derive(Debug, Clone)]
pub struct TaggedParser {
    grammar: Grammar,
    block: Block,
    /// Of text: what is not said yet. Of a call: what may become its closing tag.
    held: Held,
    /// Bytes that may still come.
    room: usize,
    truncated: bool,
    work: u64,
}

/// What the message stands in.
#[derive(Debug, Clone)]
enum Block {
    Text {
        /// Some of it was said.
        said: bool,
        code: CodeSpans,
        /// A tool's tag has begun.
        tag: Option<Match>,
    },
    Call(CallBody),
    /// Nothing more comes.
    Ended,
}

const TEXT: Block = Block::Text { said: false, code: CodeSpans::Start { spaces: 0 }, tag: None };

impl TaggedParser {
    /// For one message of `max_bytes` bytes at most.
    pub fn new(grammar: Grammar, max_bytes: usize) -> Self {
        TaggedParser { grammar, block: TEXT, held: Held::default(), room: max_bytes, truncated: false, work: 0 }
    }

    /// The message grows by `text`. Beyond the message's cap nothing is told any more.
    pub fn push(&mut self, text: &str, sink: &mut impl TaggedSink) {
        let text = self.keep_to_cap(text);
        let bytes = text.as_bytes();
        let (mut at, mut from) = (0, 0);
        while at < bytes.len() {
            let before = at;
            match &mut self.block {
                Block::Text { said, code, tag: None } => {
                    if !*said && self.held.text().is_empty() {
                        at = text.len() - trim_start(text.get(at..).unwrap_or_default()).len();
                        from = at;
                    }
                    let rest = bytes.get(at..).unwrap_or_default();
                    let in_code = self.grammar.has_tools_in_code();
                    at += if in_code { to_angle(rest) } else { code.advance(rest) };
                    self.say(text.get(from..at), sink);
                    from = at;
                    if at < bytes.len() {
                        self.begin_tag();
                        at += 1;
                    }
                }
                Block::Text { tag: Some(seen), .. } => {
                    let tools = self.grammar.tools();
                    let complete = tools.complete(*seen).filter(|_| bytes[at] == b'>');
                    if let Some(tool) = complete {
                        at += 1;
                        from = at;
                        self.begin_call(tool, sink);
                    } else if tools.narrow(seen, bytes[at]) {
                        at += 1;
                    } else {
                        self.end_tag();
                        self.say(text.get(from..at), sink);
                        from = at;
                    }
                }
                Block::Call(body) => {
                    if let Some(BodyEvent::Ended) = body.next(&self.grammar, text, &mut at) {
                        let Block::Call(body) = std::mem::replace(&mut self.block, TEXT) else { return };
                        let tag = self.grammar.tools().name(body.tool()).len() + 3;
                        self.say_body(text.get(from..at), tag, sink);
                        self.held.clear();
                        from = at;
                        sink.tool_end(true);
                    }
                }
                Block::Ended => return,
            }
            self.work += (at - before).max(1) as u64;
        }
        match &self.block {
            Block::Text { .. } => self.say(text.get(from..), sink),
            Block::Call(body) => {
                let half = body.half_close();
                self.say_body(text.get(from..), half, sink);
            }
            Block::Ended => {}
        }
    }

    /// The message ended: what was held is given back, and what is open ends. Nothing can be pushed any more.
    pub fn finish(&mut self, sink: &mut impl TaggedSink) {
        self.end_tag();
        self.say(Some(""), sink);
        match std::mem::replace(&mut self.block, Block::Ended) {
            Block::Text { said: true, .. } => sink.text_end(),
            Block::Call(_) => {
                if !self.held.text().is_empty() {
                    sink.tool_body(self.held.text());
                }
                sink.tool_end(false);
            }
            Block::Text { .. } | Block::Ended => {}
        }
        self.held.clear();
    }

    /// What came and was not told: spaces and the start of a tag at the end of text, or the start of a call's closing
    /// tag.
    pub fn held(&self) -> &str {
        self.held.text()
    }

    /// More came than the message may have; what was too much is lost.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Bytes visited so far.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn keep_to_cap<'a>(&mut self, text: &'a str) -> &'a str {
        if self.truncated {
            return "";
        }
        self.truncated = text.len() > self.room;
        let end = (0..=self.room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.room -= end;
        text.get(..end).unwrap_or_default()
    }

    /// The text grows; nothing of it is told while the start of a tag stands at its end.
    fn say(&mut self, text: Option<&str>, sink: &mut impl TaggedSink) {
        let Block::Text { said, tag, .. } = &mut self.block else { return };
        let text = text.unwrap_or_default();
        self.work += text.len() as u64;
        self.held.push(text);
        if tag.is_none() && !self.held.solid().is_empty() {
            sink.text(self.held.solid());
            self.held.let_go();
            *said = true;
        }
    }

    /// The body grows; the last `half` bytes of it and what is held may be the closing tag.
    fn say_body(&mut self, text: Option<&str>, half: usize, sink: &mut impl TaggedSink) {
        let text = text.unwrap_or_default();
        self.work += text.len() as u64;
        let Some((body, tag)) = text.len().checked_sub(half).and_then(|end| text.split_at_checked(end)) else {
            return self.held.push(text);
        };
        for known in [self.held.text(), body] {
            if !known.is_empty() {
                sink.tool_body(known);
            }
        }
        self.held.clear();
        self.held.push(tag);
    }

    /// An angle bracket in text. In code it is one and nothing else.
    fn begin_tag(&mut self) {
        if let Block::Text { code, tag, .. } = &mut self.block {
            code.feed(b'<');
            *tag = (!code.protects() || self.grammar.has_tools_in_code()).then(|| self.grammar.tools().any());
        }
    }

    /// It was none.
    fn end_tag(&mut self) {
        if let Block::Text { tag, .. } = &mut self.block {
            *tag = None;
        }
    }

    fn begin_call(&mut self, tool: usize, sink: &mut impl TaggedSink) {
        // Spaces before the tag, and what of it came in earlier pieces.
        self.held.clear();
        if let Block::Text { said: true, .. } = self.block {
            sink.text_end();
        }
        self.block = Block::Call(CallBody::new(tool));
        sink.tool_start(self.grammar.tools().name(tool));
    }
}

fn to_angle(bytes: &[u8]) -> usize {
    memchr::memchr(b'<', bytes).unwrap_or(bytes.len())
}
