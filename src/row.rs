//! What is on screen: the second of the three vocabularies. Rows are the scrolling list, panels are what is shown
//! once beside it. Both are plain data; the presenter changes them, ops carry the changes out.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use crate::byte_label;
use crate::json::{FieldSpan, JsonStr, JsonWriter, Raw, Step, Value, key_text};

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
    /// Its stream has lost its connection and waits for it: nothing of it shows a spinner.
    pub is_paused: bool,
    /// Text from the wire or the user.
    pub text: Option<String>,
    /// The call that the row is.
    pub tool: Option<Box<Tool>>,
    /// UTF-8 bytes received, on rows that show a byte count.
    pub bytes: Option<u64>,
    /// Since when nothing has come, ms.
    pub quiet_since: Option<u64>,
    /// What only some rows have.
    pub facts: Facts,
    /// A cap or the provider's length limit cut the content.
    pub truncated: bool,
    /// When it began, ms on the page's clock.
    pub started_at: Option<u64>,
    /// When it ended, ms on the page's clock.
    pub ended_at: Option<u64>,
}

/// A name of ours: in the program, or read back from a snapshot.
pub type Word = Cow<'static, str>;

names! {
    /// A property that only some rows have. Its value is JSON.
    Fact {
        /// Interface text as a catalogue key, `{key, params?}`; never prose.
        Message = "message",
        /// What went wrong: `{message, code?, retryable?}`.
        Error = "error",
        /// What is asked.
        Question = "question",
        /// What is to be permitted.
        Permission = "permission",
        /// Images of the answer: `[{url}]`, untrusted.
        Images = "images",
        /// Files of the user's message: `[{name}]`.
        Files = "files",
        /// What the answer rests on: `[{url, title?}]`, untrusted.
        Sources = "sources",
        /// Further facts by name.
        Meta = "meta",
        /// Of a call: what it does, in words, where the wire or the host gave any.
        Title = "title",
        /// Of a call: what kind of work it is.
        Work = "kind",
        /// Of a call: what it shows beside its output.
        Content = "content",
        /// Of a call: where it works, `[{path}]`.
        Locations = "locations",
    }
}

impl Fact {
    /// Whether it is a property of the row's `tool`.
    pub fn is_of_tool(self) -> bool {
        self >= Fact::Title
    }

    fn changed(self) -> Changed {
        Changed(1 << (Changed::FIRST_FACT + self as u32))
    }
}

/// What only some rows have: properties whose values are JSON.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// In the order of their names; those taken back stay until that was shown.
    known: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    fact: Fact,
    value: Option<Raw>,
    /// It asks something, and has no answer: found out once, for it may be long.
    is_open: bool,
    /// What was last shown, if that is another value.
    shown: Option<Option<Raw>>,
}

impl PartialEq for Facts {
    fn eq(&self, other: &Facts) -> bool {
        Fact::ALL.iter().all(|fact| self.get(*fact) == other.get(*fact))
    }
}

impl Facts {
    /// The value, as JSON text.
    pub fn get(&self, fact: Fact) -> Option<&str> {
        self.raw(fact).map(Raw::as_str)
    }

    /// Whether it asks something that has no answer.
    pub(crate) fn is_open(&self, fact: Fact) -> bool {
        self.known.iter().any(|known| known.fact == fact && known.is_open)
    }

    pub(crate) fn raw(&self, fact: Fact) -> Option<&Raw> {
        self.known.iter().find(|known| known.fact == fact)?.value.as_ref()
    }

    /// Sets a value, or takes it back. True if it was another one before.
    #[inline(never)]
    pub(crate) fn set(&mut self, fact: Fact, value: Option<Raw>) -> bool {
        let place = self.known.partition_point(|known| known.fact < fact);
        let asks = matches!(fact, Fact::Permission | Fact::Question);
        let is_open = asks && value.as_ref().is_some_and(|asked| !is_answered(asked));
        match self.known.get_mut(place).filter(|known| known.fact == fact) {
            Some(known) if known.value == value => return false,
            Some(known) => {
                let before = std::mem::replace(&mut known.value, value);
                known.shown.get_or_insert(before);
                known.is_open = is_open;
            }
            None if value.is_none() => return false,
            None => self.known.insert(place, Known { fact, value, is_open, shown: Some(None) }),
        }
        true
    }

