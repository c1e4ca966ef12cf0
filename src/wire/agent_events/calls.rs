//! Tool calls: what a message says of them as it streams, and what is told while they run and once they have. The agent
//! runs them: none is ever run from here.

use std::borrow::Cow;

use super::{AgentEvents, content_text, failure, images, member};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, ToolBlock};
use crate::json::{Raw, Tape, Value};
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
    output: Option<String>,
    is_error: bool,
    /// It gave back all that it will.
    ended: bool,
    told: bool,
    is_open: bool,
    images: Option<Raw>,
    content: Option<Raw>,
    meta: Option<Raw>,
    error: Option<Raw>,
}

impl Keyed for Call {
    fn key(&self) -> &str {
        &self.id
    }
}

/// A call that has no id yet is known by a line feed and its place.
fn wire_id(id: &str) -> Option<&str> {
    (!id.starts_with('\n')).then_some(id)
}

impl AgentEvents {
    /// A call of this id stands at this place. An id that an earlier call had, which has ended, is another's now.
    pub(super) fn begin_call(&mut self, id: &str, key: &str) {
        let is_other = self.calls.get(id).is_some_and(|known| !known.waits() && *known.block != *key);
        let before = if is_other { self.calls.remove(id) } else { None };
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
                output: None,
                is_error: false,
                ended: false,
                told: false,
                is_open: false,
                images: None,
                content: None,
                meta: None,
                error: None,
            }
        });
        if !std::mem::replace(&mut call.is_open, true) {
            self.open.push(id.into());
        }
    }

    /// The call's id became known.
    pub(super) fn rename_call(&mut self, before: &str, now: &str) {
        if let Some(mut call) = self.calls.remove(before) {
            call.id = now.into();
            // One that was told of under the id before its place was known: the rows are two, and stay so.
            self.calls.remove(now);
            self.path.keep_call(now, None);
            self.open.push(now.into());
            self.calls.get_or_insert(now, || call);
        }
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
            call.input_told = 0;
        }
    }

    pub(super) fn grow_input(
        &mut self,
        id: &str,
        more: &str,
        before: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let max = self.max_input;
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        // The row says that it was cut.
        if !call.input_done && call.input.len() <= max {
            call.input.push_str(more);
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
        self.tell_call(id, None, sink)
    }

    /// What is told while a call runs.
    pub(super) fn executed(&mut self, kind: &str, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(event, &["toolCallId"]) else { return Effect::None };
        let is_new = self.calls.get(&id).is_none_or(|call| call.ended && kind == "tool_execution_start");
        if is_new {
            let key = self.key();
            self.begin_call(&id, &key);
        }
        let parent =
            said(event, &["parentToolCallId"]).and_then(|id| self.calls.get(&id)).map(|call| call.block.clone());
        self.name_call(&id, said(event, &["toolName"]).as_deref());
        let Some(call) = self.calls.get_mut(&id) else { return Effect::None };
        if !call.told {
            call.parent = parent.filter(|parent| *parent != call.block);
        }
        if !call.input_done && event.get("args").exists() {
            call.set_input(event.get("args"));
            call.input_done = true;
        }
        // What comes after it has ended says nothing.
        if !call.ended {
            match kind {
                "tool_execution_start" => call.set_state(RowState::Running),
                "tool_execution_update" => {
                    call.set_state(RowState::Running);
                    call.set_result(event.get("partialResult"));
                }
                _ => {
                    call.set_result(event.get("result"));
                    call.end(event.get("isError").bool(), event.get("durationMs"));
                }
            }
        }
        let works = if kind == "tool_execution_end" { Effect::None } else { self.set_at_work(true, sink) };
        works.and(self.tell_call(&id, None, sink))
    }

    /// The message that hands a result to the model: the row of its call has it.
    pub(super) fn result(&mut self, message: Value<'_>, key: &str, sink: &mut dyn ChunkSink) -> Effect {
        let Some(id) = said(message, &["toolCallId"]) else { return Effect::None };
        match self.calls.get(&id) {
            Some(known) => self.path.keep_call(&id, Some(known.clone())),
            None => self.begin_call(&id, key),
        }
        self.name_call(&id, said(message, &["toolName"]).as_deref());
        let Some(call) = self.calls.get_mut(&id) else { return Effect::None };
        call.set_result(message);
        call.end(message.get("isError").bool(), message.get("durationMs"));
        self.tell_call(&id, None, sink)
    }

    /// What was said of a call is on another branch: it is what it was before.
    pub(super) fn take_back(&mut self, id: &str, before: Option<Call>, sink: &mut dyn ChunkSink) -> Effect {
        self.calls.remove(id);
        let Some(mut before) = before else { return Effect::None };
        before.input_told = 0;
        self.calls.get_or_insert(id, || before);
        self.tell_call(id, None, sink)
    }

    pub(super) fn grow_output(&mut self, id: &str, more: &str, sink: &mut dyn ChunkSink) -> Effect {
        let max = self.max_input;
        let Some(call) = self.calls.get_mut(id) else { return Effect::None };
        call.set_state(RowState::Running);
        let output = call.output.get_or_insert_default();
        let same = output.len();
        if same <= max {
            output.push_str(more);
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
        (call.input_done, call.ended, call.state, call.meta) = (true, true, state, meta);
        call.output = Some(output.to_owned());
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
            (Fact::Images, call.images.clone()),
            (Fact::Content, call.content.clone()),
            (Fact::Meta, call.meta.clone()),
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
            output: call.output.as_deref(),
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
    fn waits(&self) -> bool {
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
        if let Some(duration) = duration.number() {
            self.meta = Some(member("durationMs", duration));
        }
    }

    /// What it gave back so far, or in all: it takes the place of what was.
    fn set_result(&mut self, result: Value<'_>) {
        let content = result.get("content");
        if !content.exists() && result.str().is_none() {
            return;
        }
        let words = result.str().map_or_else(|| content_text(content), crate::json::JsonStr::text);
        if self.output.as_deref() != Some(&*words) {
            self.output = Some(words.into_owned());
        }
        self.images = images(content);
        let diff = said(result.get("details"), &["diff"]);
        self.content = diff.map(|diff| list_of_one(&[("type", "patch"), ("text", &diff)]));
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
            let (name, named): (crate::json::JsonStr<'_>, crate::json::JsonStr<'_>) = (name, named);
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
