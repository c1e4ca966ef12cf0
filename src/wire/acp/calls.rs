//! Tool calls: updates in any order are put together, each as far as it says something, and only what is new is told.

use std::borrow::Cow;

use super::asks::{Question, names_question};
use super::{Acp, identity, media, text};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, ToolBlock};
use crate::json::{JsonStr, JsonWriter, Raw, Value};
use crate::row::{Fact, RowKind, RowState, is_answered, list_of_one, said};
use crate::sorted::Keyed;
use crate::text::common_prefix;

/// A call as far as it is known.
#[derive(Debug)]
pub(super) struct Call {
    key: Box<str>,
    id: Box<str>,
    identity: Box<str>,
    /// The key of the block inside which it is drawn.
    parent: Option<Box<str>>,
    name: String,
    title: String,
    work: Option<&'static str>,
    state: RowState,
    input: Option<Box<str>>,
    output: Output,
    content: Content,
    /// What the user is asked before it runs.
    permission: Option<Raw>,
    /// What it asks the user: it is a question then.
    question: Option<Box<Question>>,
    /// It is among those that the end of the turn ends.
    is_open: bool,
    told: bool,
    /// In which pass it was told of last.
    pass: u32,
    /// What it gave back was told as an error.
    is_error: bool,
}

impl Keyed for Call {
    fn key(&self) -> &str {
        &self.key
    }
}

/// What a call gave back.
#[derive(Debug, Default)]
struct Output {
    text: String,
    /// Bytes of it that were told.
    told: usize,
    /// Where the next piece of it belongs: at the end, or in a repeat, where that has come to.
    at: usize,
    /// It is what a terminal showed, and what else is said of it says the same.
    is_terminal: bool,
    /// Something was said of it.
    said: bool,
}

/// What a call shows beside its output.
#[derive(Debug, Default)]
struct Content {
    items: Vec<Item>,
    images: Option<Raw>,
    files: Option<Raw>,
    locations: Option<Raw>,
    exit: Option<Raw>,
    /// A change to files that the output describes.
    patch: Option<Raw>,
    /// The items are nothing but this text.
    text: Option<String>,
    terminal: bool,
    /// How the items were last told: see [`Call::view`].
    view: (bool, bool),
}

#[derive(Debug)]
struct Item {
    json: Raw,
    is_terminal: bool,
}

/// What an update has changed.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Names that were compared to find what is new: the measure of work.
    pub work: u64,
    facts: Vec<Fact>,
    input: bool,
    output: bool,
    other: bool,
    state: bool,
}

impl News {
    pub fn fact(&mut self, fact: Fact) {
        if !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }
}

const WORK: [&str; 10] =
    ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];

