//! The Agent Client Protocol, version 1: JSON-RPC records between an editor and an agent, in one direction or both, and
//! the envelopes that adapters write them in. Each message, call and request is a block of its own; here its identity
//! is found, what is said of it is put together, and what is new is told. Facts: acp.md.

mod asks;
mod calls;
pub(super) mod panels;

use std::borrow::Cow;

use super::{Outcome, RecordDecoder, error_message};
use crate::chunk::{Block, Chunk, ChunkSink, Effect};
use crate::json::{JsonStr, JsonWriter, Raw, Value};
use crate::limits::Limits;
use crate::row::{Fact, PanelName, RowKind, RowState, error, message, said, text};
use crate::sorted::{Keyed, Sorted};
use asks::{Asked, Early, Form, Request};
use calls::Call;
use panels::tokens;

/// The decoder.
#[derive(Debug)]
pub(super) struct Acp {
    sessions: Sorted<Session>,
    /// Sessions that were told of since all messages ended last, and since a turn did: others have nothing to end.
    speaking: Vec<Box<str>>,
    living: Vec<Box<str>>,
    /// Sessions and parts of questions that were looked at beyond what a record says of them.
    work: u64,
    /// Messages with an id that have a row.
    messages: Sorted<Known>,
    /// How often a turn was repeated: what is first told of in a repeat begins there as it did before.
    pass: u32,
    calls: Sorted<Call>,
    /// Keys of calls that had not ended when they were last told of, and of some that have since.
    open: Vec<Box<str>>,
    /// Requests that have no answer yet, of both sides.
    asked: Vec<Request>,
    /// Forms that nobody has filled in.
    forms: Sorted<Form>,
    /// What the editor asks is heard too.
    hears_editor: bool,
    /// Answers whose questions have not come.
    early: Vec<Early>,
    /// The last question without an id: an answer without one is to it.
    nameless: Option<Box<str>>,
    /// Requests that are tried again: the row says so until something else comes.
    retry: Option<Box<str>>,
    /// The last compaction.
    compaction: Option<Compaction>,
    /// Options are known, which supersede the modes.
    has_options: bool,
    /// What the plan panel shows.
    plan: Option<Box<str>>,
    /// All of that plan is done.
    plan_done: bool,
    places: Places,
    /// A page of the history is read.
    page: Option<Page>,
    pages: u32,
    /// The key of the first block there is.
    first: Option<Box<str>>,
    at_work: Option<bool>,
    max_text: usize,
}

/// Blocks without an identity so far, by what they are: one that comes again is known by its place among its like.
pub(super) type Places = [u32; 4];

#[derive(Debug)]
struct Page {
    number: u32,
    /// The key of the block that all of it stands before.
    before: Option<Box<str>>,
    /// The key of the first block of it.
    first: Option<Box<str>>,
}

/// What goes on now, while a page of the history is read.
pub(super) struct Present {
    sessions: Sorted<Session>,
    speaking: Vec<Box<str>>,
    living: Vec<Box<str>>,
    open: Vec<Box<str>>,
    asked: Vec<Request>,
    forms: Sorted<Form>,
    nameless: Option<Box<str>>,
    retry: Option<Box<str>>,
    compaction: Option<Compaction>,
    places: Places,
}

/// What is known of a session.
#[derive(Debug)]
struct Session {
    id: Box<str>,
    number: usize,
    /// The key of the block inside which its rows are drawn.
    parent: Option<Box<str>>,
    /// That block is the row of the session itself, and goes on: in which pass it was told of last.
    running: Option<u32>,
    /// The message that goes on.
    last: Option<Last>,
    /// Blank text that no message has begun with yet, and of what kind.
    blank: String,
    blank_kind: RowKind,
    /// What the user was seen to send, and the agent has not repeated yet.
    prompted: String,
    /// It is among those that were told of.
    speaks: bool,
    lives: bool,
    /// The same of what is no text.
    prompted_items: Vec<(Fact, Raw)>,
}

#[derive(Debug)]
struct Last {
    key: Box<str>,
    kind: RowKind,
    id: Option<Box<str>>,
}

#[derive(Debug)]
struct Compaction {
    key: Box<str>,
    state: RowState,
    summary: String,
}

impl Keyed for Session {
    fn key(&self) -> &str {
        &self.id
    }
}

