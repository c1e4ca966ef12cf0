//! The class `TaskStreamClient`: a task's connection policy on a real WebSocket. What the socket, the clock and the
//! page do is told to the link, and what the link asks for is done at once. A page's functions are called when nothing
//! is left to do, so that they may call anything here.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use futures::channel::oneshot;
use js_sys::{Array, Date, Function, JsString, Promise};
use wasm_bindgen::convert::TryFromJsValue;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise, spawn_local};
use web_sys::{BinaryType, Document, EventTarget, WebSocket};

use super::pump::{Core, Shared, clear_timeout, report, set_timeout};
use super::stream::JsChatStream;
use super::task_options::{TaskOptions, answers_json, input, task_options};
use super::{Inlet, call, error, json_of, object_json, parse, property, row_id, string, type_error};
use crate::json::Tape;
use crate::{
    Action, ChatRows, Connection, Fact, Heard, LinkEnd, LinkState, PanelName, Reply, Row, RowState, StreamId,
    TaskEvents, TaskLink, TaskMode,
};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}

/// The longest delay that a timer takes.
const LONGEST_TIMER: u64 = i32::MAX as u64;

/// The close code of an address that the browser does not even dial: that of a server that says 400.
const NO_ADDRESS: u16 = 4400;

const SOCKET_EVENTS: [&str; 3] = ["open", "message", "close"];

/// A task that is followed. See `types.ts` for what each method does.
#[wasm_bindgen(js_name = TaskStreamClient, skip_typescript)]
pub struct JsTaskStreamClient {
    client: Rc<Client>,
}

struct Client {
    /// What has the rows: a `ChatRows`, or null.
    chat: JsValue,
    signal: Option<EventTarget>,
    document: Option<EventTarget>,
    classify: Option<Function>,
    load_history: Option<Function>,
    on_event: Option<Function>,
    /// Hears the socket, the timer, the signal, and that the page is seen again.
    ear: Closure<dyn Fn(JsValue)>,
    state: RefCell<State>,
}

struct State {
    link: TaskLink,
    events: TaskEvents,
    inlet: Inlet,
    socket: Option<WebSocket>,
    /// A timer that was asked for, and what it is to be due at.
    timer: Option<(JsValue, u64)>,
    stream: Option<Stream>,
    /// A connection was lost, and none has opened since.
    is_lost: bool,
    /// The last dial attaches.
    attaches: bool,
    /// A frame of the task has come.
    has_shown: bool,
    end: Option<LinkEnd>,
    connected: Option<Promise>,
    resolve: Option<Function>,
    /// The page of history that is asked for last.
    page: Option<Promise>,
    /// From the start to the end: a page may keep nothing but the promise.
    itself: Option<Rc<Client>>,
}

/// Where the rows are.
#[derive(Clone)]
struct Stream {
    shared: Rc<Shared>,
    id: StreamId,
    /// The page's `ChatStream` of it.
    object: JsValue,
}

/// What an answer is given to.
struct Asked {
    request: String,
    /// The words of the question, where it is the only one.
    only: Option<String>,
}

