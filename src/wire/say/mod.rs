//! Say/ask messages, as coding-agent extensions post them to their webviews: in any envelope, in any order, again and
//! again. The messages are kept by key, only what is fresher changes one, and each change is told as the block that
//! the message's row has become (`rows`). Facts: say-messages, tool-preparing §8, tagged-text §3.

mod kinds;
mod output;
mod rows;

use std::borrow::Cow;

use super::{Outcome, RecordDecoder};
use crate::chunk::{Chunk, ChunkSink, Effect};
use crate::json::{JsonStr, Raw, Tape, Value};
use crate::limits::Limits;
use crate::row::{PanelName, RowState};
use crate::sorted::{Keyed, Sorted};
use crate::text::common_prefix;
use kinds::{KINDS, LISTS, List, Shape};
use output::Output;
use rows::Spent;

/// A message's place: its time in ms, and its kind where the time alone is no identity.
type Key = (u64, u8);

/// The decoder.
#[derive(Debug)]
pub(super) struct Say {
    messages: Messages,
    lists: [Vec<Key>; LISTS],
    /// Those that have a row.
    shown: Vec<Key>,
    /// Rows that a later message will end: retries, and what announces a call.
    moving: Vec<Key>,
    /// Messages to tell of, again or for the first time.
    dirty: Vec<Key>,
    stream_blocks: Sorted<StreamBlock>,
    epoch: Option<u64>,
    /// Whole states so far.
    states: u32,
    /// Those that the last whole state held, and no single message has told of since.
    held: Vec<Key>,
    /// Something has come since the state that opened the chat.
    live: bool,
    spent: Spent,
    /// What the panels show of it.
    told: Spent,
    /// The plan panel shows the plan of this message.
    plan: Option<Key>,
    /// What rows may still be put together anew: it grows with what comes, so that no order of messages costs more
    /// than what they are long.
    slack: usize,
    overrun: bool,
    /// For a message's body, and for a state that is JSON inside JSON.
    body: Tape,
    state: Tape,
    max_messages: usize,
}

/// A block of the stream that a message tells of, whatever its time.
#[derive(Debug)]
struct StreamBlock {
    id: Box<str>,
    message: Key,
}

impl Keyed for StreamBlock {
    fn key(&self) -> &str {
        &self.id
    }
}

/// Messages in the order of their keys: new ones come last nearly always, so that a sorted list is the smallest thing
/// that is fast.
#[derive(Debug, Default)]
struct Messages {
    #[expect(clippy::vec_box, reason = "one that comes out of its order moves all that follow")]
    list: Vec<Box<(Key, Message)>>,
}

impl Messages {
    #[inline(never)]
    fn find(&self, key: Key) -> Result<usize, usize> {
        match self.list.last() {
            Some(last) if last.0 < key => Err(self.list.len()),
            _ => self.list.binary_search_by(|known| known.0.cmp(&key)),
        }
    }

    fn get(&self, key: Key) -> Option<&Message> {
        self.find(key).ok().and_then(|place| self.list.get(place)).map(|known| &known.1)
    }

    fn get_mut(&mut self, key: Key) -> Option<&mut Message> {
        self.find(key).ok().and_then(|place| self.list.get_mut(place)).map(|known| &mut known.1)
    }

    fn put(&mut self, key: Key, message: Message) {
        match self.find(key) {
            Ok(place) => self.list[place].1 = message,
            Err(place) => self.list.insert(place, Box::new((key, message))),
        }
    }

    /// Those after the key.
    #[inline(never)]
    fn after(&self, key: Key) -> &[Box<(Key, Message)>] {
        let place = self.find(key).map_or_else(|place| place, |place| place + 1);
        self.list.get(place..).unwrap_or_default()
    }

    fn remove(&mut self, key: Key) -> Option<Message> {
        self.find(key).ok().map(|place| self.list.remove(place).1)
    }
}

/// Puts a key into its place in a sorted list that has it once.
#[inline(never)]
fn put_key(keys: &mut Vec<Key>, key: Key) {
    if let Err(place) = keys.binary_search(&key) {
        keys.insert(place, key);
    }
}

