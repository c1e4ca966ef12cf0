//! Messages: the assistant's part by part, as its events bring them and its end says they are; the others whole.

use std::borrow::Cow;

use super::calls::{decoded, placed};
use super::{AgentEvents, content_text, failure, image, images, is_assistant, mark, member, text, usage};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, Refusal};
use crate::json::{Half, JsonStr, JsonWriter, Raw, Value};
use crate::row::{Fact, RowKind, RowState, said};

/// The assistant's message that goes on.
#[derive(Debug)]
pub(super) struct Message {
    number: u64,
    /// In the order of their places.
    parts: Vec<Part>,
    /// Parts that were something else before: what a place is now has another key.
    replaced: usize,
}

#[derive(Debug)]
struct Part {
    index: u64,
    kind: RowKind,
    key: Box<str>,
    /// The id of the call that it is.
    call: Option<Box<str>>,
    shown: bool,
    ended: bool,
    /// Blank text, which shows nothing until more comes.
    blank: String,
    /// A character of which the next delta has the other half.
    half: Half,
}

/// Whether this is an event about one part of an assistant's message.
pub(super) fn is_part_event(kind: &str) -> bool {
    let of = |part: &str| matches!(kind.strip_prefix(part), Some("_start" | "_delta" | "_end"));
    of("text") || of("thinking") || of("toolcall")
}

impl AgentEvents {
    /// A message begins. What an assistant's holds by then comes again, part by part or at its end.
    pub(super) fn begin_message(&mut self, message: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let role = text(message.get("role"));
        if role == "assistant" || role.is_empty() {
            let lost = self.drop_message(RowState::Interrupted, sink);
            self.begin_answer();
            return lost;
        }
        self.count += 1;
        let number = self.count;
        if self.begun.len() < self.max_parts {
            self.begun.push((number, (&*role).into()));
        }
        self.plain_message(number, message, false, sink)
    }

    fn begin_answer(&mut self) {
        self.count += 1;
        self.current = Some(Message { number: self.count, parts: Vec::new(), replaced: 0 });
    }

    /// The message that goes on gets no end of its own.
    pub(super) fn drop_message(&mut self, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let Some(message) = self.current.take() else { return Effect::None };
        let mut effect = Effect::None;
        for part in message.parts {
            effect = effect.and(self.end_part(part, state, sink));
        }
        effect
    }

    fn end_part(&mut self, mut part: Part, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        match &part.call {
            Some(id) => self.end_call(id, state, sink),
            None if part.shown => {
                let mut rest = String::new();
                let grown = match part.half.flush(&mut rest) {
                    true => sink.chunk(Chunk::BlockText { key: &part.key, text: &rest }),
                    false => Effect::None,
                };
                grown.and(sink.chunk(Chunk::BlockEnd { key: &part.key, state }))
            }
            None => Effect::None,
        }
    }

    /// An event about one part. `partial`: the message as it is by now, on wires that repeat it.
    pub(super) fn update_message(&mut self, event: Value<'_>, partial: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let kind = text(event.get("type"));
        let (Some((part, step)), Some(index)) = (kind.split_once('_'), event.get("contentIndex").u64()) else {
            return Effect::None;
        };
        let Some(place) = self.place(index) else { return Effect::Refused(Refusal::OpenBlocks) };
        if self.current.is_none() {
            self.begin_answer();
        }
        let there = partial.get("content").items().nth(place);
        let there = there.unwrap_or(Value::ABSENT);
        let row = match part {
            "text" => RowKind::Text,
            "thinking" => RowKind::Reasoning,
            _ => return self.update_call(index, step, event, there, sink),
        };
        let known = self.part(index).is_some_and(|known| known.kind == row);
        match step {
            "start" => self.set_text(index, row, "", RowState::Streaming, sink),
            "end" => {
                let whole = event.get("content").str().or_else(|| part_text(there));
                let ended = match whole {
                    Some(whole) => self.set_text(index, row, &whole.text(), RowState::Done, sink),
                    None => self.end_text(index, sink),
                };
                self.part(index).into_iter().for_each(|part| part.ended = true);
                ended
            }
            // What came before is lost: the message says what it was.
            _ if !known && there.is_object() => {
                let whole = part_text(there).map(crate::json::JsonStr::text).unwrap_or_default();
                self.set_text(index, row, &whole, RowState::Streaming, sink)
            }
            _ => match event.get("delta").str() {
                Some(delta) => self.grow_text(index, row, delta, sink),
                None => Effect::None,
            },
        }
    }

