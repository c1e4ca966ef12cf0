//! What is on screen: the second of the three vocabularies. Rows are the scrolling list, panels are what is shown
//! once beside it. Both are plain data; the presenter changes them, ops carry the changes out.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use crate::byte_label;
use crate::json::{FieldSpan, JsonWriter, Raw, Step, key_text};

/// A row's number: assigned once, never reused, never changed. From 1.
///
/// ```
/// use chatrows::RowId;
/// assert_eq!(RowId::new(7).unwrap().get(), 7);
/// assert_eq!(RowId::new(0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(NonZeroU32);

impl RowId {
    /// The id with this number; 0 is none.
    pub fn new(number: u32) -> Option<RowId> {
        NonZeroU32::new(number).map(RowId)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0.get()
    }

    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! names {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type { $($(#[$doc])* $variant,)* }

        impl $type {
            /// All of them, in the order of their codes.
            pub const ALL: &[$type] = &[$($type::$variant,)*];

            /// The name that JavaScript sees.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)* }
            }
        }
    };
}

names! {
    /// What a row is.
    RowKind {
        /// What the user said.
        User = "user",
        /// Text of the answer.
        Text = "text",
        /// Reasoning that precedes or interrupts the answer.
        Reasoning = "reasoning",
        /// A tool call, its arguments and what came of it.
        Tool = "tool",
        /// A call that a wire announces before it sends it.
        ToolPreparing = "tool-preparing",
        /// A question to the user.
        Question = "question",
        /// A request for the user's permission.
        Permission = "permission",
        /// Interface text that is no error.
        Notice = "notice",
        /// An error.
        Error = "error",
        /// A request that is tried again.
        Retry = "retry",
        /// Where the conversation was compacted.
        Compaction = "compaction",
        /// A summary of what went before.
        Summary = "summary",
        /// An image of the answer.
        Image = "image",
        /// Whatever a wire defines for itself.
        Custom = "custom",
    }
}

names! {
    /// How far a row is. Tool: preparing → pending → running → done, failed, cancelled or interrupted. Text and
    /// reasoning: streaming → done, interrupted or cancelled. Question and permission: pending → done or expired.
    RowState {
        /// Text is arriving.
        Streaming = "streaming",
        /// Arguments are arriving.
        Preparing = "preparing",
        /// Complete; waits to be run, approved or answered.
        Pending = "pending",
        /// Under way.
        Running = "running",
        /// Ended well.
        Done = "done",
        /// Ended with an error.
        Failed = "failed",
        /// Ended by the user or the page.
        Cancelled = "cancelled",
        /// The stream ended first. The only end from which a row may go on, when its stream is attached again.
        Interrupted = "interrupted",
        /// Nobody answered in time.
        Expired = "expired",
    }
}

impl RowState {
    /// Whether the row waits for more from its stream.
    pub fn is_open(self) -> bool {
        matches!(self, RowState::Streaming | RowState::Preparing)
    }

    /// Whether nothing moves: neither streaming nor preparing nor running. A pending row is at rest.
    ///
    /// ```
    /// use chatrows::RowState;
    /// assert!(RowState::Pending.is_at_rest() && !RowState::Running.is_at_rest());
    /// ```
    pub fn is_at_rest(self) -> bool {
        !matches!(self, RowState::Streaming | RowState::Preparing | RowState::Running)
    }
}

/// One row. In JSON (see [`Row::write_json`]) its properties have the names of the TypeScript interface `Row`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Assigned once.
    pub id: RowId,
    /// What it is.
    pub kind: RowKind,
    /// How far it is.
    pub state: RowState,
    /// Show a spinner.
    pub busy: bool,
    /// Identity on the wire, where there is one.
    pub key: Option<Box<str>>,
    /// The row inside which this one is drawn.
    pub parent: Option<RowId>,
    /// Text from the wire or the user.
    pub text: Option<String>,
    /// Interface text.
    pub message: Option<Message>,
    /// The call that the row is.
    pub tool: Option<Box<Tool>>,
    /// UTF-8 bytes received, on rows that show a byte count.
    pub bytes: Option<u64>,
    /// Since when nothing has come, ms.
    pub quiet_since: Option<u64>,
    /// What went wrong.
    pub error: Option<Box<ErrorInfo>>,
    /// JSON of the property `question`.
    pub question: Option<Raw>,
    /// JSON of the property `permission`.
    pub permission: Option<Raw>,
    /// Images of the answer.
    pub images: Vec<Image>,
    /// JSON of the property `files`.
    pub files: Option<Raw>,
    /// What the answer rests on.
    pub sources: Vec<Source>,
    /// A cap or the provider's length limit cut the content.
    pub truncated: bool,
    /// When it began, ms on the page's clock.
    pub started_at: Option<u64>,
    /// When it ended, ms on the page's clock.
    pub ended_at: Option<u64>,
    /// Further facts by name.
    pub meta: Vec<(Word, Raw)>,
}

/// A name of ours: in the program, or read back from a snapshot.
pub type Word = Cow<'static, str>;

/// Interface text as a catalogue key and what fills its gaps; never prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The entry of the page's catalogue.
    pub key: Word,
    /// What fills its gaps.
    pub params: Vec<(Word, String)>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tool {
    /// Empty until the wire has named it.
    pub name: String,
    /// The wire's id.
    pub call_id: Option<Box<str>>,
    /// What the call does, in words, where the host gave any.
    pub title: Option<String>,
    /// Arguments as received: JSON text.
    pub input: String,
    /// The arguments ended and are well-formed.
    pub input_done: bool,
    /// The arguments piece by piece; see [`Tool::fields`].
    pub spans: Vec<FieldSpan>,
    /// More values came than the preview keeps.
    pub fields_truncated: bool,
    /// What the tool gave back.
    pub output: Option<String>,
    /// The output is an error.
    pub is_error: Option<bool>,
    /// What kind of work it is.
    pub kind: Option<Box<str>>,
    /// JSON of the property `content`.
    pub content: Option<Raw>,
    /// JSON of the property `locations`.
    pub locations: Option<Raw>,
}

/// One step of a field's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// A member of an object.
    Key(String),
    /// An item of an array.
    Index(u32),
}