#[derive(Debug)]
struct Known {
    key: Box<str>,
    /// In which pass it was told of last.
    pass: u32,
}

impl Keyed for Known {
    fn key(&self) -> &str {
        &self.key
    }
}

/// What a record holds, whatever it is wrapped in.
enum Envelope<'a> {
    /// A notification or a request, with its id where it has one.
    Call { method: Cow<'a, str>, params: Value<'a>, id: Value<'a> },
    /// An answer to a request, of either side.
    Answer { result: Value<'a>, error: Value<'a>, id: Value<'a> },
    /// An update alone.
    Update { params: Value<'a>, update: Value<'a> },
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnEnd {
    Done,
    Cancelled,
    Failed,
}

impl TurnEnd {
    /// What becomes of calls that have not come to their end.
    fn of_calls(self) -> RowState {
        match self {
            TurnEnd::Done => RowState::Interrupted,
            TurnEnd::Cancelled => RowState::Cancelled,
            TurnEnd::Failed => RowState::Failed,
        }
    }
}

impl Acp {
    pub fn new(limits: &Limits) -> Self {
        Acp {
            sessions: Sorted::default(),
            speaking: Vec::new(),
            living: Vec::new(),
            work: 0,
            messages: Sorted::default(),
            pass: 0,
            calls: Sorted::default(),
            open: Vec::new(),
            asked: Vec::new(),
            forms: Sorted::default(),
            hears_editor: false,
            early: Vec::new(),
            nameless: None,
            retry: None,
            compaction: None,
            has_options: false,
            plan: None,
            plan_done: false,
            places: Places::default(),
            page: None,
            pages: 0,
            first: None,
            at_work: None,
            max_text: limits.text_bytes,
        }
    }

    /// Reads a record. None: it is of no known kind.
    fn read(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Option<Result<Effect, &'static str>> {
        match envelope(value)? {
            Envelope::Update { params, update } => self.update(params, update, sink),
            Envelope::Answer { result, error, id } => Some(Ok(self.answer(result, error, id, sink))),
            Envelope::Call { method, params, id } => self.call(&method, params, id, sink),
        }
    }

    fn call(
        &mut self,
        method: &str,
        params: Value<'_>,
        id: Value<'_>,
        sink: &mut dyn ChunkSink,
    ) -> Option<Result<Effect, &'static str>> {
        let asked = match method {
            "session/prompt" => Asked::Prompt,
            "session/new" | "session/load" | "session/resume" => Asked::Session,
            "session/request_permission" => Asked::Agent,
            "initialize" | "authenticate" => Asked::Editor,
            _ if method.starts_with("session/set_") => Asked::Editor,
            _ => Asked::Agent,
        };
        self.note_request(id, asked);
        Some(Ok(match method {
            "session/update" | "sessionUpdate" => return self.update(params, params.get("update"), sink),
            "session/request_permission" | "requestPermission" => return Some(self.ask_permission(params, id, sink)),
            "elicitation/create" | "createElicitation" => self.elicit(params, id, sink),
            "elicitation/complete" | "completeElicitation" => self.elicited(params, sink),
            "session/prompt" | "prompt" => self.prompted(params, sink),
            "session/cancel" | "cancel" => self.end_turn(TurnEnd::Cancelled, sink),
            "promptResponse" => self.prompt_ended(params, sink),
            "initialize" | "authenticate" | "session/new" | "session/load" | "session/resume" | "$/cancel_request" => {
                Effect::None
            }
            "newSessionResponse" | "loadSessionResponse" => self.session_opened(params, sink),
            // The editor's own work: what comes of it is told by the calls that asked for it.
            _ if ["fs/", "terminal/", "session/set_"].iter().any(|room| method.starts_with(room)) => Effect::None,
            _ => return None,
        }))
    }

    /// What came of a request of either side: both count their own, and what it says tells whose it was, or else which
    /// was the last of this id.
    fn answer(&mut self, result: Value<'_>, failed: Value<'_>, id: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        if result.get("outcome").is_object() || result.get("action").str().is_some() {
            return self.answered(result, id, sink);
        }
        let asked = self.take_request(id, |_| true).map(|request| request.asked);
        if failed.is_object() {
            let of_editor = !matches!(asked, None | Some(Asked::Prompt | Asked::Session | Asked::Editor));
            let ended = match asked {
                // The agent has its answer, and makes of it what it can.
                Some(asked) if of_editor && self.hears_editor => return self.settle(asked, failed, sink),
                Some(Asked::Session | Asked::Editor) => Effect::None,
                _ => self.end_turn(TurnEnd::Done, sink),
            };
            let code = failed.get("code").number();
            let error = error(&error_message(failed), code, None);
            return ended.and(self.aside("", RowKind::Error, RowState::Done, vec![(Fact::Error, error)], "", sink));
        }
        match asked {
            _ if result.get("stopReason").str().is_some() => self.prompt_ended(result, sink),
            Some(Asked::Prompt) => self.prompt_ended(result, sink),
            Some(Asked::Session) => self.session_opened(result, sink),
            _ if result.get("modes").is_object() || result.get("sessionId").str().is_some() => {
                self.session_opened(result, sink)
            }
            _ => self.read_modes(result, sink),
        }
    }

    /// A session was opened, and its history told: nothing of it goes on.
    fn session_opened(&mut self, result: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let modes = self.read_modes(result, sink);
        modes.and(self.end_turn(TurnEnd::Done, sink))
    }

    pub fn update(
        &mut self,
        params: Value<'_>,
        update: Value<'_>,
        sink: &mut dyn ChunkSink,
    ) -> Option<Result<Effect, &'static str>> {
        let session = text(params.get("sessionId"));
        let kind = said(update, &["sessionUpdate", "type"])?;
        let is_retry = kind == "llm_call_retry";
        let effect = match &*kind {
            "user_message_chunk" => self.say(&session, RowKind::User, update, sink),
            "agent_message_chunk" => self.say(&session, RowKind::Text, update, sink),
            "agent_thought_chunk" => self.say(&session, RowKind::Reasoning, update, sink),
            "tool_call" | "tool_call_update" => match self.patch_call(&session, update, sink) {
                Ok(effect) => effect,
                wrong => return Some(wrong),
            },
            "notice" => self.notice(&session, update, sink),
            "compaction_update" | "compact_status" => self.compaction(&session, update, sink),
            "compaction_summary_chunk" => self.compaction_summary(&session, update, sink),
            "subagent_spawned" => self.spawned(&session, update, sink),
            "subagent_state_update" => self.spawned_state(update, sink),
            "llm_call_retry" => self.retry(&session, update, sink),
            "task_notification" => {
                let words = said(update, &["message", "text", "summary", "title"]).unwrap_or_default();
                self.aside(&session, RowKind::Notice, RowState::Done, Vec::new(), &words, sink)
            }
            "think_update" => Effect::None,
            kind => return self.panel(kind, update, sink).map(Ok),
        };
        // Something comes again.
        let over = if is_retry { Effect::None } else { self.end_retry(RowState::Done, sink) };
        Some(Ok(over.and(effect)))
    }

    /// Whether an update says more of a call that is known, or of what is shown beside the rows: it may come when its
    /// turn is over.
    pub fn is_late(&mut self, update: Value<'_>) -> bool {
        match &*said(update, &["sessionUpdate", "type"]).unwrap_or_default() {
            "tool_call" | "tool_call_update" => calls::call_id(update).is_some_and(|id| {
                let key = self.call_key("", &id);
                self.calls.get(&key).is_some()
            }),
            "plan" | "usage_update" | "available_commands_update" | "session_info_update" => true,
            _ => false,
        }
    }

    /// The session of this id.
    fn session(&mut self, id: &str) -> &mut Session {
        let number = self.sessions.len();
        let session = self.sessions.get_or_insert(id, || Session {
            id: id.into(),
            number,
            parent: None,
            running: None,
            last: None,
            blank: String::new(),
            blank_kind: RowKind::Text,
            prompted: String::new(),
            prompted_items: Vec::new(),
            speaks: false,
            lives: false,
        });
        for (is_listed, list) in [(&mut session.speaks, &mut self.speaking), (&mut session.lives, &mut self.living)] {
            if !std::mem::replace(is_listed, true) {
                list.push(id.into());
            }
        }
        session
    }

    /// The key of a block: in which session it is, of what kind, and who.
    fn key(&self, session: usize, kind: char, id: &str) -> String {
        let mut key = String::new();
        if let Some(page) = &self.page {
            key = [&page.number.to_string(), "h"].concat();
        }
        key.push_str(&session.to_string());
        key.push(kind);
        key.push_str(id);
        key
    }

    /// The key of a block that is known by its place among those of its kind.
    fn place(&mut self, kind: RowKind) -> String {
        let (place, letter) = match kind {
            RowKind::User => (0, "u"),
            RowKind::Text => (1, "m"),
            RowKind::Reasoning => (2, "r"),
            _ => (3, "x"),
        };
        self.places[place] += 1;
        self.key(0, '#', &[letter, &self.places[place].to_string()].concat())
    }

    fn tell(&mut self, key: &str, block: &Block<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let before = self.before(key);
        sink.chunk(Chunk::Block { key, before: before.as_deref(), block })
    }

    /// The key of the block that a new one stands before.
    fn before(&mut self, key: &str) -> Option<Box<str>> {
        match &mut self.page {
            Some(page) => {
                page.first.get_or_insert_with(|| key.into());
                page.before.clone()
            }
            None => {
                self.first.get_or_insert_with(|| key.into());
                None
            }
        }
    }

    /// What comes now is a page of the history: it stands before all that is there. Answers with what goes on
    /// meanwhile.
    pub fn begin_page(&mut self) -> Present {
        self.pages += 1;
        self.page = Some(Page { number: self.pages, before: self.first.clone(), first: None });
        Present {
            sessions: std::mem::take(&mut self.sessions),
            speaking: std::mem::take(&mut self.speaking),
            living: std::mem::take(&mut self.living),
            open: std::mem::take(&mut self.open),
            asked: std::mem::take(&mut self.asked),
            forms: std::mem::take(&mut self.forms),
            nameless: self.nameless.take(),
            retry: self.retry.take(),
            compaction: self.compaction.take(),
            places: std::mem::take(&mut self.places),
        }
    }

    /// The page is read.
    pub fn end_page(&mut self, present: Present) {
        let Present { sessions, speaking, living, open, asked, forms, nameless, retry, compaction, places } = present;
        (self.sessions, self.open, self.asked, self.forms) = (sessions, open, asked, forms);
        (self.speaking, self.living) = (speaking, living);
        (self.nameless, self.retry, self.compaction, self.places) = (nameless, retry, compaction, places);
        if let Some(first) = self.page.take().and_then(|page| page.first) {
            self.first = Some(first);
        }
    }

    /// What the user said, with what is no text of it.
    pub fn user(&mut self, session: &str, words: &str, items: &[(Fact, Raw)], sink: &mut dyn ChunkSink) -> Effect {
        let key = self.place(RowKind::User);
        let ended = self.end_messages(RowState::Done, sink);
        let mut effect = ended.and(self.row(session, &key, RowKind::User, RowState::Done, Vec::new(), words, sink));
        for (list, item) in items {
            effect = effect.and(sink.chunk(Chunk::BlockItem { key: &key, list: *list, item }));
        }
        effect
    }

    /// A turn begins: a plan that is done is of the one before.
    pub fn begin_turn(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let cleared = if self.page.is_none() && std::mem::take(&mut self.plan_done) {
            sink.chunk(Chunk::Panel { panel: PanelName::Plan, name: "entries", value: &Raw::null() })
        } else {
            Effect::None
        };
        cleared.and(self.set_at_work(true, sink))
    }

    /// How many blocks of each kind there are that have no identity.
    pub fn places(&self) -> Places {
        self.places
    }

    fn set_at_work(&mut self, at_work: bool, sink: &mut dyn ChunkSink) -> Effect {
        if self.page.is_some() || self.at_work.replace(at_work) == Some(at_work) {
            return Effect::None;
        }
        sink.chunk(Chunk::AtWork(at_work))
    }

    /// The message that goes on in a session has ended.
    fn end_message(&mut self, session: &str, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let known = self.session(session);
        known.blank.clear();
        match known.last.take() {
            Some(last) => sink.chunk(Chunk::BlockEnd { key: &last.key, state }),
            None => Effect::None,
        }
    }

    fn end_messages(&mut self, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for id in std::mem::take(&mut self.speaking) {
            self.work += 1;
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            session.speaks = false;
            session.blank.clear();
            if let Some(last) = session.last.take() {
                effect = effect.and(sink.chunk(Chunk::BlockEnd { key: &last.key, state }));
            }
        }
        effect
    }

    /// A piece of a message.
    fn say(&mut self, session: &str, kind: RowKind, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let content = update.get("content");
        let text = update.get("text").str().map(JsonStr::text).or_else(|| content_text(content));
        let item = media(content);
        let mut text = text.unwrap_or_default();
        if text.is_empty() && item.is_none() {
            return Effect::None;
        }
        let parent = self.parent_of(update);
        let known = self.session(session);
        if kind == RowKind::User && !text.is_empty() && known.prompted.starts_with(&*text) {
            known.prompted.drain(..text.len());
            return Effect::None;
        }
        if kind == RowKind::User && text.is_empty() {
            let place = known.prompted_items.iter().position(|prompted| item.as_ref() == Some(prompted));
            if let Some(place) = place {
                known.prompted_items.remove(place);
                return Effect::None;
            }
        }
        let id = said(update, &["messageId"]);
        let goes_on = |last: &&Last| last.kind == kind && id.as_deref().is_none_or(|id| last.id.as_deref() == Some(id));
        let last = known.last.as_ref().filter(goes_on).map(|last| last.key.clone());
        if std::mem::replace(&mut known.blank_kind, kind) != kind {
            known.blank.clear();
        }
        // Blank text alone is no message, and what no agent says.
        if last.is_none() && item.is_none() && kind != RowKind::User {
            let begins = kind == RowKind::Text && text == "(no content)";
            if text.trim().is_empty() && known.blank.len() < self.max_text {
                self.session(session).blank.push_str(&text);
                return Effect::None;
            } else if begins {
                return Effect::None;
            }
        }
        let blank = std::mem::take(&mut self.session(session).blank);
        if !blank.is_empty() {
            text = Cow::Owned(blank + &text);
        }
        let at_work = if kind == RowKind::User { Effect::None } else { self.set_at_work(true, sink) };
        let (key, effect) = match last {
            Some(key) => (key, self.go_on(&text, sink, session)),
            None => self.begin(session, kind, id.as_deref(), &text, parent.as_deref(), sink),
        };
        let shown =
            item.map_or(Effect::None, |(list, item)| sink.chunk(Chunk::BlockItem { key: &key, list, item: &item }));
        at_work.and(effect).and(shown)
    }

    /// The last message of a session goes on.
    fn go_on(&mut self, text: &str, sink: &mut dyn ChunkSink, session: &str) -> Effect {
        match &self.session(session).last {
            Some(last) if !text.is_empty() => sink.chunk(Chunk::BlockText { key: &last.key, text }),
            _ => Effect::None,
        }
    }

    /// A message begins, or one that has a row goes on where it is.
    fn begin(
        &mut self,
        session: &str,
        kind: RowKind,
        id: Option<&str>,
        text: &str,
        parent: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> (Box<str>, Effect) {
        let (number, drawn_in) = (self.session(session).number, self.session(session).parent.clone());
        let letter = match kind {
            RowKind::User => 'u',
            RowKind::Reasoning => 'r',
            _ => 'm',
        };
        let key: Box<str> = match id {
            Some(id) => self.key(number, letter, id),
            None => self.place(kind),
        }
        .into();
        if id.is_some() {
            let pass = self.pass;
            let mut is_new = false;
            let known = self.messages.get_or_insert(&key, || {
                is_new = true;
                Known { key: key.clone(), pass }
            });
            if std::mem::replace(&mut known.pass, pass) == pass && !is_new {
                return (key.clone(), sink.chunk(Chunk::BlockText { key: &key, text }));
            }
        }
        let ended = self.end_message(session, RowState::Done, sink);
        self.session(session).last = Some(Last { key: key.clone(), kind, id: id.map(Box::from) });
        let mut block = Block::new(kind, if kind == RowKind::User { RowState::Done } else { RowState::Streaming });
        block.partial = true;
        block.text = Cow::Borrowed(text);
        block.parent = parent.or(drawn_in.as_deref());
        block.known_as =
            Some(id.map(|id| identity(session, number, &[kind.name(), ":", id].concat())).unwrap_or_default());
        let shown = self.tell(&key, &block, sink);
        (key, ended.and(shown))
    }

    /// A row that is no more than this, and does not go on.
    pub fn aside(
        &mut self,
        session: &str,
        kind: RowKind,
        state: RowState,
        facts: Vec<(Fact, Raw)>,
        text: &str,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let key = self.place(kind);
        let ended = self.end_message(session, RowState::Done, sink);
        ended.and(self.row(session, &key, kind, state, facts, text, sink))
    }

    #[expect(clippy::too_many_arguments, reason = "a row as it is")]
    fn row(
        &mut self,
        session: &str,
        key: &str,
        kind: RowKind,
        state: RowState,
        facts: Vec<(Fact, Raw)>,
        text: &str,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let parent = self.session(session).parent.clone();
        let mut block = Block::new(kind, state);
        block.facts = facts;
        block.text = Cow::Borrowed(text);
        block.parent = parent.as_deref();
        block.known_as = Some(Box::default());
        self.tell(key, &block, sink)
    }

    /// The user's words were seen on their way: the agent may repeat them.
    fn prompted(&mut self, params: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let session = text(params.get("sessionId"));
        let mut whole = String::new();
        let mut items = Vec::new();
        for content in params.get("prompt").items() {
            whole.extend(content_text(content));
            items.extend(media(content));
        }
        let shown = match whole.is_empty() && items.is_empty() {
            true => self.end_messages(RowState::Done, sink),
            false => self.user(&session, &whole, &items, sink),
        };
        let known = self.session(&session);
        (known.prompted, known.prompted_items) = (whole, items);
        shown.and(self.set_at_work(true, sink))
    }

    /// The answer to a prompt: the turn is over.
    fn prompt_ended(&mut self, result: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let reason = text(result.get("stopReason"));
        let used = tokens(result.get("usage"), sink);
        let ended = self.end_turn(if reason == "cancelled" { TurnEnd::Cancelled } else { TurnEnd::Done }, sink);
        let key = match &*reason {
            "max_tokens" => "finish.length",
            "max_turn_requests" => "finish.turns",
            "refusal" => "finish.refusal",
            _ => return used.and(ended),
        };
        let words = vec![(Fact::Message, message(key, &[]))];
        used.and(ended).and(self.aside("", RowKind::Notice, RowState::Done, words, "", sink))
    }

    /// Nothing more comes of this turn, but for late updates of its calls.
    pub fn end_turn(&mut self, end: TurnEnd, sink: &mut dyn ChunkSink) -> Effect {
        let said = if end == TurnEnd::Cancelled { RowState::Cancelled } else { RowState::Done };
        let mut effect = self.end_messages(said, sink).and(self.end_retry(RowState::Cancelled, sink));
        effect = effect.and(self.expire(sink));
        let pass = self.pass;
        for key in std::mem::take(&mut self.open) {
            match self.calls.get_mut(&key) {
                // A repeat has not come to it: it began after what ends now.
                Some(call) if call.pass() != pass => self.open.push(key),
                Some(call) => effect = effect.and(call.end(end.of_calls(), sink)),
                None => {}
            }
        }
        if let Some(last) = self.compaction.as_mut().filter(|last| last.state == RowState::Running) {
            last.state = end.of_calls();
            effect = effect.and(sink.chunk(Chunk::BlockState { key: &last.key, state: last.state }));
        }
        for id in std::mem::take(&mut self.living) {
            self.work += 1;
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            session.lives = false;
            session.prompted.clear();
            session.prompted_items.clear();
            let ends = session.running.take_if(|told| *told == pass).is_some();
            if let Some(key) = session.parent.as_deref().filter(|_| ends) {
                effect = effect.and(sink.chunk(Chunk::BlockState { key, state: end.of_calls() }));
            }
        }
        effect.and(self.set_at_work(false, sink)).and(sink.chunk(Chunk::TurnEnd))
    }

    /// All that goes on was told of in this pass, or never will be.
    pub fn catch_up(&mut self) {
        let pass = self.pass;
        for key in &self.open {
            if let Some(call) = self.calls.get_mut(key) {
                call.catch_up(pass);
            }
        }
        self.asked.iter_mut().for_each(|request| request.pass = pass);
        for session in self.sessions.iter_mut() {
            session.running = session.running.map(|_| pass);
        }
    }

    /// A later turn has begun before this one was seen to end. What was told of it stays as it is.
    pub fn leave_turn(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for session in self.sessions.iter_mut() {
            if let Some(last) = session.last.take() {
                // Its text is not said to be whole.
                effect = effect.and(sink.chunk(Chunk::BlockState { key: &last.key, state: RowState::Interrupted }));
            }
        }
        self.catch_up();
        effect.and(self.end_turn(TurnEnd::Done, sink))
    }

    /// Nothing more comes, and nothing can be sent: nobody is asked any more.
    pub fn end_asking(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        self.catch_up();
        let mut effect = self.expire(sink);
        for key in &self.open {
            if let Some(call) = self.calls.get_mut(key).filter(|call| call.is_question()) {
                effect = effect.and(call.end(RowState::Expired, sink));
            }
        }
        effect
    }

    fn notice(&mut self, session: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let title = text(update.get("title"));
        let words = match text(update.get("description")) {
            more if more.is_empty() => title,
            more => Cow::Owned([&title, "\n", &more].concat()),
        };
        if text(update.get("severity")) == "error" {
            let failed = vec![(Fact::Error, error(&words, None, None))];
            return self.aside(session, RowKind::Error, RowState::Done, failed, "", sink);
        }
        self.aside(session, RowKind::Notice, RowState::Done, Vec::new(), &words, sink)
    }

    fn compaction(&mut self, session: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let state = match &*text(update.get("status")) {
            "in_progress" | "started" => RowState::Running,
            "failed" => RowState::Failed,
            "cancelled" => RowState::Cancelled,
            _ => RowState::Done,
        };
        // One without an id goes on until it ends.
        let key = match (said(update, &["compactionId"]), &self.compaction) {
            (Some(id), _) => self.key(0, 'c', &id),
            (None, Some(last)) if last.state == RowState::Running => last.key.to_string(),
            (None, _) => self.place(RowKind::Compaction),
        };
        let mut facts = vec![(
            Fact::Message,
            message(if state == RowState::Running { "say.condensing" } else { "say.condense" }, &[]),
        )];
        if let Some(words) = said(update, &["error", "message"]) {
            facts.push((Fact::Error, error(&words, None, None)));
        }
        let ended = self.end_message(session, RowState::Done, sink);
        let known = self.compaction.take().filter(|last| *last.key == *key).map(|last| last.summary);
        let summary = content_text(update.get("summary")).map(Cow::into_owned).or(known).unwrap_or_default();
        let shown = self.row(session, &key, RowKind::Compaction, state, facts, &summary, sink);
        self.compaction = Some(Compaction { key: key.into(), state, summary });
        ended.and(shown)
    }

    /// A piece of what is left of the conversation: it may be the first that is heard of the compaction.
    fn compaction_summary(&mut self, session: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let key = self.key(0, 'c', &text(update.get("compactionId")));
        let mut begun = Effect::None;
        if self.compaction.as_ref().is_none_or(|last| *last.key != *key) {
            let facts = vec![(Fact::Message, message("say.condensing", &[]))];
            begun = self.row(session, &key, RowKind::Compaction, RowState::Running, facts, "", sink);
            let compaction = Compaction { key: key.as_str().into(), state: RowState::Running, summary: String::new() };
            self.compaction = Some(compaction);
        }
        let text = content_text(update.get("content")).unwrap_or_default();
        if let Some(last) = self.compaction.as_mut().filter(|last| last.summary.len() <= self.max_text) {
            last.summary.push_str(&text);
        }
        begun.and(sink.chunk(Chunk::BlockText { key: &key, text: &text }))
    }

    fn retry(&mut self, session: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let attempt = update.get("attempt").number().unwrap_or("");
        let words = match attempt {
            "" => message("say.retrying", &[]),
            attempt => message("say.retryAttempt", &[("attempt", attempt)]),
        };
        let mut facts = vec![(Fact::Message, words)];
        if let Some(words) = said(update, &["message", "error"]) {
            facts.push((Fact::Error, error(&words, None, Some(true))));
        }
        let key = match &self.retry {
            Some(key) => key.clone(),
            None => self.place(RowKind::Retry).into(),
        };
        let ended = self.end_message(session, RowState::Done, sink);
        self.retry = Some(key.clone());
        let shown = self.row(session, &key, RowKind::Retry, RowState::Running, facts, "", sink);
        ended.and(shown).and(self.set_at_work(true, sink))
    }

    fn end_retry(&mut self, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        match self.retry.take() {
            Some(key) => sink.chunk(Chunk::BlockState { key: &key, state }),
            None => Effect::None,
        }
    }

    /// The key of the call inside which an update's row is drawn.
    fn parent_of(&mut self, update: Value<'_>) -> Option<String> {
        let id = said(update.get("_meta").get("claudeCode"), &["parentToolUseId"])?;
        let key = self.key(0, 't', &id);
        self.calls.get(&key).is_some().then_some(key)
    }

    /// What is to come repeats a turn, of which `places` blocks without an identity were before it.
    pub fn restart_turn(&mut self, places: Places) {
        self.places = places;
        self.pass += 1;
        (self.retry, self.compaction) = (None, None);
        for session in self.sessions.iter_mut() {
            session.last = None;
            session.blank.clear();
        }
    }
}

impl RecordDecoder for Acp {
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        if self.at_work.is_none() {
            self.set_at_work(false, sink);
        }
        outcome(self.read(value, sink))
    }

    fn finish(&mut self, _sink: &mut dyn ChunkSink) {}

    fn work(&self) -> u64 {
        self.work
    }
}

