//! What the model is told: the messages that a branch comes to, and the state that its entries chose. The last
//! compaction of the branch replaces what stood before it by a summary and what it kept; edits drop messages or
//! change their content; each remaining entry becomes a message or nothing.

use std::borrow::Cow;

use super::Session;
use super::entry::{Entry, EntryKind, Node};
use super::members::with_members;
use super::timestamp::millis;
use super::tree::chosen_model;
use crate::json::{JsonWriter, Raw, Tape, Value};

/// The context that a leaf stands for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context<'a> {
    /// The messages as JSON texts, oldest first; a message that stands in the session as it is, is borrowed.
    pub messages: Vec<Cow<'a, str>>,
    /// What the branch chose.
    pub state: SessionState,
}

/// What the entries of a branch chose: of each kind, the last one counts, compactions or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// The thinking level, `off` where none was chosen.
    pub thinking_level: String,
    /// Provider and id of the model that was chosen, or that answered, whichever is later.
    pub model: Option<[String; 2]>,
    /// The tools the model may call; none where the branch does not say.
    pub active_tools: Option<Vec<String>>,
}

impl Default for SessionState {
    fn default() -> Self {
        SessionState { thinking_level: "off".to_owned(), model: None, active_tools: None }
    }
}

impl SessionState {
    pub(super) fn of(session: &Session, leaf: Option<Node>) -> SessionState {
        let nearest = leaf.and_then(|leaf| session.tree.slot(leaf)).map(|slot| slot.nearest).unwrap_or_default();
        let mut reader = Reader::new(session);
        let level = nearest.thinking.and_then(|node| reader.read(node, |_, entry| text(entry.get("thinkingLevel"))));
        let model = nearest.model.and_then(|node| reader.read(node, chosen_model));
        let tools = nearest.tools.and_then(|node| {
            reader.read(node, |_, entry| Some(entry.get("activeToolNames").items().filter_map(text).collect()))
        });
        let default = SessionState::default();
        SessionState { thinking_level: level.unwrap_or(default.thinking_level), model, active_tools: tools }
    }
}

fn text(value: Value<'_>) -> Option<String> {
    value.str().map(|text| text.text().into_owned())
}

/// Reads the lines of entries, one at a time.
struct Reader<'s> {
    session: &'s Session,
    tape: Tape,
}

impl<'s> Reader<'s> {
    fn new(session: &'s Session) -> Self {
        Reader { session, tape: session.new_tape() }
    }

    fn read<T>(&mut self, node: Node, ask: impl FnOnce(EntryKind, Value<'_>) -> Option<T>) -> Option<T> {
        let slot = self.session.tree.slot(node)?;
        let record = self.tape.read(self.session.lines.get(slot.line)).ok()?;
        ask(slot.kind, record.root())
    }
}

/// What an edit makes of its target.
enum Edit {
    Drop,
    Content(String),
}

/// Builds the messages of one context.
pub(super) struct Builder<'s, 'p> {
    reader: Reader<'s>,
    project: &'p mut dyn FnMut(&Entry<'s>) -> Option<Raw>,
    messages: Vec<Cow<'s, str>>,
}

impl<'s, 'p> Builder<'s, 'p> {
    pub fn new(session: &'s Session, project: &'p mut dyn FnMut(&Entry<'s>) -> Option<Raw>) -> Self {
        Builder { reader: Reader::new(session), project, messages: Vec::new() }
    }

    /// The messages of the branch that ends at `leaf`.
    pub fn messages(mut self, leaf: Option<Node>) -> Vec<Cow<'s, str>> {
        let tree = &self.reader.session.tree;
        let compaction = leaf.and_then(|leaf| tree.slot(leaf)?.nearest.compaction);
        let mut after: Vec<Node> = tree.ancestors(leaf).take_while(|node| Some(*node) != compaction).collect();
        after.reverse();
        let kept = compaction.map(|compaction| self.kept(compaction)).unwrap_or_default();
        let edits = self.edits(kept.iter().chain(&after));
        if let Some(node) = compaction.filter(|node| !matches!(latest(&edits, *node), Some(Edit::Drop))) {
            self.compaction(node);
        }
        for (nodes, before_compaction) in [(&kept, true), (&after, false)] {
            for node in nodes {
                match latest(&edits, *node) {
                    Some(Edit::Drop) => {}
                    Some(Edit::Content(content)) => self.entry(*node, Some(content), before_compaction),
                    None => self.entry(*node, None, before_compaction),
                }
            }
        }
        self.messages
    }

    /// What a compaction kept of the entries before it: from `firstKeptEntryId` on. With a tail of its own it needs
    /// none of them, and the walk up ends at a compaction that has one.
    fn kept(&mut self, compaction: Node) -> Vec<Node> {
        let tree = &self.reader.session.tree;
        let first = self.reader.read(compaction, |_, entry| tree.find(&entry.get("firstKeptEntryId").str()?.text()));
        let has_tail = |node: Node| tree.slot(node).is_some_and(|slot| slot.has_tail);
        let Some(first) = first.filter(|first| *first < compaction && !has_tail(compaction)) else { return Vec::new() };
        let mut kept = Vec::new();
        for node in tree.ancestors(Some(compaction)).skip(1).take_while(|node| *node >= first) {
            kept.push(node);
            if has_tail(node) {
                break;
            }
        }
        // An id of another branch, or from above where the walk ends, is not on the path: nothing was kept.
        if kept.last() != Some(&first) {
            return Vec::new();
        }
        kept.reverse();
        kept
    }

