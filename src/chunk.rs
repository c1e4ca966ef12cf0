//! What arrived, whatever the wire format: the first of the three vocabularies. A chunk is borrowed from the record
//! it was read from, so that looking at a delta copies nothing. Decoders make chunks, the presenter takes them.

use std::borrow::Cow;

use crate::json::Raw;
use crate::row::{Fact, PanelName, RowKind, RowState};

/// One thing that a wire format said.
///
/// Chunks of one message come in the order of the wire. `choice` is the position of the alternative answer the chunk
/// belongs to, 0 where a wire has only one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Chunk<'a> {
    /// A new assistant message begins; what follows belongs to it. `id` is its identity on the wire.
    MessageStart {
        /// The wire's id of the message or response.
        id: Option<&'a str>,
    },
    /// Text for the reader. Empty text is no chunk.
    Text {
        /// The alternative answer.
        choice: u32,
        /// What is new.
        text: &'a str,
    },
    /// Reasoning ("thinking") that precedes or interrupts the answer.
    Reasoning {
        /// The alternative answer.
        choice: u32,
        /// What is new.
        text: &'a str,
    },
    /// A tool call begins. The decoder numbers the calls of a stream from 0 as they come; the wire's id may be
    /// known now, later or never.
    ToolStart {
        /// The alternative answer.
        choice: u32,
        /// The decoder's number for the call.
        call: CallNumber,
        /// The wire's id, once it is known.
        id: Option<&'a str>,
        /// The tool's name, once it is known.
        name: Option<&'a str>,
    },
    /// The call's id or name became known.
    ToolNamed {
        /// The decoder's number for the call.
        call: CallNumber,
        /// The wire's id, if that is the news.
        id: Option<&'a str>,
        /// The tool's name, if that is the news.
        name: Option<&'a str>,
    },
    /// Further argument text of a call.
    ToolArguments {
        /// The decoder's number for the call.
        call: CallNumber,
        /// What is new: a piece of JSON text.
        text: &'a str,
    },
    /// All arguments of a call: what came of them before counts as far as it is the same.
    ToolInput {
        /// The decoder's number for the call.
        call: CallNumber,
        /// All of them: JSON text.
        text: &'a str,
    },
    /// The wire ended the call's arguments: nothing that comes later, or is lost, is a part of them.
    ToolEnd {
        /// The decoder's number for the call.
        call: CallNumber,
    },
    /// The input ended and the wire had not ended this call: it is whole if its arguments are there and well-formed,
    /// else interrupted.
    ToolUnended {
        /// The decoder's number for the call.
        call: CallNumber,
    },
    /// The wire says that an alternative answer ended.
    MessageEnd {
        /// The alternative answer.
        choice: u32,
        /// Why.
        finish: Finish<'a>,
    },
    /// An image, inside the answer.
    Image {
        /// The alternative answer.
        choice: u32,
        /// Where it is; `data:` is a usual scheme.
        url: &'a str,
    },
    /// A source that the answer rests on. Repeats are the rule: the presenter keeps one of each.
    Source {
        /// The alternative answer.
        choice: u32,
        /// Where it is.
        url: &'a str,
        /// What it calls itself.
        title: Option<&'a str>,
    },
    /// What the user said, as the wire repeats it.
    User {
        /// The wire's id of the message, where it has one.
        id: Option<&'a str>,
        /// All of it.
        text: &'a str,
    },
    /// Tokens used, as reported last: it replaces what was reported before.
    Usage(Usage),
    /// The wire reports an error.
    Error {
        /// In the wire's words.
        message: &'a str,
        /// The wire's code or type, where it gives one.
        code: Option<&'a str>,
        /// Whether the same request may succeed later, if the code tells.
        retryable: Option<bool>,
    },
    /// A block that the wire names, as a whole: new, or what it has become. What is absent does not apply to it.
    Block {
        /// Its identity on the wire.
        key: &'a str,
        /// The key of the block that a new one stands before; none: it is the last.
        before: Option<&'a str>,
        /// What it is.
        block: &'a Block<'a>,
    },
    /// Further text of a named block. One that has ended takes it, and stays as it ended.
    BlockText {
        /// Its identity on the wire.
        key: &'a str,
        /// What is new.
        text: &'a str,
    },
    /// An item of one of a named block's lists, which has each item once.
    BlockItem {
        /// Its identity on the wire.
        key: &'a str,
        /// Which list.
        list: Fact,
        /// An array of the one item.
        item: &'a Raw,
    },
    /// The output of a named block's call, whole; the rest of it is what it was.
    BlockOutput {
        /// Its identity on the wire.
        key: &'a str,
        /// How far it is.
        state: RowState,
        /// What it gave back so far.
        output: &'a str,
        /// How many bytes of the output are as they were told last: nobody compares them again.
        same: usize,
    },
    /// A named block has come to another state, and is what it was.
    BlockState {
        /// Its identity on the wire.
        key: &'a str,
        /// How far it is.
        state: RowState,
    },
    /// A named block that was open has ended, as it stands.
    BlockEnd {
        /// Its identity on the wire.
        key: &'a str,
        /// How.
        state: RowState,
    },
    /// A named block is no more.
    Remove {
        /// Its identity on the wire.
        key: &'a str,
        /// When it was made, where its key holds beyond the stream.
        time: Option<u64>,
    },
    /// No block that the wire has named is any more: another conversation begins.
    RemoveAll,
    /// A value of a panel.
    Panel {
        /// Which panel.
        panel: PanelName,
        /// The value's name.
        name: &'static str,
        /// What it is.
        value: &'a Raw,
    },
    /// A turn begins: what a wire repeats of its latest turn begins here.
    TurnStart,
    /// A turn has ended, however it did.
    TurnEnd,
    /// Whether the other side is at work, on wires that tell although nothing streams.
    AtWork(bool),
}

