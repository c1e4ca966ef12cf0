//! The tree of a session's entries. A parent stands before its children in the file, so no walk can go in circles:
//! what names a parent that does not stand there, itself included, is a root. Every node knows its children, the
//! nearest compaction above it and what chose its model, thinking level and tools, so that adding one walks nothing.

use std::cell::Cell;
use std::ops::Range;

use super::entry::{EntryKind, Node};
use super::lines::LineNumber;
use crate::json::Value;
use crate::sorted::{Keyed, Sorted};

/// The nodes, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Tree {
    slots: Vec<Slot>,
    ids: Sorted<Id>,
    roots: Children,
    pub leaf: Option<Node>,
    /// The entry that gave the session its name.
    pub named_by: Option<Node>,
    /// Nodes that were walked over.
    walked: Cell<u64>,
}

/// One node.
#[derive(Debug)]
pub(super) struct Slot {
    pub line: LineNumber,
    /// Where the id stands in the line, between its quotes.
    pub id: Range<u32>,
    pub kind: EntryKind,
    /// A compaction that carries the messages it kept: the context starts here.
    pub has_tail: bool,
    pub parent: Option<Node>,
    /// The last entry that labelled this one.
    pub labelled_by: Option<Node>,
    pub nearest: Nearest,
    children: Children,
    next_sibling: Option<Node>,
}

/// The nearest entry, on the way from a node to its root and the node included, of each of these kinds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nearest {
    pub compaction: Option<Node>,
    /// A model change, or a message of an assistant.
    pub model: Option<Node>,
    pub thinking: Option<Node>,
    pub tools: Option<Node>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Children {
    first: Option<Node>,
    last: Option<Node>,
}

#[derive(Debug)]
struct Id {
    text: Box<str>,
    node: Node,
}

impl Keyed for Id {
    fn key(&self) -> &str {
        &self.text
    }
}

/// What became of an entry.
pub(super) struct Added {
    pub node: Option<Node>,
    /// What is wrong with it.
    pub fault: Option<&'static str>,
}

impl Tree {
    /// Adds the entry that stands at `line`, and makes it the leaf; a `leaf` entry moves the leaf instead.
    pub fn add(&mut self, line: LineNumber, entry: Value<'_>) -> Added {
        let kind_name = entry.get("type");
        if kind_name.str().is_some_and(|name| name == *"leaf") {
            return Added { node: None, fault: self.move_leaf(entry.get("targetId")) };
        }
        let refused = |reason| Added { node: None, fault: Some(reason) };
        let (Some(id), Some(span)) = (entry.get("id").str(), entry.get("id").span()) else { return refused("no-id") };
        let Some(node) = Node::at(self.slots.len()) else { return refused("entries") };
        let text = id.text();
        if self.find(&text).is_some() {
            return refused("duplicate-id");
        }
        let (parent, mut fault) = self.parent(entry.get("parentId"));
        self.ids.get_or_insert(&text, || Id { text: text.as_ref().into(), node });
        let kind = kind_name.str().map_or(EntryKind::Other, EntryKind::named);
        let has_tail = kind == EntryKind::Compaction && entry.get("retainedTail").is_array();
        let mut nearest = parent.and_then(|parent| self.slot(parent)).map(|slot| slot.nearest).unwrap_or_default();
        if let Some(place) = nearest.chosen_by(kind, entry) {
            *place = Some(node);
        }
        self.slots.push(Slot {
            line,
            id: span.start as u32..span.end as u32,
            kind,
            has_tail,
            parent,
            labelled_by: None,
            nearest,
            children: Children::default(),
            next_sibling: None,
        });
        self.adopt(parent, node);
        self.leaf = Some(node);
        match kind {
            EntryKind::SessionInfo => self.named_by = Some(node),
            EntryKind::Label => fault = self.label(entry.get("targetId"), node).or(fault),
            _ => {}
        }
        Added { node: Some(node), fault }
    }

    fn parent(&self, parent: Value<'_>) -> (Option<Node>, Option<&'static str>) {
        let found = parent.str().and_then(|id| self.find(&id.text()));
        (found, (found.is_none() && !parent.is_null()).then_some("missing-parent"))
    }

