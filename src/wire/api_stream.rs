//! The extension-side chunks of a coding agent.
use super::{Outcome, RecordDecoder};
use crate::chunk::ChunkSink;
use crate::json::Value;
use crate::limits::Limits;

#[derive(Debug)]
pub(super) struct ApiStream;

impl ApiStream {
    pub fn new(_limits: &Limits) -> Self {
        ApiStream
    }
}

impl RecordDecoder for ApiStream {
    fn record(&mut self, _value: Value<'_>, _sink: &mut dyn ChunkSink) -> Outcome {
        Outcome::Skipped
    }
    fn finish(&mut self, _sink: &mut dyn ChunkSink) {}
}
