//! Plain objects out, on paths that are not hot.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::{Fault, Tally};

/// Turns a value into a plain object. Nothing that is passed here can fail to become one.
pub(super) fn plain(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or_default()
}

/// `Fault` of `types.ts`.
#[derive(Serialize)]
pub(super) struct FaultOut<'a> {
    stream: u32,
    offset: f64,
    reason: &'a str,
    excerpt: &'a str,
}

impl<'a> FaultOut<'a> {
    pub fn of(fault: &'a Fault) -> Self {
        FaultOut { stream: fault.stream, offset: fault.offset as f64, reason: fault.reason, excerpt: &fault.excerpt }
    }
}

/// `Stats` of `types.ts`. Counts are exact up to 2⁵³.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatsOut {
    bytes: f64,
    records: RecordsOut,
    late_bytes: f64,
    pings: f64,
}

#[derive(Serialize)]
struct RecordsOut {
    total: f64,
    faulted: f64,
    late: f64,
    skipped: f64,
    applied: f64,
    noop: f64,
}

impl StatsOut {
    pub fn of(tally: &Tally) -> Self {
        StatsOut {
            bytes: tally.bytes as f64,
            records: RecordsOut {
                total: tally.records() as f64,
                faulted: tally.faulted as f64,
                late: tally.late as f64,
                skipped: tally.skipped as f64,
                applied: tally.applied as f64,
                noop: tally.no_op as f64,
            },
            late_bytes: tally.late_bytes as f64,
            pings: tally.pings as f64,
        }
    }
}

/// What `pipe` answers.
#[derive(Serialize)]
pub(super) struct PipeOut {
    pub end: &'static str,
    pub stats: StatsOut,
}
