//! From a message to the block that its row has become: the one place where a shape of message becomes a kind of row.

use std::borrow::Cow;

use super::kinds::{KINDS, Shape};
use super::{Key, Message, News, Say, drop_key, put_key, word};
use crate::chunk::{Block, Chunk, ToolBlock};
use crate::json::{JsonStr, JsonWriter, Raw, Value};
use crate::row::{ErrorInfo, Message as Words, PanelName, RowKind, RowState};

/// A row in the making. Its texts are borrowed from the message or decoded from its body.
struct Draft<'a> {
    kind: RowKind,
    state: RowState,
    text: Option<Cow<'a, str>>,
    words: Option<Words>,
    tool: Option<Call<'a>>,
    bytes: Option<u64>,
    error: Option<Box<ErrorInfo>>,
    question: Option<Raw>,
    permission: bool,
}

#[derive(Default)]
struct Call<'a> {
    name: Cow<'a, str>,
    title: Option<Cow<'a, str>>,
    kind: Option<&'static str>,
    input: Cow<'a, str>,
    input_done: bool,
    output: Option<&'a str>,
    /// How much of the output stands as it was told.
    same: usize,
    path: Option<Cow<'a, str>>,
}

impl<'a> Draft<'a> {
    fn new(kind: RowKind, state: RowState) -> Self {
        Draft {
            kind,
            state,
            text: None,
            words: None,
            tool: None,
            bytes: None,
            error: None,
            question: None,
            permission: false,
        }
    }

    fn with_text(kind: RowKind, state: RowState, text: impl Into<Cow<'a, str>>) -> Self {
        Draft { text: Some(text.into()).filter(|text| !text.is_empty()), ..Draft::new(kind, state) }
    }

    fn words(mut self, key: &'static str) -> Self {
        self.words = Some(Words::new(key));
        self
    }
}

/// The key under which a message's row is known.
pub(super) fn key_text((time, kind): Key) -> String {
    let mut key = Raw::written(|json| json.number(time)).as_str().to_owned();
    if let Some(kind) = kind.checked_sub(1).and_then(|kind| KINDS.get(usize::from(kind))) {
        key.push_str(if kind.ask { ":ask:" } else { ":say:" });
        key.push_str(kind.name);
    }
    key
}

impl Say {
    /// Tells what has become of the row of a message.
    pub(super) fn show(&mut self, key: Key, news: &mut News<'_>) {
        let Some(message) = self.messages.get_mut(key) else { return };
        let mut message = std::mem::take(message);
        let shape = message.shape();
        let belongs = self.head_of(key, shape).is_some();
        let mut tape = std::mem::take(&mut self.body);
        let body = tape.read(&message.text).ok();
        let body = body.as_ref().map_or(Value::ABSENT, |record| record.root());
        let mut low = false;
        let failed = body.get("failed").bool() == Some(true);
        let malformed = !message.partial && shape.is_json() && !body.is_object() && !message.text.is_empty();
        let draft = if belongs || self.is_superseded(key, shape, failed) {
            None
        } else if malformed {
            Some(Draft::with_text(RowKind::Notice, RowState::Done, &*message.text).words("say.bodyMalformed"))
        } else {
            self.draft(key, &message, body, &mut low, news)
        };
        if malformed {
            news.fault = Some("body");
        }
        let shown = draft.is_some();
        let group = low.then(|| {
            let before = self.messages.before(key).iter().rev().find(|known| !known.1.shape().is_aside());
            before.and_then(|known| known.1.group).unwrap_or(key)
        });
        match draft {
            Some(draft) => self.tell_draft(key, &message, group, draft, news),
            None if message.shown => news.tell(Chunk::Remove { key: &key_text(key) }),
            None => {}
        }
        self.body = tape;
        if shape == Shape::Started {
            self.count(&mut message, news);
        }
        if let Some(output) = &mut message.output {
            output.same = output.text.len();
        }
        message.shown = shown;
        let regrouped = message.group != group;
        message.group = group;
        self.messages.put(key, message);
        if regrouped {
            let next = self.messages.after(key).iter().find(|known| !known.1.shape().is_aside());
            if let Some(next) = next.filter(|next| next.1.group.is_some()) {
                put_key(&mut self.dirty, next.0);
            }
        }
        if shown && shape == Shape::Retry && !failed {
            put_key(&mut self.unsettled, key);
        } else {
            drop_key(&mut self.unsettled, key);
        }
    }

