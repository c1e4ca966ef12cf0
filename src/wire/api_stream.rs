//! `api-stream`: the chunks that a coding agent's extension makes of a model's response, one a record, and the block
//! arrays that it makes of those. Reasoning may carry markers (tool-preparing.md): they become the rows that announce
//! a call, and what the response was; none of their NULs reaches a row. The wire has no finish reason: where the stream
//! ends, the response has ended.

use super::block_array::{BlockArray, CallId};
use super::calls::{Call, Fragment};
use super::{Outcome, RecordDecoder, Speaking, error_chunk, retryable, said};
use crate::chunk::{Block, CallNumber, Chunk, ChunkSink, Effect, Finish, Refusal, Usage};
use crate::json::{Half, JsonStr, Raw, Tape, Value};
use crate::limits::Limits;
use crate::row::{Fact, PanelName, RowKind, RowState, message};
use crate::sorted::Sorted;
use crate::text::markers::{Markers, Piece};
use crate::text::parse_preparing_marker;

#[derive(Debug)]
pub(super) struct ApiStream {
    max_open: usize,
    /// A chunk of the response came.
    begun: bool,
    /// An error ended the response.
    errored: bool,
    speaking: Speaking,
    /// Something of this speech went out.
    said: bool,
    /// Half a character of it.
    half: Half,
    markers: Markers,
    calls: Vec<Call>,
    /// What else is known of each of them.
    stages: Vec<Stage>,
    /// Those that the wire has not ended.
    open: Vec<usize>,
    ids: Sorted<CallId>,
    announced: Announced,
    blocks: BlockArray,
    nesting: usize,
    values: usize,
    scratch: String,
}

/// How far a call is.
#[derive(Debug, Default)]
struct Stage {
    /// The count of the last marker about it.
    marked: u64,
    /// The kind of chunk that brings its arguments: the same arguments may come in two kinds.
    source: Option<Source>,
    /// The wire ended it.
    ended: bool,
    /// It has ended the row that announced it.
    started: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Partial,
    Delta,
}

impl ApiStream {
    pub fn new(limits: &Limits) -> Self {
        ApiStream {
            max_open: limits.open_blocks,
            begun: false,
            errored: false,
            speaking: Speaking::Nothing,
            said: false,
            half: Half::default(),
            markers: Markers::default(),
            calls: Vec::new(),
            stages: Vec::new(),
            open: Vec::new(),
            ids: Sorted::default(),
            announced: Announced { rows: Vec::new(), count: 0, max: limits.open_blocks },
            blocks: BlockArray::default(),
            nesting: limits.nesting,
            values: limits.record_values,
            scratch: String::new(),
        }
    }