#[wasm_bindgen(js_class = TaskStreamClient)]
impl JsTaskStreamClient {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(chat: &JsValue, options: &JsValue) -> Result<JsTaskStreamClient, JsValue> {
        if !chat.is_null() && !property(chat, "stream").is_function() {
            return Err(type_error("a TaskStreamClient takes a ChatRows, or null"));
        }
        Ok(JsTaskStreamClient { client: Client::new(chat.clone(), task_options(options)?) })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn connect(&self) -> Promise {
        self.client.connect().unwrap_or_else(|wrong| Promise::reject(&wrong))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn send(&self, text: &JsValue, options: &JsValue) -> Result<bool, JsValue> {
        let input = input(string(text, "send")?, options)?;
        Ok(self.client.say(|link| link.send_input(input)))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn cancel(&self) -> bool {
        self.client.say(TaskLink::cancel)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn stop(&self) -> bool {
        self.client.say(TaskLink::stop)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn answer(&self, question: &JsValue, answers: &JsValue) -> Result<bool, JsValue> {
        let Some(asked) = self.client.asked(question)? else { return Ok(false) };
        let reply = match answers.is_null() {
            true => Some(Reply::cancelled(&asked.request)),
            false => Reply::new(&asked.request, &answers_json(asked.only.as_deref(), answers)?),
        };
        Ok(reply.is_some_and(|reply| self.client.say(|link| link.answer(reply))))
    }

    #[wasm_bindgen(js_name = autoApprove, skip_typescript)]
    pub fn auto_approve(&self, on: bool) {
        self.client.say(|link| {
            link.set_auto_approve(on);
            true
        });
    }

    #[wasm_bindgen(js_name = loadHistory, skip_typescript)]
    pub fn load_history(&self) -> Promise {
        let state = &mut *self.client.state.borrow_mut();
        let page = future_to_promise(self.client.clone().load_page(state.page.take()));
        state.page = Some(page.clone());
        page
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn close(&self) {
        self.client.close();
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn stream(&self) -> JsValue {
        self.client.stream().map_or(JsValue::NULL, |stream| stream.object)
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn unsent(&self) -> Array {
        self.client.state.borrow().link.unsent().map(|input| JsValue::from_str(input.text())).collect()
    }
}

/// The link's clock: it does not jump when the system's does.
fn now() -> u64 {
    performance_now() as u64
}

impl Client {
    fn new(chat: JsValue, options: TaskOptions) -> Rc<Client> {
        let TaskOptions { link, signal, classify, load_history, on_event } = options;
        Rc::new_cyclic(|weak: &Weak<Client>| {
            let weak = weak.clone();
            let ear = Closure::new(move |event| {
                if let Some(client) = weak.upgrade() {
                    client.hear(&event);
                }
            });
            let state = State {
                link: TaskLink::new(link),
                events: TaskEvents::default(),
                inlet: Inlet::new(),
                socket: None,
                timer: None,
                stream: None,
                is_lost: false,
                attaches: false,
                has_shown: false,
                end: None,
                connected: None,
                resolve: None,
                page: None,
                itself: None,
            };
            let document = property(&js_sys::global(), "document").dyn_into::<Document>();
            let document = document.ok().map(EventTarget::from);
            Client { chat, signal, document, classify, load_history, on_event, ear, state: RefCell::new(state) }
        })
    }

    fn connect(self: &Rc<Self>) -> Result<Promise, JsValue> {
        if let Some(connected) = &self.state.borrow().connected {
            return Ok(connected.clone());
        }
        let is_over = self.state.borrow().end.is_some();
        let stream = if is_over || self.chat.is_null() { None } else { Some(self.open_stream()?) };
        let connected = Promise::new(&mut |resolve, _| self.state.borrow_mut().resolve = Some(resolve));
        {
            let mut state = self.state.borrow_mut();
            state.connected = Some(connected.clone());
            state.stream = stream;
            state.itself = Some(self.clone());
        }
        for (target, event) in self.heard() {
            // A signal and a document always take listeners.
            drop(target.add_event_listener_with_callback(event, self.listener()));
        }
        let is_aborted = self.signal.as_ref().is_some_and(|signal| property(signal, "aborted").is_truthy());
        match () {
            () if is_over => self.resolve(),
            () if is_aborted => self.close(),
            () => self.act(TaskLink::start),
        }
        Ok(connected)
    }

    /// A stream of the chat's, whose end closes the client, whoever ends it.
    fn open_stream(self: &Rc<Self>) -> Result<Stream, JsValue> {
        let open: Function = property(&self.chat, "stream").dyn_into()?;
        let opened = open.call1(&self.chat, &parse(r#"{"format":"task-stream"}"#)?)?;
        let opened = JsChatStream::try_from_js_value(opened);
        let (shared, id) = opened.map_err(|_| type_error("a TaskStreamClient takes a ChatRows, or null"))?.into_parts();
        let (sender, told) = oneshot::channel();
        shared.stop_at_end(id, Rc::new(Cell::new(Some(sender))));
        let client = self.clone();
        spawn_local(async move {
            // It is told, or the chat is no more: the same.
            let _ = told.await;
            client.close();
        });
        let object = JsChatStream::new(shared.clone(), id).into();
        Ok(Stream { shared, id, object })
    }

    fn stream(&self) -> Option<Stream> {
        self.state.borrow().stream.clone()
    }

    fn listener(&self) -> &Function {
        self.ear.as_ref().unchecked_ref()
    }

    /// What is listened to besides the socket.
    fn heard(&self) -> impl Iterator<Item = (&EventTarget, &'static str)> {
        let signal = self.signal.iter().map(|signal| (signal, "abort"));
        signal.chain(self.document.iter().map(|document| (document, "visibilitychange")))
    }

    fn hear(self: &Rc<Self>, event: &JsValue) {
        let kind = property(event, "type").as_string().unwrap_or_default();
        let is_socket = SOCKET_EVENTS.contains(&&*kind);
        let ours = |socket: &WebSocket| *AsRef::<JsValue>::as_ref(socket) == property(event, "target");
        if is_socket && !self.state.borrow().socket.as_ref().is_some_and(ours) {
            return;
        }
        match &*kind {
            "open" => self.act(TaskLink::opened),
            "message" => self.take(&property(event, "data")),
            "close" => {
                self.state.borrow_mut().socket = None;
                let code = property(event, "code").as_f64().unwrap_or_default() as u16;
                self.act(|link, now| link.closed(code, now));
            }
            "abort" => self.close(),
            // The timer, or the page is seen again: timers of a page that is not are late.
            _ => {
                self.stop_timer();
                self.act(TaskLink::tick);
            }
        }
    }

    /// Takes a message. One in bytes is text in UTF-8.
    fn take(self: &Rc<Self>, data: &JsValue) {
        let (message, heard, event) = {
            let State { link, events, inlet, has_shown, .. } = &mut *self.state.borrow_mut();
            let mut message = Vec::new();
            match data.dyn_ref::<JsString>() {
                Some(text) => message = inlet.whole(text),
                // The socket gives an ArrayBuffer.
                None => drop(inlet.bytes(data, |piece| message.extend_from_slice(piece))),
            }
            let text = String::from_utf8_lossy(&message);
            let heard = link.frame(&text, now());
            let is_frame = heard == Heard::Frame;
            *has_shown |= is_frame;
            let event = if is_frame { events.frame(&text) } else { None };
            (message, heard, event)
        };
        if heard != Heard::Ping {
            self.change(|chat, stream| chat.push_message(stream, &message));
        }
        self.carry_out();
        if let (Some(listener), Some(Ok(event))) = (&self.on_event, event.map(|event| parse(&event))) {
            call(listener, &Array::of1(&event));
        }
    }

    /// Changes the chat, where there is one and it is not disposed.
    fn change(&self, change: impl FnOnce(&mut ChatRows, StreamId)) {
        if let Some(stream) = self.stream()
            && let Ok(mut core) = stream.shared.change()
        {
            change(&mut core.chat, stream.id);
        }
    }

    /// Tells the link what happened, and does what it asks for.
    fn act<T>(self: &Rc<Self>, happened: impl FnOnce(&mut TaskLink, u64) -> T) -> T {
        let answer = happened(&mut self.state.borrow_mut().link, now());
        self.carry_out();
        answer
    }

    /// The user wants something. On a socket that is closing, which nobody was told yet, it would be lost.
    fn say(self: &Rc<Self>, wanted: impl FnOnce(&mut TaskLink) -> bool) -> bool {
        let closing = |socket: &mut WebSocket| socket.ready_state() > WebSocket::OPEN;
        let lost = self.state.borrow_mut().socket.take_if(closing);
        if let Some(socket) = lost {
            self.forget(&socket);
            self.act(|link, now| link.closed(1006, now));
        }
        self.act(|link, _| wanted(link))
    }

    fn close(self: &Rc<Self>) {
        self.act(|link, _| link.close());
    }

    fn carry_out(self: &Rc<Self>) {
        loop {
            let actions = self.state.borrow_mut().link.actions();
            if actions.is_empty() {
                return self.ask_timer();
            }
            actions.into_iter().for_each(|action| self.carry(action));
        }
    }

    fn carry(self: &Rc<Self>, action: Action) {
        match action {
            Action::Dial { url, mode } => self.dial(&url, mode),
            Action::Send(text) => {
                let socket = self.state.borrow().socket.clone();
                // Only a socket that is not open yet refuses.
                drop(socket.map(|socket| socket.send_with_str(&text)));
            }
            Action::Close => {
                let socket = self.state.borrow_mut().socket.take();
                if let Some(socket) = socket {
                    self.forget(&socket);
                    drop(socket.close());
                }
            }
            Action::Classify { code, opened } => self.ask_classify(code, opened),
            Action::Show(connection) => self.show(connection),
            Action::Ended(end) => self.finish(end),
        }
    }

    fn dial(self: &Rc<Self>, url: &str, mode: TaskMode) {
        self.state.borrow_mut().attaches = mode == TaskMode::Attach;
        let Ok(socket) = WebSocket::new(url) else {
            self.state.borrow_mut().link.closed(NO_ADDRESS, now());
            return;
        };
        socket.set_binary_type(BinaryType::Arraybuffer);
        for event in SOCKET_EVENTS {
            // A socket always takes listeners.
            drop(socket.add_event_listener_with_callback(event, self.listener()));
        }
        self.state.borrow_mut().socket = Some(socket);
    }

    /// Nothing of this socket is heard any more.
    fn forget(&self, socket: &WebSocket) {
        for event in SOCKET_EVENTS {
            drop(socket.remove_event_listener_with_callback(event, self.listener()));
        }
    }

    /// Asks the page whether to dial again. Whatever else it answers than no means yes, a failure too.
    fn ask_classify(self: &Rc<Self>, code: u16, opened: bool) {
        let client = self.clone();
        spawn_local(async move {
            let lost = object_json(|json| {
                json.key("code").number(u64::from(code));
                json.key("opened").bool(opened);
            });
            let said = match (&client.classify, parse(&lost)) {
                (Some(classify), Ok(lost)) => classify.call1(&JsValue::UNDEFINED, &lost),
                _ => Ok(JsValue::TRUE),
            };
            let said = match said {
                Ok(said) => JsFuture::from(Promise::resolve(&said)).await,
                thrown => thrown,
            };
            let is_no = said.as_ref().is_ok_and(|said| said.as_bool() == Some(false));
            drop(said.map_err(|thrown| report(&thrown)));
            client.act(|link, now| link.verdict(!is_no, now));
        });
    }

    fn show(&self, connection: Connection) {
        let reopened = {
            let state = &mut *self.state.borrow_mut();
            state.is_lost |= connection.state == LinkState::Retrying;
            let reopened = connection.state == LinkState::Open && std::mem::take(&mut state.is_lost);
            if reopened && state.attaches {
                state.events.attached_again();
            }
            reopened.then_some(state.attaches && state.has_shown)
        };
        // The page has another clock.
        let retry_at = connection.retry_at.map(|at| Date::now() as u64 + at.saturating_sub(now()));
        self.change(|chat, stream| {
            for (name, value) in (Connection { retry_at, ..connection }).values() {
                chat.set_panel(PanelName::Connection, name, value);
            }
            if connection.state == LinkState::Retrying {
                chat.pause(stream, true);
            }
            if let Some(repeats) = reopened {
                if repeats {
                    chat.restart_turn(stream);
                }
                chat.pause(stream, false);
            }
        });
    }

    fn finish(self: &Rc<Self>, end: LinkEnd) {
        self.stop_timer();
        for (target, event) in self.heard() {
            drop(target.remove_event_listener_with_callback(event, self.listener()));
        }
        self.change(|chat, stream| {
            match end {
                LinkEnd::TaskEnded | LinkEnd::TaskError | LinkEnd::TimedOut => {}
                LinkEnd::Closed => drop(chat.abort_because(stream, Some(end.name()))),
                LinkEnd::Refused | LinkEnd::Unreachable => chat.fail(stream, "", end.name(), Some(true)),
            }
            chat.finish(stream);
        });
        self.state.borrow_mut().end = Some(end);
        self.resolve();
    }

    /// It is over: whoever waits for that is told, if there is anybody.
    fn resolve(&self) {
        let (resolve, end, usage) = {
            let mut state = self.state.borrow_mut();
            state.itself = None;
            (state.resolve.take(), state.end, state.events.usage_json())
        };
        let (Some(resolve), Some(end)) = (resolve, end) else { return };
        let result = object_json(|json| {
            json.key("reason").string(end.name());
            json.key("usage").raw(&usage);
        });
        drop(resolve.call1(&JsValue::UNDEFINED, &parse(&result).unwrap_or_default()));
    }

    fn stop_timer(&self) {
        if let Some((timer, _)) = self.state.borrow_mut().timer.take() {
            clear_timeout(&timer);
        }
    }

    /// Sees that the link is told when something is due.
    fn ask_timer(&self) {
        let due = self.state.borrow().link.due();
        let asked = self.state.borrow().timer.as_ref().map(|(_, due)| *due);
        if due == asked {
            return;
        }
        self.stop_timer();
        self.state.borrow_mut().timer = due.map(|due| {
            let millis = due.saturating_sub(now()).min(LONGEST_TIMER);
            (set_timeout(self.listener(), millis as f64), due)
        });
    }

    /// What an answer is given to: a row's question, or one by the id of its request. None: it waits for none.
    fn asked(&self, question: &JsValue) -> Result<Option<Asked>, JsValue> {
        let (row, request) = (row_id(question), question.as_string());
        if row.is_none() && request.is_none() {
            return Err(type_error("name the question by its row's id, or by the id of its request"));
        }
        let is_meant = |one: &Row| match &request {
            Some(request) => read_question(one).is_some_and(|asked| asked.request == *request),
            None => Some(one.id) == row,
        };
        if let Some(stream) = self.stream() {
            let core = stream.shared.core()?;
            if let Some(row) = core.chat.rows().rev().find(|row| is_meant(row)) {
                let waits = matches!(row.state, RowState::Pending | RowState::Running);
                return Ok(read_question(row).filter(|_| waits));
            }
        }
        Ok(request.map(|request| Asked { request, only: None }))
    }

    /// Loads the page of history that comes next, after the one that is loaded already.
    async fn load_page(self: Rc<Self>, before: Option<Promise>) -> Result<JsValue, JsValue> {
        if let Some(before) = before {
            // Who asked for it hears how it went.
            drop(JsFuture::from(before).await);
        }
        let load = self.load_history.as_ref().ok_or_else(|| type_error("loadHistory needs the option loadHistory"))?;
        let stream = self.stream().ok_or_else(|| error("history needs a chat, and connect first"))?;
        let cursor = {
            let core = stream.shared.core()?;
            let session = core.chat.panel(PanelName::Session);
            if session.get("hasMore") == Some("false") {
                return Ok(JsValue::FALSE);
            }
            session.get("cursor").map_or(Ok(JsValue::NULL), parse)?
        };
        let page = load.call1(&JsValue::UNDEFINED, &cursor)?;
        let page = JsFuture::from(Promise::resolve(&page)).await?;
        if page.is_undefined() || page.is_null() {
            return Ok(JsValue::FALSE);
        }
        let text = page.as_string().or_else(|| json_of(&page).filter(|_| page.is_object()));
        let text = text.ok_or_else(|| type_error("loadHistory must give an object, or its JSON text"))?;
        let mut core = stream.shared.change()?;
        let Core { chat, .. } = &mut *core;
        chat.load_history(stream.id, &text);
        Ok(JsValue::TRUE)
    }
}

/// What a row asks, if it asks anything.
fn read_question(row: &Row) -> Option<Asked> {
    let mut tape = Tape::default();
    let question = tape.read(row.facts.get(Fact::Question)?).ok()?;
    let request = question.root().get("request").str()?.text().into_owned();
    let is_only = !question.root().get("parts").is_array();
    Some(Asked { request, only: is_only.then(|| row.text.clone().unwrap_or_default()) })
}
