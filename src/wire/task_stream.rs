//! Task stream messages: the frames of a WebSocket that carry a task's turns, with the events of the Agent Client
//! Protocol inside. Turns are told apart, so that one that is repeated after a reconnect is known by its places.
//! Facts: task-stream.md.

use std::borrow::Cow;

use super::acp::panels::tokens;
use super::acp::{Acp, Places, TurnEnd, outcome};
use super::{Outcome, RecordDecoder, error_message};
use crate::chunk::{Chunk, ChunkSink, Effect};
use crate::json::{JsonStr, Raw, Tape, Value};
use crate::limits::{Limits, SEEN_FRAMES};
use crate::link::task::{SeenFrames, data_text, decode_text};
use crate::row::{Fact, PanelName, RowKind, RowState, error, list_of_one, message, said};

#[derive(Debug)]
pub(super) struct TaskStream {
    acp: Acp,
    seen: SeenFrames,
    turn: Turn,
    /// The line was attached again, and which turn comes has not shown yet.
    attached: bool,
    /// The places before the latest turn.
    start: Places,
    /// What the user said first in it.
    input: Option<Box<str>>,
    /// The time of the newest frame of a turn, in ns.
    newest: u64,
    /// The time of the oldest frame, in ns.
    oldest: u64,
    /// A page of the history was read: it says where the next begins.
    paged: bool,
    /// What frames carry is read into it.
    data: Tape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// None goes on.
    Over,
    /// The user has spoken.
    Opened,
    Started,
    /// The latest one comes again.
    Repeated,
}

type Read = Option<Result<Effect, &'static str>>;

impl TaskStream {
    pub fn new(limits: &Limits) -> Self {
        TaskStream {
            acp: Acp::new(limits),
            seen: SeenFrames::new(SEEN_FRAMES),
            turn: Turn::Over,
            attached: false,
            start: Places::default(),
            input: None,
            newest: 0,
            oldest: u64::MAX,
            paged: false,
            data: Tape::with_caps(limits.nesting, limits.record_values),
        }
    }

    fn frame(&mut self, frame: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        let mut tape = std::mem::take(&mut self.data);
        let text = data_text(frame.get("data"));
        let record = tape.read(&text);
        let data = record.as_ref().map_or(Value::ABSENT, |record| record.root());
        let read = self.decoded(frame, data, &text, sink);
        self.data = tape;
        read
    }

    /// A frame whose data are decoded. `text`: the data as they stand, where they are no JSON.
    fn decoded(&mut self, frame: Value<'_>, data: Value<'_>, text: &str, sink: &mut dyn ChunkSink) -> Read {
        let kind = said(frame, &["type", "event"])?;
        let words = if kind == "user-input" { Some(words(data, text)) } else { None };
        let left =
            if is_beside_turns(&kind) { Effect::None } else { self.place_turn(frame, &kind, words.as_deref(), sink) };
        let read = match words {
            Some(words) => {
                let opened = if self.turn == Turn::Over { self.open_turn(sink) } else { Effect::None };
                if self.turn != Turn::Started {
                    self.turn = Turn::Opened;
                    self.input.get_or_insert_with(|| (&*words).into());
                }
                Some(Ok(opened.and(self.user_input(data, &words, sink))))
            }
            None => self.turn_frame(frame, &kind, data, text, sink),
        };
        read.map(|read| read.map(|effect| left.and(effect)))
    }

    /// Which turn a frame is of, where the line was attached again: the server repeats its latest one, which need not
    /// be the one that is known here.
    fn place_turn(&mut self, frame: Value<'_>, kind: &str, words: Option<&str>, sink: &mut dyn ChunkSink) -> Effect {
        let time = time(frame).unwrap_or_default();
        let is_later = time > self.newest && self.newest > 0;
        self.newest = self.newest.max(time);
        if !std::mem::take(&mut self.attached) {
            return Effect::None;
        }
        let is_other = match (words, self.input.as_deref()) {
            (Some(words), Some(known)) if words != known => true,
            // The echo of an input may bear another time than what is kept of it.
            (Some(_), _) => is_later && self.turn != Turn::Opened,
            (None, _) => is_later && self.turn == Turn::Over && kind == "task-started",
        };
        if !is_other {
            self.acp.restart_turn(self.start);
            self.turn = Turn::Repeated;
            return Effect::None;
        }
        let goes_on = std::mem::replace(&mut self.turn, Turn::Over) != Turn::Over;
        if goes_on { self.acp.leave_turn(sink) } else { Effect::None }
    }