impl Acp {
    /// A call begins, or more is said of it: any update may be the first.
    pub(super) fn patch_call(
        &mut self,
        session: &str,
        update: Value<'_>,
        sink: &mut dyn ChunkSink,
    ) -> Result<Effect, &'static str> {
        let flat = said(update, &["tool_name"]);
        let id = call_id(update);
        let key = match &id {
            Some(id) => self.call_key(session, id),
            // More is said of a call, but not of which.
            None if text(update.get("type")) == "tool_call_update" => return Ok(Effect::None),
            // Without an id each is a call of its own.
            None if flat.is_some() => self.place(RowKind::Tool),
            None => return Err("tool-call-id"),
        };
        let known = self.calls.get(&key).is_some();
        let begun = self.begin_call(session, &key, update, &id.unwrap_or_default(), sink);
        let mut news = News::default();
        let Some(call) = self.calls.get_mut(&key) else { return Ok(begun) };
        call.patch(update, self.max_text, &mut news);
        if flat.is_some() && update.get("status").is_null() {
            // No more is ever said of it.
            news.state |= std::mem::replace(&mut call.state, RowState::Done) != RowState::Done;
        }
        call.note_question(update, &mut news);
        if call.is_question()
            && let Some(place) = self.early.iter().position(|early| early.is_for(&key))
        {
            self.early.swap_remove(place).apply(call, &mut news);
        }
        let state = call.state;
        let ended = call.is_over();
        if known && call.state != RowState::Pending && call.permission.is_some() && news.state {
            // It went on, whoever allowed it.
            call.settle(&mut news);
        }
        if !ended && !std::mem::replace(&mut call.is_open, true) {
            self.open.push(key.as_str().into());
        }
        let works = if known || state != RowState::Running { Effect::None } else { self.set_at_work(true, sink) };
        Ok(begun.and(works).and(self.tell_call(&key, news, sink)))
    }

    pub(super) fn call_key(&mut self, session: &str, id: &str) -> String {
        let number = self.session(session).number;
        self.key(number, 't', id)
    }

    /// A call is first told of, if it is: what went on before it has ended.
    pub(super) fn begin_call(
        &mut self,
        session: &str,
        key: &str,
        update: Value<'_>,
        id: &str,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let pass = self.pass;
        if let Some(call) = self.calls.get_mut(key) {
            if std::mem::replace(&mut call.pass, pass) == pass {
                return Effect::None;
            }
            call.output.at = 0;
        }
        let ended = self.end_message(session, RowState::Done, sink);
        let parent = self.parent_of(update).map(Box::from);
        let known = self.session(session);
        let parent = parent.or_else(|| known.parent.clone());
        let identity = if id.is_empty() { Box::default() } else { identity(session, known.number, id) };
        self.calls.get_or_insert(key, || Call {
            key: key.into(),
            id: id.into(),
            identity,
            parent,
            name: String::new(),
            title: String::new(),
            work: None,
            state: RowState::Pending,
            input: None,
            output: Output::default(),
            content: Content::default(),
            permission: None,
            question: None,
            is_open: false,
            told: false,
            pass,
            is_error: false,
        });
        ended
    }

    /// A call goes on until it is said to have ended, or its turn has.
    pub(super) fn open_call(&mut self, key: &str) {
        if self.calls.get_mut(key).is_some_and(|call| !std::mem::replace(&mut call.is_open, true)) {
            self.open.push(key.into());
        }
    }

    /// Tells what is new of a call.
    pub(super) fn tell_call(&mut self, key: &str, news: News, sink: &mut dyn ChunkSink) -> Effect {
        self.work += news.work;
        let before = self.before(key);
        self.calls.get_mut(key).map_or(Effect::None, |call| call.tell(before.as_deref(), news, sink))
    }

    /// A session that works for a call, or for nobody that is known.
    pub(super) fn spawned(&mut self, session: &str, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(update, &["subagentSessionId"]) else { return Effect::None };
        let key = self.key(0, 's', &id);
        let ended = self.end_message(session, RowState::Done, sink);
        let (name, task) = (text(update.get("name")), said(update, &["task"]));
        let parent = self.session(session).parent.clone();
        let mut block = Block::new(RowKind::Tool, RowState::Running);
        block.parent = parent.as_deref();
        block.known_as = Some((&*id).into());
        block.facts.push((Fact::Work, word("subagent")));
        block.facts.extend(task.map(|task| (Fact::Title, word(&task))));
        block.tool = Some(ToolBlock { name, is_remote: true, ..ToolBlock::default() });
        let pass = self.pass;
        let spawned = self.session(&id);
        (spawned.parent, spawned.running) = (Some(key.as_str().into()), Some(pass));
        ended.and(self.tell(&key, &block, sink))
    }

    pub(super) fn spawned_state(&mut self, update: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(update, &["subagentSessionId"]) else { return Effect::None };
        let key = self.key(0, 's', &id);
        let state = state_named(&text(update.get("state"))).unwrap_or(RowState::Running);
        let pass = self.pass;
        self.session(&id).running = (state == RowState::Running).then_some(pass);
        let ended = match state {
            RowState::Running => Effect::None,
            _ => self.end_message(&id, RowState::Done, sink),
        };
        ended.and(sink.chunk(Chunk::BlockState { key: &key, state }))
    }
}

