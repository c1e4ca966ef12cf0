//! An agent beyond the wire: the session files in which it keeps its conversations.

pub mod session;
