//! Server-sent events: bytes cut anywhere become payloads. Lines end with LF, CRLF or CR; a blank line ends an event;
//! several `data:` lines join with LF. A line that is no field of an event is handed out as it is: some servers write
//! bare JSON or an error page where events were promised.

use memchr::memchr2;

/// What the framing found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// An event's payload.
    Payload(&'a [u8]),
    /// A line that belongs to no event.
    Stray(&'a [u8]),
    /// A comment, or an event without payload.
    Ping,
    /// An event longer than the cap; its first bytes.
    TooLong(&'a [u8]),
    /// A blank line that ended nothing.
    Blank,
}

/// Resumable framing state.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The payload of the event that is not whole yet.
    data: Vec<u8>,
    has_data: bool,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    too_long: bool,
    max: usize,
    /// Offset of the next byte, of the current line and of the event's first `data:` line.
    position: u64,
    line_at: u64,
    data_at: u64,
}

/// An event that lies whole in one buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WholeEvent {
    /// Where its `data:` line starts.
    pub line: usize,
    /// Where its payload stands.
    pub payload: std::ops::Range<usize>,
    /// Where the next event starts.
    pub end: usize,
}

impl Sse {
    /// Framing that gives up events whose payload is longer than `max` bytes; its first byte stands at `position`.
    pub fn new(max: usize, position: u64) -> Self {
        Sse { max, position, ..Sse::default() }
    }

    /// Whole events of this many bytes were read past the framing.
    pub fn took(&mut self, bytes: usize) {
        self.position += bytes as u64;
    }

    /// True between two events.
    pub fn is_between_events(&self) -> bool {
        self.line.is_empty() && !self.has_data && !self.after_cr && !self.too_long
    }

    /// The event that starts at `from`, if it is whole, has one `data:` line and plain line ends. Anything else is
    /// left to [`Sse::advance`]. The bytes looked at are added to `work`.
    pub fn whole_event(&self, bytes: &[u8], from: usize, work: &mut u64) -> Option<WholeEvent> {
        let mut payload: Option<std::ops::Range<usize>> = None;
        let (mut at, mut data_line) = (from, from);
        // A try that fails is made again at the next line, so it must not look far.
        const LINES: usize = 6;
        for _ in 0..LINES {
            let rest = bytes.get(at..)?;
            let len = memchr2(b'\n', b'\r', rest);
            *work += len.unwrap_or(rest.len()) as u64;
            let len = len?;
            let next = match rest[len] {
                b'\n' => at + len + 1,
                _ if rest.get(len + 1) == Some(&b'\n') => at + len + 2,
                _ => return None,
            };
            if len == 0 {
                let payload = payload?;
                return (payload.len() <= self.max).then_some(WholeEvent { line: data_line, payload, end: next });
            }
            let line = &rest[..len];
            match field(line) {
                (b"data", value) if payload.is_none() && !value.is_empty() => {
                    payload = Some(at + len - value.len()..at + len);
                    data_line = at;
                }
                (b"event" | b"id" | b"retry", _) => {}
                _ => return None,
            }
            at = next;
        }
        None
    }

