//! Session files of an agent: one JSON object a line, of three versions, each entry naming the one it follows. A file
//! goes in whole and more lines at its end; out come its tree, its branches, the context of each, and the file again,
//! byte for byte. Whatever stands in a line, nothing fails: what is no entry is a [`Fault`] and stays in its place.

mod context;
mod entry;
mod fork;
mod header;
mod lines;
mod members;
mod migrate;
mod timestamp;
mod tree;

use crate::fault::Fault;
use crate::json::{JsonStr, JsonWriter, Raw, Tape};
use crate::limits::Limits;
use context::Builder;
pub use context::{Context, SessionState};
pub use entry::{Entry, EntryKind, Node};
pub use fork::ForkHeader;
use header::Refusal;
pub use header::{Header, ImportError};
use lines::{Lines, Reading};
use migrate::Migration;
use tree::Tree;

/// One session: its file and the tree of its entries.
///
/// ```
/// use chatrows::{Limits, Session};
/// let file = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-30T19:15:45.617Z","cwd":"/p"}
/// {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
/// {"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}
/// {"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"three"}}
/// "#;
/// let mut session = Session::import(file.as_bytes(), &Limits::default()).unwrap();
/// let context = session.context(session.leaf());
/// assert_eq!(context.messages, [r#"{"role":"user","content":"one"}"#, r#"{"role":"user","content":"three"}"#]);
///
/// session.set_leaf(session.node("b")); // the next entry goes on from there
/// session.append_new("message", "d", "2026-11-30T19:16:00.000Z", |json| {
///     json.key("message").raw(r#"{"role":"user","content":"four"}"#);
/// });
/// assert_eq!(session.records(session.leaf()).map(|entry| entry.id).collect::<Vec<_>>(), ["a", "b", "d"]);
/// assert!(session.export().starts_with(file.as_bytes()));
/// ```
#[derive(Debug)]
pub struct Session {
    header: Header,
    lines: Lines,
    tree: Tree,
    /// The tape that entries are read with as they are added.
    tape: Tape,
    limits: Limits,
}

/// A branch, as a list of branches shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// Its last entry.
    pub leaf: Node,
    /// The last entry that it shares with another branch; none where it shares none.
    pub fork: Option<Node>,
}

/// What it takes to go from one branch to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The last entry that both have; none where they have none in common.
    pub common: Option<Node>,
    /// The entries that only the first has, oldest first.
    pub left: Vec<Node>,
    /// The entries that only the second has, oldest first.
    pub entered: Vec<Node>,
}

impl Session {
    /// Reads a session file of any version; versions 1 and 2 become version 3. The last line may lack its LF or be
    /// cut. A line that is no entry is a fault and stays where it is.
    ///
    /// # Errors
    /// Where no line is a record, the first record is no header, or its version is none of the three.
    pub fn import(file: &[u8], limits: &Limits) -> Result<Session, ImportError> {
        if file.is_empty() {
            return Err(ImportError(Refusal::Empty));
        }
        let mut session = Session::empty(Header::default(), file.len(), *limits);
        let mut lines = lines::split(file);
        let mut migration = session.import_header(&mut lines)?;
        for line in lines {
            session.take(line, Some(&mut migration));
        }
        if !file.ends_with(b"\n") {
            session.lines.end_open();
        }
        Ok(session)
    }