    /// Reads a chunk. None: it is of no known type.
    fn read(&mut self, kind: &str, value: Value<'_>, sink: &mut dyn ChunkSink) -> Option<Result<Effect, &'static str>> {
        Some(Ok(match kind {
            "text" => return Some(self.speak(Speaking::Text, value.get("text"), sink)),
            "reasoning" => {
                let text = value.get("text");
                let text = if text.exists() { text } else { value.get("reasoning") };
                return Some(self.speak(Speaking::Reasoning, text, sink));
            }
            "thinking_complete" => self.stop_speaking(sink),
            "grounding" => read_sources(value.get("sources"), sink),
            "usage" => read_usage(value, sink),
            "tool_call" | "tool_call_start" | "tool_call_delta" | "tool_call_end" | "tool_call_partial" => {
                self.read_call(kind, value, sink)
            }
            "tool_preparing" => {
                let bytes = value.get("byteCount");
                let bytes = bytes.u64().or_else(|| bytes.str()?.raw().parse().ok());
                match said(value.get("toolName")) {
                    Some(name) => self.announce(&name, bytes, sink),
                    None => Effect::None,
                }
            }
            "response_metadata" => self.read_metadata(value, sink),
            "error" => self.fail(value, sink),
            _ => return None,
        }))
    }

    fn speak(&mut self, speaking: Speaking, text: Value<'_>, sink: &mut dyn ChunkSink) -> Result<Effect, &'static str> {
        let Some(text) = text.str().filter(|text| !text.is_empty()) else { return Ok(Effect::None) };
        let mut stopped = Effect::None;
        if self.speaking != speaking {
            stopped = self.stop_speaking(sink);
            self.speaking = speaking;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let plain = decode(text, &mut self.half, &mut scratch);
        let said = self.say(plain, sink);
        self.scratch = scratch;
        said.map(|effect| stopped.and(effect))
    }

    /// Hands out decoded text of what is spoken; what is wrong with a marker in it is an error.
    fn say(&mut self, mut text: &str, sink: &mut dyn ChunkSink) -> Result<Effect, &'static str> {
        let mut outcome = Ok(Effect::None);
        if self.speaking == Speaking::Text && !text.is_empty() {
            self.said = true;
            return Ok(sink.chunk(Chunk::Text { choice: 0, text }));
        }
        while let Some(piece) = self.markers.next(&mut text) {
            let effect = match piece {
                Piece::Text(text) => {
                    (self.speaking, self.said) = (Speaking::Reasoning, true);
                    sink.chunk(Chunk::Reasoning { choice: 0, text: &text })
                }
                Piece::Preparing { marker } => match parse_preparing_marker(&marker) {
                    Some((name, bytes)) => self.announce(name, Some(bytes), sink),
                    None => Effect::None,
                },
                Piece::Metadata { marker } => {
                    let mut tape = Tape::with_caps(self.nesting, self.values);
                    match tape.read(Piece::metadata(&marker)) {
                        Ok(record) => self.read_metadata(record.root(), sink),
                        Err(_) => {
                            outcome = Err("metadata");
                            Effect::None
                        }
                    }
                }
            };
            outcome = outcome.map(|before| before.and(effect));
        }
        outcome
    }

    /// What is spoken closes: half a character stands alone, half a marker is none.
    fn stop_speaking(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let mut rest = String::new();
        self.half.flush(&mut rest);
        let said = self.say(&rest, sink).unwrap_or(Effect::None);
        let held = self.markers.flush();
        self.speaking = Speaking::Nothing;
        self.said = false;
        if held.is_empty() { said } else { said.and(sink.chunk(Chunk::Reasoning { choice: 0, text: &held })) }
    }

    fn read_call(&mut self, kind: &str, value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let arguments = value.get(if kind == "tool_call_delta" { "delta" } else { "arguments" });
        let fragment = Fragment::read(value, value.get("name"), arguments, 0);
        let known = fragment.id.as_deref().and_then(|id| self.ids.get(id)).map(|known| known.known as usize);
        let found = match &fragment.id {
            _ if known.is_some() => known,
            _ if kind == "tool_call_partial" => self.route(&fragment),
            Some(_) => None,
            None if kind == "tool_call" || kind == "tool_call_start" => None,
            None => self.calls.len().checked_sub(1),
        };
        if kind == "tool_call_end" {
            let Some(place) = found else { return Effect::None };
            let flushed = self.flush_call(place, sink);
            return flushed.and(self.end_call(place, sink));
        }
        let mut effect = Effect::None;
        let place = match found {
            Some(place) => place,
            None => {
                if kind != "tool_call" && self.open.len() >= self.max_open {
                    return Effect::Refused(Refusal::OpenBlocks);
                }
                effect = self.stop_speaking(sink);
                self.calls.push(fragment.call());
                self.stages.push(Stage::default());
                self.open.push(self.calls.len() - 1);
                self.calls.len() - 1
            }
        };
        let call = CallNumber(place as u32);
        let (id, name) = self.calls[place].learn(&fragment);
        if let Some(id) = id {
            CallId::of(id, &mut self.ids).known = place as u32;
        }
        if found.is_none() {
            effect = effect.and(sink.chunk(Chunk::ToolStart { choice: 0, call, id, name }));
        } else if id.is_some() || name.is_some() {
            effect = effect.and(sink.chunk(Chunk::ToolNamed { call, id, name }));
        }
        let stage = &mut self.stages[place];
        if (found.is_none() || name.is_some())
            && !stage.started
            && let Some(marked) = self.announced.start(self.calls[place].name.as_deref(), sink)
        {
            (stage.started, stage.marked) = (true, marked);
            effect = effect.and(Effect::Changed);
        }
        // Whole arguments are a string or, in some hands, an object.
        let whole = if arguments.is_object() { arguments.raw() } else { "" };
        let text = arguments.str().unwrap_or(JsonStr::new(whole, false));
        if kind == "tool_call" {
            if !text.is_empty() {
                self.calls[place].has_arguments = true;
                self.calls[place].half = Half::default();
                effect = effect.and(sink.chunk(Chunk::ToolInput { call, text: &text.text() }));
            }
            return effect.and(self.end_call(place, sink));
        }
        if text.is_empty() {
            return effect;
        }
        let source = if kind == "tool_call_partial" { Source::Partial } else { Source::Delta };
        if *stage.source.get_or_insert(source) != source {
            return effect;
        }
        if stage.ended {
            return Effect::Refused(Refusal::ArgumentsAfterEnd);
        }
        let known = &mut self.calls[place];
        known.has_arguments = true;
        let text = decode(text, &mut known.half, &mut self.scratch);
        if text.is_empty() { effect } else { effect.and(sink.chunk(Chunk::ToolArguments { call, text })) }
    }

    /// The call that a raw fragment belongs to, among those that began last.
    fn route(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let from = self.calls.len().saturating_sub(self.max_open);
        fragment.route(&self.calls[from..]).map(|place| from + place)
    }

    /// The wire ended the call.
    fn end_call(&mut self, place: usize, sink: &mut dyn ChunkSink) -> Effect {
        self.stages[place].ended = true;
        self.open.retain(|open| *open != place);
        sink.chunk(Chunk::ToolEnd { call: CallNumber(place as u32) })
    }

    /// A marker. A call that has its own row needs none to announce it; the marker is about whatever of its name has the
    /// greatest count not above its own.
    fn announce(&mut self, name: &str, bytes: Option<u64>, sink: &mut dyn ChunkSink) -> Effect {
        let row = self.announced.find(name, bytes);
        let mut found = None;
        for place in self.open.iter().copied() {
            let marked = self.stages[place].marked;
            let fits = self.calls[place].name.as_deref() == Some(name) && bytes.is_none_or(|bytes| marked <= bytes);
            let better = |than: Option<u64>| than.is_none_or(|than| than < marked);
            if fits
                && better(row.map(|row| self.announced.rows[row].bytes))
                && better(found.map(|found: usize| self.stages[found].marked))
            {
                found = Some(place);
            }
        }
        match found {
            Some(place) => {
                self.stages[place].marked = bytes.unwrap_or(self.stages[place].marked);
                Effect::None
            }
            None => self.announced.announce(row, name, bytes, sink),
        }
    }

    /// Half a character at the end of arguments stands alone.
    fn flush_call(&mut self, place: usize, sink: &mut dyn ChunkSink) -> Effect {
        let mut rest = String::new();
        let call = CallNumber(place as u32);
        match self.calls[place].half.flush(&mut rest) {
            true => sink.chunk(Chunk::ToolArguments { call, text: &rest }),
            false => Effect::None,
        }
    }

    /// What the response was.
    fn read_metadata(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let tokens = Usage {
            input_tokens: value.get("promptTokens").u64(),
            output_tokens: value.get("completionTokens").u64(),
            ..Usage::default()
        };
        let mut effect = sink.chunk(Chunk::Usage(tokens)).and(show_number("cost", value.get("costUsd"), sink));
        if let Some(model) = said(value.get("actualModel")).or_else(|| said(value.get("model"))) {
            let value = Raw::written(|json| json.string(&model));
            effect = effect.and(sink.chunk(Chunk::Panel { panel: PanelName::Usage, name: "model", value: &value }));
        }
        let error = value.get("error");
        if !error.is_null() && error.bool() != Some(false) && error.str().is_none_or(|text| !text.is_empty()) {
            effect = effect.and(self.end_all(sink)).and(error_chunk(error, sink));
        }
        effect
    }

    fn fail(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let ended = self.end_all(sink);
        let (error, message) = (value.get("error"), said(value.get("message")));
        let code = said(error).filter(|_| message.is_some());
        ended.and(match message {
            Some(message) if !error.is_object() => sink.chunk(Chunk::Error {
                message: &message,
                code: code.as_deref(),
                retryable: code.as_deref().and_then(retryable),
            }),
            None if !error.is_null() => error_chunk(error, sink),
            None => sink.chunk(Chunk::Error { message: "", code: None, retryable: None }),
            Some(_) => error_chunk(value, sink),
        })
    }

    /// An error ends what is open.
    fn end_all(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        self.errored = true;
        let effect = self.stop_speaking(sink).and(self.announced.end(sink));
        effect.and(self.flush_calls(sink))
    }

    fn flush_calls(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for place in 0..self.open.len() {
            effect = effect.and(self.flush_call(self.open[place], sink));
        }
        effect
    }
}

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    const KINDS: [&str; 13] = [
        "text",
        "usage",
        "reasoning",
        "thinking_complete",
        "grounding",
        "tool_call",
        "tool_call_start",
        "tool_call_delta",
        "tool_call_end",
        "tool_call_partial",
        "tool_preparing",
        "response_metadata",
        "assistantMessageContent",
    ];
    let named = value.get("type").str().is_some_and(|kind| KINDS.iter().any(|known| kind == **known));
    let block = value.at(0).get("type").str();
    let blocks = block.is_some_and(|kind| ["text", "tool_use", "reasoning"].iter().any(|known| kind == **known));
    (named || blocks || value.get("assistantMessageContent").is_array()) && value.get("ts").is_null()
}

impl RecordDecoder for ApiStream {
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        const BLOCKS: &str = "assistantMessageContent";
        let kind = value.get("type").str().map(JsonStr::text).unwrap_or_default();
        let blocks = match &*kind {
            BLOCKS => value.get("blocks"),
            _ if value.is_array() => value,
            _ => value.get(BLOCKS),
        };
        let effect = if blocks.is_array() || kind == BLOCKS {
            let announced = &mut self.announced;
            let mut starts = |name: Option<&str>, sink: &mut dyn ChunkSink| announced.start(name, sink).is_some();
            let (effect, unknown) = self.blocks.read(blocks, sink, &mut starts);
            if unknown && !matches!(effect, Effect::Refused(_)) {
                return Outcome::Skipped;
            }
            effect
        } else {
            match self.read(&kind, value, sink) {
                None => return Outcome::Skipped,
                Some(read) => {
                    self.begun = true;
                    match read {
                        Ok(effect) => effect,
                        Err(reason) => return Outcome::Faulted(reason),
                    }
                }
            }
        };
        effect.into()
    }

