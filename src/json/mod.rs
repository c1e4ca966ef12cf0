//! Reading JSON, in the two ways a stream needs it.
//!
//! A record (one event of a wire format) is whole when it is read: [`Tape`] indexes it in one pass, strictly, and
//! [`Value`] answers lenient questions about it. Tool arguments never are whole: [`Scanner`] is the resumable
//! grammar that reads every byte once however they are cut, and [`ArgsReader`] turns what it sees into preview
//! fields. [`JsonWriter`] writes the rows and ops. Nothing here builds a tree.

mod args;
mod record;
mod scan;
mod strings;
mod write;

pub(crate) use args::key_text;
pub use args::{ArgsReader, FieldKind, FieldSpan, Step};
pub(crate) use record::skip_space;
pub use record::{ReadError, ReadErrorKind, Record, Tape, Value};
pub use scan::{Container, Progress, Scanner, Strings, Tokens};
pub use strings::{Half, JsonStr, decode_preview};
pub(crate) use strings::{find_special, string_end};
pub use write::{JsonWriter, Raw};
