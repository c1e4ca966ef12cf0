//! The connection policy of a task stream: what its client dials, sends and waits for. Pure: no socket and no clock;
//! events and the time in milliseconds go in, a list of [`Action`]s to carry out comes out ([`TaskLink`]). Beside it
//! the frames a client sends ([`TaskRequest`]), the address ([`task_url`]), the filter of repeated frames
//! ([`SeenFrames`]), the events of a task without rows ([`TaskEvents`]) and base64.

mod answers;
mod backoff;
mod base64;
mod connection;
mod events;
mod options;
mod request;
mod seen;
mod task_link;
mod url;

pub use backoff::Backoff;
// The decoder of the task stream reads the same frames.
pub(crate) use answers::data_text;
pub(crate) use base64::decode_text;
pub use connection::{Connection, LinkEnd, LinkState};
pub use events::TaskEvents;
pub use options::{LinkOptions, STOP_CODES, TaskMode};
pub use request::{Attachment, DataForm, MAX_ATTACHMENTS, Reply, TaskRequest, TooManyAttachments, UserInput};
pub use seen::SeenFrames;
pub use task_link::{Action, Heard, TaskLink};
pub use url::task_url;
