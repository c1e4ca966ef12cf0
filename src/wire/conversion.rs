//! From any wire to OpenAI chat completion chunks: what a proxy writes for clients that know nothing else. The chunks
//! of a decoder go in, values come out, in one of two styles. Facts: task-stream.md, 2.5.

use std::borrow::Cow;

use super::{Format, Input, StreamSink};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, Finish, Usage};
use crate::fault::{Fault, FaultLog, Tally};
use crate::json::{JsonStr, JsonWriter, Tape};
use crate::limits::Limits;
use crate::row::{Fact, RowKind, RowState};
use crate::sorted::{Keyed, Sorted};

/// How what is no text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompletionStyle {
    /// As content: `[Thinking] …`, `[Tool: name] arguments`, `[Error] …`.
    #[default]
    Plain,
    /// As `reasoning_content` and `tool_calls`, as newer clients read them. Arguments that a wire may replace come when
    /// they are final. An error is an `error` beside no choices.
    Modern,
}

/// What each chunk carries, and how it is written.
#[derive(Debug, Clone, Default)]
pub struct CompletionOptions {
    /// The response's `id`.
    pub id: String,
    /// Its `model`.
    pub model: String,
    /// When it was made, in seconds.
    pub created: u64,
    /// How what is no text is written.
    pub style: CompletionStyle,
}

/// One stream of any format, converted to OpenAI chat completion chunks. The end of a choice has the usage beside it,
/// where its total is known.
///
/// ```
/// use chatrows::{CompletionOptions, Conversion, Format};
/// let options = CompletionOptions { id: "c1".into(), model: "monkeycode".into(), created: 7, ..Default::default() };
/// let mut conversion = Conversion::new(Format::TaskStream, options);
/// conversion.push_message(r#"{"type":"task-running","kind":"acp_event","data":{"type":"agent_message_chunk","text":"Hello"}}"#);
/// conversion.push_message(r#"{"type":"task-ended"}"#);
/// let head = r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"monkeycode","choices":[{"index":0,"delta":"#;
/// let expected = [format!(r#"{head}{{"content":"Hello"}},"finish_reason":null}}]}}"#), format!(r#"{head}{{}},"finish_reason":"stop"}}]}}"#)];
/// assert_eq!(conversion.take(), expected);
/// ```
#[derive(Debug)]
pub struct Conversion {
    input: Box<Input>,
    writer: Writer,
}

impl Conversion {
    /// Of a stream of this format.
    pub fn new(format: Format, options: CompletionOptions) -> Self {
        Conversion::with_limits(format, options, &Limits::default())
    }

    /// With other caps.
    pub fn with_limits(format: Format, options: CompletionOptions, limits: &Limits) -> Self {
        let input = Input::boxed(format, limits, Tally::default(), false);
        Conversion { input, writer: Writer::new(options, limits) }
    }

    /// Bytes of the wire, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.input.push(bytes, &mut self.writer);
    }

    /// One whole record, as JSON text.
    pub fn push_message(&mut self, json: &(impl AsRef<[u8]> + ?Sized)) {
        self.input.message(json.as_ref(), &mut self.writer);
    }

    /// What comes now repeats the latest turn from its start: what was written is not written again. False where the format has
    /// no turns.
    pub fn restart_turn(&mut self) -> bool {
        self.writer.known.iter_mut().for_each(|known| known.seen = 0);
        self.input.restart_turn()
    }

    /// The input ended. A turn that had not ended ends with `length`: it was cut.
    pub fn finish(&mut self) {
        self.input.finish(&mut self.writer);
        let open: Vec<u32> =
            self.writer.choices.iter().filter(|choice| choice.is_open).map(|open| open.index).collect();
        open.into_iter().for_each(|choice| self.writer.end(choice, "length"));
        self.writer.write_late_usage();
    }

    /// The chunks since this was asked last, each as JSON text.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.writer.out)
    }

    /// The same as server-sent events. `[DONE]` is the caller's to send, when nothing more comes.
    pub fn take_events(&mut self) -> String {
        let events = self.take().into_iter().map(|json| ["data: ", &json, "\n\n"].concat());
        events.collect()
    }

    /// What became of the input.
    pub fn tally(&self) -> Tally {
        self.input.tally()
    }

    /// The faults that are kept, oldest first.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.writer.faults.kept.iter()
    }
}

#[derive(Debug)]
struct Writer {
    options: CompletionOptions,
    out: Vec<String>,
    known: Sorted<Known>,
    /// Calls by the decoder's numbers.
    calls: Vec<NumberedCall>,
    /// Calls so far: the index of the next.
    indices: u32,
    usage: Usage,
    faults: FaultLog,
    /// Those of which something was written, in the order of their numbers.
    choices: Vec<Choice>,
    /// Of the usage something came after the end.
    late_usage: bool,
    /// The keys of calls whose arguments wait to be final.
    waiting: Vec<Box<str>>,
}

