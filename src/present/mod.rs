//! From chunks to row operations: the rows, the blocks of each stream, the panels, and when to hand changes out.

mod blocks;
mod call_reader;
mod chat;
mod drive;
mod named;
mod panels;
mod rows;
mod saved;
mod schedule;
mod spoken;
mod tagged;
mod turn;
mod turns;

pub use chat::{ChatRows, End, Options, StreamId, StreamOptions, ToolError, ToolRef};
pub use drive::{Driver, ToolCall, ToolFuture, ToolHost, ToolOutput};
pub use saved::RestoreError;
#[cfg(target_arch = "wasm32")]
pub(crate) use schedule::HIDDEN_MILLIS;
pub use schedule::{Cadence, Due};
pub use tagged::TaggedTools;
pub use turn::{Answer, BlockEnd, BlockNumber, Skip, Turn, TurnBlock, TurnHost, TurnOptions, TurnStage, WaitId};
pub use turns::{Asked, Outcome, RunTools};