impl Tool {
    /// The arguments piece by piece as they stream: path, text so far, and whether the value ended. Decoded from
    /// `input` at each call.
    pub fn fields(&self) -> impl Iterator<Item = (Vec<PathStep>, String, bool)> + '_ {
        self.spans.iter().map(|span| (self.path(span), span.text(&self.input), span.closed))
    }

    fn path(&self, span: &FieldSpan) -> Vec<PathStep> {
        let step = |step: &Step| match *step {
            Step::Key { start, end } => PathStep::Key(key_text(&self.input, start, end)),
            Step::Index(index) => PathStep::Index(index),
        };
        span.path.iter().map(step).collect()
    }

    /// Writes the fields: all of them as an array, or those that are news by their index.
    fn write_fields(&self, news: Option<FieldNews>, json: &mut JsonWriter) {
        let Some(news) = news else {
            return json.array(|json| self.spans.iter().for_each(|span| self.write_field(span, json)));
        };
        json.object(|json| {
            for (index, closed) in [(news.closed, true), (news.opened, false)] {
                if let Some(index) = index {
                    json.key(&index.to_string()).object(|json| json.key("closed").bool(closed));
                }
            }
            for (index, span) in self.spans.iter().enumerate().skip(news.from) {
                self.write_field(span, json.key(&index.to_string()));
            }
        });
    }

    fn write_field(&self, span: &FieldSpan, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("path").array(|json| {
                for step in self.path(span) {
                    match step {
                        PathStep::Key(key) => json.string(&key),
                        PathStep::Index(index) => json.number(u64::from(index)),
                    }
                }
            });
            json.key("text").string(&span.text(&self.input));
            json.key("closed").bool(span.closed);
        });
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorInfo {
    /// In the wire's words.
    pub message: String,
    /// The wire's code, or one of ours.
    pub code: Option<Box<str>>,
    /// Whether the same may succeed later, where that is known.
    pub retryable: Option<bool>,
}

/// An image by reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it is. Untrusted: the page decides which schemes it follows.
    pub url: String,
}

/// A source by reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is. Untrusted: the page decides which schemes it follows.
    pub url: String,
    /// What it calls itself.
    pub title: Option<String>,
}

/// Which properties of a row changed: a set.
///
/// ```
/// use chatrows::Changed;
/// assert!(Changed::ALL.has(Changed::STATE) && Changed::NONE.is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changed(u32);

macro_rules! changed {
    ($($name:ident = $bit:literal,)*) => {
        #[allow(missing_docs)]
        impl Changed {
            $(pub const $name: Changed = Changed(1 << $bit);)*
            /// Every property.
            pub const ALL: Changed = Changed(0 $(| 1 << $bit)*);
        }
    };
}

changed! {
    STATE = 0, BUSY = 1, KEY = 2, MESSAGE = 3, NAME = 4, CALL_ID = 5, TITLE = 6, INPUT_DONE = 7, FIELDS = 8,
    FIELDS_TRUNCATED = 9, OUTPUT = 10, IS_ERROR = 11, BYTES = 12, QUIET_SINCE = 13, ERROR = 14, IMAGES = 15,
    SOURCES = 16, TRUNCATED = 17, ENDED_AT = 18, META = 19, QUESTION = 20, PERMISSION = 21, FILES = 22, TOOL_KIND = 23,
    CONTENT = 24, LOCATIONS = 25,
}

