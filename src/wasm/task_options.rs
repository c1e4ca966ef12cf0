//! What a page tells a `TaskStreamClient`: its options, an input with its files, answers to a question.

use js_sys::{Array, Function, Math};
use wasm_bindgen::prelude::*;
use web_sys::{AbortSignal, EventTarget};

use super::options::{know, whole_number};
use super::{json_of, object_json, property, string, string_property, type_error};
use crate::json::{Tape, Value};
use crate::{DataForm, LinkOptions, TaskMode, UserInput};

/// What a client is made with.
pub(super) struct TaskOptions {
    pub link: LinkOptions,
    pub signal: Option<EventTarget>,
    pub classify: Option<Function>,
    pub load_history: Option<Function>,
    pub on_event: Option<Function>,
}

const NAMES: [&str; 18] = [
    "url",
    "task",
    "mode",
    "input",
    "attachments",
    "autoApprove",
    "autoAnswer",
    "timeout",
    "maxDials",
    "silence",
    "dropSilent",
    "backoff",
    "stopCodes",
    "data",
    "classify",
    "loadHistory",
    "onEvent",
    "signal",
];

/// A number that JavaScript counts with exactly.
const MAX_MILLIS: f64 = 9_007_199_254_740_991.0;

pub(super) fn task_options(value: &JsValue) -> Result<TaskOptions, JsValue> {
    know(value, "options", &NAMES)?;
    let text = |name: &str| string(&property(value, name), name);
    let millis = |name: &str| whole_number(&property(value, name), name, MAX_MILLIS);
    let function = |name: &str| -> Result<Option<Function>, JsValue> {
        let given = Some(property(value, name)).filter(|given| !given.is_undefined() && !given.is_null());
        let function = given.map(|given| given.dyn_into());
        function.transpose().map_err(|_| type_error(&[name, " must be a function"].concat()))
    };
    let said = string_property(value, "input")?;
    let mode = match string_property(value, "mode")?.as_deref() {
        Some("new") => TaskMode::New,
        Some("attach") => TaskMode::Attach,
        None if said.is_some() => TaskMode::New,
        None => TaskMode::Attach,
        Some(_) => return Err(type_error("mode is \"new\" or \"attach\"")),
    };
    let mut link = LinkOptions::new(text("url")?, text("task")?, mode);
    link.input = match said {
        Some(said) => Some(attach(said, value)?),
        None if property(value, "attachments").is_truthy() => return Err(type_error("attachments go with an input")),
        None => None,
    };
    link.auto_approve = property(value, "autoApprove").is_truthy();
    link.auto_answer = property(value, "autoAnswer").is_truthy();
    link.drop_silent = property(value, "dropSilent").is_truthy();
    link.form = match string_property(value, "data")?.as_deref() {
        None | Some("base64") => DataForm::Base64,
        Some("plain") => DataForm::Plain,
        Some(_) => return Err(type_error("data is \"base64\" or \"plain\"")),
    };
    link.timeout = millis("timeout")?.map_or(link.timeout, |millis| millis as u64);
    link.silence = millis("silence")?.map_or(link.silence, |millis| millis as u64);
    let dials = whole_number(&property(value, "maxDials"), "maxDials", f64::from(u32::MAX))?;
    link.max_dials = dials.map_or(link.max_dials, |dials| dials as u32);
    let backoff = property(value, "backoff");
    know(&backoff, "backoff", &["first", "max", "jitter"])?;
    for (name, millis) in [("first", &mut link.backoff.first), ("max", &mut link.backoff.max)] {
        *millis = whole_number(&property(&backoff, name), name, MAX_MILLIS)?.map_or(*millis, |given| given as u64);
    }
    link.backoff.jitter = match property(&backoff, "jitter") {
        none if none.is_undefined() => link.backoff.jitter,
        given => given
            .as_f64()
            .filter(|share| (0.0..=1.0).contains(share))
            .ok_or_else(|| type_error("jitter must be a number from 0 to 1"))?,
    };
    link.random = Math::random;
    if let Some(codes) = list(value, "stopCodes")? {
        let codes = codes.iter().map(|code| whole_number(&code, "a stop code", f64::from(u16::MAX)));
        link.stop_codes = codes.map(|code| Ok(code?.unwrap_or_default() as u16)).collect::<Result<_, JsValue>>()?;
    }
    let classify = function("classify")?;
    link.classify = classify.is_some();
    let signal = match property(value, "signal").dyn_into::<AbortSignal>() {
        Ok(signal) => Some(signal.into()),
        Err(other) if other.is_undefined() || other.is_null() => None,
        Err(_) => return Err(type_error("signal must be an AbortSignal")),
    };
    Ok(TaskOptions { link, signal, classify, load_history: function("loadHistory")?, on_event: function("onEvent")? })
}

/// What the user says, with its files.
pub(super) fn input(text: String, options: &JsValue) -> Result<UserInput, JsValue> {
    know(options, "options", &["attachments"])?;
    attach(text, options)
}

fn attach(text: String, options: &JsValue) -> Result<UserInput, JsValue> {
    let mut input = UserInput::new(text);
    for file in list(options, "attachments")?.iter().flat_map(|files| files.iter()) {
        know(&file, "an attachment", &["url", "filename"])?;
        let text = |name: &str| string(&property(&file, name), name);
        input = input.attach(text("url")?, text("filename")?).map_err(|wrong| type_error(&wrong.to_string()))?;
    }
    Ok(input)
}

/// A property that is an array, if it is there at all.
fn list(value: &JsValue, name: &str) -> Result<Option<Array>, JsValue> {
    match property(value, name) {
        none if none.is_undefined() || none.is_null() => Ok(None),
        list => list.dyn_into().map(Some).map_err(|_| type_error(&[name, " must be an array"].concat())),
    }
}

/// Answers by the words of their questions, as JSON. `only`: the words of the one question there is.
pub(super) fn answers_json(only: Option<&str>, answers: &JsValue) -> Result<String, JsValue> {
    let (json, mut tape) = (json_of(answers).unwrap_or_default(), Tape::default());
    let record = tape.read(&json);
    let answers = record.as_ref().map_or(Value::ABSENT, |record| record.root());
    let is_label = |value: Value<'_>| value.str().is_some();
    let is_answer = |value: Value<'_>| is_label(value) || value.is_array() && value.items().all(is_label);
    if is_answer(answers) {
        let only = only.ok_or_else(|| type_error("of several questions, say which: { [question]: answer }"))?;
        return Ok(object_json(|object| object.key(only).raw(&json)));
    }
    if answers.is_object() && answers.members().all(|(_, answer)| is_answer(answer)) {
        return Ok(json);
    }
    Err(type_error("answers are a string, an array of strings, an object of these by question, or null"))
}