impl Call {
    /// Takes over what an update says: what is absent, null or of another type says nothing.
    fn patch(&mut self, update: Value<'_>, max: usize, news: &mut News) {
        let meta = update.get("_meta");
        let named = said(update, &["name", "tool_name"]).or_else(|| said(meta.get("claudeCode"), &["toolName"]));
        for (known, now, fact) in
            [(&mut self.name, named, None), (&mut self.title, said(update, &["title"]), Some(Fact::Title))]
        {
            if let Some(now) = now.filter(|now| **now != **known) {
                *known = now.into_owned();
                match fact {
                    Some(fact) => news.fact(fact),
                    None => news.other = true,
                }
            }
        }
        if let Some(work) = update.get("kind").str() {
            let work = WORK.iter().find(|known| **known == work.raw()).copied().unwrap_or("other");
            if self.work.replace(work) != Some(work) {
                news.fact(Fact::Work);
            }
        }
        if let Some(now) = state_named(&text(update.get("status"))) {
            // What has ended does not begin again, and what was cancelled stays so.
            let over = self.is_over() && self.state != RowState::Interrupted;
            let goes_back = over && (now == RowState::Pending || now == RowState::Running);
            if now != self.state && !goes_back && self.state != RowState::Cancelled {
                (self.state, news.state) = (now, true);
            }
        }
        let input = [update.get("rawInput"), update.get("tool_input")].into_iter().find(|input| !input.is_null());
        if let Some(input) = input.map(Value::raw).filter(|input| self.input.as_deref() != Some(*input)) {
            (self.input, news.input) = (Some(input.into()), true);
        }
        self.patch_content(update, news);
        self.patch_output(update, max, news);
        let progress = update.get("progress");
        if let Some(more) = said(progress, &["text", "data", "output", "message"]) {
            self.append_output(&more, max, news);
        }
        let view = self.view();
        if std::mem::replace(&mut self.content.view, view) != view {
            news.fact(Fact::Content);
        }
        if let Some(locations) = Some(update.get("locations")).filter(|locations| locations.is_array()) {
            let there = locations.items().filter(|place| said(*place, &["path"]).is_some());
            let places = list(there.map(|place| {
                Raw::written(|json| {
                    json.object(|json| {
                        json.key("path").string(&text(place.get("path")));
                        if let Some(line) = place.get("line").u64() {
                            json.key("line").number(line);
                        }
                    });
                })
            }));
            self.content.locations = places;
            news.fact(Fact::Locations);
        }
        let exit = meta.get("terminal_exit");
        let output = update.get("rawOutput");
        let code = [exit.get("exit_code"), output.get("exit_code"), output.get("exitCode")];
        if let Some(code) = code.iter().find_map(|code| code.number()) {
            let exit = Raw::written(|json| json.object(|json| json.key("exitCode").raw(code)));
            self.content.exit = Some(exit);
            news.fact(Fact::Meta);
        }
    }

    fn patch_content(&mut self, update: Value<'_>, news: &mut News) {
        let content = update.get("content");
        if !content.is_array() {
            return;
        }
        let mut images = Vec::new();
        let mut files = Vec::new();
        let (mut only, mut plain) = (String::new(), true);
        let mut items = Vec::new();
        let mut add = |json: Raw, is_terminal: bool| items.push(Item { json, is_terminal });
        for item in content.items() {
            let inner = item.get("content");
            match &*text(item.get("type")) {
                "content" => match (inner.get("text").str(), media(inner)) {
                    (_, Some((Fact::Images, image))) => images.push(image),
                    (_, Some((_, file))) => files.push(file),
                    (Some(words), None) => {
                        let words = words.text();
                        if !only.is_empty() {
                            only.push('\n');
                        }
                        only.push_str(&words);
                        add(item_of(&[("type", "text"), ("text", &words)]), false);
                    }
                    (None, None) => {}
                },
                "diff" => {
                    let (Some(path), Some(new)) = (said(item, &["path"]), item.get("newText").str()) else { continue };
                    plain = false;
                    let old = item.get("oldText").str().map(JsonStr::text);
                    let mut members = vec![("type", "diff"), ("path", &*path)];
                    members.extend(old.as_deref().map(|old| ("oldText", old)));
                    let new = new.text();
                    members.push(("newText", &*new));
                    add(item_of(&members), false);
                }
                "terminal" => {
                    let Some(id) = said(item, &["terminalId"]) else { continue };
                    add(item_of(&[("type", "terminal"), ("id", &id)]), true);
                    plain = false;
                }
                _ => {}
            }
        }
        let known = &mut self.content;
        known.text = Some(only).filter(|text| plain && !text.is_empty());
        known.terminal = items.iter().any(|item| item.is_terminal);
        known.items = items;
        for (there, now, fact) in [(&mut known.images, images, Fact::Images), (&mut known.files, files, Fact::Files)] {
            let now = list(now.into_iter().map(|one| Raw::written(|json| json.raw(one.inner()))));
            if *there != now {
                *there = now;
                news.fact(fact);
            }
        }
        news.fact(Fact::Content);
        news.output = true;
    }

