//! Plain objects out, on paths that are not hot.

use serde::{Serialize, Serializer};
use wasm_bindgen::prelude::*;

use crate::{Fault, Tally};

/// Turns a value into a plain object. Nothing that is passed here can fail to become one.
pub(super) fn plain(value: &impl Serialize) -> JsValue {
    value.serialize(&serde_wasm_bindgen::Serializer::new().serialize_maps_as_objects(true)).unwrap_or_default()
}

/// An object by its entries. As a map it costs half the module bytes of a struct.
struct Entries<'a>(&'a [(&'a str, Entry<'a>)]);

#[derive(Clone, Copy)]
enum Entry<'a> {
    /// Exact up to 2⁵³.
    Number(u64),
    Text(&'a str),
    Object(&'a [(&'a str, Entry<'a>)]),
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Entry::Number(number) => serializer.serialize_f64(number as f64),
            Entry::Text(text) => serializer.serialize_str(text),
            Entry::Object(entries) => Entries(entries).serialize(serializer),
        }
    }
}

/// `Fault` of `types.ts`.
pub(super) fn fault(fault: &Fault) -> JsValue {
    plain(&Entries(&[
        ("stream", Entry::Number(u64::from(fault.stream))),
        ("offset", Entry::Number(fault.offset)),
        ("reason", Entry::Text(fault.reason)),
        ("excerpt", Entry::Text(&fault.excerpt)),
    ]))
}

/// `ToolCall` of `types.ts`, but for its arguments.
pub(super) fn call(stream: u32, row: u32, name: &str, call_id: Option<&str>) -> JsValue {
    let call = [
        ("stream", Entry::Number(u64::from(stream))),
        ("row", Entry::Number(u64::from(row))),
        ("name", Entry::Text(name)),
        ("callId", Entry::Text(call_id.unwrap_or_default())),
    ];
    plain(&Entries(if call_id.is_some() { &call } else { &call[..3] }))
}

/// What `parsePreparingMarker` answers.
pub(super) fn marker(name: &str, bytes: u64) -> JsValue {
    plain(&Entries(&[("name", Entry::Text(name)), ("bytes", Entry::Number(bytes))]))
}

/// `Stats` of `types.ts`; with what `ChatStats` has beyond it; or inside what `pipe` answers.
pub(super) fn stats(tally: &Tally, chat: Option<[u64; 4]>, end: Option<&str>) -> JsValue {
    let records = [
        ("total", Entry::Number(tally.records())),
        ("faulted", Entry::Number(tally.faulted)),
        ("late", Entry::Number(tally.late)),
        ("skipped", Entry::Number(tally.skipped)),
        ("applied", Entry::Number(tally.applied)),
        ("noop", Entry::Number(tally.no_op)),
    ];
    let [streams, rows, ops, batches] = chat.unwrap_or_default();
    let stats = [
        ("bytes", Entry::Number(tally.bytes)),
        ("records", Entry::Object(&records)),
        ("lateBytes", Entry::Number(tally.late_bytes)),
        ("pings", Entry::Number(tally.pings)),
        ("streams", Entry::Number(streams)),
        ("rows", Entry::Number(rows)),
        ("ops", Entry::Number(ops)),
        ("batches", Entry::Number(batches)),
    ];
    let stats = if chat.is_some() { &stats[..] } else { &stats[..4] };
    match end {
        Some(end) => plain(&Entries(&[("end", Entry::Text(end)), ("stats", Entry::Object(stats))])),
        None => plain(&Entries(stats)),
    }
}
