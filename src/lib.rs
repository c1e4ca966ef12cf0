//! chatrows

mod chunk;
mod fault;
pub mod json;
mod limits;
mod op;
mod present;
mod row;
mod text;
#[cfg(target_arch = "wasm32")]
mod wasm;
mod wire;

pub use chunk::{CallNumber, Chunk, ChunkSink, Effect, Finish, Refusal, Usage};
pub use fault::{Fault, Tally};
pub use limits::Limits;
pub use op::{AppendField, OpBuffer, Patch, RowOp, RowSink};
pub use present::{Cadence, ChatRows, Due, End, Options, StreamId, StreamOptions, ToolError, ToolRef};
pub use row::{
    Changed, ErrorInfo, FieldNews, Image, Message, Panel, PanelName, PathStep, Row, RowId, RowKind, RowState, Source,
    Tool,
};
pub use text::byte_label;
#[cfg(target_arch = "wasm32")]
pub use wasm::{JsChatRows, JsChatStream};
pub use wire::Format;

#[cfg(target_arch = "wasm32")]
use present::HIDDEN_MILLIS;
