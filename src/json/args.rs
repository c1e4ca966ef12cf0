//! Tool arguments while they stream: every delta is read once, and what it brings is kept as fields, one a leaf
//! value, each a path and a span of the input. Text is decoded only when it is shown. The verdict at the end is
//! strict: what JSON.parse accepts and nothing else.

use super::scan::{Container, Progress, Scanner, Strings, Tokens};
use super::strings::decode_preview;
use crate::limits::Limits;

/// One step of a path into the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The member whose key, escapes and all, stands at these bytes of the input.
    Key {
        /// First byte after the quote.
        start: u32,
        /// The closing quote.
        end: u32,
    },
    /// The item of an array.
    Index(u32),
}

/// How a field's span becomes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// The content of a string: escapes are decoded.
    String,
    /// A number, a literal or a container: shown as written.
    Raw,
    /// A parameter of a tagged call: text, shown as written.
    Text,
}

/// One leaf value of the arguments: where it belongs and which bytes of the input it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpan {
    /// From the top down.
    pub path: Box<[Step]>,
    /// How the span becomes text.
    pub kind: FieldKind,
    /// First byte of the value; for a string, after its quote.
    pub start: u32,
    /// End of what is certain: an escape or a surrogate pair that is cut is held back.
    pub shown_end: u32,
    /// The value ended.
    pub closed: bool,
}

impl FieldSpan {
    /// Appends the text of the bytes `from..shown_end` to `out`. `from` is `start`, or an earlier `shown_end`; nothing
    /// before `start` is taken, for a value of which nothing shows yet may start later than it seemed.
    pub fn decode_from(&self, input: &str, from: u32, out: &mut String) {
        let raw = input.get(from.max(self.start) as usize..self.shown_end as usize).unwrap_or_default();
        match self.kind {
            FieldKind::String => decode_preview(raw, out),
            FieldKind::Raw | FieldKind::Text => out.push_str(raw),
        }
    }

    /// The text so far.
    pub fn text(&self, input: &str) -> String {
        let mut out = String::new();
        self.decode_from(input, self.start, &mut out);
        out
    }

    fn is_under(&self, input: &str, path: &[Step]) -> bool {
        self.path.len() >= path.len()
            && path.iter().zip(&self.path[..]).all(|(a, b)| match (a, b) {
                (Step::Index(a), Step::Index(b)) => a == b,
                (Step::Key { start: a, end: a_end }, Step::Key { start: b, end: b_end }) => {
                    key_text(input, *a, *a_end) == key_text(input, *b, *b_end)
                }
                _ => false,
            })
    }
}

/// The decoded key that stands at these bytes of the input.
pub(crate) fn key_text(input: &str, start: u32, end: u32) -> String {
    let mut out = String::new();
    decode_preview(input.get(start as usize..end as usize).unwrap_or_default(), &mut out);
    out
}

/// Reads one call's arguments as they stream. It keeps no text: the caller keeps the input and the fields.
///
/// ```
/// use chatrows::{Limits, json::ArgsReader};
/// let (mut reader, mut input, mut fields) = (ArgsReader::new(&Limits::default()), String::new(), Vec::new());
/// for delta in [r#"{"path":"a"#, r#".txt","n":1"#] {
///     input.push_str(delta);
///     reader.advance(&input, &mut fields);
/// }
/// assert_eq!(fields[0].text(&input), "a.txt");
/// assert_eq!(fields.len(), 1); // a number shows only once it ended
/// assert!(!reader.finish(&input, &mut fields)); // never closed: not to be executed
/// ```
#[derive(Debug, Clone)]
pub struct ArgsReader {
    scanner: Scanner,
    preview: Preview,
}

#[derive(Debug, Clone)]
struct Preview {
    frames: Vec<Frame>,
    /// Inside a value that shows as one field when it closes, or not at all: how deep, and where it started.
    opaque: Option<Opaque>,
    /// The string that is open is the last field.
    growing: bool,
    /// The preview lacks values.
    truncated: bool,
    /// Fields were taken back, so their indices changed.
    rewritten: bool,
    /// Work spent on taking fields back; never more than the bytes read, so that it stays linear.
    spent: usize,
    /// Bytes of the paths of all fields: long keys stand in the path of every value below them.
    path_bytes: usize,
    off: bool,
    max_depth: usize,
    max_fields: usize,
    max_key: usize,
}

