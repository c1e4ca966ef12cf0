//! Writing JSON: rows, patches and panels as text, comma by comma. What goes in is our own; keys are written as
//! given, strings are escaped.

use super::record::Value;
use super::strings::find_special;

/// JSON text that is known to be valid.
///
/// ```
/// let raw = chatrows::json::Raw::written(|json| json.string("a\"b"));
/// assert_eq!(raw.as_str(), r#""a\"b""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(Box<str>);

impl Raw {
    /// What `write` wrote: exactly one value.
    pub fn written(write: impl FnOnce(&mut JsonWriter)) -> Raw {
        let mut writer = JsonWriter::default();
        write(&mut writer);
        Raw(writer.into_string().into_boxed_str())
    }

    /// A value as it stands in its record; `null` where there is none.
    pub(crate) fn of(value: Value<'_>) -> Raw {
        if value.exists() { Raw(value.raw().into()) } else { Raw::null() }
    }

    /// `null`: a value that was taken back.
    pub fn null() -> Raw {
        Raw("null".into())
    }

    /// What stands between the brackets of an array or object.
    pub(crate) fn inner(&self) -> &str {
        let text = self.as_str();
        text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes one JSON text.
///
/// ```
/// use chatrows::json::JsonWriter;
/// let mut json = JsonWriter::default();
/// json.object(|json| {
///     json.key("a").string("x\n");
///     json.key("b").number(3);
/// });
/// assert_eq!(json.into_string(), r#"{"a":"x\n","b":3}"#);
/// ```
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    comma: bool,
}

impl JsonWriter {
    /// Goes on writing at the end of `out`.
    pub fn onto(out: String) -> Self {
        JsonWriter { out, comma: false }
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.out
    }

    #[inline(never)]
    fn value(&mut self) -> &mut String {
        if std::mem::replace(&mut self.comma, true) {
            self.out.push_str(",");
        }
        &mut self.out
    }

    #[inline(never)]
    fn open(&mut self, bracket: &str) {
        self.value().push_str(bracket);
        self.comma = false;
    }

    #[inline(never)]
    fn close(&mut self, bracket: &str) {
        self.out.push_str(bracket);
        self.comma = true;
    }

    /// Writes an object; `write` writes its members.
    pub fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.open("{");
        write(self);
        self.close("}");
    }

    /// Writes an array; `write` writes its items.
    pub fn array(&mut self, write: impl FnOnce(&mut Self)) {
        self.open("[");
        write(self);
        self.close("]");
    }

    /// Writes a member's key; its value comes next.
    #[inline(never)]
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key);
        self.out.push_str(":");
        self.comma = false;
        self
    }

    /// Writes a string.
    #[inline(never)]
    pub fn string(&mut self, text: &str) {
        let out = self.value();
        out.push_str("\"");
        let mut rest = text;
        loop {
            let run = find_special(rest.as_bytes(), 0);
            out.push_str(rest.get(..run).unwrap_or_default());
            let Some(&byte) = rest.as_bytes().get(run) else { break };
            match byte {
                b'"' => out.push_str("\\\""),
                b'\\' => out.push_str("\\\\"),
                b'\n' => out.push_str("\\n"),
                b'\r' => out.push_str("\\r"),
                b'\t' => out.push_str("\\t"),
                control => {
                    let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                    let escape = [b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control)];
                    out.push_str(std::str::from_utf8(&escape).unwrap_or_default());
                }
            }
            rest = rest.get(run + 1..).unwrap_or_default();
        }
        out.push_str("\"");
    }

    /// Writes a whole number.
    #[inline(never)]
    pub fn number(&mut self, number: u64) {
        let out = self.value();
        let (mut digits, mut at, mut rest) = ([0u8; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.raw("null");
    }

    /// Writes text that is one valid JSON value already.
    #[inline(never)]
    pub fn raw(&mut self, json: &str) {
        self.value().push_str(json);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_character_survives() {
        let text: String = (0u8..0x80).map(char::from).chain("é😀\u{2028}".chars()).collect();
        let mut json = JsonWriter::default();
        json.string(&text);
        assert_eq!(serde_json::from_str::<String>(&json.into_string()).unwrap(), text);
    }

    #[test]
    fn numbers_are_written_whole() {
        for number in [0, 9, 10, 1_048_525, u64::MAX] {
            let mut json = JsonWriter::default();
            json.number(number);
            assert_eq!(json.into_string(), number.to_string());
        }
    }
}