/// One of the answers that are written beside each other.
#[derive(Debug, Default)]
struct Choice {
    index: u32,
    /// Something was written since its last end.
    is_open: bool,
    /// Its message has called a tool.
    called: bool,
}

#[derive(Debug)]
struct NumberedCall {
    choice: u32,
    index: u32,
    id: String,
    name: String,
    /// Arguments before the name was known, or all of them where they are written at once.
    held: String,
    begun: bool,
}

/// A block that the wire names.
#[derive(Debug)]
struct Known {
    key: Box<str>,
    kind: RowKind,
    /// Bytes of its text in this pass, and bytes that were written.
    seen: usize,
    told: usize,
    call: Option<Box<NamedCall>>,
}

#[derive(Debug, Default)]
struct NamedCall {
    id: String,
    name: String,
    input: String,
    written: bool,
}

impl Keyed for Known {
    fn key(&self) -> &str {
        &self.key
    }
}

impl Writer {
    fn new(options: CompletionOptions, limits: &Limits) -> Self {
        Writer {
            options,
            out: Vec::new(),
            known: Sorted::default(),
            calls: Vec::new(),
            indices: 0,
            usage: Usage::default(),
            faults: FaultLog::new(limits.faults),
            choices: Vec::new(),
            late_usage: false,
            waiting: Vec::new(),
        }
    }

    fn is_modern(&self) -> bool {
        self.options.style == CompletionStyle::Modern
    }

    /// What was written of a choice, and whether that is the first.
    fn choice(&mut self, index: u32) -> (&mut Choice, bool) {
        let place = self.choices.binary_search_by_key(&index, |choice| choice.index);
        if let Err(place) = place {
            self.choices.insert(place, Choice { index, ..Choice::default() });
        }
        (&mut self.choices[place.unwrap_or_else(|place| place)], place.is_err())
    }

