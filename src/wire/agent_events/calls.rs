//! Tool calls: what a message says of them as it streams, and what is told while they run and once they have. The agent
//! runs them: none is ever run from here.

use std::borrow::Cow;

use super::{AgentEvents, content_text, failure, images, member};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, ToolBlock};
use crate::json::{Half, JsonStr, Raw, Tape, Value};
use crate::row::{Fact, RowKind, RowState, list_of_one, said};
use crate::sorted::Keyed;

/// A call as far as it is known.
#[derive(Debug, Clone)]
pub(super) struct Call {
    id: Box<str>,
    /// The key of its block.
    block: Box<str>,
    /// The key of the call inside which it is drawn.
    parent: Option<Box<str>>,
    name: String,
    state: RowState,
    input: String,
    /// Bytes of the arguments that were told.
    input_told: usize,
    input_done: bool,
    /// Characters of which the next delta has the other half: of the arguments, and of the output.
    halves: [Half; 2],
    gave: Gave,
    is_error: bool,
    /// A message makes it.
    made: bool,
    /// It gave back all that it will.
    ended: bool,
    told: bool,
    is_open: bool,
    error: Option<Raw>,
}

/// What a call gave back.
#[derive(Debug, Default, Clone)]
pub(super) struct Gave {
    output: Option<String>,
    images: Option<Raw>,
    content: Option<Raw>,
    meta: Option<Raw>,
}

/// A call as it was before an entry of a session said something of it.
#[derive(Debug)]
pub(super) enum Before {
    /// There was none of this id.
    Nothing,
    /// Another had its id, or it was not made yet.
    Other(Box<Call>),
    /// It had another result, or none. What it gave back is kept where that was replaced.
    Result { state: RowState, ended: bool, is_error: bool, meta: Option<Raw>, gave: Option<Box<Gave>> },
}

impl Keyed for Call {
    fn key(&self) -> &str {
        &self.id
    }
}

/// A call that has no id yet is known by a line feed and the key of its block.
pub(super) fn placed(key: &str) -> Box<str> {
    ["\n", key].concat().into()
}

/// What a delta adds: it may begin or end within a character.
pub(super) fn decoded<'a>(delta: JsonStr<'a>, half: &mut Half) -> Cow<'a, str> {
    match delta.borrowed(*half) {
        Some(text) => Cow::Borrowed(text),
        None => {
            let mut text = String::new();
            delta.decode_into(&mut text, half);
            Cow::Owned(text)
        }
    }
}

fn wire_id(id: &str) -> Option<&str> {
    (!id.starts_with('\n')).then_some(id)
}

impl AgentEvents {
    /// A message makes a call of this id. One of which something was told before it was made is the same; one that an
    /// earlier message made, and that has ended, is another. Answers with the key of its block.
    pub(super) fn make_call(&mut self, id: &str, key: &str) -> Box<str> {
        let is_other = |known: &Call| known.made && !known.waits() && *known.block != *key;
        let before = match self.calls.get(id).is_some_and(is_other) {
            true => self.calls.remove(id).map_or(Before::Nothing, |other| Before::Other(Box::new(other))),
            false => Before::Nothing,
        };
        self.new_call(id, key, before);
        let Some(call) = self.calls.get_mut(id) else { return key.into() };
        if !call.made && call.told {
            self.path.keep_call(id, Before::Other(Box::new(call.clone())));
        }
        call.made = true;
        call.block.clone()
    }

    /// Something is told of a call.
    pub(super) fn begin_call(&mut self, id: &str, key: &str) {
        self.new_call(id, key, Before::Nothing);
    }

    fn new_call(&mut self, id: &str, key: &str, before: Before) {
        let path = &mut self.path;
        let call = self.calls.get_or_insert(id, || {
            path.keep_call(id, before);
            Call {
                id: id.into(),
                block: key.into(),
                parent: None,
                name: String::new(),
                state: RowState::Preparing,
                input: String::new(),
                input_told: 0,
                input_done: false,
                halves: [Half::default(); 2],
                gave: Gave::default(),
                is_error: false,
                made: false,
                ended: false,
                told: false,
                is_open: false,
                error: None,
            }
        });
        if !std::mem::replace(&mut call.is_open, true) {
            self.open.push(id.into());
        }
    }

