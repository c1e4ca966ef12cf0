//! A branch as a session of its own. Labels stay behind; what followed one follows what it followed, and a compaction
//! that kept from a label on keeps from the next entry on (pi#8989). What does not change keeps its bytes.

use super::Session;
use super::entry::{EntryKind, Node};
use super::header::{Header, VERSION};
use super::members::with_members;
use crate::json::{Raw, Value};

/// What is new about a session that was forked; its working directory is that of the session it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkHeader<'a> {
    /// The id of the new session, a UUID.
    pub id: &'a str,
    /// When it was forked, as ISO text.
    pub timestamp: &'a str,
    /// The session it comes from: its file or id.
    pub parent_session: &'a str,
}

impl ForkHeader<'_> {
    fn header(self, session: &Session) -> Header {
        Header {
            version: VERSION,
            id: self.id.to_owned(),
            timestamp: self.timestamp.to_owned(),
            cwd: session.header.cwd.clone(),
            parent_session: Some(self.parent_session.to_owned()),
        }
    }
}

/// A copy of the branch that ends at `leaf`.
pub(super) fn fork(session: &Session, leaf: Option<Node>, header: ForkHeader<'_>) -> Session {
    let header = header.header(session);
    let text = header.written();
    let mut fork = Session::empty(header, 0, session.limits);
    fork.lines.push(text.as_str(), text.as_str().as_bytes());
    let branch = session.branch(leaf);
    let is_label = |node: &Node| session.tree.slot(*node).is_some_and(|slot| slot.kind == EntryKind::Label);
    let kept: Vec<Node> = branch.iter().copied().filter(|node| !is_label(node)).collect();
    let has_tail = |node: &Node| session.tree.slot(*node).is_some_and(|slot| slot.has_tail);
    // A branch is in the order of the file, for a parent stands before its children. A label above a compaction with a
    // retained tail was never walked to, so it kept nothing; the compaction in its place would.
    let after_label = |target: Node| {
        let on_branch = branch.binary_search(&target).is_ok() && is_label(&target);
        kept.get(kept.partition_point(|node| *node < target)).copied().filter(|next| on_branch && !has_tail(next))
    };
    let mut tape = session.new_tape();
    let mut parent = None;
    for entry in kept.iter().filter_map(|node| session.entry(*node)) {
        let Ok(record) = tape.read(entry.json) else { continue };
        let root = record.root();
        let parent_id = parent.replace(entry.node).map(|node| quoted(session, node));
        let first_kept = named(session, root.get("firstKeptEntryId")).and_then(after_label);
        let first_kept = first_kept.filter(|_| entry.kind == EntryKind::Compaction).map(|node| quoted(session, node));
        let mut changes = Vec::new();
        if parent_id.is_some() || !root.get("parentId").is_null() {
            let parent_id = parent_id.as_ref().map_or("null", Raw::as_str);
            changes.extend((root.get("parentId").raw() != parent_id).then_some(("parentId", Some(parent_id))));
        }
        changes.extend(first_kept.as_ref().map(|id| ("firstKeptEntryId", Some(id.as_str()))));
        match changes.is_empty() {
            true => fork.append(entry.json),
            false => fork.append(&with_members(root, &changes)),
        };
    }
    fork
}

fn named(session: &Session, id: Value<'_>) -> Option<Node> {
    session.node(&id.str()?.text())
}

fn quoted(session: &Session, node: Node) -> Raw {
    Raw::written(|json| json.string(&session.entry(node).map(|entry| entry.id).unwrap_or_default()))
}
