//! The task stream server as a client meets it, over real sockets: whole tasks,
//! replays, each fault that a script can ask for, history and control. No test
//! waits for a time; a server that says nothing fails it.

mod client;
mod control;
mod faults;
mod history;
mod turns;
mod wire;
