//! `assistantMessageContent`: the blocks of a message, repeated as a whole whenever anything of them has changed. A block
//! is the same block by the id of its call, else by its place among those of its kind. A complete block never changes,
//! so an array in which one is missing, open again or another begins the next message; what came before stays.

use std::borrow::Cow;

use super::said;
use crate::chunk::{Block, Chunk, ChunkSink, Effect, ToolBlock};
use crate::json::Value;
use crate::row::{Fact, RowKind, RowState, error};
use crate::sorted::{Keyed, Sorted};
use crate::text::markers::{Markers, Piece};

/// The blocks of the message that is read.
#[derive(Debug, Default)]
pub(super) struct BlockArray {
    known: Vec<Known>,
    /// Which of `known` stands at each place, for each kind.
    places: [Vec<u32>; KINDS.len()],
    calls: Sorted<CallId>,
    /// Messages before this one.
    message: u32,
    /// Passes over an array so far.
    pass: u32,
    work: u64,
}

const KINDS: [(&str, RowKind); 3] =
    [("text", RowKind::Text), ("reasoning", RowKind::Reasoning), ("tool_use", RowKind::Tool)];

#[derive(Debug)]
struct Known {
    key: Box<str>,
    kind: usize,
    /// Its place among the blocks of its kind.
    place: u32,
    id: Option<Box<str>>,
    /// It has a row.
    shown: bool,
    partial: bool,
    print: u64,
    /// The last pass that met it.
    pass: u32,
}

/// The id of a call, of this message or one before.
#[derive(Debug)]
pub(super) struct CallId {
    id: Box<str>,
    /// The key of a call whose id came late.
    key: Option<Box<str>>,
    /// Which of `known` it was, once it was one.
    pub known: u32,
    /// The last pass that met it.
    pass: u32,
}

impl Keyed for CallId {
    fn key(&self) -> &str {
        &self.id
    }
}

impl CallId {
    /// The one of this id.
    #[inline(never)]
    pub fn of<'a>(id: &str, calls: &'a mut Sorted<CallId>) -> &'a mut CallId {
        calls.get_or_insert(id, || CallId { id: id.into(), key: None, known: u32::MAX, pass: 0 })
    }
}

/// A block as the array has it now.
struct Said<'a> {
    value: Value<'a>,
    id: Option<Cow<'a, str>>,
    partial: bool,
    print: u64,
    /// Which of the known blocks it is.
    known: usize,
    /// The next block in the array that has a row already.
    before: Option<usize>,
}

impl BlockArray {
    /// What was looked at so far.
    pub fn work(&self) -> u64 {
        self.work + self.calls.work()
    }

    /// Reads an array; `starts` hears the name of each new call and tells whether that changed anything. True with the
    /// effect: a block is of no known type.
    pub fn read(
        &mut self,
        blocks: Value<'_>,
        sink: &mut dyn ChunkSink,
        starts: &mut dyn FnMut(Option<&str>, &mut dyn ChunkSink) -> bool,
    ) -> (Effect, bool) {
        let mut effect = Effect::None;
        self.forget_vanished();
        let (mut said, unknown) = self.identify(blocks);
        let contradicts =
            |block: &Said<'_>, known: &Known| !known.partial && (block.partial || block.print != known.print);
        let is_missing = |known: &Known| !known.partial && known.pass != self.pass;
        if said.is_empty() && !unknown
            || said.iter().any(|block| contradicts(block, &self.known[block.known]))
            || self.known.iter().any(is_missing)
        {
            effect = self.rest(true, sink);
            self.message += u32::from(self.known.iter().any(|known| known.shown));
            self.known.clear();
            self.places = Default::default();
            (said, _) = self.identify(blocks);
        }
        // What was open and is there no more was never said.
        for known in self.known.iter().filter(|known| known.shown && known.pass != self.pass) {
            effect = effect.and(sink.chunk(Chunk::Remove { key: &known.key, time: None }));
        }
        let mut next = None;
        for block in said.iter_mut().rev() {
            block.before = next;
            next = Some(block.known).filter(|known| self.known[*known].shown).or(next);
        }
        self.work += 2 * (said.len() + self.known.len()) as u64;
        for block in &said {
            effect = effect.and(self.tell(block, sink, starts));
        }
        (effect, unknown)
    }