    /// Whether what follows has made the row superfluous.
    fn is_superseded(&self, key: Key, shape: Shape, failed: bool) -> bool {
        match shape {
            Shape::Waiting(_) | Shape::Failed => self.tip != Some(key),
            Shape::Retry if !failed => {
                let passes = |shape: Shape| shape.is_aside() || matches!(shape, Shape::Waiting(_));
                let next = self.messages.after(key).iter().find(|known| !passes(known.1.shape()));
                let request = self.heads[super::head_index(Shape::Started)].last();
                next.is_some_and(|next| next.1.shape() == Shape::Retry) || request.is_some_and(|last| *last > key)
            }
            _ => false,
        }
    }

    /// Hands the block on.
    fn tell_draft(&self, key: Key, message: &Message, group: Option<Key>, draft: Draft<'_>, news: &mut News<'_>) {
        let mut block = Block::new(draft.kind, draft.state);
        block.text = draft.text.as_deref();
        block.message = draft.words;
        block.bytes = draft.bytes;
        block.error = draft.error;
        block.question = draft.question;
        block.permission = draft.permission.then(approval);
        block.images.clone_from(&message.images);
        block.files = (!message.files.is_empty()).then(|| {
            Raw::written(|json| {
                json.array(|json| {
                    for file in &message.files {
                        json.object(|json| json.key("name").string(file));
                    }
                });
            })
        });
        block.meta = group
            .map(|group| ("group".into(), Raw::written(|json| json.string(&key_text(group)))))
            .into_iter()
            .collect();
        if let Some(call) = &draft.tool {
            block.tool = Some(ToolBlock {
                name: &call.name,
                title: call.title.as_deref(),
                kind: call.kind,
                input: &call.input,
                input_done: call.input_done,
                output: call.output,
                output_same: call.same,
                locations: call.path.as_deref().map(|path| {
                    Raw::written(|json| json.array(|json| json.object(|json| json.key("path").string(path))))
                }),
                ..ToolBlock::default()
            });
        }
        let next = match message.shown {
            true => None,
            false => self.messages.after(key).iter().find(|next| next.1.shown).map(|next| key_text(next.0)),
        };
        news.tell(Chunk::Block { key: &key_text(key), before: next.as_deref(), block: &block });
    }