    /// What a call gave back: of a terminal, or as it stands.
    fn patch_output(&mut self, update: Value<'_>, max: usize, news: &mut News) {
        let meta = update.get("_meta");
        if let Some(more) = meta.get("terminal_output_delta").get("data").str() {
            if !std::mem::replace(&mut self.output.is_terminal, true) {
                self.output.text.clear();
                (self.output.told, self.output.at) = (0, 0);
            }
            self.append_output(&more.text(), max, news);
        }
        if let Some(whole) = meta.get("terminal_output").get("data").str() {
            self.output.is_terminal = true;
            self.set_output(&whole.text(), news);
        }
        let raw = update.get("rawOutput");
        if raw.is_null() {
            return;
        }
        // An image that shows is not told once more as text. What is far shorter than the images is none of them.
        let shown = |told: &Cow<'_, str>| {
            let images = self.content.images.as_ref().map_or("", Raw::as_str);
            told.len() > images.len() / 16 && images.contains(&[",", told, "\""].concat())
        };
        let told = output_text(raw).filter(|told| !shown(told));
        if !self.output.is_terminal
            && let Some(told) = &told
        {
            self.set_output(told, news);
        }
        let patch = patches(raw);
        if patch.is_some() {
            self.content.patch = patch;
            news.fact(Fact::Content);
        }
        let shows = self.content.text.is_some() || self.content.images.is_some() || self.content.patch.is_some();
        if told.is_none() && !shows && !self.output.is_terminal {
            self.set_output(raw.raw(), news);
        }
    }

    pub fn append_output(&mut self, more: &str, max: usize, news: &mut News) {
        let output = &mut self.output;
        let there = output.text.get(output.at..).unwrap_or_default();
        let same = common_prefix(there, more);
        if same < there.len() && same < more.len() {
            // It is another than it was.
            output.text.truncate(output.at + same);
            output.told = output.told.min(output.text.len());
        }
        // The row says that it was cut.
        if same < more.len() && output.text.len() <= max {
            output.text.push_str(more.get(same..).unwrap_or_default());
        }
        output.at = output.text.len().min(output.at + more.len());
        (output.said, news.output) = (true, true);
    }

    fn set_output(&mut self, whole: &str, news: &mut News) {
        let same = common_prefix(&self.output.text, whole);
        self.output.told = self.output.told.min(same);
        self.output.text.truncate(same);
        self.output.text.push_str(whole.get(same..).unwrap_or_default());
        self.output.at = self.output.text.len();
        (self.output.said, news.output) = (true, true);
    }

    /// Nothing more comes.
    pub fn end(&mut self, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        self.is_open = false;
        if self.is_over() {
            return Effect::None;
        }
        self.state = state;
        let mut news = News { state: true, ..News::default() };
        if self.permission.is_some() || self.question.is_some() {
            self.settle(&mut news);
            if self.question.is_some() {
                self.state = RowState::Expired;
            }
        }
        self.tell(None, news, sink)
    }

    /// Nobody is asked any more: what was chosen stays.
    fn settle(&mut self, news: &mut News) {
        self.permission = self.permission.take().filter(is_answered);
        news.fact(Fact::Permission);
    }

    /// The user is asked before it runs, or has chosen.
    pub fn ask(&mut self, permission: Option<Raw>, news: &mut News) {
        self.permission = permission;
        news.fact(Fact::Permission);
        if self.permission.as_ref().is_some_and(|asked| !is_answered(asked)) && !self.is_over() {
            news.state |= std::mem::replace(&mut self.state, RowState::Pending) != RowState::Pending;
        }
    }

    /// Whether it asks the user.
    pub fn is_question(&self) -> bool {
        self.question.is_some()
    }

    /// It asks the user, or what was answered is known.
    pub fn question(&mut self, news: &mut News) -> &mut Question {
        news.fact(Fact::Question);
        // A call that turns out to be a question is another row, which knows nothing yet.
        self.told &= self.question.is_some();
        self.question.get_or_insert_default()
    }

    /// A question was answered, or nobody wants to know any more.
    pub fn end_question(&mut self, state: RowState, news: &mut News) {
        if self.state == RowState::Pending || self.state == RowState::Running {
            (self.state, news.state) = (state, true);
        }
    }

    /// In which pass it was told of last.
    pub fn pass(&self) -> u32 {
        self.pass
    }

    /// What is told of it from now on goes on from what is known.
    pub fn catch_up(&mut self, pass: u32) {
        if std::mem::replace(&mut self.pass, pass) != pass {
            self.output.at = self.output.text.len();
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether its title and kind are those of a call that asks the user, or say nothing.
    pub fn is_question_by_name(&self) -> bool {
        let names = [&*self.title, &*self.name, self.work.unwrap_or_default()];
        names.iter().any(|name| names_question(name)) || names.iter().all(|name| name.is_empty())
    }

    pub fn permission(&self) -> Option<&Raw> {
        self.permission.as_ref()
    }

    /// Whether it has come to an end, and will not go on.
    pub fn has_ended(&self) -> bool {
        self.is_over() && self.state != RowState::Interrupted
    }

    fn is_over(&self) -> bool {
        self.state.is_at_rest() && self.state != RowState::Pending
    }

    /// What is shown as its output.
    fn output(&self) -> Option<&str> {
        match &self.content.text {
            Some(text) if !self.output.said => Some(text),
            _ => self.output.said.then_some(&*self.output.text),
        }
    }

    fn tell(&mut self, before: Option<&str>, news: News, sink: &mut dyn ChunkSink) -> Effect {
        let whole = !std::mem::replace(&mut self.told, true);
        let is_error = self.state == RowState::Failed && self.output().is_some();
        let turns = std::mem::replace(&mut self.is_error, is_error) != is_error;
        // Of what is not new nothing is compared again.
        let more = whole || turns || news.other || news.input || news.state || !news.facts.is_empty();
        if !more {
            let Some(output) = self.output().filter(|_| news.output) else { return Effect::None };
            let len = output.len();
            let chunk =
                Chunk::BlockOutput { key: &self.key, state: self.state, output, same: self.output.told.min(len) };
            let shown = sink.chunk(chunk);
            self.output.told = len;
            return shown;
        }
        let is_question = self.question.is_some();
        let mut block = Block::new(if is_question { RowKind::Question } else { RowKind::Tool }, self.state);
        block.partial = false;
        block.parent = self.parent.as_deref();
        block.known_as = Some(self.identity.clone());
        for fact in Fact::ALL {
            if !whole && !news.facts.contains(fact) {
                block.same.push(*fact);
                continue;
            }
            block.facts.extend(self.fact(*fact).map(|value| (*fact, value)));
        }
        let output = self.output();
        let told = output.map_or(0, str::len);
        if is_question {
            block.text = Cow::Borrowed(self.question.as_ref().map(|question| question.words()).unwrap_or_default());
        } else {
            let input = self.input.as_deref().unwrap_or_default();
            block.tool = Some(ToolBlock {
                name: Cow::Borrowed(&self.name),
                call_id: Some(&*self.id).filter(|id| !id.is_empty()),
                input: Cow::Borrowed(input),
                input_same: if whole || news.input { 0 } else { input.len() },
                input_done: self.input.is_some(),
                output,
                output_same: if whole { 0 } else { self.output.told.min(told) },
                is_error,
                is_remote: true,
            });
        }
        let shown = sink.chunk(Chunk::Block { key: &self.key, before, block: &block });
        self.output.told = told;
        shown
    }

    fn fact(&self, fact: Fact) -> Option<Raw> {
        let content = &self.content;
        match fact {
            Fact::Permission => self.permission.clone(),
            Fact::Question => self.question.as_ref().map(|question| question.write()),
            Fact::Images => content.images.clone(),
            Fact::Files => content.files.clone(),
            Fact::Meta => content.exit.clone(),
            _ if self.question.is_some() => None,
            Fact::Title => Some(word(self.label())),
            Fact::Work => self.work.map(word),
            Fact::Locations => content.locations.clone(),
            Fact::Content => self.items(),
            _ => None,
        }
    }

    /// What it is called: in words, or else by what is known of it.
    fn label(&self) -> &str {
        let work = self.work.filter(|work| *work != "other").unwrap_or_default();
        [&*self.title, &*self.name, work, &*self.id].into_iter().find(|label| !label.is_empty()).unwrap_or_default()
    }

    /// Whether the output stands instead of all items, and instead of a terminal.
    fn view(&self) -> (bool, bool) {
        let is_output = |text: &String| !self.output.said || *text == self.output.text;
        let content = &self.content;
        (content.text.as_ref().is_some_and(is_output), content.terminal && self.output.said)
    }

    /// The content, without what the output shows already.
    fn items(&self) -> Option<Raw> {
        let content = &self.content;
        let (all, terminal) = content.view;
        if all {
            return content.patch.clone();
        }
        let shown = content.items.iter().filter(|item| !(item.is_terminal && terminal));
        list(shown.map(|item| item.json.clone())).or_else(|| content.patch.clone())
    }
}

/// The id of the call that an update is about.
pub(super) fn call_id(update: Value<'_>) -> Option<Cow<'_, str>> {
    said(update, &["toolCallId", "tool_call_id"])
}

/// The state that a status names. None: it names none that is known.
fn state_named(status: &str) -> Option<RowState> {
    Some(match status {
        "pending" => RowState::Pending,
        "in_progress" | "running" => RowState::Running,
        "completed" => RowState::Done,
        "failed" | "error" => RowState::Failed,
        "cancelled" => RowState::Cancelled,
        _ => return None,
    })
}

/// The words of a raw output. None: it is nothing but data.
fn output_text(raw: Value<'_>) -> Option<Cow<'_, str>> {
    if let Some(text) = raw.str() {
        return Some(text.text());
    }
    for name in ["formatted_output", "aggregated_output"] {
        if let Some(text) = raw.get(name).str() {
            return Some(text.text());
        }
    }
    if let Some(output) = raw.get("stdout").str() {
        let errors = text(raw.get("stderr"));
        return Some(if errors.is_empty() { output.text() } else { Cow::Owned([&output.text(), &*errors].concat()) });
    }
    said(raw, &["output", "result", "error", "message"])
}

/// Changes to files as a raw output describes them.
fn patches(raw: Value<'_>) -> Option<Raw> {
    let meta = raw.get("metadata");
    let whole = said(meta, &["diff"]).map(|diff| item_of(&[("type", "patch"), ("text", &diff)]));
    let files = meta.get("files").items().filter_map(|file| {
        let (path, patch) = (said(file, &["path", "filePath"]).unwrap_or_default(), said(file, &["patch"])?);
        Some(item_of(&[("type", "patch"), ("path", &path), ("text", &patch)]))
    });
    list(files).or_else(|| list(whole.into_iter()))
}

/// An object whose members are strings.
fn item_of(members: &[(&str, &str)]) -> Raw {
    let list = list_of_one(members);
    Raw::written(|json| json.raw(list.inner()))
}

/// An array; none if it has no item.
fn list(items: impl Iterator<Item = Raw>) -> Option<Raw> {
    let mut any = false;
    let written = Raw::written(|json: &mut JsonWriter| {
        json.array(|json| {
            for item in items {
                any = true;
                json.raw(item.as_str());
            }
        });
    });
    any.then_some(written)
}

/// A string as JSON.
pub(super) fn word(text: &str) -> Raw {
    Raw::written(|json| json.string(text))
}
