//! Partial messages of an AI agent in, chat rows out.
//!
//! A chat webview is fed by streams that are cut anywhere, repeat themselves and end half-way. This crate turns them
//! into row operations: the smallest changes that keep a list of chat rows right. It has no clock, does no I/O and
//! knows no JavaScript type outside `wasm`, the module that wraps it for the browser.
//!
//! ```
//! use chatrows::{ChatRows, Format, Options, RowOp};
//!
//! let mut chat = ChatRows::new(Options::default());
//! let stream = chat.stream(Format::OpenAiChat);
//! chat.push(stream, b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",");
//! chat.push(stream, b"\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}}]}}]}\n\n");
//!
//! let mut inserted = 0;
//! chat.drain(&mut |op: RowOp<'_>| inserted += usize::from(matches!(op, RowOp::Insert { .. })));
//! assert_eq!(inserted, 1);
//!
//! let row = chat.rows().next().unwrap();
//! let tool = row.tool.as_ref().unwrap();
//! assert_eq!((tool.name.as_str(), row.state.name()), ("weather", "preparing"));
//! assert_eq!(tool.fields().next().unwrap().1, "Oslo");
//! assert_eq!(chat.args(row.id), None); // not before the wire says that the message ended
//! ```
//!
//! # How it is made
//!
//! ```text
//! bytes ─▶ wire ─▶ Chunk ─▶ present ─▶ RowOp ─▶ the page
//! ```
//!
//! Everything is a function between three vocabularies, one file each: [`Chunk`] (`chunk.rs`, what arrived), [`Row`]
//! and [`Panel`] (`row.rs`, what is on screen), [`RowOp`] (`op.rs`, what changes).
//!
//! | room | what it does |
//! |---|---|
//! | `json` | one record at a time, borrowed ([`json::Tape`]); arguments while they stream ([`json::ArgsReader`]); writing |
//! | `wire` | framing (`sse`, `values`), one file a format (`openai_chat`), and the shortcut of the hot path (`template`) |
//! | `text` | calls written as tags ([`TaggedParser`], [`TaggedArgs`], [`TagCleaner`]), markers, byte labels |
//! | `present` | blocks to rows (`blocks`), rows to ops (`rows`), panels, when to hand out (`schedule`), the chat (`chat`) |
//! | `link` | when a task stream's client dials, what it sends, when it is over ([`TaskLink`]); it knows `json` only |
//! | `agent` | an agent's state (`AgentState`) and session files: the tree, its branches, what the model is told (`Session`); it knows `json` only |
//! | `wasm` | the classes that a page imports; their types are written in `types.ts` |
//!
//! `wire`, `json` and `text` know chunks; `present` knows chunks, rows and ops; nothing knows `wasm`.
//!
//! Three rules hold the rest together. A byte is visited a bounded number of times, however input is cut; the tests
//! count ([`Tally::work`]). Malformed input is a state and never a failure: it becomes a [`Fault`], and the next
//! record is read. A row's changes are only marked when they happen; [`ChatRows::drain`] compares each marked row with
//! what was shown of it and writes the difference.

#![cfg_attr(not(feature = "page"), allow(dead_code, reason = "what a format that is left out would need"))]

#[cfg(not(any(
    feature = "openai-chat",
    feature = "say",
    feature = "api-stream",
    feature = "acp",
    feature = "agent-events"
)))]
compile_error!(
    "choose the formats to read: features `openai-chat`, `say`, `api-stream`, `acp`, `task-stream`, `agent-events`, or `page` for all"
);

#[cfg(any(feature = "agent", feature = "sessions"))]
mod agent;
mod chunk;
mod fault;
pub mod json;
pub mod limits;
#[cfg(feature = "acp")]
mod link;
mod op;
mod present;
mod row;
mod sorted;
mod text;
#[cfg(target_arch = "wasm32")]
mod wasm;
mod wire;

#[cfg(feature = "sessions")]
pub use agent::session::{
    Branch, Context, Difference, Entry, EntryKind, ForkHeader, Header, ImportError, Node, Session, SessionState,
};
#[cfg(feature = "agent")]
pub use agent::state::{AgentState, AgentStateChange};
pub use chunk::{CallNumber, Chunk, ChunkSink, Effect, Finish, Refusal, Usage};
pub use fault::{Fault, Tally};
pub use limits::Limits;
#[cfg(feature = "acp")]
pub use link::acp::{AcpAnswer, PromptPart, acp_cancel, acp_prompt};
#[cfg(feature = "task-stream")]
pub use link::task::{
    Action, Attachment, Backoff, Connection, DataForm, Heard, LinkEnd, LinkOptions, LinkState, MAX_ATTACHMENTS, Reply,
    STOP_CODES, SeenFrames, TaskEvents, TaskLink, TaskMode, TaskRequest, TooManyAttachments, UserInput, task_url,
};
pub use op::{AppendField, OpBuffer, Patch, RowOp, RowSink};
pub use present::{
    Answer, Asked, BlockEnd, BlockNumber, Cadence, ChatRows, Driver, Due, End, Options, Outcome, RestoreError,
    RunTools, Skip, StreamId, StreamOptions, TaggedTools, ToolCall, ToolError, ToolFuture, ToolHost, ToolOutput,
    ToolRef, Turn, TurnBlock, TurnHost, TurnOptions, TurnStage, WaitId,
};
pub use row::{Changed, Fact, Facts, FieldNews, Panel, PanelName, PathStep, Row, RowId, RowKind, RowState, Tool, Word};
pub use text::{CleanSink, Grammar, TagCleaner, TaggedArgs, TaggedParser, TaggedSink, Thoughts};
pub use text::{PREPARING_INTERVAL_MILLIS, PreparingEmitter, byte_label, parse_preparing_marker, preparing_marker};
#[cfg(all(target_arch = "wasm32", feature = "conversion"))]
pub use wasm::JsConversion;
#[cfg(all(target_arch = "wasm32", feature = "task-client"))]
pub use wasm::JsTaskStreamClient;
#[cfg(all(target_arch = "wasm32", feature = "agent", feature = "sessions"))]
pub use wasm::{JsAgentSession, JsAgentState};
#[cfg(target_arch = "wasm32")]
pub use wasm::{JsChatRows, JsChatStream, JsPreparingEmitter, marker, parse_marker};
#[cfg(all(target_arch = "wasm32", feature = "acp"))]
pub use wasm::{acp_cancelled, acp_prompted};
pub use wire::Format;
#[cfg(feature = "conversion")]
pub use wire::{CompletionOptions, CompletionStyle, Conversion};

#[cfg(target_arch = "wasm32")]
use present::HIDDEN_MILLIS;
