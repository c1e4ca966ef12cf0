//! The JSON grammar as resumable state: bytes go in cut anywhere, each is visited once, and a [`Tokens`] sink hears
//! what they are. Owns nothing but that state. Used twice: for tool arguments as they stream ([`super::ArgsReader`])
//! and to find where a bare JSON value ends that was cut between network pieces (`wire::values`).

use super::record::ends_number;
use super::strings::find_special;

/// What kind of container opened or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `{`
    Object,
    /// `[`
    Array,
}

/// Hears what the scanner sees. Positions are byte offsets in everything pushed since the scanner was new.
pub trait Tokens {
    /// A container opened at `at`.
    fn open(&mut self, _container: Container, _at: usize) {}
    /// The innermost container closed; `end` is after its bracket.
    fn close(&mut self, _end: usize) {}
    /// A key ended; `start..end` is what stands between its quotes.
    fn key(&mut self, _start: usize, _end: usize) {}
    /// A string value started; its content begins at `start`.
    fn string(&mut self, _start: usize) {}
    /// The content of the string value up to `end` is certain: no escape or surrogate pair is cut there.
    fn string_grew(&mut self, _end: usize) {}
    /// The string value ended; `end` is its closing quote.
    fn string_end(&mut self, _end: usize) {}
    /// A number or literal ended.
    fn scalar(&mut self, _start: usize, _end: usize) {}
}

impl Tokens for () {}

/// How bytes inside strings are judged that JSON does not allow there (control bytes, unknown escapes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strings {
    /// They end the value as broken.
    Strict,
    /// They are kept, and the whole is malformed.
    Lenient,
}

/// Where a value stands after the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The value goes on.
    Open,
    /// The value ended at this offset; the scanner read no further.
    Done(usize),
    /// The byte at this offset breaks the grammar or the nesting cap; the scanner reads no more.
    Broken(usize),
}

/// The resumable grammar of one JSON value.
///
/// ```
/// use chatrows::json::{Progress, Scanner, Strings};
/// let mut scanner = Scanner::new(Strings::Strict, 256);
/// assert_eq!(scanner.advance(br#"{"a":[1,"#, &mut ()), Progress::Open);
/// assert_eq!(scanner.advance(br#"2]} {"b":3}"#, &mut ()), Progress::Done(11));
/// ```
#[derive(Debug, Clone)]
pub struct Scanner {
    state: State,
    escape: Escape,
    open: Vec<Container>,
    start: usize,
    position: usize,
    strings: Strings,
    max_nesting: usize,
    malformed: bool,
    nested_too_deep: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    After,
    InKey,
    InString,
    Number(Number),
    Literal(&'static [u8]),
    Done,
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Whole,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// What of an escape has been seen: how many digits of `\u`, their value, and whether a first half waits before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// A whole first half `\ud83d` stands before; the next byte decides.
    Half,
    Slash {
        half: bool,
    },
    Digits {
        half: bool,
        seen: u8,
        unit: u16,
    },
}

impl Scanner {
    /// A scanner at the start of a value.
    pub fn new(strings: Strings, max_nesting: usize) -> Self {
        Scanner {
            state: State::Value,
            escape: Escape::None,
            open: Vec::new(),
            start: 0,
            position: 0,
            strings,
            max_nesting,
            malformed: false,
            nested_too_deep: false,
        }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// True when the nesting cap broke the value.
    pub fn nested_too_deep(&self) -> bool {
        self.nested_too_deep
    }

    /// The input ends here: a number at the top level ends with it. True if the value is whole and well-formed.
    pub fn finish(&mut self, sink: &mut dyn Tokens) -> bool {
        if let (State::Number(number), true) = (self.state, self.open.is_empty())
            && number.may_end()
        {
            self.state = State::Done;
            sink.scalar(self.start, self.position);
        }
        self.state == State::Done && !self.malformed
    }

    /// Reads `bytes`, which follow what was read before, up to the end of the value.
    pub fn advance(&mut self, bytes: &[u8], sink: &mut dyn Tokens) -> Progress {
        let base = self.position;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::InString | State::InKey => {
                    at = self.string(bytes, at, base, sink);
                    if self.state == State::Broken {
                        break;
                    }
                    continue;
                }
                State::Number(number) => match number.next(byte) {
                    Some(next) => self.state = State::Number(next),
                    None if number.may_end() && ends_number(byte) => {
                        self.scalar(base + at, sink);
                        if self.state == State::Done {
                            break;
                        }
                        continue;
                    }
                    None => self.state = State::Broken,
                },
                State::Literal(rest) => match rest {
                    [first, rest @ ..] if *first == byte => {
                        self.state = State::Literal(rest);
                        if rest.is_empty() {
                            self.scalar(base + at + 1, sink);
                        }
                    }
                    _ => self.state = State::Broken,
                },
                State::Done | State::Broken => break,
                _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => {}
                state => self.structure(state, byte, base + at, sink),
            }
            if self.state == State::Broken {
                break;
            }
            at += 1;
            if self.state == State::Done {
                break;
            }
        }
        self.position = base + at;
        match self.state {
            State::Done => Progress::Done(self.position),
            State::Broken => Progress::Broken(self.position),
            _ => Progress::Open,
        }
    }