/// All of a block that the wire names.
#[derive(Debug, Clone, PartialEq)]
pub struct Block<'a> {
    /// What it is.
    pub kind: RowKind,
    /// How far it is.
    pub state: RowState,
    /// Its text so far, whole.
    pub text: Cow<'a, str>,
    /// How many bytes of the text are as they were told last: nobody compares them again.
    pub text_same: usize,
    /// The call that it is.
    pub tool: Option<ToolBlock<'a>>,
    /// UTF-8 bytes received so far, where only their number is told.
    pub bytes: Option<u64>,
    /// What only some rows have, in any order.
    pub facts: Vec<(Fact, Raw)>,
    /// Those of them that are as they were told last: they are not told again.
    pub same: Vec<Fact>,
    /// More of it is to come.
    pub partial: bool,
    /// The key of the block inside which a new one is drawn.
    pub parent: Option<&'a str>,
    /// When it was made, where its key holds beyond the stream: blocks of an earlier stream or life stand in this order.
    pub time: Option<u64>,
    /// What another stream may name it by, if that is not its key; empty where nothing is, as for a block that is known
    /// by its place.
    pub known_as: Option<Box<str>>,
}

/// A call as a named block tells of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolBlock<'a> {
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// The wire's id of the call.
    pub call_id: Option<&'a str>,
    /// The arguments so far, whole: JSON text, as far as it goes.
    pub input: Cow<'a, str>,
    /// How many bytes of the arguments are as they were told last: nobody compares them again.
    pub input_same: usize,
    /// They are complete, and well-formed.
    pub input_done: bool,
    /// What it gave back so far, whole.
    pub output: Option<&'a str>,
    /// How many bytes of the output are as they were told last: nobody compares them again.
    pub output_same: usize,
    /// The output is an error.
    pub is_error: bool,
    /// The other side runs it, and is at work on it before it runs.
    pub is_remote: bool,
}

impl Block<'_> {
    /// What any stream may name it by.
    pub(crate) fn identity<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        Some(self.known_as.as_deref().unwrap_or(key)).filter(|name| !name.is_empty())
    }

    /// A block of which nothing more is known.
    pub fn new(kind: RowKind, state: RowState) -> Self {
        Block {
            kind,
            state,
            text: Cow::Borrowed(""),
            text_same: 0,
            tool: None,
            bytes: None,
            facts: Vec::new(),
            same: Vec::new(),
            partial: state.is_open(),
            parent: None,
            time: None,
            known_as: None,
        }
    }
}

/// The decoder's number for a tool call: calls of one stream, from 0 in the order in which they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallNumber(pub u32);

/// Why a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish<'a> {
    /// It is complete. Whether it calls tools is judged by its calls.
    Complete,
    /// The provider's length limit cut it.
    Length,
    /// A filter of the provider's cut it.
    Filtered,
    /// The wire ended it in another way, in the wire's words; what was open is not complete.
    Broken(&'a str),
}

/// Tokens used. What a wire does not report is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written, reasoning included.
    pub output_tokens: Option<u64>,
    /// Both, as the wire adds them.
    pub total_tokens: Option<u64>,
    /// Tokens of reasoning among those written.
    pub reasoning_tokens: Option<u64>,
    /// Tokens read from a cache among those read.
    pub cached_tokens: Option<u64>,
}

/// Takes chunks in the order of the wire.
///
/// ```
/// use chatrows::{Chunk, ChunkSink, Effect};
/// struct Words(usize);
/// impl ChunkSink for Words {
///     fn chunk(&mut self, chunk: Chunk<'_>) -> Effect {
///         if let Chunk::Text { text, .. } = chunk {
///             self.0 += text.split_whitespace().count();
///         }
///         Effect::None
///     }
/// }
/// let mut words = Words(0);
/// words.chunk(Chunk::Text { choice: 0, text: "two words" });
/// assert_eq!(words.0, 2);
/// ```
pub trait ChunkSink {
    /// Takes one chunk. True if it changed anything that shows.
    fn chunk(&mut self, chunk: Chunk<'_>) -> Effect;
}

/// What a chunk did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that shows changed.
    None,
    /// Something that shows changed.
    Changed,
    /// A cap or a rule kept it out, or a part of it. Its record is a fault.
    Refused(Refusal),
}

/// What kept a chunk out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The cap on rows.
    Rows,
    /// The cap on open blocks, as choices and calls of one message are counted too.
    OpenBlocks,
    /// The cap on the sources of a text.
    Sources,
    /// The cap on the bytes of a text.
    TextBytes,
    /// The cap on the bytes of a call's arguments.
    ToolInputBytes,
    /// Arguments came for a call that had ended.
    ArgumentsAfterEnd,
}

impl Refusal {
    /// The code that a fault shows.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::Rows => "rows",
            Refusal::OpenBlocks => "open-blocks",
            Refusal::Sources => "sources",
            Refusal::TextBytes => "text-bytes",
            Refusal::ToolInputBytes => "tool-input-bytes",
            Refusal::ArgumentsAfterEnd => "arguments-after-end",
        }
    }
}

impl Effect {
    /// The worse of two effects of one record.
    ///
    /// ```
    /// use chatrows::{Effect, Refusal};
    /// assert_eq!(Effect::None.and(Effect::Changed), Effect::Changed);
    /// assert_eq!(Effect::Refused(Refusal::Rows).and(Effect::Changed), Effect::Refused(Refusal::Rows));
    /// ```
    #[must_use]
    pub fn and(self, other: Effect) -> Effect {
        match self {
            Effect::Refused(_) => self,
            Effect::Changed if !matches!(other, Effect::Refused(_)) => self,
            _ => other,
        }
    }
}