    fn work(&self) -> u64 {
        self.blocks.work() + self.ids.work()
    }

    fn finish(&mut self, sink: &mut dyn ChunkSink) {
        self.flush_calls(sink);
        self.announced.end(sink);
        // What is held of speech that has no row yet is none: where the next pass over the stream closes it decides
        // whether it is a marker after all, and its place.
        if self.said {
            self.stop_speaking(sink);
        }
        self.markers = Markers::default();
        self.half = Half::default();
    }

    fn end(&mut self, sink: &mut dyn ChunkSink) {
        self.stop_speaking(sink);
        if self.errored {
            return;
        }
        for place in &self.open {
            sink.chunk(Chunk::ToolUnended { call: CallNumber(*place as u32) });
        }
        self.blocks.rest(false, sink);
        if self.begun {
            sink.chunk(Chunk::MessageEnd { choice: 0, finish: Finish::Complete });
        }
    }
}

/// The rows that announce a call. Nothing on the wire says which marker belongs to which, so counts that grow do.
#[derive(Debug)]
struct Announced {
    /// The oldest first.
    rows: Vec<Preparing>,
    /// Rows so far.
    count: u32,
    max: usize,
}

#[derive(Debug)]
struct Preparing {
    key: Box<str>,
    name: Box<str>,
    bytes: u64,
}