#[derive(Debug, Clone)]
struct Opaque {
    depth: u32,
    start: usize,
    shown: bool,
}

#[derive(Debug, Clone)]
struct Frame {
    container: Container,
    start: usize,
    /// Object: the key of the member being read. Array: the index of the item being read.
    step: Step,
    /// Values begun.
    count: u32,
    /// The member's key is longer than the cap.
    muted: bool,
    /// Hashes of the keys so far, sorted.
    keys: Vec<u64>,
}

struct Sink<'a> {
    input: &'a str,
    preview: &'a mut Preview,
    fields: &'a mut Vec<FieldSpan>,
}

impl ArgsReader {
    /// A reader at the start of one call's arguments.
    pub fn new(limits: &Limits) -> Self {
        ArgsReader {
            scanner: Scanner::new(Strings::Lenient, limits.nesting),
            preview: Preview {
                frames: Vec::new(),
                opaque: None,
                growing: false,
                truncated: false,
                rewritten: false,
                spent: 0,
                path_bytes: 0,
                off: false,
                max_depth: limits.preview_depth,
                max_fields: limits.preview_fields,
                max_key: limits.preview_key_bytes,
            },
        }
    }

    /// Reads what `input` has beyond what was read before; new values are added to `fields`, the last one grows.
    pub fn advance(&mut self, input: &str, fields: &mut Vec<FieldSpan>) {
        let ArgsReader { scanner, preview } = self;
        let rest = input.as_bytes().get(scanner.position()..).unwrap_or_default();
        if let Progress::Done(end) = scanner.advance(rest, &mut Sink { input, preview, fields }) {
            // Whatever follows the value is none of its text; `finish` judges it.
            debug_assert!(end <= input.len());
        }
    }

    /// The wire says that the arguments ended. True if they are whole and JSON.parse would accept them; no input at
    /// all counts as `{}`.
    pub fn finish(&mut self, input: &str, fields: &mut Vec<FieldSpan>) -> bool {
        let ArgsReader { scanner, preview } = self;
        if input.is_empty() {
            return true;
        }
        scanner.finish(&mut Sink { input, preview, fields }) && {
            let rest = input.get(scanner.position()..).unwrap_or_default();
            rest.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
        }
    }

    /// True when the nesting cap ended the reading.
    pub fn nested_too_deep(&self) -> bool {
        self.scanner.nested_too_deep()
    }

    /// True when there were more values than the preview keeps.
    pub fn preview_truncated(&self) -> bool {
        self.preview.truncated
    }

    /// Whether fields were taken back since this was last asked (a repeated key replaces what stood under it).
    pub fn take_rewritten(&mut self) -> bool {
        std::mem::take(&mut self.preview.rewritten)
    }
}

