//! From a message to the block that its row has become: the one place where a shape of message becomes a kind of row.

use std::borrow::Cow;

use super::kinds::{KINDS, List, Shape};
use super::{Key, Message, News, Say, drop_key, first_after, put_key, word};
use crate::chunk::{Block, Chunk, ToolBlock};
use crate::json::{JsonStr, JsonWriter, Raw, Value};
use crate::row::{Fact, PanelName, RowKind, RowState, approval, error, list_of_one, message, said, write_option};

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
        if self.show_output(key, news) {
            return;
        }
        let Some(shape) = self.messages.get(key).map(Message::shape) else { return };
        let belongs = self.head_of(key, shape).is_some();
        let Some(message) = self.messages.get_mut(key) else { return };
        if belongs && message.told == Some(false) {
            return;
        }
        let mut message = std::mem::take(message);
        let mut tape = std::mem::take(&mut self.body);
        let body = tape.read(&message.text).ok();
        let body = body.as_ref().map_or(Value::ABSENT, |record| record.root());
        let failed = body.get("failed").bool() == Some(true);
        let is_object = body.is_object() || message.partial && message.text.trim_ascii_start().starts_with('{');
        let malformed = shape.is_json() && !is_object && !message.text.is_empty();
        let mut block = Block::new(RowKind::Notice, RowState::Done);
        let hidden = belongs || self.is_superseded(key, shape, failed);
        let shown = if hidden {
            false
        } else if malformed {
            block.text = Cow::Borrowed(&message.text);
            words(&mut block, "say.bodyMalformed", &[]);
            true
        } else {
            self.draft(key, &message, body, &mut block, news).is_some()
        };
        if malformed && !message.partial {
            news.fault = Some("body");
        }
        let state = block.state;
        // Its text is the message's, as it stands.
        let plain = matches!(block.text, Cow::Borrowed(text) if std::ptr::eq(text, &*message.text));
        let same = if shown && plain { message.text.len() } else { 0 };
        if shown {
            block.text_same = if plain { message.same } else { 0 };
            self.tell_block(key, &message, block, news);
        } else if message.told == Some(true) || message.told.is_none() && (hidden || !message.partial) {
            // It may have a row from an earlier stream.
            news.tell(Chunk::Remove { key: &key_text(key), time: Some(key.0) });
        }
        self.body = tape;
        if shape == Shape::Started {
            self.count(&mut message);
        }
        if let Some(output) = &mut message.output {
            output.same = output.text.len();
        }
        message.told = Some(shown);
        message.told_state = Some(state).filter(|_| shown && !malformed);
        message.same = same;
        self.messages.put(key, message);
        let moves = shown && (shape == Shape::Retry && !failed || shape == Shape::Preparing);
        for (keys, is) in [(&mut self.shown, shown), (&mut self.moving, moves)] {
            if is { put_key(keys, key) } else { drop_key(keys, key) }
        }
    }

    /// Where nothing but the output of a call has changed, tells of that. False: more has.
    fn show_output(&mut self, key: Key, news: &mut News<'_>) -> bool {
        let is_tip = self.tip() == Some(key);
        let Some(message) = self.messages.get_mut(key) else { return true };
        let works = is_tip && !message.loaded;
        let state = match (message.shape(), message.told_state) {
            (_, None | Some(RowState::Pending | RowState::Preparing)) => return false,
            (Shape::Command, _) if works && !message.completed => RowState::Running,
            (Shape::Command | Shape::Mcp, _) => RowState::Done,
            (Shape::Hook, Some(state)) => state,
            _ => return false,
        };
        let Some(output) = message.output.as_deref_mut().filter(|output| !output.text.is_empty()) else { return false };
        news.tell(Chunk::BlockOutput { key: &key_text(key), state, output: &output.text, same: output.same });
        output.same = output.text.len();
        message.told_state = Some(state);
        true
    }

    /// Whether what follows has made the row superfluous.
    fn is_superseded(&self, key: Key, shape: Shape, failed: bool) -> bool {
        let follows = |list: List| self.list(list).last().is_some_and(|last| *last > key);
        match shape {
            Shape::Waiting(_) | Shape::Failed => self.tip() != Some(key),
            Shape::Retry if !failed => follows(List::Retries) || follows(List::Started),
            Shape::Preparing => follows(List::Ends),
            _ => false,
        }
    }

    /// Hands the block on, with what every kind of message may have.
    fn tell_block(&self, key: Key, message: &Message, mut block: Block<'_>, news: &mut News<'_>) {
        if block.state == RowState::Pending && block.kind != RowKind::Question {
            block.facts.push((Fact::Permission, approval(None)));
        }
        for (fact, name, items) in [(Fact::Images, "url", &message.images), (Fact::Files, "name", &message.files)] {
            if !items.is_empty() {
                let write = |json: &mut JsonWriter, item: &String| json.object(|json| json.key(name).string(item));
                let list = |json: &mut JsonWriter| items.iter().for_each(|item| write(json, item));
                block.facts.push((fact, Raw::written(|json| json.array(list))));
            }
        }
        block.partial = message.partial;
        block.time = Some(key.0);
        let next = match message.told {
            Some(true) => None,
            _ => first_after(&self.shown, key).map(key_text),
        };
        news.tell(Chunk::Block { key: &key_text(key), before: next.as_deref(), block: &block });
    }

    /// What a message has become. None: no row. The row's state is done, and it has no text, where nothing is said of
    /// them.
    fn draft<'a>(
        &mut self,
        key: Key,
        message: &'a Message,
        body: Value<'a>,
        block: &mut Block<'a>,
        news: &mut News<'_>,
    ) -> Option<()> {
        let kind = &KINDS[usize::from(message.kind)];
        let text = message.text.as_str();
        let is_tip = self.tip() == Some(key);
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
        let plain = Cow::Borrowed(text);
        block.kind = kind.shape.row();
        match kind.shape {
            Shape::Hidden | Shape::McpStarted | Shape::Finished => return None,
            Shape::User => block.text = body.get("diff").str().map_or(plain, JsonStr::text),
            Shape::Text | Shape::Reasoning | Shape::Completion => {
                if text.is_empty() && message.images.is_empty() && message.files.is_empty() {
                    return None;
                }
                block.state = streaming;
                block.text = plain;
                if kind.shape == Shape::Completion {
                    words(block, "say.completion", &[]);
                }
            }
            Shape::Error | Shape::Failed => {
                let retryable = (kind.shape == Shape::Failed).then_some(true);
                block.facts.push((Fact::Error, error(text, None, retryable)));
            }
            Shape::Notice(key) => {
                block.state = streaming;
                block.text = plain;
                words(block, key, &[]);
            }
            // Without the message whose row it belongs to, it is a row of its own.
            Shape::Output | Shape::HookOutput | Shape::McpResponse => {
                if text.is_empty() {
                    return None;
                }
                block.state = streaming;
                block.text = plain;
            }
            Shape::Compaction(during, done) => {
                block.state = running(message.partial);
                let summary = || body.get("summary").str().map(JsonStr::text).unwrap_or_default();
                block.text = if body.is_object() { summary() } else { plain };
                words(block, if message.partial { during } else { done }, &[]);
            }
            Shape::Asked(key) => {
                block.state = if asked && !message.partial { RowState::Pending } else { streaming };
                block.text = plain;
                words(block, key, &[]);
            }
            Shape::Image => {
                if message.images.is_empty() && text.is_empty() {
                    return None;
                }
                if message.images.is_empty() {
                    block.text = plain;
                }
            }
            Shape::Question => {
                block.state = streaming;
                question(text, body, asked, block);
            }
            Shape::Command => {
                let wrote = output.is_some_and(|output| !output.text.is_empty());
                block.state = match () {
                    () if message.partial => during(RowState::Preparing, RowState::Done),
                    () if asked && !wrote => RowState::Pending,
                    () => running(is_tip && !message.completed),
                };
                let command = Raw::written(|json| json.object(|json| json.key("command").string(text)));
                let tool = call(block, Cow::Borrowed("command"), Some("execute"), None, output);
                tool.input = Cow::Owned(command.as_str().to_owned());
                tool.input_done = !message.partial;
            }
            Shape::Tool => {
                let name = said(body, &["tool", "name"]).unwrap_or(Cow::Borrowed(kind.name));
                let work = kind_of_tool(&name);
                // Neighbours that only look are shown together.
                if matches!(work, Some("read" | "search")) && !message.partial {
                    block.facts.push((Fact::Meta, Raw::written(|json| json.raw(r#"{"group":"look"}"#))));
                }
                block.state = match &*word(body.get("status")) {
                    _ if message.partial => during(RowState::Preparing, RowState::Done),
                    _ if asked => RowState::Pending,
                    "running" | "pending" => running(is_tip),
                    "failed" | "error" => RowState::Failed,
                    _ => RowState::Done,
                };
                let path = said(body, &["path", "filePath"]);
                // A path that is still growing is nobody's to open.
                if let Some(path) = path.as_deref().filter(|_| !message.partial) {
                    block.facts.push((Fact::Locations, list_of_one(&[("path", path)])));
                }
                let title = path.or_else(|| said(body, &["regex", "url", "query", "skill"]));
                let tool = call(block, name, work, title, output);
                tool.input = plain;
                tool.input_done = !message.partial;
            }
            Shape::Mcp => {
                let started = output.is_some_and(|output| output.started);
                let answered = output.is_some_and(|output| !output.text.is_empty());
                block.state = match () {
                    () if message.partial => during(RowState::Preparing, RowState::Done),
                    () if asked && !started && !answered => RowState::Pending,
                    () => running(is_tip && !answered),
                };
                let name = said(body, &["toolName", "uri"]).unwrap_or(Cow::Borrowed(kind.name));
                let tool = call(block, name, Some("fetch"), said(body, &["serverName"]), output);
                let arguments = body.get("arguments");
                tool.input = match arguments.str() {
                    Some(json) => json.text(),
                    None if arguments.is_null() => Cow::Borrowed(""),
                    None => Cow::Borrowed(arguments.raw()),
                };
                tool.input_done = !message.partial;
            }
            Shape::Hook => {
                block.state = match &*word(body.get("status")) {
                    "running" | "pending" => running(true),
                    "failed" | "error" => RowState::Failed,
                    "cancelled" => RowState::Cancelled,
                    _ => RowState::Done,
                };
                let name = said(body, &["hookName", "name"]).unwrap_or(Cow::Borrowed("hook"));
                call(block, name, Some("hook"), said(body, &["toolName"]), output);
            }
            Shape::Result => {
                block.state = streaming;
                call(block, Cow::Borrowed(kind.name), None, None, None).output = Some(text);
            }
            Shape::Browser => {
                block.text = said(body, &["logs", "action", "currentUrl"]).unwrap_or_default();
                if block.text.is_empty() && said(body, &["screenshot"]).is_none() {
                    return None;
                }
                block.state = streaming;
                words(block, "say.browser", &[]);
            }
            Shape::Retry => {
                let failed = body.get("failed").bool() == Some(true);
                block.state = if failed { RowState::Failed } else { running(is_tip) };
                let number = |name: &str| body.get(name).number().unwrap_or_default();
                words(block, "say.retry", &[("attempt", number("attempt")), ("max", number("maxAttempts"))]);
                if let Some(words) = said(body, &["errorMessage", "error"]) {
                    block.facts.push((Fact::Error, error(&words, None, None)));
                }
            }
            Shape::Waiting(key) => {
                block.state = running(message.partial);
                let seconds = body.get("seconds").number().map(|seconds| ("seconds", seconds));
                words(block, key, seconds.as_slice());
                if !body.is_object() {
                    block.text = plain;
                }
            }
            Shape::Preparing => {
                let name = said(body, &["toolName"])?;
                if !message.partial || message.loaded {
                    return None;
                }
                block.state = RowState::Preparing;
                words(block, "toolPreparing.preparing", &[("name", &name)]);
                block.bytes = Some(body.get("byteCount").u64().unwrap_or_default());
            }
            Shape::Plan => {
                if self.list(List::Plans).last() == Some(&key) {
                    self.plan = Some(key);
                    news.tell(Chunk::Panel { panel: PanelName::Plan, name: "entries", value: &plan(text) });
                }
                return None;
            }
            Shape::Started => {
                let reason = said(body, &["cancelReason"]);
                match said(body, &["streamingFailedMessage"]) {
                    Some(failure) => {
                        block.kind = RowKind::Error;
                        block.facts.push((Fact::Error, error(&failure, reason.as_deref(), None)));
                    }
                    None => {
                        reason?;
                        words(block, "say.apiCancelled", &[]);
                    }
                }
            }
        }
        Some(())
    }

    /// Adds up what a request has cost.
    fn count(&mut self, message: &mut Message) {
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
    }
}

/// Makes the block a call, with what came of it.
fn call<'a, 'b>(
    block: &'b mut Block<'a>,
    name: Cow<'a, str>,
    work: Option<&str>,
    title: Option<Cow<'a, str>>,
    output: Option<&'a super::Output>,
) -> &'b mut ToolBlock<'a> {
    let string = |text: &str| Raw::written(|json| json.string(text));
    block.facts.extend(title.map(|title| (Fact::Title, string(&title))));
    block.facts.extend(work.map(|work| (Fact::Work, string(work))));
    let tool = block.tool.get_or_insert_default();
    tool.name = name;
    if let Some(output) = output.filter(|output| !output.text.is_empty()) {
        tool.output = Some(&output.text);
        tool.output_same = output.same;
    }
    tool
}

fn words(block: &mut Block<'_>, key: &str, params: &[(&str, &str)]) {
    block.facts.push((Fact::Message, message(key, params)));
}

impl Shape {
    /// Whether the text of such a message is JSON.
    fn is_json(self) -> bool {
        matches!(self, Shape::Tool | Shape::Mcp | Shape::Started | Shape::Retry | Shape::Preparing | Shape::Hook)
    }

    /// What a row of such a message is, mostly.
    fn row(self) -> RowKind {
        match self {
            Shape::User => RowKind::User,
            Shape::Text | Shape::Completion => RowKind::Text,
            Shape::Reasoning => RowKind::Reasoning,
            Shape::Error | Shape::Failed => RowKind::Error,
            Shape::Compaction(..) => RowKind::Compaction,
            Shape::Asked(_) => RowKind::Permission,
            Shape::Image => RowKind::Image,
            Shape::Question => RowKind::Question,
            Shape::Command | Shape::Tool | Shape::Mcp | Shape::Hook | Shape::Result => RowKind::Tool,
            Shape::Retry | Shape::Waiting(_) => RowKind::Retry,
            Shape::Preparing => RowKind::ToolPreparing,
            _ => RowKind::Notice,
        }
    }
}

fn question<'a>(text: &'a str, body: Value<'a>, asked: bool, block: &mut Block<'a>) {
    block.text = match body.is_object() {
        true => said(body, &["question", "response", "text"]).unwrap_or_default(),
        false => Cow::Borrowed(text),
    };
    let answer = said(body, &["selected", "answer"]);
    if asked && block.state == RowState::Done && answer.is_none() {
        block.state = RowState::Pending;
    }
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
    block.facts.push((Fact::Question, question));
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

    /// Tells what differs from what was told.
    pub fn tell(&self, told: &mut Spent, news: &mut News<'_>) {
        let names = ["inputTokens", "outputTokens", "cacheWriteTokens", "cachedTokens", "cost"];
        for ((name, number), told) in names.into_iter().zip(self.numbers).zip(&mut told.numbers) {
            if std::mem::replace(told, number) != number {
                let value = match name {
                    _ if number == 0 => Raw::null(),
                    "cost" => Raw::written(|json| json.raw(&decimal(number))),
                    _ => Raw::written(|json| json.number(number)),
                };
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
