//! One entry of a session: its type, its place in the tree, and its line as the file has it.

use std::borrow::Cow;
use std::num::NonZeroU32;

use crate::json::JsonStr;

/// A node of a session's tree, by its place in the order of the file. It means nothing to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(NonZeroU32);

impl Node {
    pub(super) fn at(index: usize) -> Option<Node> {
        u32::try_from(index).ok()?.checked_add(1).and_then(NonZeroU32::new).map(Node)
    }

    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// One entry that is a node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its place in the tree.
    pub node: Node,
    /// Its `id`.
    pub id: Cow<'a, str>,
    /// The entry that it follows; none for a root.
    pub parent: Option<Node>,
    /// Its `type`.
    pub kind: EntryKind,
    /// The whole entry as JSON text: its line.
    pub json: &'a str,
}

macro_rules! entry_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The types of entries, of every generation. A `leaf` is none: it moves the leaf and becomes no node.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EntryKind {
            $($(#[$doc])* $kind,)*
            /// A type that is not known: a node all the same, for entries may be its children.
            Other,
        }

        impl EntryKind {
            pub(super) fn named(name: JsonStr<'_>) -> EntryKind {
                match &*name.text() {
                    $($name => EntryKind::$kind,)*
                    _ => EntryKind::Other,
                }
            }
        }
    };
}

entry_kinds! {
    /// A message: of a user, an assistant, a tool, the system, the shell, or of an extension.
    Message = "message",
    /// The model was chosen.
    ModelChange = "model_change",
    /// The thinking level was chosen.
    ThinkingLevelChange = "thinking_level_change",
    /// The tools that the model may call were chosen.
    ActiveToolsChange = "active_tools_change",
    /// What stood before became a summary.
    Compaction = "compaction",
    /// A summary of a branch that was left.
    BranchSummary = "branch_summary",
    /// State of an extension: not in the context.
    Custom = "custom",
    /// A message of an extension, on screen or hidden.
    CustomMessage = "custom_message",
    /// A label of another entry.
    Label = "label",
    /// The session's name.
    SessionInfo = "session_info",
    /// What something beside the messages cost.
    Usage = "usage",
    /// A message changes in the context, or is left out of it.
    ContextEdit = "context_edit",
}
