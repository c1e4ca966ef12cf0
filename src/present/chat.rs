//! One chat: its streams, its rows and panels, what the user and the host add to them, and when to hand changes out.

use std::borrow::Cow;

use crate::chunk::{Block, Chunk, ChunkSink, Effect, Refusal, Usage};
use crate::fault::{Fault, FaultLog, Tally};
use crate::json::{JsonWriter, Raw};
use crate::limits::Limits;
#[cfg(feature = "acp")]
use crate::link::acp::{AcpAnswer, acp_reply};
use crate::op::{RowOp, RowSink};
use crate::present::blocks::{Blocks, Stage};
use crate::present::panels::Panels;
use crate::present::rows::Rows;
use crate::present::saved::{self, RestoreError, Unclaimed};
use crate::present::schedule::{Cadence, Due, due};
use crate::present::tagged::TaggedTools;
use crate::present::turn::WaitId;
use crate::present::turns::{Asked, Outcome, RunTools, Turns, collect};
use crate::row::{Changed, Fact, Panel, PanelName, Row, RowId, RowKind, RowState};
use crate::wire::{Format, Input, StreamSink};

/// What a chat is made with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// How often changes are handed out.
    pub cadence: Cadence,
    /// The caps.
    pub limits: Limits,
}

/// What a stream is opened with.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    /// Its wire format.
    pub format: Format,
    /// The row inside which its rows are drawn.
    pub parent: Option<RowId>,
    /// Calls are written as tags in its text.
    pub tagged_tools: Option<TaggedTools>,
    /// Its calls are run one after the other, each when its turn has come: see [`ChatRows::take_asked`]. None: the
    /// host runs what is pending as it likes. The calls of `say` are run by the other side, and never here.
    pub run_tools: Option<RunTools>,
}

impl From<Format> for StreamOptions {
    fn from(format: Format) -> Self {
        StreamOptions { format, parent: None, tagged_tools: None, run_tools: None }
    }
}

/// A stream of a chat. From 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// The number that faults name.
    pub fn get(self) -> u32 {
        self.0
    }

    fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The wire itself ended all it began.
    Done,
    /// The input ended first, or with an error.
    Interrupted,
    /// It was aborted.
    Cancelled,
}

impl End {
    /// The name that JavaScript sees.
    pub fn name(self) -> &'static str {
        match self {
            End::Done => "done",
            End::Interrupted => "interrupted",
            End::Cancelled => "cancelled",
        }
    }
}

/// A call: its row, or its id on the wire of a stream.
#[derive(Debug, Clone, Copy)]
pub enum ToolRef<'a> {
    /// The row's id.
    Row(RowId),
    /// The wire's id.
    Call(StreamId, &'a str),
}

/// Why a call cannot be told what its tool did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolError {
    /// There is no such call.
    Unknown,
    /// The call is in this state, in which it cannot run.
    NotExecutable(RowState),
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ToolError::Unknown => f.write_str("there is no tool call with this row id or call id"),
            ToolError::NotExecutable(state) => write!(
                f,
                "the tool call is {}: only a pending call, whose arguments are complete and well-formed, may run",
                state.name()
            ),
        }
    }
}

impl std::error::Error for ToolError {}

/// Milliseconds without a byte after which a row that prepares says so.
pub(crate) const QUIET_MILLIS: u64 = 5000;

/// One chat.
///
/// Bytes go in per stream, cut anywhere; [`ChatRows::drain`] writes what changed into a [`RowSink`](crate::RowSink). There is no clock
/// inside: [`ChatRows::set_now`] tells the time, [`ChatRows::due`] answers when to drain.
///
/// ```
/// use chatrows::{ChatRows, Format, Options};
/// let mut chat = ChatRows::new(Options::default());
/// let stream = chat.stream(Format::OpenAiChat);
/// chat.push(stream, b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel");
/// chat.push(stream, b"lo\"},\"finish_reason\":\"stop\"}]}\n\n");
/// chat.finish(stream);
/// assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("Hello"));
/// ```
#[derive(Debug)]
pub struct ChatRows {
    options: Options,
    rows: Rows,
    panels: Panels,
    #[expect(clippy::vec_box, reason = "a long chat has many, and a list that doubles moves them")]
    streams: Vec<Box<Stream>>,
    /// The streams that have not ended.
    live: Vec<usize>,
    faults: FaultLog,
    /// What the user said here and no wire has repeated yet.
    unechoed: Vec<RowId>,
    unclaimed: Unclaimed,
    /// What the outside world was not told of yet.
    asked: Vec<(StreamId, Asked)>,
    now: u64,
    last_drain: u64,
    ops: u64,
    batches: u64,
}

#[derive(Debug)]
struct Stream {
    /// None once it ended: most streams of a long chat have.
    input: Option<Box<Input>>,
    format: Format,
    tally: Tally,
    blocks: Blocks,
    end: Option<End>,
    last_news: u64,
    quiet: bool,
}

impl Stream {
    fn tally(&self) -> Tally {
        self.input.as_ref().map_or(self.tally, |input| input.tally())
    }

    /// Lets go of what reads it; the counts stay.
    fn let_go(&mut self) {
        if let Some(input) = self.input.take() {
            self.tally = input.tally();
        }
    }
}

