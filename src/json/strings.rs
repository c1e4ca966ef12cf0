//! JSON strings: finding where one ends, and decoding its escapes.
//!
//! Escapes may name one half of a surrogate pair, and providers cut pairs between two deltas, so decoding carries a
//! [`Half`] from one string to the next. A half whose other half never comes is U+FFFD.

use std::borrow::Cow;

/// The first half of a surrogate pair, waiting for its second half in the next string of the same channel.
///
/// ```
/// use chatrows::json::{Half, Tape};
/// let (mut half, mut text, mut tape) = (Half::default(), String::new(), Tape::default());
/// for record in [r#""a\ud83d""#, r#""\ude00b""#] {
///     let value = tape.read(record).unwrap();
///     value.root().str().unwrap().decode_into(&mut text, &mut half);
/// }
/// assert_eq!(text, "a😀b");
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Half(Option<u16>);

impl Half {
    /// True while a half waits.
    pub fn waits(self) -> bool {
        self.0.is_some()
    }

    /// Gives up waiting: a half that stood alone becomes U+FFFD at the end of `out`. Returns whether there was one.
    pub fn flush(&mut self, out: &mut String) -> bool {
        let waited = self.0.take().is_some();
        if waited {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        waited
    }

    /// Takes one UTF-16 unit that an escape named.
    fn unit(&mut self, unit: u16, out: &mut String) {
        match (self.0, unit) {
            (Some(high), 0xDC00..=0xDFFF) => {
                self.0 = None;
                let scalar = 0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(unit) - 0xDC00);
                out.push(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (_, 0xD800..=0xDBFF) => {
                self.flush(out);
                self.0 = Some(unit);
            }
            _ => {
                self.flush(out);
                out.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
    }
}

/// A string of a record: the bytes between its quotes, escapes and all. The record was read strictly, so every
/// escape in it is well-formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonStr<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> JsonStr<'a> {
    pub(crate) fn new(raw: &'a str, escaped: bool) -> Self {
        JsonStr { raw, escaped }
    }

    /// The text between the quotes as it stands in the record.
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// True for `""`.
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The decoded text, borrowed where no escape stands in it.
    pub fn text(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let (mut out, mut half) = (String::with_capacity(self.raw.len()), Half::default());
        self.decode_into(&mut out, &mut half);
        half.flush(&mut out);
        Cow::Owned(out)
    }

    /// Appends the decoded text to `out`, joining a surrogate half that waits from the string before.
    pub fn decode_into(self, out: &mut String, half: &mut Half) {
        if !self.escaped {
            if !self.raw.is_empty() {
                half.flush(out);
                out.push_str(self.raw);
            }
            return;
        }
        decode(self.raw, out, half);
    }

    /// The text borrowed from the record, if it can be shown as it stands: no escape in it and no half before it.
    pub fn borrowed(self, half: Half) -> Option<&'a str> {
        (!self.escaped && !half.waits()).then_some(self.raw)
    }
}

impl PartialEq<str> for JsonStr<'_> {
    fn eq(&self, other: &str) -> bool {
        if self.escaped { self.text() == other } else { self.raw == other }
    }
}

/// Decodes the piece `raw` of a string that is still arriving, leniently: an escape that is none stays as written.
/// The piece must not end inside an escape or between two halves (see `FieldSpan::shown_end`).
///
/// ```
/// let mut text = String::new();
/// chatrows::json::decode_preview(r"a\tb C:\d", &mut text);
/// assert_eq!(text, "a\tb C:\\d");
/// ```
pub fn decode_preview(raw: &str, out: &mut String) {
    let mut half = Half::default();
    decode(raw, out, &mut half);
    half.flush(out);
}

fn decode(raw: &str, out: &mut String, half: &mut Half) {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        // Runs are short in escaped text, so the search must start cheaply.
        let mut end = find_special(bytes, at);
        while end < bytes.len() && bytes[end] != b'\\' {
            end = find_special(bytes, end + 1);
        }
        if end > at {
            half.flush(out);
            out.push_str(raw.get(at..end).unwrap_or_default());
            at = end;
            continue;
        }
        let plain = match bytes.get(at + 1) {
            Some(b'"') => "\"",
            Some(b'\\') => "\\",
            Some(b'/') => "/",
            Some(b'b') => "\u{8}",
            Some(b'f') => "\u{c}",
            Some(b'n') => "\n",
            Some(b'r') => "\r",
            Some(b't') => "\t",
            Some(b'u') => match bytes.get(at + 2..at + 6).and_then(hex4) {
                Some(unit) => {
                    half.unit(unit, out);
                    at += 6;
                    continue;
                }
                None => "\\u",
            },
            _ => {
                half.flush(out);
                out.push_str("\\");
                at += 1;
                continue;
            }
        };
        half.flush(out);
        out.push_str(plain);
        at += 2;
    }
}

