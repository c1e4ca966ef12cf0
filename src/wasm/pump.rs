//! The state that a chat and its streams share, and its beat: after every change the core says when the next batch
//! is due, and one frame or timer is asked for. Listeners are only ever called from there, so never inside a push.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::rc::{Rc, Weak};

use js_sys::{Array, Date, Function};
use wasm_bindgen::prelude::*;
use web_sys::Document;

use super::options::Defaults;
use super::pipe::{self, Stop};
use super::tools::{self, Tools, Waits};
use super::{Inlet, call, error, out, parse, property, type_error};
use crate::json::JsonWriter;
use crate::{ChatRows, Due, Fault, OpBuffer, RowOp, RowSink, StreamId};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    pub(super) fn set_timeout(callback: &Function, millis: f64) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    pub(super) fn clear_timeout(handle: &JsValue);
    #[wasm_bindgen(js_name = requestAnimationFrame)]
    fn request_frame(callback: &Function) -> JsValue;
    #[wasm_bindgen(js_name = cancelAnimationFrame)]
    fn cancel_frame(handle: &JsValue);
    #[wasm_bindgen(js_name = reportError, catch)]
    fn report_error(thrown: &JsValue) -> Result<(), JsValue>;
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(thrown: &JsValue);
}

/// The length of a frame where there are none.
const FRAME_MILLIS: f64 = 16.0;

/// What a thrown value of a listener becomes: an uncaught error of the page.
pub(super) fn report(thrown: &JsValue) {
    if report_error(thrown).is_err() {
        console_error(thrown);
    }
}

/// One chat with its listeners and its beat.
pub(super) struct Shared {
    core: RefCell<Core>,
    listeners: RefCell<Vec<Listener>>,
    next_listener: Cell<u32>,
    /// What is read into streams right now.
    pipes: RefCell<Vec<(StreamId, Stop)>>,
    /// What calls and pages wait for.
    pub waits: RefCell<Waits>,
    beat: RefCell<Beat>,
    /// Itself.
    weak: Weak<Shared>,
    document: Option<Document>,
    callback: Closure<dyn FnMut()>,
}

pub(super) struct Core {
    pub chat: ChatRows,
    pub defaults: Defaults,
    /// Who runs the calls of a stream.
    pub tools: Vec<(StreamId, Tools)>,
    /// The default stream.
    pub default: Option<StreamId>,
    /// First halves of characters that end a stream's last string.
    pub halves: Vec<(StreamId, u32)>,
    pub inlet: Inlet,
    faults_told: u64,
    disposed: bool,
}

struct Listener {
    id: u32,
    kind: ListenerKind,
    function: Function,
    /// It knows nothing yet.
    fresh: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum ListenerKind {
    Ops,
    Buffer,
    Faults,
}

/// What was asked of the page: a frame, with a timer behind it because a page that gets hidden draws none; or a timer.
struct Beat {
    /// Whether there are frames at all: a worker and a server have none.
    has_frames: bool,
    frame: Option<JsValue>,
    timer: Option<(JsValue, f64)>,
}

/// Ops as the listeners want them.
#[derive(Default)]
struct Batch {
    buffer: Option<OpBuffer>,
    plain: Option<JsonWriter>,
}

impl RowSink for Batch {
    fn op(&mut self, op: RowOp<'_>) {
        if let Some(buffer) = &mut self.buffer {
            buffer.op(op);
        }
        if let Some(plain) = &mut self.plain {
            op.write_json(plain);
        }
    }
}

impl Shared {
    pub fn new(chat: ChatRows, defaults: Defaults) -> Rc<Shared> {
        // Asked once: to ask for what is not there costs an exception.
        let global = js_sys::global();
        let document = property(&global, "document").dyn_into::<Document>().ok();
        let has_frames = property(&global, "requestAnimationFrame").is_function();
        Rc::new_cyclic(|weak: &Weak<Shared>| {
            let (weak, itself) = (weak.clone(), weak.clone());
            let callback = Closure::new(move || {
                if let Some(shared) = weak.upgrade() {
                    shared.deliver();
                    shared.schedule(&shared.core.borrow());
                }
            });
            let core = Core {
                chat,
                defaults,
                tools: Vec::new(),
                default: None,
                halves: Vec::new(),
                inlet: Inlet::new(),
                faults_told: 0,
                disposed: false,
            };
            Shared {
                core: RefCell::new(core),
                listeners: RefCell::new(Vec::new()),
                next_listener: Cell::new(1),
                pipes: RefCell::new(Vec::new()),
                waits: RefCell::default(),
                weak: itself,
                beat: RefCell::new(Beat { has_frames, frame: None, timer: None }),
                document,
                callback,
            }
        })
    }