impl Sink<'_> {
    /// A value begins: counts it in its container. False where it is not to be shown.
    fn begin(&mut self) -> bool {
        if self.preview.off || self.preview.opaque.is_some() {
            return false;
        }
        let Some(frame) = self.preview.frames.last_mut() else { return true };
        if frame.container == Container::Array {
            frame.step = Step::Index(frame.count);
        }
        frame.count += 1;
        !frame.muted
    }

    fn field(&mut self, kind: FieldKind, start: usize, end: usize, closed: bool) -> bool {
        let key = |frame: &Frame| match frame.step {
            Step::Key { start, end } => (end - start) as usize,
            Step::Index(_) => 1,
        };
        self.preview.path_bytes += self.preview.frames.iter().map(key).sum::<usize>();
        let paths_too_long = self.preview.path_bytes > self.input.len() * PATH_SHARE + PREVIEW_CREDIT;
        if self.fields.len() >= self.preview.max_fields || paths_too_long {
            self.preview.truncated = true;
            return false;
        }
        let path = self.preview.frames.iter().map(|frame| frame.step).collect();
        self.fields.push(FieldSpan { path, kind, start: start as u32, shown_end: end as u32, closed });
        true
    }

    /// Takes back the fields under the path of the member that begins, if its key stood in this object before.
    fn replace_repeated_key(&mut self, start: usize, end: usize) {
        let hash = fnv(&key_text(self.input, start as u32, end as u32));
        let Some(frame) = self.preview.frames.last_mut() else { return };
        let Err(place) = frame.keys.binary_search(&hash) else {
            return self.take_back();
        };
        if self.fields.len() < self.preview.max_fields {
            frame.keys.insert(place, hash);
        }
    }

    fn take_back(&mut self) {
        let path: Vec<Step> = self.preview.frames.iter().map(|frame| frame.step).collect();
        let input = self.input;
        let before = self.fields.len();
        self.fields.retain(|field| !field.is_under(input, &path));
        self.preview.spent += before;
        if self.fields.len() == before {
            return;
        }
        self.preview.rewritten = true;
        self.preview.spent += self.fields.iter().map(|field| (field.shown_end - field.start) as usize).sum::<usize>();
        if self.preview.spent > input.len() + PREVIEW_CREDIT {
            self.fields.clear();
            self.preview.truncated = true;
            self.preview.off = true;
        }
    }
}

/// How many times the input all paths together may be as long.
const PATH_SHARE: usize = 4;
/// Work that taking fields back may cost before the length of the input bounds it.
const PREVIEW_CREDIT: usize = 4096;

