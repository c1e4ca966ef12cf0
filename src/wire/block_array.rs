//! `assistantMessageContent`: the blocks of a message, repeated as a whole whenever anything of them has changed. A block
//! is the same block by the id of its call, else by its place among those of its kind. A complete block never changes,
//! so an array in which one is missing, open again or another begins the next message; what came before stays.

use std::borrow::Cow;

use super::said;
use crate::chunk::{Block, Chunk, ChunkSink, Effect, ToolBlock};
use crate::json::Value;
use crate::row::{Fact, RowKind, RowState, error};

/// The blocks of the message that is read.
#[derive(Debug, Default)]
pub(super) struct BlockArray {
    known: Vec<Known>,
    /// Calls whose id came late, by id: their keys.
    late: Vec<(Box<str>, Box<str>)>,
    /// Messages before this one.
    message: u32,
}

#[derive(Debug)]
struct Known {
    key: Box<str>,
    kind: RowKind,
    /// Its place among the blocks of its kind.
    place: u32,
    id: Option<Box<str>>,
    partial: bool,
    print: u64,
}

/// A block as the array has it now.
struct Said<'a> {
    value: Value<'a>,
    kind: RowKind,
    place: u32,
    id: Option<Cow<'a, str>>,
    partial: bool,
    print: u64,
}

impl Said<'_> {
    fn is(&self, known: &Known) -> bool {
        match (self.id.as_deref(), known.id.as_deref()) {
            (Some(id), Some(known)) => id == known,
            // An id may come late; one that is known is not lost.
            (None, Some(_)) => false,
            (_, None) => (self.kind, self.place) == (known.kind, known.place),
        }
    }

    /// Whether this cannot be what that has become.
    fn contradicts(&self, known: &Known) -> bool {
        !known.partial && (self.partial || self.print != known.print)
    }
}

impl BlockArray {
    /// Reads an array; `starts` hears the name of each new call and tells whether that changed anything. True with the
    /// effect: a block is of no known type.
    pub fn read(
        &mut self,
        blocks: Value<'_>,
        sink: &mut dyn ChunkSink,
        starts: &mut dyn FnMut(Option<&str>, &mut dyn ChunkSink) -> bool,
    ) -> (Effect, bool) {
        let mut said: Vec<Said<'_>> = Vec::new();
        let mut unknown = false;
        for value in blocks.items() {
            let kind = value.get("type").str();
            let kind = match kind {
                Some(kind) if kind == *"text" => RowKind::Text,
                Some(kind) if kind == *"reasoning" => RowKind::Reasoning,
                Some(kind) if kind == *"tool_use" => RowKind::Tool,
                _ => {
                    unknown = true;
                    continue;
                }
            };
            let id = super::said(value.get("id")).filter(|_| kind == RowKind::Tool);
            if id.is_some() && said.iter().any(|block| block.id == id) {
                continue;
            }
            said.push(Said {
                value,
                kind,
                place: said.iter().filter(|block| block.kind == kind).count() as u32,
                id,
                partial: value.get("partial").bool() == Some(true),
                print: print(value),
            });
        }
        let missing = |known: &&Known| !known.partial && !said.iter().any(|block| block.is(known));
        let contradicted = |known: &Known| said.iter().any(|block| block.is(known) && block.contradicts(known));
        let mut effect = Effect::None;
        if said.is_empty() && !unknown || self.known.iter().any(|known| missing(&known) || contradicted(known)) {
            effect = self.rest(true, sink);
            self.message += u32::from(!self.known.is_empty());
            self.known.clear();
        }
        // What was open and is there no more was never said.
        self.known.retain(|known| {
            let there = said.iter().any(|block| block.is(known));
            if !there {
                effect = effect.and(sink.chunk(Chunk::Remove { key: &known.key, time: None }));
            }
            there
        });
        for (index, block) in said.iter().enumerate() {
            let known = self.known.iter().position(|known| block.is(known));
            let text = text(block);
            match known {
                Some(place) if self.known[place].print == block.print && self.known[place].partial == block.partial => {
                    continue;
                }
                Some(place) => {
                    self.known[place].partial = block.partial;
                    self.known[place].print = block.print;
                    if let Some(id) = block.id.as_deref().filter(|_| self.known[place].id.is_none()) {
                        self.known[place].id = Some(id.into());
                        self.late.push((id.into(), self.known[place].key.clone()));
                    }
                }
                // Nothing to see yet.
                None if block.kind != RowKind::Tool && text.is_empty() => continue,
                None => {
                    if block.kind == RowKind::Tool && starts(said_name(block).as_deref(), sink) {
                        effect = effect.and(Effect::Changed);
                    }
                    self.known.push(Known {
                        key: self.key(block),
                        kind: block.kind,
                        place: block.place,
                        id: block.id.as_deref().map(Box::from),
                        partial: block.partial,
                        print: block.print,
                    });
                }
            }
            let place = known.unwrap_or(self.known.len() - 1);
            let before = said[index + 1..].iter().find_map(|later| self.known.iter().find(|known| later.is(known)));
            let before = before.map(|known| &*known.key);
            effect = effect.and(show(block, text, &self.known[place].key, before, sink));
        }
        (effect, unknown)
    }

