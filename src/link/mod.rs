//! The connection policy of a task stream: what its client dials, sends and waits for. Pure: no socket and no clock;
//! events and the time in milliseconds go in, a list of [`Action`]s to carry out comes out ([`TaskLink`]). Beside it
//! what an editor sends to an agent of the Agent Client Protocol ([`acp_prompt`]),
//! the frames a client sends ([`TaskRequest`]), the address ([`task_url`]), the filter of repeated frames
//! ([`SeenFrames`]), the events of a task without rows ([`TaskEvents`]) and base64.

mod acp;
#[cfg(feature = "task-stream")]
mod answers;
#[cfg(feature = "task-stream")]
mod backoff;
#[cfg(feature = "task-stream")]
mod base64;
#[cfg(feature = "task-stream")]
mod connection;
#[cfg(feature = "task-stream")]
mod events;
#[cfg(feature = "task-stream")]
mod options;
#[cfg(feature = "task-stream")]
mod request;
#[cfg(feature = "task-stream")]
mod seen;
#[cfg(feature = "task-stream")]
mod task_link;
#[cfg(feature = "task-stream")]
mod url;

pub(crate) use acp::acp_reply;
pub use acp::{AcpAnswer, PromptPart, acp_cancel, acp_prompt};
#[cfg(feature = "task-stream")]
pub use backoff::Backoff;
// The decoder of the task stream reads the same frames.
#[cfg(feature = "task-stream")]
pub(crate) use answers::data_text;
#[cfg(feature = "task-stream")]
pub(crate) use base64::decode_text;
#[cfg(feature = "task-stream")]
pub use connection::{Connection, LinkEnd, LinkState};
#[cfg(feature = "task-stream")]
pub use events::TaskEvents;
#[cfg(feature = "task-stream")]
pub use options::{LinkOptions, STOP_CODES, TaskMode};
#[cfg(feature = "task-stream")]
pub use request::{Attachment, DataForm, MAX_ATTACHMENTS, Reply, TaskRequest, TooManyAttachments, UserInput};
#[cfg(feature = "task-stream")]
pub use seen::SeenFrames;
#[cfg(feature = "task-stream")]
pub use task_link::{Action, Heard, TaskLink};
#[cfg(feature = "task-stream")]
pub use url::task_url;
