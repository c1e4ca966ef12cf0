//! An agent beyond the wire: its state, and the session files in which it keeps its conversations.

#[cfg(feature = "sessions")]
pub mod session;
#[cfg(feature = "agent")]
pub mod state;