    fn adopt(&mut self, parent: Option<Node>, node: Node) {
        let children = match parent.and_then(|parent| self.slots.get_mut(parent.index())) {
            Some(slot) => &mut slot.children,
            None => &mut self.roots,
        };
        let before = children.last.replace(node);
        children.first.get_or_insert(node);
        if let Some(before) = before.and_then(|before| self.slots.get_mut(before.index())) {
            before.next_sibling = Some(node);
        }
    }

    fn label(&mut self, target: Value<'_>, by: Node) -> Option<&'static str> {
        let target = target.str().and_then(|id| self.find(&id.text()));
        match target.and_then(|target| self.slots.get_mut(target.index())) {
            Some(slot) => slot.labelled_by = Some(by),
            None => return Some("missing-target"),
        }
        None
    }

    fn move_leaf(&mut self, target: Value<'_>) -> Option<&'static str> {
        let found = target.str().and_then(|id| self.find(&id.text()));
        if found.is_some() || target.is_null() {
            self.leaf = found;
            return None;
        }
        self.leaf = self.last();
        Some("missing-target")
    }

    pub fn slot(&self, node: Node) -> Option<&Slot> {
        self.slots.get(node.index())
    }

    pub fn find(&self, id: &str) -> Option<Node> {
        self.ids.get(id).map(|id| id.node)
    }

    pub fn last(&self) -> Option<Node> {
        Node::at(self.slots.len().checked_sub(1)?)
    }

    /// Ids that were compared and nodes that were walked over so far: the measure of work.
    pub fn work(&self) -> u64 {
        self.ids.work() + self.walked.get()
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.slots.len()).filter_map(Node::at)
    }

    /// The children of a node, or the roots.
    pub fn children(&self, parent: Option<Node>) -> impl Iterator<Item = Node> {
        let children = match parent {
            Some(parent) => self.slot(parent).map(|slot| slot.children).unwrap_or_default(),
            None => self.roots,
        };
        std::iter::successors(children.first, |node| self.slot(*node)?.next_sibling)
    }

    pub fn is_leaf(&self, node: Node) -> bool {
        self.slot(node).is_some_and(|slot| slot.children.first.is_none())
    }

    /// Whether more than one entry follows the node.
    pub fn forks(&self, node: Node) -> bool {
        self.slot(node).is_some_and(|slot| slot.children.first != slot.children.last)
    }

    /// From a node to its root, both included.
    pub fn ancestors(&self, from: Option<Node>) -> impl Iterator<Item = Node> {
        let known = from.filter(|node| self.slot(*node).is_some());
        std::iter::successors(known, |node| {
            self.walked.set(self.walked.get() + 1);
            self.slot(*node)?.parent
        })
    }
}

impl Nearest {
    /// The place that an entry of this kind takes, if it is whole.
    fn chosen_by(&mut self, kind: EntryKind, entry: Value<'_>) -> Option<&mut Option<Node>> {
        match kind {
            EntryKind::Compaction => Some(&mut self.compaction),
            EntryKind::ModelChange | EntryKind::Message if chosen_model(kind, entry).is_some() => Some(&mut self.model),
            EntryKind::ThinkingLevelChange if entry.get("thinkingLevel").str().is_some() => Some(&mut self.thinking),
            EntryKind::ActiveToolsChange if entry.get("activeToolNames").is_array() => Some(&mut self.tools),
            _ => None,
        }
    }
}

/// The provider and the model's id, where the entry is a model change or a message of an assistant and names both.
pub(super) fn chosen_model(kind: EntryKind, entry: Value<'_>) -> Option<[String; 2]> {
    let (from, model) = match kind {
        EntryKind::ModelChange => (entry, "modelId"),
        EntryKind::Message if entry.get("message").get("role").str()? == *"assistant" => {
            (entry.get("message"), "model")
        }
        _ => return None,
    };
    let text = |name| Some(from.get(name).str()?.text().into_owned());
    Some([text("provider")?, text(model)?])
}