impl Changed {
    /// No property.
    pub const NONE: Changed = Changed(0);
    const TOOL: Changed = Changed(
        Self::NAME.0
            | Self::CALL_ID.0
            | Self::TITLE.0
            | Self::INPUT_DONE.0
            | Self::FIELDS.0
            | Self::FIELDS_TRUNCATED.0
            | Self::OUTPUT.0
            | Self::IS_ERROR.0
            | Self::TOOL_KIND.0
            | Self::CONTENT.0
            | Self::LOCATIONS.0,
    );

    /// Whether any of `other` is among these.
    pub fn has(self, other: Changed) -> bool {
        self.0 & other.0 != 0
    }

    /// True for the empty set.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn add(&mut self, other: Changed) {
        self.0 |= other.0;
    }

    pub(crate) fn take_out(&mut self, other: Changed) {
        self.0 &= !other.0;
    }
}

/// Which fields of a call a patch carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldNews {
    /// A field shown before as open that is closed now.
    pub closed: Option<usize>,
    /// A field shown before as closed that grows on, as the wire that repeats it tells.
    pub opened: Option<usize>,
    /// Fields from this index on are new and come whole.
    pub from: usize,
}

impl Row {
    /// Writes the row as JSON: an object with the properties of the TypeScript interface `Row`.
    pub fn write_json(&self, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("id").number(u64::from(self.id.get()));
            json.key("kind").string(self.kind.name());
            self.write_properties(json, Changed::ALL, None);
        });
    }

    /// The row as JSON text.
    ///
    /// ```
    /// use chatrows::{ChatRows, Options};
    /// let mut chat = ChatRows::new(Options::default());
    /// let id = chat.add_user("hello").unwrap();
    /// let json = chat.row(id).unwrap().to_json();
    /// assert!(json.starts_with(r#"{"id":1,"kind":"user","state":"done","busy":false,"text":"hello""#));
    /// ```
    pub fn to_json(&self) -> String {
        let mut json = JsonWriter::default();
        self.write_json(&mut json);
        json.into_string()
    }

    /// Writes the properties in `which`. `patch`: none for a whole row, where what does not apply is left out; else
    /// it is written as `null`, and of the fields only the news.
    pub(crate) fn write_properties(&self, json: &mut JsonWriter, which: Changed, patch: Option<FieldNews>) {
        let whole = patch.is_none();
        // Writes a property's key, or its absence; true if the value comes next.
        let begin = |json: &mut JsonWriter, changed: Changed, name: &str, applies: bool| {
            let written = which.has(changed) && (applies || !whole);
            if written {
                json.key(name);
                if !applies {
                    json.null();
                }
            }
            written && applies
        };
        if which.has(Changed::STATE) {
            json.key("state").string(self.state.name());
        }
        if which.has(Changed::BUSY) {
            json.key("busy").bool(self.busy);
        }
        if begin(json, Changed::KEY, "key", self.key.is_some()) {
            json.string(self.key.as_deref().unwrap_or_default());
        }
        if let Some(parent) = self.parent.filter(|_| whole) {
            json.key("parent").number(u64::from(parent.get()));
        }
        if let Some(text) = self.text.as_deref().filter(|_| whole) {
            json.key("text").string(text);
        }
        if begin(json, Changed::MESSAGE, "message", self.message.is_some()) {
            self.message.iter().for_each(|message| message.write(json));
        }
        if let Some(tool) = self.tool.as_deref().filter(|_| which.has(Changed::TOOL)) {
            json.key("tool").object(|json| {
                if which.has(Changed::NAME) {
                    json.key("name").string(&tool.name);
                }
                if begin(json, Changed::CALL_ID, "callId", tool.call_id.is_some()) {
                    json.string(tool.call_id.as_deref().unwrap_or_default());
                }
                if begin(json, Changed::TITLE, "title", tool.title.is_some()) {
                    json.string(tool.title.as_deref().unwrap_or_default());
                }
                if whole {
                    json.key("input").string(&tool.input);
                }
                if which.has(Changed::INPUT_DONE) {
                    json.key("inputDone").bool(tool.input_done);
                }
                if which.has(Changed::FIELDS) && !(whole && tool.spans.is_empty()) {
                    tool.write_fields(patch, json.key("fields"));
                }
                if begin(json, Changed::FIELDS_TRUNCATED, "fieldsTruncated", tool.fields_truncated) {
                    json.bool(true);
                }
                if begin(json, Changed::OUTPUT, "output", tool.output.is_some()) {
                    json.string(tool.output.as_deref().unwrap_or_default());
                }
                if begin(json, Changed::IS_ERROR, "isError", tool.is_error.is_some()) {
                    json.bool(tool.is_error == Some(true));
                }
                if begin(json, Changed::TOOL_KIND, "kind", tool.kind.is_some()) {
                    json.string(tool.kind.as_deref().unwrap_or_default());
                }
                let extra =
                    [(Changed::CONTENT, "content", &tool.content), (Changed::LOCATIONS, "locations", &tool.locations)];
                for (changed, name, value) in extra {
                    if begin(json, changed, name, value.is_some()) {
                        value.iter().for_each(|value| json.raw(value.as_str()));
                    }
                }
            });
        }
        if begin(json, Changed::BYTES, "bytes", self.bytes.is_some()) {
            let count = self.bytes.unwrap_or_default();
            json.object(|json| {
                json.key("count").number(count);
                json.key("label").string(&byte_label(count));
            });
        }
        if begin(json, Changed::QUIET_SINCE, "quietSince", self.quiet_since.is_some()) {
            json.number(self.quiet_since.unwrap_or_default());
        }
        if begin(json, Changed::ERROR, "error", self.error.is_some()) {
            self.error.iter().for_each(|error| error.write(json));
        }
        if begin(json, Changed::IMAGES, "images", !self.images.is_empty()) {
            json.array(|json| {
                for image in &self.images {
                    json.object(|json| json.key("url").string(&image.url));
                }
            });
        }
        let extra = [
            (Changed::QUESTION, "question", &self.question),
            (Changed::PERMISSION, "permission", &self.permission),
            (Changed::FILES, "files", &self.files),
        ];
        for (changed, name, value) in extra {
            if begin(json, changed, name, value.is_some()) {
                value.iter().for_each(|value| json.raw(value.as_str()));
            }
        }
        if begin(json, Changed::SOURCES, "sources", !self.sources.is_empty()) {
            json.array(|json| {
                for source in &self.sources {
                    json.object(|json| {
                        json.key("url").string(&source.url);
                        if let Some(title) = &source.title {
                            json.key("title").string(title);
                        }
                    });
                }
            });
        }
        if begin(json, Changed::TRUNCATED, "truncated", self.truncated) {
            json.bool(true);
        }
        if let Some(started) = self.started_at.filter(|_| whole) {
            json.key("startedAt").number(started);
        }
        if begin(json, Changed::ENDED_AT, "endedAt", self.ended_at.is_some()) {
            json.number(self.ended_at.unwrap_or_default());
        }
        if begin(json, Changed::META, "meta", !self.meta.is_empty()) {
            write_values(&self.meta, json);
        }
    }
}

