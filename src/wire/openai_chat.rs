//! `openai-chat`: chat completion chunks in every dialect that is really received. What differs between providers
//! (provider-formats.md, the quirk table) is decided here; what comes out is the same chunks for all.

use super::calls::{Call, Fragment};
use super::template::{Shape, Slot};
use super::{Decoder, Outcome, Speaking, Target, said};
use crate::chunk::{CallNumber, Chunk, ChunkSink, Effect, Finish, Refusal, Usage};
use crate::json::{Half, JsonStr, Value};

/// What the decoder remembers of the response it reads.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    /// The response's id; empty until one came.
    id: String,
    /// A chunk of the response went out.
    started: bool,
    /// An in-band error ended the response.
    errored: bool,
    choices: Vec<Choice>,
    /// The calls of this response, in the order in which they began.
    calls: Vec<Call>,
    /// Number of the first of them.
    first_call: u32,
    max_open: usize,
    /// Changes whenever the same bytes could mean another append than before.
    routing: u32,
    scratch: String,
}

#[derive(Debug, Default)]
struct Choice {
    index: u32,
    finished: bool,
    /// Something came: a whole message after it only says it again.
    streamed: bool,
    speaking: Speaking,
    /// Something of this speech went out.
    said: bool,
    text: Half,
    reasoning: Half,
}

/// What one record did so far.
#[derive(Default)]
struct Record {
    effect: Option<Effect>,
    appends: usize,
    last: Option<(Target, std::ops::Range<usize>)>,
    /// Something besides the append had an effect.
    more: bool,
    usage: Option<std::ops::Range<usize>>,
    routed_by_position: bool,
    /// A call fragment was read.
    fragment: bool,
}

impl Record {
    fn note(&mut self, effect: Effect) {
        self.more |= effect != Effect::None;
        self.add(effect);
    }

    fn add(&mut self, effect: Effect) {
        self.effect = Some(self.effect.unwrap_or(Effect::None).and(effect));
    }
}

impl OpenAiChat {
    pub fn new(max_open: usize) -> Self {
        OpenAiChat {
            id: String::new(),
            started: false,
            errored: false,
            choices: Vec::new(),
            calls: Vec::new(),
            first_call: 0,
            max_open,
            routing: 0,
            scratch: String::new(),
        }
    }

    /// A response id only counts once the response before has ended: some servers give each chunk an id of its own.
    fn identify(&mut self, id: Option<JsonStr<'_>>, sink: &mut impl ChunkSink) {
        let Some(id) = id.filter(|id| !id.is_empty() && *id != *self.id) else { return };
        let ended = self.errored || (!self.choices.is_empty() && self.choices.iter().all(|choice| choice.finished));
        if ended {
            self.flush(sink);
            self.first_call += self.calls.len() as u32;
            self.calls.clear();
            self.choices.clear();
            self.started = false;
            self.errored = false;
        } else if !self.id.is_empty() {
            return;
        }
        self.routing += 1;
        self.id.clear();
        self.id.push_str(&id.text());
    }

    fn start(&mut self, record: &mut Record, sink: &mut impl ChunkSink) {
        if !self.started {
            self.started = true;
            let id = (!self.id.is_empty()).then_some(self.id.as_str());
            sink.chunk(Chunk::MessageStart { id });
            record.more = true;
        }
    }

    fn choice(&mut self, index: u32) -> Option<usize> {
        if let Some(place) = self.choices.iter().position(|choice| choice.index == index) {
            return Some(place);
        }
        if self.choices.len() >= self.max_open {
            return None;
        }
        self.routing += 1;
        self.choices.push(Choice { index, ..Choice::default() });
        Some(self.choices.len() - 1)
    }

