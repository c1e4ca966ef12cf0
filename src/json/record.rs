//! One record: a strict single pass over its text leaves a tape of value positions, and accessors answer questions
//! about it without failing: what is absent, null or of another type is simply not there. Duplicate keys: the last
//! one counts, as in JSON.parse. The tape is reused from record to record.

use super::strings::{JsonStr, string_end};

/// Positions of the values of one record. Reused: reading a record forgets the one before.
///
/// ```
/// use chatrows::json::Tape;
/// let mut tape = Tape::default();
/// let record = tape.read(r#"{"choices":[{"delta":{"content":"hi"}}],"usage":null}"#).unwrap();
/// let content = record.root().get("choices").at(0).get("delta").get("content");
/// assert_eq!(content.str().unwrap().text(), "hi");
/// assert!(record.root().get("usage").get("total_tokens").str().is_none());
/// ```
#[derive(Debug)]
pub struct Tape {
    nodes: Vec<Node>,
    open: Vec<u32>,
    max_nesting: usize,
    max_values: usize,
}

/// A value's place: where it starts and ends in the text, what it is, and the index of the node after it.
#[derive(Debug, Clone, Copy)]
struct Node {
    start: u32,
    end: u32,
    next: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    True,
    False,
    Number,
    Plain,
    Escaped,
    Array,
    Object,
}

/// Why a record could not be read, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadError {
    /// Byte offset in the text.
    pub at: usize,
    /// What is wrong.
    pub kind: ReadErrorKind,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// The text ended inside a value.
    Eof,
    /// The text is not JSON.
    Syntax,
    /// A value was whole and something else than spaces followed it.
    Trailing,
    /// Deeper than the nesting cap.
    Nesting,
    /// More values than the cap.
    Values,
}

impl ReadErrorKind {
    /// The reason of the fault that it makes.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            ReadErrorKind::Nesting => "nesting",
            ReadErrorKind::Values => "values",
            ReadErrorKind::Eof | ReadErrorKind::Syntax | ReadErrorKind::Trailing => "json",
        }
    }
}

impl Default for Tape {
    fn default() -> Self {
        Tape::with_caps(crate::limits::NESTING, crate::limits::RECORD_VALUES)
    }
}

impl Tape {
    /// A tape that refuses records nested deeper than `nesting` or holding more than `values` values.
    pub fn with_caps(nesting: usize, values: usize) -> Self {
        Tape { nodes: Vec::new(), open: Vec::new(), max_nesting: nesting, max_values: values }
    }

    /// Reads `text` as one value with nothing but spaces around it.
    ///
    /// # Errors
    /// Where the text is not what JSON.parse accepts, or passes a cap.
    pub fn read<'a>(&'a mut self, text: &'a str) -> Result<Record<'a>, ReadError> {
        let end = self.index(text, 0)?;
        let rest = skip_space(text.as_bytes(), end);
        if rest < text.len() {
            return Err(ReadError { at: rest, kind: ReadErrorKind::Trailing });
        }
        Ok(self.record(text))
    }

    /// The record that the last successful [`Tape::index`] of `text` read.
    pub(crate) fn record<'a>(&'a self, text: &'a str) -> Record<'a> {
        Record { text, nodes: &self.nodes }
    }

