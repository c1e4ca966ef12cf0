//! Arguments as they come, whatever they are written in: JSON, or parameters as tags. Either way they become fields of
//! the row while they stream, and a verdict at the end.

use crate::json::{ArgsReader, FieldSpan};
use crate::limits::Limits;
use crate::text::{Grammar, TaggedArgs};

/// Reads the arguments of one call. It keeps no text: the row has the input and the fields.
#[derive(Debug)]
pub(crate) enum CallReader {
    Json(ArgsReader),
    Tagged(Box<TaggedCall>),
}

/// A call written as tags.
#[derive(Debug)]
pub(crate) struct TaggedCall {
    args: TaggedArgs,
    grammar: Grammar,
    tool: Box<str>,
    /// Its closing tag has come.
    pub closed: bool,
}

impl CallReader {
    pub fn json(limits: &Limits) -> Self {
        CallReader::Json(ArgsReader::new(limits))
    }

    pub fn tagged(grammar: &Grammar, tool: &str) -> Self {
        let args = TaggedArgs::new(grammar, tool);
        CallReader::Tagged(Box::new(TaggedCall { args, grammar: grammar.clone(), tool: tool.into(), closed: false }))
    }

    /// A reader for the same call from its start.
    pub fn again(&self, limits: &Limits) -> Self {
        match self {
            CallReader::Json(_) => CallReader::json(limits),
            CallReader::Tagged(call) => {
                let args = TaggedArgs::new(&call.grammar, &call.tool);
                let (grammar, tool) = (call.grammar.clone(), call.tool.clone());
                CallReader::Tagged(Box::new(TaggedCall { args, grammar, tool, closed: call.closed }))
            }
        }
    }

    /// Whether it is a call written as tags.
    pub fn is_tagged(&self) -> bool {
        matches!(self, CallReader::Tagged(_))
    }

    /// Reads what `input` has beyond what was read before.
    pub fn advance(&mut self, input: &str, fields: &mut Vec<FieldSpan>) {
        match self {
            CallReader::Json(args) => args.advance(input, fields),
            CallReader::Tagged(call) => call.args.advance(input, fields),
        }
    }

    /// The input ended. True if it may be executed.
    pub fn finish(&mut self, input: &str, fields: &mut Vec<FieldSpan>) -> bool {
        match self {
            CallReader::Json(args) => args.finish(input, fields),
            CallReader::Tagged(call) => {
                call.args.finish(call.closed, input, fields);
                call.closed
            }
        }
    }

    /// Whether it is a call written as tags whose closing tag has come.
    pub fn is_closed(&self) -> bool {
        matches!(self, CallReader::Tagged(call) if call.closed)
    }

    /// Whether fields were taken back since this was last asked.
    pub fn take_rewritten(&mut self) -> bool {
        match self {
            CallReader::Json(args) => args.take_rewritten(),
            CallReader::Tagged(call) => call.args.take_rewritten(),
        }
    }

    /// Whether the fields lack values.
    pub fn preview_truncated(&self) -> bool {
        matches!(self, CallReader::Json(args) if args.preview_truncated())
    }

    /// Whether the cap on nesting cut it.
    pub fn nested_too_deep(&self) -> bool {
        matches!(self, CallReader::Json(args) if args.nested_too_deep())
    }
}