#[inline(never)]
fn drop_key(keys: &mut Vec<Key>, key: Key) {
    if let Ok(place) = keys.binary_search(&key) {
        keys.remove(place);
    }
}

/// The last of them before the key.
fn last_before(keys: &[Key], key: Key) -> Option<Key> {
    keys.get(keys.partition_point(|known| *known < key).checked_sub(1)?).copied()
}

/// The first of them after the key.
fn first_after(keys: &[Key], key: Key) -> Option<Key> {
    keys.get(keys.partition_point(|known| *known <= key)).copied()
}

/// What is known of one message.
#[derive(Debug, Default)]
struct Message {
    kind: u8,
    text: String,
    /// How much of it stands as it was told last.
    same: usize,
    partial: bool,
    seq: Option<u64>,
    images: Vec<String>,
    files: Vec<String>,
    /// The ask was answered, or approved by itself.
    answered: bool,
    /// The command has ended.
    completed: bool,
    /// The whole state that told of it last; 0: a single message has since.
    state: u32,
    /// It came with the state that opened the chat.
    loaded: bool,
    /// It has a row, or had none.
    told: Option<bool>,
    /// In what state the row was told of, if nothing but what others add to it has changed since.
    told_state: Option<RowState>,
    /// Its id as a block of the stream.
    block: Option<Box<str>>,
    /// What others add to its row.
    output: Option<Box<Output>>,
    spent: Spent,
}

impl Message {
    fn shape(&self) -> Shape {
        KINDS[usize::from(self.kind)].shape
    }
}

/// One message as an envelope brings it.
struct Said<'a> {
    time: u64,
    kind: u8,
    text: Cow<'a, str>,
    partial: bool,
    seq: Option<u64>,
    epoch: Option<u64>,
    value: Value<'a>,
}

/// What one record did.
struct News<'a> {
    effect: Option<Effect>,
    fault: Option<&'static str>,
    sink: &'a mut dyn ChunkSink,
}

impl News<'_> {
    fn tell(&mut self, chunk: Chunk<'_>) {
        let effect = self.sink.chunk(chunk);
        self.effect = Some(self.effect.map_or(effect, |before| before.and(effect)));
    }
}

impl Say {
    pub fn new(limits: &Limits) -> Self {
        let tape = || Tape::with_caps(limits.nesting, limits.record_values);
        Say {
            messages: Messages::default(),
            lists: Default::default(),
            shown: Vec::new(),
            moving: Vec::new(),
            dirty: Vec::new(),
            stream_blocks: Sorted::default(),
            epoch: None,
            states: 0,
            held: Vec::new(),
            live: false,
            spent: Spent::default(),
            told: Spent::default(),
            plan: None,
            slack: 1 << 20,
            overrun: false,
            body: tape(),
            state: tape(),
            max_messages: limits.rows.saturating_mul(2),
        }
    }

    fn list(&self, list: List) -> &Vec<Key> {
        &self.lists[list as usize]
    }

    /// The last message that stands for itself.
    fn tip(&self) -> Option<Key> {
        self.list(List::Standing).last().copied()
    }

    /// Finds the messages in an envelope. False: it is none of ours.
    fn read(&mut self, value: Value<'_>, news: &mut News<'_>) -> bool {
        if value.is_array() {
            return self.read_state(value, false, news);
        }
        match &*word(value.get("type")) {
            "state" => match list(value.get("state")) {
                Some(messages) => self.read_state(messages, false, news),
                None => false,
            },
            "grpc_response" => {
                let message = value.get("grpc_response").get("message");
                let Some(json) = message.get("stateJson").str() else { return self.read_single(message, true, news) };
                let mut tape = std::mem::take(&mut self.state);
                let json = json.text();
                let known = match tape.read(&json) {
                    Ok(state) => list(state.root()).is_none_or(|messages| self.read_state(messages, false, news)),
                    Err(_) => {
                        news.fault = Some("state");
                        true
                    }
                };
                self.state = tape;
                known
            }
            _ => {
                let wrapped = ["clineMessage", "shoferMessage", "rooMessage"].map(|name| value.get(name));
                let message = wrapped.into_iter().find(|message| message.is_object()).unwrap_or(value);
                self.read_single(message, false, news)
            }
        }
    }