    /// There were answers, and all of them have ended.
    fn has_ended(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| !choice.is_open)
    }

    /// The tokens, where their total is known: one of 0 is not.
    fn known_usage(&self) -> Option<Usage> {
        Some(self.usage).filter(|usage| usage.total_tokens.is_some_and(|total| total > 0))
    }

    /// Writes one chunk, of a choice or of none.
    fn write(
        &mut self,
        choice: Option<u32>,
        delta: impl FnOnce(&mut JsonWriter),
        finish: Option<&str>,
        usage: Option<Usage>,
    ) {
        let mut json = JsonWriter::default();
        // A message begins with its role.
        let opens = choice.is_some_and(|choice| {
            let (choice, _) = self.choice(choice);
            !std::mem::replace(&mut choice.is_open, finish.is_none()) && finish.is_none()
        });
        let role = opens && self.is_modern();
        let CompletionOptions { id, model, created, .. } = &self.options;
        json.object(|json| {
            json.key("id").string(id);
            json.key("object").string("chat.completion.chunk");
            json.key("created").number(*created);
            json.key("model").string(model);
            json.key("choices").array(|json| {
                let Some(choice) = choice else { return };
                json.object(|json| {
                    json.key("index").number(u64::from(choice));
                    json.key("delta").object(|json| {
                        if role {
                            json.key("role").string("assistant");
                        }
                        delta(json);
                    });
                    json.key("finish_reason");
                    match finish {
                        Some(reason) => json.string(reason),
                        None => json.null(),
                    }
                });
            });
            if let Some(usage) = usage {
                json.key("usage").object(|json| {
                    let tokens = [
                        ("prompt_tokens", usage.input_tokens),
                        ("completion_tokens", usage.output_tokens),
                        ("total_tokens", usage.total_tokens),
                    ];
                    for (name, count) in tokens {
                        json.key(name).number(count.unwrap_or_default());
                    }
                });
            }
        });
        self.out.push(json.into_string());
    }

    /// What is known of the usage only now, as a chunk without a choice.
    fn write_late_usage(&mut self) {
        let late = std::mem::take(&mut self.late_usage) && self.is_modern();
        if let Some(usage) = self.known_usage().filter(|_| late) {
            self.write(None, |_| {}, Some("stop"), Some(usage));
        }
    }

    fn member(&mut self, choice: u32, name: &str, parts: &[&str]) {
        let text = parts.concat();
        self.write(Some(choice), |json| json.key(name).string(&text), None, None);
    }

    /// Text or reasoning.
    fn say(&mut self, choice: u32, kind: RowKind, text: &str) {
        match (kind, self.is_modern()) {
            _ if text.is_empty() => {}
            (RowKind::Text, _) => self.member(choice, "content", &[text]),
            (RowKind::Reasoning, true) => self.member(choice, "reasoning_content", &[text]),
            (RowKind::Reasoning, false) => self.member(choice, "content", &["[Thinking] ", text]),
            _ => {}
        }
    }

    fn fail(&mut self, message: &str, code: Option<&str>) {
        if !self.is_modern() {
            return self.member(0, "content", &["[Error] ", message]);
        }
        let mut json = JsonWriter::default();
        json.object(|json| {
            json.key("error").object(|json| {
                json.key("message").string(message);
                if let Some(code) = code {
                    json.key("code").string(code);
                }
            });
        });
        self.out.push(json.into_string());
    }

    /// A whole call.
    fn call(&mut self, choice: u32, id: &str, name: &str, arguments: &str) {
        self.choice(choice).0.called = true;
        if !self.is_modern() {
            // Arguments that are a text are the text.
            let mut tape = Tape::default();
            let plain = tape
                .read(arguments)
                .ok()
                .and_then(|record| record.root().str().map(JsonStr::text).map(Cow::into_owned));
            return self.member(choice, "content", &["[Tool: ", name, "] ", plain.as_deref().unwrap_or(arguments)]);
        }
        let index = self.indices;
        self.indices += 1;
        self.call_delta(choice, index, Some((id, name)), arguments);
    }

    fn call_delta(&mut self, choice: u32, index: u32, named: Option<(&str, &str)>, arguments: &str) {
        let delta = |json: &mut JsonWriter| {
            json.key("tool_calls").array(|json| {
                json.object(|json| {
                    json.key("index").number(u64::from(index));
                    if let Some((id, _)) = named {
                        json.key("id").string(id);
                        json.key("type").string("function");
                    }
                    json.key("function").object(|json| {
                        if let Some((_, name)) = named {
                            json.key("name").string(name);
                        }
                        json.key("arguments").string(arguments);
                    });
                });
            });
        };
        self.write(Some(choice), delta, None, None);
    }

    /// The arguments of a numbered call, as far as they can be written.
    fn flush_call(&mut self, number: usize, over: bool) {
        let modern = self.is_modern();
        let Some(call) = self.calls.get_mut(number) else { return };
        if !modern {
            if over && !std::mem::replace(&mut call.begun, true) {
                let (choice, id, name, held) =
                    (call.choice, call.id.clone(), call.name.clone(), std::mem::take(&mut call.held));
                self.call(choice, &id, &name, &held);
            }
            return;
        }
        if call.name.is_empty() && !over {
            return;
        }
        let begins = !std::mem::replace(&mut call.begun, true);
        let news = std::mem::take(&mut call.held);
        if !begins && news.is_empty() {
            return;
        }
        let (choice, index, id, name) = (call.choice, call.index, call.id.clone(), call.name.clone());
        self.choice(choice).0.called = true;
        self.call_delta(choice, index, begins.then_some((&*id, &*name)), &news);
    }

    /// Calls whose arguments waited are final.
    fn flush(&mut self) {
        for key in std::mem::take(&mut self.waiting) {
            self.flush_named(&key);
        }
        for number in 0..self.calls.len() {
            self.flush_call(number, true);
        }
    }

    fn flush_named(&mut self, key: &str) {
        let Some(call) = self.known.get_mut(key).and_then(|known| known.call.as_mut()) else { return };
        if !std::mem::replace(&mut call.written, true) {
            let NamedCall { id, name, input, .. } = std::mem::take(&mut **call);
            call.written = true;
            self.call(0, &id, &name, &input);
        }
    }

    /// The message is over.
    fn end(&mut self, choice: u32, reason: &str) {
        self.flush();
        let modern = self.is_modern();
        let (known, is_new) = self.choice(choice);
        let called = std::mem::take(&mut known.called);
        if !known.is_open && !is_new {
            return;
        }
        let reason = if reason == "stop" && called && modern { "tool_calls" } else { reason };
        self.write(Some(choice), |_| {}, Some(reason), self.known_usage());
        self.late_usage = false;
        self.calls.iter_mut().for_each(|call| call.begun = true);
    }

    /// A block that the wire names, as it is now.
    fn block(&mut self, key: &str, block: &Block<'_>) {
        let new = || Known { key: key.into(), kind: block.kind, seen: 0, told: 0, call: None };
        let mut is_new = false;
        let known = self.known.get_or_insert(key, || {
            is_new = true;
            new()
        });
        known.kind = block.kind;
        if let (Some(tool), RowKind::Tool) = (&block.tool, block.kind) {
            let call = known.call.get_or_insert_default();
            if call.written {
                return;
            }
            let title = block.facts.iter().find(|(fact, _)| *fact == Fact::Title);
            if !tool.name.is_empty() {
                call.name = tool.name.to_string();
            } else if let Some((_, title)) = title.filter(|_| call.name.is_empty() || !is_new) {
                let mut tape = Tape::default();
                let text = tape.read(title.as_str()).ok();
                call.name =
                    text.and_then(|text| text.root().str().map(|text| text.text().into_owned())).unwrap_or_default();
            }
            call.id = tool.call_id.unwrap_or(key).to_owned();
            call.input = tool.input.to_string();
            let final_ = block.state.is_at_rest() && block.state != RowState::Pending;
            if final_ || is_new && !self.is_modern() {
                return self.flush_named(key);
            }
            if is_new {
                self.waiting.push(key.into());
            }
            return;
        }
        if let (RowKind::Error, true) = (block.kind, is_new) {
            let error = block.facts.iter().find(|(fact, _)| *fact == Fact::Error);
            let mut tape = Tape::default();
            let error = error.and_then(|(_, error)| tape.read(error.as_str()).ok());
            if let Some(error) = error {
                let text = |name: &str| error.root().get(name).str().map(JsonStr::text);
                let (message, code) =
                    (text("message").unwrap_or_default().into_owned(), text("code").map(Cow::into_owned));
                self.fail(&message, code.as_deref());
            }
            return;
        }
        known.seen = block.text.len();
        let told = known.told;
        known.told = told.max(block.text.len());
        let news = block.text.get(told..).unwrap_or_default().to_owned();
        self.say(0, block.kind, &news);
    }

    fn grow(&mut self, key: &str, text: &str) {
        let Some(known) = self.known.get_mut(key) else { return };
        let start = known.told.saturating_sub(known.seen).min(text.len());
        known.seen += text.len();
        known.told = known.told.max(known.seen);
        let kind = known.kind;
        self.say(0, kind, text.get(start..).unwrap_or_default());
    }
}

