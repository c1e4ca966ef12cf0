//! Telling formats apart: records are held until one fits exactly one format. From then on the stream has it.

use super::Format;
use crate::json::Value;
use crate::limits::Limits;

/// Records that are held at most.
const HELD_RECORDS: usize = 16;
/// Bytes that are held at most.
const HELD_BYTES: usize = 64 << 10;

/// Records of a stream whose format is not known yet.
#[derive(Debug)]
pub(super) struct Held {
    pub limits: Limits,
    /// Each with its offset.
    pub records: Vec<(String, u64)>,
    bytes: usize,
}

impl Held {
    pub fn new(limits: &Limits) -> Self {
        Held { limits: *limits, records: Vec::new(), bytes: 0 }
    }

    /// Keeps a record. False: there are too many now.
    pub fn keep(&mut self, record: &str, start: u64) -> bool {
        self.bytes += record.len();
        self.records.push((record.to_owned(), start));
        self.records.len() < HELD_RECORDS && self.bytes < HELD_BYTES
    }

    /// Gives back what is held.
    pub fn take(&mut self) -> Vec<(String, u64)> {
        self.bytes = 0;
        std::mem::take(&mut self.records)
    }
}

/// The one format that a record fits.
pub(super) fn fitting(record: Value<'_>) -> Option<Format> {
    let mut fitting = Format::ALL.iter().copied().filter(|format| format.fits(record));
    fitting.next().filter(|_| fitting.next().is_none())
}
