//! Agent events: what an agent tells of its runs, one JSON object a line, in three generations of the wire that are
//! told apart by what a line holds; and the entries of its session files. Each message, part of a message and call is a
//! block of its own. Facts: agent-events.md.

mod calls;
mod entries;
mod messages;

use std::borrow::Cow;

use super::{Outcome, RecordDecoder, error_message, retryable, set_panel};
use crate::chunk::{Block, Chunk, ChunkSink, Effect, Usage};
use crate::json::{JsonStr, JsonWriter, Raw, Tape, Value};
use crate::limits::Limits;
use crate::row::{Fact, PanelName, RowKind, RowState, error, list_of_one, message, said, text};
use crate::sorted::Sorted;
use calls::Call;
use entries::Path;
use messages::Message;

/// The decoder.
#[derive(Debug)]
pub(super) struct AgentEvents {
    /// How many messages, entries and other rows of their own there were: what each is known by.
    count: u64,
    /// The assistant's message that goes on.
    current: Option<Message>,
    /// Messages of other roles that have begun: their numbers, and what the role is.
    begun: Vec<(u64, Box<str>)>,
    /// Assistant messages that have ended in this run, by their times or else their lengths.
    answers: Vec<Box<str>>,
    calls: Sorted<Call>,
    /// Ids of calls that had not ended when they were last told of, and of some that have since.
    open: Vec<Box<str>>,
    /// The row of a request that is tried again.
    retry: Option<Box<str>>,
    compaction: Option<Box<str>>,
    /// Commands of the user's that run, by their id.
    shells: Vec<(Box<str>, Box<str>)>,
    path: Path,
    /// What is wrong with the record that is read.
    wrong: Option<&'static str>,
    at_work: Option<bool>,
    max_input: usize,
    /// Parts of a message, and commands that run at once.
    max_parts: usize,
}

/// What a record may be read as: nothing that is known, or what it did.
type Read = Option<Effect>;

impl AgentEvents {
    pub fn new(limits: &Limits) -> Self {
        AgentEvents {
            count: 0,
            current: None,
            begun: Vec::new(),
            answers: Vec::new(),
            calls: Sorted::default(),
            open: Vec::new(),
            retry: None,
            compaction: None,
            shells: Vec::new(),
            path: Path::default(),
            wrong: None,
            at_work: None,
            max_input: limits.tool_input_bytes,
            max_parts: limits.open_blocks,
        }
    }

