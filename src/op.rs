//! What changes: the third of the three vocabularies. The presenter writes ops into a [`RowSink`]; applying all of
//! them to an empty list gives exactly the rows and panels it holds. [`OpBuffer`] is the sink that crosses into
//! JavaScript: numbers and one string.

use crate::json::{JsonWriter, Raw};
use crate::row::{Changed, FieldNews, PanelName, Row, RowId, Word, write_values};

/// One change of what is on screen.
#[derive(Debug, Clone, Copy)]
pub enum RowOp<'a> {
    /// A row appears, before another or at the end.
    Insert {
        /// The row after it.
        before: Option<RowId>,
        /// All of it.
        row: &'a Row,
    },
    /// A text grows, or its tail is replaced.
    Append {
        /// The row.
        id: RowId,
        /// Which of its texts.
        field: AppendField,
        /// UTF-16 units of the text that stay; none: all of them.
        keep: Option<u32>,
        /// What follows.
        text: &'a str,
    },
    /// Properties change.
    Update {
        /// The row.
        id: RowId,
        /// To what.
        patch: Patch<'a>,
    },
    /// The row goes.
    Remove {
        /// The row.
        id: RowId,
    },
    /// Values of a panel change.
    Panel {
        /// Which panel.
        name: PanelName,
        /// Its values that are new.
        values: &'a [(Word, Raw)],
    },
    /// Everything goes: rows and panels.
    Reset,
}

/// Which text of a row grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendField {
    /// `text`
    Text,
    /// `tool.input`
    Input,
    /// `tool.output`
    Output,
    /// `tool.fields[i].text`
    Field(u32),
}

/// The changed properties of a row, as an object: what is absent stays, `null` clears. `tool` is merged one level
/// deep and in it `fields` by index.
#[derive(Debug, Clone, Copy)]
pub struct Patch<'a> {
    /// The row after the change.
    pub row: &'a Row,
    /// Which of its properties changed.
    pub changed: Changed,
    /// Which of its fields.
    pub fields: FieldNews,
    /// The fields are all taken back; the new ones come in a patch of their own.
    pub clear_fields: bool,
}

impl Patch<'_> {
    /// Writes the patch as JSON.
    pub fn write_json(&self, json: &mut JsonWriter) {
        json.object(|json| {
            if self.clear_fields {
                json.key("tool").object(|json| json.key("fields").null());
            } else {
                self.row.write_properties(json, self.changed, Some(self.fields));
            }
        });
    }
}

/// Takes ops in their order. A closure is one.
///
/// ```
/// use chatrows::{ChatRows, Format, Options, RowOp};
/// let mut chat = ChatRows::new(Options::default());
/// let stream = chat.stream(Format::OpenAiChat);
/// chat.push_message(stream, r#"{"choices":[{"delta":{"content":"Hel"}}]}"#);
/// chat.drain(&mut |_: RowOp<'_>| {});
/// chat.push_message(stream, r#"{"choices":[{"delta":{"content":"lo"}}]}"#);
/// let mut appended = String::new();
/// chat.drain(&mut |op: RowOp<'_>| {
///     if let RowOp::Append { text, .. } = op {
///         appended.push_str(text);
///     }
/// });
/// assert_eq!(appended, "lo");
/// ```
pub trait RowSink {
    /// Takes one op.
    fn op(&mut self, op: RowOp<'_>);
}

impl<F: FnMut(RowOp<'_>)> RowSink for F {
    fn op(&mut self, op: RowOp<'_>) {
        self(op);
    }
}

impl RowOp<'_> {
    /// Writes the op as JSON: an object with the properties of the TypeScript type `RowOp`.
    pub fn write_json(&self, json: &mut JsonWriter) {
        let id = |json: &mut JsonWriter, op: &str, id: RowId| {
            json.key("op").string(op);
            json.key("id").number(u64::from(id.get()));
        };
        json.object(|json| match *self {
            RowOp::Insert { before, row } => {
                id(json, "insert", row.id);
                match before {
                    Some(before) => json.key("before").number(u64::from(before.get())),
                    None => json.key("before").null(),
                }
                row.write_json(json.key("row"));
            }
            RowOp::Append { id: row, field, keep, text } => {
                id(json, "append", row);
                let key = json.key("field");
                match field {
                    AppendField::Text => key.string("text"),
                    AppendField::Input => key.string("tool.input"),
                    AppendField::Output => key.string("tool.output"),
                    AppendField::Field(index) => key.string(&format!("tool.fields[{index}].text")),
                }
                if let Some(keep) = keep {
                    json.key("keep").number(u64::from(keep));
                }
                json.key("text").string(text);
            }
            RowOp::Update { id: row, patch } => {
                id(json, "update", row);
                patch.write_json(json.key("patch"));
            }
            RowOp::Remove { id: row } => id(json, "remove", row),
            RowOp::Panel { name, values } => {
                json.key("op").string("panel");
                json.key("name").string(name.name());
                write_values(values, json.key("patch"));
            }
            RowOp::Reset => json.key("op").string("reset"),
        });
    }
}