    /// Adds the items or members of `more`, an array or object like the value.
    pub(crate) fn extend(&mut self, fact: Fact, more: Raw) {
        let value = match self.get(fact).and_then(|known| known.get(..known.len().checked_sub(1)?)) {
            Some(known) => {
                let more = more.as_str().get(1..).unwrap_or_default();
                Raw::written(|json| json.raw(&[known, ",", more].concat()))
            }
            None => more,
        };
        self.set(fact, Some(value));
    }

    /// Which of them are not as they were shown; from now on they are.
    pub(crate) fn take_news(&mut self) -> Changed {
        let mut changed = Changed::NONE;
        for known in &mut self.known {
            if known.shown.take().is_some_and(|shown| shown != known.value) {
                changed.add(known.fact.changed());
            }
        }
        changed
    }

    /// Forgets what was taken back.
    pub(crate) fn settle(&mut self) {
        self.known.retain(|known| known.value.is_some());
    }

    /// Writes those in `which` that are the call's, or those that are not.
    fn write(&self, json: &mut JsonWriter, which: Changed, whole: bool, of_tool: bool) {
        for known in &self.known {
            let written = which.has(known.fact.changed()) && !(whole && known.value.is_none());
            if known.fact.is_of_tool() == of_tool && written {
                json.key(known.fact.name()).raw(known.value.as_ref().map_or("null", Raw::as_str));
            }
        }
    }
}

/// Interface text: a key of the catalogue, and what fills its gaps.
pub(crate) fn message(key: &str, params: &[(&str, &str)]) -> Raw {
    Raw::written(|json| {
        json.object(|json| {
            json.key("key").string(key);
            if !params.is_empty() {
                json.key("params").object(|json| {
                    for (name, value) in params {
                        json.key(name).string(value);
                    }
                });
            }
        });
    })
}

/// An error: in the wire's words, its code or one of ours, and whether the same may succeed later.
pub(crate) fn error(message: &str, code: Option<&str>, retryable: Option<bool>) -> Raw {
    Raw::written(|json| {
        json.object(|json| {
            json.key("message").string(message);
            if let Some(code) = code {
                json.key("code").string(code);
            }
            if let Some(retryable) = retryable {
                json.key("retryable").bool(retryable);
            }
        });
    })
}

/// A string, or nothing.
pub(crate) fn text(value: Value<'_>) -> Cow<'_, str> {
    value.str().map(JsonStr::text).unwrap_or_default()
}

/// The first of these members that is a string and says something.
pub(crate) fn said<'a>(body: Value<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    names.iter().find_map(|name| body.get(name).str().filter(|text| !text.is_empty())).map(JsonStr::text)
}

/// An answer that a question offers: a string, a number, or an object that has one.
pub(crate) fn write_option(option: Value<'_>, json: &mut JsonWriter) {
    let label = option.str().map(JsonStr::text).or_else(|| said(option, &["label", "answer", "text"]));
    // What says nothing cannot be chosen.
    let Some(label) = label.or(option.number().map(Cow::Borrowed)).filter(|label| !label.trim().is_empty()) else {
        return;
    };
    json.object(|json| {
        json.key("label").string(&label);
        if let Some(description) = said(option, &["description"]) {
            json.key("description").string(&description);
        }
    });
}

