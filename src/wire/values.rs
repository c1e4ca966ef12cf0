//! Bare JSON values: one a line, concatenated, or spread over lines. Where a value ends is found once, by a resumable
//! scan; a value that breaks the grammar is given up at a line end, and what stood whole on a line of its own inside
//! it is still read.

use memchr::memchr;

use crate::json::{Progress, Scanner, Strings};

/// What the framing found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A value, whole.
    Value(&'a [u8]),
    /// Bytes up to a line end that are no value, and why.
    Broken(&'a [u8], &'static str),
    /// A value longer than the cap; its first bytes.
    TooLong(&'a [u8]),
    /// The marker `[DONE]`.
    Done,
}

/// Resumable framing state.
#[derive(Debug)]
pub(crate) struct Values {
    /// The value that is not whole yet, from its first byte.
    held: Vec<u8>,
    scanner: Scanner,
    mode: Mode,
    /// Why the value that is skipped is broken.
    reason: &'static str,
    max: usize,
    nesting: usize,
    /// Bytes of a `data:` prefix passed over where a value was due.
    prefix: usize,
    /// Offset of the next byte, and of the value that is held.
    position: u64,
    held_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Before a value, or inside one.
    Value,
    /// Inside a broken value: everything up to the next line end belongs to it.
    Skip,
    /// Inside a value over the cap: everything up to the next line end belongs to it.
    SkipLong,
}

/// A value that is no JSON.
const JSON: &str = "json";

impl Values {
    /// Framing that gives up values longer than `max` bytes or nested deeper than `nesting`; its first byte stands at
    /// `position`.
    pub fn new(max: usize, nesting: usize, position: u64) -> Self {
        let scanner = Scanner::new(Strings::Strict, nesting);
        Values {
            held: Vec::new(),
            scanner,
            mode: Mode::Value,
            reason: JSON,
            max,
            nesting,
            prefix: 0,
            position,
            held_at: position,
        }
    }

    /// Whole values of this many bytes were read past the framing.
    pub fn took(&mut self, bytes: usize) {
        self.position += bytes as u64;
    }

    /// True between two values.
    pub fn is_between_values(&self) -> bool {
        self.mode == Mode::Value && self.held.is_empty() && self.prefix == 0
    }

    /// Reads `bytes` up to the end of one value, or all of them.
    pub fn advance(&mut self, bytes: &[u8], out: &mut impl FnMut(Piece<'_>, u64)) -> usize {
        if self.mode != Mode::Value {
            let used = self.skip(bytes, out);
            self.position += used as u64;
            return used;
        }
        if self.held.is_empty() {
            let space = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
            if space > 0 && self.prefix == 0 {
                self.position += space as u64;
                return space;
            }
            // A payload line of an event stream, prefix and all, among bare values.
            const PREFIX: &[u8] = b"data:";
            if bytes[0] == PREFIX[self.prefix] {
                self.prefix = (self.prefix + 1) % PREFIX.len();
                self.position += 1;
                return 1;
            }
            self.held_at = self.position - self.prefix as u64;
            if self.prefix > 0 {
                let seen = std::mem::take(&mut self.prefix);
                self.hold(&PREFIX[..seen]);
                self.mode = Mode::Skip;
                return 0;
            }
        }
        let before = self.held.len();
        let progress = self.scanner.advance(bytes, &mut ());
        let used = match progress {
            Progress::Open => bytes.len(),
            Progress::Done(end) | Progress::Broken(end) => end - before,
        };
        self.position += used as u64;
        match progress {
            Progress::Done(_) if before == 0 => self.value(&bytes[..used], out),
            Progress::Done(_) => {
                self.hold(&bytes[..used]);
                if self.mode == Mode::Value {
                    let held = std::mem::take(&mut self.held);
                    self.value(&held, out);
                    if self.mode == Mode::Value {
                        self.recycle(held);
                    }
                }
            }
            Progress::Open => self.hold(bytes),
            Progress::Broken(_) => {
                self.hold(&bytes[..used]);
                if self.mode == Mode::Value {
                    self.give_up(out);
                }
            }
        }
        used
    }

    /// The input ended: a value that is not whole is broken.
    pub fn finish(&mut self, out: &mut impl FnMut(Piece<'_>, u64)) {
        if self.mode == Mode::Value && !self.held.is_empty() {
            if self.scanner.finish(&mut ()) {
                let held = std::mem::take(&mut self.held);
                self.value(&held, out);
            } else {
                self.give_up(out);
            }
        }
        if self.prefix > 0 {
            self.held = b"data:"[..std::mem::take(&mut self.prefix)].to_vec();
            self.held_at = self.position - self.held.len() as u64;
            self.mode = Mode::Skip;
        }
        if self.mode != Mode::Value {
            self.skip(b"\n", out);
        }
        self.held.clear();
    }

    fn value(&mut self, value: &[u8], out: &mut impl FnMut(Piece<'_>, u64)) {
        self.start_over();
        if value.len() > self.max {
            // As where it comes in pieces: what stands behind it on its line is given up with it.
            self.mode = Mode::SkipLong;
            self.held = value[..value.len().min(super::EXCERPT_BYTES)].to_vec();
            return;
        }
        out(Piece::Value(value), self.held_at);
    }

    fn start_over(&mut self) {
        self.scanner = Scanner::new(Strings::Strict, self.nesting);
        self.mode = Mode::Value;
    }

    fn recycle(&mut self, mut held: Vec<u8>) {
        held.clear();
        held.shrink_to(64 << 10);
        self.held = held;
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() > self.max {
            self.mode = Mode::SkipLong;
            self.held.truncate(super::EXCERPT_BYTES);
            let room = super::EXCERPT_BYTES - self.held.len();
            self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// The value held is broken at its end. If it spans lines, its first line is the broken record, and of the lines
    /// after it those that hold a whole value by themselves are read; the line on which it broke starts anew.
    fn give_up(&mut self, out: &mut impl FnMut(Piece<'_>, u64)) {
        self.reason = if self.scanner.nested_too_deep() { "nesting" } else { JSON };
        let Some(first_end) = memchr(b'\n', &self.held) else {
            self.mode = Mode::Skip;
            return;
        };
        let held = std::mem::take(&mut self.held);
        let held_at = self.held_at;
        self.start_over();
        out(Piece::Broken(&held[..first_end], self.reason), held_at);
        let mut rest = &held[first_end + 1..];
        let offset = |rest: &[u8]| held_at + (held.len() - rest.len()) as u64;
        while let Some(end) = memchr(b'\n', rest) {
            let line = rest[..end].trim_ascii();
            let mut scanner = Scanner::new(Strings::Strict, self.nesting);
            if line.starts_with(b"{") {
                let whole = scanner.advance(line, &mut ()) == Progress::Done(line.len());
                out(if whole { Piece::Value(line) } else { Piece::Broken(line, JSON) }, offset(rest));
            }
            rest = &rest[end + 1..];
        }
        // The line that broke the value was scanned as its continuation; as a start of its own it may be sound.
        let tail = rest.to_vec();
        self.position -= tail.len() as u64;
        self.recycle(held);
        let mut at = 0;
        while at < tail.len() {
            at += self.advance(&tail[at..], out);
        }
    }

    fn skip(&mut self, bytes: &[u8], out: &mut impl FnMut(Piece<'_>, u64)) -> usize {
        let end = memchr(b'\n', bytes);
        let line = &bytes[..end.unwrap_or(bytes.len())];
        if self.held.is_empty() {
            self.held_at = self.position;
        }
        let room = self.max.min(super::EXCERPT_BYTES).saturating_sub(self.held.len());
        self.held.extend_from_slice(&line[..line.len().min(room)]);
        let Some(end) = end else { return bytes.len() };
        let held = std::mem::take(&mut self.held);
        let long = self.mode == Mode::SkipLong;
        self.start_over();
        match held.trim_ascii() {
            b"[DONE]" => out(Piece::Done, self.held_at),
            _ if long => out(Piece::TooLong(&held), self.held_at),
            broken => out(Piece::Broken(broken, std::mem::replace(&mut self.reason, JSON)), self.held_at),
        }
        self.recycle(held);
        end + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8], cut: usize) -> Vec<String> {
        let mut values = Values::new(24, 8, 0);
        let mut seen = Vec::new();
        let mut out = |piece: Piece<'_>, _| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            seen.push(match piece {
                Piece::Value(value) => text(value),
                Piece::Broken(line, _) => format!("broken {}", text(line)),
                Piece::TooLong(_) => "too long".into(),
                Piece::Done => "done".into(),
            });
        };
        for piece in bytes.chunks(cut) {
            let mut at = 0;
            while at < piece.len() {
                at += values.advance(&piece[at..], &mut out);
            }
        }
        values.finish(&mut out);
        seen
    }

    fn check(bytes: &str, expected: &[&str]) {
        for cut in 1..=bytes.len() {
            assert_eq!(pieces(bytes.as_bytes(), cut), expected, "{bytes:?} cut {cut}");
        }
    }

    #[test]
    fn values_one_a_line_concatenated_or_over_lines_are_whole() {
        check("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("{\"a\":1}{\"b\":2} [3]", &["{\"a\":1}", "{\"b\":2}", "[3]"]);
        check("{\n \"a\": [\n  1\n ]\n}\r\n{}", &["{\n \"a\": [\n  1\n ]\n}", "{}"]);
    }

    #[test]
    fn a_broken_line_costs_that_line() {
        check("{\"a\":x}\n{\"b\":2}\n", &["broken {\"a\":x}", "{\"b\":2}"]);
        check("{\"a\":1\n{\"b\":2}\n", &["broken {\"a\":1", "{\"b\":2}"]);
        check("{\"a\":\"x\n{\"b\":2}\n", &["broken {\"a\":\"x", "{\"b\":2}"]);
        check("oops\n{}\n", &["broken oops", "{}"]);
        check("{} oops\n{}\n", &["{}", "broken oops", "{}"]);
    }

    #[test]
    fn a_line_swallowed_by_a_cut_value_is_read_after_all() {
        check("{\"a\":\n{\"b\":2}\n{\"c\":3}\n", &["broken {\"a\":", "{\"b\":2}", "{\"c\":3}"]);
        check("{\"a\":\n{\"b\":\n{\"c\":3}\n{}\n", &["broken {\"a\":", "broken {\"b\":", "{\"c\":3}", "{}"]);
    }

    #[test]
    fn the_done_marker_is_no_value() {
        check("{}\n[DONE]\n", &["{}", "done"]);
        check("{}\n[DONE]", &["{}", "done"]);
    }

    #[test]
    fn a_payload_prefix_is_dropped() {
        check("{}\ndata: {\"a\":1}\n\n", &["{}", "{\"a\":1}"]);
        check("{}\ndat\n{}\nda", &["{}", "broken dat", "{}", "broken da"]);
    }

    #[test]
    fn a_value_over_the_cap_is_reported_once_and_the_next_line_is_read() {
        check("{\"a\":\"123456789012345678901234567890\"}\n{}\n", &["too long", "{}"]);
    }

    #[test]
    fn an_unfinished_value_at_the_end_is_broken() {
        check("{}\n{\"a\":", &["{}", "broken {\"a\":"]);
    }
}