    /// Reads up to the end of one line; returns how many bytes that were.
    pub fn advance(&mut self, bytes: &[u8], out: &mut impl FnMut(Frame<'_>, u64)) -> usize {
        let used = self.read_line(bytes, out);
        self.position += used as u64;
        used
    }

    fn read_line(&mut self, bytes: &[u8], out: &mut impl FnMut(Frame<'_>, u64)) -> usize {
        if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
            return 1;
        }
        if self.line.is_empty() {
            self.line_at = self.position;
        }
        let Some(len) = memchr2(b'\n', b'\r', bytes) else {
            self.keep(bytes);
            return bytes.len();
        };
        self.after_cr = bytes[len] == b'\r';
        if self.line.is_empty() {
            self.line(&bytes[..len], out);
        } else {
            self.keep(&bytes[..len]);
            let line = std::mem::take(&mut self.line);
            self.line(&line, out);
            self.line = line;
            self.line.clear();
            self.line.shrink_to(64 << 10);
        }
        len + 1
    }

    /// The input ended: an unterminated line counts, and so does an unterminated event.
    pub fn finish(&mut self, out: &mut impl FnMut(Frame<'_>, u64)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line(&line, out);
        }
        if self.has_data || self.too_long {
            self.line(b"", out);
        }
        self.after_cr = false;
    }

    fn keep(&mut self, bytes: &[u8]) {
        // Room for the field's name, and for what a fault shows.
        let room = (self.max + super::EXCERPT_BYTES + 6).saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8], out: &mut impl FnMut(Frame<'_>, u64)) {
        if line.is_empty() {
            if std::mem::take(&mut self.too_long) {
                out(Frame::TooLong(&self.data), self.data_at);
            } else if std::mem::take(&mut self.has_data) {
                out(if self.data.is_empty() { Frame::Ping } else { Frame::Payload(&self.data) }, self.data_at);
            } else {
                out(Frame::Blank, self.line_at);
            }
            self.has_data = false;
            self.data.clear();
            self.data.shrink_to(64 << 10);
            return;
        }
        match field(line) {
            (b"", _) => out(Frame::Ping, self.line_at),
            (b"data", value) => {
                if !self.has_data {
                    self.data_at = self.line_at;
                } else if !self.too_long {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                if self.too_long {
                    return;
                }
                if self.data.len() + value.len() > self.max {
                    self.too_long = true;
                    self.data.truncate(super::EXCERPT_BYTES);
                    let room = super::EXCERPT_BYTES - self.data.len();
                    self.data.extend_from_slice(&value[..value.len().min(room)]);
                } else {
                    self.data.extend_from_slice(value);
                }
            }
            (b"event" | b"id" | b"retry", _) => {}
            _ => out(Frame::Stray(line), self.line_at),
        }
    }
}

/// A line's field name and value. A comment has an empty name.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    // The names are short, so a plain search beats a wide one.
    let Some(colon) = line.iter().take(6).position(|&byte| byte == b':') else {
        return if matches!(line, b"data" | b"event" | b"id" | b"retry") { (line, b"") } else { (b"?", line) };
    };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8], cut: usize) -> Vec<String> {
        let mut sse = Sse::new(20, 0);
        let mut seen = Vec::new();
        let mut out = |frame: Frame<'_>, _| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            seen.push(match frame {
                Frame::Payload(data) => text(data),
                Frame::Stray(line) => format!("stray {}", text(line)),
                Frame::Ping => "ping".into(),
                Frame::TooLong(data) => format!("too long {}", text(data)),
                Frame::Blank => return,
            });
        };
        for piece in bytes.chunks(cut) {
            let mut at = 0;
            while at < piece.len() {
                at += sse.advance(&piece[at..], &mut out);
            }
        }
        sse.finish(&mut out);
        seen
    }

    fn check(bytes: &str, expected: &[&str]) {
        for cut in 1..=bytes.len() {
            assert_eq!(frames(bytes.as_bytes(), cut), expected, "{bytes:?} cut {cut}");
        }
    }

    #[test]
    fn all_three_line_ends_end_lines_however_they_are_cut() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("data: a\r\n\ndata: b\n\r\n", &["a", "b"]);
    }

    #[test]
    fn one_space_after_the_colon_is_no_data_and_lines_of_one_event_join() {
        check("data:a\n\n", &["a"]);
        check("data:  a\n\n", &[" a"]);
        check("data: a\ndata:b\nid: 3\nevent: x\nretry: 1\n\n", &["a\nb"]);
    }

    #[test]
    fn comments_and_empty_payloads_are_pings() {
        check(": ping\n\ndata:\n\ndata\n\n:\n", &["ping", "ping", "ping", "ping"]);
    }

    #[test]
    fn an_event_that_the_end_cuts_still_counts() {
        check("data: a", &["a"]);
        check("data: a\n", &["a"]);
    }

    #[test]
    fn lines_that_are_no_field_are_handed_out() {
        check("<html>\n\ndata: a\n{\"error\":1}\n\n", &["stray <html>", "stray {\"error\":1}", "a"]);
    }

    #[test]
    fn an_event_over_the_cap_is_reported_once_and_the_next_one_is_read() {
        check("data: 123456789012345678901\n\ndata: b\n\n", &["too long 123456789012345678901", "b"]);
        check("data: 1234567890\ndata: 1234567890\ndata: x\n\n", &["too long 1234567890\n1234567890"]);
    }

    #[test]
    fn a_whole_event_is_found_where_the_slow_way_finds_it() {
        let sse = Sse::new(20, 0);
        let find =
            |text: &str| sse.whole_event(text.as_bytes(), 0, &mut 0).map(|e| (text[e.payload].to_owned(), e.end));
        assert_eq!(find("data: ab\n\nrest"), Some(("ab".into(), 10)));
        assert_eq!(find("event: x\r\ndata:ab\r\n\r\nrest"), Some(("ab".into(), 21)));
        for other in
            ["data: ab\n", "data: a\ndata: b\n\n", ": x\ndata: a\n\n", "data: a\r\r", "\n", "data:\n\n", "x\n\n"]
        {
            assert_eq!(find(other), None, "{other:?}");
        }
    }
}