    /// A frame that is not what the user said.
    fn turn_frame(
        &mut self,
        frame: Value<'_>,
        kind: &str,
        data: Value<'_>,
        text: &str,
        sink: &mut dyn ChunkSink,
    ) -> Read {
        Some(Ok(match kind {
            "user-cancel" => {
                let ended = self.acp.end_turn(TurnEnd::Cancelled, sink);
                ended.and(self.notice("task.cancelled", sink))
            }
            "task-started" => {
                let opened = if self.turn == Turn::Over { self.open_turn(sink) } else { Effect::None };
                self.turn = Turn::Started;
                opened.and(self.acp.begin_turn(sink))
            }
            "task-running" | "task-event" if data.get("update").is_object() || said(frame, &["kind"]).is_some() => {
                return self.running(&said(frame, &["kind"]).unwrap_or_default(), data, sink);
            }
            "task-ended" => {
                self.turn = Turn::Over;
                self.acp.catch_up();
                self.acp.end_turn(TurnEnd::Failed, sink).and(tokens(data.get("usage"), sink))
            }
            "task-error" | "error" => {
                let goes_on = data.get("terminal").bool() == Some(false);
                let words = match () {
                    () if data.exists() && data.is_null() => Cow::Borrowed(""),
                    () if data.exists() => error_words(data),
                    () => Cow::Borrowed(text),
                };
                let failed = vec![(Fact::Error, error(&words, None, None))];
                let shown = self.acp.aside("", RowKind::Error, RowState::Done, failed, "", sink);
                if goes_on { shown } else { shown.and(self.acp.end_turn(TurnEnd::Failed, sink)) }
            }
            "reply-question" => self.acp.questions_answered(data, sink),
            "permission-req" => self.acp.asked_leave(data, sink),
            "permission-resolved" => self.acp.left(data, sink),
            // A line that attaches again begins at the latest turn again.
            "cursor" if self.paged => Effect::None,
            "cursor" => show_cursor(data.get("cursor"), data.get("has_more"), sink),
            "ping"
            | "task-running"
            | "task-event"
            | "file-change"
            | "permission-resp"
            | "auto-approve"
            | "disable-auto-approve"
            | "user-stop" => Effect::None,
            _ => return None,
        }))
    }

    /// An event of the agent's.
    fn running(&mut self, kind: &str, data: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        if kind == "acp_ask_user_question" {
            return Some(self.acp.ask_questions(data, sink));
        }
        if !matches!(kind, "acp_event" | "") {
            return None;
        }
        if !data.is_object() {
            return Some(Err("data"));
        }
        let update = data.get("update");
        let update = if update.is_object() { update } else { data };
        if self.turn == Turn::Over && !self.acp.is_late(update) {
            // Nobody has said that it began.
            self.open_turn(sink);
            self.turn = Turn::Started;
        }
        self.acp.update(Value::ABSENT, update, sink)
    }

    fn open_turn(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        self.start = self.acp.places();
        self.input = None;
        sink.chunk(Chunk::TurnStart)
    }

    fn notice(&mut self, key: &str, sink: &mut dyn ChunkSink) -> Effect {
        self.acp.aside("", RowKind::Notice, RowState::Done, vec![(Fact::Message, message(key, &[]))], "", sink)
    }

    /// What the user said, with what was sent along.
    fn user_input(&mut self, data: Value<'_>, words: &str, sink: &mut dyn ChunkSink) -> Effect {
        let files: Vec<(Fact, Raw)> = data
            .get("attachments")
            .items()
            .filter_map(|file| {
                let (url, name) = (said(file, &["url"])?, said(file, &["filename", "name"]).unwrap_or_default());
                Some((Fact::Files, list_of_one(&[("url", &url), ("name", &name)])))
            })
            .collect();
        self.acp.user("", words, &files, sink)
    }
}

