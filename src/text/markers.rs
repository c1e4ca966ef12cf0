//! Reasoning with markers in it, taken apart: text comes out as text, a marker as a marker, however they are glued
//! together or cut in two between pieces. A marker starts with a NUL, and no NUL comes out in text; what looked like a
//! marker and is none comes out without its NULs, and nothing else is lost.

use std::borrow::Cow;

use super::preparing::{PREPARING, parse_preparing_marker};

const METADATA: &str = "response_metadata";
/// Bytes that are held as what may become a marker; beyond, they are none.
pub(crate) const MARKER_BYTES: usize = 16 << 10;

/// Resumable state: the start of a marker, if one has begun.
#[derive(Debug, Default)]
pub(crate) struct Markers {
    /// Empty, or from a NUL on.
    held: String,
    verdict: Verdict,
}

/// What is held is …
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// … the start of a marker, in its first field.
    #[default]
    Kind,
    /// … the start of a marker, in a field that may hold anything.
    Open,
    /// … the start of a marker, in its count.
    Count,
    /// … a marker.
    Whole,
    /// … no marker.
    Nothing,
}

/// A piece of reasoning.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text, not empty.
    Text(Cow<'a, str>),
    /// A call is being prepared.
    Preparing { marker: String },
    /// What the response was, as JSON text if all is well.
    Metadata { marker: String },
}

impl Piece<'_> {
    /// What a metadata marker carries.
    pub fn metadata(marker: &str) -> &str {
        marker.trim_matches('\0').strip_prefix(METADATA).unwrap_or_default().trim_start_matches('\0')
    }
}

impl Markers {
    /// Takes the next piece off the front of `rest`. None once all of it is taken or held.
    pub fn next<'a>(&mut self, rest: &mut &'a str) -> Option<Piece<'a>> {
        loop {
            if self.held.is_empty() {
                let nul = memchr::memchr(0, rest.as_bytes());
                let (text, after) = rest.split_at_checked(nul.unwrap_or(rest.len())).unwrap_or((rest, ""));
                *rest = after;
                if !text.is_empty() {
                    return Some(Piece::Text(Cow::Borrowed(text)));
                }
                *rest = rest.strip_prefix('\0')?;
                self.held.push_str("\0");
                self.verdict = Verdict::Kind;
            }
            match self.verdict {
                Verdict::Whole => {
                    let marker = std::mem::take(&mut self.held);
                    let preparing = marker.get(1..).is_some_and(|marker| marker.starts_with(PREPARING));
                    return Some(if preparing { Piece::Preparing { marker } } else { Piece::Metadata { marker } });
                }
                Verdict::Nothing => {
                    // The NUL goes; what follows the next one may be a marker yet.
                    let end = memchr::memchr(0, &self.held.as_bytes()[1..]).map_or(self.held.len(), |end| end + 1);
                    let text = self.held.drain(..end).skip(1).collect::<String>();
                    self.verdict = judge(&self.held);
                    if !text.is_empty() {
                        return Some(Piece::Text(Cow::Owned(text)));
                    }
                }
                Verdict::Kind | Verdict::Open | Verdict::Count => {
                    let nul = memchr::memchr(0, rest.as_bytes());
                    let end = nul.map_or(rest.len(), |nul| nul + 1);
                    let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    if piece.is_empty() {
                        return None;
                    }
                    *rest = after;
                    self.held.push_str(piece);
                    // No byte is looked at again for every piece.
                    self.verdict = match self.verdict {
                        _ if self.held.len() > MARKER_BYTES => Verdict::Nothing,
                        verdict if nul.is_some() || verdict == Verdict::Kind => judge(&self.held),
                        Verdict::Count if !is_count(piece) => Verdict::Nothing,
                        verdict => verdict,
                    };
                }
            }
        }
    }

    /// No more comes: what is held, without its NULs.
    pub fn flush(&mut self) -> String {
        let mut held = std::mem::take(&mut self.held);
        held.retain(|c| c != '\0');
        held
    }
}

