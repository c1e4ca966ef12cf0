//! The class `OpenAiConversion`.

use js_sys::Array;
use wasm_bindgen::prelude::*;

use super::options::{format, know, whole_number};
use super::{Inlet, message_json, parse, property, string_property, type_error};
use crate::{CompletionOptions, CompletionStyle, Conversion, Format};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("conversion.ts");

/// Any wire as OpenAI chat completion chunks. See `conversion.ts` for what each method does.
#[wasm_bindgen(js_name = OpenAiConversion, skip_typescript)]
pub struct JsConversion {
    conversion: Conversion,
    inlet: Inlet,
}

#[wasm_bindgen(js_class = OpenAiConversion)]
impl JsConversion {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(options: &JsValue) -> Result<JsConversion, JsValue> {
        know(options, "options of a conversion", &["format", "id", "model", "created", "style"])?;
        let format = format(options)?.map_or_else(|| Format::named("").map_err(|error| type_error(&error)), Ok)?;
        let text = |name: &str| string_property(options, name).map(Option::unwrap_or_default);
        let created = whole_number(&property(options, "created"), "created", 9e15)?.unwrap_or_default();
        let style = match text("style")?.as_str() {
            "" | "plain" => CompletionStyle::Plain,
            "modern" => CompletionStyle::Modern,
            _ => return Err(type_error("a conversion's style is \"plain\" or \"modern\"")),
        };
        let options = CompletionOptions { id: text("id")?, model: text("model")?, created: created as u64, style };
        Ok(JsConversion { conversion: Conversion::new(format, options), inlet: Inlet::new() })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn push(&mut self, data: &JsValue) -> Result<(), JsValue> {
        let JsConversion { conversion, inlet } = self;
        inlet.data(data, |bytes| conversion.push(bytes))
    }

    #[wasm_bindgen(js_name = pushMessage, skip_typescript)]
    pub fn push_message(&mut self, message: &JsValue) -> Result<(), JsValue> {
        let json = message_json(message)?;
        self.conversion.push_message(&self.inlet.whole(&json));
        Ok(())
    }

    #[wasm_bindgen(js_name = restartTurn, skip_typescript)]
    pub fn restart_turn(&mut self) -> bool {
        self.conversion.restart_turn()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn finish(&mut self) {
        self.conversion.finish();
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn take(&mut self) -> Result<Array, JsValue> {
        self.conversion.take().iter().map(|json| parse(json)).collect()
    }

    #[wasm_bindgen(js_name = takeEvents, skip_typescript)]
    pub fn take_events(&mut self) -> String {
        self.conversion.take_events()
    }
}
