//! The class `ChatRows`.

use std::borrow::Cow;
use std::rc::Rc;

use js_sys::{Array, Function, JsString, Object, Promise};
use wasm_bindgen::prelude::*;

use super::options::{chat_options, know, stream_options};
use super::pump::{Core, ListenerKind, Shared, fault_array};
use super::stream::JsChatStream;
use super::tools::Tools;
use super::{
    error, id, json_of, message_json, optional_string, out, parse, property, row_id, string, string_property,
    type_error,
};
use crate::{ChatRows, RowId, StreamId, StreamOptions, ToolError, ToolRef};

/// One chat. See `types.ts` for what each method does.
#[wasm_bindgen(js_name = ChatRows, skip_typescript)]
pub struct JsChatRows {
    shared: Rc<Shared>,
    locale: Option<String>,
}

#[wasm_bindgen(js_class = ChatRows)]
impl JsChatRows {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(options: &JsValue) -> Result<JsChatRows, JsValue> {
        let given = chat_options(options)?;
        Ok(JsChatRows { shared: Shared::new(ChatRows::new(given.options), given.defaults), locale: given.locale })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn restore(snapshot: &JsValue, options: &JsValue) -> Result<JsChatRows, JsValue> {
        let given = chat_options(options)?;
        let json = if snapshot.is_object() { json_of(snapshot) } else { snapshot.as_string() };
        let json = json.ok_or_else(|| type_error("restore takes what snapshot gave, or its JSON text"))?;
        let chat = ChatRows::restore(&json, given.options).map_err(|error| type_error(&error.to_string()))?;
        Ok(JsChatRows { shared: Shared::new(chat, given.defaults), locale: given.locale })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn snapshot(&self) -> Result<JsValue, JsValue> {
        parse(&self.shared.core()?.chat.snapshot_json())
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn locale(&self) -> Option<String> {
        self.locale.clone()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn push(&self, data: &JsValue) -> Result<(), JsValue> {
        let stream = self.default_stream()?;
        push(&self.shared, stream, data)
    }

    #[wasm_bindgen(js_name = pushMessage, skip_typescript)]
    pub fn push_message(&self, message: &JsValue) -> Result<(), JsValue> {
        let json = message_json(message)?;
        let stream = self.default_stream()?;
        push_message(&self.shared, stream, &json)
    }

    #[cfg(feature = "acp")]
    #[wasm_bindgen(js_name = acpReply, skip_typescript)]
    pub fn acp_reply(&self, row: &JsValue, answer: &JsValue) -> Result<JsValue, JsValue> {
        let row = row_id(row).ok_or_else(|| super::type_error("acpReply takes the id of a row"))?;
        super::acp::reply(&self.shared.core()?.chat, row, answer)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn finish(&self) -> Result<JsValue, JsValue> {
        let default = self.shared.core()?.default;
        default.map_or(Ok(JsValue::NULL), |stream| finish(&self.shared, stream))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn abort(&self, reason: &JsValue) -> Result<JsValue, JsValue> {
        let reason = optional_string(reason, "abort")?;
        let mut core = self.shared.change()?;
        let Core { chat, default, .. } = &mut *core;
        let end = default.map(|stream| chat.abort_because(stream, reason.as_deref()));
        Ok(end.map_or(JsValue::NULL, |end| JsValue::from_str(end.name())))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn stream(&self, options: &JsValue) -> Result<JsChatStream, JsValue> {
        let mut core = self.shared.change()?;
        let (options, tools) = stream_options(options, &core.defaults)?;
        let id = open(&mut core, options, tools);
        drop(core);
        Ok(JsChatStream::new(self.shared.clone(), id))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn ready(&self) -> Promise {
        let default = self.default_stream();
        default.map_or_else(|wrong| Promise::reject(&wrong), |stream| super::tools::ready(&self.shared, stream))
    }

    #[wasm_bindgen(js_name = addUser, skip_typescript)]
    pub fn add_user(&self, text: &JsValue) -> Result<u32, JsValue> {
        let text = string(text, "addUser")?;
        Ok(self.shared.change()?.chat.add_user(&text).map_or(0, RowId::get))
    }

    #[wasm_bindgen(js_name = toolStarted, skip_typescript)]
    pub fn tool_started(&self, reference: &JsValue) -> Result<(), JsValue> {
        self.tool(reference, &mut |chat, call| chat.tool_started(call))
    }

    #[wasm_bindgen(js_name = toolProgress, skip_typescript)]
    pub fn tool_progress(&self, reference: &JsValue, progress: &JsValue) -> Result<(), JsValue> {
        know(progress, "progress", &["output", "append", "title"])?;
        let output = string_property(progress, "output")?;
        let append = string_property(progress, "append")?;
        let title = string_property(progress, "title")?;
        self.tool(reference, &mut |chat, call| {
            chat.tool_progress(call, output.as_deref(), append.as_deref(), title.as_deref())
        })
    }

    #[wasm_bindgen(js_name = toolResult, skip_typescript)]
    pub fn tool_result(&self, reference: &JsValue, result: &JsValue) -> Result<(), JsValue> {
        know(result, "result", &["output", "isError"])?;
        let output = string_property(result, "output")?;
        let is_error = property(result, "isError").is_truthy();
        self.tool(reference, &mut |chat, call| chat.tool_result(call, output.as_deref(), is_error))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn rows(&self) -> Result<JsValue, JsValue> {
        parse(&self.shared.core()?.chat.rows_json())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn panels(&self) -> Result<JsValue, JsValue> {
        parse(&self.shared.core()?.chat.panels_json())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn args(&self, row: &JsValue) -> Result<JsValue, JsValue> {
        row_id(row).map_or(Ok(JsValue::UNDEFINED), |row| args(&self.shared.core()?.chat, row))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        let core = self.shared.core()?;
        Ok(out::stats(&core.chat.tally(), Some(core.chat.counts()), None))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn faults(&self) -> Result<Array, JsValue> {
        Ok(fault_array(self.shared.core()?.chat.faults()))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn subscribe(&self, listener: Function) -> Result<Function, JsValue> {
        self.shared.listen(ListenerKind::Ops, listener)
    }

    #[wasm_bindgen(js_name = subscribeBuffer, skip_typescript)]
    pub fn subscribe_buffer(&self, listener: Function) -> Result<Function, JsValue> {
        self.shared.listen(ListenerKind::Buffer, listener)
    }

    #[wasm_bindgen(js_name = onFault, skip_typescript)]
    pub fn on_fault(&self, listener: Function) -> Result<Function, JsValue> {
        self.shared.listen(ListenerKind::Faults, listener)
    }

    #[wasm_bindgen(js_name = truncateFrom, skip_typescript)]
    pub fn truncate_from(&self, row: &JsValue) -> Result<(), JsValue> {
        let mut core = self.shared.change()?;
        let known = row_id(row).is_some_and(|id| core.chat.truncate_from(id));
        if known { Ok(()) } else { Err(error("there is no row with this id")) }
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn reset(&self) -> Result<(), JsValue> {
        self.shared.change()?.chat.reset();
        Ok(())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn flush(&self) -> Result<(), JsValue> {
        drop(self.shared.core()?);
        self.shared.deliver();
        Ok(())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn dispose(&self) {
        self.shared.dispose();
    }

    /// The default stream; after its end the next one.
    fn default_stream(&self) -> Result<StreamId, JsValue> {
        let mut core = self.shared.change()?;
        if let Some(stream) = core.default.filter(|stream| core.chat.end(*stream).is_none()) {
            return Ok(stream);
        }
        let (options, tools) = stream_options(&JsValue::UNDEFINED, &core.defaults)?;
        let stream = open(&mut core, options, tools);
        core.default = Some(stream);
        Ok(stream)
    }

    fn tool(
        &self,
        reference: &JsValue,
        act: &mut dyn FnMut(&mut ChatRows, ToolRef<'_>) -> Result<(), ToolError>,
    ) -> Result<(), JsValue> {
        let row = row_id(reference).map(ToolRef::Row);
        let call_id = if row.is_none() { string_property(reference, "callId")? } else { None };
        let stream = id(&property(&property(reference, "stream"), "id"));
        let mut core = self.shared.change()?;
        let call = || Some(ToolRef::Call(core.chat.stream_numbered(stream?)?, call_id.as_deref()?));
        match row.or_else(call) {
            Some(call) => act(&mut core.chat, call).map_err(|thrown| error(&thrown.to_string())),
            None => Err(type_error("name the call by its row id or as { stream, callId }")),
        }
    }
}

/// Opens a stream.
fn open(core: &mut Core, options: StreamOptions, tools: Option<Tools>) -> StreamId {
    let stream = core.chat.stream(options);
    core.tools.extend(tools.map(|tools| (stream, tools)));
    stream
}

/// The arguments of a call that may be executed, or was.
pub(super) fn args(chat: &ChatRows, row: RowId) -> Result<JsValue, JsValue> {
    let Some(args) = chat.args(row) else { return Ok(JsValue::UNDEFINED) };
    let parsed = parse(&args)?;
    if let (Cow::Owned(_), Some(parameters)) = (args, parsed.dyn_ref::<Object>()) {
        // Names come from the message: none of them is to find anything of a prototype's.
        Object::set_prototype_of(parameters, JsValue::NULL.unchecked_ref());
    }
    Ok(parsed)
}

/// Pushes bytes or text.
pub(super) fn push(shared: &Shared, stream: StreamId, data: &JsValue) -> Result<(), JsValue> {
    let mut core = shared.change()?;
    let Core { chat, inlet, halves, .. } = &mut *core;
    // Two strings may share a character: its first half waits for the string after.
    let waiting = halves.iter().position(|(of, _)| *of == stream).map(|place| halves.swap_remove(place).1);
    let Some(text) = data.dyn_ref::<JsString>() else {
        if waiting.is_some() {
            chat.push(stream, "\u{fffd}".as_bytes());
        }
        return inlet.bytes(data, |bytes| chat.push(stream, bytes));
    };
    let joined = waiting.map(|half| JsString::from_char_code1(half).concat(text));
    let mut text = joined.as_ref().unwrap_or(text).clone();
    if let Some(end) = text.length().checked_sub(1) {
        let last = text.char_code_at(end) as u32;
        if (0xD800..0xDC00).contains(&last) {
            halves.push((stream, last));
            text = text.slice(0, end);
        }
    }
    inlet.text(&text, |bytes| chat.push(stream, bytes));
    Ok(())
}

/// One record of a stream.
pub(super) fn push_message(shared: &Shared, stream: StreamId, json: &JsString) -> Result<(), JsValue> {
    let mut core = shared.change()?;
    let Core { chat, inlet, .. } = &mut *core;
    chat.push_message(stream, &inlet.whole(json));
    Ok(())
}

/// Ends the stream; half a character that still waits stands alone.
pub(super) fn finish(shared: &Shared, stream: StreamId) -> Result<JsValue, JsValue> {
    let mut core = shared.change()?;
    let Core { chat, halves, .. } = &mut *core;
    if halves.iter().any(|(of, _)| *of == stream) {
        halves.retain(|(of, _)| *of != stream);
        chat.push(stream, "\u{fffd}".as_bytes());
    }
    Ok(JsValue::from_str(chat.finish(stream).name()))
}

impl Drop for JsChatRows {
    fn drop(&mut self) {
        self.shared.dispose();
    }
}
