//! The class `PreparingEmitter`, and the marker's building and parsing.

use js_sys::{Array, JsString};
use wasm_bindgen::prelude::*;

use super::options::interval;
use super::{optional_string, out, string, type_error};
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
    pub fn delta(&mut self, key: &JsValue, name: &JsValue, bytes: f64, now: f64) -> Result<Option<String>, JsValue> {
        let (key, name) = (call_key(key)?, optional_string(name, "delta, as the name,")?);
        Ok(self.emitter.delta(&key, name.as_deref(), bytes as u64, now as u64))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn tick(&mut self, now: f64) -> Array {
        self.emitter.tick(now as u64).into_iter().map(JsString::from).collect()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn reported(&mut self, key: &JsValue) -> Result<(), JsValue> {
        self.emitter.reported(&call_key(key)?);
        Ok(())
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

/// A call's index or id.
fn call_key(key: &JsValue) -> Result<String, JsValue> {
    let index = key.as_f64().filter(|index| *index >= 0.0 && f64::from(*index as u32) == *index);
    let index = index.map(|index| (index as u32).to_string());
    index.or_else(|| key.as_string()).ok_or_else(|| type_error("a call is named by its index or its id"))
}

#[wasm_bindgen(js_name = preparingMarker, skip_typescript)]
pub fn marker(name: &JsValue, bytes: f64) -> Result<Option<String>, JsValue> {
    Ok(preparing_marker(&string(name, "preparingMarker")?, bytes as u64))
}

#[wasm_bindgen(js_name = parsePreparingMarker, skip_typescript)]
pub fn parse(text: &JsValue) -> Result<JsValue, JsValue> {
    let text = string(text, "parsePreparingMarker")?;
    let marker = parse_preparing_marker(&text);
    Ok(marker.map_or(JsValue::UNDEFINED, |(name, bytes)| out::marker(name, bytes)))
}
