//! The parameters of a call written as tags, while its body streams: every piece is read once, and what it brings is
//! kept as fields, one a parameter, each a name and a span of the body. What shows of a value only grows: a space and
//! half a closing tag at its end are held back until the value goes on or ends. Only a value that may hold its own
//! closing tag can lose some of it again, once, when the call ends and none of those tags followed.

use super::call_body::{BodyEvent, CallBody};
use super::grammar::Grammar;
use super::held::{is_space, trim_end, trim_start};
use crate::json::{FieldKind, FieldSpan, Step};

/// Reads the body of one call as it streams, as [`ArgsReader`](crate::json::ArgsReader) reads JSON. It keeps no text:
/// the caller keeps the body and the fields.
///
/// A parameter that comes again takes the place of the one before.
///
/// Where the grammar lets a value hold its own closing tag, it is open until the call ends, and ends at the last one.
/// Behind each of them:
///
/// - spaces, parameters, and what may become one of these or a closing tag stay hidden. They are not part of the value
///   if the call ends there; then the parameters count, and only then they show.
/// - Text that is none of these (an unknown tag is such text) is taken for more of the value: all up to there shows,
///   and the value streams on. If the call ends before the next of its closing tags, that much is taken back, and
///   [`take_rewritten`](Self::take_rewritten) says so: the price of a body with text between its parameters.
/// - One more of its closing tags settles that all before it is the value.
///
/// ```
/// use chatrows::{Grammar, TaggedArgs};
/// let (mut args, mut body, mut fields) = (TaggedArgs::new(&Grammar::default(), "read_file"), String::new(), Vec::new());
/// for piece in ["<path> a.tx", "t</pa", "th><end_line>9"] {
///     body.push_str(piece);
///     args.advance(&body, &mut fields);
/// }
/// assert_eq!((fields[0].text(&body), fields[0].closed), ("a.txt".to_owned(), true));
/// assert_eq!((fields[1].text(&body), fields[1].closed), ("9".to_owned(), false));
/// args.finish(false, &body, &mut fields); // The message ended in the middle of the call.
/// ```
#[derive(Debug, Clone)]
pub struct TaggedArgs {
    grammar: Grammar,
    body: CallBody,
    /// Bytes of the body that were read.
    read: usize,
    /// The parameter of each field.
    params: Vec<usize>,
    /// The last field's value, while it may grow.
    value: Value,
    /// What the last field is if none of its closing tags follows: it may go on behind the last one. None: it may not.
    settled: Option<Settled>,
    /// Parameters that show when the call ends: behind a value that may go on, or because of `late`.
    later: Vec<Later>,
    /// Taking fields back has cost too much: whatever begins now shows when the call ends.
    late: bool,
    /// Bytes of fields that a reader had to be shown again.
    spent: usize,
    rewritten: bool,
    work: u64,
}

/// Places in the body.
#[derive(Debug, Clone, Copy, Default)]
struct Value {
    /// Of its first character, once there is one.
    start: Option<usize>,
    /// After its last character.
    end: usize,
    /// Up to where it was read.
    read: usize,
    half: Option<HalfClose>,
}

/// Where the value of a field stands.
#[derive(Debug, Clone, Copy)]
struct Settled {
    start: u32,
    shown_end: u32,
}

/// What may become the value's closing tag, if letters that were left out are forgiven: it is hidden until it is none.
#[derive(Debug, Clone, Copy)]
struct HalfClose {
    /// The value's end before it.
    end: usize,
    part: Part,
    /// Letters of the name that are used up.
    letters: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Angle,
    Name,
    /// Spaces, which do not count before the value goes on.
    Spaces,
}

#[derive(Debug, Clone, Copy)]
struct Later {
    param: usize,
    start: usize,
    end: Option<usize>,
}

/// Bytes that may be shown again before the length of the body bounds them.
const REWRITE_CREDIT: usize = 4096;

impl TaggedArgs {
    /// At the start of the body of a call of `tool`.
    pub fn new(grammar: &Grammar, tool: &str) -> Self {
        TaggedArgs {
            grammar: grammar.clone(),
            body: CallBody::new(grammar.tools().place(tool).unwrap_or(usize::MAX)),
            read: 0,
            params: Vec::new(),
            value: Value::default(),
            settled: None,
            later: Vec::new(),
            late: false,
            spent: 0,
            rewritten: false,
            work: 0,
        }
    }

    /// Reads what `body` has beyond what was read before; new parameters are added to `fields`, the last one grows.
    pub fn advance(&mut self, body: &str, fields: &mut Vec<FieldSpan>) {
        let before = self.read;
        while let Some(event) = self.body.next(&self.grammar, body, &mut self.read) {
            match event {
                BodyEvent::Opened(param) => self.open(param, fields),
                BodyEvent::Closed(param) => self.close(param, body, fields),
                // No body holds its call's closing tag.
                BodyEvent::Ended => {}
            }
        }
        if self.is_growing() {
            self.grow(body, self.read, fields);
        }
        self.work += (self.read - before) as u64;
    }

    /// The call ended, by its closing tag or not: nothing is held back any more.
    pub fn finish(&mut self, closed: bool, body: &str, fields: &mut Vec<FieldSpan>) {
        self.advance(body, fields);
        let unsettled = self.body.unsettled();
        if let (Some(Settled { start, shown_end }), Some(field)) = (self.settled.take(), fields.last_mut()) {
            self.rewritten |= field.shown_end > shown_end;
            (field.start, field.shown_end, field.closed) = (start, shown_end, closed);
        } else if self.is_growing() {
            self.value.half = None;
            self.show(fields);
        }
        for Later { param, start, end } in std::mem::take(&mut self.later) {
            self.add(param, start, fields);
            self.grow(body, end.unwrap_or(body.len()), fields);
            self.value.half = None;
            self.show(fields);
            if let Some(field) = fields.last_mut() {
                field.closed = end.is_some() && (closed || unsettled != Some(param));
            }
        }
        self.late = false;
    }