impl Announced {
    /// The row of this name with the greatest count not above this one.
    fn find(&self, name: &str, bytes: Option<u64>) -> Option<usize> {
        let mut found = None;
        for (place, row) in self.rows.iter().enumerate() {
            let fits = *row.name == *name && bytes.is_none_or(|bytes| row.bytes <= bytes);
            if fits && found.is_none_or(|found: usize| self.rows[found].bytes < row.bytes) {
                found = Some(place);
            }
        }
        found
    }

    /// What a marker says of the row that was found, or of a new one.
    fn announce(&mut self, found: Option<usize>, name: &str, bytes: Option<u64>, sink: &mut dyn ChunkSink) -> Effect {
        let row = match found {
            Some(place) => {
                let row = &mut self.rows[place];
                if bytes.is_none_or(|bytes| row.bytes == bytes) {
                    return Effect::None;
                }
                row
            }
            None => {
                if self.rows.len() >= self.max {
                    return Effect::Refused(Refusal::OpenBlocks);
                }
                let key = ["preparing:", &self.count.to_string()].concat().into();
                self.count += 1;
                self.rows.push(Preparing { key, name: name.into(), bytes: 0 });
                let last = self.rows.len() - 1;
                &mut self.rows[last]
            }
        };
        row.bytes = bytes.unwrap_or(0);
        let mut block = Block::new(RowKind::ToolPreparing, RowState::Preparing);
        block.facts.push((Fact::Message, message("toolPreparing.preparing", &[("name", name)])));
        block.bytes = Some(row.bytes);
        sink.chunk(Chunk::Block { key: &row.key, before: None, block: &block })
    }

