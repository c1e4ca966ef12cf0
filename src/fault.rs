//! What was wrong with the input, counted and kept for inspection, and the tally of records.

use crate::json::JsonWriter;

/// One thing that was wrong with the input of a stream.
///
/// ```
/// use chatrows::{ChatRows, Format, Options};
/// let mut chat = ChatRows::new(Options::default());
/// let stream = chat.stream(Format::OpenAiChat);
/// chat.push(stream, b"data: {oops\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n");
/// let fault = chat.faults().next().unwrap();
/// assert_eq!((fault.offset, fault.reason, fault.excerpt.as_str()), (0, "json", "{oops"));
/// assert_eq!(chat.rows().count(), 1); // the next record was read
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Number of the stream, from 1; 0 in a session file.
    pub stream: u32,
    /// Byte offset in the stream at which the record starts.
    pub offset: u64,
    /// What is wrong, as a code: `json`, `utf-8`, `nesting`, `values`, `too-long`, `not-a-record`, or the name of a
    /// cap or rule that kept a record out.
    pub reason: &'static str,
    /// The record's first bytes as text, 64 at most.
    pub excerpt: String,
}

/// Bytes of a record that a fault shows.
pub(crate) const EXCERPT_BYTES: usize = 64;

impl Fault {
    /// What is wrong with the record at `offset`; the stream is for the one who knows it to set.
    pub(crate) fn of(record: &[u8], offset: u64, reason: &'static str) -> Fault {
        let mut end = record.len().min(EXCERPT_BYTES);
        // No character is cut, unless the bytes are no text anyway.
        while end > 0 && end + 4 > EXCERPT_BYTES && record.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        Fault { stream: 0, offset, reason, excerpt: String::from_utf8_lossy(&record[..end]).into_owned() }
    }

    /// Writes the fault as JSON: an object with the properties of the TypeScript interface `Fault`.
    pub fn write_json(&self, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("stream").number(u64::from(self.stream));
            json.key("offset").number(self.offset);
            json.key("reason").string(self.reason);
            json.key("excerpt").string(&self.excerpt);
        });
    }
}

/// The last faults of a chat; all are counted.
#[derive(Debug)]
pub(crate) struct FaultLog {
    pub kept: Vec<Fault>,
    pub total: u64,
    max: usize,
}

impl FaultLog {
    pub fn new(max: usize) -> Self {
        FaultLog { kept: Vec::new(), total: 0, max }
    }

    pub fn push(&mut self, fault: Fault) {
        self.total += 1;
        if self.max == 0 {
            return;
        }
        if self.kept.len() >= self.max {
            self.kept.remove(0);
        }
        self.kept.push(fault);
    }

    /// The faults since the log had counted `seen`, as far as they are kept.
    pub fn since(&self, seen: u64) -> impl Iterator<Item = &Fault> {
        let new = (self.total - seen).min(self.kept.len() as u64) as usize;
        self.kept.iter().skip(self.kept.len() - new)
    }
}

/// What became of a stream's input. Every record is counted once, by its worst outcome.
///
/// ```
/// use chatrows::{ChatRows, Format, Options};
/// let mut chat = ChatRows::new(Options::default());
/// let stream = chat.stream(Format::OpenAiChat);
/// chat.push(stream, b": ping\n\ndata: {\"object\":\"something.else\"}\n\ndata: [DONE]\n\n");
/// let tally = chat.stream_tally(stream);
/// assert_eq!((tally.records(), tally.skipped, tally.pings), (1, 1, 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes that came in.
    pub bytes: u64,
    /// Bytes that came after the stream's end; they were dropped.
    pub late_bytes: u64,
    /// Records that were wrong in some way.
    pub faulted: u64,
    /// Records that came after the stream's end.
    pub late: u64,
    /// Records of a type the format does not know.
    pub skipped: u64,
    /// Records that changed what shows.
    pub applied: u64,
    /// Records that changed nothing.
    pub no_op: u64,
    /// Comments and empty payloads: signs of life that are no records.
    pub pings: u64,
    /// Bytes visited by framing, reading and the presenter, and what else was looked at on the way: the measure of
    /// work, proportional to `bytes`.
    pub work: u64,
    /// Records that the shortcut of the hot path took.
    pub shortcuts: u64,
}

impl Tally {
    /// All records.
    pub fn records(&self) -> u64 {
        self.faulted + self.late + self.skipped + self.applied + self.no_op
    }

    /// Writes the tally as the members of the TypeScript interface `Stats` into an open object.
    pub fn write_members(&self, json: &mut JsonWriter) {
        json.key("bytes").number(self.bytes);
        json.key("records").object(|json| {
            json.key("total").number(self.records());
            json.key("faulted").number(self.faulted);
            json.key("late").number(self.late);
            json.key("skipped").number(self.skipped);
            json.key("applied").number(self.applied);
            json.key("noop").number(self.no_op);
        });
        json.key("lateBytes").number(self.late_bytes);
        json.key("pings").number(self.pings);
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.late_bytes += other.late_bytes;
        self.faulted += other.faulted;
        self.late += other.late;
        self.skipped += other.skipped;
        self.applied += other.applied;
        self.no_op += other.no_op;
        self.pings += other.pings;
        self.work += other.work;
        self.shortcuts += other.shortcuts;
    }
}