impl Tokens for Sink<'_> {
    fn open(&mut self, container: Container, at: usize) {
        if let Some(opaque) = &mut self.preview.opaque {
            opaque.depth += 1;
            return;
        }
        let shown = self.begin();
        if self.preview.off {
            return;
        }
        if !shown || self.preview.frames.len() >= self.preview.max_depth {
            self.preview.truncated |= !shown;
            self.preview.opaque = Some(Opaque { depth: 1, start: at, shown });
            return;
        }
        let step = Step::Index(0);
        self.preview.frames.push(Frame { container, start: at, step, count: 0, muted: false, keys: Vec::new() });
    }

    fn close(&mut self, end: usize) {
        if self.preview.off {
            return;
        }
        if let Some(opaque) = &mut self.preview.opaque {
            opaque.depth -= 1;
            if opaque.depth == 0 {
                let (start, shown) = (opaque.start, opaque.shown);
                self.preview.opaque = None;
                if shown {
                    self.field(FieldKind::Raw, start, end, true);
                }
            }
            return;
        }
        if let Some(frame) = self.preview.frames.pop()
            && frame.count == 0
            && !self.preview.frames.is_empty()
        {
            self.field(FieldKind::Raw, frame.start, end, true);
        }
    }

    fn key(&mut self, start: usize, end: usize) {
        if self.preview.off || self.preview.opaque.is_some() {
            return;
        }
        let muted = end - start > self.preview.max_key;
        if let Some(frame) = self.preview.frames.last_mut() {
            frame.muted = muted;
            frame.step = Step::Key { start: start as u32, end: end as u32 };
        }
        if !muted {
            self.replace_repeated_key(start, end);
        }
    }

    fn string(&mut self, start: usize) {
        let shown = self.begin();
        self.preview.truncated |= !shown && self.preview.opaque.is_none();
        self.preview.growing = shown && self.field(FieldKind::String, start, start, false);
    }

    fn string_grew(&mut self, end: usize) {
        if self.preview.growing
            && let Some(field) = self.fields.last_mut()
        {
            field.shown_end = end as u32;
        }
    }

    fn string_end(&mut self, end: usize) {
        self.string_grew(end);
        if std::mem::take(&mut self.preview.growing)
            && let Some(field) = self.fields.last_mut()
        {
            field.closed = true;
        }
    }

    fn scalar(&mut self, start: usize, end: usize) {
        if self.begin() {
            self.field(FieldKind::Raw, start, end, true);
        } else {
            self.preview.truncated |= self.preview.opaque.is_none();
        }
    }
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields as `path=text`, an open one with a trailing `…`.
    fn show(input: &str, fields: &[FieldSpan]) -> String {
        let line = |field: &FieldSpan| {
            let path: Vec<String> = field
                .path
                .iter()
                .map(|step| match *step {
                    Step::Key { start, end } => key_text(input, start, end),
                    Step::Index(index) => index.to_string(),
                })
                .collect();
            format!("{}={}{}", path.join("."), field.text(input), if field.closed { "" } else { "…" })
        };
        fields.iter().map(line).collect::<Vec<_>>().join(" ")
    }

    fn read(deltas: &[&str]) -> (String, bool) {
        let limits =
            Limits { preview_depth: 3, preview_fields: 6, preview_key_bytes: 10, nesting: 6, ..Limits::default() };
        let (mut reader, mut input, mut fields) = (ArgsReader::new(&limits), String::new(), Vec::new());
        for delta in deltas {
            input.push_str(delta);
            reader.advance(&input, &mut fields);
        }
        let shown = show(&input, &fields);
        let mut reader = reader.clone();
        let well_formed = reader.finish(&input, &mut fields);
        (shown, well_formed)
    }

    /// What shows after `input`, whole and one character at a time; then whether it may be executed if it ends here.
    fn check(input: &str, shown: &str, well_formed: bool) {
        assert_eq!(read(&[input]), (shown.to_owned(), well_formed), "{input}");
        let pieces: Vec<&str> = input.char_indices().map(|(at, c)| &input[at..at + c.len_utf8()]).collect();
        assert_eq!(read(&pieces), (shown.to_owned(), well_formed), "{input}, one by one");
    }

    #[test]
    fn a_trailing_space_in_an_open_string_shows() {
        check(r#"{"a":"x "#, "a=x …", false);
    }

    #[test]
    fn a_trailing_backslash_is_held() {
        check(r#"{"a":"x\"#, "a=x…", false);
    }

    #[test]
    fn an_unfinished_unicode_escape_is_held() {
        check(r#"{"a":"x\u00"#, "a=x…", false);
        check(r#"{"a":"x\u00e9"#, "a=xé…", false);
    }

    #[test]
    fn a_high_surrogate_is_held_until_its_pair_is_whole_or_the_string_ends() {
        check(r#"{"a":"x\ud83d"#, "a=x…", false);
        check(r#"{"a":"x\ud83d\ude"#, "a=x…", false);
        check(r#"{"a":"x\ud83d\ude00"#, "a=x😀…", false);
        check(r#"{"a":"x\ud83d"}"#, "a=x\u{fffd}", true);
        check(r#"{"a":"x\ud83dy"#, "a=x\u{fffd}y…", false);
        check(r#"{"a":"\ud83d\ud83d"#, "a=\u{fffd}…", false);
    }

    #[test]
    fn a_literal_shows_only_when_it_ended() {
        check(r#"{"a":tr"#, "", false);
        check(r#"{"a":true"#, "a=true", false);
        check(r#"{"a":true}"#, "a=true", true);
        check(r#"{"a":nul}"#, "", false);
    }

    #[test]
    fn a_number_shows_only_when_it_ended() {
        for unfinished in [r#"{"a":1."#, r#"{"a":-"#, r#"{"a":1e"#, r#"{"a":1"#] {
            check(unfinished, "", false);
        }
        check(r#"{"a":10,"#, "a=10", false);
        check(r#"{"a":-1.5e3}"#, "a=-1.5e3", true);
    }

    #[test]
    fn an_unfinished_key_shows_nothing() {
        check(r#"{"a":1,"b"#, "a=1", false);
        check(r#"{"a":1,"b":"#, "a=1", false);
    }

    #[test]
    fn a_raw_newline_in_a_string_is_kept_and_flagged_at_the_end() {
        check("{\"a\":\"x\ny\"}", "a=x\ny", false);
    }

    #[test]
    fn an_escape_that_is_none_shows_as_written_and_is_flagged_at_the_end() {
        check(r#"{"a":"C:\d"}"#, r"a=C:\d", false);
        check(r#"{"a":"C:\d"#, r"a=C:\d…", false);
    }

    #[test]
    fn proto_is_a_key_like_any_other() {
        check(r#"{"__proto__":{"x":1}}"#, "__proto__.x=1", true);
    }

    #[test]
    fn trailing_text_is_flagged_and_the_fields_show() {
        check(r#"{"a":1} junk"#, "a=1", false);
        check("{\"a\":1} \n", "a=1", true);
    }

    #[test]
    fn a_lone_minus_changes_nothing() {
        check(r#"{"a":"x","b":-"#, "a=x", false);
        check("-", "", false);
    }

    #[test]
    fn no_input_is_no_arguments() {
        check("", "", true);
        check("  ", "", false);
    }

    #[test]
    fn a_prefix_that_parses_is_not_final() {
        assert_eq!(read(&["1"]), (String::new(), true));
        assert_eq!(read(&["1", "0"]), (String::new(), true));
        assert!(!read(&["{\"a\":1}", "   ", "{"]).1);
    }

    #[test]
    fn arrays_give_indices_and_empty_containers_are_fields() {
        check(r#"{"a":["x",{"b":2},[]],"c":{}}"#, "a.0=x a.1.b=2 a.2=[] c={}", true);
    }

    #[test]
    fn what_is_deeper_than_the_preview_comes_whole_when_it_closes() {
        check(r#"{"a":{"b":{"c":[1,{"d":2}"#, "", false);
        check(r#"{"a":{"b":{"c":[1,{"d":2}],"e":"x"#, r#"a.b.c=[1,{"d":2}] a.b.e=x…"#, false);
    }

    #[test]
    fn deeper_than_the_nesting_cap_is_not_executable() {
        check(r#"{"a":[[[[[]]]]]}"#, "a.0.0=[[[]]]", true);
        check(r#"{"a":[[[[[[]]]]]]}"#, "", false);
    }

    #[test]
    fn a_repeated_key_replaces_everything_below_it() {
        check(r#"{"a":{"x":1,"y":2},"b":3,"\u0061":4}"#, "b=3 a=4", true);
        check(r#"{"a":1,"a":{"a":2}}"#, "a.a=2", true);
        check(r#"{"a":"old","a":"#, "", false);
    }

    #[test]
    fn more_fields_than_the_cap_are_not_shown_and_the_arguments_stay_executable() {
        check("[1,2,3,4,5,6,7,8]", "0=1 1=2 2=3 3=4 4=5 5=6", true);
    }

    #[test]
    fn the_value_under_a_very_long_key_does_not_show() {
        check(r#"{"12345678901":{"a":1},"b":2}"#, "b=2", true);
    }

    #[test]
    fn repeated_keys_cannot_cost_more_than_the_input() {
        let mut input = format!("{{\"big\":\"{}\"", "x".repeat(10_000));
        for _ in 0..1000 {
            input.push_str(",\"a\":1");
        }
        input.push('}');
        let (mut reader, mut fields) = (ArgsReader::new(&Limits::default()), Vec::new());
        reader.advance(&input, &mut fields);
        assert!(reader.preview_truncated() && reader.preview.spent < 2 * input.len() + 2 * PREVIEW_CREDIT);
        assert!(reader.finish(&input, &mut fields));
    }

    proptest! {
        #[test]
        fn the_verdict_is_that_of_a_strict_parser_and_cuts_change_nothing(
            input in r#"([\[\]{},:]|"[ab\\u"n0d8é]{0,6}"|"\\ud83d\\ude00"|-?[0-9.eE+]{1,3}|true|null|[ \n]|"a":){0,12}"#,
            cut in 1usize..7,
        ) {
            let run = |cut: usize| {
                let (mut reader, mut text, mut fields) = (ArgsReader::new(&Limits::default()), String::new(), Vec::new());
                for chars in input.chars().collect::<Vec<_>>().chunks(cut) {
                    text.extend(chars);
                    reader.advance(&text, &mut fields);
                }
                let ok = reader.finish(&text, &mut fields);
                (show(&text, &fields), ok)
            };
            let got = run(cut);
            prop_assert_eq!(&got, &run(usize::MAX / 2));
            let strict = input.is_empty() || super::super::Tape::default().read(&input).is_ok();
            prop_assert_eq!(got.1, strict);
        }
    }
}