    /// A place that a message may have.
    fn place(&self, index: u64) -> Option<usize> {
        usize::try_from(index).ok().filter(|place| *place < self.max_parts)
    }

    fn part(&mut self, index: u64) -> Option<&mut Part> {
        let parts = &mut self.current.as_mut()?.parts;
        let place = parts.binary_search_by_key(&index, |part| part.index).ok()?;
        parts.get_mut(place)
    }

    /// The part at this place, and the key of what stands after it.
    fn part_of(
        &mut self,
        index: u64,
        kind: RowKind,
        sink: &mut dyn ChunkSink,
    ) -> Option<(&mut Part, Option<Box<str>>)> {
        let message = self.current.as_mut()?;
        let (number, parts) = (message.number, &mut message.parts);
        let place = parts.partition_point(|part| part.index < index);
        let is_there = parts.get(place).is_some_and(|part| part.index == index);
        if is_there && parts[place].kind != kind {
            // The wire says that it is something else: a row of another kind is another row.
            let part = parts.remove(place);
            message.replaced += 1;
            if part.shown {
                sink.chunk(Chunk::Remove { key: &part.key, time: None });
            }
            part.call.map(|id| self.calls.remove(&id));
        }
        if parts.get(place).is_none_or(|part| part.index != index) {
            let letter = match kind {
                RowKind::Text => "t",
                RowKind::Reasoning => "r",
                _ => "c",
            };
            let mut key = ["m", &number.to_string(), letter, &index.to_string()].concat();
            if message.replaced > 0 {
                key.push_str(&["-", &message.replaced.to_string()].concat());
            }
            let key = key.into();
            let part = Part {
                index,
                kind,
                key,
                call: None,
                shown: false,
                ended: false,
                blank: String::new(),
                half: Half::default(),
            };
            parts.insert(place, part);
        }
        let next = parts.get(place + 1..).and_then(|rest| rest.iter().find(|part| part.shown));
        let next = next.map(|part| part.key.clone());
        parts.get_mut(place).map(|part| (part, next))
    }

    fn grow_text(&mut self, index: u64, kind: RowKind, delta: JsonStr<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some((part, _)) = self.part_of(index, kind, sink) else { return Effect::None };
        let more = &*decoded(delta, &mut part.half);
        if part.shown {
            return if more.is_empty() {
                Effect::None
            } else {
                sink.chunk(Chunk::BlockText { key: &part.key, text: more })
            };
        }
        part.blank.push_str(more);
        if more.trim().is_empty() {
            return Effect::None;
        }
        let (whole, half) = (std::mem::take(&mut part.blank), part.half);
        let shown = self.set_text(index, kind, &whole, RowState::Streaming, sink);
        self.part(index).into_iter().for_each(|part| part.half = half);
        shown
    }

    /// All of a text: where it is blank nothing shows.
    fn set_text(
        &mut self,
        index: u64,
        kind: RowKind,
        whole: &str,
        state: RowState,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let Some((part, next)) = self.part_of(index, kind, sink) else { return Effect::None };
        let key = part.key.clone();
        part.blank.clear();
        part.half = Half::default();
        let is_blank = whole.trim().is_empty();
        if is_blank && !part.shown {
            part.blank.push_str(whole);
            return Effect::None;
        }
        if is_blank && state != RowState::Streaming {
            part.shown = false;
            return sink.chunk(Chunk::Remove { key: &key, time: None });
        }
        part.shown = true;
        let mut block = Block::new(kind, state);
        block.text = Cow::Borrowed(whole);
        block.known_as = Some(Box::default());
        self.tell(&key, next.as_deref(), &block, sink)
    }

