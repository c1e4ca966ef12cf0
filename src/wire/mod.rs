//! From bytes to chunks: one file a wire format, and what they share. [`Input`] is one stream's reading state: it
//! decides the framing, finds records however they are cut, hands them to the format's decoder and keeps count.

#[cfg(feature = "acp")]
mod acp;
#[cfg(feature = "agent-events")]
mod agent_events;
#[cfg(feature = "api-stream")]
mod api_stream;
mod auto;
#[cfg(feature = "api-stream")]
mod block_array;
mod calls;
#[cfg(feature = "conversion")]
mod conversion;
mod format;
#[cfg(not(feature = "openai-chat"))]
mod no_shortcut;
#[cfg(feature = "openai-chat")]
mod openai_chat;
#[cfg(feature = "say")]
mod say;
mod sse;
#[cfg(feature = "task-stream")]
mod task_stream;
mod template;
mod values;

use std::borrow::Cow;

use crate::chunk::{CallNumber, Chunk, ChunkSink, Effect, Usage};
use crate::fault::{EXCERPT_BYTES, Fault, Tally};
use crate::json::{JsonStr, Raw, Tape, Value, skip_space};
use crate::limits::Limits;
use crate::row::PanelName;
use auto::Held;
#[cfg(feature = "conversion")]
pub use conversion::{CompletionOptions, CompletionStyle, Conversion};
pub use format::Format;
#[cfg(not(feature = "openai-chat"))]
use no_shortcut::OpenAiChat;
#[cfg(feature = "openai-chat")]
use openai_chat::OpenAiChat;
use sse::{Frame, Sse};
#[cfg(feature = "task-stream")]
pub(crate) use task_stream::error_words;
use template::{Shape, Templates};
use values::{Piece, Values};

/// Takes what one stream's input brings.
pub(crate) trait StreamSink: ChunkSink {
    /// Takes a fault. Its stream number is filled in by the sink.
    fn fault(&mut self, fault: Fault);
    /// The stream failed in a way that is no part of its wire: a replay knows nothing of it.
    fn fail(&mut self, message: &str, code: &str, retryable: Option<bool>);
    /// The first record was read.
    fn begin(&mut self);
    /// A record was lost, or read with gaps.
    fn gap(&mut self);
}

/// What became of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Applied,
    NoOp,
    Skipped,
    Faulted(&'static str),
}

impl From<Effect> for Outcome {
    fn from(effect: Effect) -> Outcome {
        match effect {
            Effect::None => Outcome::NoOp,
            Effect::Changed => Outcome::Applied,
            Effect::Refused(refusal) => Outcome::Faulted(refusal.code()),
        }
    }
}

/// One text of a stream that deltas are appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Text { choice: u32 },
    Reasoning { choice: u32 },
    Arguments { call: CallNumber },
}

impl Target {
    fn chunk(self, text: &str) -> Chunk<'_> {
        match self {
            Target::Text { choice } => Chunk::Text { choice, text },
            Target::Reasoning { choice } => Chunk::Reasoning { choice, text },
            Target::Arguments { call } => Chunk::ToolArguments { call, text },
        }
    }
}

/// A format whose records are read one by one, each in its whole.
pub(crate) trait RecordDecoder {
    /// Reads one record.
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome;
    /// No more input comes.
    fn finish(&mut self, sink: &mut dyn ChunkSink);
    /// And that was its end: nothing broke it off. For a format without an end marker of its own.
    fn end(&mut self, _sink: &mut dyn ChunkSink) {}
    /// What comes now repeats the latest turn from its start. False: the format has no turns.
    fn restart_turn(&mut self) -> bool {
        false
    }
    /// Reads a page of what went before all there is.
    fn history(&mut self, _page: Value<'_>, _sink: &mut dyn ChunkSink) -> Outcome {
        Outcome::Skipped
    }
    /// What it has looked at beyond the bytes of its records, once each.
    fn work(&self) -> u64 {
        0
    }
}