    fn read_single(&mut self, value: Value<'_>, grpc: bool, news: &mut News<'_>) -> bool {
        let Some(said) = read_message(value, grpc) else { return false };
        if self.is_stale(said.epoch, news) {
            return true;
        }
        let key = self.apply(&said, None, news).0;
        if let Some((key, message)) = key.and_then(|key| Some((key, self.messages.get_mut(key)?))) {
            message.state = 0;
            if std::mem::take(&mut message.loaded) {
                message.told_state = None;
                put_key(&mut self.dirty, key);
            }
        }
        self.tell(true, news);
        true
    }

    /// A whole state: it adds and refreshes; what an earlier state held and this one does not is gone, unless a
    /// single message has told of it since.
    fn read_state(&mut self, messages: Value<'_>, grpc: bool, news: &mut News<'_>) -> bool {
        let said = |value| read_message(value, grpc);
        let count = messages.items().count();
        let epoch = messages.items().filter_map(|value| said(value)?.epoch).max();
        if count > 0 && messages.items().all(|value| said(value).is_none()) {
            return false;
        }
        if self.is_stale(epoch, news) {
            return true;
        }
        let load = self.messages.list.is_empty();
        let last_known = self.messages.list.last().map(|last| last.0);
        self.states += 1;
        let (mut first, mut known) = (None, 0);
        let mut held = Vec::new();
        for said in messages.items().filter_map(said).filter(|said| said.epoch >= epoch) {
            first = Some(first.unwrap_or(said.time).min(said.time));
            let before = self.messages.list.len();
            let (Some(key), is_old) = self.apply(&said, Some(load), news) else { continue };
            known += usize::from(self.messages.list.len() == before);
            // A copy that lags behind a single message says nothing of what is there now.
            if let Some(message) = self.messages.get_mut(key).filter(|message| !is_old || message.state != 0) {
                message.state = self.states;
                put_key(&mut held, key);
            }
        }
        // A state that begins after all there was, and holds none of it, is another conversation.
        let follows = first.zip(last_known).is_some_and(|(first, last)| first > last.0);
        let another = known == 0 && epoch.is_none() && follows;
        let before = std::mem::replace(&mut self.held, held);
        let gone: Vec<Key> = match another {
            true => self.messages.list.iter().map(|known| known.0).collect(),
            false => before,
        };
        for key in gone {
            let is_gone = |message: &Message| message.state != self.states && (another || message.state != 0);
            if self.messages.get(key).is_some_and(is_gone) {
                self.remove(key, news);
            }
        }
        self.tell(!load, news);
        true
    }

    /// Whether it belongs to a conversation that is over. A newer one clears what there is.
    fn is_stale(&mut self, epoch: Option<u64>, news: &mut News<'_>) -> bool {
        let Some(epoch) = epoch else { return false };
        if self.epoch.is_some_and(|known| epoch < known) {
            return true;
        }
        if self.epoch.replace(epoch).is_some_and(|known| epoch > known) {
            self.messages.list.clear();
            self.lists = Default::default();
            for keys in [&mut self.shown, &mut self.moving, &mut self.held, &mut self.dirty] {
                keys.clear();
            }
            self.stream_blocks = Sorted::default();
            self.spent = Spent::default();
            news.tell(Chunk::RemoveAll);
        }
        false
    }

    fn remove(&mut self, key: Key, news: &mut News<'_>) {
        let Some(message) = self.messages.remove(key) else { return };
        let shape = message.shape();
        self.spent.take(&message.spent);
        if let Some(head) = self.head_of(key, shape) {
            self.rejoin(head);
        }
        let parts = shape.heads().map_or_else(Vec::new, |heads| self.parts_of(key, heads));
        shape.lists().for_each(|list| drop_key(&mut self.lists[list as usize], key));
        for keys in [&mut self.shown, &mut self.moving, &mut self.dirty] {
            drop_key(keys, key);
        }
        message.block.iter().for_each(|id| drop(self.stream_blocks.remove(id)));
        if message.told == Some(true) {
            news.tell(Chunk::Remove { key: &rows::key_text(key), time: Some(key.0) });
        }
        // What it kept from being shown.
        let head = shape.heads().and_then(|heads| last_before(self.list(heads), key));
        head.into_iter().for_each(|head| self.rejoin(head));
        let last = |list: List| self.list(list).last().copied();
        let others = [self.tip(), last(List::Retries), last(List::Plans)];
        for key in others.into_iter().flatten().chain(parts) {
            self.touch(key);
        }
    }