/// Ops as numbers and one string, the form in which a batch crosses into JavaScript. The string is consumed by a
/// running offset of UTF-16 units; rows, patches and panels stand in it as JSON.
///
/// | op | words |
/// |---|---|
/// | reset | `0` |
/// | insert | `1, id, before or 0, len` |
/// | append | `2, id, field, keep or 0xFFFF_FFFF, len`; field: 0 text, 1 tool.input, 2 tool.output, 3 + i tool.fields\[i\].text |
/// | update | `3, id, len` |
/// | remove | `4, id` |
/// | panel | `5, panel, len`; panel: index in [`PanelName::ALL`] |
///
/// ```
/// use chatrows::{ChatRows, OpBuffer, Options};
/// let mut chat = ChatRows::new(Options::default());
/// chat.add_user("hi");
/// let mut buffer = OpBuffer::default();
/// chat.drain(&mut buffer);
/// assert_eq!(buffer.words[..3], [1, 1, 0]); // insert row 1 at the end
/// ```
#[derive(Debug, Default)]
pub struct OpBuffer {
    /// The numbers.
    pub words: Vec<u32>,
    /// The string.
    pub text: String,
}

impl OpBuffer {
    /// True when no op came.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn push_text(&mut self, text: &str) {
        self.words.push(utf16_len(text));
        self.text.push_str(text);
    }

    fn push_json(&mut self, write: impl FnOnce(&mut JsonWriter)) {
        let start = self.text.len();
        let mut json = JsonWriter::onto(std::mem::take(&mut self.text));
        write(&mut json);
        self.text = json.into_string();
        self.words.push(utf16_len(self.text.get(start..).unwrap_or_default()));
    }
}

impl RowSink for OpBuffer {
    fn op(&mut self, op: RowOp<'_>) {
        match op {
            RowOp::Reset => self.words.push(0),
            RowOp::Insert { before, row } => {
                self.words.extend([1, row.id.get(), before.map_or(0, RowId::get)]);
                self.push_json(|json| row.write_json(json));
            }
            RowOp::Append { id, field, keep, text } => {
                let field = match field {
                    AppendField::Text => 0,
                    AppendField::Input => 1,
                    AppendField::Output => 2,
                    AppendField::Field(index) => 3 + index,
                };
                self.words.extend([2, id.get(), field, keep.unwrap_or(u32::MAX)]);
                self.push_text(text);
            }
            RowOp::Update { id, patch } => {
                self.words.extend([3, id.get()]);
                self.push_json(|json| patch.write_json(json));
            }
            RowOp::Remove { id } => self.words.extend([4, id.get()]),
            RowOp::Panel { name, values } => {
                self.words.extend([5, name as u32]);
                self.push_json(|json| write_values(values, json));
            }
        }
    }
}

/// Length in UTF-16 units, the units in which JavaScript counts.
pub(crate) fn utf16_len(text: &str) -> u32 {
    // Every scalar is one lead byte, and those of four bytes take two units. Eight bytes at a time.
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut len = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let leads = (!(word >> 7) | word >> 6) & ONES;
        let fours = word >> 7 & word >> 6 & word >> 5 & word >> 4 & ONES;
        len += leads.count_ones() + fours.count_ones();
    }
    len + rest.iter().map(|byte| u32::from(byte & 0xC0 != 0x80) + u32::from(*byte >= 0xF0)).sum::<u32>()
}

#[cfg(test)]
mod tests {
    use super::utf16_len;

    #[test]
    fn lengths_count_as_javascript_counts() {
        for text in
            ["", "a", "abcdefgh", "naïve — 😀", "é😀é😀é😀é😀é😀é😀x", "\u{ffff}\u{10000}", "漢字かな交じり文のテスト"]
        {
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                assert_eq!(utf16_len(&text[..end]) as usize, text[..end].encode_utf16().count(), "{text}");
            }
        }
    }
}
