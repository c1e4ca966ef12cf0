//! `stream.pipe()`: reads a response or a byte stream to its end, or to an abort.

use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, select};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, ReadableStream, ReadableStreamDefaultReader, Response};

use super::chat::push;
use super::pump::Shared;
use super::{out, property, type_error};
use crate::StreamId;

/// Bytes of an error response's body that are looked at.
const ERROR_BODY_BYTES: usize = 64 << 10;

/// Reads to the end; answers `{ end, stats }`.
pub(super) async fn pipe(
    shared: Rc<Shared>,
    id: StreamId,
    source: JsValue,
    signal: JsValue,
) -> Result<JsValue, JsValue> {
    let signal = match signal.dyn_into::<AbortSignal>() {
        Ok(signal) => Some(signal),
        Err(other) if other.is_undefined() || other.is_null() => None,
        Err(_) => return Err(type_error("signal must be an AbortSignal")),
    };
    let response = source.dyn_ref::<Response>();
    let body = match (response, source.dyn_ref::<ReadableStream>()) {
        (Some(response), _) => response.body(),
        (None, Some(stream)) => Some(stream.clone()),
        (None, None) => return Err(type_error("pipe takes a Response or a ReadableStream")),
    };
    let refused = response.and_then(refusal);
    let Some(body) = body else {
        fail_empty(&shared, id, refused.as_ref())?;
        return ended(&shared, id);
    };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let mut source = Source { reader, abort: Abort::watch(signal) };
    let outcome = match &refused {
        Some(refusal) => source.read_refused(&shared, id, refusal).await,
        None => source.read_all(&shared, id).await,
    };
    match outcome {
        Ok(Read::Aborted) => {
            // The source may be closed or locked by now; either way it is not read on.
            drop(source.reader.cancel());
            shared.change()?.chat.abort(id);
        }
        Ok(Read::Empty) => fail_empty(&shared, id, refused.as_ref())?,
        Ok(Read::Done) => {}
        Err(thrown) => {
            let message = property(&thrown, "message").as_string().unwrap_or_default();
            let mut core = shared.change()?;
            core.chat.fail(id, &message, "read-error", Some(true));
            core.chat.finish(id);
            return Err(thrown);
        }
    }
    ended(&shared, id)
}

/// Why a response is no stream.
enum Refusal {
    Status(u16),
    Type(String),
}

fn refusal(response: &Response) -> Option<Refusal> {
    if !response.ok() {
        return Some(Refusal::Status(response.status()));
    }
    let kind = response.headers().get("content-type").ok().flatten()?;
    kind.starts_with("text/html").then_some(Refusal::Type(kind))
}

enum Read {
    Done,
    Empty,
    Aborted,
}

/// Where bytes come from, and what may stop them.
struct Source {
    reader: ReadableStreamDefaultReader,
    abort: Abort,
}

impl Source {
    /// The next piece; none at the end. `Err(None)`: aborted.
    async fn next(&mut self) -> Result<Option<Uint8Array>, Option<JsValue>> {
        if self.abort.is_aborted() {
            return Err(None);
        }
        let read = JsFuture::from(self.reader.read());
        let result = match select(read, &mut self.abort.told).await {
            Either::Left((result, _)) => result,
            Either::Right(_) => return Err(None),
        };
        // A fetch that its signal ends rejects its body too; that is no failure.
        let result = result.map_err(|thrown| (!self.abort.is_aborted()).then_some(thrown))?;
        if property(&result, "done").is_truthy() {
            return Ok(None);
        }
        let value = property(&result, "value");
        value.dyn_into().map(Some).map_err(|_| Some(type_error("pipe reads a stream of Uint8Array pieces")))
    }

    async fn read_all(&mut self, shared: &Shared, id: StreamId) -> Result<Read, JsValue> {
        let mut empty = true;
        loop {
            match self.next().await {
                Ok(Some(piece)) => {
                    empty &= piece.length() == 0;
                    push(shared, id, &piece)?;
                }
                Ok(None) if empty => return Ok(Read::Empty),
                Ok(None) => return Ok(Read::Done),
                Err(None) => return Ok(Read::Aborted),
                Err(Some(thrown)) => return Err(thrown),
            }
        }
    }

    /// The body of a response that is no stream says why.
    async fn read_refused(&mut self, shared: &Shared, id: StreamId, refusal: &Refusal) -> Result<Read, JsValue> {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY_BYTES {
            match self.next().await {
                Ok(Some(piece)) => body.extend(piece.to_vec()),
                Ok(None) => break,
                Err(None) => return Ok(Read::Aborted),
                Err(Some(thrown)) => return Err(thrown),
            }
        }
        body.truncate(ERROR_BODY_BYTES);
        let body = String::from_utf8_lossy(&body);
        let mut core = shared.change()?;
        match refusal {
            Refusal::Status(status) => core.chat.fail_with_status(id, *status, &body),
            Refusal::Type(kind) => core.chat.fail(id, kind, "content-type", None),
        }
        drop(self.reader.cancel());
        Ok(Read::Done)
    }
}

fn fail_empty(shared: &Shared, id: StreamId, refused: Option<&Refusal>) -> Result<(), JsValue> {
    let mut core = shared.change()?;
    match refused {
        Some(Refusal::Status(status)) => core.chat.fail_with_status(id, *status, ""),
        _ => core.chat.fail(id, "", "empty-body", Some(true)),
    }
    Ok(())
}

fn ended(shared: &Shared, id: StreamId) -> Result<JsValue, JsValue> {
    let mut core = shared.change()?;
    let end = core.chat.finish(id).name();
    Ok(out::stats(&core.chat.stream_tally(id), None, Some(end)))
}

/// An abort signal as a future.
struct Abort {
    signal: Option<AbortSignal>,
    told: oneshot::Receiver<()>,
    /// Kept: without it the receiver would hear of its end.
    _listener: Option<Closure<dyn FnMut()>>,
    _sender: Option<oneshot::Sender<()>>,
}

impl Abort {
    fn watch(signal: Option<AbortSignal>) -> Abort {
        let (sender, told) = oneshot::channel();
        let Some(signal) = signal else {
            return Abort { signal: None, told, _listener: None, _sender: Some(sender) };
        };
        let mut sender = Some(sender);
        let listener = Closure::<dyn FnMut()>::new(move || {
            if let Some(sender) = sender.take() {
                // The reading may have ended already.
                let _ = sender.send(());
            }
        });
        // A signal always takes listeners.
        let _ = signal.add_event_listener_with_callback("abort", listener.as_ref().unchecked_ref());
        Abort { signal: Some(signal), told, _listener: Some(listener), _sender: None }
    }

    fn is_aborted(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::aborted)
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let (Some(signal), Some(listener)) = (&self.signal, &self._listener) {
            let _ = signal.remove_event_listener_with_callback("abort", listener.as_ref().unchecked_ref());
        }
    }
}