    /// Tells of a block, if anything of it is new.
    fn tell(
        &mut self,
        block: &Said<'_>,
        sink: &mut dyn ChunkSink,
        starts: &mut dyn FnMut(Option<&str>, &mut dyn ChunkSink) -> bool,
    ) -> Effect {
        let known = &mut self.known[block.known];
        let late = block.id.as_deref().filter(|_| known.id.is_none());
        if known.shown && late.is_none() && (known.print, known.partial) == (block.print, block.partial) {
            return Effect::None;
        }
        let kind = KINDS[known.kind].1;
        let text = text(block, kind);
        let mut effect = Effect::None;
        if !known.shown {
            // Nothing to see yet.
            if kind != RowKind::Tool && text.is_empty() {
                return Effect::None;
            }
            if kind == RowKind::Tool && starts(said_name(block).as_deref(), sink) {
                effect = Effect::Changed;
            }
        }
        if let Some((id, call)) = late.and_then(|id| Some((id, self.calls.get_mut(id)?))) {
            known.id = Some(id.into());
            (call.key, call.known) = (Some(known.key.clone()), block.known as u32);
        }
        (known.shown, known.partial, known.print) = (true, block.partial, block.print);
        let before = block.before.map(|before| &*self.known[before].key);
        effect.and(show(block, text, &self.known[block.known], before, sink))
    }

    /// The message is as it will be: text that is open is done, and if it is `over`, calls that are open will never be.
    pub fn rest(&mut self, over: bool, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for known in self.known.iter().filter(|known| known.shown && known.partial) {
            let state = match KINDS[known.kind].1 {
                RowKind::Tool if !over => continue,
                RowKind::Tool => RowState::Interrupted,
                _ => RowState::Done,
            };
            effect = effect.and(sink.chunk(Chunk::BlockEnd { key: &known.key, state }));
        }
        effect
    }

    /// Forgets what the last array did not have.
    fn forget_vanished(&mut self) {
        let (pass, before) = (self.pass, self.known.len());
        self.known.retain(|known| known.pass == pass);
        if self.known.len() == before {
            return;
        }
        self.places = Default::default();
        for at in 0..self.known.len() {
            self.index(at);
        }
    }

    /// Notes where the known block `at` stands.
    fn index(&mut self, at: usize) {
        let known = &self.known[at];
        match &known.id {
            Some(id) => self.calls.get_mut(id).into_iter().for_each(|call| call.known = at as u32),
            None => {
                let places = &mut self.places[known.kind];
                places.resize(places.len().max(known.place as usize + 1), u32::MAX);
                places[known.place as usize] = at as u32;
            }
        }
    }