    fn draft<'a>(
        &mut self,
        key: Key,
        message: &'a Message,
        body: Value<'a>,
        low: &mut bool,
        news: &mut News<'_>,
    ) -> Option<Draft<'a>> {
        let kind = &KINDS[usize::from(message.kind)];
        let text = message.text.as_str();
        let is_tip = self.tip == Some(key);
        let asked = kind.ask && is_tip && !message.answered;
        // While a message is partial; what opened the chat moves no more.
        let during = |state: RowState, end: RowState| match (message.partial, message.loaded) {
            (true, true) => RowState::Interrupted,
            (true, false) => state,
            (false, _) => end,
        };
        let running = |is: bool| if is && !message.loaded { RowState::Running } else { RowState::Done };
        let output = message.output.as_deref();
        let streaming = during(RowState::Streaming, RowState::Done);
        let draft = match kind.shape {
            Shape::Hidden | Shape::McpStarted | Shape::Finished => return None,
            Shape::User => {
                let diff = body.get("diff").str().map(JsonStr::text);
                Draft::with_text(RowKind::User, RowState::Done, diff.unwrap_or(Cow::Borrowed(text)))
            }
            Shape::Text | Shape::Reasoning | Shape::Completion => {
                if text.is_empty() && message.images.is_empty() && message.files.is_empty() {
                    return None;
                }
                let row = if kind.shape == Shape::Reasoning { RowKind::Reasoning } else { RowKind::Text };
                let draft = Draft::with_text(row, streaming, text);
                if kind.shape == Shape::Completion { draft.words("say.completion") } else { draft }
            }
            Shape::Error | Shape::Failed => {
                let retryable = (kind.shape == Shape::Failed).then_some(true);
                let error = Some(ErrorInfo::boxed(text, None, retryable));
                Draft { error, ..Draft::new(RowKind::Error, RowState::Done) }
            }
            Shape::Notice(words) => Draft::with_text(RowKind::Notice, streaming, text).words(words),
            // Without the message whose row it belongs to, it is a row of its own.
            Shape::Output | Shape::HookOutput | Shape::McpResponse => {
                if text.is_empty() {
                    return None;
                }
                Draft::with_text(RowKind::Notice, streaming, text)
            }
            Shape::Compaction(during, done) => {
                let summary = body.get("summary").str().map(JsonStr::text);
                let text = if body.is_object() { summary.unwrap_or_default() } else { Cow::Borrowed(text) };
                let words = if message.partial { during } else { done };
                Draft::with_text(RowKind::Compaction, running(message.partial), text).words(words)
            }
            Shape::Asked(words) => {
                let state = if asked && !message.partial { RowState::Pending } else { streaming };
                let permission = state == RowState::Pending;
                Draft { permission, ..Draft::with_text(RowKind::Permission, state, text).words(words) }
            }
            Shape::Image => {
                if message.images.is_empty() && text.is_empty() {
                    return None;
                }
                Draft::with_text(RowKind::Image, RowState::Done, if message.images.is_empty() { text } else { "" })
            }
            Shape::Question => question(text, body, asked, streaming),
            Shape::Command => {
                let command = Raw::written(|json| json.object(|json| json.key("command").string(text)));
                let wrote = output.is_some_and(|output| !output.text.is_empty());
                let state = match () {
                    () if message.partial => during(RowState::Preparing, RowState::Done),
                    () if asked && !wrote => RowState::Pending,
                    () => running(is_tip && !message.completed),
                };
                let call = Call {
                    name: Cow::Borrowed("command"),
                    kind: Some("execute"),
                    input: Cow::Owned(command.as_str().to_owned()),
                    input_done: !message.partial,
                    ..Call::of(output)
                };
                let permission = state == RowState::Pending;
                Draft { tool: Some(call), permission, ..Draft::new(RowKind::Tool, state) }
            }
            Shape::Tool => {
                let name = said(body, &["tool", "name"]).unwrap_or(Cow::Borrowed(kind.name));
                let work = kind_of_tool(&name);
                *low = matches!(work, Some("read" | "search")) && !message.partial;
                let status = word(body.get("status"));
                let state = match &*status {
                    _ if message.partial => during(RowState::Preparing, RowState::Done),
                    _ if asked => RowState::Pending,
                    "running" | "pending" => running(is_tip),
                    "failed" | "error" => RowState::Failed,
                    _ => RowState::Done,
                };
                let path = said(body, &["path", "filePath"]);
                let title = path.clone().or_else(|| said(body, &["regex", "url", "query", "skill"]));
                let call = Call {
                    name,
                    kind: work,
                    title,
                    input: Cow::Borrowed(text),
                    input_done: !message.partial,
                    // A path that is still growing is nobody's to open.
                    path: path.filter(|_| !message.partial),
                    ..Call::of(output)
                };
                let permission = state == RowState::Pending;
                Draft { tool: Some(call), permission, ..Draft::new(RowKind::Tool, state) }
            }
            Shape::Mcp => {
                let started = output.is_some_and(|output| output.started);
                let answered = output.is_some_and(|output| !output.text.is_empty());
                let state = match () {
                    () if message.partial => during(RowState::Preparing, RowState::Done),
                    () if asked && !started && !answered => RowState::Pending,
                    () => running(is_tip && !answered),
                };
                let arguments = body.get("arguments");
                let input = match arguments.str() {
                    Some(json) => json.text(),
                    None if arguments.is_null() => Cow::Borrowed(""),
                    None => Cow::Borrowed(arguments.raw()),
                };
                let call = Call {
                    name: said(body, &["toolName", "uri"]).unwrap_or(Cow::Borrowed(kind.name)),
                    title: said(body, &["serverName"]),
                    kind: Some("fetch"),
                    input,
                    input_done: !message.partial,
                    ..Call::of(output)
                };
                let permission = state == RowState::Pending;
                Draft { tool: Some(call), permission, ..Draft::new(RowKind::Tool, state) }
            }
            Shape::Hook => {
                let state = match &*word(body.get("status")) {
                    "running" | "pending" => running(true),
                    "failed" | "error" => RowState::Failed,
                    "cancelled" => RowState::Cancelled,
                    _ => RowState::Done,
                };
                let call = Call {
                    name: said(body, &["hookName", "name"]).unwrap_or(Cow::Borrowed("hook")),
                    title: said(body, &["toolName"]),
                    kind: Some("hook"),
                    ..Call::of(output)
                };
                Draft { tool: Some(call), ..Draft::new(RowKind::Tool, state) }
            }
            Shape::Result => {
                let call = Call { name: Cow::Borrowed(kind.name), output: Some(text), ..Call::default() };
                Draft { tool: Some(call), ..Draft::new(RowKind::Tool, streaming) }
            }
            Shape::Browser => {
                let screenshot = said(body, &["screenshot"]);
                let text = said(body, &["logs", "action", "currentUrl"]).unwrap_or_default();
                if text.is_empty() && screenshot.is_none() {
                    return None;
                }
                Draft::with_text(RowKind::Notice, streaming, text).words("say.browser")
            }
            Shape::Retry => {
                let failed = body.get("failed").bool() == Some(true);
                let state = if failed { RowState::Failed } else { running(is_tip) };
                let number = |name: &str| body.get(name).number().unwrap_or_default();
                let words =
                    Words::new("say.retry").with("attempt", number("attempt")).with("max", number("maxAttempts"));
                let error = said(body, &["errorMessage", "error"]);
                let error = error.map(|error| ErrorInfo::boxed(&error, None, None));
                Draft { error, words: Some(words), ..Draft::new(RowKind::Retry, state) }
            }
            Shape::Waiting(words) => {
                let state = running(message.partial);
                let mut words = Words::new(words);
                if let Some(seconds) = body.get("seconds").number() {
                    words = words.with("seconds", seconds);
                }
                let text = if body.is_object() { "" } else { text };
                Draft { words: Some(words), ..Draft::with_text(RowKind::Retry, state, text) }
            }
            Shape::Preparing => {
                let name = said(body, &["toolName"])?;
                if !message.partial || message.loaded {
                    return None;
                }
                let words = Words::new("toolPreparing.preparing").with("name", name);
                let bytes = Some(body.get("byteCount").u64().unwrap_or_default());
                Draft { words: Some(words), bytes, ..Draft::new(RowKind::ToolPreparing, RowState::Preparing) }
            }
            Shape::Plan => {
                if self.messages.after(key).iter().all(|later| later.1.shape() != Shape::Plan) {
                    news.tell(Chunk::Panel { panel: PanelName::Plan, name: "entries", value: &plan(text) });
                }
                return None;
            }
            Shape::Started => {
                let body = |name: &str| body.get(name).str().filter(|text| !text.is_empty()).map(JsonStr::text);
                let reason = body("cancelReason");
                match body("streamingFailedMessage") {
                    Some(failure) => {
                        let error = Some(ErrorInfo::boxed(&failure, reason.as_deref(), None));
                        Draft { error, ..Draft::new(RowKind::Error, RowState::Done) }
                    }
                    None => {
                        reason?;
                        Draft::new(RowKind::Notice, RowState::Done).words("say.apiCancelled")
                    }
                }
            }
        };
        Some(draft)
    }

    /// Adds up what a request has cost.
    fn count(&mut self, message: &mut Message, news: &mut News<'_>) {
        let mut spent = Spent::default();
        let finished = message.output.as_ref().map_or("", |output| &output.body);
        for text in [message.text.as_str(), finished] {
            if let Ok(record) = self.body.read(text) {
                spent.read(record.root());
            }
        }
        self.spent.take(&message.spent);
        self.spent.add(&spent);
        message.spent = spent;
        self.spent.tell(news);
    }
}