    /// The edits among `nodes` by their target, an earlier one of the same target first.
    fn edits<'n>(&mut self, nodes: impl Iterator<Item = &'n Node>) -> Vec<(Node, Edit)> {
        let tree = &self.reader.session.tree;
        let is_edit = |node: &Node| tree.slot(*node).is_some_and(|slot| slot.kind == EntryKind::ContextEdit);
        let mut edits = Vec::new();
        for node in nodes.copied().filter(is_edit) {
            edits.extend(self.reader.read(node, |_, entry| {
                let target = tree.find(&entry.get("targetId").str()?.text())?;
                let replacement = entry.get("replacement");
                match replacement.is_object() {
                    true => Some((target, Edit::Content(replacement.get("content").raw().to_owned()))),
                    false => (replacement.exists() && replacement.is_null()).then_some((target, Edit::Drop)),
                }
            }));
        }
        edits.sort_by_key(|(target, _)| *target);
        edits
    }

    /// The summary that stands first, after the system message that goes with it, and the messages the compaction
    /// carries.
    fn compaction(&mut self, node: Node) {
        let messages = &mut self.messages;
        self.reader.read(node, |_, entry| {
            messages.extend(as_message(entry.get("systemMessage"), None).map(Cow::Owned));
            messages.push(Cow::Owned(told(entry, "compactionSummary", &["summary", "tokensBefore"], None)));
            messages
                .extend(entry.get("retainedTail").items().filter_map(|kept| as_message(kept, None)).map(Cow::Owned));
            Some(())
        });
    }

    /// One entry as a message, or as nothing; `content` takes the place of its own.
    fn entry(&mut self, node: Node, content: Option<&str>, before_compaction: bool) {
        let session = self.reader.session;
        let Some(entry) = session.entry(node) else { return };
        let message = self.reader.read(node, |kind, value| match kind {
            EntryKind::Message => {
                let told = value.get("message");
                let is_system = told.get("role").str().is_some_and(|role| role == *"system");
                if before_compaction && is_system {
                    return None;
                }
                match (content, told.get("content").exists() && told.get("content").is_null()) {
                    (None, false) if told.is_object() => entry.json.get(told.span()?).map(Cow::Borrowed),
                    _ => as_message(told, content).map(Cow::Owned),
                }
            }
            EntryKind::CustomMessage => {
                Some(Cow::Owned(told(value, "custom", &["customType", "content", "display", "details"], content)))
            }
            EntryKind::BranchSummary => {
                value.get("summary").str().filter(|summary| !summary.is_empty())?;
                Some(Cow::Owned(told(value, "branchSummary", &["summary", "fromId"], None)))
            }
            EntryKind::Custom => (self.project)(&entry).map(|raw| Cow::Owned(raw.as_str().to_owned())),
            _ => None,
        });
        self.messages.extend(message);
    }
}

fn latest(edits: &[(Node, Edit)], target: Node) -> Option<&Edit> {
    let end = edits.partition_point(|(known, _)| *known <= target);
    edits.get(..end)?.last().filter(|(known, _)| *known == target).map(|(_, edit)| edit)
}

/// A message with its content, or with another; `null` content is an empty list.
fn as_message(message: Value<'_>, content: Option<&str>) -> Option<String> {
    if !message.is_object() {
        return None;
    }
    let own = message.get("content");
    let Some(content) = content.or((own.exists() && own.is_null()).then_some("null")) else {
        return Some(message.raw().to_owned());
    };
    let role = message.get("role").str().map(|role| role.text()).unwrap_or_default();
    Some(with_members(message, &[("content", Some(&content_of(&role, content)))]))
}

/// Content as a message of this role has it: text stands in a block where the role knows blocks only.
fn content_of<'a>(role: &str, content: &'a str) -> Cow<'a, str> {
    match content {
        "null" | "" => Cow::Borrowed("[]"),
        text if text.starts_with('"') && matches!(role, "assistant" | "toolResult") => {
            Cow::Owned(format!(r#"[{{"type":"text","text":{text}}}]"#))
        }
        other => Cow::Borrowed(other),
    }
}

/// A message of this role, made of members of an entry and its time; `content` takes the place of its own.
fn told(entry: Value<'_>, role: &str, members: &[&str], content: Option<&str>) -> String {
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.key("role").string(role);
        for name in members {
            let value = match content {
                Some(content) if *name == "content" => content_of(role, content),
                _ => Cow::Borrowed(entry.get(name).raw()),
            };
            if !value.is_empty() {
                json.key(name).raw(&value);
            }
        }
        json.key("timestamp").raw(&millis(entry.get("timestamp")));
    });
    json.into_string()
}
