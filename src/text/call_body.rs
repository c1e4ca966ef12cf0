//! What stands between `<tool>` and `</tool>`: parameters, one after the other, and text that says nothing. Outside a
//! parameter only a known parameter's opening tag and the tool's own closing tag count; inside one only its own closing
//! tag. Where the grammar says so, a value goes on to the last of its closing tags; until the call ends, what stands
//! behind one tells which is likely. Resumable: this says which tag ended where, and keeps no text.

use super::grammar::{Grammar, Match};
use super::held::trim_start;

#[derive(Debug, Clone)]
pub(crate) struct CallBody {
    /// Place of its name.
    tool: usize,
    /// The parameter that is open.
    within: Option<usize>,
    /// The parameter that closed, but may hold more of its closing tags.
    unsettled: Option<usize>,
    /// Text stands behind its last closing tag.
    goes_on: bool,
    tag: Tag,
}

/// A tag that has begun.
#[derive(Debug, Clone, Copy)]
enum Tag {
    None,
    /// `<`
    Angle,
    /// `<` and letters.
    Open(Match),
    /// `</` and letters: of what is open, of what is not settled, or of both.
    Close {
        letters: usize,
        own: bool,
        unsettled: bool,
    },
}

/// A tag ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEvent {
    /// The opening tag of this parameter.
    Opened(usize),
    /// The closing tag of this one.
    Closed(usize),
    /// The tool's own closing tag.
    Ended,
}

impl CallBody {
    pub fn new(tool: usize) -> Self {
        CallBody { tool, within: None, unsettled: None, goes_on: false, tag: Tag::None }
    }

    /// Place of the tool's name.
    pub fn tool(&self) -> usize {
        self.tool
    }

    /// The parameter that is open.
    pub fn within(&self) -> Option<usize> {
        self.within
    }

    /// The parameter that closed and may go on: whatever comes until the call ends may be part of its value.
    pub fn unsettled(&self) -> Option<usize> {
        self.unsettled
    }

    /// Text stands outside a parameter behind the last closing tag of what is not settled, and no space: nobody writes
    /// that between parameters, so that value goes on, unless none of its closing tags follows.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Bytes so far of what may become the tool's closing tag.
    pub fn half_close(&self) -> usize {
        match self.tag {
            Tag::Angle if self.within.is_none() => 1,
            Tag::Close { letters, own: true, .. } if self.within.is_none() => letters + 2,
            _ => 0,
        }
    }

    /// Reads from `at` on to the end of the next tag that counts, or to the end.
    pub fn next(&mut self, grammar: &Grammar, text: &str, at: &mut usize) -> Option<BodyEvent> {
        loop {
            let rest = text.get(*at..).unwrap_or_default();
            if matches!(self.tag, Tag::None) {
                let angle = memchr::memchr(b'<', rest.as_bytes());
                let before = angle.map_or(rest, |angle| rest.get(..angle).unwrap_or_default());
                if self.may_end() {
                    self.goes_on = !trim_start(before).is_empty();
                }
                *at += before.len();
                angle?;
                *at += 1;
                self.tag = Tag::Angle;
                continue;
            }
            let byte = *rest.as_bytes().first()?;
            if byte == b'>'
                && let Some(event) = self.end_of_tag(grammar)
            {
                *at += 1;
                self.tag = Tag::None;
                return Some(event);
            }
            // What does not go on with the tag may begin another.
            self.tag = self.more(grammar, byte);
            match self.tag {
                Tag::None => self.goes_on |= self.may_end(),
                _ => *at += 1,
            }
        }
    }

    /// Nothing but spaces and parameters stands behind the last closing tag of what is not settled, and no parameter
    /// is open.
    fn may_end(&self) -> bool {
        self.unsettled.is_some() && !self.goes_on && self.within.is_none()
    }

    fn own_name<'a>(&self, grammar: &'a Grammar) -> &'a str {
        match self.within {
            Some(param) => grammar.params().name(param),
            None => grammar.tools().name(self.tool),
        }
    }

    fn more(&self, grammar: &Grammar, byte: u8) -> Tag {
        let mut seen = match self.tag {
            Tag::Angle if byte == b'/' => {
                return Tag::Close { letters: 0, own: true, unsettled: self.unsettled.is_some() };
            }
            Tag::Angle if self.within.is_none() => grammar.params().any(),
            Tag::Open(seen) => seen,
            Tag::Close { letters, own, unsettled } => {
                let goes_on = |name: &str| name.as_bytes().get(letters) == Some(&byte);
                let own = own && goes_on(self.own_name(grammar));
                let unsettled = unsettled && self.unsettled.is_some_and(|param| goes_on(grammar.params().name(param)));
                return if own || unsettled { Tag::Close { letters: letters + 1, own, unsettled } } else { Tag::None };
            }
            Tag::None | Tag::Angle => return Tag::None,
        };
        if grammar.params().narrow(&mut seen, byte) { Tag::Open(seen) } else { Tag::None }
    }

    fn end_of_tag(&mut self, grammar: &Grammar) -> Option<BodyEvent> {
        match self.tag {
            Tag::Open(seen) => {
                self.within = Some(grammar.params().complete(seen)?);
                self.within.map(BodyEvent::Opened)
            }
            Tag::Close { letters, own, .. } if own && self.own_name(grammar).len() == letters => {
                let Some(param) = self.within.take() else { return Some(BodyEvent::Ended) };
                if grammar.is_last_close(grammar.tools().name(self.tool), grammar.params().name(param)) {
                    (self.unsettled, self.goes_on) = (Some(param), false);
                }
                Some(BodyEvent::Closed(param))
            }
            Tag::Close { letters, unsettled: true, .. } => {
                let param = self.unsettled.filter(|param| grammar.params().name(*param).len() == letters)?;
                // Whatever seemed to be open was part of the value.
                (self.within, self.goes_on) = (None, false);
                Some(BodyEvent::Closed(param))
            }
            _ => None,
        }
    }
}