    fn end_text(&mut self, index: u64, sink: &mut dyn ChunkSink) -> Effect {
        match self.part(index) {
            Some(part) if part.shown => sink.chunk(Chunk::BlockEnd { key: &part.key, state: RowState::Done }),
            _ => Effect::None,
        }
    }

    fn update_call(
        &mut self,
        index: u64,
        step: &str,
        event: Value<'_>,
        there: Value<'_>,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let call = event.get("toolCall");
        let id = said(event, &["id"]).or_else(|| said(call, &["id"])).or_else(|| said(there, &["id"]));
        let name = said(event, &["toolName"]).or_else(|| said(call, &["name"])).or_else(|| said(there, &["name"]));
        let Some((known, next)) = self.call_part(index, id.as_deref(), sink) else { return Effect::None };
        let delta = if step == "delta" { event.get("delta").str() } else { None };
        if step == "start" {
            self.restart_input(&known);
        }
        let begun = self.told_call(&known);
        let named = self.name_call(&known, name.as_deref());
        match step {
            "end" => self.end_input(&known, call.get("arguments"), next.as_deref(), sink),
            _ if begun && !named && delta.is_none_or(JsonStr::is_empty) => Effect::None,
            _ => self.grow_input(&known, delta, next.as_deref(), sink),
        }
    }

    /// The id of the call at this place of the message, and the key of what stands after it. As long as the wire has
    /// not told the id, the call is known by its place.
    fn call_part(
        &mut self,
        index: u64,
        id: Option<&str>,
        sink: &mut dyn ChunkSink,
    ) -> Option<(Box<str>, Option<Box<str>>)> {
        let (part, next) = self.part_of(index, RowKind::Tool, sink)?;
        part.shown = true;
        let key = part.key.clone();
        let before = part.call.clone();
        // A call is one and the same: another id at its place is none of its.
        let known = before.as_deref().filter(|known| !known.starts_with('\n'));
        let now: Box<str> = match known.or(id).or(before.as_deref()) {
            Some(id) => id.into(),
            None => placed(&key),
        };
        part.call = Some(now.clone());
        if let Some(before) = before.filter(|before| *before != now) {
            self.rename_call(&before, &now, sink);
        }
        // A call that has a row keeps it.
        let key = self.make_call(&now, &key);
        self.part(index).into_iter().for_each(|part| part.key = key.clone());
        Some((now, next))
    }

    /// A message has ended, and is what it is said to be.
    pub(super) fn end_message(&mut self, message: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let role = text(message.get("role"));
        if role != "assistant" {
            let begun = self.begun.iter().position(|(_, known)| **known == *role);
            // The row of a result is that of its call, which has a name of its own.
            let number = match begun.map(|place| self.begun.remove(place)).filter(|_| role != "toolResult") {
                Some((number, _)) => number,
                None => {
                    self.count += 1;
                    self.count
                }
            };
            return self.plain_message(number, message, true, sink);
        }
        if self.answers.len() < self.max_parts {
            self.answers.push(mark(message));
        }
        if self.current.is_none() {
            self.begin_answer();
        }
        let effect = self.settle_message(message, false, sink);
        self.current = None;
        effect
    }

    /// A message that nothing streams of: from a session, or given as it is.
    pub(super) fn whole_message(&mut self, message: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        if !is_assistant(message) {
            self.count += 1;
            return self.plain_message(self.count, message, true, sink);
        }
        let goes_on = self.current.take();
        self.begin_answer();
        let effect = self.settle_message(message, true, sink);
        self.current = goes_on;
        effect
    }

