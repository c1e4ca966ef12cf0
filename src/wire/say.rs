//! Say.
use super::{Outcome, RecordDecoder};
use crate::chunk::ChunkSink;
use crate::json::Value;
use crate::limits::Limits;

#[derive(Debug)]
pub(super) struct Say;

impl Say {
    pub fn new(_limits: &Limits) -> Self {
        Say
    }
}

impl RecordDecoder for Say {
    fn record(&mut self, _value: Value<'_>, _sink: &mut dyn ChunkSink) -> Outcome {
        Outcome::Skipped
    }
    fn finish(&mut self, _sink: &mut dyn ChunkSink) {}
}