/// A chunk's way from one stream's decoder to the chat.
struct Presenter<'a> {
    stream: u32,
    blocks: &'a mut Blocks,
    panels: &'a mut Panels,
    faults: &'a mut FaultLog,
    unechoed: &'a mut Vec<RowId>,
    unclaimed: &'a mut Unclaimed,
    stage: Stage<'a>,
}

impl ChunkSink for Presenter<'_> {
    fn chunk(&mut self, chunk: Chunk<'_>) -> Effect {
        let effect = self.take(chunk);
        self.blocks.attend(false, &mut self.stage);
        effect
    }
}

impl Presenter<'_> {
    fn take(&mut self, chunk: Chunk<'_>) -> Effect {
        match chunk {
            Chunk::Usage(usage) => show_usage(usage, self.panels),
            Chunk::User { id, text } => self.user(id, text),
            Chunk::Panel { panel, name, value } => {
                if self.panels.set(panel, name, value.clone()) {
                    Effect::Changed
                } else {
                    Effect::None
                }
            }
            Chunk::Block { key, before, block } => {
                let standing = self.meet(key, block);
                self.blocks.show(key, before, standing, block, &mut self.stage)
            }
            Chunk::Remove { key, time: Some(time) } if self.blocks.named.get(key).is_none() => {
                match self.unclaimed.claim(Some(time), key, self.stage.rows) {
                    Some(row) => {
                        self.stage.rows.remove(row);
                        Effect::Changed
                    }
                    None => Effect::None,
                }
            }
            chunk => self.blocks.chunk(chunk, &mut self.stage),
        }
    }
}

impl StreamSink for Presenter<'_> {
    fn fault(&mut self, fault: Fault) {
        if fault.reason == Refusal::OpenBlocks.code() {
            self.stage.rows.note_open_blocks();
        }
        self.faults.push(Fault { stream: self.stream, ..fault });
    }

    fn fail(&mut self, message: &str, code: &str, retryable: Option<bool>) {
        self.blocks.fail(message, code, retryable, &mut self.stage);
        self.blocks.attend(true, &mut self.stage);
    }

    fn gap(&mut self) {
        self.blocks.note_gap();
    }

    fn begin(&mut self) {
        self.blocks.forget_stale_failures(self.stage.rows);
    }
}

impl Presenter<'_> {
    /// What the wire says the user said: the row that stands for it already, or a new one.
    fn user(&mut self, id: Option<&str>, text: &str) -> Effect {
        let key = id.map(Box::from);
        let echoed = self.echoed(text, false);
        let rows = &mut self.stage.rows;
        match echoed {
            Some(row) => rows.change(row, |row| {
                row.key = key;
                if row.key.is_some() { Changed::KEY } else { Changed::NONE }
            }),
            None => match add_user(rows, text, self.stage.now, key) {
                Some(_) => Effect::Changed,
                None => Effect::Refused(Refusal::Rows),
            },
        }
    }

    /// A block that the stream names for the first time may have its row already. Answers with the first row of an
    /// earlier stream that a new one stands before, with its time.
    fn meet(&mut self, key: &str, block: &Block<'_>) -> Option<(u64, RowId)> {
        if self.blocks.named.get(key).is_some() {
            return None;
        }
        let rows = &*self.stage.rows;
        let mut row = block.identity(key).and_then(|name| self.unclaimed.claim(block.time, name, rows));
        let standing = block.time.and_then(|time| self.unclaimed.next(time, key, rows));
        if row.is_none() && block.kind == RowKind::User {
            row = self.echoed(&block.text, block.partial);
        }
        if let Some(row) = row {
            self.blocks.named.adopt(key, block.time, row, true);
        }
        standing
    }

    /// The first row of the user's that no wire has repeated yet and that says this.
    fn echoed(&mut self, text: &str, partial: bool) -> Option<RowId> {
        let rows = &self.stage.rows;
        let says = |row: &RowId| {
            let said = rows.get(*row).and_then(|row| row.text.as_deref()).unwrap_or_default();
            said == text || partial && !text.is_empty() && said.starts_with(text)
        };
        let place = self.unechoed.iter().position(says)?;
        Some(self.unechoed.remove(place))
    }
}

fn add_user(rows: &mut Rows, text: &str, now: u64, key: Option<Box<str>>) -> Option<RowId> {
    rows.add(RowKind::User, RowState::Done, &mut |row| {
        row.text = Some(text.to_owned());
        row.key = key.clone();
        row.started_at = Some(now);
        row.ended_at = Some(now);
    })
}