    fn structure(&mut self, state: State, byte: u8, at: usize, sink: &mut dyn Tokens) {
        self.state = match (state, byte) {
            (State::Value | State::FirstItem, b'{' | b'[') => {
                if self.open.len() >= self.max_nesting {
                    self.nested_too_deep = true;
                    State::Broken
                } else {
                    let container = if byte == b'{' { Container::Object } else { Container::Array };
                    self.open.push(container);
                    sink.open(container, at);
                    if byte == b'{' { State::FirstKey } else { State::FirstItem }
                }
            }
            (State::Value | State::FirstItem, b'"') => {
                sink.string(at + 1);
                State::InString
            }
            (State::Value | State::FirstItem, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                self.start = at;
                match byte {
                    b'-' => State::Number(Number::Minus),
                    b'0' => State::Number(Number::Zero),
                    b't' => State::Literal(b"rue"),
                    b'f' => State::Literal(b"alse"),
                    b'n' => State::Literal(b"ull"),
                    _ => State::Number(Number::Whole),
                }
            }
            (State::FirstItem, b']') | (State::FirstKey, b'}') => return self.close(at, sink),
            (State::FirstKey | State::Key, b'"') => {
                self.start = at + 1;
                State::InKey
            }
            (State::Colon, b':') => State::Value,
            (State::After, b',') => match self.open.last() {
                Some(Container::Object) => State::Key,
                _ => State::Value,
            },
            (State::After, b'}') if self.open.last() == Some(&Container::Object) => return self.close(at, sink),
            (State::After, b']') if self.open.last() == Some(&Container::Array) => return self.close(at, sink),
            _ => State::Broken,
        };
    }

    fn close(&mut self, at: usize, sink: &mut dyn Tokens) {
        self.open.pop();
        sink.close(at + 1);
        self.ended();
    }

    fn scalar(&mut self, end: usize, sink: &mut dyn Tokens) {
        sink.scalar(self.start, end);
        self.ended();
    }

    fn ended(&mut self) {
        self.state = if self.open.is_empty() { State::Done } else { State::After };
    }