impl<'a> Call<'a> {
    fn of(output: Option<&'a super::Output>) -> Self {
        let output = output.filter(|output| !output.text.is_empty());
        Call {
            output: output.map(|output| output.text.as_str()),
            same: output.map_or(0, |output| output.same),
            ..Call::default()
        }
    }
}

impl Shape {
    /// Whether the text of such a message is JSON.
    fn is_json(self) -> bool {
        matches!(self, Shape::Tool | Shape::Mcp | Shape::Started | Shape::Retry | Shape::Preparing | Shape::Hook)
    }
}

/// The first of these members that is a string and says something.
fn said<'a>(body: Value<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    names.iter().find_map(|name| body.get(name).str().filter(|text| !text.is_empty())).map(JsonStr::text)
}

fn question<'a>(text: &'a str, body: Value<'a>, asked: bool, streaming: RowState) -> Draft<'a> {
    let words = said(body, &["question", "response", "text"]);
    let words = if body.is_object() { words.unwrap_or_default() } else { Cow::Borrowed(text) };
    let pending = asked && streaming == RowState::Done;
    let answer = said(body, &["selected", "answer"]);
    let question = Raw::written(|json| {
        json.object(|json| {
            let options = body.get("options");
            let options = if options.is_array() { options } else { body.get("suggest") };
            if options.at(0).exists() {
                json.key("options").array(|json| options.items().for_each(|option| write_option(option, json)));
            }
            json.key("custom").bool(true);
            if let Some(answer) = &answer {
                json.key("answer").string(answer);
            }
        });
    });
    let state = if pending && answer.is_none() { RowState::Pending } else { streaming };
    Draft { question: Some(question), ..Draft::with_text(RowKind::Question, state, words) }
}