    /// `stands`: nothing of it goes on, whatever it waits for.
    fn settle_message(&mut self, message: Value<'_>, stands: bool, sink: &mut dyn ChunkSink) -> Effect {
        let reason = text(message.get("stopReason"));
        let state = match &*reason {
            "aborted" => RowState::Cancelled,
            "error" => RowState::Interrupted,
            _ => RowState::Done,
        };
        let broke = state != RowState::Done;
        let content = message.get("content");
        let mut effect = usage(message.get("usage"), sink);
        let mut index = 0;
        let alone = content.str().map(|_| content);
        for item in alone.into_iter().chain(content.items()) {
            if self.place(index).is_none() {
                effect = effect.and(Effect::Refused(Refusal::OpenBlocks));
                break;
            }
            let kind = match &*text(item.get("type")) {
                "text" | "" => RowKind::Text,
                "thinking" => RowKind::Reasoning,
                "image" => RowKind::Image,
                "toolCall" => RowKind::Tool,
                _ => {
                    index += 1;
                    continue;
                }
            };
            let ended = self.part(index).is_some_and(|part| part.ended);
            let shown = match kind {
                RowKind::Tool => self.settle_call(index, item, state, stands, sink),
                RowKind::Image => self.show_image(index, item, sink),
                _ => {
                    let whole = item.str().or_else(|| part_text(item)).map(crate::json::JsonStr::text);
                    let state = if ended { RowState::Done } else { state };
                    self.set_text(index, kind, &whole.unwrap_or_default(), state, sink)
                }
            };
            effect = effect.and(shown);
            index += 1;
        }
        effect = effect.and(self.end_rest(index, broke && index == 0, state, sink));
        if reason == "error" {
            let words = said(message, &["errorMessage"]).unwrap_or_default();
            effect = effect.and(self.show_end(RowKind::Error, (Fact::Error, failure(&words)), sink));
        } else if reason == "length" {
            let words = crate::row::message("finish.length", &[]);
            effect = effect.and(self.show_end(RowKind::Notice, (Fact::Message, words), sink));
        }
        effect
    }

    /// Parts from this place on: the message has none of them, unless it broke off and says nothing at all.
    fn end_rest(&mut self, from: u64, keeps: bool, state: RowState, sink: &mut dyn ChunkSink) -> Effect {
        let Some(message) = &mut self.current else { return Effect::None };
        let place = message.parts.partition_point(|part| part.index < from);
        let mut effect = Effect::None;
        for part in message.parts.split_off(place) {
            effect = effect.and(match keeps {
                true if part.ended && part.call.is_none() => Effect::None,
                true => self.end_part(part, state, sink),
                false if part.shown => {
                    self.forget_call(part.call.as_deref());
                    sink.chunk(Chunk::Remove { key: &part.key, time: None })
                }
                false => Effect::None,
            });
        }
        effect
    }

    /// How the message ended, if that is not well.
    fn show_end(&mut self, kind: RowKind, fact: (Fact, Raw), sink: &mut dyn ChunkSink) -> Effect {
        let Some(message) = &self.current else { return Effect::None };
        let key = ["m", &message.number.to_string(), "e"].concat();
        self.row(&key, kind, RowState::Done, vec![fact], "", sink)
    }

    fn show_image(&mut self, index: u64, item: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some((part, next)) = self.part_of(index, RowKind::Image, sink) else { return Effect::None };
        part.shown = true;
        let key = part.key.clone();
        let mut block = Block::new(RowKind::Image, RowState::Done);
        block.facts.extend(image(item).map(|image| (Fact::Images, image)));
        block.known_as = Some(Box::default());
        self.tell(&key, next.as_deref(), &block, sink)
    }

    fn settle_call(
        &mut self,
        index: u64,
        call: Value<'_>,
        state: RowState,
        stands: bool,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let id = said(call, &["id"]);
        let Some((known, next)) = self.call_part(index, id.as_deref(), sink) else { return Effect::None };
        self.name_call(&known, said(call, &["name"]).as_deref());
        let state = match state {
            RowState::Done if stands => RowState::Interrupted,
            RowState::Done => RowState::Pending,
            state => state,
        };
        self.settle_input(&known, call, state, next.as_deref(), sink)
    }

