//! What an editor sends to an agent that speaks the Agent Client Protocol.

use wasm_bindgen::prelude::*;

use super::{id, json_of, property, string, type_error};
use crate::{AcpAnswer, ChatRows, PromptPart, RowId, acp_cancel, acp_prompt};

/// The request `session/prompt`.
#[wasm_bindgen(js_name = acpPrompt, skip_typescript)]
pub fn prompt(request: &JsValue, session: &JsValue, text: &JsValue) -> Result<String, JsValue> {
    let request = id(request).ok_or_else(|| type_error("acpPrompt takes a whole number from 1 as the request's id"))?;
    let (session, text) = (string(session, "acpPrompt")?, string(text, "acpPrompt")?);
    Ok(acp_prompt(u64::from(request), &session, &[PromptPart::Text(&text)]))
}

/// The notification `session/cancel`.
#[wasm_bindgen(js_name = acpCancel, skip_typescript)]
pub fn cancel(session: &JsValue) -> Result<String, JsValue> {
    Ok(acp_cancel(&string(session, "acpCancel")?))
}

/// The answer to what a row asks: `{ option }`, `{ answer }`, `{ answers }`, `"decline"` or nothing.
pub(super) fn reply(chat: &ChatRows, row: RowId, answer: &JsValue) -> Result<JsValue, JsValue> {
    let option = property(answer, "option").as_string();
    let values =
        [property(answer, "answers"), property(answer, "answer")].into_iter().find(|value| !value.is_undefined());
    let values = values.as_ref().and_then(json_of);
    let answer = match (&option, &values) {
        (Some(option), _) => AcpAnswer::Option(option),
        (_, Some(values)) => AcpAnswer::Values(values),
        _ if answer.as_string().as_deref() == Some("decline") => AcpAnswer::Decline,
        _ if answer.is_undefined() || answer.is_null() => AcpAnswer::Cancel,
        _ => return Err(type_error("acpReply takes { option }, { answer }, { answers }, \"decline\" or null")),
    };
    Ok(chat.acp_reply(row, answer).map_or(JsValue::UNDEFINED, JsValue::from))
}