impl ChunkSink for Writer {
    fn chunk(&mut self, chunk: Chunk<'_>) -> Effect {
        let before = self.out.len();
        match chunk {
            Chunk::Text { choice, text } => self.say(choice, RowKind::Text, text),
            Chunk::Reasoning { choice, text } => self.say(choice, RowKind::Reasoning, text),
            Chunk::ToolStart { choice, call, id, name } => {
                let number = call.0 as usize;
                while self.calls.len() <= number {
                    let index = self.indices;
                    self.indices += 1;
                    self.calls.push(NumberedCall {
                        choice,
                        index,
                        id: String::new(),
                        name: String::new(),
                        held: String::new(),
                        begun: false,
                    });
                }
                let call = &mut self.calls[number];
                call.id = id.unwrap_or_default().into();
                call.name = name.unwrap_or_default().into();
                self.flush_call(number, false);
            }
            Chunk::ToolNamed { call, id, name } => {
                let number = call.0 as usize;
                if let Some(call) = self.calls.get_mut(number) {
                    call.id = id.map_or(std::mem::take(&mut call.id), str::to_owned);
                    call.name = name.map_or(std::mem::take(&mut call.name), str::to_owned);
                }
                self.flush_call(number, false);
            }
            Chunk::ToolArguments { call, text } => {
                let number = call.0 as usize;
                self.calls.get_mut(number).into_iter().for_each(|call| call.held.push_str(text));
                self.flush_call(number, false);
            }
            Chunk::MessageEnd { choice, finish } => {
                let reason = match finish {
                    Finish::Complete => "stop",
                    Finish::Length => "length",
                    Finish::Filtered => "content_filter",
                    Finish::Broken(_) => "error",
                };
                self.end(choice, reason);
            }
            Chunk::Usage(usage) => {
                self.late_usage |= self.has_ended();
                let known = &mut self.usage;
                known.input_tokens = usage.input_tokens.or(known.input_tokens);
                known.output_tokens = usage.output_tokens.or(known.output_tokens);
                known.total_tokens = usage.total_tokens.or(known.total_tokens);
            }
            Chunk::Error { message, code, .. } => self.fail(message, code),
            Chunk::Block { key, block, .. } => self.block(key, block),
            Chunk::BlockText { key, text } => self.grow(key, text),
            Chunk::BlockState { key, state }
            | Chunk::BlockOutput { key, state, .. }
            | Chunk::BlockEnd { key, state }
                if state.is_at_rest() && state != RowState::Pending =>
            {
                self.flush_named(key);
            }
            Chunk::TurnEnd => self.end(0, "stop"),
            _ => {}
        }
        if self.out.len() > before { Effect::Changed } else { Effect::None }
    }
}

impl StreamSink for Writer {
    fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    fn fail(&mut self, message: &str, code: &str, _retryable: Option<bool>) {
        self.fail(message, Some(code));
    }

    fn begin(&mut self) {}

    fn gap(&mut self) {}
}