fn is_count(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a text from a NUL on is, as far as it goes.
fn judge(held: &str) -> Verdict {
    let mut fields = held.split('\0').skip(1);
    let kind = fields.next().unwrap_or_default();
    let (second, third, fourth) = (fields.next(), fields.next(), fields.next());
    match (kind, second, third) {
        (_, None, _) if PREPARING.starts_with(kind) || METADATA.starts_with(kind) => Verdict::Kind,
        (PREPARING | METADATA, Some(_), None) => Verdict::Open,
        (METADATA, ..) => Verdict::Whole,
        (PREPARING, ..) if parse_preparing_marker(held).is_some() => Verdict::Whole,
        (PREPARING, Some(name), Some(count)) if fourth.is_none() && !name.is_empty() && is_count(count) => {
            Verdict::Count
        }
        _ => Verdict::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of these texts: text as it is, `[marker]` with `|` for NUL.
    fn pieces(texts: &[&str]) -> String {
        let mut markers = Markers::default();
        let mut out = String::new();
        for text in texts {
            let mut rest = *text;
            while let Some(piece) = markers.next(&mut rest) {
                match piece {
                    Piece::Text(text) => out.push_str(&text),
                    Piece::Preparing { marker } | Piece::Metadata { marker } => {
                        out.push_str(&["[", &marker.replace('\0', "|"), "]"].concat());
                    }
                }
            }
        }
        out + &markers.flush()
    }

    /// However the text is cut into pieces, it comes to this.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(pieces(&[text]), expected);
        for (at, _) in text.char_indices() {
            let (start, end) = text.split_at(at);
            assert_eq!(pieces(&[start, end]), expected, "cut at {at}");
        }
        let chars: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(pieces(&chars.iter().map(|c| &**c).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn markers_come_out_as_markers_and_text_as_text() {
        check("plain", "plain");
        check("\0tool_preparing\0f\x0012\0", "[|tool_preparing|f|12|]");
        check("a\0tool_preparing\0f\x0012\0b", "a[|tool_preparing|f|12|]b");
        check("\0tool_preparing\0f\x001\0\0tool_preparing\0g\x002\0", "[|tool_preparing|f|1|][|tool_preparing|g|2|]");
        check("\0tool_preparing\0a b\né\u{1}\x000\0", "[|tool_preparing|a b\né\u{1}|0|]");
        check("\0response_metadata\0{\"a\":1}\0x", "[|response_metadata|{\"a\":1}|]x");
        check("\0tool_preparing\0response_metadata\x007\0", "[|tool_preparing|response_metadata|7|]");
    }

    #[test]
    fn what_is_no_marker_loses_its_nuls_and_nothing_else() {
        check("a\0b", "ab");
        check("\0\0\0", "");
        check("\0tool_preparing\0\x0012\0", "tool_preparing12");
        check("\0tool_preparing\0f\0-1\0", "tool_preparingf-1");
        check("\0tool_preparing\0f\x001.5\0z", "tool_preparingf1.5z");
        check("\0tool_preparing\0f\0\0", "tool_preparingf");
        check("\0tool_preparing\0f\x0012", "tool_preparingf12");
        check("\0tool_preparing", "tool_preparing");
        check("\0tool_preparing_x\0f\x001\0", "tool_preparing_xf1");
        check("\0Tool_preparing\0f\x001\0", "Tool_preparingf1");
        check("\0response_metadata\0{", "response_metadata{");
    }

    #[test]
    fn a_marker_inside_what_is_none_is_a_marker() {
        check("\0tool_preparing\0\0tool_preparing\0f\x001\0", "tool_preparing[|tool_preparing|f|1|]");
        check("\0\0tool_preparing\0f\x001\0", "[|tool_preparing|f|1|]");
        check("\0tool_preparing\0response_metadata\0{}\0", "tool_preparing[|response_metadata|{}|]");
        check("\0tool_preparing\0f\0x\0tool_preparing\0f\x001\0", "tool_preparingfx[|tool_preparing|f|1|]");
    }

    #[test]
    fn what_is_longer_than_the_cap_is_no_marker() {
        let name = "n".repeat(MARKER_BYTES);
        let marker = ["\0tool_preparing\0", &name, "\x001\0"].concat();
        assert_eq!(pieces(&[&marker]), ["tool_preparing", &name, "1"].concat());
        assert_eq!(pieces(&[&marker[..20], &marker[20..]]), ["tool_preparing", &name, "1"].concat());
        let name = "n".repeat(MARKER_BYTES - 19);
        assert_eq!(pieces(&[&["\0tool_preparing\0", &name, "\x001\0"].concat()]).matches('[').count(), 1);
    }
}
