//! The JavaScript edge, and the only place that names its types: decode arguments, call the core, encode the result.
//! Bytes come in; one op buffer a frame goes out; plain objects where it is not hot.

#![expect(missing_docs, reason = "types.ts says what each method of the package does")]

#[cfg(feature = "acp")]
mod acp;
mod chat;
#[cfg(feature = "conversion")]
mod conversion;
mod options;
mod out;
mod pipe;
mod preparing;
mod pump;
#[cfg(all(feature = "agent", feature = "sessions"))]
mod session;
mod stream;
#[cfg(feature = "task-client")]
mod task_client;
#[cfg(feature = "task-client")]
mod task_options;
mod tools;

use js_sys::{Array, Error, Function, JSON, JsString, Reflect, TypeError, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::RowId;
use crate::json::JsonWriter;

#[cfg(feature = "acp")]
pub use acp::{cancel as acp_cancelled, prompt as acp_prompted};
pub use chat::JsChatRows;
#[cfg(feature = "conversion")]
pub use conversion::JsConversion;
pub use preparing::{JsPreparingEmitter, marker, parse as parse_marker};
#[cfg(all(feature = "agent", feature = "sessions"))]
pub use session::{JsAgentSession, JsAgentState};
pub use stream::JsChatStream;
#[cfg(feature = "task-client")]
pub use task_client::JsTaskStreamClient;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.ts");

#[wasm_bindgen]
extern "C" {
    type TextEncoder;
    #[wasm_bindgen(constructor)]
    fn new() -> TextEncoder;
    #[wasm_bindgen(method, js_name = encodeInto)]
    fn encode_into(this: &TextEncoder, text: &JsString, bytes: &Uint8Array) -> Encoded;

    type Encoded;
    #[wasm_bindgen(method, getter)]
    fn read(this: &Encoded) -> u32;
    #[wasm_bindgen(method, getter)]
    fn written(this: &Encoded) -> u32;
}

/// Prints panics to the console.
#[cfg(feature = "panic-hook")]
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}

/// An `Error` with this message.
fn error(message: &str) -> JsValue {
    Error::new(message).into()
}

/// A `TypeError` with this message.
fn type_error(message: &str) -> JsValue {
    TypeError::new(message).into()
}

/// Parses JSON text of our own.
fn parse(json: &str) -> Result<JsValue, JsValue> {
    JSON::parse(json)
}

/// A property of an object; undefined for what is no object.
fn property(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or_default()
}

/// A property that is a string if it is there at all.
fn string_property(object: &JsValue, name: &str) -> Result<Option<String>, JsValue> {
    let value = property(object, name);
    match value.as_string() {
        None if !value.is_undefined() && !value.is_null() => Err(type_error(&[name, " must be a string"].concat())),
        text => Ok(text),
    }
}

/// A string; `what` takes it.
fn string(value: &JsValue, what: &str) -> Result<String, JsValue> {
    value.as_string().ok_or_else(|| type_error(&[what, " takes a string"].concat()))
}

/// A string that may be left out.
fn optional_string(value: &JsValue, what: &str) -> Result<Option<String>, JsValue> {
    if value.is_undefined() || value.is_null() { Ok(None) } else { string(value, what).map(Some) }
}

/// A whole number from 1 that an id may be.
fn id(value: &JsValue) -> Option<u32> {
    value.as_f64().filter(|number| *number >= 1.0 && f64::from(*number as u32) == *number).map(|number| number as u32)
}

/// A row's id.
fn row_id(value: &JsValue) -> Option<RowId> {
    RowId::new(id(value)?)
}

/// Brings bytes and text in, in pieces: no second copy is made of a large input, and none of its characters passes
/// through JavaScript by itself.
struct Inlet {
    encoder: TextEncoder,
    /// Where text is encoded, on the side of JavaScript.
    piece: Uint8Array,
    /// Where a piece is copied to.
    buffer: Vec<u8>,
}

impl Inlet {
    const PIECE: u32 = 64 << 10;

    fn new() -> Self {
        Inlet { encoder: TextEncoder::new(), piece: Uint8Array::new_with_length(Self::PIECE), buffer: Vec::new() }
    }

    /// Hands the text to `take` as UTF-8. A half of a character becomes U+FFFD.
    fn text(&mut self, text: &JsString, mut take: impl FnMut(&[u8])) {
        let (len, mut at) = (text.length(), 0);
        while at < len {
            let rest = if at == 0 { text.clone() } else { text.slice(at, len) };
            let encoded = self.encoder.encode_into(&rest, &self.piece);
            self.copy(&self.piece.subarray(0, encoded.written()));
            take(&self.buffer);
            at += encoded.read().max(1);
        }
    }

    /// Hands bytes or text to `take`.
    fn data(&mut self, data: &JsValue, take: impl FnMut(&[u8])) -> Result<(), JsValue> {
        match data.dyn_ref::<JsString>() {
            Some(text) => {
                self.text(text, take);
                Ok(())
            }
            None => self.bytes(data, take),
        }
    }

    /// The whole text as UTF-8.
    fn whole(&mut self, text: &JsString) -> Vec<u8> {
        let mut whole = Vec::with_capacity(text.length() as usize);
        self.text(text, |piece| whole.extend_from_slice(piece));
        whole
    }

    /// Hands what a page pushes to `take`.
    fn bytes(&mut self, data: &JsValue, mut take: impl FnMut(&[u8])) -> Result<(), JsValue> {
        let bytes = if let Some(bytes) = data.dyn_ref::<Uint8Array>() {
            bytes.clone()
        } else if let Some(bytes) = data.dyn_ref::<js_sys::ArrayBuffer>() {
            Uint8Array::new(bytes)
        } else {
            return Err(type_error("push takes a Uint8Array, an ArrayBuffer or a string"));
        };
        let len = bytes.length();
        let mut at = 0;
        while at < len {
            let end = (at + Self::PIECE).min(len);
            if len <= Self::PIECE {
                self.copy(&bytes);
            } else {
                self.copy(&bytes.subarray(at, end));
            }
            take(&self.buffer);
            at = end;
        }
        Ok(())
    }

    fn copy(&mut self, piece: &Uint8Array) {
        self.buffer.resize(piece.length() as usize, 0);
        piece.copy_to(&mut self.buffer);
    }
}

/// One record as JSON text.
fn message_json(message: &JsValue) -> Result<JsString, JsValue> {
    if !message.is_object() {
        return Err(type_error("pushMessage takes an object; push takes text and bytes"));
    }
    let text = JSON::stringify(message).ok().filter(|text| text.is_string());
    text.ok_or_else(|| type_error("pushMessage takes an object that JSON.stringify can write"))
}

/// What JSON.stringify writes, if it does.
fn json_of(value: &JsValue) -> Option<String> {
    JsValue::from(JSON::stringify(value).ok()?).as_string()
}

/// An object as JSON text.
fn object_json(write: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter::default();
    json.object(write);
    json.into_string()
}

/// Calls a listener; what it throws is reported as uncaught and stops nobody else.
fn call(listener: &Function, args: &Array) {
    if let Err(thrown) = listener.apply(&JsValue::UNDEFINED, args) {
        pump::report(&thrown);
    }
}