/// What the user is asked before a call runs, and what was chosen if anything was.
pub(crate) fn approval(chosen: Option<&str>) -> Raw {
    Raw::written(|json| {
        json.object(|json| {
            json.key("options").raw(r#"[{"id":"approve","kind":"allow_once"},{"id":"reject","kind":"reject_once"}]"#);
            if let Some(chosen) = chosen {
                json.key("chosen").string(chosen);
            }
        });
    })
}

/// Whether what a row asks has its answer: no text within a string has such quotes.
pub(crate) fn is_answered(asked: &Raw) -> bool {
    [r#","chosen":"#, r#""answer":"#].iter().any(|member| asked.as_str().contains(member))
}

/// One object in an array: its members are strings.
pub(crate) fn list_of_one(members: &[(&str, &str)]) -> Raw {
    Raw::written(|json| {
        json.array(|json| {
            json.object(|json| members.iter().for_each(|(name, value)| json.key(name).string(value)));
        });
    })
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tool {
    /// Empty until the wire has named it.
    pub name: String,
    /// The wire's id.
    pub call_id: Option<Box<str>>,
    /// Arguments as received: JSON text, or what stands between a call's tags.
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
    /// The arguments are parameters written as tags, no JSON.
    pub tagged: bool,
    /// The other side runs it: while it waits it is under way, unless somebody is asked, and it is never run from here.
    pub is_remote: bool,
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

    /// The parameters of a call written as tags, as the text of a JSON object.
    fn parameters(&self) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| {
            for (path, text, _) in self.fields() {
                if let Some(PathStep::Key(name)) = path.first() {
                    json.key(name).string(&text);
                }
            }
        });
        json.into_string()
    }

    /// The arguments as JSON text, `{}` where the wire sent none.
    pub(crate) fn arguments(&self) -> Cow<'_, str> {
        match () {
            () if self.tagged => Cow::Owned(self.parameters()),
            () if self.input.is_empty() => Cow::Borrowed("{}"),
            () => Cow::Borrowed(&*self.input),
        }
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
            pub const ALL: Changed = Changed(u32::MAX);
        }
    };
}

changed! {
    STATE = 0, BUSY = 1, KEY = 2, NAME = 3, CALL_ID = 4, INPUT_DONE = 5, FIELDS = 6, FIELDS_TRUNCATED = 7, OUTPUT = 8,
    IS_ERROR = 9, BYTES = 10, QUIET_SINCE = 11, TRUNCATED = 12, ENDED_AT = 13,
    FACTS = 14,
}

impl Changed {
    /// No property.
    pub const NONE: Changed = Changed(0);
    /// The first bit of the facts.
    const FIRST_FACT: u32 = 16;
    const TOOL: Changed = Changed(
        Self::NAME.0
            | Self::CALL_ID.0
            | Self::INPUT_DONE.0
            | Self::FIELDS.0
            | Self::FIELDS_TRUNCATED.0
            | Self::OUTPUT.0
            | Self::IS_ERROR.0
            | u32::MAX << (Self::FIRST_FACT + Fact::Title as u32),
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
    /// Whether it waits for the user: to allow something, or to answer.
    pub(crate) fn asks(&self) -> bool {
        let is_open = |fact: Fact| self.facts.is_open(fact);
        self.state == RowState::Pending && (is_open(Fact::Permission) || is_open(Fact::Question))
    }

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
        if let Some(tool) = self.tool.as_deref().filter(|_| which.has(Changed::TOOL)) {
            json.key("tool").object(|json| {
                if which.has(Changed::NAME) {
                    json.key("name").string(&tool.name);
                }
                if begin(json, Changed::CALL_ID, "callId", tool.call_id.is_some()) {
                    json.string(tool.call_id.as_deref().unwrap_or_default());
                }
                if whole {
                    if tool.tagged {
                        json.key("tagged").bool(true);
                    }
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
                self.facts.write(json, which, whole, true);
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
        self.facts.write(json, which, whole, false);
        if begin(json, Changed::TRUNCATED, "truncated", self.truncated) {
            json.bool(true);
        }
        if let Some(started) = self.started_at.filter(|_| whole) {
            json.key("startedAt").number(started);
        }
        if begin(json, Changed::ENDED_AT, "endedAt", self.ended_at.is_some()) {
            json.number(self.ended_at.unwrap_or_default());
        }
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

/// One panel: named values, each JSON text.
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

    /// Sets a value, or takes it back with `null`. True if it was another one before.
    pub(crate) fn set(&mut self, name: Word, value: Raw) -> bool {
        let place = self.values.iter().position(|(known, _)| *known == name);
        match place {
            Some(place) if self.values[place].1 == value => return false,
            Some(place) if value == Raw::null() => drop(self.values.remove(place)),
            Some(place) => self.values[place].1 = value,
            None if value == Raw::null() => return false,
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