impl Message {
    /// Interface text without gaps.
    pub fn new(key: &'static str) -> Message {
        Message { key: Word::Borrowed(key), params: Vec::new() }
    }

    /// The same with one gap filled.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Message {
        self.params.push((Word::Borrowed(name), value.into()));
        self
    }

    fn write(&self, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("key").string(&self.key);
            if !self.params.is_empty() {
                json.key("params").object(|json| {
                    for (name, value) in &self.params {
                        json.key(name).string(value);
                    }
                });
            }
        });
    }
}

impl ErrorInfo {
    pub(crate) fn boxed(message: &str, code: Option<&str>, retryable: Option<bool>) -> Box<ErrorInfo> {
        Box::new(ErrorInfo { message: message.to_owned(), code: code.map(Box::from), retryable })
    }

    fn write(&self, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("message").string(&self.message);
            if let Some(code) = &self.code {
                json.key("code").string(code);
            }
            if let Some(retryable) = self.retryable {
                json.key("retryable").bool(retryable);
            }
        });
    }
}

names! {
    /// Which panel.
    PanelName {
        /// What a "thinking…" line under the list shows.
        Activity = "activity",
        /// The agent's plan.
        Plan = "plan",
        /// Tokens used.
        Usage = "usage",
        /// Commands the user may give.
        Commands = "commands",
        /// The agent's mode.
        Mode = "mode",
        /// What waits to be sent.
        Queue = "queue",
        /// The session.
        Session = "session",
        /// The connection.
        Connection = "connection",
        /// Shared state of UI streams.
        State = "state",
    }
}

/// One panel: named values, each JSON text. A value that was taken back is `null`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    values: Vec<(Word, Raw)>,
}

impl Panel {
    /// The value called `name`, as JSON text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// All values.
    pub fn values(&self) -> &[(Word, Raw)] {
        &self.values
    }

    /// Sets a value. True if it was another one before.
    pub(crate) fn set(&mut self, name: Word, value: Raw) -> bool {
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == value => return false,
            Some((_, known)) => *known = value,
            None => self.values.push((name, value)),
        }
        true
    }
}

/// Writes named values as one JSON object.
pub(crate) fn write_values(values: &[(Word, Raw)], json: &mut JsonWriter) {
    json.object(|json| {
        for (name, value) in values {
            json.key(name).raw(value.as_str());
        }
    });
}
