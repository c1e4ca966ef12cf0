//! Entries of a session: a tree in the order in which it was written. The rows are those of one branch, from the root to
//! the leaf, which is the last entry, or where an entry says: what is on another branch is taken away.

use super::calls::Call;
use super::{AgentEvents, Read, name_session, set_panel, text};
use crate::chunk::{Chunk, ChunkSink, Effect};
use crate::json::{Raw, Value};
use crate::row::PanelName;
use crate::sorted::{Keyed, Sorted};

/// The branch that is shown, from the root.
#[derive(Debug, Default)]
pub(super) struct Path {
    entries: Vec<Entry>,
    places: Sorted<Place>,
}

/// What came with an entry.
#[derive(Debug)]
struct Entry {
    id: Box<str>,
    /// Keys of its blocks.
    keys: Vec<Box<str>>,
    /// Calls of which it says something, by their ids, as they were before; none where there was none.
    calls: Vec<(Box<str>, Option<Call>)>,
}

#[derive(Debug)]
struct Place {
    id: Box<str>,
    depth: usize,
}

impl Keyed for Place {
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
    pub fn keep_call(&mut self, id: &str, before: Option<Call>) {
        if let Some(entry) = self.entries.last_mut() {
            entry.calls.push((id.into(), before));
        }
    }

    fn depth(&self, id: &str) -> Option<usize> {
        self.places.get(id).map(|place| place.depth)
    }
}

impl AgentEvents {
    /// An entry of a session file. None: it is none that is known.
    pub(super) fn entry(&mut self, kind: &str, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Read {
        let moved = match kind {
            "leaf" => return Some(self.move_leaf(entry.get("targetId"), sink)),
            "session" => Effect::None,
            _ => self.enter(entry, sink),
        };
        let shown = match kind {
            "session" => self.session(entry, sink),
            "message" => self.whole_message(entry.get("message"), sink),
            "compaction" => self.compaction_entry(entry, sink),
            "custom_message" => {
                let key = self.key();
                self.custom(&key, entry, sink)
            }
            _ => match self.aside_entry(kind, entry, sink) {
                Some(effect) => effect,
                None if moved == Effect::None => return None,
                None => Effect::None,
            },
        };
        Some(moved.and(shown))
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
            "model_change" => set_panel(sink, PanelName::Mode, "model", &Raw::of(entry.get("modelId"))),
            "thinking_level_change" => {
                set_panel(sink, PanelName::Mode, "thinkingLevel", &Raw::of(entry.get("thinkingLevel")))
            }
            "active_tools_change" => {
                set_panel(sink, PanelName::Mode, "activeTools", &Raw::of(entry.get("activeToolNames")))
            }
            // What is for the model, for an extension or for the tree.
            "custom" | "label" | "usage" | "context_edit" | "leaf" => Effect::None,
            _ => return None,
        })
    }

    /// The first line: what the session is, and in its oldest form how it began.
    fn session(&mut self, header: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        for (of, name, shown) in [
            (PanelName::Session, "id", "id"),
            (PanelName::Session, "cwd", "cwd"),
            (PanelName::Mode, "modelId", "model"),
            (PanelName::Mode, "thinkingLevel", "thinkingLevel"),
        ] {
            let value = header.get(name);
            if value.str().is_some() {
                effect = effect.and(set_panel(sink, of, shown, &Raw::of(value)));
            }
        }
        effect
    }

    /// Where an entry of the tree hangs is where the branch goes on.
    fn enter(&mut self, entry: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let (id, parent) = (text(entry.get("id")), entry.get("parentId"));
        if id.is_empty() || !parent.exists() {
            return Effect::None;
        }
        let depth = match parent.str() {
            // One whose parent is nowhere goes on where the branch is.
            Some(parent) => self.path.depth(&parent.text()).map_or(self.path.entries.len(), |depth| depth + 1),
            None => 0,
        };
        let moved = self.cut_path(depth, sink);
        let depth = self.path.entries.len();
        self.path.entries.push(Entry { id: (&*id).into(), keys: Vec::new(), calls: Vec::new() });
        self.path.places.get_or_insert(&id, || Place { id: (&*id).into(), depth }).depth = depth;
        moved
    }

    /// The leaf is another entry of the branch.
    fn move_leaf(&mut self, target: Value<'_>, sink: &mut dyn ChunkSink) -> Effect {
        let depth = match target.str() {
            Some(target) => self.path.depth(&target.text()).map(|depth| depth + 1),
            None => Some(0),
        };
        depth.map_or(Effect::None, |depth| self.cut_path(depth, sink))
    }

    /// What hangs deeper than this is on another branch.
    fn cut_path(&mut self, depth: usize, sink: &mut dyn ChunkSink) -> Effect {
        let mut effect = Effect::None;
        while self.path.entries.len() > depth {
            let Some(entry) = self.path.entries.pop() else { break };
            self.path.places.remove(&entry.id);
            for key in entry.keys.iter().rev() {
                effect = effect.and(sink.chunk(Chunk::Remove { key, time: None }));
            }
            for (id, before) in entry.calls.into_iter().rev() {
                effect = effect.and(self.take_back(&id, before, sink));
            }
        }
        effect
    }
}
