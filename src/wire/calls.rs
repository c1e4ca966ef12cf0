//! Which call a fragment of one belongs to, on wires that name calls by id, by index, or by nothing but their order.

use std::borrow::Cow;

use super::said;
use crate::json::{Half, Value};

/// A call of the response that is read.
#[derive(Debug)]
pub(super) struct Call {
    pub choice: u32,
    pub index: Option<u64>,
    pub id: Option<Box<str>>,
    pub name: Option<Box<str>>,
    pub has_arguments: bool,
    pub half: Half,
}

/// What a piece of a call says of it.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    choice: u32,
    pub id: Option<Cow<'a, str>>,
    index: Option<u64>,
    pub name: Option<Cow<'a, str>>,
    /// Its arguments are a whole value.
    whole: bool,
}

impl<'a> Fragment<'a> {
    /// Reads `id` and `index` of `value`.
    pub fn read(value: Value<'a>, name: Value<'a>, arguments: Value<'_>, choice: u32) -> Self {
        let (id, index) = (value.get("id"), value.get("index"));
        Fragment {
            choice,
            id: said(id).or_else(|| id.number().map(Cow::Borrowed)),
            index: index.u64().or_else(|| index.str().and_then(|digits| digits.raw().parse().ok())),
            name: said(name),
            whole: arguments.is_object() || arguments.is_array(),
        }
    }

    /// The routing rule: a known id is that call, a new id is a new call; without an id the index decides, and
    /// without an index it is the last call.
    pub fn route(&self, calls: &[Call]) -> Option<usize> {
        let mut here = (0..calls.len()).rev().filter(|place| calls[*place].choice == self.choice);
        let name = self.name.as_deref();
        let found = match (self.id.as_deref(), self.index) {
            (Some(id), _) => {
                let known = here.clone().find(|place| calls[*place].id.as_deref() == Some(id));
                // The id of a call that began without one comes late.
                known.or_else(|| {
                    let late = match self.index {
                        Some(index) => here.find(|place| calls[*place].index == Some(index)),
                        None => here.next(),
                    };
                    late.filter(|place| {
                        let call = &calls[*place];
                        call.id.is_none() && (name.is_none() || call.name.is_none() || call.name.as_deref() == name)
                    })
                })
            }
            (None, Some(index)) => here.find(|place| calls[*place].index == Some(index)),
            (None, None) => here.next(),
        };
        // Without an id, another name or a second whole set of arguments is another call.
        found.filter(|place| {
            let call = &calls[*place];
            let renamed = name.is_some() && call.name.is_some() && call.name.as_deref() != name;
            self.id.is_some() || !(renamed || self.whole && call.has_arguments)
        })
    }

    /// Whether nothing but its order says which call it belongs to.
    pub fn is_by_position(&self) -> bool {
        self.id.is_none() && self.index.is_none()
    }

    /// A call of which nothing is known yet but its place.
    pub fn call(&self) -> Call {
        Call {
            choice: self.choice,
            index: self.index,
            id: None,
            name: None,
            has_arguments: false,
            half: Half::default(),
        }
    }
}

impl Call {
    /// Takes id and name where they were not known; answers with those that are news.
    pub fn learn<'a>(&mut self, fragment: &'a Fragment<'_>) -> (Option<&'a str>, Option<&'a str>) {
        let id = fragment.id.as_deref().filter(|_| self.id.is_none());
        let name = fragment.name.as_deref().filter(|_| self.name.is_none());
        if let Some(id) = id {
            self.id = Some(id.into());
        }
        if let Some(name) = name {
            self.name = Some(name.into());
        }
        (id, name)
    }
}