    /// What shows of the message may be another now.
    fn touch(&mut self, key: Key) {
        if let Some(message) = self.messages.get_mut(key) {
            message.told_state = None;
            put_key(&mut self.dirty, key);
        }
    }

    /// Takes a message; answers with its key, and whether it was no news but older than what is there. No key: a cap
    /// kept it out. `load`: it came with a whole state, which opened the chat or not.
    fn apply(&mut self, said: &Said<'_>, load: Option<bool>, news: &mut News<'_>) -> (Option<Key>, bool) {
        let shape = KINDS[usize::from(said.kind)].shape;
        let (by_time, by_kind) = ((said.time, 0), (said.time, said.kind + 1));
        let counted = said.seq.is_some() || said.epoch.is_some();
        let block = said.value.get("streamBlockId").str().filter(|id| !id.is_empty()).map(JsonStr::text);
        let same_kind = |key: Key| self.messages.get(key).is_some_and(|message| message.kind == said.kind);
        let known = block.as_deref().and_then(|id| self.stream_blocks.get(id)).map(|block| block.message);
        let key = match known {
            Some(key) => key,
            _ if counted && !same_kind(by_kind) => by_time,
            _ if !counted && same_kind(by_time) => by_time,
            _ => by_kind,
        };
        let mut new = true;
        if let Some(message) = self.messages.get_mut(key) {
            if !message.is_older_than(said, load.is_some()) {
                let same = message.seq == said.seq && message.partial == said.partial && message.text == said.text;
                return (Some(key), !same);
            }
            let was = message.shape();
            if !message.take(said) {
                return (Some(key), false);
            }
            message.told_state = None;
            new = was != shape;
            if new {
                was.lists().for_each(|list| drop_key(&mut self.lists[list as usize], key));
            }
        } else {
            if self.messages.list.len() >= self.max_messages {
                news.effect = Some(Effect::Refused(crate::chunk::Refusal::Rows));
                return (None, false);
            }
            let mut message = Message { loaded: load == Some(true), ..Message::default() };
            message.take(said);
            if let Some(id) = block.filter(|_| known.is_none()) {
                message.block = Some((*id).into());
                self.stream_blocks.get_or_insert(&id, || StreamBlock { id: (*id).into(), message: key });
            }
            self.messages.put(key, message);
        }
        if new {
            self.arrange(key, shape);
        }
        let head = self.head_of(key, shape);
        if let Some(head) = head {
            self.join(head, key);
        }
        put_key(&mut self.dirty, head.unwrap_or(key));
        if new {
            put_key(&mut self.dirty, key);
        }
        (Some(key), false)
    }

    /// A message took its place among the others: what depends on it is told again.
    fn arrange(&mut self, key: Key, shape: Shape) {
        let tip = self.tip();
        shape.lists().for_each(|list| put_key(&mut self.lists[list as usize], key));
        if tip != self.tip() {
            tip.into_iter().for_each(|tip| self.touch(tip));
        }
        if let Some(heads) = shape.heads() {
            let is_last = self.messages.list.last().is_some_and(|last| last.0 == key);
            if !is_last {
                // What follows was another's, or nobody's.
                let before = last_before(self.list(heads), key);
                before.into_iter().chain([key]).for_each(|head| self.rejoin(head));
                self.parts_of(key, heads).into_iter().for_each(|key| self.touch(key));
            }
        }
        if shape.lists().any(|list| list == List::Ends) {
            // In the order of their keys: what comes first here is settled.
            let end = self.moving.partition_point(|moving| *moving < key);
            let ended: Vec<Key> = self.moving[..end].to_vec();
            ended.into_iter().for_each(|key| self.touch(key));
        }
    }