    /// Appends a string to where `target` says: joins surrogate halves, closes what the new speech closes.
    fn append_to(&mut self, target: Target, text: JsonStr<'_>, sink: &mut impl ChunkSink) -> Effect {
        if text.is_empty() {
            return Effect::None;
        }
        let mut flushed = Effect::None;
        let half = match target {
            Target::Text { choice } | Target::Reasoning { choice } => {
                let Some(place) = self.choice(choice) else { return Effect::Refused(Refusal::OpenBlocks) };
                let speaks = match target {
                    Target::Text { .. } => Speaking::Text,
                    _ => Speaking::Reasoning,
                };
                if self.choices[place].speaking != speaks {
                    flushed = self.stop_speaking(place, sink);
                    self.choices[place].speaking = speaks;
                    self.choices[place].said = false;
                }
                let choice = &mut self.choices[place];
                choice.streamed = true;
                if speaks == Speaking::Text { &mut choice.text } else { &mut choice.reasoning }
            }
            Target::Arguments { call } => match self.calls.get_mut((call.0 - self.first_call) as usize) {
                Some(call) => {
                    // From here on another name is another call.
                    self.routing += u32::from(!std::mem::replace(&mut call.has_arguments, true));
                    &mut call.half
                }
                None => return Effect::Refused(Refusal::OpenBlocks),
            },
        };
        let plain = match text.borrowed(*half) {
            Some(plain) => plain,
            None => {
                self.scratch.clear();
                text.decode_into(&mut self.scratch, half);
                &self.scratch
            }
        };
        if plain.is_empty() {
            // Half a character: it shows with its other half.
            return flushed;
        }
        if let Target::Text { choice } | Target::Reasoning { choice } = target
            && let Some(choice) = self.choices.iter_mut().find(|known| known.index == choice)
        {
            choice.said = true;
        }
        flushed.and(sink.chunk(target.chunk(plain)))
    }

    /// A half character of a block that closes stands alone.
    fn stop_speaking(&mut self, place: usize, sink: &mut impl ChunkSink) -> Effect {
        let choice = &mut self.choices[place];
        let (target, half) = match std::mem::take(&mut choice.speaking) {
            Speaking::Nothing => return Effect::None,
            Speaking::Text => (Target::Text { choice: choice.index }, &mut choice.text),
            Speaking::Reasoning => (Target::Reasoning { choice: choice.index }, &mut choice.reasoning),
        };
        self.scratch.clear();
        if half.flush(&mut self.scratch) { sink.chunk(target.chunk(&self.scratch)) } else { Effect::None }
    }

    /// No more halves will come for what is open.
    fn flush(&mut self, sink: &mut impl ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for place in 0..self.choices.len() {
            effect = effect.and(self.flush_choice(place, sink));
        }
        effect
    }

    fn flush_choice(&mut self, place: usize, sink: &mut impl ChunkSink) -> Effect {
        let mut effect = self.stop_speaking(place, sink);
        let choice = self.choices[place].index;
        for (number, call) in (self.first_call..).zip(&mut self.calls) {
            self.scratch.clear();
            if call.choice == choice && call.half.flush(&mut self.scratch) {
                effect = effect.and(sink.chunk(Chunk::ToolArguments { call: CallNumber(number), text: &self.scratch }));
            }
        }
        effect
    }

    fn append(
        &mut self,
        target: Target,
        text: JsonStr<'_>,
        span: Option<std::ops::Range<usize>>,
        record: &mut Record,
        sink: &mut impl ChunkSink,
    ) {
        if text.is_empty() {
            return;
        }
        self.start(record, sink);
        let effect = self.append_to(target, text, sink);
        record.appends += 1;
        record.last = span.map(|span| (target, span));
        record.add(effect);
    }

    fn append_value(&mut self, target: Target, value: Value<'_>, record: &mut Record, sink: &mut impl ChunkSink) {
        if let Some(text) = value.str() {
            self.append(target, text, value.span(), record, sink);
        }
    }

    /// Text that is no JSON string of the record, such as arguments that came as an object.
    fn append_plain(&mut self, target: Target, text: &str, record: &mut Record, sink: &mut impl ChunkSink) {
        self.append(target, JsonStr::new(text, false), None, record, sink);
    }