    /// The call's id became known. What was told of a call of that id was of this one.
    pub(super) fn rename_call(&mut self, before: &str, now: &str, sink: &mut dyn ChunkSink) {
        let Some(mut call) = self.calls.remove(before) else { return };
        match self.calls.remove(now).filter(|known| !known.made || known.waits()) {
            Some(known) => {
                sink.chunk(Chunk::Remove { key: &known.block, time: None });
                let input = if known.input_done { known.input.clone() } else { std::mem::take(&mut call.input) };
                call = Call { block: call.block, input, input_told: 0, ..known };
            }
            None => call.id = now.into(),
        }
        self.path.keep_call(now, Before::Nothing);
        self.open.push(now.into());
        self.calls.get_or_insert(now, || call);
    }

    pub(super) fn forget_call(&mut self, id: Option<&str>) {
        id.map(|id| self.calls.remove(id));
    }

    pub(super) fn told_call(&self, id: &str) -> bool {
        self.calls.get(id).is_some_and(|call| call.told)
    }

    /// Whether the name is news.
    pub(super) fn name_call(&mut self, id: &str, name: Option<&str>) -> bool {
        let (Some(call), Some(name)) = (self.calls.get_mut(id), name) else { return false };
        let is_new = call.name != name;
        if is_new {
            name.clone_into(&mut call.name);
        }
        is_new
    }

    pub(super) fn restart_input(&mut self, id: &str) {
        if let Some(call) = self.calls.get_mut(id).filter(|call| !call.input_done) {
            call.input.clear();
            (call.input_told, call.halves[0]) = (0, Half::default());
        }
    }

    pub(super) fn grow_input(
        &mut self,
        id: &str,
        delta: Option<JsonStr<'_>>,
        before: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let max = self.max_input;
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        // The row says that it was cut.
        if let Some(delta) = delta.filter(|_| !call.input_done && call.input.len() <= max) {
            delta.decode_into(&mut call.input, &mut call.halves[0]);
        }
        self.tell_call(id, before, sink)
    }

    /// The arguments are all there: as they came, or as they are said to be.
    pub(super) fn end_input(
        &mut self,
        id: &str,
        whole: Value<'_>,
        before: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        call.flush();
        call.set_input(whole);
        call.input_done = true;
        call.set_state(RowState::Pending);
        self.tell_call(id, before, sink)
    }

    /// What a whole message says of a call. One that broke off knows less than what came of it, as a rule.
    pub(super) fn settle_input(
        &mut self,
        id: &str,
        said_now: Value<'_>,
        state: RowState,
        before: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        call.flush();
        let whole = said_now.get("arguments");
        let broke = matches!(state, RowState::Cancelled | RowState::Interrupted) && !call.input.is_empty();
        if !(broke && matches!(whole.raw(), "" | "{}" | "null")) {
            call.set_input(whole);
            // Of a message that broke off nobody knows whether the arguments are all there.
            let is_whole = matches!(state, RowState::Pending | RowState::Interrupted) && !broke;
            call.input_done |= is_whole && !call.input.is_empty();
        }
        if let Some(wrong) = said(said_now, &["argumentsError"]) {
            call.error = Some(failure(&wrong));
        }
        if !call.ended {
            call.set_state(state);
        }
        self.tell_call(id, before, sink)
    }

    /// Nothing more comes of a call.
    pub(super) fn end_call(&mut self, id: &str, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        call.is_open = false;
        if !call.waits() {
            return Effect::None;
        }
        call.state = state;
        call.flush();
        self.tell_call(id, None, sink)
    }

