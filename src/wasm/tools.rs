//! Calls that a page runs: what the core asks for goes to the page's functions, and what their promises come to goes
//! back. They are called by a task of their own, so never from inside a push.

use std::rc::Rc;

use js_sys::{Error, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{AbortController, DomException};

use super::chat::args;
use super::pump::Shared;
use super::{error, json_of, out, property};
use crate::{Asked, Outcome, RowId, StreamId, WaitId};

/// What a page gave to run the calls of a stream.
#[derive(Clone)]
pub(super) struct Tools {
    /// A function, or functions by name.
    pub on_tool: JsValue,
    pub on_approval: Option<Function>,
    pub checkpoint: Option<Function>,
}

#[derive(Default)]
pub(super) struct Waits {
    /// What the page was asked and has not answered.
    asked: Vec<(StreamId, WaitId, AbortController)>,
    /// Promises of `ready`: how to resolve and to reject them.
    ready: Vec<(StreamId, Function, Function)>,
}

/// A promise for the end of the stream's turn.
pub(super) fn ready(shared: &Shared, stream: StreamId) -> Promise {
    let core = match shared.core() {
        Ok(core) => core,
        Err(disposed) => return Promise::reject(&disposed),
    };
    match core.chat.is_turn_over(stream) {
        None => Promise::reject(&error("this stream runs no calls: open it with onTool")),
        Some(true) if core.chat.is_turn_aborted(stream) => Promise::reject(&abort_error()),
        Some(true) => Promise::resolve(&JsValue::UNDEFINED),
        Some(false) => Promise::new(&mut |resolve, reject| {
            shared.waits.borrow_mut().ready.push((stream, resolve, reject));
        }),
    }
}

/// What a chat asks for is seen to.
pub(super) fn attend(shared: Rc<Shared>, asked: std::vec::IntoIter<(StreamId, Asked)>) {
    spawn_local(async move {
        for (stream, asked) in asked {
            see_to(&shared, stream, asked);
        }
    });
}

fn see_to(shared: &Rc<Shared>, stream: StreamId, asked: Asked) {
    let (wait, row) = match asked {
        Asked::Checkpoint(wait) => (wait, None),
        Asked::Approve(wait, row) | Asked::Run(wait, row) => (wait, Some(row)),
        Asked::Cancel(wait) => return cancel(shared, stream, wait),
        Asked::Ready => return tell(shared, stream, None),
        Asked::Aborted => return tell(shared, stream, Some(&abort_error())),
    };
    let Some(returned) = ask(shared, stream, asked, wait, row) else { return };
    let shared = shared.clone();
    spawn_local(async move {
        let result = match returned {
            Ok(value) => JsFuture::from(Promise::resolve(&value)).await,
            Err(thrown) => Err(thrown),
        };
        settle(&shared, stream, asked, wait, result);
    });
}

/// Calls the page's function. None: nobody waits for it any more.
fn ask(
    shared: &Shared,
    stream: StreamId,
    asked: Asked,
    wait: WaitId,
    row: Option<RowId>,
) -> Option<Result<JsValue, JsValue>> {
    let (function, call) = {
        let core = shared.core().ok()?;
        if !core.chat.is_waiting(stream, wait) {
            return None;
        }
        let (_, tools) = core.tools.iter().find(|(of, _)| *of == stream)?;
        let tool = row.and_then(|row| core.chat.row(row)?.tool.as_deref());
        let function = match asked {
            Asked::Checkpoint(_) => tools.checkpoint.clone(),
            Asked::Approve(..) => tools.on_approval.clone(),
            _ => match tools.on_tool.dyn_ref::<Function>() {
                Some(function) => Some(function.clone()),
                None => property(&tools.on_tool, &tool?.name).dyn_into().ok(),
            },
        };
        let call = row.zip(tool).map(|(row, tool)| -> Result<JsValue, JsValue> {
            let call = out::call(stream.get(), row.get(), &tool.name, tool.call_id.as_deref());
            Reflect::set(&call, &JsValue::from_str("args"), &args(&core.chat, row)?)?;
            Ok(call)
        });
        (function, call)
    };
    let Ok(controller) = AbortController::new() else { return Some(Err(error("there is no AbortController"))) };
    let context = Object::new();
    drop(Reflect::set(&context, &JsValue::from_str("signal"), &controller.signal()));
    shared.waits.borrow_mut().asked.push((stream, wait, controller));
    let Some(function) = function else { return Some(Err(error("there is no function for this"))) };
    Some(match call {
        None => function.call1(&JsValue::UNDEFINED, &context),
        Some(Ok(call)) => function.call2(&JsValue::UNDEFINED, &call, &context),
        Some(Err(wrong)) => Err(wrong),
    })
}

fn settle(shared: &Shared, stream: StreamId, asked: Asked, wait: WaitId, result: Result<JsValue, JsValue>) {
    shared.waits.borrow_mut().asked.retain(|(of, known, _)| (*of, *known) != (stream, wait));
    // After the chat's end nobody is told.
    let Ok(mut core) = shared.change() else { return };
    let chat = &mut core.chat;
    let value = match result {
        Ok(value) => value,
        Err(thrown) => {
            chat.settle(stream, wait, Outcome::Failed(&words(&thrown)));
            return;
        }
    };
    let outcome = match asked {
        Asked::Approve(..) => match value.as_bool() {
            Some(true) => Outcome::Yes,
            Some(false) => Outcome::No,
            None => Outcome::Failed("onApproval must give true or false"),
        },
        _ => Outcome::Yes,
    };
    if !matches!(asked, Asked::Run(..)) {
        chat.settle(stream, wait, outcome);
        return;
    }
    let shown = |value: &JsValue| {
        let is_none = value.is_undefined() || value.is_null();
        if is_none { None } else { value.as_string().or_else(|| json_of(value)) }
    };
    let own =
        |name: &str| value.dyn_ref::<Object>().is_some_and(|value| Object::has_own(value, &JsValue::from_str(name)));
    let (output, is_error) = match own("output") || own("isError") {
        true => (shown(&property(&value, "output")), property(&value, "isError").is_truthy()),
        false => (shown(&value), false),
    };
    chat.settle(stream, wait, Outcome::Ended { output: output.as_deref(), is_error });
}

fn cancel(shared: &Shared, stream: StreamId, wait: WaitId) {
    let controller = {
        let asked = &mut shared.waits.borrow_mut().asked;
        let place = asked.iter().position(|(of, known, _)| (*of, *known) == (stream, wait));
        place.map(|place| asked.swap_remove(place).2)
    };
    // Its listeners are the page's, and may come back here.
    controller.iter().for_each(|controller| controller.abort_with_reason(&abort_error()));
}

/// Resolves or rejects who waits for the stream to be ready.
fn tell(shared: &Shared, stream: StreamId, wrong: Option<&JsValue>) {
    let told: Vec<_> = shared.waits.borrow_mut().ready.extract_if(.., |(of, ..)| *of == stream).collect();
    for (_, resolve, reject) in told {
        let function = if wrong.is_some() { reject } else { resolve };
        drop(function.call1(&JsValue::UNDEFINED, wrong.unwrap_or(&JsValue::UNDEFINED)));
    }
}

/// The chat is no more: nobody waits for anything.
pub(super) fn dispose(shared: &Shared) {
    let Waits { asked, ready } = std::mem::take(&mut *shared.waits.borrow_mut());
    for (_, _, controller) in asked {
        controller.abort_with_reason(&abort_error());
    }
    for (_, _, reject) in ready {
        drop(reject.call1(&JsValue::UNDEFINED, &abort_error()));
    }
}

fn abort_error() -> JsValue {
    let made = DomException::new_with_message_and_name("the turn was aborted", "AbortError");
    made.map_or_else(|wrong| wrong, JsValue::from)
}

/// What a thrown value says.
fn words(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<Error>() {
        Some(error) => error.message().into(),
        None => thrown.as_string().or_else(|| json_of(thrown)).unwrap_or_default(),
    }
}
