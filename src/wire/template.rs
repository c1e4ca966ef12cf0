//! The shortcut of the hot path. Consecutive events of one response differ in one string, and perhaps in a padding
//! string and a usage object. A template is learned from an event that did exactly one append: the bytes around what
//! varies. An event that equals them is that append again, and only its string is looked at. On any doubt nothing is
//! consumed and the ordinary path takes the event, so a template can only be a shortcut, never another meaning.

use std::ops::Range;

use super::Target;
use crate::json::{JsonStr, find_special, string_end};

/// What may differ between two events of one template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The string that is appended; the range is what stands between its quotes.
    Text,
    /// A string that the format does not read.
    Padding,
    /// The usage object.
    Usage,
}

/// What a decoder says of a record that did one append and changed nothing else.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Where the string went.
    pub target: Target,
    /// The parts of the record that may differ, in the order of the record; `Text` among them once.
    pub slots: Vec<(Slot, Range<usize>)>,
    /// The decoder's routing at the time: a template is void once it changed.
    pub routing: u32,
}

#[derive(Debug)]
struct Template {
    target: Target,
    routing: u32,
    /// The fixed bytes: before the first slot, between the slots, after the last.
    fixed: Vec<u8>,
    /// Where each fixed part ends in `fixed`, and the slot after it.
    parts: Vec<(usize, Slot)>,
    /// Bytes of the event before and after its record.
    around: (usize, usize),
}

/// A match: what the event appends, and where it ends.
pub(crate) struct Match<'a> {
    pub target: Target,
    pub text: JsonStr<'a>,
    /// The usage object, if the template has one: JSON that is not read yet.
    pub usage: Option<&'a str>,
    /// Where the record stands in the event.
    pub record: Range<usize>,
    pub len: usize,
}

/// The templates of one stream.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    known: Vec<Template>,
    /// Events learned since one matched; learning gets rarer while it does not pay.
    unpaid: u32,
    pub matches: u64,
    off: bool,
}

const KEPT: usize = 4;
const LONGEST: usize = 4096;

impl Templates {
    /// No templates ever; for comparing both paths.
    pub fn off() -> Self {
        Templates { off: true, ..Templates::default() }
    }

    /// Tries to read the event at the start of `bytes`. `usage_end` says where the JSON object at the start of what
    /// it is given ends.
    pub fn find<'a>(
        &mut self,
        bytes: &'a [u8],
        routing: u32,
        mut usage_end: impl FnMut(&'a [u8]) -> Option<usize>,
    ) -> Option<Match<'a>> {
        for index in 0..self.known.len() {
            let template = &self.known[index];
            if template.routing == routing
                && let Some(found) = template.read(bytes, &mut usage_end)
            {
                self.known.swap(0, index);
                self.unpaid = 0;
                self.matches += 1;
                return Some(found);
            }
        }
        None
    }

    /// Learns from the event `event`, in which the record stands at `place`.
    pub fn learn(&mut self, event: &[u8], place: Range<usize>, shape: Shape) {
        if self.off || event.len() > LONGEST {
            return;
        }
        self.unpaid = self.unpaid.saturating_add(1);
        // After eight templates that none matched, one event in sixteen is still tried.
        if self.unpaid > 8 && !self.unpaid.is_multiple_of(16) {
            return;
        }
        let mut template = Template {
            target: shape.target,
            routing: shape.routing,
            fixed: Vec::with_capacity(event.len()),
            parts: Vec::with_capacity(shape.slots.len()),
            around: (place.start, event.len() - place.end),
        };
        let mut at = 0;
        for (slot, range) in shape.slots {
            template.fixed.extend_from_slice(&event[at..place.start + range.start]);
            template.parts.push((template.fixed.len(), slot));
            at = place.start + range.end;
        }
        template.fixed.extend_from_slice(&event[at..]);
        self.known.retain(|known| known.target != template.target && known.routing == template.routing);
        self.known.truncate(KEPT - 1);
        self.known.insert(0, template);
    }
}

impl Template {
    fn read<'a>(&self, bytes: &'a [u8], usage_end: &mut impl FnMut(&'a [u8]) -> Option<usize>) -> Option<Match<'a>> {
        let (mut at, mut fixed_at) = (0, 0);
        let (mut text, mut usage) = (None, None);
        for &(fixed_end, slot) in &self.parts {
            at = same(bytes, at, &self.fixed[fixed_at..fixed_end])?;
            fixed_at = fixed_end;
            match slot {
                Slot::Usage => {
                    let end = at + usage_end(&bytes[at..])?;
                    usage = Some(std::str::from_utf8(&bytes[at..end]).ok()?);
                    at = end;
                }
                Slot::Text | Slot::Padding => {
                    let start = at;
                    let mut escaped = false;
                    at = find_special(bytes, at);
                    if bytes.get(at) == Some(&b'\\') {
                        (at, escaped) = string_end(bytes, start).ok()?;
                    }
                    if bytes.get(at) != Some(&b'"') {
                        return None;
                    }
                    let string = std::str::from_utf8(&bytes[start..at]).ok()?;
                    if slot == Slot::Text {
                        text = Some(JsonStr::new(string, escaped));
                    }
                }
            }
        }
        let len = same(bytes, at, &self.fixed[fixed_at..])?;
        // An empty string appends nothing; the ordinary path knows what such an event is.
        let text = text.filter(|text: &JsonStr<'_>| !text.is_empty())?;
        let record = self.around.0..len - self.around.1;
        Some(Match { target: self.target, text, usage, record, len })
    }
}

/// Whether `fixed` stands at `at`: the index after it. Eight bytes at a time.
fn same(bytes: &[u8], at: usize, fixed: &[u8]) -> Option<usize> {
    let end = at + fixed.len();
    let there = bytes.get(at..end)?;
    let (words, rest) = there.as_chunks::<8>();
    let (fixed_words, fixed_rest) = fixed.as_chunks::<8>();
    let alike = words.iter().zip(fixed_words).all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b));
    (alike && rest.iter().zip(fixed_rest).all(|(a, b)| a == b)).then_some(end)
}