    /// Reads what a choice brings; true if it also ends.
    fn read_choice(
        &mut self,
        value: Value<'_>,
        position: usize,
        record: &mut Record,
        sink: &mut impl ChunkSink,
    ) -> bool {
        let index = choice_index(value, position);
        let Some(place) = self.choice(index) else {
            record.note(Effect::Refused(Refusal::OpenBlocks));
            return false;
        };
        let delta = match value.get("delta") {
            delta if delta.is_object() => delta,
            // A response that does not stream; at the end of one that did, it only says all again.
            delta if self.choices[place].streamed => delta,
            _ => value.get("message"),
        };
        let mut reasoning = ABSENT_REASONING;
        let (mut content, mut refusal, mut calls, mut function_call) = (None, None, None, None);
        let (mut details, mut images, mut annotations) = (None, None, None);
        for (key, value) in delta.members() {
            match &*key.text() {
                "content" => content = Some(value),
                "refusal" => refusal = Some(value),
                "tool_calls" => calls = Some(value),
                "function_call" => function_call = Some(value),
                "reasoning_details" => details = Some(value),
                "images" => images = Some(value),
                "annotations" => annotations = Some(value),
                name => {
                    if let Some(rank) = REASONING_NAMES.iter().position(|known| *known == name) {
                        reasoning[rank] = Some(value);
                    }
                }
            }
        }
        // The same reasoning under two names is one: the first name that says anything counts.
        let says = |value: &Value<'_>| value.str().is_some_and(|text| !text.is_empty());
        if let Some(value) = reasoning.into_iter().flatten().find(says) {
            self.append_value(Target::Reasoning { choice: index }, value, record, sink);
        } else if let Some(details) = details {
            for detail in details.items() {
                for name in ["text", "summary"] {
                    self.append_value(Target::Reasoning { choice: index }, detail.get(name), record, sink);
                }
            }
        }
        if let Some(content) = content {
            self.read_content(content, Target::Text { choice: index }, 0, record, sink);
        }
        if let Some(refusal) = refusal {
            self.append_value(Target::Text { choice: index }, refusal, record, sink);
        }
        for image in images.into_iter().flat_map(Value::items) {
            self.read_image(image, index, record, sink);
        }
        for call in calls.into_iter().flat_map(Value::items) {
            let function = call.get("function");
            let function = if function.is_object() { function } else { call.get("custom") };
            self.read_call(call, function, index, record, sink);
        }
        if let Some(function) = function_call.filter(|value| value.is_object()) {
            self.read_call(function, function, index, record, sink);
        }
        for annotation in annotations.into_iter().flat_map(Value::items) {
            let citation = annotation.get("url_citation");
            self.read_source(if citation.is_object() { citation } else { annotation }, index, record, sink);
        }
        let usage = value.get("usage");
        if usage.is_object() {
            self.read_usage(usage, record, sink);
            record.more = true;
        }
        self.read_error(value.get("error"), record, sink);
        said(value.get("finish_reason")).is_some()
    }

    fn read_finish(&mut self, value: Value<'_>, position: usize, record: &mut Record, sink: &mut impl ChunkSink) {
        let index = choice_index(value, position);
        let (Some(place), Some(reason)) = (self.choice(index), said(value.get("finish_reason"))) else { return };
        let Some(finish) = finish(&reason) else { return };
        self.start(record, sink);
        let flushed = self.flush_choice(place, sink);
        let ended = sink.chunk(Chunk::MessageEnd { choice: index, finish });
        if !std::mem::replace(&mut self.choices[place].finished, true) {
            self.routing += 1;
        }
        record.note(flushed.and(ended));
    }

    /// Content is a string, or parts: text, and reasoning as parts of parts (Mistral).
    fn read_content(
        &mut self,
        content: Value<'_>,
        target: Target,
        depth: u32,
        record: &mut Record,
        sink: &mut impl ChunkSink,
    ) {
        if content.str().is_some() {
            return self.append_value(target, content, record, sink);
        }
        let (Target::Text { choice } | Target::Reasoning { choice }) = target else { return };
        let single = content.is_object().then_some(content);
        // Parts nest once in what is known; a second level more costs nothing.
        if depth > 2 {
            return;
        }
        for part in single.into_iter().chain(content.items()) {
            let kind = part.get("type").str().map(JsonStr::text).unwrap_or_default();
            match &*kind {
                "thinking" | "reasoning" => {
                    for name in ["thinking", "reasoning", "text"] {
                        self.read_content(part.get(name), Target::Reasoning { choice }, depth + 1, record, sink);
                    }
                }
                "image_url" | "image" => self.read_image(part, choice, record, sink),
                "refusal" => self.append_value(target, part.get("refusal"), record, sink),
                _ if part.str().is_some() => self.append_value(target, part, record, sink),
                _ => self.append_value(target, part.get("text"), record, sink),
            }
        }
    }

    fn read_image(&mut self, image: Value<'_>, choice: u32, record: &mut Record, sink: &mut impl ChunkSink) {
        let nested = image.get("image_url");
        let url = [nested.get("url"), nested, image.get("url")].into_iter().find_map(Value::str);
        if let Some(url) = url {
            self.start(record, sink);
            record.note(sink.chunk(Chunk::Image { choice, url: &url.text() }));
        }
    }