    fn read(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        if value.str().is_some() || value.is_array() || value.get("role").str().is_some() {
            return self.messages(value, sink);
        }
        let kind = text(value.get("type"));
        let shown = match &*kind {
            "agent_start" => {
                self.answers.clear();
                self.begun.clear();
                self.set_at_work(true, sink)
            }
            "turn_start" | "turn_end" | "save_point" | "extension_ui_request" => Effect::None,
            "agent_end" => self.end_run(value, sink),
            "agent_settled" | "settled" => self.settle(value.get("aborted").bool() == Some(true), sink),
            "abort" => self.settle(true, sink),
            "message_start" => self.begin_message(value.get("message"), sink),
            "message_update" => {
                let partial = [value.get("message"), value.get("assistantMessageEvent").get("partial")];
                let partial = partial.into_iter().find(|partial| partial.is_object()).unwrap_or(Value::ABSENT);
                let used = usage(value.get("usage"), sink).and(usage(partial.get("usage"), sink));
                used.and(self.update_message(value.get("assistantMessageEvent"), partial, sink))
            }
            "message_end" => self.end_message(value.get("message"), sink),
            "start" | "done" => match value.get("message") {
                message if message.is_object() => self.end_message(message, sink),
                _ => self.begin_message(value.get("partial"), sink),
            },
            "error" if value.get("error").get("role").str().is_some() => self.end_message(value.get("error"), sink),
            _ if messages::is_part_event(&kind) => self.update_message(value, value.get("partial"), sink),
            "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
                self.executed(&kind, value, sink)
            }
            "queue_update" => {
                let mut effect = Effect::None;
                for queue in ["steering", "followUp", "nextTurn"] {
                    let items = value.get(queue);
                    let waits = items.is_array() && items.at(0).exists();
                    let list = if waits { Raw::of(items) } else { Raw::null() };
                    effect = effect.and(set_panel(sink, PanelName::Queue, queue, &list));
                }
                effect
            }
            "entry_appended" => self.entry_appended(value.get("entry"), sink)?,
            "session_info_changed" => name_session(value, sink),
            "thinking_level_changed" => self.set_mode("thinkingLevel", value.get("level"), sink),
            "compaction_start" | "auto_compaction_start" => self.compact(sink),
            "compaction_end" | "auto_compaction_end" => self.compacted(value, sink),
            "auto_retry_start" | "summarization_retry_scheduled" => self.try_again(value, sink),
            "auto_retry_end" | "summarization_retry_finished" => self.end_retry(value, sink),
            "summarization_retry_attempt_start" => Effect::None,
            "bash_execution_update" => self.shell_says(value, sink),
            "extension_error" => self.fail(&error_message(value.get("error")), sink),
            "response" => match value.get("success").bool() {
                Some(false) => self.fail(&error_message(value.get("error")), sink),
                _ => Effect::None,
            },
            _ if COMMANDS.contains(&&*kind) => Effect::None,
            _ => return self.entry(&kind, value, sink),
        };
        Some(shown)
    }

    /// Messages in their own shape: what the user said as a string, one, or a list.
    fn messages(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        let mut effect = None;
        let alone = (!value.is_array()).then_some(value);
        for message in alone.into_iter().chain(value.items()) {
            let shown = match message.str() {
                Some(words) => {
                    let key = self.key();
                    self.row(&key, RowKind::User, RowState::Done, Vec::new(), &words.text(), sink)
                }
                None if message.get("role").str().is_some() => self.whole_message(message, sink),
                None => continue,
            };
            effect = Some(effect.unwrap_or(Effect::None).and(shown));
        }
        effect
    }

    /// What the next row of its own is known by.
    fn key(&mut self) -> String {
        self.count += 1;
        ["m", &self.count.to_string()].concat()
    }

    /// Tells of a block, and keeps its key with the entry that it came with.
    fn tell(&mut self, key: &str, before: Option<&str>, block: &Block<'_>, sink: &mut dyn ChunkSink) -> Effect {
        self.path.keep(key);
        sink.chunk(Chunk::Block { key, before, block })
    }

    /// A row that is no more than this.
    fn row(
        &mut self,
        key: &str,
        kind: RowKind,
        state: RowState,
        facts: Vec<(Fact, Raw)>,
        text: &str,
        sink: &mut dyn ChunkSink,
    ) -> Effect {
        let mut block = Block::new(kind, state);
        block.facts = facts;
        block.text = Cow::Borrowed(text);
        block.known_as = Some(Box::default());
        self.tell(key, None, &block, sink)
    }

    fn fail(&mut self, words: &str, sink: &mut dyn ChunkSink) -> Effect {
        let key = self.key();
        self.row(&key, RowKind::Error, RowState::Done, vec![(Fact::Error, failure(words))], "", sink)
    }

    fn set_at_work(&mut self, at_work: bool, sink: &mut dyn ChunkSink) -> Effect {
        match self.at_work.replace(at_work) == Some(at_work) {
            true => Effect::None,
            false => sink.chunk(Chunk::AtWork(at_work)),
        }
    }

    /// A run has ended. One that failed before any message of it began is known from here only.
    fn end_run(&mut self, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let answers: Vec<Value<'_>> = event.get("messages").items().filter(|message| is_assistant(*message)).collect();
        let seen = answers.iter().rposition(|answer| self.answers.contains(&mark(*answer)));
        let seen = seen.map_or(self.answers.len(), |last| last + 1);
        let mut effect = Effect::None;
        for answer in answers.into_iter().skip(seen) {
            effect = effect.and(self.end_message(answer, sink));
        }
        match event.get("willRetry").bool() {
            Some(true) => effect,
            _ => effect.and(self.settle(false, sink)),
        }
    }

    /// Nothing goes on any more.
    fn settle(&mut self, aborted: bool, sink: &mut dyn ChunkSink) -> Effect {
        let state = if aborted { RowState::Cancelled } else { RowState::Interrupted };
        let mut effect = self.drop_message(state, sink);
        for id in std::mem::take(&mut self.open) {
            effect = effect.and(self.end_call(&id, state, sink));
        }
        let calls = &self.calls;
        self.shells.retain(|(_, key)| calls.get(&calls::placed(key)).is_some_and(Call::waits));
        for key in [self.retry.take(), self.compaction.take()].into_iter().flatten() {
            effect = effect.and(sink.chunk(Chunk::BlockState { key: &key, state: RowState::Cancelled }));
        }
        effect.and(self.set_at_work(false, sink)).and(sink.chunk(Chunk::TurnEnd))
    }

    fn compact(&mut self, sink: &mut dyn ChunkSink) -> Effect {
        let key = self.key();
        let words = vec![(Fact::Message, message("say.condensing", &[]))];
        let shown = self.row(&key, RowKind::Compaction, RowState::Running, words, "", sink);
        self.compaction = Some(key.into());
        shown.and(self.set_at_work(true, sink))
    }

    fn compacted(&mut self, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let result = event.get("result");
        let failed = said(event, &["errorMessage"]);
        let state = match () {
            () if event.get("aborted").bool() == Some(true) => RowState::Cancelled,
            () if failed.is_some() => RowState::Failed,
            () => RowState::Done,
        };
        let key = self.compaction.take().map_or_else(|| self.key(), String::from);
        let mut facts = compaction_facts(result);
        facts.extend(failed.map(|words| (Fact::Error, failure(&words))));
        self.row(&key, RowKind::Compaction, state, facts, &text(result.get("summary")), sink)
    }

    fn try_again(&mut self, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let (attempt, max) = (event.get("attempt").number(), event.get("maxAttempts").number());
        let words = match (attempt, max) {
            (Some(attempt), Some(max)) => message("say.retry", &[("attempt", attempt), ("max", max)]),
            (Some(attempt), None) => message("say.retryAttempt", &[("attempt", attempt)]),
            (None, _) => message("say.retrying", &[]),
        };
        let mut facts = vec![(Fact::Message, words)];
        if let Some(words) = said(event, &["errorMessage"]) {
            facts.push((Fact::Error, error(&words, code(&words), Some(true))));
        }
        if let Some(delay) = event.get("delayMs").number() {
            facts.push((Fact::Meta, member("delayMs", delay)));
        }
        let key = self.retry.clone().unwrap_or_else(|| self.key().into());
        let shown = self.row(&key, RowKind::Retry, RowState::Running, facts, "", sink);
        self.retry = Some(key);
        shown.and(self.set_at_work(true, sink))
    }

    fn end_retry(&mut self, event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let Some(key) = self.retry.take() else { return Effect::None };
        let state = if event.get("success").bool() == Some(false) { RowState::Failed } else { RowState::Done };
        sink.chunk(Chunk::BlockState { key: &key, state })
    }
}