/// What became of a record by what it did.
pub(super) fn outcome(read: Option<Result<Effect, &'static str>>) -> Outcome {
    match read {
        None => Outcome::Skipped,
        Some(Err(reason)) => Outcome::Faulted(reason),
        Some(Ok(effect)) => effect.into(),
    }
}

fn envelope(value: Value<'_>) -> Option<Envelope<'_>> {
    let (params, id) = (value.get("params"), value.get("id"));
    if let Some(method) = value.get("method").str() {
        let first = value.get("args").at(0);
        let params = if params.exists() { params } else { first };
        return Some(Envelope::Call { method: method.text(), params, id });
    }
    if let Some(method) = value.get("kind").str().filter(|_| value.get("payload").exists()) {
        return Some(Envelope::Call { method: method.text(), params: value.get("payload"), id });
    }
    let (result, error) = (value.get("result"), value.get("error"));
    if id.exists() && (result.exists() || error.exists()) {
        return Some(Envelope::Answer { result, error, id });
    }
    let update = value.get("update");
    match () {
        () if update.is_object() => Some(Envelope::Update { params: value, update }),
        () if said(value, &["sessionUpdate", "type"]).is_some() => {
            Some(Envelope::Update { params: value, update: value })
        }
        () => None,
    }
}

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    let is = |value: Value<'_>| value.get("update").get("sessionUpdate").str().is_some();
    value.get("jsonrpc").str().is_some_and(|version| version.raw() == "2.0")
        || is(value)
        || is(value.get("args").at(0))
        || value.get("sessionUpdate").str().is_some()
        || value.get("payload").is_object() && value.get("kind").str().is_some()
}