/// A format: resumable state from record to record. One that has a shortcut for records of one shape.
pub(crate) trait Decoder {
    /// Reads one record. The shape says that it did one append and nothing else.
    fn record(&mut self, value: Value<'_>, sink: &mut impl ChunkSink) -> (Outcome, Option<Shape>);
    /// One append of which the record is known already.
    fn append(&mut self, target: Target, text: JsonStr<'_>, sink: &mut impl ChunkSink) -> Effect;
    /// What a usage object says.
    fn usage(&self, usage: Value<'_>) -> Usage;
    /// A number that changes whenever equal bytes could mean another append than before.
    fn routing(&self) -> u32;
    /// The input ended.
    fn finish(&mut self, sink: &mut impl ChunkSink);
}

/// Input is taken in slices of this size, so that what is held stays small.
const SLICE_BYTES: usize = 64 << 10;

/// One stream's reading state.
#[derive(Debug)]
pub(crate) struct Input {
    limits: Limits,
    framing: Framing,
    reader: Reader,
}

#[derive(Debug)]
enum Framing {
    /// Nothing but a byte order mark and spaces so far; how many bytes of the mark.
    Undecided {
        mark: usize,
    },
    Events(Sse),
    Values(Values),
}

/// What is behind the framing.
#[derive(Debug)]
struct Reader {
    decoder: Decoders,
    tape: Tape,
    usage_tape: Tape,
    templates: Templates,
    tally: Tally,
    max_record: usize,
    /// Offset of the next byte.
    offset: u64,
    /// The decoder has seen a record.
    read: bool,
    /// The stream ended; what comes is late.
    late: bool,
    /// `[DONE]` came.
    done: bool,
    /// Broken input before the first record: the start of a stream, or a body that is none.
    preamble: Preamble,
    /// The start of the first record that was wrong, to be shown if nothing else comes.
    first_wrong: Option<String>,
    /// The last line was a stray one, already counted.
    in_stray: bool,
}

/// What a response is saying.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Speaking {
    #[default]
    Nothing,
    Text,
    Reasoning,
}

/// The decoder of the stream's format.
enum Decoders {
    #[cfg_attr(not(feature = "openai-chat"), expect(dead_code, reason = "no format has a shortcut"))]
    Shortcut(OpenAiChat),
    Plain(Box<dyn RecordDecoder>),
    Undecided(Box<Held>),
}

impl std::fmt::Debug for Decoders {
    // A derived one would carry every decoder's into the module, by way of the trait object.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

impl Decoders {
    fn new(format: Format, limits: &Limits) -> Self {
        match format {
            #[cfg(feature = "openai-chat")]
            Format::OpenAiChat => Decoders::Shortcut(OpenAiChat::new(limits.open_blocks)),
            #[cfg(feature = "say")]
            Format::Say => Decoders::Plain(Box::new(say::Say::new(limits))),
            #[cfg(feature = "api-stream")]
            Format::ApiStream => Decoders::Plain(Box::new(api_stream::ApiStream::new(limits))),
            #[cfg(feature = "acp")]
            Format::Acp => Decoders::Plain(Box::new(acp::Acp::new(limits))),
            #[cfg(feature = "task-stream")]
            Format::TaskStream => Decoders::Plain(Box::new(task_stream::TaskStream::new(limits))),
            #[cfg(feature = "agent-events")]
            Format::AgentEvents => Decoders::Plain(Box::new(agent_events::AgentEvents::new(limits))),
            Format::Auto => Decoders::Undecided(Box::new(Held::new(limits))),
        }
    }

    fn record(&mut self, value: Value<'_>, sink: &mut impl ChunkSink) -> (Outcome, Option<Shape>) {
        match self {
            Decoders::Shortcut(decoder) => decoder.record(value, sink),
            Decoders::Plain(decoder) => (decoder.record(value, sink), None),
            Decoders::Undecided(_) => (Outcome::Skipped, None),
        }
    }

    fn finish(&mut self, sink: &mut impl ChunkSink) {
        match self {
            Decoders::Shortcut(decoder) => decoder.finish(sink),
            Decoders::Plain(decoder) => decoder.finish(sink),
            Decoders::Undecided(_) => {}
        }
    }
}

#[derive(Debug, Default)]
struct Preamble {
    faults: Vec<Fault>,
    count: u64,
}

impl Input {
    fn new(format: Format, limits: &Limits) -> Self {
        let decoder = Decoders::new(format, limits);
        let tape = || Tape::with_caps(limits.nesting, limits.record_values);
        Input {
            limits: *limits,
            framing: Framing::Undecided { mark: 0 },
            reader: Reader {
                decoder,
                tape: tape(),
                usage_tape: tape(),
                templates: Templates::default(),
                tally: Tally::default(),
                max_record: limits.record_bytes,
                offset: 0,
                read: false,
                late: false,
                done: false,
                preamble: Preamble::default(),
                first_wrong: None,
                in_stray: false,
            },
        }
    }

    /// Turns the shortcut of the hot path off.
    pub fn without_shortcut(&mut self) {
        self.reader.templates = Templates::off();
    }

    pub fn tally(&self) -> Tally {
        let Reader { tally, templates, decoder, .. } = &self.reader;
        let work = if let Decoders::Plain(decoder) = decoder { decoder.work() } else { 0 };
        Tally { shortcuts: templates.matches, work: tally.work + work, ..*tally }
    }

    /// A reading state that goes on counting from `tally`. `late`: the stream ended.
    pub fn boxed(format: Format, limits: &Limits, tally: Tally, late: bool) -> Box<Input> {
        let mut input = Box::new(Input::new(format, limits));
        input.reader.templates.matches = tally.shortcuts;
        input.reader.tally = tally;
        input.reader.late = late;
        input
    }

    /// Bytes of the wire, cut anywhere.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl StreamSink) {
        for slice in bytes.chunks(SLICE_BYTES) {
            self.push_slice(slice, sink);
        }
    }

    /// One whole record.
    pub fn message(&mut self, json: &[u8], sink: &mut impl StreamSink) {
        let reader = &mut self.reader;
        reader.count_bytes(json.len());
        reader.record(json, reader.offset, sink);
        reader.offset += json.len() as u64;
    }

    /// What comes now repeats the latest turn from its start; half a record that was held is dropped. False: the format
    /// has no turns.
    pub fn restart_turn(&mut self) -> bool {
        self.framing = Framing::Undecided { mark: 0 };
        match &mut self.reader.decoder {
            Decoders::Plain(decoder) => decoder.restart_turn(),
            _ => false,
        }
    }

    /// A page of what went before all there is: one record.
    pub fn history(&mut self, json: &[u8], sink: &mut impl StreamSink) {
        let reader = &mut self.reader;
        // What is asked for is never late.
        let late = std::mem::take(&mut reader.late);
        reader.count_bytes(json.len());
        let text = String::from_utf8_lossy(json);
        reader.tally.work += json.len() as u64;
        let outcome = match (reader.tape.read(&text), &mut reader.decoder) {
            (Ok(record), Decoders::Plain(decoder)) => decoder.history(record.root(), sink),
            (Ok(_), _) => Outcome::Skipped,
            (Err(_), _) => Outcome::Faulted("json"),
        };
        reader.count(outcome, json, reader.offset, sink);
        reader.offset += json.len() as u64;
        reader.late = late;
    }

    /// The input ended: what is held is read as it is. What comes from now on is late.
    pub fn finish(&mut self, sink: &mut impl StreamSink) {
        let (late, faulted) = (self.reader.late, self.reader.tally.faulted);
        self.close(sink);
        if !late {
            // An input that broke off inside a record has not come to its end.
            let whole = self.reader.tally.faulted == faulted;
            if let Decoders::Plain(decoder) = &mut self.reader.decoder
                && whole
            {
                decoder.end(sink);
            }
            self.reader.end_without_record(sink);
        }
    }

    /// Reads what is held as it is; what comes from now on is late.
    pub fn close(&mut self, sink: &mut impl StreamSink) {
        let Input { framing, reader, .. } = self;
        match framing {
            Framing::Undecided { .. } => {}
            Framing::Events(sse) => sse.finish(&mut |frame, at| reader.frame(frame, at, sink)),
            Framing::Values(values) => values.finish(&mut |piece, at| reader.piece(piece, at, sink)),
        }
        if reader.late {
            return;
        }
        reader.give_up(sink);
        reader.decoder.finish(sink);
        reader.late = true;
    }

    /// Whether the wire's own end marker came.
    pub fn is_done(&self) -> bool {
        self.reader.done
    }

    /// The body of a response with an error status.
    pub fn error_body(&mut self, status: u16, body: &str, sink: &mut impl StreamSink) {
        let code = status.to_string();
        let value = self.reader.tape.read(body.trim_start_matches('\u{feff}'));
        let message = value.ok().map(|record| error_said(record.root()));
        // Words that are no page.
        let plain = body.trim();
        let plain = if plain.starts_with('<') { "" } else { shown(plain) };
        sink.fail(message.as_deref().unwrap_or(plain), &code, retryable(&code));
    }

    /// The stream was aborted: what is held will never be whole.
    pub fn abort(&mut self, sink: &mut impl StreamSink) {
        self.reader.tell_preamble(sink);
        self.reader.give_up(sink);
        self.reader.late = true;
    }

    fn push_slice(&mut self, bytes: &[u8], sink: &mut impl StreamSink) {
        self.reader.count_bytes(bytes.len());
        let mut at = 0;
        if let Framing::Undecided { mark } = &mut self.framing {
            const MARK: &[u8] = b"\xEF\xBB\xBF";
            while let Some(&byte) = bytes.get(at) {
                if *mark < MARK.len() && byte == MARK[*mark] && self.reader.offset < 3 {
                    *mark += 1;
                } else if !byte.is_ascii_whitespace() {
                    break;
                }
                at += 1;
                self.reader.offset += 1;
            }
            let Some(&first) = bytes.get(at) else { return };
            let max = self.limits.record_bytes;
            self.framing = match first {
                b'{' | b'[' => Framing::Values(Values::new(max, self.limits.nesting, self.reader.offset)),
                _ => Framing::Events(Sse::new(max, self.reader.offset)),
            };
        }
        let reader = &mut self.reader;
        match &mut self.framing {
            Framing::Undecided { .. } => {}
            Framing::Events(sse) => {
                while at < bytes.len() {
                    if sse.is_between_events() {
                        let taken = reader.shortcut(&bytes[at..], sink);
                        sse.took(taken);
                        at += taken;
                        if let Some(event) = sse.whole_event(bytes, at, &mut reader.tally.work) {
                            let start = reader.offset + (event.line - at) as u64;
                            let shape = reader.record(&bytes[event.payload.clone()], start, sink);
                            if let Some(shape) = shape {
                                let place = event.payload.start - at..event.payload.end - at;
                                reader.templates.learn(&bytes[at..event.end], place, shape);
                            }
                            reader.in_stray = false;
                            reader.advance(event.end - at);
                            sse.took(event.end - at);
                            at = event.end;
                            continue;
                        }
                    }
                    let used = sse.advance(&bytes[at..], &mut |frame, start| reader.frame(frame, start, sink));
                    reader.advance(used);
                    at += used;
                }
            }
            Framing::Values(values) => {
                // The text from here to the line's end, found once a line: many values may stand on one.
                let mut line = Line::default();
                while at < bytes.len() {
                    if values.is_between_values() {
                        let space = skip_space(bytes, at) - at;
                        reader.advance(space);
                        values.took(space);
                        at += space;
                        let taken = reader.shortcut(&bytes[at..], sink);
                        let text = line.rest(bytes, at + taken, &mut reader.tally.work);
                        let whole = text.map_or(0, |text| reader.whole_value(text, sink));
                        reader.advance(whole);
                        values.took(taken + whole);
                        at += taken + whole;
                        if space + taken + whole > 0 {
                            continue;
                        }
                    }
                    let used = values.advance(&bytes[at..], &mut |piece, start| reader.piece(piece, start, sink));
                    reader.advance(used);
                    at += used;
                }
            }
        }
    }
}

/// A line of a slice, as text.
#[derive(Default)]
struct Line<'a> {
    start: usize,
    end: usize,
    /// None where the line is not whole or no text.
    text: Option<&'a str>,
}

impl<'a> Line<'a> {
    /// The text from `at` to the end of its line, if that is in `bytes` and an object may start it.
    fn rest(&mut self, bytes: &'a [u8], at: usize, work: &mut u64) -> Option<&'a str> {
        if at >= self.end {
            let len = memchr::memchr(b'\n', &bytes[at..]);
            self.start = at;
            self.end = len.map_or(bytes.len(), |len| at + len);
            *work += (self.end - at) as u64;
            self.text = len.and_then(|len| std::str::from_utf8(&bytes[at..at + len]).ok());
        }
        self.text?.get(at - self.start..).filter(|text| text.starts_with('{'))
    }
}

impl Reader {
    fn count_bytes(&mut self, bytes: usize) {
        self.tally.bytes += bytes as u64;
        if self.late {
            self.tally.late_bytes += bytes as u64;
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.offset += bytes as u64;
        self.tally.work += bytes as u64;
    }

    /// Reads as many events as templates match; returns their length.
    fn shortcut(&mut self, bytes: &[u8], sink: &mut impl StreamSink) -> usize {
        if self.late {
            return 0;
        }
        let mut at = 0;
        loop {
            let Decoders::Shortcut(decoder) = &mut self.decoder else { return 0 };
            let usage_tape = &mut self.usage_tape;
            // Read once to find its end; the value is used right below.
            let usage_end = |rest: &[u8]| {
                let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                let text = std::str::from_utf8(&rest[..end]).ok()?;
                rest.starts_with(b"{").then(|| usage_tape.index(text, 0).ok()).flatten()
            };
            let found = self.templates.find(&bytes[at..], decoder.routing(), usage_end);
            let Some(found) = found.filter(|found| found.record.len() <= self.max_record) else {
                return at;
            };
            let mut effect = decoder.append(found.target, found.text, sink);
            if let Some(text) = found.usage {
                let usage = decoder.usage(self.usage_tape.record(text).root());
                effect = effect.and(sink.chunk(Chunk::Usage(usage)));
            }
            let (record, start) = (&bytes[at..at + found.len][found.record], self.offset);
            self.count(effect.into(), record, start, sink);
            self.in_stray = false;
            self.advance(found.len);
            at += found.len;
        }
    }

    /// Reads the value at the start of a line; returns its length, 0 where the slow way has to look.
    fn whole_value(&mut self, line: &str, sink: &mut impl StreamSink) -> usize {
        let Some(end) = self.tape.index(line, 0).ok().filter(|end| *end <= self.max_record) else { return 0 };
        let (start, value) = (self.offset, line.get(..end).unwrap_or_default());
        if let Some(shape) = self.read_indexed(value, value.as_bytes(), start, sink) {
            self.templates.learn(value.as_bytes(), 0..end, shape);
        }
        end
    }

    fn frame(&mut self, frame: Frame<'_>, start: u64, sink: &mut impl StreamSink) {
        let stray = matches!(frame, Frame::Stray(line) if !line.starts_with(b"{"));
        match frame {
            Frame::Payload(payload) => drop(self.record(payload, start, sink)),
            Frame::Stray(line) if !stray => drop(self.record(line, start, sink)),
            Frame::Stray(line) => {
                if !self.in_stray {
                    self.broken(line, start, "not-a-record", sink);
                }
            }
            Frame::TooLong(payload) => self.count(Outcome::Faulted("too-long"), payload, start, sink),
            Frame::Ping => self.tally.pings += 1,
            Frame::Blank => {}
        }
        self.in_stray = stray;
    }

    fn piece(&mut self, piece: Piece<'_>, start: u64, sink: &mut impl StreamSink) {
        match piece {
            Piece::Value(value) => drop(self.record(value, start, sink)),
            Piece::Broken(line, reason) => self.broken(line, start, reason, sink),
            Piece::TooLong(value) => self.count(Outcome::Faulted("too-long"), value, start, sink),
            Piece::Done => self.done = true,
        }
    }

    /// Reads one record.
    fn record(&mut self, bytes: &[u8], start: u64, sink: &mut impl StreamSink) -> Option<Shape> {
        let trimmed = bytes.trim_ascii();
        if trimmed.is_empty() {
            self.tally.pings += 1;
            return None;
        }
        if trimmed == b"[DONE]" {
            self.done = true;
            return None;
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        self.tally.work += bytes.len() as u64;
        match self.tape.read(&text) {
            Ok(_) => self.read_indexed(&text, bytes, start, sink),
            Err(error) => {
                self.count(Outcome::Faulted(error.kind.reason()), bytes, start, sink);
                None
            }
        }
    }

    /// Decides which format the stream has, if the record that the tape holds shows it; else the record is held.
    fn decide(&mut self, text: &str, start: u64, sink: &mut impl StreamSink) -> bool {
        let Decoders::Undecided(held) = &mut self.decoder else { return true };
        let Some(format) = auto::fitting(self.tape.record(text).root()) else {
            if !held.keep(text, start) {
                self.give_up(sink);
            }
            return false;
        };
        let (records, limits) = (held.take(), held.limits);
        self.decoder = Decoders::new(format, &limits);
        for (record, start) in records {
            if self.tape.read(&record).is_ok() {
                self.read_indexed(&record, record.as_bytes(), start, sink);
            }
        }
        self.tape.read(text).is_ok()
    }

    /// No format is known for what is held.
    fn give_up(&mut self, sink: &mut impl StreamSink) {
        let Decoders::Undecided(held) = &mut self.decoder else { return };
        for (record, start) in held.take() {
            if let (None, Ok(read)) = (&self.first_wrong, self.tape.read(&record)) {
                self.first_wrong = Some(error_said(read.root()));
            }
            self.count(Outcome::Faulted("format-undecided"), record.as_bytes(), start, sink);
        }
    }

    /// Hands the record that the tape holds to the decoder.
    fn read_indexed(&mut self, text: &str, bytes: &[u8], start: u64, sink: &mut impl StreamSink) -> Option<Shape> {
        if !self.late {
            self.tell_preamble(sink);
            if !self.decide(text, start, sink) {
                return None;
            }
        }
        let record = self.tape.record(text);
        let value = record.root();
        let (mut outcome, shape) = match self.late {
            true => (Outcome::NoOp, None),
            false => {
                if !std::mem::replace(&mut self.read, true) {
                    sink.begin();
                }
                self.decoder.record(value, sink)
            }
        };
        // Text in another encoding shows with replacement characters, and is a fault all the same.
        let valid = text.as_ptr() == bytes.as_ptr();
        if !valid {
            outcome = Outcome::Faulted("utf-8");
        }
        self.count(outcome, bytes, start, sink);
        shape.filter(|_| valid)
    }

    /// Broken input before the first record was the start of a stream after all.
    fn tell_preamble(&mut self, sink: &mut impl StreamSink) {
        for fault in std::mem::take(&mut self.preamble.faults) {
            sink.fault(fault);
        }
        self.tally.faulted += std::mem::take(&mut self.preamble.count);
    }

    fn count(&mut self, outcome: Outcome, record: &[u8], start: u64, sink: &mut impl StreamSink) {
        match outcome {
            Outcome::Faulted(reason) => {
                self.tally.faulted += 1;
                let fault = Fault::of(record, start, reason);
                self.first_wrong.get_or_insert_with(|| fault.excerpt.clone());
                // A message that was lost, or read with gaps, may have been a part of what is open.
                let lost = ["json", "utf-8", "nesting", "values", "too-long"].contains(&reason);
                if lost && record.trim_ascii_start().starts_with(b"{") {
                    sink.gap();
                }
                sink.fault(fault);
            }
            _ if self.late => self.tally.late += 1,
            Outcome::Applied => self.tally.applied += 1,
            Outcome::NoOp => self.tally.no_op += 1,
            Outcome::Skipped => self.tally.skipped += 1,
        }
    }

    /// Bytes that are no record. Before the first record they may be a body that is no stream at all, which is one
    /// fault, not one a line.
    fn broken(&mut self, bytes: &[u8], start: u64, reason: &'static str, sink: &mut impl StreamSink) {
        if self.late || self.tally.records() > 0 {
            return self.count(Outcome::Faulted(reason), bytes, start, sink);
        }
        self.preamble.count += 1;
        if self.preamble.faults.len() < EXCERPT_BYTES {
            self.preamble.faults.push(Fault::of(bytes, start, reason));
        }
    }

    /// A body without a single record that could be read is an error to show; what stood there says which.
    fn end_without_record(&mut self, sink: &mut impl StreamSink) {
        if let Some(fault) = std::mem::take(&mut self.preamble).faults.into_iter().next() {
            self.tally.faulted += 1;
            self.first_wrong = Some(fault.excerpt.clone());
            sink.fault(fault);
        }
        if let Some(message) = self.first_wrong.take().filter(|_| !self.read) {
            sink.fail(&message, "no-records", None);
        }
    }
}

/// What an error object, or an error's bare text, says as a chunk.
pub(crate) fn error_chunk(error: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let inner = error.get("error");
    let inner = if inner.is_object() { inner } else { error };
    let mut code = None;
    for name in ["status", "type", "code"] {
        let value = inner.get(name);
        let said = value.str().filter(|code| !code.is_empty()).map(JsonStr::text);
        code = said.or_else(|| value.number().map(Cow::Borrowed)).or(code);
    }
    let retryable = code.as_deref().and_then(retryable);
    sink.chunk(Chunk::Error { message: &error_message(error), code: code.as_deref(), retryable })
}

/// What a whole body says that may be an error's.
fn error_said(body: Value<'_>) -> String {
    let body = if body.is_array() { body.at(0) } else { body };
    let error = body.get("error");
    error_message(if error.is_object() { error } else { body }).into_owned()
}

/// A value of a panel.
fn set_panel(sink: &mut dyn ChunkSink, panel: PanelName, name: &'static str, value: &Raw) -> Effect {
    sink.chunk(Chunk::Panel { panel, name, value })
}

/// Tokens used; nothing where nothing is known of them.
fn tell_usage(used: Usage, sink: &mut dyn ChunkSink) -> Effect {
    if used == Usage::default() { Effect::None } else { sink.chunk(Chunk::Usage(used)) }
}

/// A string that says something.
fn said(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.str().filter(|text| !text.is_empty()).map(JsonStr::text)
}

/// An error's words: its message under any of its names, or all of it as JSON.
#[inline(never)]
fn error_message(error: Value<'_>) -> Cow<'_, str> {
    if let Some(text) = error.str() {
        return text.text();
    }
    for name in ["message", "error", "detail", "msg", "errors"] {
        let value = error.get(name);
        let value = if value.is_array() { value.at(0) } else { value };
        match value.str().filter(|text| !text.is_empty()) {
            Some(text) => return text.text(),
            None if value.is_object() => return error_message(value),
            None => {}
        }
    }
    Cow::Borrowed(if error.raw() == "{}" { "" } else { shown(error.raw()) })
}

/// As much of a text of unknown length as an error row shows.
fn shown(text: &str) -> &str {
    const SHOWN: usize = 2048;
    let end = (0..=text.len().min(SHOWN)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Whether a short text holds a word; a plain search weighs less than a clever one.
fn contains(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part == word.as_bytes())
}

/// Whether the same request may succeed later, as far as a code tells: an HTTP status, or a provider's word.
pub(crate) fn retryable(code: &str) -> Option<bool> {
    if let Ok(status) = code.parse::<u16>() {
        return match status {
            408 | 409 | 425 | 429 | 500.. => Some(true),
            400.. => Some(false),
            _ => None,
        };
    }
    let code = code.to_ascii_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| contains(&code, word));
    if any(&["quota", "invalid", "auth", "permission", "not_found", "context_length", "unsupported"]) {
        Some(false)
    } else if any(&["rate_limit", "overloaded", "server_error", "timeout", "unavailable", "internal"]) {
        Some(true)
    } else {
        None
    }
}