    /// Indexes the one value that starts at `from`; returns where it ends.
    pub(crate) fn index(&mut self, text: &str, from: usize) -> Result<usize, ReadError> {
        // One hostile record must not pin its tape for the life of the stream.
        const KEPT_NODES: usize = 1 << 14;
        if self.nodes.capacity() > KEPT_NODES {
            self.nodes = Vec::new();
        }
        self.nodes.clear();
        self.open.clear();
        let bytes = text.as_bytes();
        let fail = |at: usize, kind| Err(ReadError { at, kind });
        let broken = |at: usize| ReadError {
            at,
            kind: if at >= bytes.len() { ReadErrorKind::Eof } else { ReadErrorKind::Syntax },
        };
        let mut at = skip_space(bytes, from);
        loop {
            if self.nodes.len() >= self.max_values {
                return fail(at, ReadErrorKind::Values);
            }
            let start = at;
            match bytes.get(at) {
                Some(b'"') => at = self.string(bytes, at).map_err(broken)?,
                Some(&byte @ (b'{' | b'[')) => {
                    if self.open.len() >= self.max_nesting {
                        return fail(at, ReadErrorKind::Nesting);
                    }
                    let kind = if byte == b'{' { Kind::Object } else { Kind::Array };
                    self.open.push(self.nodes.len() as u32);
                    self.push(start, start, kind);
                    at = skip_space(bytes, at + 1);
                    match (kind, bytes.get(at)) {
                        (Kind::Object, Some(b'}')) | (Kind::Array, Some(b']')) => {
                            at += 1;
                            self.close(at);
                        }
                        (Kind::Object, _) => {
                            at = self.key(bytes, at).map_err(broken)?;
                            continue;
                        }
                        _ => continue,
                    }
                }
                Some(b't') => {
                    at = literal(bytes, at, b"true").map_err(broken)?;
                    self.push(start, at, Kind::True);
                }
                Some(b'f') => {
                    at = literal(bytes, at, b"false").map_err(broken)?;
                    self.push(start, at, Kind::False);
                }
                Some(b'n') => {
                    at = literal(bytes, at, b"null").map_err(broken)?;
                    self.push(start, at, Kind::Null);
                }
                Some(b'-' | b'0'..=b'9') => {
                    at = number(bytes, at).map_err(broken)?;
                    self.push(start, at, Kind::Number);
                }
                _ => return Err(broken(at)),
            }
            // A value ended: go on in its container, or leave it.
            loop {
                let Some(&container) = self.open.last() else {
                    return Ok(at);
                };
                let object = self.nodes[container as usize].kind == Kind::Object;
                at = skip_space(bytes, at);
                match bytes.get(at) {
                    Some(b',') => {
                        at = skip_space(bytes, at + 1);
                        if object {
                            at = self.key(bytes, at).map_err(broken)?;
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return Err(broken(at)),
                }
                at += 1;
                self.close(at);
            }
        }
    }

    fn push(&mut self, start: usize, end: usize, kind: Kind) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { start: start as u32, end: end as u32, next, kind });
    }

    fn close(&mut self, end: usize) {
        if let Some(container) = self.open.pop() {
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[container as usize];
            node.end = end as u32;
            node.next = next;
        }
    }

    /// Reads the string whose quote is at `at`; returns the index after its closing quote.
    fn string(&mut self, bytes: &[u8], at: usize) -> Result<usize, usize> {
        let (end, escaped) = string_end(bytes, at + 1)?;
        self.push(at + 1, end, if escaped { Kind::Escaped } else { Kind::Plain });
        Ok(end + 1)
    }

    /// Reads a key and its colon; returns where the member's value starts.
    fn key(&mut self, bytes: &[u8], at: usize) -> Result<usize, usize> {
        if bytes.get(at) != Some(&b'"') {
            return Err(at);
        }
        let at = skip_space(bytes, self.string(bytes, at)?);
        if bytes.get(at) != Some(&b':') {
            return Err(at);
        }
        Ok(skip_space(bytes, at + 1))
    }
}

pub(crate) fn skip_space(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Whether a number may end before this byte.
pub(super) fn ends_number(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, usize> {
    for (index, byte) in word.iter().enumerate() {
        if bytes.get(at + index) != Some(byte) {
            return Err(at + index);
        }
    }
    Ok(at + word.len())
}

fn number(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let digits = |mut at: usize| {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start { Err(at) } else { Ok(at) }
    };
    let mut at = from + usize::from(bytes[from] == b'-');
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        at = digits(at + usize::from(matches!(bytes.get(at), Some(b'+' | b'-'))))?;
    }
    if bytes.get(at).is_none_or(|byte| ends_number(*byte)) { Ok(at) } else { Err(at) }
}

/// A record that was read: its text and where its values stand.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    text: &'a str,
    nodes: &'a [Node],
}

impl Record<'_> {
    /// The record's value.
    pub fn root(&self) -> Value<'_> {
        Value { record: self, at: 0 }
    }
}

/// A value of a record, or the absence of one. Every question has an answer: what is not there answers nothing.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    // Two words, for values are handed around a lot.
    record: &'a Record<'a>,
    at: u32,
}