impl RecordDecoder for AgentEvents {
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        if self.at_work.is_none() {
            self.set_at_work(false, sink);
        }
        let read = self.read(value, sink);
        match self.wrong.take() {
            Some(reason) => Outcome::Faulted(reason),
            None => read.map_or(Outcome::Skipped, Outcome::from),
        }
    }

    fn finish(&mut self, _sink: &mut dyn ChunkSink) {}
}

/// What a client asks of an agent on the same line: nothing that shows, for the agent tells what comes of it.
const COMMANDS: [&str; 27] = [
    "prompt",
    "steer",
    "follow_up",
    "clear_queue",
    "new_session",
    "get_state",
    "get_messages",
    "set_model",
    "cycle_model",
    "get_available_models",
    "set_thinking_level",
    "cycle_thinking_level",
    "set_steering_mode",
    "set_follow_up_mode",
    "compact",
    "set_auto_compaction",
    "set_auto_retry",
    "abort_retry",
    "bash",
    "abort_bash",
    "get_session_stats",
    "export_html",
    "switch_session",
    "fork",
    "set_session_name",
    "get_commands",
    "extension_ui_response",
];

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    let message = value.get("message");
    let kind = text(value.get("type"));
    match &*kind {
        "session" => value.get("cwd").str().is_some() || value.get("version").number().is_some(),
        // A provider's messages of this type name themselves `message`.
        "message" | "message_start" | "message_end" => {
            message.get("role").str().is_some() && !message.get("type").exists()
        }
        "message_update" => value.get("assistantMessageEvent").is_object(),
        "agent_start" | "agent_end" | "agent_settled" | "turn_start" | "queue_update" | "entry_appended"
        | "auto_retry_start" | "compaction_start" => true,
        "turn_end" => value.get("toolResults").is_array(),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
            value.get("toolCallId").str().is_some()
        }
        "model_change" | "thinking_level_change" | "custom_message" | "branch_summary" => {
            value.get("timestamp").str().is_some()
        }
        _ => messages::is_part_event(&kind) && value.get("contentIndex").number().is_some(),
    }
}

