//! What stands for the format that has a shortcut where it is not built in: nothing, so that all of its way is left out.

use super::template::Shape;
use super::{Decoder, Outcome, Target};
use crate::chunk::{ChunkSink, Effect, Usage};
use crate::json::{JsonStr, Value};

/// A decoder that there is none of.
pub(super) enum OpenAiChat {}

impl Decoder for OpenAiChat {
    fn record(&mut self, _value: Value<'_>, _sink: &mut impl ChunkSink) -> (Outcome, Option<Shape>) {
        match *self {}
    }

    fn append(&mut self, _target: Target, _text: JsonStr<'_>, _sink: &mut impl ChunkSink) -> Effect {
        match *self {}
    }

    fn usage(&self, _usage: Value<'_>) -> Usage {
        match *self {}
    }

    fn routing(&self) -> u32 {
        match *self {}
    }

    fn finish(&mut self, _sink: &mut impl ChunkSink) {
        match *self {}
    }
}