    /// The message to whose row this one belongs.
    fn head_of(&self, key: Key, shape: Shape) -> Option<Key> {
        last_before(self.list(shape.head()?.heads()?), key)
    }

    /// The messages that belong to the row of `head`, one of these.
    fn parts_of(&mut self, head: Key, heads: List) -> Vec<Key> {
        let next = first_after(self.list(heads), head);
        let mut parts = Vec::new();
        let mut passed = 0;
        for known in self.messages.after(head) {
            let (key, message) = &**known;
            passed += 64 + message.text.len();
            if next.is_some_and(|next| *key > next) || passed > self.slack {
                break;
            }
            if message.shape().head().and_then(Shape::heads) == Some(heads) {
                parts.push(*key);
            }
        }
        self.overrun |= passed > self.slack;
        self.slack = self.slack.saturating_sub(passed);
        parts
    }

    /// A part of the row of `head` is new or has grown.
    fn join(&mut self, head: Key, part: Key) {
        let Some(message) = self.messages.get_mut(part) else { return };
        let (text, shape) = (std::mem::take(&mut message.text), message.shape());
        let mut joined = true;
        if let Some(head) = self.messages.get_mut(head) {
            let output = head.output.get_or_insert_default();
            match shape {
                Shape::McpStarted => output.started = true,
                Shape::Finished => output.body.clone_from(&text),
                _ => joined = output.put(part, &text),
            }
        }
        if let Some(message) = self.messages.get_mut(part) {
            message.text = text;
        }
        if !joined {
            self.rejoin(head);
        }
    }

    /// Collects the parts of the row of `head` anew.
    fn rejoin(&mut self, head: Key) {
        let Some(heads) = self.messages.get(head).and_then(|message| message.shape().heads()) else { return };
        let parts = self.parts_of(head, heads);
        if let Some(message) = self.messages.get_mut(head) {
            message.output = None;
        }
        for part in parts {
            self.join(head, part);
        }
        self.touch(head);
    }

    /// Tells of all that is dirty. `live`: the other side may be at work.
    fn tell(&mut self, live: bool, news: &mut News<'_>) {
        self.live |= live && !self.dirty.is_empty();
        while !self.dirty.is_empty() {
            let dirty = std::mem::take(&mut self.dirty);
            for key in dirty {
                self.show(key, news);
            }
        }
        self.spent.tell(&mut self.told, news);
        if self.plan.take_if(|plan| self.lists[List::Plans as usize].binary_search(plan).is_err()).is_some() {
            news.tell(Chunk::Panel { panel: PanelName::Plan, name: "entries", value: &Raw::null() });
        }
        let last = self.messages.list.last();
        let at_work = self.live && last.is_some_and(|last| is_at_work(&last.1));
        news.tell(Chunk::AtWork(at_work));
    }
}

/// Whether more is to come after this message, the last one.
fn is_at_work(last: &Message) -> bool {
    let kind = &KINDS[usize::from(last.kind)];
    match kind.shape {
        Shape::Completion => false,
        Shape::Started => !last.spent.is_over(),
        // The agent goes on while a command runs.
        Shape::Output => true,
        _ => !kind.ask || last.partial || last.answered,
    }
}

impl RecordDecoder for Say {
    fn record(&mut self, value: Value<'_>, sink: &mut dyn ChunkSink) -> Outcome {
        let mut news = News { effect: None, fault: None, sink };
        self.slack = self.slack.saturating_add(value.raw().len().saturating_mul(8));
        let known = self.read(value, &mut news);
        if std::mem::take(&mut self.overrun) {
            news.fault = Some("order");
        }
        match (news.fault, news.effect) {
            (Some(reason), _) => Outcome::Faulted(reason),
            (None, Some(Effect::Refused(refusal))) => Outcome::Faulted(refusal.code()),
            (None, Some(Effect::Changed)) => Outcome::Applied,
            _ if known => Outcome::NoOp,
            _ => Outcome::Skipped,
        }
    }

    fn finish(&mut self, _sink: &mut dyn ChunkSink) {}
}