impl RecordDecoder for TaskStream {
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        if !self.seen.is_new(value) {
            return Outcome::NoOp;
        }
        if let Some(time) = time(value) {
            self.oldest = self.oldest.min(time);
        }
        let read = self.frame(value, sink);
        outcome(read)
    }

    fn finish(&mut self, sink: &mut dyn ChunkSink) {
        self.acp.end_asking(sink);
    }

    fn work(&self) -> u64 {
        self.acp.work()
    }

    fn restart_turn(&mut self) -> bool {
        self.seen = SeenFrames::new(SEEN_FRAMES);
        self.attached = true;
        true
    }

    fn history(&mut self, page: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        let chunks = [page, page.get("chunks"), page.get("data").get("chunks"), page.get("data"), page.get("rounds")];
        let Some(chunks) = chunks.into_iter().find(|chunks| chunks.is_array()) else {
            return Outcome::Faulted("history");
        };
        let said = |name: &str| [page, page.get("data")].into_iter().map(|place| place.get(name)).find(|v| v.exists());
        let cursor = said("next_cursor").or(said("cursor")).unwrap_or(Value::ABSENT);
        let shown = show_cursor(cursor, said("has_more").unwrap_or(Value::ABSENT), sink);
        self.paged = true;
        // Turns come newest first, and the frames of each in their order.
        let mut frames: Vec<(u64, Value<'_>)> =
            chunks.items().map(|frame| (time(frame).unwrap_or_default(), frame)).collect();
        frames.retain(|(time, _)| *time < self.oldest);
        let mut seen = SeenFrames::new(SEEN_FRAMES);
        frames.retain(|(_, frame)| seen.is_new(*frame));
        frames.sort_by_key(|(time, _)| *time);
        let Some((oldest, _)) = frames.first().copied() else { return outcome(Some(Ok(shown))) };
        self.oldest = oldest;
        let input = self.input.take();
        let present = (self.acp.begin_page(), self.turn, self.start, std::mem::take(&mut self.attached));
        let (mut effect, mut unread) = (shown, false);
        for (_, frame) in &frames {
            match self.frame(*frame, &mut Past(sink)) {
                Some(Ok(done)) => effect = effect.and(done),
                Some(Err(_)) => unread = true,
                None => {}
            }
        }
        effect = effect.and(self.acp.end_turn(TurnEnd::Failed, &mut Past(sink)));
        let (acp, turn, start, attached) = present;
        self.acp.end_page(acp);
        (self.turn, self.start, self.input, self.attached) = (turn, start, input, attached);
        if unread { Outcome::Faulted("data") } else { outcome(Some(Ok(effect))) }
    }
}

/// The words that the user said: in base64 in an object, or as they are. `plain`: the data, where they are no JSON.
fn words<'a>(data: Value<'a>, plain: &'a str) -> Cow<'a, str> {
    let content = data.get("content").str().map(JsonStr::text);
    let is_plain = said(data, &["encoding"]).is_some_and(|encoding| encoding == "plaintext");
    match (content, data.str()) {
        (Some(content), _) if is_plain => content,
        (Some(content), _) => decode_text(&content).map_or(content, Cow::Owned),
        (None, Some(text)) => text.text(),
        (None, None) if data.exists() && data.is_null() => Cow::Borrowed(""),
        (None, None) if data.get("attachments").exists() || data.is_object() && data.members().next().is_none() => {
            Cow::Borrowed("")
        }
        (None, None) => Cow::Borrowed(plain),
    }
}

/// Whether frames of this kind are of no turn.
fn is_beside_turns(kind: &str) -> bool {
    matches!(
        kind,
        "cursor" | "ping" | "file-change" | "permission-resp" | "auto-approve" | "disable-auto-approve" | "user-stop"
    )
}

/// Shows where the page before begins, and whether there is one.
fn show_cursor(cursor: Value<'_>, has_more: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let known = cursor.exists() && !cursor.is_null();
    let has_more = has_more.bool().unwrap_or(known);
    let cursor = if known { Raw::of(cursor) } else { Raw::null() };
    let mut effect = Effect::None;
    for (name, value) in [("cursor", cursor), ("hasMore", Raw::written(|json| json.bool(has_more)))] {
        effect = effect.and(sink.chunk(Chunk::Panel { panel: PanelName::Session, name, value: &value }));
    }
    effect
}

/// What the past tells of now is nothing.
struct Past<'a>(&'a mut dyn ChunkSink);

impl ChunkSink for Past<'_> {
    fn chunk(&mut self, chunk: Chunk<'_>) -> Effect {
        match chunk {
            Chunk::TurnStart | Chunk::TurnEnd | Chunk::AtWork(_) | Chunk::Panel { .. } | Chunk::Usage(_) => {
                Effect::None
            }
            chunk => self.0.chunk(chunk),
        }
    }
}

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    let kind = said(value, &["type", "event"]).unwrap_or_default();
    let is = ["user-input", "user-cancel", "reply-question", "cursor"].contains(&&*kind) || kind.starts_with("task-");
    is && (value.get("data").exists() || value.get("timestamp").exists() || kind.starts_with("task-"))
}

/// What a task's error says.
pub(crate) fn error_words(data: Value<'_>) -> Cow<'_, str> {
    said(data, &["details"]).unwrap_or_else(|| error_message(data))
}

/// A frame's time in ns: which unit it is in shows in how large it is.
fn time(frame: Value<'_>) -> Option<u64> {
    let time = frame.get("timestamp");
    let digits = time.number().map(Cow::Borrowed).or_else(|| time.str().map(JsonStr::text))?;
    let whole: u64 = digits.split('.').next()?.parse().ok().filter(|time| *time > 0)?;
    let unit = match whole {
        100_000_000_000_000_000.. => 1,
        100_000_000_000_000.. => 1_000,
        100_000_000_000.. => 1_000_000,
        _ => 1_000_000_000,
    };
    Some(whole.saturating_mul(unit))
}