    /// What is told while a call runs.
    pub(super) fn executed(&mut self, kind: &str, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(event, &["toolCallId"]) else { return Effect::None };
        if self.calls.get(&id).is_none() {
            let key = self.key();
            self.begin_call(&id, &key);
        }
        let parent =
            said(event, &["parentToolCallId"]).and_then(|id| self.calls.get(&id)).map(|call| call.block.clone());
        let named = self.name_call(&id, said(event, &["toolName"]).as_deref());
        let Some(call) = self.calls.get_mut(&id) else { return Effect::None };
        let mut is_news = !call.told;
        if is_news {
            call.parent = parent.filter(|parent| *parent != call.block);
        }
        if !call.input_done && event.get("args").exists() {
            call.set_input(event.get("args"));
            (call.input_done, is_news) = (true, true);
        }
        // What comes after it has ended says nothing.
        if !call.ended {
            match kind {
                "tool_execution_end" => {
                    call.set_result(event.get("result"));
                    call.end(event.get("isError").bool(), event.get("durationMs"));
                    is_news = true;
                }
                _ => {
                    is_news |= call.state != RowState::Running;
                    call.set_state(RowState::Running);
                    is_news |= call.set_result(event.get("partialResult")).is_some();
                }
            }
        }
        let works = if kind == "tool_execution_end" { Effect::None } else { self.set_at_work(true, sink) };
        if is_news || named { works.and(self.tell_call(&id, None, sink)) } else { works }
    }

    /// The message that hands a result to the model: the row of its call has it.
    pub(super) fn result(&mut self, message: Value<'_>, key: &str, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(message, &["toolCallId"]) else { return Effect::None };
        if self.calls.get(&id).is_none() {
            self.begin_call(&id, key);
        }
        let named = self.name_call(&id, said(message, &["toolName"]).as_deref());
        let Some(call) = self.calls.get_mut(&id) else { return Effect::None };
        let (state, ended, is_error, told) = (call.state, call.ended, call.is_error, call.told);
        let meta = call.gave.meta.clone();
        let gave = call.set_result(message).map(Box::new);
        call.end(message.get("isError").bool(), message.get("durationMs"));
        let is_news = !told || named || gave.is_some() || (state, ended, is_error) != (call.state, true, call.is_error);
        self.path.keep_call(&id, Before::Result { state, ended, is_error, meta, gave });
        if is_news { self.tell_call(&id, None, sink) } else { Effect::None }
    }

    /// What was said of a call is on another branch: it is what it was before.
    pub(super) fn take_back(&mut self, id: &str, before: Before, sink: &mut dyn ChunkSink) -> Effect {
        match before {
            Before::Nothing => {
                self.calls.remove(id);
                return Effect::None;
            }
            Before::Other(mut other) => {
                other.input_told = 0;
                self.calls.remove(id);
                self.calls.get_or_insert(id, || *other);
            }
            Before::Result { state, ended, is_error, meta, gave } => {
                let Some(call) = self.calls.get_mut(id) else { return Effect::None };
                (call.state, call.ended, call.is_error) = (state, ended, is_error);
                if let Some(gave) = gave {
                    call.gave = *gave;
                }
                call.gave.meta = meta;
            }
        }
        self.tell_call(id, None, sink)
    }

    pub(super) fn grow_output(&mut self, id: &str, delta: JsonStr<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let max = self.max_input;
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        call.set_state(RowState::Running);
        let output = call.gave.output.get_or_insert_default();
        let same = output.len();
        if same <= max {
            delta.decode_into(output, &mut call.halves[1]);
        }
        if !call.told {
            return self.tell_call(id, None, sink);
        }
        sink.chunk(Chunk::BlockOutput { key: &call.block, state: call.state, output, same })
    }

    /// A call that has run, all of it at once.
    pub(super) fn ran(
        &mut self,
        id: &str,
        input: &str,
        output: &str,
        meta: Option<Raw>,
        state: RowState,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        input.clone_into(&mut call.input);
        (call.input_done, call.ended, call.state) = (true, true, state);
        call.gave = Gave { output: Some(output.to_owned()), meta, ..Gave::default() };
        call.is_error = state == RowState::Failed;
        self.tell_call(id, None, sink)
    }