fn write_option(option: Value<'_>, json: &mut JsonWriter) {
    let label = option.str().map(JsonStr::text).or_else(|| said(option, &["label", "answer", "text"]));
    json.object(|json| {
        json.key("label").string(&label.unwrap_or_default());
        if let Some(description) = said(option, &["description"]) {
            json.key("description").string(&description);
        }
    });
}

fn approval() -> Raw {
    Raw::written(|json| {
        json.raw(r#"{"options":[{"id":"approve","kind":"allow_once"},{"id":"reject","kind":"reject_once"}]}"#);
    })
}

/// What kind of work a tool of the extensions does.
fn kind_of_tool(name: &str) -> Option<&'static str> {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    Some(match () {
        () if begins(&["readFile", "listCode"]) => "read",
        () if begins(&["listFiles", "searchFiles", "codebaseSearch"]) => "search",
        () if begins(&["edited", "newFile", "appliedDiff", "insertContent", "searchAndReplace"]) => "edit",
        () if begins(&["fileDeleted"]) => "delete",
        () if begins(&["web"]) => "fetch",
        () => return None,
    })
}

/// A list with boxes as the entries of the plan panel.
fn plan(text: &str) -> Raw {
    Raw::written(|json| {
        json.array(|json| {
            for line in text.lines() {
                let item = line.trim_start().trim_start_matches(['-', '*', ' ']);
                let Some((mark, content)) = item.strip_prefix('[').and_then(|item| item.split_once(']')) else {
                    continue;
                };
                let status = match mark.trim() {
                    "" => "pending",
                    "x" | "X" => "completed",
                    _ => "in_progress",
                };
                json.object(|json| {
                    json.key("content").string(content.trim());
                    json.key("status").string(status);
                });
            }
        });
    })
}