const ABSENT: u32 = u32::MAX;
const NOTHING: [Node; 2] = [Node { start: 0, end: 0, next: ABSENT, kind: Kind::Null }; 2];

impl Value<'static> {
    /// What is not there.
    pub(crate) const ABSENT: Value<'static> = Value { record: &Record { text: "", nodes: &NOTHING }, at: ABSENT };
}

/// The items of an array, or the members of an object two by two.
struct Children<'a> {
    parent: Value<'a>,
    next: u32,
    end: u32,
}

impl<'a> Children<'a> {
    #[inline(never)]
    fn next(&mut self) -> Option<Value<'a>> {
        let value = self.parent.child(self.next);
        let node = value.node().filter(|_| self.next < self.end)?;
        self.next = node.next;
        Some(value)
    }
}

impl<'a> Value<'a> {
    fn node(self) -> Option<&'a Node> {
        self.record.nodes.get(self.at as usize)
    }

    fn kind(self) -> Option<Kind> {
        self.node().map(|node| node.kind)
    }

    fn child(self, at: u32) -> Value<'a> {
        Value { at, ..self }
    }

    #[inline(never)]
    fn children(self, kind: Kind) -> Children<'a> {
        let end = self.node().filter(|node| node.kind == kind).map_or(0, |node| node.next);
        Children { parent: self, next: self.at.wrapping_add(1), end }
    }

    /// True unless the value is absent. A `null` exists.
    pub fn exists(self) -> bool {
        self.node().is_some()
    }

    /// True for `null` and for what is absent.
    pub fn is_null(self) -> bool {
        matches!(self.kind(), None | Some(Kind::Null))
    }

    /// True for an object.
    pub fn is_object(self) -> bool {
        self.kind() == Some(Kind::Object)
    }

    /// True for an array.
    pub fn is_array(self) -> bool {
        self.kind() == Some(Kind::Array)
    }

    /// The member called `key`, the last one where the key is repeated.
    #[inline(never)]
    pub fn get(self, key: &str) -> Value<'a> {
        let (mut found, nodes) = (ABSENT, self.record.nodes);
        let Children { mut next, end, .. } = self.children(Kind::Object);
        while next < end
            && let [name, value] =
                nodes.get(next as usize..).and_then(<[Node]>::first_chunk).copied().unwrap_or(NOTHING)
        {
            // Most keys differ in length already; a key with escapes is rare.
            let alike = match name.kind {
                Kind::Plain => (name.end - name.start) as usize == key.len() && self.child(next).raw_is(name, key),
                _ => self.child(next).str().is_some_and(|name| name == *key),
            };
            if alike {
                found = next + 1;
            }
            next = value.next;
        }
        self.child(found)
    }

    fn raw_is(self, node: Node, key: &str) -> bool {
        self.record.text.as_bytes().get(node.start as usize..node.end as usize) == Some(key.as_bytes())
    }

    /// The item at `index`.
    pub fn at(self, index: usize) -> Value<'a> {
        self.items().nth(index).unwrap_or(self.child(ABSENT))
    }

    /// The items of an array; of anything else, none.
    pub fn items(self) -> impl Iterator<Item = Value<'a>> {
        let mut items = self.children(Kind::Array);
        std::iter::from_fn(move || items.next())
    }

    /// The members of an object in their order, repeated keys included; of anything else, none.
    pub fn members(self) -> impl Iterator<Item = (JsonStr<'a>, Value<'a>)> {
        let mut members = self.children(Kind::Object);
        std::iter::from_fn(move || Some((members.next()?.str()?, members.next()?)))
    }

    /// The string, if it is one.
    #[inline(never)]
    pub fn str(self) -> Option<JsonStr<'a>> {
        let node = self.node()?;
        let escaped = match node.kind {
            Kind::Plain => false,
            Kind::Escaped => true,
            _ => return None,
        };
        Some(JsonStr::new(self.record.text.get(node.start as usize..node.end as usize)?, escaped))
    }

    /// The boolean, if it is one.
    pub fn bool(self) -> Option<bool> {
        match self.kind()? {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The number as it is written, if it is one.
    pub fn number(self) -> Option<&'a str> {
        (self.kind()? == Kind::Number).then(|| self.raw())
    }

    /// The number as a whole one from 0 to 2⁶⁴ − 1. `3.0` is one, `3.5`, `-1` and `"3"` are none.
    #[inline(never)]
    pub fn u64(self) -> Option<u64> {
        let mut digits = self.number()?.bytes();
        let mut value = 0u64;
        for digit in digits.by_ref() {
            match digit {
                b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?,
                b'.' => break,
                _ => return None,
            }
        }
        digits.all(|digit| digit == b'0').then_some(value)
    }

    /// The value's text as it stands in the record; empty for what is absent. A string keeps its quotes.
    #[inline(never)]
    pub fn raw(self) -> &'a str {
        let Some(node) = self.node() else { return "" };
        let quote = usize::from(matches!(node.kind, Kind::Plain | Kind::Escaped));
        self.record.text.get(node.start as usize - quote..node.end as usize + quote).unwrap_or_default()
    }

    /// Where the value's content stands in the record's text: for a string, what is between the quotes.
    pub(crate) fn span(self) -> Option<std::ops::Range<usize>> {
        self.node().map(|node| node.start as usize..node.end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(), (usize, ReadErrorKind)>) {
        let mut tape = Tape::default();
        let outcome = tape.read(text).map(drop).map_err(|error| (error.at, error.kind));
        assert_eq!(outcome, expected, "{text}");
    }

    #[test]
    fn every_prefix_of_a_record_is_unfinished_and_no_error() {
        let record = r#"{"a":[1,-2.5e+3,true,false,null,"x\u00e9\n"],"b":{"c":{}},"d":[]}"#;
        for end in 1..record.len() {
            let mut tape = Tape::default();
            let error = tape.read(&record[..end]).map(drop).unwrap_err();
            assert_eq!(error.kind, ReadErrorKind::Eof, "{}", &record[..end]);
        }
        check(record, Ok(()));
    }

    #[test]
    fn what_json_parse_refuses_is_refused_at_its_place() {
        use ReadErrorKind::*;
        for (text, at, kind) in [
            ("{\"a\":1,}", 7, Syntax),
            ("[1,]", 3, Syntax),
            ("{\"a\" 1}", 5, Syntax),
            ("{a:1}", 1, Syntax),
            ("[01]", 2, Syntax),
            ("[1.]", 3, Syntax),
            ("[+1]", 1, Syntax),
            ("[NaN]", 1, Syntax),
            ("\"a\nb\"", 2, Syntax),
            ("\"\\d\"", 1, Syntax),
            ("\"\\u12g4\"", 1, Syntax),
            ("{\"a\":1} x", 8, Trailing),
            ("{\"a\":1]", 6, Syntax),
            ("", 0, Eof),
        ] {
            check(text, Err((at, kind)));
        }
    }

    #[test]
    fn lone_surrogate_halves_are_accepted_as_json_parse_accepts_them() {
        check(r#""\ud83d""#, Ok(()));
    }

    #[test]
    fn the_last_of_repeated_keys_counts_and_escaped_keys_are_the_same_key() {
        let mut tape = Tape::default();
        let record = tape.read(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        let value = record.root();
        assert_eq!(value.get("a").u64(), Some(3));
    }

    #[test]
    fn nesting_and_values_beyond_their_caps_are_refused() {
        use ReadErrorKind::*;
        let mut tape = Tape::with_caps(4, 6);
        assert!(tape.read("[[[[]]]]").is_ok());
        assert_eq!(tape.read("[[[[[]]]]]").unwrap_err().kind, Nesting);
        assert!(tape.read("[1,2,3,4,5]").is_ok());
        assert_eq!(tape.read("[1,2,3,4,5,6]").unwrap_err().kind, Values);
    }

    #[test]
    fn wrong_types_answer_nothing() {
        let mut tape = Tape::default();
        let record = tape.read(r#"{"a":"x","n":1.5,"z":null}"#).unwrap();
        let value = record.root();
        assert!(value.get("a").get("b").at(3).get("c").str().is_none());
        assert!(value.get("n").u64().is_none() && value.get("n").str().is_none());
        assert!(value.get("z").exists() && value.get("z").is_null() && !value.get("y").exists());
        assert_eq!(value.get("a").items().count() + value.get("a").members().count(), 0);
        assert_eq!(value.get("a").raw(), "\"x\"");
    }
}
