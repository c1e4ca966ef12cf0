//! The inputs that the browser tests share come to the same rows here, however they are cut.

#![cfg(not(target_arch = "wasm32"))]

#[path = "support/inputs.rs"]
mod inputs;
mod support;

use serde_json::Value;
use support::*;

#[test]
fn the_shared_inputs_come_to_their_rows() {
    for (name, wire, rows) in inputs::INPUTS {
        let mut seen = outcome(wire.as_bytes()).rows;
        for row in seen.as_array_mut().unwrap().iter_mut().filter_map(Value::as_object_mut) {
            row.remove("startedAt");
            row.remove("endedAt");
        }
        let expected: Vec<Value> = rows.trim().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(seen, Value::from(expected), "{name}");
    }
}