/// What tells an answer from others of its run.
fn mark(answer: Value<'_>) -> Box<str> {
    answer.get("timestamp").number().map_or_else(|| answer.raw().len().to_string().into(), Box::from)
}

fn is_assistant(message: Value<'_>) -> bool {
    message.get("role").str().is_some_and(|role| role.raw() == "assistant")
}

/// An object of one member, whose value is JSON text.
fn member(name: &str, value: &str) -> Raw {
    Raw::written(|json| json.object(|json| json.key(name).raw(value)))
}

/// The code that the words of an error begin with.
fn code(words: &str) -> Option<&str> {
    let code = words.get(..3).filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))?;
    (!words.get(3..)?.starts_with(|next: char| next.is_alphanumeric())).then_some(code)
}

/// An error in the agent's words, which may be what a provider's said, as it was.
fn failure(words: &str) -> Raw {
    let code = code(words);
    let mut tape = Tape::default();
    let body = words.get(code.map_or(0, str::len)..).unwrap_or_default();
    let read = if body.trim_start().starts_with('{') { tape.read(body.trim()).ok() } else { None };
    let inner = read.map(|body| error_message(body.root()).into_owned()).filter(|inner| !inner.is_empty());
    error(inner.as_deref().unwrap_or(words), code, code.and_then(retryable))
}

/// The text of a content: a string, or the texts of its items.
fn content_text(content: Value<'_>) -> Cow<'_, str> {
    if let Some(words) = content.str() {
        return words.text();
    }
    let mut texts = content.items().filter_map(|item| item.get("text").str()).map(JsonStr::text);
    let mut all = texts.next().unwrap_or_default();
    for more in texts {
        let all = all.to_mut();
        all.push('\n');
        all.push_str(&more);
    }
    all
}

/// The images of a content, as a row has them.
fn images(content: Value<'_>) -> Option<Raw> {
    let mut any = false;
    let list = Raw::written(|json: &mut JsonWriter| {
        json.array(|json| {
            for one in content.items().filter_map(image) {
                any = true;
                json.raw(one.inner());
            }
        });
    });
    any.then_some(list)
}

/// One image, as a list of it.
fn image(item: Value<'_>) -> Option<Raw> {
    let data = item.get("data").str()?.text();
    // One generation of the interface has the one name, the wire the other.
    let kind = said(item, &["mimeType", "mediaType"]).unwrap_or(Cow::Borrowed("image/png"));
    let url = ["data:", &kind, ";base64,", &data].concat();
    Some(list_of_one(&[("url", &url), ("mediaType", &kind)]))
}

fn compaction_facts(compaction: Value<'_>) -> Vec<(Fact, Raw)> {
    let mut facts = vec![(Fact::Message, message("say.condense", &[]))];
    facts.extend(compaction.get("tokensBefore").number().map(|count| (Fact::Meta, member("tokensBefore", count))));
    facts
}

/// Tokens of a message, all of them; where nothing was used nothing is said.
fn usage(usage: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let count = |name: &str| usage.get(name).u64();
    let used = Usage {
        input_tokens: count("input"),
        output_tokens: count("output"),
        total_tokens: count("totalTokens"),
        reasoning_tokens: count("reasoning"),
        cached_tokens: count("cacheRead"),
    };
    let counts = [used.input_tokens, used.output_tokens, used.total_tokens, used.cached_tokens];
    if counts.iter().flatten().all(|count| *count == 0) { Effect::None } else { sink.chunk(Chunk::Usage(used)) }
}

/// The session's name; without one, or with an empty one, it has none.
fn name_session(event: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
    let name = said(event, &["name"]).map(|name| Raw::written(|json| json.string(&name)));
    set_panel(sink, PanelName::Session, "title", &name.unwrap_or_else(Raw::null))
}
