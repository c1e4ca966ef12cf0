//! A message's text without the tags that models leave in it: `<thinking>`, `<think>` and `<function_calls>` go, what
//! stands between the thinking tags is reasoning. Text comes in blocks, in pieces cut between any two characters; what
//! comes out only grows. Half a tag at the end is held back while the text is partial, and given back when it is whole.

use super::code_spans::CodeSpans;
use super::held::{Held, is_space, trim_start};

/// What a [`TagCleaner`] tells. Neither is ever nothing; both are trimmed at both ends, and so are their parts where one
/// follows the other.
pub trait CleanSink {
    /// The text goes on.
    fn text(&mut self, _text: &str) {}
    /// The reasoning goes on.
    fn reasoning(&mut self, _text: &str) {}
}

/// Where that goes which stands between thinking tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thoughts {
    /// To [`CleanSink::reasoning`].
    #[default]
    Apart,
    /// To [`CleanSink::text`], as if only the tags had gone.
    Inline,
}

/// Cleans the text blocks of one message.
///
/// Tags count to the letter, without attributes, and not in code. An opening tag takes the space behind it along, a
/// closing tag the one before it; one scan, so that what is left may look like a tag again.
///
/// ```
/// use chatrows::{CleanSink, TagCleaner, Thoughts};
///
/// #[derive(Default)]
/// struct Log(String, String);
/// impl CleanSink for Log {
///     fn text(&mut self, text: &str) {
///         self.0.push_str(text);
///     }
///     fn reasoning(&mut self, text: &str) {
///         self.1.push_str(text);
///     }
/// }
///
/// let (mut cleaner, mut log) = (TagCleaner::new(Thoughts::Apart), Log::default());
/// for piece in ["<thin", "king>\nIs it ", "so?\n</thinking>\n\n", "It is, if a <"] {
///     cleaner.push(piece, &mut log);
/// }
/// assert_eq!((log.1.as_str(), log.0.as_str()), ("Is it so?", "It is, if a"));
/// cleaner.push(" b", &mut log);
/// cleaner.end_block(&mut log);
/// assert_eq!(log.0, "It is, if a < b");
/// ```
#[derive(Debug, Clone, Default)]
pub struct TagCleaner {
    thoughts: Thoughts,
    /// A thinking tag is open; it stays open when a block ends.
    thinking: bool,
    code: CodeSpans,
    /// Spaces, and then half a tag.
    held: Held,
    half: Option<HalfTag>,
    /// Where it begins in what is held.
    angle: usize,
    /// The tag before takes a space along.
    takes_space: bool,
    /// What was told last of this block: reasoning, or text.
    told: Option<bool>,
    work: u64,
}

/// What may become a tag: the text from the last `<`, as long as there is but one word behind it. Not only the tags that
/// go: any would flicker until it is rendered (tagged-text.md 1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HalfTag {
    Angle,
    Slash,
    /// Spaces before the word. The sheet shows these and takes them back with the word's first letter; here they are held.
    Gap,
    Word {
        /// Without a space before it.
        exact: bool,
    },
    /// Spaces behind the word.
    Behind,
}

impl HalfTag {
    /// None: it is no tag.
    fn next(self, c: char) -> Option<HalfTag> {
        use HalfTag::*;
        Some(match (self, c) {
            (Angle, '/') => Slash,
            (Angle | Slash, 'A'..='Z' | 'a'..='z' | '_') => Word { exact: true },
            (Gap, 'A'..='Z' | 'a'..='z' | '_') => Word { exact: false },
            (Word { .. }, 'A'..='Z' | 'a'..='z' | '_') => self,
            (Angle | Slash | Gap, _) if is_space(c) => Gap,
            (Word { .. } | Behind, _) if is_space(c) => Behind,
            _ => return None,
        })
    }
}

impl TagCleaner {
    /// For one message.
    pub fn new(thoughts: Thoughts) -> Self {
        TagCleaner { thoughts, ..TagCleaner::default() }
    }

    /// The text block grows by `text`.
    pub fn push(&mut self, text: &str, sink: &mut impl CleanSink) {
        let (mut at, mut from) = (0, 0);
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let before = at;
            if let Some(half) = self.half {
                self.half = half.next(c);
                if self.half.is_some() {
                    at += c.len_utf8();
                    self.code.feed(u8::try_from(c).unwrap_or(u8::MAX));
                } else {
                    self.hold(text.get(from..at));
                    let goes = c == '>' && half == HalfTag::Word { exact: true } && self.strip();
                    at += usize::from(goes);
                    from = at;
                    self.tell(sink);
                }
            } else if std::mem::take(&mut self.takes_space) && is_space(c) {
                at += c.len_utf8();
                from = at;
            } else {
                at += self.code.advance(text.as_bytes().get(at..).unwrap_or_default());
                self.hold(text.get(from..at));
                self.tell(sink);
                from = at;
                if at < text.len() {
                    self.code.feed(b'<');
                    self.half = Some(HalfTag::Angle);
                    self.angle = self.held.text().len();
                    at += 1;
                }
            }
            self.work += (at - before).max(1) as u64;
        }
        self.hold(text.get(from..));
        self.tell(sink);
    }

    /// The text block is whole: what was held is given back, but for spaces. What comes next is another block.
    pub fn end_block(&mut self, sink: &mut impl CleanSink) {
        self.half = None;
        self.tell(sink);
        let TagCleaner { thoughts, thinking, work, .. } = *self;
        *self = TagCleaner { thoughts, thinking, work, ..TagCleaner::default() };
    }

    /// Whether a thinking tag is open.
    pub fn is_thinking(&self) -> bool {
        self.thinking
    }

    /// Bytes visited so far.
    pub fn work(&self) -> u64 {
        self.work
    }

    fn hold(&mut self, text: Option<&str>) {
        let text = text.unwrap_or_default();
        self.work += text.len() as u64;
        self.held.push(text);
    }

    /// Tells what is held, but for half a tag and the spaces at its end.
    fn tell(&mut self, sink: &mut impl CleanSink) {
        if self.half.is_some() || self.held.solid().is_empty() {
            return;
        }
        let reasoning = self.thinking && self.thoughts == Thoughts::Apart;
        let text = self.held.solid();
        let text = if self.told == Some(reasoning) { text } else { trim_start(text) };
        if reasoning {
            sink.reasoning(text)
        } else {
            sink.text(text)
        }
        self.told = Some(reasoning);
        self.held.let_go();
    }

    /// What is held ends in `<word` or `</word`, and `>` follows. Takes it out if it is a tag that goes.
    fn strip(&mut self) -> bool {
        let tag = self.held.text().get(self.angle + 1..).unwrap_or_default();
        let (name, opens) = tag.strip_prefix('/').map_or((tag, true), |name| (name, false));
        let thinks = matches!(name, "thinking" | "think");
        if self.code.protects() || !thinks && name != "function_calls" {
            return false;
        }
        self.held.cut_to_spaces(self.angle);
        if opens {
            self.takes_space = true;
        } else {
            self.held.pop();
        }
        if thinks {
            self.thinking = opens;
        }
        // What follows may be a row of its own, and its first line starts here.
        self.code = CodeSpans::default();
        true
    }
}
