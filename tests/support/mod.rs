//! What the tests share: an oracle that applies ops by the documented rules, a runner that feeds one input in every
//! way it can be cut, and a notation in which expected rows stand beside the input.

#![allow(dead_code, unused_imports, reason = "every test crate takes its part of this")]

mod cases;
mod generate;
mod oracle;
mod run;
mod show;
mod strict;
pub mod tagged;
mod wire;

pub use cases::{cases, many_cases};
pub use generate::{Arguments, Fragment, Framing, Item, Stream, Wire, streams, tame_streams};
pub use oracle::{Oracle, decode};
pub use run::{
    Chat, Cuts, Outcome, Random, chat_of, chat_with, check, check_faults, check_lines, check_of, check_open,
    check_open_of, outcome, outcome_of, outcome_with, rests,
};
pub use show::{fields, lines, unindent, without_ids};
pub use strict::is_strict_json;
pub use wire::{call, chunk, content, end, sse, values};