/// What requests have cost: tokens in, out, written to and read from a cache; and money in billionths.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent {
    numbers: [u64; 5],
    over: bool,
}

impl Spent {
    /// Whether the request has ended.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn read(&mut self, body: Value<'_>) {
        for (number, name) in self.numbers.iter_mut().zip(["tokensIn", "tokensOut", "cacheWrites", "cacheReads"]) {
            *number = body.get(name).u64().unwrap_or(*number);
        }
        if let Some(cost) = body.get("cost").number() {
            self.numbers[4] = billionths(cost);
            self.over = true;
        }
        self.over |= said(body, &["cancelReason", "streamingFailedMessage"]).is_some();
    }

    pub fn take(&mut self, other: &Spent) {
        for (number, other) in self.numbers.iter_mut().zip(other.numbers) {
            *number = number.saturating_sub(other);
        }
    }

    fn add(&mut self, other: &Spent) {
        for (number, other) in self.numbers.iter_mut().zip(other.numbers) {
            *number = number.saturating_add(other);
        }
    }

    fn tell(&self, news: &mut News<'_>) {
        let names = ["inputTokens", "outputTokens", "cacheWriteTokens", "cachedTokens", "cost"];
        for (name, number) in names.into_iter().zip(self.numbers) {
            let value = match name {
                "cost" => Raw::written(|json| json.raw(&decimal(number))),
                _ => Raw::written(|json| json.number(number)),
            };
            if number > 0 {
                news.tell(Chunk::Panel { panel: PanelName::Usage, name, value: &value });
            }
        }
    }
}

/// A number of JSON in billionths, cut off there.
fn billionths(number: &str) -> u64 {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut places = exponent.saturating_add(9);
    let mut value = 0u64;
    for (at, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if at >= whole.len() {
            places = places.saturating_sub(1);
        }
        let keep = at < whole.len() || places >= 0;
        if keep && digit.is_ascii_digit() {
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        } else if !keep {
            places = 0;
            break;
        }
    }
    while places > 0 && value > 0 && value < u64::MAX / 10 {
        value *= 10;
        places -= 1;
    }
    while places < 0 && value > 0 {
        value /= 10;
        places += 1;
    }
    value
}

fn decimal(billionths: u64) -> String {
    let digits = |number: u64| Raw::written(|json| json.number(number)).as_str().to_owned();
    let (whole, rest) = (billionths / 1_000_000_000, billionths % 1_000_000_000);
    if rest == 0 {
        return digits(whole);
    }
    let fraction = digits(rest + 1_000_000_000);
    [&digits(whole), ".", fraction.get(1..).unwrap_or_default().trim_end_matches('0')].concat()
}

#[cfg(test)]
mod tests {
    use super::{billionths, decimal};

    #[test]
    fn costs_add_up_without_a_float() {
        for (json, value) in [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.25", 250_000_000),
            ("12.000000001", 12_000_000_001),
            ("0.0000000019", 1),
            ("1.5e-7", 150),
            ("2E3", 2_000_000_000_000),
            ("-1", 1_000_000_000),
        ] {
            assert_eq!(billionths(json), value, "{json}");
        }
        assert_eq!([0, 250_000_000, 12_000_000_001, 100].map(decimal), ["0", "0.25", "12.000000001", "0.0000001"]);
    }
}