    /// Reads up to the header.
    fn import_header<'f>(&mut self, lines: &mut impl Iterator<Item = &'f [u8]>) -> Result<Migration, ImportError> {
        let mut first = None;
        for line in lines {
            let offset = self.lines.offset();
            match lines::read(&mut self.tape, line, &self.limits) {
                Reading::Blank(text) => self.lines.push(text, line),
                Reading::Broken(reason) => {
                    first.get_or_insert((offset, reason));
                    self.lines.push_broken(line, reason);
                }
                Reading::Record { text, record } => {
                    self.header = Header::read(record.root())
                        .ok_or(ImportError(Refusal::NoHeader { offset }))?
                        .map_err(|version| ImportError(Refusal::Version { offset, version }))?;
                    let migration = Migration::new(self.header.version);
                    let header = migration.header(record.root());
                    self.lines.push(header.as_deref().unwrap_or(text), line);
                    return Ok(migration);
                }
            }
        }
        Err(ImportError(Refusal::NoEntries { first }))
    }

    fn empty(header: Header, bytes: usize, limits: Limits) -> Self {
        let tape = Tape::with_caps(limits.nesting, limits.record_values);
        Session { header, lines: Lines::new(bytes, &limits), tree: Tree::default(), tape, limits }
    }

    /// Takes the next line of the file.
    fn take(&mut self, line: &[u8], migration: Option<&mut Migration>) -> Option<Node> {
        let Session { lines, tree, tape, limits, .. } = self;
        let (text, record) = match lines::read(tape, line, limits) {
            Reading::Blank(text) => {
                lines.push(text, line);
                return None;
            }
            Reading::Broken(reason) => {
                lines.push_broken(line, reason);
                return None;
            }
            Reading::Record { text, record } => (text, record),
        };
        if record.root().get("type").str().is_some_and(|name| name == *"session") {
            lines.push_broken(line, "second-header");
            return None;
        }
        let migrated = migration.and_then(|migration| migration.entry(record.root(), lines.len()));
        let (text, record) = match &migrated {
            None => (text, record),
            Some(migrated) => match tape.read(migrated) {
                Ok(record) => (&**migrated, record),
                Err(error) => {
                    lines.push_broken(line, error.kind.reason());
                    return None;
                }
            },
        };
        let added = tree.add(lines.next(), record.root());
        if let Some(reason) = added.fault {
            lines.fault(line, reason);
        }
        lines.push(text, line);
        added.node
    }

    /// The session as a file of version 3. What was imported as such comes out byte for byte.
    pub fn export(&self) -> Vec<u8> {
        self.lines.export()
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What was wrong with the file: the last faults, as many as the cap keeps. Reasons beside those of a stream:
    /// `no-id`, `duplicate-id`, `second-header`, `entries` (more than can be counted) for lines that are no nodes;
    /// `missing-parent` for nodes that are roots therefore; `missing-target` for labels and leaves that point nowhere.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.lines.faults().kept.iter()
    }

    /// How many faults there were.
    pub fn fault_count(&self) -> u64 {
        self.lines.faults().total
    }

    /// Steps taken so far to find ids and to walk branches: the measure of work.
    pub fn work(&self) -> u64 {
        self.tree.work()
    }

    /// Takes entries as the agent writes them, one a line, as if they stood at the end of the file: each becomes the
    /// leaf. Returns the last that became a node. What is wrong is a fault, as in a file.
    pub fn append(&mut self, lines: &str) -> Option<Node> {
        lines::split(lines.as_bytes()).filter_map(|line| self.take(line, None)).last()
    }

    /// Adds an entry of this type after the leaf, and makes it the leaf. `members` writes what an entry of this type
    /// has beside `type`, `id`, `parentId` and `timestamp`. Nothing is added where the id is taken.
    pub fn append_new(
        &mut self,
        kind: &str,
        id: &str,
        timestamp: &str,
        members: impl FnOnce(&mut JsonWriter),
    ) -> Option<Node> {
        let entry = self.written(kind, id, timestamp, members)?;
        self.append(entry.as_str())
    }

    /// Moves the leaf by a `leaf` entry, so that the file says it too; to none, the next entry is a root. False, and
    /// nothing is added, where the id is taken.
    pub fn append_leaf(&mut self, target: Option<Node>, id: &str, timestamp: &str) -> bool {
        let target = target.and_then(|target| self.entry(target)).map(|entry| entry.id.into_owned());
        let entry = self.written("leaf", id, timestamp, leaf_members(target.as_deref()));
        entry.as_ref().map(|entry| self.append(entry.as_str())).is_some()
    }

    fn written(&self, kind: &str, id: &str, timestamp: &str, members: impl FnOnce(&mut JsonWriter)) -> Option<Raw> {
        let parent = self.leaf().and_then(|leaf| self.entry(leaf));
        self.node(id).is_none().then(|| {
            Raw::written(|json| {
                json.object(|json| {
                    json.key("type").string(kind);
                    json.key("id").string(id);
                    match &parent {
                        Some(parent) => json.key("parentId").string(&parent.id),
                        None => json.key("parentId").null(),
                    }
                    json.key("timestamp").string(timestamp);
                    members(json);
                });
            })
        })
    }

    /// Where the conversation stands: the last entry, or where a `leaf` entry or [`Session::set_leaf`] moved it since.
    pub fn leaf(&self) -> Option<Node> {
        self.tree.leaf
    }

    /// Moves the leaf; the file does not say so. The next entry goes on from there, or is a root.
    pub fn set_leaf(&mut self, leaf: Option<Node>) {
        self.tree.leaf = leaf.filter(|leaf| self.tree.slot(*leaf).is_some());
    }

    /// The entry with this id.
    pub fn node(&self, id: &str) -> Option<Node> {
        self.tree.find(id)
    }

    /// The entry with this id or, where there is none, the last one of the file: what an id of a leaf means.
    pub fn node_or_last(&self, id: &str) -> Option<Node> {
        self.node(id).or_else(|| self.tree.last())
    }

    /// One entry; none for a node of another session.
    pub fn entry(&self, node: Node) -> Option<Entry<'_>> {
        let slot = self.tree.slot(node)?;
        let json = self.lines.get(slot.line);
        let id = json.get(slot.id.start as usize..slot.id.end as usize)?;
        let id = JsonStr::new(id, id.contains('\\')).text();
        Some(Entry { node, id, parent: slot.parent, kind: slot.kind, json })
    }

    /// All entries that are nodes, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.tree.nodes().filter_map(|node| self.entry(node))
    }

    /// The entries that follow none.
    pub fn roots(&self) -> impl Iterator<Item = Node> {
        self.tree.children(None)
    }

    /// The entries that follow this one, in the order of the file.
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> {
        self.tree.children(Some(node))
    }

    /// The entries that none follows, in the order of the file.
    pub fn leaves(&self) -> impl Iterator<Item = Node> {
        self.tree.nodes().filter(|node| self.tree.is_leaf(*node))
    }

    /// The branches, one a leaf: all together cost no more than the tree has entries.
    pub fn branches(&self) -> impl Iterator<Item = Branch> {
        let fork = |leaf| self.tree.ancestors(Some(leaf)).find(|node| self.tree.forks(*node));
        self.leaves().map(move |leaf| Branch { leaf, fork: fork(leaf) })
    }

    /// The path from the root to `leaf`.
    pub fn branch(&self, leaf: Option<Node>) -> Vec<Node> {
        let mut branch: Vec<Node> = self.tree.ancestors(leaf).collect();
        branch.reverse();
        branch
    }

    /// The entries of a branch, oldest first.
    pub fn records(&self, leaf: Option<Node>) -> impl Iterator<Item = Entry<'_>> {
        self.branch(leaf).into_iter().filter_map(|node| self.entry(node))
    }

    /// What an `agent-events` stream whose rows are those of one branch is to be told so that they become those of
    /// another: JSON lines, as many as the branches do not share. From none: the whole branch.
    ///
    /// ```
    /// use chatrows::{ChatRows, Format, Limits, Options, Session};
    /// let file = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}
    /// {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
    /// {"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}
    /// {"type":"message","id":"c","parentId":"a","message":{"role":"user","content":"three"}}
    /// "#;
    /// let session = Session::import(file.as_bytes(), &Limits::default()).unwrap();
    /// let (mut chat, [two, three]) = (ChatRows::new(Options::default()), ["b", "c"].map(|id| session.node(id)));
    /// let stream = chat.stream(Format::AgentEvents);
    /// chat.push(stream, session.walk(None, two).as_bytes());
    /// chat.push(stream, session.walk(two, three).as_bytes());
    /// assert_eq!(chat.rows().filter_map(|row| row.text.as_deref()).collect::<Vec<_>>(), ["one", "three"]);
    /// ```
    pub fn walk(&self, from: Option<Node>, to: Option<Node>) -> String {
        let Difference { common, left, entered } = self.difference(from, to);
        let mut lines = String::new();
        if !left.is_empty() {
            let common = common.and_then(|common| self.entry(common));
            let moved = leaf_members(common.as_ref().map(|entry| &*entry.id));
            let leaf = Raw::written(|json| {
                json.object(|json| {
                    json.key("type").string("leaf");
                    moved(json);
                });
            });
            lines.push_str(leaf.as_str());
            lines.push('\n');
        }
        for entry in entered.into_iter().filter_map(|node| self.entry(node)) {
            lines.push_str(entry.json.trim_end());
            lines.push('\n');
        }
        lines
    }

    /// What it takes to go from one branch to another; costs as much as the two differ.
    pub fn difference(&self, from: Option<Node>, to: Option<Node>) -> Difference {
        let (mut left_up, mut entered_up) = (self.tree.ancestors(from).peekable(), self.tree.ancestors(to).peekable());
        let (mut left, mut entered) = (Vec::new(), Vec::new());
        // A parent stands before its children: the later of two different nodes is on one branch only.
        while left_up.peek() != entered_up.peek() {
            match left_up.peek() > entered_up.peek() {
                true => left.extend(left_up.next()),
                false => entered.extend(entered_up.next()),
            }
        }
        left.reverse();
        entered.reverse();
        Difference { common: left_up.next(), left, entered }
    }

    /// The label of an entry: the last one that was given, wherever in the tree; none where that one was empty.
    pub fn label(&self, node: Node) -> Option<String> {
        self.text(self.tree.slot(node)?.labelled_by?, "label")
    }

    /// The entries that have a label.
    pub fn labels(&self) -> impl Iterator<Item = (Node, String)> {
        self.tree.nodes().filter_map(|node| Some((node, self.label(node)?)))
    }

    /// The session's name: the last one that was given; none where that one was empty.
    pub fn name(&self) -> Option<String> {
        self.text(self.tree.named_by?, "name")
    }

    /// A text of an entry, if it is not empty.
    fn text(&self, node: Node, member: &str) -> Option<String> {
        let (json, mut tape) = (self.entry(node)?.json, self.new_tape());
        let text = tape.read(json).ok()?.root().get(member).str()?.text().into_owned();
        (!text.is_empty()).then_some(text)
    }

    fn new_tape(&self) -> Tape {
        Tape::with_caps(self.limits.nesting, self.limits.record_values)
    }

    /// What the model is told where the conversation stands at `leaf`.
    pub fn context(&self, leaf: Option<Node>) -> Context<'_> {
        self.context_with(leaf, |_| None)
    }

    /// The same with a projector: it may make a message of a `custom` entry, which is none by itself.
    pub fn context_with<'s>(
        &'s self,
        leaf: Option<Node>,
        mut project: impl FnMut(&Entry<'s>) -> Option<Raw>,
    ) -> Context<'s> {
        let messages = Builder::new(self, &mut project).messages(leaf);
        Context { messages, state: self.state(leaf) }
    }

    /// What the entries of a branch chose.
    pub fn state(&self, leaf: Option<Node>) -> SessionState {
        SessionState::of(self, leaf)
    }

    /// The branch that ends at `leaf` as a session of its own, without its labels.
    pub fn fork(&self, leaf: Option<Node>, header: ForkHeader<'_>) -> Session {
        fork::fork(self, leaf, header)
    }
}

/// What a `leaf` entry has of its own.
fn leaf_members(target: Option<&str>) -> impl FnOnce(&mut JsonWriter) {
    move |json| match target {
        Some(target) => json.key("targetId").string(target),
        None => json.key("targetId").null(),
    }
}