    /// The blocks of an array, each with what is known of it; what is not known yet is from now on. A call that comes
    /// twice counts once. True: a block is of no known type.
    fn identify<'a>(&mut self, blocks: Value<'a>) -> (Vec<Said<'a>>, bool) {
        self.pass = self.pass.wrapping_add(1).max(1);
        let (mut said, mut unknown, mut counts) = (Vec::new(), false, [0; KINDS.len()]);
        for value in blocks.items() {
            let name = value.get("type").str();
            let Some(kind) = KINDS.iter().position(|(known, _)| name.is_some_and(|name| name == **known)) else {
                unknown = true;
                continue;
            };
            let id = super::said(value.get("id")).filter(|_| KINDS[kind].1 == RowKind::Tool);
            let place = counts[kind];
            let Some(known) = self.known_as(kind, place, id.as_deref()) else { continue };
            counts[kind] += 1;
            let partial = value.get("partial").bool() == Some(true);
            said.push(Said { value, id, partial, print: print(value), known, before: None });
        }
        (said, unknown)
    }

    /// Which of the known blocks this is. None: it is a call that this array has told of already.
    fn known_as(&mut self, kind: usize, place: u32, id: Option<&str>) -> Option<usize> {
        let pass = self.pass;
        let mut call = id.map(|id| CallId::of(id, &mut self.calls));
        if let Some(call) = &mut call
            && std::mem::replace(&mut call.pass, pass) == pass
        {
            return None;
        }
        let called = call.as_ref().map(|call| call.known as usize);
        let called = called.filter(|at| self.known.get(*at).is_some_and(|known| known.id.as_deref() == id));
        // An id may come late, unless it is another's; one that is known is not lost.
        let is_new = call.as_ref().is_none_or(|call| call.known == u32::MAX);
        let placed = || {
            let at = *self.places[kind].get(place as usize)? as usize;
            self.known.get(at).filter(|known| known.id.is_none()).filter(|_| is_new).map(|_| at)
        };
        if let Some(at) = called.or_else(placed) {
            self.known[at].pass = pass;
            return Some(at);
        }
        let key = match (id, call.and_then(|call| call.key.clone())) {
            (_, Some(key)) => key,
            (Some(id), None) => name(id),
            (None, None) => {
                [&ordered(self.message), ":", &ordered(place), ":", KINDS[kind].0].concat().into_boxed_str()
            }
        };
        let id = id.map(Box::from);
        self.known.push(Known { key, kind, place, id, shown: false, partial: true, print: 0, pass });
        self.index(self.known.len() - 1);
        Some(self.known.len() - 1)
    }
}

/// What a call of this id is called.
fn name(id: &str) -> Box<str> {
    ["call:", id].concat().into()
}

/// A number as a text that stands in order among others.
fn ordered(number: u32) -> String {
    let mut text = number.to_string();
    text.insert(0, char::from(b'a' + text.len() as u8));
    text
}

fn said_name<'a>(block: &Said<'a>) -> Option<Cow<'a, str>> {
    said(block.value.get("name"))
}

/// What a block of text or reasoning says, under any of its names.
fn text<'a>(block: &Said<'a>, kind: RowKind) -> Cow<'a, str> {
    let names: &[&str] = match kind {
        RowKind::Reasoning => &["reasoning", "content", "text", "thinking"],
        RowKind::Text => &["content", "text"],
        _ => &[],
    };
    let text = names.iter().find_map(|name| said(block.value.get(name))).unwrap_or_default();
    if kind != RowKind::Reasoning || memchr::memchr(0, text.as_bytes()).is_none() {
        return text;
    }
    let (mut markers, mut rest, mut plain) = (Markers::default(), &*text, String::new());
    while let Some(piece) = markers.next(&mut rest) {
        if let Piece::Text(text) = piece {
            plain.push_str(&text);
        }
    }
    // What may become a marker is none yet.
    if !block.partial {
        plain.push_str(&markers.flush());
    }
    Cow::Owned(plain)
}

fn show(block: &Said<'_>, text: Cow<'_, str>, known: &Known, before: Option<&str>, sink: &mut dyn ChunkSink) -> Effect {
    let state = if block.partial { RowState::Streaming } else { RowState::Done };
    let mut shown = Block::new(KINDS[known.kind].1, state);
    // A place says nothing to a later message.
    shown.known_as = Some(known.id.as_deref().map(name).unwrap_or_default());
    let name = said_name(block).unwrap_or_default();
    if shown.kind != RowKind::Tool {
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
            call_id: known.id.as_deref(),
            input: Cow::Borrowed(if block.partial { open(input) } else { input }),
            input_done: shown.state == RowState::Pending,
            ..ToolBlock::default()
        });
    }
    sink.chunk(Chunk::Block { key: &known.key, before, block: &shown })
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