    /// A call starts: it ends the oldest row of its name, else the only one. The count of that, if there was one.
    fn start(&mut self, name: Option<&str>, sink: &mut dyn ChunkSink) -> Option<u64> {
        let named = self.rows.iter().position(|row| Some(&*row.name) == name);
        let place = named.or_else(|| (self.rows.len() == 1).then_some(0))?;
        // Not taken away: a replay of the stream must not bring it back.
        let row = self.rows.remove(place);
        sink.chunk(Chunk::BlockEnd { key: &row.key, state: RowState::Done });
        Some(row.bytes)
    }

    /// No announced call will start.
    fn end(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for row in self.rows.drain(..) {
            effect = effect.and(sink.chunk(Chunk::Remove { key: &row.key, time: None }));
        }
        effect
    }
}

fn read_sources(sources: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let mut effect = Effect::None;
    for source in sources.items() {
        if let Some(url) = said(source).or_else(|| said(source.get("url"))) {
            let title = said(source.get("title"));
            effect = effect.and(sink.chunk(Chunk::Source { choice: 0, url: &url, title: title.as_deref() }));
        }
    }
    effect
}

fn read_usage(value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let tokens = Usage {
        input_tokens: value.get("inputTokens").u64(),
        output_tokens: value.get("outputTokens").u64(),
        total_tokens: None,
        reasoning_tokens: value.get("reasoningTokens").u64(),
        cached_tokens: value.get("cacheReadTokens").u64(),
    };
    let tokens = sink.chunk(Chunk::Usage(tokens));
    let written = show_number("cacheWriteTokens", value.get("cacheWriteTokens"), sink);
    tokens.and(written).and(show_number("cost", value.get("totalCost"), sink))
}

/// Shows a number of the usage panel, if it is one that every reader of JSON can hold.
fn show_number(name: &'static str, value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    const LONGEST: usize = 32;
    let number = value.number().filter(|number| number.len() <= LONGEST && !number.starts_with('-'));
    let small = |number: &&str| match number.find(['e', 'E']) {
        Some(place) => number.get(place + 1..).is_some_and(|power| power.starts_with('-')),
        None => true,
    };
    match number.filter(small) {
        Some(number) => {
            let value = Raw::written(|json| json.raw(number));
            sink.chunk(Chunk::Panel { panel: PanelName::Usage, name, value: &value })
        }
        None => Effect::None,
    }
}

/// The text of a string, after the half of a character before it.
fn decode<'a>(text: JsonStr<'a>, half: &mut Half, scratch: &'a mut String) -> &'a str {
    match text.borrowed(*half) {
        Some(plain) => plain,
        None => {
            scratch.clear();
            text.decode_into(scratch, half);
            scratch
        }
    }
}
