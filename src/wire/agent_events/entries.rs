//! Entries of a session: a tree in the order in which it was written. The rows are those of one branch, from the root to
//! the leaf, which is the last entry, or where an entry says: what is on another branch is taken away, and told again
//! when the branch is.

use super::calls::Before;
use super::{AgentEvents, Read, name_session, text};
use crate::chunk::{Chunk, ChunkSink, Effect};
use crate::json::{Raw, Tape, Value};
use crate::row::PanelName;
use crate::sorted::{Keyed, Sorted};
use crate::wire::set_panel;

/// The branch that is shown, from the root, and all that could be.
#[derive(Debug, Default)]
pub(super) struct Path {
    entries: Vec<Entry>,
    known: Sorted<Known>,
    /// What the mode panel says, by the names of its values.
    modes: Vec<(&'static str, Raw)>,
}

/// What came with an entry of the branch.
#[derive(Debug)]
struct Entry {
    id: Box<str>,
    /// Keys of its blocks.
    keys: Vec<Box<str>>,
    /// Calls of which it says something, by their ids.
    calls: Vec<(Box<str>, Before)>,
    /// Values of the mode panel, as they were before.
    modes: Vec<(&'static str, Raw)>,
}

/// An entry of the tree.
#[derive(Debug)]
struct Known {
    id: Box<str>,
    parent: Option<Box<str>>,
    /// Its line.
    json: Box<str>,
    /// How deep it is in the branch that is shown.
    depth: Option<usize>,
}

impl Keyed for Known {
    fn key(&self) -> &str {
        &self.id
    }
}

impl Path {
    /// A block that came with the entry that is read.
    pub fn keep(&mut self, key: &str) {
        self.entries.last_mut().into_iter().for_each(|entry| entry.keys.push(key.into()));
    }

    /// A call is another by the entry that is read.
    pub fn keep_call(&mut self, id: &str, before: Before) {
        if let Some(entry) = self.entries.last_mut() {
            entry.calls.push((id.into(), before));
        }
    }

    /// A value of the mode panel; answers with what it was.
    fn set_mode(&mut self, name: &'static str, value: Raw) -> Raw {
        match self.modes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => std::mem::replace(known, value),
            None => {
                self.modes.push((name, value));
                Raw::null()
            }
        }
    }

    fn push(&mut self, id: &str) {
        let depth = self.entries.len();
        self.known.get_mut(id).into_iter().for_each(|known| known.depth = Some(depth));
        self.entries.push(Entry { id: id.into(), keys: Vec::new(), calls: Vec::new(), modes: Vec::new() });
    }
}

impl AgentEvents {
    /// A line of a session file. None: it is none that is known.
    pub(super) fn entry(&mut self, kind: &str, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        match kind {
            "leaf" => return Some(self.move_leaf(entry.get("targetId"), sink)),
            "session" => return Some(self.session(entry, sink)),
            _ => {}
        }
        let moved = match entry.get("id").str() {
            Some(id) => match self.enter(&id.text(), entry, sink) {
                Some(moved) => moved,
                None => return Some(Effect::None),
            },
            // The oldest files are lists.
            None => Effect::None,
        };
        match self.show_entry(kind, entry, sink) {
            None if moved == Effect::None => None,
            shown => Some(moved.and(shown.unwrap_or(Effect::None))),
        }
    }

    fn show_entry(&mut self, kind: &str, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        match kind {
            "message" => Some(self.whole_message(entry.get("message"), sink)),
            "compaction" => Some(self.compaction_entry(entry, sink)),
            "custom_message" => {
                let key = self.key();
                Some(self.custom(&key, entry, sink))
            }
            _ => self.aside_entry(kind, entry, sink),
        }
    }

    /// An entry was written. What the agent tells of by itself is not told twice.
    pub(super) fn entry_appended(&mut self, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        match &*text(entry.get("type")) {
            "message" | "custom_message" | "compaction" => Some(Effect::None),
            kind => self.aside_entry(kind, entry, sink),
        }
    }

    fn aside_entry(&mut self, kind: &str, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        Some(match kind {
            "branch_summary" => self.summary_entry(entry, sink),
            "session_info" => name_session(entry, sink),
            "model_change" => self.set_mode("model", entry.get("modelId"), sink),
            "thinking_level_change" => self.set_mode("thinkingLevel", entry.get("thinkingLevel"), sink),
            "active_tools_change" => self.set_mode("activeTools", entry.get("activeToolNames"), sink),
            // What is for the model, for an extension or for the tree.
            "custom" | "label" | "usage" | "context_edit" | "leaf" => Effect::None,
            _ => return None,
        })
    }

