//! `stream.pipe()`: reads a response or a byte stream to its end, or to an abort.

use std::cell::Cell;
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

/// Why a response is no stream.
enum Refusal {
    Status(u16),
    Type(String),
}

/// How the reading ended.
enum Read {
    Done,
    Aborted,
    Failed(JsValue),
}

/// What is to be read.
pub(super) struct Pipe {
    shared: Rc<Shared>,
    id: StreamId,
    reader: Option<ReadableStreamDefaultReader>,
    refusal: Option<Refusal>,
    abort: Abort,
}

impl Pipe {
    /// Looks at the arguments of `pipe`.
    pub fn new(shared: Rc<Shared>, id: StreamId, source: &JsValue, signal: JsValue) -> Result<Pipe, JsValue> {
        let signal = match signal.dyn_into::<AbortSignal>() {
            Ok(signal) => Some(signal),
            Err(other) if other.is_undefined() || other.is_null() => None,
            Err(_) => return Err(type_error("signal must be an AbortSignal")),
        };
        let (body, refusal) = if let Some(response) = source.dyn_ref::<Response>() {
            (response.body(), refusal(response))
        } else if let Some(stream) = source.dyn_ref::<ReadableStream>() {
            (Some(stream.clone()), None)
        } else {
            return Err(type_error("pipe takes a Response or a ReadableStream"));
        };
        if body.as_ref().is_some_and(ReadableStream::locked) {
            return Err(type_error("the stream is read by somebody else, or was read already"));
        }
        let reader = body.map(|body| body.get_reader().unchecked_into());
        let abort = Abort::watch(signal);
        // The stream's own end stops the reading too.
        shared.stop_at_end(id, abort.sender.clone());
        Ok(Pipe { shared, id, reader, refusal, abort })
    }

    /// Reads to the end; answers `{ end, stats }`.
    pub async fn run(mut self) -> Result<JsValue, JsValue> {
        let (mut bytes, mut body) = (0, Vec::new());
        let read = loop {
            if self.abort.is_aborted() {
                break Read::Aborted;
            }
            let Some(reader) = &self.reader else { break Read::Done };
            let read = JsFuture::from(reader.read());
            let read = match select(read, &mut self.abort.told).await {
                Either::Left((read, _)) => read,
                Either::Right(_) => break Read::Aborted,
            };
            match read.and_then(|read| self.take(&read, &mut body)) {
                Ok(Some(len)) => bytes += len,
                Ok(None) => break Read::Done,
                // A fetch that its signal ends rejects its body too; that is no failure.
                Err(_) if self.abort.is_aborted() => break Read::Aborted,
                Err(thrown) => break Read::Failed(thrown),
            }
        };
        self.end(read, bytes, &body)
    }

    /// Takes what one read brought; answers how many bytes that was, none at the end.
    fn take(&self, read: &JsValue, body: &mut Vec<u8>) -> Result<Option<usize>, JsValue> {
        if property(read, "done").is_truthy() || body.len() > ERROR_BODY_BYTES {
            return Ok(None);
        }
        let Ok(piece) = property(read, "value").dyn_into::<Uint8Array>() else {
            return Err(type_error("pipe reads a stream of Uint8Array pieces"));
        };
        match self.refusal {
            Some(_) => body.extend(piece.to_vec()),
            None => push(&self.shared, self.id, &piece)?,
        }
        Ok(Some(piece.length() as usize))
    }

    fn end(&self, read: Read, bytes: usize, body: &[u8]) -> Result<JsValue, JsValue> {
        if let Some(reader) = self.reader.as_ref().filter(|_| !matches!(read, Read::Done) || self.refusal.is_some()) {
            // A source that is closed or broken by now refuses; as a future its refusal counts as heard.
            drop(JsFuture::from(reader.cancel()));
        }
        let (mut core, id) = (self.shared.change()?, self.id);
        match (&read, &self.refusal) {
            (Read::Aborted, _) => drop(core.chat.abort(id)),
            (Read::Failed(thrown), _) => {
                let message = property(thrown, "message").as_string().unwrap_or_default();
                core.chat.fail(id, &message, "read-error", Some(true));
            }
            (Read::Done, Some(Refusal::Status(status))) => {
                core.chat.fail_with_status(id, *status, &String::from_utf8_lossy(body));
            }
            (Read::Done, Some(Refusal::Type(kind))) => core.chat.fail(id, kind, "content-type", None),
            (Read::Done, None) if bytes == 0 => core.chat.fail(id, "", "empty-body", Some(true)),
            (Read::Done, None) => {}
        }
        let end = core.chat.finish(id).name();
        match read {
            Read::Failed(thrown) => Err(thrown),
            _ => Ok(out::stats(&core.chat.stream_tally(id), None, Some(end))),
        }
    }
}

fn refusal(response: &Response) -> Option<Refusal> {
    if !response.ok() {
        return Some(Refusal::Status(response.status()));
    }
    let kind = response.headers().get("content-type").ok().flatten()?;
    kind.to_ascii_lowercase().starts_with("text/html").then_some(Refusal::Type(kind))
}

/// What may stop the reading, as a future.
struct Abort {
    signal: Option<AbortSignal>,
    told: oneshot::Receiver<()>,
    /// Kept: without it the receiver would hear of its end.
    sender: Stop,
    listener: Closure<dyn FnMut()>,
}

impl Abort {
    fn watch(signal: Option<AbortSignal>) -> Abort {
        let (sender, told) = oneshot::channel();
        let sender = Rc::new(Cell::new(Some(sender)));
        let stop = sender.clone();
        let listener = Closure::<dyn FnMut()>::new(move || send(&stop));
        if let Some(signal) = &signal {
            // A signal always takes listeners.
            let _ = signal.add_event_listener_with_callback("abort", listener.as_ref().unchecked_ref());
        }
        Abort { signal, told, sender, listener }
    }

    fn is_aborted(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::aborted)
    }
}

/// Stops a reading; once.
pub(super) type Stop = Rc<Cell<Option<oneshot::Sender<()>>>>;

pub(super) fn send(stop: &Stop) {
    if let Some(sender) = stop.take() {
        // The reading may have ended already.
        let _ = sender.send(());
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(signal) = &self.signal {
            let _ = signal.remove_event_listener_with_callback("abort", self.listener.as_ref().unchecked_ref());
        }
    }
}