    /// Whether a field, or some of it, was taken back since this was last asked: its parameter came again, or the call
    /// ended behind text that is not part of it.
    pub fn take_rewritten(&mut self) -> bool {
        std::mem::take(&mut self.rewritten)
    }

    /// Whether the fields lack parameters until the call ends: too many came again and again.
    pub fn preview_truncated(&self) -> bool {
        self.late
    }

    /// Bytes visited so far.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The last field is open, and may show all that comes.
    fn is_growing(&self) -> bool {
        match self.body.unsettled() {
            _ if self.late => false,
            None => self.body.within().is_some(),
            // Another value that may go on comes later.
            param => self.body.goes_on() && self.settled.is_some() && self.params.last().copied() == param,
        }
    }

    /// An opening tag ends where the reading stands.
    fn open(&mut self, param: usize, fields: &mut Vec<FieldSpan>) {
        let unsettled = self.body.unsettled();
        // If it closes it was part of the value that is not settled, and if not it takes the place of nothing.
        if unsettled == Some(param) {
            return;
        }
        if unsettled.is_none() {
            self.late |= self.spent > self.read + REWRITE_CREDIT && self.params.contains(&param);
            if !self.late {
                return self.add(param, self.read, fields);
            }
        }
        self.later.push(Later { param, start: self.read, end: None });
    }

    fn add(&mut self, param: usize, start: usize, fields: &mut Vec<FieldSpan>) {
        if let Some(place) = self.params.iter().position(|known| *known == param) {
            self.params.remove(place);
            if place < fields.len() {
                fields.remove(place);
            }
            self.rewritten = true;
            self.spent += fields.iter().map(|field| (field.shown_end - field.start) as usize).sum::<usize>();
        }
        self.params.push(param);
        let name_end = start - 1;
        let name_start = name_end - self.grammar.params().name(param).len();
        let path = [Step::Key { start: name_start as u32, end: name_end as u32 }].into();
        let at = start as u32;
        fields.push(FieldSpan { path, kind: FieldKind::Text, start: at, shown_end: at, closed: false });
        self.value = Value { start: None, end: start, read: start, half: None };
    }

    /// A closing tag ends where the reading stands.
    fn close(&mut self, param: usize, body: &str, fields: &mut [FieldSpan]) {
        let end = self.read - (self.grammar.params().name(param).len() + 3);
        // What began behind this value's opening tag was part of it, whatever it looked like.
        while let Some(later) = self.later.last_mut() {
            if later.param == param {
                later.end = Some(end);
                return;
            }
            self.later.pop();
        }
        match self.value.half.take() {
            // The tag began in an earlier piece.
            Some(half) if self.value.read > end => self.value.end = half.end,
            _ => self.grow(body, end, fields),
        }
        self.value.half = None;
        self.show(fields);
        if let Some(field) = fields.last_mut() {
            match self.body.unsettled() {
                Some(_) => self.settled = Some(Settled { start: field.start, shown_end: field.shown_end }),
                None => field.closed = true,
            }
        }
    }

    /// The last field's value goes on to `end` at least.
    fn grow(&mut self, body: &str, end: usize, fields: &mut [FieldSpan]) {
        let Some(name) = self.params.last().map(|param| self.grammar.params().name(*param)) else { return };
        let value = &mut self.value;
        let mut rest = body.get(value.read..end).unwrap_or_default();
        self.work += 2 * rest.len() as u64;
        if let Some(angle) = rest.bytes().rposition(|byte| byte == b'<') {
            value.take(rest.get(..angle).unwrap_or_default());
            value.half = Some(HalfClose { end: value.end, part: Part::Angle, letters: 0 });
            value.take("<");
            rest = rest.get(angle + 1..).unwrap_or_default();
        }
        value.half = value.half.and_then(|half| rest.chars().try_fold(half, |half, c| half.next(c, name)));
        value.take(rest);
        self.show(fields);
    }

    fn show(&self, fields: &mut [FieldSpan]) {
        let Value { start: Some(start), end, half, .. } = self.value else { return };
        let end = half.map_or(end, |half| half.end);
        if let Some(field) = fields.last_mut().filter(|_| end > start) {
            (field.start, field.shown_end) = (start as u32, end as u32);
        }
    }
}

impl Value {
    fn take(&mut self, text: &str) {
        let solid = trim_end(text).len();
        if solid > 0 {
            self.start = self.start.or(Some(self.read + text.len() - trim_start(text).len()));
            self.end = self.read + solid;
        }
        self.read += text.len();
    }
}

impl HalfClose {
    /// None: it is no closing tag.
    fn next(mut self, c: char, name: &str) -> Option<HalfClose> {
        if is_space(c) {
            self.part = Part::Spaces;
            return Some(self);
        }
        let letters = match self.part {
            Part::Angle if c == '/' => 0,
            Part::Angle | Part::Name => {
                let left = name.get(self.letters..)?;
                left.chars().position(|letter| letter == c)? + 1
            }
            Part::Spaces => return None,
        };
        self.letters += letters;
        self.part = Part::Name;
        Some(self)
    }
}