    /// The message is as it will be: text that is open is done, and if it is `over`, calls that are open will never be.
    pub fn rest(&mut self, over: bool, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for known in self.known.iter().filter(|known| known.partial) {
            let state = match known.kind {
                RowKind::Tool if !over => continue,
                RowKind::Tool => RowState::Interrupted,
                _ => RowState::Done,
            };
            effect = effect.and(sink.chunk(Chunk::BlockEnd { key: &known.key, state }));
        }
        effect
    }

    fn key(&self, block: &Said<'_>) -> Box<str> {
        if let Some((_, key)) = self.late.iter().find(|(id, _)| Some(&**id) == block.id.as_deref()) {
            return key.clone();
        }
        match &block.id {
            Some(id) => ["call:", id].concat(),
            None => [block.kind.name(), ":", &self.message.to_string(), ":", &block.place.to_string()].concat(),
        }
        .into()
    }
}

fn said_name<'a>(block: &Said<'a>) -> Option<Cow<'a, str>> {
    said(block.value.get("name"))
}

/// What a block of text or reasoning says, under any of its names.
fn text<'a>(block: &Said<'a>) -> Cow<'a, str> {
    let names: &[&str] = match block.kind {
        RowKind::Reasoning => &["reasoning", "content", "text", "thinking"],
        RowKind::Text => &["content", "text"],
        _ => &[],
    };
    names.iter().find_map(|name| said(block.value.get(name))).unwrap_or_default()
}

fn show(block: &Said<'_>, text: Cow<'_, str>, key: &str, before: Option<&str>, sink: &mut dyn ChunkSink) -> Effect {
    let state = if block.partial { RowState::Streaming } else { RowState::Done };
    let mut shown = Block::new(block.kind, state);
    let name = said_name(block).unwrap_or_default();
    if block.kind != RowKind::Tool {
        shown.text = text;
    } else {
        let params = block.value.get("params");
        let code = match block.partial {
            true => None,
            false if !params.is_object() => Some("arguments-malformed"),
            false if name.is_empty() => Some("name-missing"),
            false => None,
        };
        shown.state = match code {
            _ if block.partial => RowState::Preparing,
            Some(_) => RowState::Failed,
            None => RowState::Pending,
        };
        shown.facts.extend(code.map(|code| (Fact::Error, error("", Some(code), None))));
        let input = if params.is_object() { params.raw() } else { "" };
        shown.tool = Some(ToolBlock {
            name,
            call_id: block.id.as_deref(),
            input: Cow::Borrowed(if block.partial { open(input) } else { input }),
            input_done: shown.state == RowState::Pending,
            ..ToolBlock::default()
        });
    }
    sink.chunk(Chunk::Block { key, before, block: &shown })
}

/// The parameters of a call that goes on: without the end that the wire puts after the last one, so that they grow.
fn open(params: &str) -> &str {
    let open = params.strip_suffix('}').unwrap_or(params).trim_ascii_end();
    open.strip_suffix('"').unwrap_or(open)
}

/// A number that differs where a block differs (FNV-1a).
fn print(value: Value<'_>) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for name in ["name", "params", "content", "text", "reasoning", "thinking"] {
        hash = value.get(name).raw().bytes().chain([0]).fold(hash, fold);
    }
    hash
}