fn hex4(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0u16, |unit, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(unit << 4 | value as u16)
    })
}

/// Index of the first byte from `from` on that ends a plain run inside a string: a quote, a backslash or a control
/// byte; `bytes.len()` where there is none. Eight bytes at a time.
pub(crate) fn find_special(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| <[u8; 8]>::try_from(chunk).ok()) {
        let word = u64::from_le_bytes(chunk);
        let quote = has_zero(word ^ (ONES * b'"' as u64));
        let slash = has_zero(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quote | slash | control;
        if found != 0 {
            // Borrows may mark bytes above the first hit too, never below it, so the lowest mark is exact.
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).map_or(bytes.len(), |found| at + found)
}

/// Whether the bytes from the backslash at `at` are a whole well-formed escape: its length, `None` if it is not.
/// `Err` says that the input ended inside it.
pub(super) fn escape_len(bytes: &[u8], at: usize) -> Result<Option<usize>, ()> {
    match bytes.get(at + 1) {
        None => Err(()),
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(Some(2)),
        Some(b'u') => {
            let digits = bytes.get(at + 2..).unwrap_or_default();
            let seen = &digits[..digits.len().min(4)];
            if !seen.iter().all(u8::is_ascii_hexdigit) {
                Ok(None)
            } else if seen.len() < 4 {
                Err(())
            } else {
                Ok(Some(6))
            }
        }
        Some(_) => Ok(None),
    }
}

/// The end of the string whose content starts at `from`: index of its closing quote, and whether an escape stands
/// in it. `Err(at)` says where it breaks the grammar; `Err(bytes.len())` that it is not whole.
pub(crate) fn string_end(bytes: &[u8], from: usize) -> Result<(usize, bool), usize> {
    let (mut at, mut escaped) = (from, false);
    loop {
        at = find_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                match escape_len(bytes, at) {
                    Ok(Some(len)) => at += len,
                    Ok(None) => return Err(at),
                    Err(()) => return Err(bytes.len()),
                }
            }
            Some(_) => return Err(at),
            None => return Err(bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wide_scan_agrees_with_a_plain_one() {
        let mut seed = 7u32;
        for len in 0..64 {
            for _ in 0..200 {
                let bytes: Vec<u8> = (0..len)
                    .map(|_| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        // Values around the limits: 0x1f/0x20/0x21, the quote, the backslash, high bytes.
                        [0x1f, 0x20, 0x21, 0x22, 0x23, 0x5b, 0x5c, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0xff, b'a', b'b', b'c']
                            [(seed >> 24) as usize % 16]
                    })
                    .collect();
                let plain = bytes.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(len);
                assert_eq!(find_special(&bytes, 0), plain, "{bytes:?}");
            }
        }
    }

    #[test]
    fn a_half_that_stands_alone_becomes_a_replacement_character() {
        for (raw, expected) in [
            (r"\ud83d", "\u{fffd}"),
            (r"\ude00", "\u{fffd}"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\ud83d\n", "\u{fffd}\n"),
        ] {
            assert_eq!(JsonStr::new(raw, true).text(), expected, "{raw}");
        }
    }

    #[test]
    fn an_escape_that_is_none_stays_as_written() {
        for (raw, expected) in [(r"C:\d", r"C:\d"), (r"\u12x", r"\u12x"), (r"\é", r"\é"), ("\\", "\\")] {
            let mut out = String::new();
            decode_preview(raw, &mut out);
            assert_eq!(out, expected);
        }
    }
}
