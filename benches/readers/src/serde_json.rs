//! `serde_json` into borrowed structs. Strict about types: one field of another
//! type than expected fails the record.

use std::borrow::Cow;

use serde::Deserialize;

use crate::{Digest, Reader};

/// Keeps nothing.
#[derive(Default)]
pub struct SerdeJson;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

/// A `Cow` borrows only where it does not stand in an `Option`.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Reader for SerdeJson {
    fn read(&mut self, record: &[u8], digest: &mut Digest) -> Option<()> {
        let chunk: Chunk<'_> = ::serde_json::from_slice(record).ok()?;
        let Some(choice) = chunk.choices.first() else { return Some(()) };
        choice.delta.content.iter().for_each(|text| digest.content(&text.0));
        choice.finish_reason.iter().for_each(|text| digest.finish(&text.0));
        Some(())
    }
}