    /// The chat, to look at.
    #[inline(never)]
    pub fn core(&self) -> Result<Ref<'_, Core>, JsValue> {
        let core = self.core.borrow();
        if core.disposed { Err(disposed()) } else { Ok(core) }
    }

    /// The chat at the present time, to change. When it is let go, the change is seen to be handed out.
    #[inline(never)]
    pub fn change(&self) -> Result<Change<'_>, JsValue> {
        let mut core = self.core.borrow_mut();
        if core.disposed {
            return Err(disposed());
        }
        core.chat.set_now(Date::now() as u64);
        Ok(Change { core, shared: self })
    }

    pub fn listen(self: &Rc<Self>, kind: ListenerKind, function: Function) -> Result<Function, JsValue> {
        drop(self.core()?);
        if !function.is_function() {
            return Err(type_error("a listener is a function"));
        }
        let id = self.next_listener.replace(self.next_listener.get() + 1);
        self.listeners.borrow_mut().push(Listener { id, kind, function, fresh: true });
        self.schedule(&self.core.borrow());
        let weak = Rc::downgrade(self);
        let stop = Closure::<dyn FnMut()>::new(move || {
            if let Some(shared) = weak.upgrade() {
                shared.listeners.borrow_mut().retain(|listener| listener.id != id);
            }
        });
        Ok(stop.into_js_value().unchecked_into())
    }

    /// Stops a reading when its stream ends, whoever ended it.
    pub fn stop_at_end(&self, stream: StreamId, stop: Stop) {
        self.pipes.borrow_mut().push((stream, stop));
    }

    #[inline(never)]
    fn changed(&self, core: &Core) {
        self.pipes.borrow_mut().retain(|(stream, stop)| {
            let ended = core.disposed || core.chat.end(*stream).is_some();
            if ended {
                pipe::send(stop);
            }
            !ended
        });
        self.schedule(core);
    }

    pub fn dispose(&self) {
        self.core.borrow_mut().disposed = true;
        self.changed(&self.core.borrow());
        tools::dispose(self);
        self.listeners.borrow_mut().clear();
        self.beat.borrow_mut().stop();
    }

    /// Hands out what is pending, now.
    pub fn deliver(&self) {
        self.beat.borrow_mut().stop();
        let (mut batch, mut all) = (Batch::default(), Batch::default());
        let mut told = Vec::new();
        let faults;
        {
            let mut core = self.core.borrow_mut();
            if core.disposed {
                return;
            }
            core.chat.set_now(Date::now() as u64);
            let mut listeners = self.listeners.borrow_mut();
            for listener in listeners.iter_mut() {
                let wants = if listener.fresh { &mut all } else { &mut batch };
                match listener.kind {
                    ListenerKind::Ops => drop(wants.plain.get_or_insert_default()),
                    ListenerKind::Buffer => drop(wants.buffer.get_or_insert_default()),
                    ListenerKind::Faults => {}
                }
                told.push((listener.kind, listener.function.clone(), std::mem::take(&mut listener.fresh)));
            }
            if told.iter().any(|(kind, ..)| *kind != ListenerKind::Faults) {
                core.chat.drain(&mut batch);
            }
            if all.buffer.is_some() || all.plain.is_some() {
                core.chat.write_all(&mut all);
            }
            let Core { chat, faults_told, .. } = &mut *core;
            let (total, new) = chat.faults_since(*faults_told);
            let heard = told.iter().any(|(kind, ..)| *kind == ListenerKind::Faults);
            faults = if heard { fault_array(new) } else { Array::new() };
            *faults_told = total;
        }
        // The chat is not borrowed from here on: a listener may push.
        let (batch, all) = (Handed::new(batch), Handed::new(all));
        for (kind, function, fresh) in told {
            let ops = if fresh { &all } else { &batch };
            match kind {
                ListenerKind::Buffer => ops.buffer.iter().for_each(|args| call(&function, args)),
                ListenerKind::Ops => ops.plain.iter().for_each(|args| call(&function, args)),
                ListenerKind::Faults => {
                    for fault in faults.iter() {
                        call(&function, &Array::of1(&fault));
                    }
                }
            }
        }
    }

    /// Asks for the next frame or timer, if the core wants one that is not asked for yet.
    #[inline(never)]
    fn schedule(&self, core: &Core) {
        let listeners = self.listeners.borrow();
        if core.disposed || listeners.is_empty() {
            return;
        }
        let fresh = listeners.iter().any(|listener| listener.fresh);
        let untold = core.chat.faults_since(core.faults_told).1.next().is_some();
        let hidden = self.document.as_ref().is_some_and(Document::hidden);
        let due = match core.chat.due(hidden) {
            Due::Never if fresh || untold => Due::Frame,
            Due::After(_) if fresh => Due::Frame,
            due => due,
        };
        let callback = self.callback.as_ref().unchecked_ref();
        let mut beat = self.beat.borrow_mut();
        match due {
            Due::Never => {}
            Due::Frame => beat.ask_frame(callback),
            Due::After(millis) => beat.ask_timer(callback, millis as f64),
        }
    }
}

