//! What the link reads in a frame's `data`: a question's id, and answers that are given without asking the user.

use std::borrow::Cow;

use super::base64::decode_text;
use super::request::Reply;
use crate::json::{JsonWriter, Tape, Value, skip_space};

/// The JSON text of a frame's `data` in any of its forms: a value in place, JSON text in a string, or base64 of it; of
/// a string that is none of these the words themselves.
pub(crate) fn data_text(data: Value<'_>) -> Cow<'_, str> {
    let Some(text) = data.str() else { return Cow::Borrowed(data.raw()) };
    let text = text.text();
    let first = text.as_bytes().get(skip_space(text.as_bytes(), 0));
    if matches!(first, Some(b'{' | b'[' | b'"')) {
        return text;
    }
    // Words may be base64 by their letters; what comes of them then is hardly text.
    let is_text = |text: &String| !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    decode_text(&text).filter(is_text).map_or(text, Cow::Owned)
}

/// The question that an answer of these `data` was given to.
pub(super) fn answered_id(data: Value<'_>) -> Option<Box<str>> {
    let (text, mut tape) = (data_text(data), Tape::default());
    let record = tape.read(&text).ok()?;
    Some(record.root().get("request_id").str()?.text().into())
}

/// The answer to a question of these `data`: of each of its questions the first option, in an array where several may
/// be chosen. A question without options is left out, for no words are put into the user's mouth. The question is known
/// by `toolCall.toolCallId`, or by `request_id` or `id` at the top, or by nothing, which is `""`.
pub(super) fn automatic(data: Value<'_>) -> Reply {
    let (text, mut tape) = (data_text(data), Tape::default());
    let record = tape.read(&text);
    let data = record.as_ref().map_or(Value::ABSENT, |record| record.root());
    let call = data.get("toolCall");
    let ids = [call.get("toolCallId"), data.get("request_id"), data.get("id")];
    let id = ids.into_iter().find_map(Value::str).map(|id| id.text()).unwrap_or_default();
    let input = call.get("rawInput");
    let asked = call.get("_meta").get("askUserQuestion");
    let places = [input, asked, data].into_iter();
    let questions = places.map(|place| place.get("questions")).find(|list| list.is_array()).unwrap_or(asked);
    let mut json = JsonWriter::default();
    json.object(|json| {
        for question in questions.items() {
            let option = question.get("options").at(0);
            let label = option.get("label").str().or(option.str());
            let (Some(name), Some(label)) = (question.get("question").str(), label) else { continue };
            let several = [question.get("multiple"), question.get("multiSelect"), input.get("multiple")];
            let json = json.key(&name.text());
            if several.into_iter().find_map(Value::bool) == Some(true) {
                json.array(|json| json.string(&label.text()));
            } else {
                json.string(&label.text());
            }
        }
    });
    Reply::written(&id, json)
}
