//! The lines of a session file: each text once, in the file's order, with what was wrong. LF alone ends a line. What
//! went in comes out again byte for byte, lines that are no entries and no text included.

use crate::fault::{Fault, FaultLog};
use crate::json::{Record, Tape};
use crate::limits::Limits;

/// The lines of one file and their faults.
#[derive(Debug)]
pub(super) struct Lines {
    text: String,
    lines: Vec<Line>,
    /// The last line has no LF.
    open_end: bool,
    /// Bytes taken in so far, line ends included.
    offset: u64,
    faults: FaultLog,
}

#[derive(Debug)]
enum Line {
    /// Where it stands in the text.
    Text { start: usize, end: usize },
    /// A line that is no UTF-8.
    Bytes(Box<[u8]>),
}

/// The number of a line in its file, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineNumber(u32);

impl Lines {
    pub fn new(bytes: usize, limits: &Limits) -> Self {
        let text = String::with_capacity(bytes);
        Lines { text, lines: Vec::new(), open_end: false, offset: 0, faults: FaultLog::new(limits.faults) }
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The number that the next line gets.
    pub fn next(&self) -> LineNumber {
        LineNumber(self.lines.len() as u32)
    }

    /// Byte offset, in the file as it came, at which the next line starts.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Adds a line that came in as `original` and is kept as `text`.
    pub fn push(&mut self, text: &str, original: &[u8]) {
        let start = self.text.len();
        self.text.push_str(text);
        self.add(Line::Text { start, end: self.text.len() }, original)
    }

    /// Adds a line that is no entry and says why.
    pub fn push_broken(&mut self, line: &[u8], reason: &'static str) {
        self.fault(line, reason);
        match std::str::from_utf8(line) {
            Ok(text) => self.push(text, line),
            Err(_) => self.add(Line::Bytes(line.into()), line),
        }
    }

    /// Says what is wrong with the line that is added next.
    pub fn fault(&mut self, line: &[u8], reason: &'static str) {
        self.faults.push(Fault::of(line, self.offset, reason));
    }

    fn add(&mut self, line: Line, original: &[u8]) {
        self.offset += original.len() as u64 + 1;
        self.open_end = false;
        self.lines.push(line);
    }

    /// The file ended here without an LF.
    pub fn end_open(&mut self) {
        self.open_end = true;
    }

    /// A line's text; nothing for one that is no text.
    pub fn get(&self, line: LineNumber) -> &str {
        match self.lines.get(line.0 as usize) {
            Some(Line::Text { start, end }) => self.text.get(*start..*end).unwrap_or_default(),
            _ => "",
        }
    }

    /// The file.
    pub fn export(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + self.lines.len());
        for line in &self.lines {
            out.extend_from_slice(match line {
                Line::Text { start, end } => self.text.get(*start..*end).unwrap_or_default().as_bytes(),
                Line::Bytes(bytes) => bytes,
            });
            out.push(b'\n');
        }
        if self.open_end {
            out.pop();
        }
        out
    }

    pub fn faults(&self) -> &FaultLog {
        &self.faults
    }
}

/// What one line of a file is.
pub(super) enum Reading<'a> {
    /// Nothing but spaces.
    Blank(&'a str),
    /// An object that says its `type`.
    Record { text: &'a str, record: Record<'a> },
    /// Neither.
    Broken(&'static str),
}

/// Reads one line.
pub(super) fn read<'a>(tape: &'a mut Tape, line: &'a [u8], limits: &Limits) -> Reading<'a> {
    if line.len() > limits.record_bytes {
        return Reading::Broken("too-long");
    }
    let Ok(text) = std::str::from_utf8(line) else { return Reading::Broken("utf-8") };
    if text.trim().is_empty() {
        return Reading::Blank(text);
    }
    match tape.read(text) {
        Ok(record) if record.root().get("type").str().is_some() => Reading::Record { text, record },
        Ok(_) => Reading::Broken("not-a-record"),
        Err(error) => Reading::Broken(error.kind.reason()),
    }
}

/// The lines of `bytes`, in order; no line follows the last LF.
pub(super) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    })
}
