//! The class `ChatStream`.

use std::rc::Rc;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use super::chat::{finish, push, push_message};
use super::pipe::Pipe;
use super::pump::{Core, Shared, fault_array};
use super::{message_json, optional_string, out, parse, property, type_error};
use crate::StreamId;

/// One source feeding a chat. See `types.ts` for what each method does.
#[wasm_bindgen(js_name = ChatStream, skip_typescript)]
pub struct JsChatStream {
    shared: Rc<Shared>,
    id: StreamId,
}

impl JsChatStream {
    pub(super) fn new(shared: Rc<Shared>, id: StreamId) -> Self {
        JsChatStream { shared, id }
    }

    pub(super) fn into_parts(self) -> (Rc<Shared>, StreamId) {
        (self.shared, self.id)
    }
}

#[wasm_bindgen(js_class = ChatStream)]
impl JsChatStream {
    #[wasm_bindgen(getter, skip_typescript)]
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn end(&self) -> Result<JsValue, JsValue> {
        Ok(self.shared.core()?.chat.end(self.id).map_or(JsValue::NULL, |end| JsValue::from_str(end.name())))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn push(&self, data: &JsValue) -> Result<(), JsValue> {
        push(&self.shared, self.id, data)
    }

    #[wasm_bindgen(js_name = pushMessage, skip_typescript)]
    pub fn push_message(&self, message: &JsValue) -> Result<(), JsValue> {
        push_message(&self.shared, self.id, &message_json(message)?)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn finish(&self) -> Result<JsValue, JsValue> {
        finish(&self.shared, self.id)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn abort(&self, reason: &JsValue) -> Result<JsValue, JsValue> {
        let reason = optional_string(reason, "abort")?;
        let mut core = self.shared.change()?;
        Ok(JsValue::from_str(core.chat.abort_because(self.id, reason.as_deref()).name()))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn restart(&self, options: &JsValue) -> Result<(), JsValue> {
        let from = property(options, "from");
        let from = if from.is_undefined() { "beginning".to_owned() } else { from.as_string().unwrap_or_default() };
        match from.as_str() {
            "beginning" => self.shared.change()?.chat.restart(self.id),
            "turn" if self.shared.change()?.chat.restart_turn(self.id) => {}
            "turn" => return Err(type_error("only a \"task-stream\" that has not ended repeats its turn")),
            _ => return Err(type_error("a stream restarts { from: \"beginning\" } or { from: \"turn\" }")),
        }
        Ok(())
    }

    #[wasm_bindgen(js_name = loadHistory, skip_typescript)]
    pub fn load_history(&self, page: &JsValue) -> Result<(), JsValue> {
        let json = message_json(page)?;
        let mut core = self.shared.change()?;
        let Core { chat, inlet, .. } = &mut *core;
        chat.load_history(self.id, &inlet.whole(&json));
        Ok(())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn pipe(&self, source: &JsValue, options: &JsValue) -> Promise {
        let signal = property(options, "signal");
        match Pipe::new(self.shared.clone(), self.id, source, signal) {
            Ok(pipe) => future_to_promise(pipe.run()),
            Err(wrong) => Promise::reject(&wrong),
        }
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn ready(&self) -> Promise {
        super::tools::ready(&self.shared, self.id)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn turn(&self) -> Result<JsValue, JsValue> {
        self.shared.core()?.chat.turn_json(self.id).map_or(Ok(JsValue::NULL), |json| parse(&json))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        Ok(out::stats(&self.shared.core()?.chat.stream_tally(self.id), None, None))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn faults(&self) -> Result<Array, JsValue> {
        let ours = |fault: &&crate::Fault| fault.stream == self.id.get();
        Ok(fault_array(self.shared.core()?.chat.faults().filter(ours)))
    }
}