    /// A message of another role than the assistant's. `ended`: it is all there.
    fn plain_message(&mut self, number: u64, said_now: Value<'_>, ended: bool, sink: &mut dyn ChunkSink) -> Effect {
        let key = ["m", &number.to_string()].concat();
        let role = text(said_now.get("role"));
        let content = said_now.get("content");
        match &*role {
            "toolResult" => self.result(said_now, &key, sink),
            "bashExecution" => self.shell_ended(said_now, &key, sink),
            "user" => {
                let facts = images(content).map(|images| (Fact::Images, images)).into_iter().collect();
                self.row(&key, RowKind::User, RowState::Done, facts, &content_text(content), sink)
            }
            "custom" | "hookMessage" => self.custom(&key, said_now, sink),
            "branchSummary" if ended => {
                self.row(&key, RowKind::Summary, RowState::Done, Vec::new(), &text(said_now.get("summary")), sink)
            }
            "compactionSummary" if ended => {
                let facts = super::compaction_facts(said_now);
                self.row(&key, RowKind::Compaction, RowState::Done, facts, &text(said_now.get("summary")), sink)
            }
            // What the model is told, and nobody else.
            _ => Effect::None,
        }
    }

    /// What an extension says: to the user, or only to the model.
    pub(super) fn custom(&mut self, key: &str, message: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        if message.get("display").bool() == Some(false) {
            return Effect::None;
        }
        let content = message.get("content");
        let meta = Raw::written(|json: &mut JsonWriter| {
            json.object(|json| {
                for name in ["customType", "details"] {
                    if message.get(name).exists() {
                        json.key(name).raw(message.get(name).raw());
                    }
                }
            });
        });
        let mut facts = vec![(Fact::Meta, meta)];
        facts.extend(images(content).map(|images| (Fact::Images, images)));
        self.row(key, RowKind::Custom, RowState::Done, facts, &content_text(content), sink)
    }

    pub(super) fn compaction_entry(&mut self, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let key = self.key();
        let facts = super::compaction_facts(entry);
        self.row(&key, RowKind::Compaction, RowState::Done, facts, &text(entry.get("summary")), sink)
    }

    pub(super) fn summary_entry(&mut self, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let summary = text(entry.get("summary"));
        if summary.trim().is_empty() {
            return Effect::None;
        }
        let key = self.key();
        self.row(&key, RowKind::Summary, RowState::Done, Vec::new(), &summary, sink)
    }

    /// A command of the user's runs, and says more.
    pub(super) fn shell_says(&mut self, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let id = text(event.get("id"));
        let known = self.shells.iter().find(|(known, _)| **known == *id).map(|(_, key)| key.clone());
        if known.is_none() && self.shells.len() >= self.max_parts {
            return Effect::Refused(Refusal::OpenBlocks);
        }
        let key = known.unwrap_or_else(|| {
            let key: Box<str> = self.key().into();
            self.shells.push(((&*id).into(), key.clone()));
            key
        });
        let call = placed(&key);
        self.begin_call(&call, &key);
        self.name_call(&call, Some("bash"));
        event.get("delta").str().map_or(Effect::None, |delta| self.grow_output(&call, delta, sink))
    }

    /// A command of the user's has run: the oldest that did, if any was told of.
    fn shell_ended(&mut self, shell: Value<'_>, key: &str, sink: &mut dyn ChunkSink) -> Effect {
        let id = placed(key);
        if self.calls.get(&id).is_none() && !self.shells.is_empty() {
            let (_, known) = self.shells.remove(0);
            self.rename_call(&placed(&known), &id, sink);
        }
        if self.calls.get(&id).is_none() {
            self.begin_call(&id, key);
        }
        self.name_call(&id, Some("bash"));
        let code = shell.get("exitCode").number();
        let state = match code {
            _ if shell.get("cancelled").bool() == Some(true) => RowState::Cancelled,
            Some(code) if code != "0" => RowState::Failed,
            _ => RowState::Done,
        };
        let input = Raw::written(|json| json.object(|json| json.key("command").string(&text(shell.get("command")))));
        let meta = code.map(|code| member("exitCode", code));
        self.ran(&id, input.as_str(), &text(shell.get("output")), meta, state, sink)
    }
}

/// The text of a part of either kind.
fn part_text(part: Value<'_>) -> Option<crate::json::JsonStr<'_>> {
    part.get("text").str().or_else(|| part.get("thinking").str())
}