    /// A value of the mode panel: on another branch it is another one.
    pub(super) fn set_mode(&mut self, name: &'static str, value: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let value = Raw::of(value);
        let before = self.path.set_mode(name, value.clone());
        self.path.entries.last_mut().into_iter().for_each(|entry| entry.modes.push((name, before.clone())));
        set_panel(sink, PanelName::Mode, name, &value)
    }

    /// The first line: what the session is, and in its oldest form how it began.
    fn session(&mut self, header: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for name in ["id", "cwd"] {
            let value = header.get(name);
            if value.str().is_some() {
                effect = effect.and(set_panel(sink, PanelName::Session, name, &Raw::of(value)));
            }
        }
        for (name, shown) in [("modelId", "model"), ("thinkingLevel", "thinkingLevel")] {
            let value = header.get(name);
            if value.str().is_some() {
                effect = effect.and(self.set_mode(shown, value, sink));
            }
        }
        effect
    }

    /// Where an entry of the tree hangs is where the branch goes on. None: it stands there already.
    fn enter(&mut self, id: &str, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Option<Effect> {
        if self.path.known.get(id).is_some_and(|known| known.depth.is_some()) {
            self.wrong = Some("duplicate-id");
            return None;
        }
        let named = entry.get("parentId").str().map(|parent| parent.text());
        // One whose parent is nowhere is a root.
        let parent = named.as_deref().filter(|parent| *parent != id && self.path.known.get(parent).is_some());
        if named.is_some() && parent.is_none() {
            self.wrong = Some("missing-parent");
        }
        let known = self.path.known.get_or_insert(id, || Known {
            id: id.into(),
            parent: None,
            json: Box::default(),
            depth: None,
        });
        // One that is told again hangs where it did.
        if known.json.is_empty() {
            known.parent = parent.map(Box::from);
        }
        known.json = entry.raw().into();
        let parent = known.parent.clone();
        let moved = self.go_to(parent, sink);
        self.path.push(id);
        Some(moved)
    }

    /// The leaf is another entry.
    fn move_leaf(&mut self, target: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let target: Option<Box<str>> = target.str().map(|target| (&*target.text()).into());
        if target.as_deref().is_some_and(|target| self.path.known.get(target).is_none()) {
            self.wrong = Some("missing-target");
            return Effect::None;
        }
        self.go_to(target, sink)
    }

    /// The branch ends at this entry: what it does not share with the one that is shown is taken away and told.
    fn go_to(&mut self, leaf: Option<Box<str>>, sink: &mut dyn ChunkSink) -> Effect {
        let (mut missing, mut at) = (Vec::new(), leaf);
        // A parent is known before its children: the way up ends.
        let depth = loop {
            let Some(known) = at.as_deref().and_then(|id| self.path.known.get(id)) else { break 0 };
            match known.depth {
                Some(depth) => break depth + 1,
                None => missing.push((known.id.clone(), known.json.clone())),
            }
            at = known.parent.clone();
        };
        let mut effect = self.cut_path(depth, sink);
        let mut tape = Tape::default();
        for (id, json) in missing.iter().rev() {
            self.path.push(id);
            if let Ok(entry) = tape.read(json) {
                let entry = entry.root();
                let shown = self.show_entry(&text(entry.get("type")), entry, sink);
                effect = effect.and(shown.unwrap_or(Effect::None));
            }
        }
        effect
    }

    /// What hangs deeper than this is on another branch.
    fn cut_path(&mut self, depth: usize, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        while self.path.entries.len() > depth {
            let Some(entry) = self.path.entries.pop() else { break };
            self.path.known.get_mut(&entry.id).into_iter().for_each(|known| known.depth = None);
            for (id, before) in entry.calls.into_iter().rev() {
                effect = effect.and(self.take_back(&id, before, sink));
            }
            for key in entry.keys.iter().rev() {
                effect = effect.and(sink.chunk(Chunk::Remove { key, time: None }));
            }
            for (name, value) in entry.modes.into_iter().rev() {
                effect = effect.and(set_panel(sink, PanelName::Mode, name, &value));
                self.path.set_mode(name, value);
            }
        }
        effect
    }
}
