//! The class `PreparingEmitter`, and the marker's building and parsing.

use js_sys::{Array, JsString};
use wasm_bindgen::prelude::*;

use super::options::interval;
use crate::{PreparingEmitter, parse_preparing_marker, preparing_marker};

/// Says which markers a provider should send. See `types.ts` for what each method does.
#[wasm_bindgen(js_name = PreparingEmitter, skip_typescript)]
pub struct JsPreparingEmitter {
    emitter: PreparingEmitter,
}

#[wasm_bindgen(js_class = PreparingEmitter)]
impl JsPreparingEmitter {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(options: &JsValue) -> Result<JsPreparingEmitter, JsValue> {
        Ok(JsPreparingEmitter { emitter: PreparingEmitter::new(interval(options)?) })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn delta(&mut self, key: &str, name: Option<String>, bytes: f64, now: f64) -> Option<String> {
        self.emitter.delta(key, name.as_deref(), bytes as u64, now as u64)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn tick(&mut self, now: f64) -> Array {
        self.emitter.tick(now as u64).into_iter().map(JsString::from).collect()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn reported(&mut self, key: &str) {
        self.emitter.reported(key);
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn visible(&mut self, now: f64) {
        self.emitter.note_visible(now as u64);
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn end(&mut self) {
        self.emitter.end();
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn preparing(&self) -> bool {
        self.emitter.is_preparing()
    }
}

#[wasm_bindgen(js_name = preparingMarker, skip_typescript)]
pub fn marker(name: &str, bytes: f64) -> Option<String> {
    preparing_marker(name, bytes as u64)
}

#[wasm_bindgen(js_name = parsePreparingMarker, skip_typescript)]
pub fn parse(text: &str) -> JsValue {
    let Some((name, bytes)) = parse_preparing_marker(text) else { return JsValue::UNDEFINED };
    super::out::marker(name, bytes)
}
