//! The header of a session file: its first record, which says what version the entries have and whose they are; and
//! why a file is refused.

use std::fmt;

use crate::json::{JsonWriter, Raw, Value};

/// The version that sessions are written in.
pub(super) const VERSION: u64 = 3;

/// What the first record of a session file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// The version that the file had, 1 where it said none; it has version 3 now.
    pub version: u64,
    /// The session's id, a UUID; empty where it is missing.
    pub id: String,
    /// When the session began, as ISO text; empty where it is missing.
    pub timestamp: String,
    /// The working directory; empty where it is missing.
    pub cwd: String,
    /// The session that this one was forked from: its file or id.
    pub parent_session: Option<String>,
}

impl Header {
    /// Reads a record; none where it is no header.
    pub(super) fn read(record: Value<'_>) -> Option<Result<Header, String>> {
        record.get("type").str().filter(|name| *name == *"session")?;
        let version = record.get("version");
        let version = match version.u64() {
            Some(number @ 1..=VERSION) => number,
            None if version.is_null() => 1,
            _ => return Some(Err(version.raw().to_owned())),
        };
        let text = |name| record.get(name).str().map(|text| text.text().into_owned());
        Some(Ok(Header {
            version,
            id: text("id").unwrap_or_default(),
            timestamp: text("timestamp").unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
        }))
    }

    pub(super) fn written(&self) -> Raw {
        Raw::written(|json: &mut JsonWriter| {
            json.object(|json| {
                json.key("type").string("session");
                json.key("version").number(VERSION);
                json.key("id").string(&self.id);
                json.key("timestamp").string(&self.timestamp);
                json.key("cwd").string(&self.cwd);
                if let Some(parent) = &self.parent_session {
                    json.key("parentSession").string(parent);
                }
            });
        })
    }
}

/// Why a file is no session.
///
/// ```
/// use chatrows::{Limits, Session};
/// let error = Session::import(b"{oops\n", &Limits::default()).unwrap_err();
/// assert!(error.is_without_entries());
/// assert_eq!(
///     error.to_string(),
///     "this is no session: no line of the file is a record; the first is wrong (json) at byte 0",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError(pub(super) Refusal);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Empty,
    NoEntries { first: Option<(u64, &'static str)> },
    NoHeader { offset: u64 },
    Version { offset: u64, version: String },
}

impl ImportError {
    /// The file has no byte.
    pub fn is_empty(&self) -> bool {
        self.0 == Refusal::Empty
    }

    /// There are lines, and none of them is a record.
    pub fn is_without_entries(&self) -> bool {
        matches!(self.0, Refusal::NoEntries { .. })
    }

    /// The first record is something else than the header.
    pub fn is_without_header(&self) -> bool {
        matches!(self.0, Refusal::NoHeader { .. })
    }

    /// The header says a version that is not known.
    pub fn is_unknown_version(&self) -> bool {
        matches!(self.0, Refusal::Version { .. })
    }

    /// Byte offset in the file of what is wrong first.
    pub fn offset(&self) -> u64 {
        match &self.0 {
            Refusal::Empty => 0,
            Refusal::NoEntries { first } => first.map_or(0, |(offset, _)| offset),
            Refusal::NoHeader { offset } | Refusal::Version { offset, .. } => *offset,
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no session: ")?;
        match &self.0 {
            Refusal::Empty => f.write_str("the file is empty"),
            Refusal::NoEntries { first: None } => f.write_str("the file holds nothing but spaces"),
            Refusal::NoEntries { first: Some((offset, reason)) } => {
                write!(f, "no line of the file is a record; the first is wrong ({reason}) at byte {offset}")
            }
            Refusal::NoHeader { offset } => write!(f, "the first record, at byte {offset}, is no session header"),
            Refusal::Version { version, .. } => write!(f, "its version is {version}; 1 to {VERSION} are known"),
        }
    }
}

impl std::error::Error for ImportError {}