    fn read_source(&mut self, source: Value<'_>, choice: u32, record: &mut Record, sink: &mut impl ChunkSink) {
        let Some(url) = source.str().or_else(|| source.get("url").str()).filter(|url| !url.is_empty()) else { return };
        let title = source.get("title").str().map(JsonStr::text);
        self.start(record, sink);
        record.note(sink.chunk(Chunk::Source { choice, url: &url.text(), title: title.as_deref() }));
    }

    fn read_call(
        &mut self,
        value: Value<'_>,
        function: Value<'_>,
        choice: u32,
        record: &mut Record,
        sink: &mut impl ChunkSink,
    ) {
        // What one fragment does may change what the next one of its record means.
        record.more |= std::mem::replace(&mut record.fragment, true);
        let arguments = function.get("arguments");
        let arguments = if arguments.exists() { arguments } else { function.get("input") };
        let fragment = Fragment::read(value, function.get("name"), arguments, choice);
        let found = fragment.route(&self.calls);
        self.start(record, sink);
        let place = match found {
            Some(place) => place,
            None => {
                if self.calls.len() >= self.max_open {
                    return record.note(Effect::Refused(Refusal::OpenBlocks));
                }
                if let Some(speaker) = self.choice(choice) {
                    self.choices[speaker].streamed = true;
                    record.note(self.stop_speaking(speaker, sink));
                }
                self.routing += 1;
                self.calls.push(fragment.call());
                self.calls.len() - 1
            }
        };
        let call = CallNumber(self.first_call + place as u32);
        let (id, name) = self.calls[place].learn(&fragment);
        if found.is_none() {
            record.note(sink.chunk(Chunk::ToolStart { choice, call, id, name }));
        } else if id.is_some() || name.is_some() {
            self.routing += 1;
            record.note(sink.chunk(Chunk::ToolNamed { call, id, name }));
        }
        let target = Target::Arguments { call };
        if arguments.str().is_some() {
            record.routed_by_position |= fragment.is_by_position();
            self.append_value(target, arguments, record, sink);
        } else if !arguments.is_null() {
            record.more = true;
            self.append_plain(target, arguments.raw(), record, sink);
        }
    }

    fn read_usage(&mut self, usage: Value<'_>, record: &mut Record, sink: &mut impl ChunkSink) {
        if usage.is_object() {
            record.usage = usage.span();
            record.add(sink.chunk(Chunk::Usage(read_usage(usage))));
        }
    }

    fn read_error(&mut self, error: Value<'_>, record: &mut Record, sink: &mut impl ChunkSink) {
        if error.is_null() || error.bool() == Some(false) || error.str().is_some_and(JsonStr::is_empty) {
            return;
        }
        record.note(self.flush(sink));
        self.errored = true;
        self.routing += 1;
        record.note(super::error_chunk(error, sink));
    }

    fn read(&mut self, value: Value<'_>, record: &mut Record, sink: &mut impl ChunkSink) -> bool {
        let object = value.get("object").str().map(JsonStr::text).unwrap_or_default();
        let named_error = object == "error" || value.get("type").str().is_some_and(|kind| kind == *"error");
        let ours = object.is_empty() || object.starts_with("chat.completion") || named_error;
        let choices = value.get("choices");
        let error = value.get("error");
        if !ours && error.is_null() {
            return false;
        }
        let mut known = choices.is_array() || object.starts_with("chat.completion");
        let mut ends = false;
        if ours {
            self.identify(value.get("id").str(), sink);
            for (position, choice) in choices.items().enumerate() {
                ends |= self.read_choice(choice, position, record, sink);
            }
            for name in ["citations", "search_results"] {
                for source in value.get(name).items() {
                    self.read_source(source, 0, record, sink);
                }
            }
            let usage = value.get("usage");
            let usage = if usage.is_object() { usage } else { value.get("x_groq").get("usage") };
            known |= usage.is_object();
            self.read_usage(usage, record, sink);
        }
        if !error.is_null() {
            self.read_error(error, record, sink);
            known = true;
        } else if named_error {
            self.read_error(value, record, sink);
            known = true;
        } else if !known && object.is_empty() && value.get("type").is_null() {
            // The body of an error that other software than a model server made.
            known = ["message", "msg", "detail", "errors"].into_iter().any(|name| !value.get(name).is_null());
            if known {
                self.read_error(value, record, sink);
            }
        }
        // An error beside the end interrupts what is open before the end would complete it.
        if ends {
            for (position, choice) in choices.items().enumerate() {
                self.read_finish(choice, position, record, sink);
            }
        }
        known
    }
}

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    let named = value.get("object").str().is_some_and(|object| object.raw().starts_with("chat.completion"));
    named || value.get("choices").is_array()
}