/// The chat while it is changed.
pub(super) struct Change<'a> {
    core: RefMut<'a, Core>,
    shared: &'a Shared,
}

impl Deref for Change<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        let asked = self.core.chat.take_asked();
        if asked.len() > 0
            && let Some(shared) = self.shared.weak.upgrade()
        {
            tools::attend(shared, asked);
        }
        self.shared.changed(&self.core);
    }
}

/// A batch as the arguments that listeners are called with; none where nothing changed.
struct Handed {
    buffer: Option<Array>,
    plain: Option<Array>,
}

impl Handed {
    fn new(batch: Batch) -> Handed {
        let buffer = batch.buffer.filter(|buffer| !buffer.is_empty());
        let buffer = buffer.map(|buffer| {
            let words = js_sys::Uint32Array::from(&buffer.words[..]);
            Array::of2(&words, &JsValue::from_str(&buffer.text))
        });
        let plain = batch.plain.map(JsonWriter::into_string).filter(|ops| !ops.is_empty());
        let plain = plain.and_then(|ops| parse(&["[", &ops, "]"].concat()).ok()).map(|ops| Array::of1(&ops));
        Handed { buffer, plain }
    }
}

impl Beat {
    fn ask_frame(&mut self, callback: &Function) {
        if self.frame.is_some() {
            return;
        }
        if self.has_frames {
            self.frame = Some(request_frame(callback));
            self.ask_timer(callback, crate::HIDDEN_MILLIS as f64);
        } else {
            self.ask_timer(callback, FRAME_MILLIS);
        }
    }

    fn ask_timer(&mut self, callback: &Function, millis: f64) {
        let at = Date::now() + millis;
        match &self.timer {
            Some((_, asked)) if *asked <= at => return,
            Some((timer, _)) => clear_timeout(timer),
            None => {}
        }
        self.timer = Some((set_timeout(callback, millis), at));
    }

    fn stop(&mut self) {
        if let Some(frame) = self.frame.take() {
            cancel_frame(&frame);
        }
        if let Some((timer, _)) = self.timer.take() {
            clear_timeout(&timer);
        }
    }
}

/// Faults as plain objects.
pub(super) fn fault_array<'a>(faults: impl Iterator<Item = &'a Fault>) -> Array {
    faults.map(out::fault).collect()
}

fn disposed() -> JsValue {
    error("this chat was disposed")
}