fn show_usage(usage: Usage, panels: &mut Panels) -> Effect {
    let mut changed = false;
    for (name, value) in [
        ("inputTokens", usage.input_tokens),
        ("outputTokens", usage.output_tokens),
        ("totalTokens", usage.total_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
        ("cachedTokens", usage.cached_tokens),
    ] {
        if let Some(value) = value {
            changed |= panels.set(PanelName::Usage, name, Raw::written(|json| json.number(value)));
        }
    }
    if changed { Effect::Changed } else { Effect::None }
}

impl ChatRows {
    /// An empty chat.
    pub fn new(options: Options) -> Self {
        let mut chat = ChatRows {
            options,
            rows: Rows::new(&options.limits),
            panels: Panels::default(),
            streams: Vec::new(),
            live: Vec::new(),
            faults: FaultLog::new(options.limits.faults),
            unechoed: Vec::new(),
            unclaimed: Unclaimed::default(),
            asked: Vec::new(),
            now: 0,
            last_drain: 0,
            ops: 0,
            batches: 0,
        };
        chat.show_activity();
        chat
    }

    /// The rows and panels as JSON, from which [`ChatRows::restore`] makes a chat again.
    ///
    /// ```
    /// use chatrows::{ChatRows, Options};
    /// let mut chat = ChatRows::new(Options::default());
    /// let id = chat.add_user("hello").unwrap();
    /// let again = ChatRows::restore(&chat.snapshot_json(), Options::default()).unwrap();
    /// assert_eq!(again.row(id), chat.row(id));
    /// ```
    pub fn snapshot_json(&self) -> String {
        let mut json = JsonWriter::default();
        saved::write(&self.rows, &self.panels, &mut json);
        json.into_string()
    }

    /// A chat as it was saved, without its streams: what was under way is interrupted, ids stay, and a row that its
    /// wire names again by the same key is the same row.
    ///
    /// # Errors
    /// `snapshot` is not what [`ChatRows::snapshot_json`] writes, or holds more than the caps allow.
    pub fn restore(snapshot: &str, options: Options) -> Result<ChatRows, RestoreError> {
        let (rows, panels) = saved::read(snapshot, &options.limits)?;
        let unclaimed = Unclaimed::of(&rows);
        let mut chat = ChatRows { rows, panels, unclaimed, ..ChatRows::new(options) };
        chat.show_activity();
        Ok(chat)
    }

    /// Tells the time, in milliseconds of any clock that does not run backwards.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.set_now(1_000);
    /// let id = chat.add_user("hello").unwrap();
    /// assert_eq!(chat.row(id).unwrap().started_at, Some(1_000));
    /// ```
    pub fn set_now(&mut self, now: u64) {
        self.now = now.max(self.now);
        for place in 0..self.live.len() {
            let index = self.live[place];
            let stream = &self.streams[index];
            if !stream.quiet && self.now >= stream.last_news + QUIET_MILLIS {
                let since = stream.last_news;
                self.streams[index].quiet = true;
                self.with(index, |_, presenter| presenter.blocks.set_quiet(Some(since), &mut presenter.stage));
            }
        }
    }

    /// Opens a stream.
    pub fn stream(&mut self, options: impl Into<StreamOptions>) -> StreamId {
        let options = options.into();
        self.streams.push(Box::new(Stream {
            input: None,
            format: options.format,
            tally: Tally::default(),
            blocks: Blocks::new(options.parent, options.tagged_tools, options.run_tools),
            end: None,
            last_news: self.now,
            quiet: false,
        }));
        self.live.push(self.streams.len() - 1);
        self.show_activity();
        StreamId(self.streams.len() as u32)
    }

    /// The stream with this number, if there is one.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// assert_eq!(chat.stream_numbered(1), Some(stream));
    /// assert_eq!(chat.stream_numbered(2), None);
    /// ```
    pub fn stream_numbered(&self, number: u32) -> Option<StreamId> {
        (1..=self.streams.len() as u32).contains(&number).then_some(StreamId(number))
    }

    /// Bytes of the stream's wire, cut anywhere. After the stream's end they are counted and dropped.
    pub fn push(&mut self, stream: StreamId, bytes: &[u8]) {
        self.hear(stream);
        self.with(stream.index(), |input, presenter| input.push(bytes, presenter));
        self.show_activity();
    }

    /// One whole record of the stream, as JSON text.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push_message(stream, r#"{"choices":[{"delta":{"content":"hi"}}]}"#);
    /// assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("hi"));
    /// ```
    pub fn push_message(&mut self, stream: StreamId, json: &(impl AsRef<[u8]> + ?Sized)) {
        self.hear(stream);
        self.with(stream.index(), |input, presenter| input.message(json.as_ref(), presenter));
        self.show_activity();
    }

    /// The stream's source ended: an unterminated last record counts; what is open becomes interrupted unless the
    /// wire had ended it. Idempotent; answers how the stream ended.
    ///
    /// ```
    /// # use chatrows::{ChatRows, End, Format, Options, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push(stream, br#"{"choices":[{"delta":{"content":"Hel"}}]}"#);
    /// assert_eq!(chat.finish(stream), End::Interrupted);
    /// assert_eq!(chat.rows().next().unwrap().state, RowState::Interrupted);
    /// ```
    pub fn finish(&mut self, stream: StreamId) -> End {
        if let Some(end) = self.end(stream) {
            return end;
        }
        let done = self.with(stream.index(), |input, presenter| {
            input.finish(presenter);
            presenter.begin();
            // Before what is open is interrupted, which would hide it.
            let complete = presenter.blocks.is_complete();
            if complete {
                presenter.blocks.end_replay(&mut presenter.stage);
            }
            presenter.blocks.end_open(RowState::Interrupted, &mut presenter.stage);
            presenter.blocks.end_named(RowState::Interrupted, &mut presenter.stage);
            presenter.blocks.attend(true, &mut presenter.stage);
            complete || (input.is_done() && presenter.blocks.is_empty())
        });
        let end = if done { End::Done } else { End::Interrupted };
        self.close(stream, end)
    }

    /// Ends the stream: what is not at its end becomes cancelled, calls that wait to run among it. Answers how the
    /// stream ended: an abort after the end changes nothing.
    ///
    /// ```
    /// # use chatrows::{ChatRows, End, Format, Options, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push(stream, br#"{"choices":[{"delta":{"content":"Hel"}}]}"#);
    /// assert_eq!(chat.abort(stream), End::Cancelled);
    /// chat.push(stream, br#"{"choices":[{"delta":{"content":"lo"}}]}"#); // late: counted and dropped
    /// assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("Hel"));
    /// ```
    pub fn abort(&mut self, stream: StreamId) -> End {
        self.abort_because(stream, None)
    }

    /// [`ChatRows::abort`] with a reason, which the cancelled rows keep as `meta.reason`.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push_message(stream, r#"{"choices":[{"delta":{"content":"hi"}}]}"#);
    /// chat.abort_because(stream, Some("the user left"));
    /// assert!(chat.rows_json().contains(r#""meta":{"reason":"the user left"}"#));
    /// ```
    pub fn abort_because(&mut self, stream: StreamId, reason: Option<&str>) -> End {
        let end = self.end(stream);
        // What its calls do goes on after the stream's end.
        if end.is_some() && self.is_turn_over(stream) != Some(false) {
            return end.unwrap_or(End::Cancelled);
        }
        self.with(stream.index(), |input, presenter| {
            if end.is_none() {
                input.abort(presenter);
            }
            presenter.blocks.cancel(reason, &mut presenter.stage);
        });
        if let Some(end) = end {
            self.streams[stream.index()].let_go();
            self.show_activity();
            return end;
        }
        self.close(stream, End::Cancelled)
    }

    /// The stream ended: only its counts are kept, and what its history is read with.
    fn close(&mut self, stream: StreamId, end: End) -> End {
        self.with(stream.index(), |_, presenter| presenter.blocks.pause(false, &mut presenter.stage));
        let entry = &mut self.streams[stream.index()];
        if !entry.format.has_history() {
            entry.let_go();
        }
        entry.end = Some(end);
        entry.blocks.rest();
        for (time, key, row) in entry.blocks.named.timed() {
            self.unclaimed.put(time, key, row);
        }
        self.live.retain(|live| *live != stream.index());
        self.show_activity();
        end
    }

    /// The stream failed before or while it was read, for a reason outside its wire (an HTTP status, a broken
    /// connection): one error row. The stream is still to be finished.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Fact, Format, Options};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.fail(stream, "connection reset", "read-error", Some(true));
    /// let error = chat.rows().next().unwrap().facts.get(Fact::Error);
    /// assert_eq!(error, Some(r#"{"message":"connection reset","code":"read-error","retryable":true}"#));
    /// ```
    pub fn fail(&mut self, stream: StreamId, message: &str, code: &str, retryable: Option<bool>) {
        if self.end(stream).is_none() {
            self.with(stream.index(), |input, presenter| {
                input.close(presenter);
                presenter.fail(message, code, retryable);
            });
            self.show_activity();
        }
    }

    /// The response has an error status: its body, whatever it is, becomes one error row. The stream is still to be
    /// finished.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Fact, Format, Options};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.fail_with_status(stream, 429, r#"{"error":{"message":"slow down"}}"#);
    /// let error = chat.rows().next().unwrap().facts.get(Fact::Error);
    /// assert_eq!(error, Some(r#"{"message":"slow down","code":"429","retryable":true}"#));
    /// ```
    pub fn fail_with_status(&mut self, stream: StreamId, status: u16, body: &str) {
        if self.end(stream).is_none() {
            self.with(stream.index(), |input, presenter| {
                input.close(presenter);
                input.error_body(status, body, presenter);
            });
            self.show_activity();
        }
    }

    /// Opens the stream again for a replay from its beginning: what it brings is compared with what stands, by
    /// position, and leaves it as it was; what goes beyond it is new.
    ///
    /// ```
    /// # use chatrows::{ChatRows, End, Format, Options, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push(stream, br#"{"choices":[{"delta":{"content":"Hel"}}]}"#);
    /// chat.finish(stream); // the connection broke
    /// chat.restart(stream);
    /// chat.push(stream, br#"{"choices":[{"delta":{"content":"Hel"}}]}{"choices":[{"delta":{"content":"lo"}}]}"#);
    /// assert_eq!(chat.rows().count(), 1);
    /// assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("Hello"));
    /// ```
    pub fn restart(&mut self, stream: StreamId) {
        let entry = &mut self.streams[stream.index()];
        entry.let_go();
        entry.blocks.restart();
        entry.end = None;
        entry.last_news = self.now;
        if !self.live.contains(&stream.index()) {
            self.live.push(stream.index());
        }
        self.show_activity();
    }

    /// The stream's connection broke and is there again: what comes now repeats the stream's latest turn from its start,
    /// and leaves it as it was; what goes beyond it is new. False, and nothing is done, where the format has no turns or
    /// the stream has ended: see [`ChatRows::restart`].
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, Options};
    /// # let mut chat = ChatRows::new(Options::default());
    /// let stream = chat.stream(Format::TaskStream);
    /// let text = |text: &str, time: u64| format!(r#"{{"type":"task-running","kind":"acp_event","timestamp":{time},"data":{{"type":"agent_message_chunk","text":"{text}"}}}}"#);
    /// chat.push_message(stream, &text("Hel", 1));
    /// assert!(chat.restart_turn(stream));
    /// chat.push_message(stream, &text("Hel", 1));
    /// chat.push_message(stream, &text("lo", 2));
    /// assert_eq!(chat.rows().next().unwrap().text.as_deref(), Some("Hello"));
    /// ```
    pub fn restart_turn(&mut self, stream: StreamId) -> bool {
        let lives = self.end(stream).is_none();
        lives
            && self.with(stream.index(), |input, presenter| {
                let has_turns = input.restart_turn();
                if has_turns {
                    presenter.blocks.restart_turn();
                }
                has_turns
            })
    }

    /// The stream's connection is lost and waited for, or there again: meanwhile its rows keep their states, and none
    /// shows a spinner.
    pub fn pause(&mut self, stream: StreamId, is_paused: bool) {
        self.with(stream.index(), |_, presenter| presenter.blocks.pause(is_paused, &mut presenter.stage));
        self.show_activity();
    }

    /// What went before all that the stream has shown, as JSON: an object or array of the frames of earlier turns, newest turn
    /// first. Its rows stand before the others. Pages may follow each other, after the stream's end too; what overlaps
    /// is dropped. The panel `session` says where the next begins (`cursor`), and whether there is one (`hasMore`). A page
    /// that cannot be read is a fault.
    pub fn load_history(&mut self, stream: StreamId, page: &(impl AsRef<[u8]> + ?Sized)) {
        self.with(stream.index(), |input, presenter| input.history(page.as_ref(), presenter));
        self.show_activity();
    }

    /// How the stream ended; none while it lives.
    pub fn end(&self, stream: StreamId) -> Option<End> {
        self.streams[stream.index()].end
    }

    /// Turns the hot path's shortcut off for a stream: what shows stays the same, and tests compare both.
    #[doc(hidden)]
    pub fn without_shortcut(&mut self, stream: StreamId) {
        self.with(stream.index(), |input, _| input.without_shortcut());
    }

    /// Shows what the user said. The first wire that repeats it means this row. None once the cap on rows is reached.
    ///
    /// ```
    /// use chatrows::{ChatRows, Options, RowKind};
    /// let mut chat = ChatRows::new(Options::default());
    /// let id = chat.add_user("hello").unwrap();
    /// assert_eq!(chat.row(id).unwrap().kind, RowKind::User);
    /// ```
    pub fn add_user(&mut self, text: &str) -> Option<RowId> {
        let row = add_user(&mut self.rows, text, self.now, None)?;
        self.unechoed.push(row);
        Some(row)
    }

    /// What a wire with user messages would do; see [`Chunk::User`].
    #[doc(hidden)]
    pub fn chunk(&mut self, stream: StreamId, chunk: Chunk<'_>) -> Effect {
        self.with(stream.index(), |_, presenter| presenter.chunk(chunk))
    }

    /// The host runs the call.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// # chat.push_message(stream, r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#);
    /// # let call = ToolRef::Call(stream, "c");
    /// chat.tool_started(call).unwrap();
    /// assert_eq!(chat.rows().next().unwrap().state, RowState::Running);
    /// assert!(chat.tool_started(ToolRef::Call(stream, "x")).is_err());
    /// ```
    ///
    /// # Errors
    /// The call is unknown, or not pending.
    pub fn tool_started(&mut self, call: ToolRef<'_>) -> Result<(), ToolError> {
        let id = self.tool(call, &[RowState::Pending, RowState::Running])?;
        self.rows.change(id, |row| {
            row.state = RowState::Running;
            Changed::STATE
        });
        self.show_activity();
        Ok(())
    }

    /// The tool has something to show. `output` replaces what stood there, `append` follows it.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// # chat.push_message(stream, r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#);
    /// # let call = ToolRef::Call(stream, "c");
    /// chat.tool_started(call).unwrap();
    /// chat.tool_progress(call, None, Some("one\n"), None).unwrap();
    /// chat.tool_progress(call, None, Some("two\n"), None).unwrap();
    /// assert_eq!(chat.rows().next().unwrap().tool.as_ref().unwrap().output.as_deref(), Some("one\ntwo\n"));
    /// ```
    ///
    /// # Errors
    /// The call is unknown, or cannot be running.
    pub fn tool_progress(
        &mut self,
        call: ToolRef<'_>,
        output: Option<&str>,
        append: Option<&str>,
        title: Option<&str>,
    ) -> Result<(), ToolError> {
        let id = self.tool(call, &[RowState::Pending, RowState::Running])?;
        if let Some(output) = output {
            self.rows.replace_output(id, output, 0);
        }
        if let Some(text) = append {
            self.rows.append_output(id, text);
        }
        if let Some(title) = title {
            self.rows.change(id, |row| {
                let changed = row.facts.set(Fact::Title, Some(Raw::written(|json| json.string(title))));
                if changed { Changed::FACTS } else { Changed::NONE }
            });
        }
        Ok(())
    }

    /// The tool ended. Without `output` what it showed so far stands. A call that was cancelled takes its output and
    /// stays cancelled. Told again, the later word counts; what a question was answered is what was last told.
    ///
    /// ```
    /// # use chatrows::{ChatRows, End, Format, Options, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// let call = r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    /// chat.push_message(stream, call);
    /// let call = ToolRef::Call(stream, "c");
    /// chat.tool_started(call).unwrap();
    /// chat.tool_result(call, Some("42"), false).unwrap();
    /// assert_eq!(chat.rows().next().unwrap().state, RowState::Done);
    /// ```
    ///
    /// # Errors
    /// The call is unknown, or was never executable.
    pub fn tool_result(&mut self, call: ToolRef<'_>, output: Option<&str>, is_error: bool) -> Result<(), ToolError> {
        let ended = [RowState::Pending, RowState::Running, RowState::Done, RowState::Failed, RowState::Cancelled];
        let id = self.tool(call, &ended)?;
        self.rows.end_call(id, output, is_error, self.now);
        // What nobody was told to run need not be run any more.
        let untold = |(_, asked): &(StreamId, Asked)| matches!(asked, Asked::Run(_, row) if *row == id);
        if let Some(place) = self.asked.iter().position(untold)
            && let (stream, Asked::Run(wait, _)) = self.asked.remove(place)
        {
            self.settle(stream, wait, Outcome::Ended { output: None, is_error });
        }
        self.show_activity();
        Ok(())
    }

    /// The call's row, if its arguments were complete and it is in one of these states.
    fn tool(&self, call: ToolRef<'_>, states: &[RowState]) -> Result<RowId, ToolError> {
        let id = match call {
            ToolRef::Row(id) => id,
            ToolRef::Call(stream, id) => self
                .streams
                .get(stream.index())
                .and_then(|stream| stream.blocks.call(id, &self.rows))
                .ok_or(ToolError::Unknown)?,
        };
        let row = self.rows.get(id).ok_or(ToolError::Unknown)?;
        let tool = row.tool.as_deref().ok_or(ToolError::Unknown)?;
        let elsewhere = tool.is_remote && row.state == RowState::Pending;
        if (tool.input_done || tool.is_remote) && !elsewhere && states.contains(&row.state) {
            Ok(id)
        } else {
            Err(ToolError::NotExecutable(row.state))
        }
    }

    /// The arguments of a call that may be executed, or could and was: complete and well-formed JSON text, `{}` where
    /// the wire sent none; of a call written as tags the object of its parameters. None for every other row, and for a
    /// call that was cancelled or interrupted.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// # chat.push_message(stream, r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#);
    /// # let call = ToolRef::Call(stream, "c");
    /// let row = chat.rows().next().unwrap().id;
    /// assert_eq!(chat.args(row).as_deref(), Some("{}"));
    /// ```
    pub fn args(&self, id: RowId) -> Option<Cow<'_, str>> {
        let row = self.rows.get(id)?;
        let tool = row.tool.as_deref().filter(|tool| tool.input_done)?;
        let stands = matches!(row.state, RowState::Pending | RowState::Running | RowState::Done | RowState::Failed);
        stands.then(|| tool.arguments())
    }

    /// What to send to the agent as the answer to what a row of an `acp` stream asks, as JSON text: a request for leave, or
    /// for values. Push it to the stream too, and the row knows. None where the row asks nothing that this answers, and
    /// where it is answered or asks no more.
    ///
    /// ```
    /// # use chatrows::{AcpAnswer, ChatRows, Format, Options, RowState};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::Acp);
    /// chat.push_message(stream, r#"{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}"#);
    /// let row = chat.rows().next().unwrap().id;
    /// let answer = chat.acp_reply(row, AcpAnswer::Option("y")).unwrap();
    /// assert_eq!(answer, r#"{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}"#);
    /// chat.push_message(stream, &answer);
    /// assert_eq!(chat.acp_reply(row, AcpAnswer::Option("y")), None);
    /// ```
    #[cfg(feature = "acp")]
    pub fn acp_reply(&self, row: RowId, answer: AcpAnswer<'_>) -> Option<String> {
        let row = self.rows.get(row)?;
        let facts = &row.facts;
        // A call that goes on or was cancelled may still ask for leave: what waits is to be answered.
        let asks = match row.kind {
            RowKind::Tool if facts.raw(Fact::Permission).is_some() => facts.is_open(Fact::Permission),
            _ => row.state == RowState::Pending,
        };
        if !asks {
            return None;
        }
        acp_reply(facts.get(Fact::Permission), facts.get(Fact::Question), answer)
    }

    /// The rows, in their order.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.rows.iter()
    }

    /// The row with this id.
    pub fn row(&self, id: RowId) -> Option<&Row> {
        self.rows.get(id)
    }

    /// A panel.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// assert_eq!(chat.panel(PanelName::Activity).get("state"), Some("\"waiting\""));
    /// ```
    pub fn panel(&self, name: PanelName) -> &Panel {
        self.panels.get(name)
    }

    /// Shows a value of a panel, as JSON; `null` takes it back. For what no stream tells of, such as a connection.
    ///
    /// ```
    /// use chatrows::{ChatRows, Options, PanelName, json::Raw};
    /// let mut chat = ChatRows::new(Options::default());
    /// chat.set_panel(PanelName::Connection, "state", Raw::written(|json| json.string("open")));
    /// assert_eq!(chat.panel(PanelName::Connection).get("state"), Some("\"open\""));
    /// ```
    pub fn set_panel(&mut self, panel: PanelName, name: &'static str, value: Raw) {
        self.panels.set(panel, name, value);
    }

    /// The rows as a JSON array.
    pub fn rows_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.array(|json| {
            for row in self.rows.iter() {
                row.write_json(json);
            }
        });
        json.into_string()
    }

    /// The panels as a JSON object.
    pub fn panels_json(&self) -> String {
        let mut json = JsonWriter::default();
        self.panels.write_json(&mut json);
        json.into_string()
    }

    /// What became of a stream's input.
    pub fn stream_tally(&self, stream: StreamId) -> Tally {
        self.streams[stream.index()].tally()
    }

    /// What became of all input.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push_message(stream, r#"{"choices":[{"delta":{"content":"hi"}}]}"#);
    /// assert_eq!(chat.tally().applied, 1);
    /// ```
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { work: self.rows.work, ..Tally::default() };
        for stream in &self.streams {
            tally.add(&stream.tally());
        }
        tally
    }

    /// What became of a stream's input, as JSON: an object with the properties of the TypeScript interface `Stats`.
    pub fn stream_stats_json(&self, stream: StreamId) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| self.stream_tally(stream).write_members(json));
        json.into_string()
    }

    /// How many streams, rows, ops and batches there were.
    pub fn counts(&self) -> [u64; 4] {
        [self.streams.len() as u64, self.rows.len() as u64, self.ops, self.batches]
    }

    /// The statistics as JSON: an object with the properties of the TypeScript interface `ChatStats`.
    pub fn stats_json(&self) -> String {
        let mut json = JsonWriter::default();
        json.object(|json| {
            self.tally().write_members(json);
            for (name, count) in ["streams", "rows", "ops", "batches"].into_iter().zip(self.counts()) {
                json.key(name).number(count);
            }
        });
        json.into_string()
    }

    /// The faults that are kept, oldest first.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.kept.iter()
    }

    /// How many faults there were, and those since there had been `seen` as far as they are kept.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.push(stream, b"data: {1\n\ndata: {2\n\n");
    /// let (total, new) = chat.faults_since(1);
    /// assert_eq!((total, new.count()), (2, 1));
    /// ```
    pub fn faults_since(&self, seen: u64) -> (u64, impl Iterator<Item = &Fault>) {
        (self.faults.total, self.faults.since(seen))
    }

    /// Removes the row and all rows after it, and takes back what was asked about them ([`Asked::Cancel`]), runs among
    /// it. False if there is no such row.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// let first = chat.add_user("one").unwrap();
    /// chat.add_user("two");
    /// assert!(chat.truncate_from(first));
    /// assert_eq!(chat.rows().count(), 0);
    /// ```
    pub fn truncate_from(&mut self, id: RowId) -> bool {
        let known = self.rows.truncate_from(id);
        for number in 1..=self.streams.len() as u32 {
            self.turn(StreamId(number), Turns::check);
        }
        known
    }

    /// Aborts all streams and removes everything. Row ids go on.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.add_user("one");
    /// chat.reset();
    /// assert_eq!(chat.rows().count(), 0);
    /// assert_eq!(chat.add_user("two").unwrap().get(), 2); // an id is never used again
    /// ```
    pub fn reset(&mut self) {
        for index in 0..self.streams.len() {
            self.abort(StreamId(index as u32 + 1));
        }
        self.rows.clear();
        self.panels.clear();
        self.unechoed.clear();
        self.unclaimed = Unclaimed::default();
        self.show_activity();
    }

    /// What the outside world is asked for since this was last called, in order: runs of calls, the user's leave, the
    /// checkpoint. Only streams with [`StreamOptions::run_tools`] ask. Look after each push, finish, abort and answer.
    ///
    /// ```
    /// use chatrows::{Asked, ChatRows, Format, Options, Outcome, RowState, RunTools, StreamOptions, TaggedTools};
    /// let mut chat = ChatRows::new(Options::default());
    /// let (tagged_tools, run_tools) = (Some(TaggedTools::default()), Some(RunTools::default()));
    /// let stream = chat.stream(StreamOptions { tagged_tools, run_tools, ..Format::ApiStream.into() });
    /// chat.push_message(stream, r#"{"type":"text","text":"<read_file><path>a</path></read_file>"}"#);
    /// let asked: Vec<_> = chat.take_asked().collect();
    /// let [(_, Asked::Run(wait, row))] = asked[..] else { panic!("{asked:?}") };
    /// assert_eq!(chat.args(row).as_deref(), Some(r#"{"path":"a"}"#));
    /// chat.settle(stream, wait, Outcome::Ended { output: Some("hello"), is_error: false });
    /// chat.finish(stream);
    /// assert_eq!(chat.row(row).unwrap().state, RowState::Done);
    /// assert_eq!(chat.take_asked().next(), Some((stream, Asked::Ready)));
    /// ```
    pub fn take_asked(&mut self) -> std::vec::IntoIter<(StreamId, Asked)> {
        std::mem::take(&mut self.asked).into_iter()
    }

    /// The outside world's answer to what a stream asked for. False: nobody waits for it any more, or it was answered.
    pub fn settle(&mut self, stream: StreamId, wait: WaitId, outcome: Outcome<'_>) -> bool {
        let settled = self.turn(stream, |turns, stage| turns.settle(wait, outcome, stage)).unwrap_or(false);
        self.show_activity();
        settled
    }

    /// Whether this is what the stream waits for right now.
    pub fn is_waiting(&self, stream: StreamId, wait: WaitId) -> bool {
        self.turns(stream).is_some_and(|turns| turns.waits_for() == Some(wait))
    }

    /// Whether all calls and texts of the stream are handled that have come, or it was aborted. None where
    /// [`StreamOptions::run_tools`] is none.
    pub fn is_turn_over(&self, stream: StreamId) -> Option<bool> {
        self.turns(stream).map(Turns::is_over)
    }

    /// Whether the stream was aborted before its turn was over.
    pub fn is_turn_aborted(&self, stream: StreamId) -> bool {
        self.turns(stream).is_some_and(Turns::is_aborted)
    }

    /// Where the presenter of the stream's calls stands: an object with the properties of the TypeScript interface
    /// `TurnState`, as JSON. None where [`StreamOptions::run_tools`] is none.
    pub fn turn_json(&self, stream: StreamId) -> Option<String> {
        let mut json = JsonWriter::default();
        self.turns(stream)?.write_json(&mut json);
        Some(json.into_string())
    }

    /// Writes what changed since the last drain. True if there was anything.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.add_user("one");
    /// let mut ops = OpBuffer::default();
    /// assert!(chat.drain(&mut ops));
    /// assert!(!chat.drain(&mut ops)); // nothing new
    /// ```
    pub fn drain(&mut self, sink: &mut impl RowSink) -> bool {
        if !self.is_pending() {
            return false;
        }
        let mut ops = 0;
        let mut count = |op: RowOp<'_>| {
            ops += 1;
            sink.op(op);
        };
        self.rows.drain(&mut count);
        self.panels.drain(&mut count);
        self.last_drain = self.now;
        self.ops += ops;
        self.batches += u64::from(ops > 0);
        ops > 0
    }

    /// Writes everything there is as a reset and inserts, for a listener that knows nothing yet. What is pending must
    /// be drained first.
    ///
    /// ```
    /// # use chatrows::{ChatRows, Format, OpBuffer, Options, PanelName, RowOp, RowState, ToolRef};
    /// # let mut chat = ChatRows::new(Options::default());
    /// # let stream = chat.stream(Format::OpenAiChat);
    /// chat.add_user("one");
    /// chat.drain(&mut |_: RowOp<'_>| {});
    /// let mut ops = OpBuffer::default();
    /// chat.write_all(&mut ops);
    /// assert_eq!(ops.words[..2], [0, 1]); // a reset, then an insert
    /// ```
    pub fn write_all(&self, sink: &mut impl RowSink) {
        sink.op(RowOp::Reset);
        self.rows.write_all(sink);
        self.panels.write_all(sink);
    }

    /// Whether a drain may write anything.
    pub fn is_pending(&self) -> bool {
        self.rows.is_pending() || self.panels.is_pending()
    }

    /// When the page should tell the time and drain next. `hidden`: the page is not drawn.
    pub fn due(&self, hidden: bool) -> Due {
        let since = self.now - self.last_drain;
        let next = due(self.options.cadence, since, self.is_pending(), self.rows.is_urgent(), hidden);
        if next != Due::Never {
            return next;
        }
        let live = self.live.iter().map(|index| &self.streams[*index]);
        let preparing = live.filter(|stream| !stream.quiet && stream.blocks.is_preparing(&self.rows));
        let wait = preparing.map(|stream| (stream.last_news + QUIET_MILLIS).saturating_sub(self.now)).min();
        wait.map_or(Due::Never, Due::After)
    }

    /// Something came from the stream.
    fn hear(&mut self, stream: StreamId) {
        let entry = &mut self.streams[stream.index()];
        entry.last_news = self.now;
        if std::mem::take(&mut entry.quiet) {
            self.with(stream.index(), |_, presenter| presenter.blocks.set_quiet(None, &mut presenter.stage));
        }
    }

    fn turns(&self, stream: StreamId) -> Option<&Turns> {
        self.streams[stream.index()].blocks.turns.as_deref()
    }

    fn turn<T>(&mut self, stream: StreamId, act: impl FnOnce(&mut Turns, &mut Stage<'_>) -> T) -> Option<T> {
        let turns = self.streams[stream.index()].blocks.turns.as_deref_mut()?;
        let mut stage = Stage { rows: &mut self.rows, limits: &self.options.limits, now: self.now };
        let answer = act(turns, &mut stage);
        collect(&mut self.asked, stream, &mut turns.asked);
        Some(answer)
    }

    fn with<T>(&mut self, index: usize, act: impl FnOnce(&mut Input, &mut Presenter<'_>) -> T) -> T {
        let Stream { input, format, tally, blocks, end, .. } = &mut *self.streams[index];
        let input = input.get_or_insert_with(|| Input::boxed(*format, &self.options.limits, *tally, end.is_some()));
        let mut presenter = Presenter {
            stream: index as u32 + 1,
            blocks,
            panels: &mut self.panels,
            faults: &mut self.faults,
            unechoed: &mut self.unechoed,
            unclaimed: &mut self.unclaimed,
            stage: Stage { rows: &mut self.rows, limits: &self.options.limits, now: self.now },
        };
        let answer = act(input, &mut presenter);
        if let Some(turns) = &mut blocks.turns {
            collect(&mut self.asked, StreamId(index as u32 + 1), &mut turns.asked);
        }
        answer
    }

    fn show_activity(&mut self) {
        let live = || self.live.iter().map(|index| &self.streams[*index]);
        let waits = |row: &Row| row.kind == RowKind::Retry && row.state == RowState::Running;
        let state = if live().any(|stream| stream.blocks.open() > 0 && !stream.blocks.is_paused()) {
            "streaming"
        } else if live().any(|stream| stream.blocks.is_paused() && !stream.blocks.is_idle()) {
            "stalled"
        } else if live().any(|stream| !stream.blocks.is_idle()) {
            match self.rows.iter().next_back() {
                Some(row) if waits(row) => "retrying",
                // The other side waits for the user.
                Some(row) if row.asks() => "idle",
                _ => "waiting",
            }
        } else {
            "idle"
        };
        self.panels.set(PanelName::Activity, "state", Raw::written(|json| json.string(state)));
    }
}