    /// Reads inside a string from `at`; returns where it stopped: after the closing quote, or at the end of `bytes`.
    fn string(&mut self, bytes: &[u8], mut at: usize, base: usize, sink: &mut dyn Tokens) -> usize {
        let value = self.state == State::InString;
        while let Some(&byte) = bytes.get(at) {
            match self.escape {
                Escape::None => {
                    let run = find_special(bytes, at);
                    if value && run > at {
                        sink.string_grew(base + run);
                    }
                    at = run;
                    match bytes.get(at) {
                        None => break,
                        Some(b'"') => return self.string_end(at, base, value, sink),
                        Some(b'\\') => self.escape = Escape::Slash { half: false },
                        Some(_) if !self.keep_malformed() => break,
                        Some(_) if value => sink.string_grew(base + at + 1),
                        Some(_) => {}
                    }
                    at += 1;
                }
                Escape::Half if byte == b'\\' => {
                    self.escape = Escape::Slash { half: true };
                    at += 1;
                }
                Escape::Half => self.escape = Escape::None,
                Escape::Slash { half } => match byte {
                    b'u' => {
                        self.escape = Escape::Digits { half, seen: 0, unit: 0 };
                        at += 1;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                        at += 1;
                        self.escape = Escape::None;
                        if value {
                            sink.string_grew(base + at);
                        }
                    }
                    _ if self.keep_malformed() => self.escape = Escape::None,
                    _ => break,
                },
                Escape::Digits { half, seen, unit } => match (byte as char).to_digit(16) {
                    Some(digit) if seen == 3 => {
                        at += 1;
                        let unit = unit << 4 | digit as u16;
                        // A second half completes the pair before it; a first half waits for its second.
                        self.escape = match unit {
                            0xD800..=0xDBFF => Escape::Half,
                            _ => Escape::None,
                        };
                        if value {
                            match self.escape {
                                Escape::Half if half => sink.string_grew(base + at - 6),
                                Escape::Half => {}
                                _ => sink.string_grew(base + at),
                            }
                        }
                    }
                    Some(digit) => {
                        self.escape = Escape::Digits { half, seen: seen + 1, unit: unit << 4 | digit as u16 };
                        at += 1;
                    }
                    None if self.keep_malformed() => self.escape = Escape::None,
                    None => break,
                },
            }
        }
        at
    }

    fn string_end(&mut self, at: usize, base: usize, value: bool, sink: &mut dyn Tokens) -> usize {
        if value {
            sink.string_end(base + at);
            self.ended();
        } else {
            sink.key(self.start, base + at);
            self.state = State::Colon;
        }
        at + 1
    }

    /// Whether a byte that JSON does not allow in a string is kept; if not, the value is broken.
    fn keep_malformed(&mut self) -> bool {
        match self.strings {
            Strings::Lenient => self.malformed = true,
            Strings::Strict => self.state = State::Broken,
        }
        self.strings == Strings::Lenient
    }
}

impl Number {
    fn next(self, byte: u8) -> Option<Number> {
        use Number::*;
        Some(match (self, byte) {
            (Minus, b'0') => Zero,
            (Minus | Whole, b'0'..=b'9') => Whole,
            (Zero | Whole, b'.') => Dot,
            (Dot | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Whole | Fraction, b'e' | b'E') => E,
            (E, b'+' | b'-') => Sign,
            (E | Sign | Exponent, b'0'..=b'9') => Exponent,
            _ => return None,
        })
    }

    fn may_end(self) -> bool {
        matches!(self, Number::Zero | Number::Whole | Number::Fraction | Number::Exponent)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::super::{ReadErrorKind, Tape};
    use super::*;
    use proptest::prelude::*;

    /// What the scanner says of `text` pushed in pieces of `cut` bytes.
    fn verdict(text: &str, cut: usize) -> Result<usize, usize> {
        let mut scanner = Scanner::new(Strings::Strict, 8);
        for piece in text.as_bytes().chunks(cut.max(1)) {
            match scanner.advance(piece, &mut ()) {
                Progress::Open => {}
                Progress::Done(end) => return Ok(end),
                Progress::Broken(at) => return Err(at),
            }
        }
        if scanner.finish(&mut ()) { Ok(scanner.position()) } else { Err(text.len()) }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_one_pass_reader_under_any_cut(
            text in r#"([\[\]{},:]|"[a\\u"n0d8]{0,6}"|"\\ud83d\\ude00"|-?[0-9.eE+]{1,4}|true|null|fals|[ \n]|[a-f]){0,14}"#,
            cut in 1usize..9,
        ) {
            let mut tape = Tape::with_caps(8, 1000);
            let whole = tape.index(&text, 0);
            let got = verdict(&text, cut);
            prop_assert_eq!(got, verdict(&text, text.len()));
            match whole {
                Ok(end) => prop_assert_eq!(got, Ok(end)),
                Err(error) if error.kind == ReadErrorKind::Eof => prop_assert_eq!(got, Err(text.len())),
                Err(_) => prop_assert!(got.is_err()),
            }
        }
    }
}