impl Decoder for OpenAiChat {
    fn record(&mut self, value: Value<'_>, sink: &mut impl ChunkSink) -> (Outcome, Option<Shape>) {
        let mut record = Record::default();
        let mut known = false;
        let routing = self.routing;
        if value.is_array() {
            record.more = true;
            for item in value.items() {
                known |= self.read(item, &mut record, sink);
            }
        } else {
            known = self.read(value, &mut record, sink);
        }
        let outcome = match record.effect {
            Some(Effect::Refused(refusal)) => Outcome::Faulted(refusal.code()),
            Some(Effect::Changed) => Outcome::Applied,
            // A response that only began shows nothing yet, but the record is no unknown one.
            _ if known => Outcome::NoOp,
            _ => Outcome::Skipped,
        };
        // What changed the routing may mean another thing when it comes again.
        record.more |= self.routing != routing || record.routed_by_position;
        if outcome != Outcome::Applied || record.more || record.appends != 1 {
            return (outcome, None);
        }
        let shape = record.last.map(|(target, text)| {
            let padding = value.get("obfuscation");
            let padding = padding.str().and(padding.span()).map(|span| (Slot::Padding, span));
            let usage = record.usage.map(|span| (Slot::Usage, span));
            let mut slots = vec![(Slot::Text, text)];
            for (slot, span) in [padding, usage].into_iter().flatten() {
                let place = slots.iter().position(|(_, other)| other.start > span.start).unwrap_or(slots.len());
                slots.insert(place, (slot, span));
            }
            Shape { target, slots, routing: self.routing }
        });
        (outcome, shape)
    }

    fn append(&mut self, target: Target, text: JsonStr<'_>, sink: &mut impl ChunkSink) -> Effect {
        self.append_to(target, text, sink)
    }

    fn usage(&self, usage: Value<'_>) -> Usage {
        read_usage(usage)
    }

    fn routing(&self) -> u32 {
        self.routing
    }

    fn finish(&mut self, sink: &mut impl ChunkSink) {
        // Half a character that is all of its block so far is no block yet: where the next pass over the stream
        // closes it decides its place.
        for choice in &mut self.choices {
            if !choice.said {
                choice.speaking = Speaking::Nothing;
            }
        }
        self.flush(sink);
    }
}

/// The names under which providers send reasoning, in the order in which they count.
const REASONING_NAMES: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];
const ABSENT_REASONING: [Option<Value<'_>>; 3] = [None; 3];

/// A choice is named by its index; where that is none, by its place.
fn choice_index(value: Value<'_>, position: usize) -> u32 {
    let index = value.get("index");
    let index = index.u64().or_else(|| index.str()?.raw().parse().ok());
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or(position as u32)
}

/// What a finish reason means, however it is spelled. A word that says nothing of a cut or a failure is an end;
/// whether there are calls then, the calls tell.
fn finish(reason: &str) -> Option<Finish<'_>> {
    let word = reason.trim().to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| super::contains(&word, part));
    Some(if matches!(word.as_str(), "" | "null" | "none") {
        return None;
    } else if says(&["length", "max_", "max-", "limit", "incomplete", "context"]) {
        Finish::Length
    } else if says(&["filter", "safety", "block", "refus", "recitation", "prohibited"]) {
        Finish::Filtered
    } else if says(&["error", "fail", "timeout", "abort", "cancel", "interrupt", "insufficient", "malformed"]) {
        Finish::Broken(reason)
    } else {
        Finish::Complete
    })
}

fn read_usage(usage: Value<'_>) -> Usage {
    let first = |names: &[&str]| names.iter().find_map(|name| usage.get(name).u64());
    let detail = |outer: &[&str], inner: &str| outer.iter().find_map(|name| usage.get(name).get(inner).u64());
    Usage {
        input_tokens: first(&["prompt_tokens", "input_tokens"]),
        output_tokens: first(&["completion_tokens", "output_tokens"]),
        total_tokens: first(&["total_tokens"]),
        reasoning_tokens: detail(&["completion_tokens_details", "output_tokens_details"], "reasoning_tokens")
            .or_else(|| first(&["reasoning_tokens"])),
        cached_tokens: detail(&["prompt_tokens_details", "input_tokens_details"], "cached_tokens")
            .or_else(|| first(&["prompt_cache_hit_tokens", "cached_tokens"])),
    }
}