    fn tell_call(&mut self, id: &str, before: Option<&str>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        if !std::mem::replace(&mut call.told, true) {
            self.path.keep(&call.block);
        }
        let mut block = Block::new(RowKind::Tool, call.state);
        block.partial = false;
        block.parent = call.parent.as_deref();
        block.known_as = Some(wire_id(&call.id).unwrap_or_default().into());
        let work = work(&call.name).map(|work| Raw::written(|json| json.string(work)));
        let facts = [
            (Fact::Images, call.gave.images.clone()),
            (Fact::Content, call.gave.content.clone()),
            (Fact::Meta, call.gave.meta.clone()),
            (Fact::Error, call.error.clone()),
            (Fact::Work, work),
        ];
        block.facts = facts.into_iter().filter_map(|(fact, value)| Some((fact, value?))).collect();
        block.tool = Some(ToolBlock {
            name: Cow::Borrowed(&call.name),
            call_id: wire_id(&call.id),
            input: Cow::Borrowed(&call.input),
            input_same: call.input_told.min(call.input.len()),
            input_done: call.input_done,
            output: call.gave.output.as_deref(),
            output_same: 0,
            is_error: call.is_error,
            is_remote: true,
        });
        call.input_told = call.input.len();
        sink.chunk(Chunk::Block { key: &call.block, before, block: &block })
    }
}

impl Call {
    /// All arguments: where they mean the same as what came piece by piece, that stays as it is.
    fn set_input(&mut self, whole: Value<'_>) {
        if !whole.exists() || whole.is_null() {
            return;
        }
        let mut tape = Tape::default();
        let known = tape.read(&self.input).ok();
        if known.is_some_and(|known| means_the_same(known.root(), whole)) {
            return;
        }
        self.input.clear();
        self.input.push_str(whole.raw());
        self.input_told = 0;
    }

    /// Whether anything is still to come of it.
    pub(super) fn waits(&self) -> bool {
        !self.ended && matches!(self.state, RowState::Preparing | RowState::Pending | RowState::Running)
    }

    /// How far it is: what has ended does not begin again.
    fn set_state(&mut self, state: RowState) {
        let began = self.state == RowState::Running && matches!(state, RowState::Preparing | RowState::Pending);
        if !self.ended && !began {
            self.state = state;
        }
    }

    fn end(&mut self, is_error: Option<bool>, duration: Value<'_>) {
        let failed = is_error == Some(true);
        (self.ended, self.is_error) = (true, failed);
        // The user ended it, whatever comes of it.
        if self.state != RowState::Cancelled {
            self.state = if failed { RowState::Failed } else { RowState::Done };
        }
        if let Some(duration) = duration.u64() {
            self.gave.meta = Some(member("durationMs", &duration.to_string()));
        }
    }

    /// A character whose other half never came is none.
    fn flush(&mut self) {
        self.halves[0].flush(&mut self.input);
        if let Some(output) = &mut self.gave.output {
            self.halves[1].flush(output);
        }
    }

    /// What it gave back so far, or in all: it takes the place of what was, which is the answer. None: nothing is said.
    fn set_result(&mut self, result: Value<'_>) -> Option<Gave> {
        let content = result.get("content");
        if !content.exists() && result.str().is_none() {
            return None;
        }
        let words = result.str().map_or_else(|| content_text(content), JsonStr::text);
        let diff = said(result.get("details"), &["diff"]);
        let gave = Gave {
            output: Some(words.into_owned()),
            images: images(content),
            content: diff.map(|diff| list_of_one(&[("type", "patch"), ("text", &diff)])),
            meta: self.gave.meta.clone(),
        };
        Some(std::mem::replace(&mut self.gave, gave))
    }
}

/// What kind of work a tool of this name does.
fn work(name: &str) -> Option<&'static str> {
    Some(match name {
        "read" => "read",
        "edit" | "write" => "edit",
        "bash" => "execute",
        "grep" | "find" | "ls" => "search",
        _ => return None,
    })
}

/// Whether two texts are one value: spaces, escapes and the writing of a number do not count.
fn means_the_same(one: Value<'_>, other: Value<'_>) -> bool {
    if one.is_object() && other.is_object() {
        let mut members = one.members().zip(other.members());
        let same = |((name, one), (named, other)): (_, _)| -> bool {
            let (name, named): (JsonStr<'_>, JsonStr<'_>) = (name, named);
            name.text() == named.text() && means_the_same(one, other)
        };
        return one.members().count() == other.members().count() && members.all(same);
    }
    if one.is_array() && other.is_array() {
        let mut items = one.items().zip(other.items());
        return one.items().count() == other.items().count() && items.all(|(one, other)| means_the_same(one, other));
    }
    match (one.str(), other.str()) {
        (Some(one), Some(other)) => one.text() == other.text(),
        (None, None) => one.raw() == other.raw(),
        _ => false,
    }
}
