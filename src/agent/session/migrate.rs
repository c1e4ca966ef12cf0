//! Older files as version 3, line by line. Version 1 was a list: its entries get ids and each follows the one before;
//! what a compaction kept was the number of a line and becomes an id. Versions 1 and 2 called the messages of
//! extensions `hookMessage`. Every other member stays as it is, and a line that nothing touches keeps its bytes.

use super::header::VERSION;
use super::members::with_members;
use crate::json::{Raw, Value};

/// How the lines of one file become lines of version 3.
#[derive(Debug)]
pub(super) struct Migration {
    from: u64,
    /// The entry before, as a JSON string.
    previous: Option<String>,
}

impl Migration {
    pub fn new(from: u64) -> Self {
        Migration { from, previous: None }
    }

    /// The header with the version that its entries have now.
    pub fn header(&self, header: Value<'_>) -> Option<String> {
        (self.from < VERSION).then(|| with_members(header, &[("version", Some(&VERSION.to_string()))]))
    }

    /// The entry at `line` (counted from 0, the header included), if it changes. Ids are made of the line's number,
    /// so the same file gets the same ids always.
    pub fn entry(&mut self, entry: Value<'_>, line: usize) -> Option<String> {
        let message = self.message(entry);
        let mut changes: Vec<(&str, Option<&str>)> = message.iter().map(|text| ("message", Some(&**text))).collect();
        if self.from >= 2 {
            return message.is_some().then(|| with_members(entry, &changes));
        }
        let id = id_of(line as u64);
        let previous = self.previous.replace(id.clone());
        changes.extend([("id", Some(&*id)), ("parentId", Some(previous.as_deref().unwrap_or("null")))]);
        let index = entry.get("firstKeptEntryIndex");
        // The header is line 0 and no entry.
        let kept = index.u64().filter(|index| *index > 0).map(id_of);
        if index.exists() && entry.get("type").str().is_some_and(|name| name == *"compaction") {
            changes.push(("firstKeptEntryIndex", None));
            changes.extend(kept.as_deref().map(|id| ("firstKeptEntryId", Some(id))));
        }
        Some(with_members(entry, &changes))
    }

    fn message(&self, entry: Value<'_>) -> Option<String> {
        let message = entry.get("message");
        let is_hook = self.from < VERSION
            && entry.get("type").str()? == *"message"
            && message.get("role").str()? == *"hookMessage";
        is_hook.then(|| with_members(message, &[("role", Some("\"custom\""))]))
    }
}

/// The id of the entry at a line, as a JSON string.
fn id_of(line: u64) -> String {
    Raw::written(|json| json.string(&format!("{line:08x}"))).as_str().to_owned()
}