impl Message {
    /// Whether what is said is fresher: by its count where there is one; else what is final is fresher than what is
    /// partial, and text only grows.
    fn is_older_than(&self, said: &Said<'_>, whole: bool) -> bool {
        if let (Some(known), Some(now)) = (self.seq, said.seq)
            && known != now
        {
            return now > known;
        }
        if self.partial != said.partial {
            return self.partial;
        }
        if self.shape().is_latest() && !whole {
            return true;
        }
        (self.text.len(), self.text.as_str()) <= (said.text.len(), &said.text)
    }

    /// Becomes what is said; false where it was that before.
    fn take(&mut self, said: &Said<'_>) -> bool {
        let flag = |name: &str| said.value.get(name).bool() == Some(true);
        let answered = self.answered || flag("isAnswered") || flag("autoApproved");
        let completed = self.completed || flag("commandCompleted");
        let now = (said.kind, said.partial, answered, completed);
        let mut changed = (self.kind, self.partial, self.answered, self.completed) != now;
        (self.kind, self.partial, self.answered, self.completed) = now;
        self.seq = said.seq.or(self.seq);
        let keep = common_prefix(&self.text, &said.text);
        if keep < self.text.len() || keep < said.text.len() {
            self.text.truncate(keep);
            self.text.push_str(said.text.get(keep..).unwrap_or_default());
            self.same = self.same.min(keep);
            changed = true;
        }
        for (known, name) in [(&mut self.images, "images"), (&mut self.files, "files")] {
            let texts = || said.value.get(name).items().filter_map(Value::str);
            let same = texts().count() == known.len() && texts().zip(known.iter()).all(|(text, known)| text == **known);
            if !same {
                *known = texts().map(|text| text.text().into_owned()).collect();
                changed = true;
            }
        }
        changed
    }
}

/// Whether a record can only be of this format, as far as this format can tell.
pub(super) fn fits(value: Value<'_>) -> bool {
    let first = value.at(0);
    let wrapped = ["clineMessage", "shoferMessage", "rooMessage"].iter().any(|name| value.get(name).is_object());
    wrapped
        || list(value.get("state")).is_some()
        || value.get("grpc_response").is_object()
        || read_message(if first.exists() { first } else { value }, false).is_some()
}

fn read_message(value: Value<'_>, grpc: bool) -> Option<Said<'_>> {
    let time = whole(value.get("ts"))?;
    let family = value.get("type");
    let ask = match (&*word(family), family.u64()) {
        ("ask" | "ASK", _) | (_, Some(0)) => true,
        ("say" | "SAY", _) | (_, Some(1)) => false,
        ("", None) if grpc => true,
        ("", None) => value.get("say").is_null(),
        _ => return None,
    };
    let kind = value.get(if ask { "ask" } else { "say" });
    let kind = match (kind.str(), kind.u64()) {
        (Some(name), _) => kinds::named(ask, &name.text())?,
        (_, Some(number)) => kinds::numbered(ask, number)?,
        _ if grpc => kinds::numbered(ask, 0)?,
        _ => return None,
    };
    let mut text = value.get("text").str().map(JsonStr::text).unwrap_or_default();
    if text.is_empty() && KINDS[usize::from(kind)].shape == Shape::Reasoning {
        text = value.get("reasoning").str().map(JsonStr::text).unwrap_or_default();
    }
    Some(Said {
        time,
        kind,
        text,
        partial: value.get("partial").bool() == Some(true),
        seq: whole(value.get("seq")),
        epoch: whole(value.get("epoch")),
        value,
    })
}

/// A whole number, as such or in digits: a host that writes 64 bits as JSON writes a string.
fn whole(value: Value<'_>) -> Option<u64> {
    value.u64().or_else(|| value.str()?.raw().parse().ok())
}

fn word(value: Value<'_>) -> Cow<'_, str> {
    value.str().map(JsonStr::text).unwrap_or_default()
}

fn list(state: Value<'_>) -> Option<Value<'_>> {
    ["clineMessages", "shoferMessages", "rooMessages"]
        .map(|name| state.get(name))
        .into_iter()
        .find(|list| list.is_array())
}