/// What another stream may name a block by.
fn identity(session: &str, number: usize, id: &str) -> Box<str> {
    if number == 0 { id.into() } else { [session, "/", id].concat().into() }
}

/// The text of a content block, or of a bare string.
fn content_text(content: Value<'_>) -> Option<Cow<'_, str>> {
    if let Some(text) = content.str() {
        return Some(text.text());
    }
    let kind = content.get("type");
    let is_text = !kind.exists() || kind.str().is_some_and(|kind| kind.raw() == "text");
    content.get("text").str().filter(|_| is_text).map(JsonStr::text)
}

/// What a content block is that is no text: an array of one item, for one of a row's lists.
fn media(content: Value<'_>) -> Option<(Fact, Raw)> {
    let kind = text(content.get("type"));
    let resource = content.get("resource");
    let of = if kind == "resource" { resource } else { content };
    let mime = text(of.get("mimeType"));
    let (list, url) = match &*kind {
        "image" | "audio" => {
            let data = content.get("data").str()?;
            let list = if kind == "image" { Fact::Images } else { Fact::Files };
            (list, Cow::Owned(["data:", &mime, ";base64,", data.raw()].concat()))
        }
        "resource_link" | "resource" => (Fact::Files, said(of, &["uri"])?),
        _ => return None,
    };
    let name = said(of, &["title", "name"]).or_else(|| (list == Fact::Files && kind != "audio").then(|| url.clone()));
    let item = |json: &mut JsonWriter| {
        json.object(|json| {
            for (name, value) in [("name", name.as_deref()), ("url", Some(&*url)), ("mediaType", Some(&*mime))] {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    json.key(name).string(value);
                }
            }
        });
    };
    Some((list, Raw::written(|json| json.array(item))))
}
