//! The connection to one task: when to dial, what to send on it and when, what ends it. Events of a socket, the user's
//! requests and the time go in; [`Action`]s come out. It promises one socket at a time, an input sent once, and nothing
//! after the end.

use super::answers::{answered_id, automatic, data_text};
use super::connection::{Connection, LinkEnd, LinkState};
use super::options::{LinkOptions, TaskMode};
use super::request::{Reply, TaskRequest, UserInput};
use super::seen::key;
use super::url::task_url;
use crate::json::{Tape, Value};
use crate::limits::{RECORD_BYTES, REPLIES};

/// What the owner of the socket does, in order and at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Open a socket to `url`. Report [`TaskLink::opened`], [`TaskLink::frame`] and [`TaskLink::closed`].
    Dial {
        /// The address.
        url: String,
        /// Whether a replay comes first.
        mode: TaskMode,
    },
    /// Send this text.
    Send(String),
    /// Close the socket, open or opening, and forget it: nothing of it is reported from now on.
    Close,
    /// A socket was lost. Find out whether it is worth dialling again, and call [`TaskLink::verdict`]; until then
    /// nothing is dialled. A browser tells a page hardly ever why, but the page may know, or ask the server.
    Classify {
        /// The close code: 1006 where nothing is known.
        code: u16,
        /// Whether it had been open.
        opened: bool,
    },
    /// The panel `connection` shows this now.
    Show(Connection),
    /// It is over. Nothing comes after this.
    Ended(LinkEnd),
}

/// What a frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A frame of the task: hand it to the decoder.
    Frame,
    /// A ping; it is answered.
    Ping,
    /// No JSON: hand it to the decoder, which keeps it as a fault.
    Unreadable,
    /// It came when no socket was open, or after the end: not to be read.
    Late,
}

/// The connection to one task.
///
/// The owner of the socket calls a method for each thing that happens, then carries out [`TaskLink::actions`] at once,
/// and calls [`TaskLink::tick`] when [`TaskLink::due`] says. Times are milliseconds of one clock that does not go back.
/// An event that does not fit the state (of a socket that was closed, or after the end) changes nothing.
///
/// ```
/// use chatrows::{Action, Heard, LinkEnd, LinkOptions, TaskLink, TaskMode, UserInput};
/// let mut options = LinkOptions::new("https://ide.example", "7", TaskMode::New);
/// options.input = Some(UserInput::new("hi"));
/// let mut link = TaskLink::new(options);
///
/// link.start(0);
/// let url = "wss://ide.example/api/v1/users/tasks/stream?id=7&mode=new".to_owned();
/// assert_eq!(link.actions()[0], Action::Dial { url, mode: TaskMode::New });
/// link.opened(80);
/// assert!(matches!(&link.actions()[0], Action::Send(text) if text.starts_with(r#"{"type":"user-input","#)));
///
/// // The line is cut: from now on it attaches.
/// link.closed(1006, 5_000);
/// assert_eq!(link.due(), Some(5_500));
/// link.tick(5_500);
/// assert!(link.actions().iter().any(|action| matches!(action, Action::Dial { mode: TaskMode::Attach, .. })));
/// link.opened(5_600);
/// assert_eq!(link.frame(r#"{"type":"ping"}"#, 9_000), Heard::Ping);
/// assert_eq!(link.frame(r#"{"type":"task-ended"}"#, 9_500), Heard::Frame);
/// assert_eq!(link.actions().last(), Some(&Action::Ended(LinkEnd::TaskEnded)));
/// assert_eq!(link.frame(r#"{"type":"task-running"}"#, 9_501), Heard::Late);
/// ```
#[derive(Debug)]
pub struct TaskLink {
    options: LinkOptions,
    state: State,
    /// When the task has taken too long.
    deadline: Option<u64>,
    /// When the socket was dialled, opened or heard last.
    heard: u64,
    silent: bool,
    /// An input was sent: what follows is found by attaching.
    input_sent: bool,
    /// The server was told to approve by itself, last.
    told_to_approve: bool,
    replay: Replay,
    /// Waits since the last open: which delay comes next.
    waits: u32,
    /// Dials in a row that did not open.
    failures: u32,
    code: Option<u16>,
    /// Never sent, in order.
    outbox: Vec<Outgoing>,
    /// Answers that were sent, in order; at most [`REPLIES`].
    replies: Vec<Sent>,
    /// The questions without an id that came on this connection, in order; at most [`REPLIES`].
    unnamed: Vec<Unnamed>,
    tape: Tape,
    actions: Vec<Action>,
    shown: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Dialled,
    Open,
    /// `undecided`: somebody was asked whether to dial at all.
    Waiting {
        until: u64,
        undecided: bool,
    },
    Ended {
        end: LinkEnd,
        told: bool,
    },
}

/// How far the replay after an attach is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replay {
    /// Nothing has come.
    Expected,
    Coming,
    Over,
}

#[derive(Debug)]
enum Outgoing {
    Input(UserInput),
    Cancel,
    Stop,
    Reply(Reply),
}

impl Outgoing {
    /// To say both would say one thing twice, or two things of one question.
    fn is_replaced_by(&self, other: &Outgoing) -> bool {
        match (self, other) {
            (Outgoing::Cancel, Outgoing::Cancel) | (Outgoing::Stop, Outgoing::Stop) => true,
            (Outgoing::Reply(reply), Outgoing::Reply(other)) => reply.request_id == other.request_id,
            _ => false,
        }
    }
}

/// What is known of an answer.
#[derive(Debug)]
struct Sent {
    reply: Reply,
    /// The key of the frame that asked, where the question has no id.
    unnamed: Option<u64>,
    arrival: Arrival,
}

/// A question that nothing names but the frame that asked it.
#[derive(Debug)]
struct Unnamed {
    key: u64,
    /// An answer to it came on this connection.
    echoed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// Sent on the connection that is open.
    OnTheWay,
    /// Sent on one that was lost, or to be sent if a replay does not show it.
    Unsure,
    /// The server repeated it.
    Echoed,
}

impl TaskLink {
    /// Nothing is dialled before [`TaskLink::start`].
    pub fn new(mut options: LinkOptions) -> Self {
        let mut outbox = Vec::new();
        if let Some(input) = options.input.take() {
            outbox.push(Outgoing::Input(input));
        }
        TaskLink {
            options,
            state: State::Idle,
            deadline: None,
            heard: 0,
            silent: false,
            input_sent: false,
            told_to_approve: false,
            replay: Replay::Over,
            waits: 0,
            failures: 0,
            code: None,
            outbox,
            replies: Vec::new(),
            unnamed: Vec::new(),
            tape: Tape::default(),
            actions: Vec::new(),
            shown: Connection::default(),
        }
    }

    /// Dials for the first time.
    pub fn start(&mut self, now: u64) {
        if self.state == State::Idle {
            let timeout = self.options.timeout;
            self.deadline = (timeout > 0).then(|| now.saturating_add(timeout));
            self.dial(now);
            self.settle();
        }
    }

    /// The socket opened.
    pub fn opened(&mut self, now: u64) {
        if self.state != State::Dialled {
            return;
        }
        self.replay = if self.mode() == TaskMode::Attach { Replay::Expected } else { Replay::Over };
        self.state = State::Open;
        self.unnamed.clear();
        (self.heard, self.silent, self.waits, self.failures, self.code) = (now, false, 0, 0, None);
        if self.options.auto_approve || self.told_to_approve {
            self.tell_to_approve();
        }
        for outgoing in std::mem::take(&mut self.outbox) {
            self.deliver(outgoing);
        }
        if self.replay == Replay::Over {
            self.replay_ended();
        }
        self.settle();
    }

    /// A text message came. Any message is a sign of life.
    ///
    /// A ping is answered. `task-ended` ends the link, and so does `task-error` unless its data says `terminal: false`.
    /// A question is answered where [`LinkOptions::auto_answer`] is set, each once. A `reply-question` says that an
    /// answer arrived.
    ///
    /// Answers that a lost connection may have swallowed are sent again when the replay is over and has not shown them.
    /// A replay has no end of its own: it is taken for over at the first ping that something else came before, or at
    /// the second. The server pings every 10 s.
    pub fn frame(&mut self, text: &str, now: u64) -> Heard {
        if self.state != State::Open {
            return Heard::Late;
        }
        (self.heard, self.silent) = (now, false);
        let mut tape = std::mem::take(&mut self.tape);
        let record = if text.len() > RECORD_BYTES { None } else { tape.read(text).ok() };
        let heard = match &record {
            Some(record) => self.hear(record.root()),
            None => Heard::Unreadable,
        };
        self.tape = tape;
        self.settle();
        heard
    }

    /// The socket closed, or did not open. `code`: its close code, 1006 where there is none.
    pub fn closed(&mut self, code: u16, now: u64) {
        let opened = self.state == State::Open;
        if !opened && self.state != State::Dialled {
            return;
        }
        self.lose(code, opened, now);
        self.settle();
    }

    /// The answer to [`Action::Classify`]: `retry`, or never again.
    pub fn verdict(&mut self, retry: bool, now: u64) {
        if let State::Waiting { until, undecided: true } = self.state {
            if retry {
                self.state = State::Waiting { until, undecided: false };
                self.tick(now);
            } else {
                self.end(LinkEnd::Refused);
                self.settle();
            }
        }
    }

    /// Time has passed. To be called when [`TaskLink::due`] says; more often does no harm.
    pub fn tick(&mut self, now: u64) {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.end(LinkEnd::TimedOut);
        }
        match self.state {
            State::Waiting { until, undecided: false } if now >= until => self.dial(now),
            State::Dialled | State::Open if self.silent_at().is_some_and(|at| now >= at) => {
                self.silent = true;
                if self.options.drop_silent {
                    self.actions.push(Action::Close);
                    self.lose(1006, self.state == State::Open, now);
                }
            }
            _ => {}
        }
        self.settle();
    }

    /// When [`TaskLink::tick`] has something to do; none as long as only events can change anything.
    pub fn due(&self) -> Option<u64> {
        let next = match self.state {
            State::Idle | State::Ended { .. } => return None,
            State::Dialled | State::Open => self.silent_at(),
            State::Waiting { until, undecided } => (!undecided).then_some(until),
        };
        match (next, self.deadline) {
            (Some(next), Some(deadline)) => Some(next.min(deadline)),
            (next, deadline) => next.or(deadline),
        }
    }

    /// The user says something. While no socket is open it waits for one. False after the end, where it is not taken.
    pub fn send_input(&mut self, input: UserInput) -> bool {
        self.post(Outgoing::Input(input))
    }

    /// What the user said that no socket took: to be given back after the end.
    pub fn unsent(&self) -> impl Iterator<Item = &UserInput> {
        self.outbox.iter().filter_map(|waiting| match waiting {
            Outgoing::Input(input) => Some(input),
            _ => None,
        })
    }

    /// The user gives up what runs. Asked for twice before it could be sent, it is sent once. False after the end.
    pub fn cancel(&mut self) -> bool {
        self.post(Outgoing::Cancel)
    }

    /// The user stops the task, which then ends by itself. Asked for twice before it could be sent, it is sent once.
    /// False after the end.
    pub fn stop(&mut self) -> bool {
        self.post(Outgoing::Stop)
    }

    /// The user answers a question. While it could not be sent a further answer to the same question takes its place;
    /// afterwards none is taken: false, as after the end.
    pub fn answer(&mut self, reply: Reply) -> bool {
        if let Some(sent) = self.sent(&reply.request_id) {
            let unsure = sent.arrival == Arrival::Unsure;
            if unsure {
                sent.reply = reply;
            }
            return unsure;
        }
        self.post(Outgoing::Reply(reply))
    }

    /// Whether tools run without asking from now on.
    pub fn set_auto_approve(&mut self, on: bool) {
        self.options.auto_approve = on;
        if self.state == State::Open && self.told_to_approve != on {
            self.tell_to_approve();
        }
    }

    /// The user, or an AbortSignal, closes it.
    pub fn close(&mut self) {
        self.end(LinkEnd::Closed);
        self.settle();
    }

    /// What is to be done since this was asked last, in order.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// What the panel shows.
    pub fn connection(&self) -> Connection {
        let attempt = Some(self.failures.saturating_add(1));
        let (state, attempt, retry_at, end) = match self.state {
            State::Idle => (LinkState::Idle, None, None, None),
            State::Dialled => (LinkState::Connecting, attempt, None, None),
            State::Open => (LinkState::Open, None, None, None),
            State::Waiting { until, undecided } => (LinkState::Retrying, attempt, (!undecided).then_some(until), None),
            State::Ended { end, .. } => (LinkState::Closed, None, None, Some(end)),
        };
        let state = if self.silent { LinkState::Silent } else { state };
        Connection { state, attempt, retry_at, code: self.code, end }
    }

    fn mode(&self) -> TaskMode {
        if self.input_sent { TaskMode::Attach } else { self.options.mode }
    }

    fn silent_at(&self) -> Option<u64> {
        let silence = self.options.silence;
        (silence > 0 && !self.silent).then(|| self.heard.saturating_add(silence))
    }

    fn dial(&mut self, now: u64) {
        let mode = self.mode();
        let url = task_url(&self.options.base, &self.options.task, mode);
        self.actions.push(Action::Dial { url, mode });
        (self.state, self.heard) = (State::Dialled, now);
    }

    /// The socket is gone.
    fn lose(&mut self, code: u16, opened: bool, now: u64) {
        (self.silent, self.code) = (false, Some(code));
        self.failures = if opened { 0 } else { self.failures.saturating_add(1) };
        for sent in self.replies.iter_mut().filter(|sent| sent.arrival == Arrival::OnTheWay) {
            sent.arrival = Arrival::Unsure;
        }
        let delay = self.options.backoff.delay(self.waits, (self.options.random)());
        self.waits = self.waits.saturating_add(1);
        let undecided = self.options.classify;
        self.state = State::Waiting { until: now.saturating_add(delay), undecided };
        if self.options.stop_codes.contains(&code) {
            self.end(LinkEnd::Refused);
        } else if self.options.max_dials > 0 && self.failures >= self.options.max_dials {
            self.end(LinkEnd::Unreachable);
        } else if undecided {
            self.actions.push(Action::Classify { code, opened });
        }
    }

    fn end(&mut self, end: LinkEnd) {
        match self.state {
            State::Ended { .. } => return,
            State::Dialled | State::Open => self.actions.push(Action::Close),
            State::Idle | State::Waiting { .. } => {}
        }
        self.state = State::Ended { end, told: false };
        self.silent = false;
        self.replies = Vec::new();
    }

    /// Tells what changed on the outside: the panel, then the end.
    fn settle(&mut self) {
        let connection = self.connection();
        if self.shown != connection {
            self.shown = connection;
            self.actions.push(Action::Show(connection));
        }
        if let State::Ended { end, told: told @ false } = &mut self.state {
            *told = true;
            self.actions.push(Action::Ended(*end));
        }
    }

    fn hear(&mut self, frame: Value<'_>) -> Heard {
        let name = frame.get("type").str().or(frame.get("event").str());
        let (name, data) = (name.map(|name| name.text()).unwrap_or_default(), frame.get("data"));
        let before = self.replay;
        if before == Replay::Expected {
            self.replay = Replay::Coming;
        }
        match &*name {
            "ping" => {
                self.send(TaskRequest::Ping);
                if before == Replay::Coming {
                    self.replay_ended();
                }
                return Heard::Ping;
            }
            "task-ended" => self.end(LinkEnd::TaskEnded),
            "task-error" => {
                let (text, mut tape) = (data_text(data), Tape::default());
                let goes_on = tape.read(&text).is_ok_and(|data| data.root().get("terminal").bool() == Some(false));
                if !goes_on {
                    self.end(LinkEnd::TaskError);
                }
            }
            "reply-question" => {
                let id = answered_id(data).unwrap_or_default();
                let sent = if id.is_empty() { self.echoed_unnamed() } else { self.sent(&id) };
                if let Some(sent) = sent {
                    sent.arrival = Arrival::Echoed;
                }
            }
            "task-running"
                if self.options.auto_answer
                    && frame.get("kind").str().is_some_and(|kind| kind == *"acp_ask_user_question") =>
            {
                let reply = automatic(data);
                let unnamed = reply.request_id.is_empty().then(|| key(frame));
                let known = match unnamed {
                    Some(key) => self.asked_unnamed(key),
                    None => self.sent(&reply.request_id).is_some(),
                };
                if known {
                } else if self.replay == Replay::Over {
                    self.send(TaskRequest::Reply(&reply));
                    self.remember(reply, unnamed, Arrival::OnTheWay);
                } else {
                    // It may have been answered before: the replay will tell.
                    self.remember(reply, unnamed, Arrival::Unsure);
                }
            }
            _ => {}
        }
        Heard::Frame
    }

    /// What the replay did not show did not arrive.
    fn replay_ended(&mut self) {
        self.replay = Replay::Over;
        let mut replies = std::mem::take(&mut self.replies);
        for sent in replies.iter_mut().filter(|sent| sent.arrival == Arrival::Unsure) {
            sent.arrival = Arrival::OnTheWay;
            self.send(TaskRequest::Reply(&sent.reply));
        }
        self.replies = replies;
    }

    /// A question without an id came. Whether it has an answer: one that comes again, or in a replay, is the same.
    fn asked_unnamed(&mut self, key: u64) -> bool {
        if self.unnamed.iter().all(|asked| asked.key != key) {
            if self.unnamed.len() >= REPLIES {
                self.unnamed.remove(0);
            }
            self.unnamed.push(Unnamed { key, echoed: false });
        }
        self.replies.iter().any(|sent| sent.unnamed == Some(key))
    }

    /// The answer to a question without an id was seen: it is of the first that waits for one.
    fn echoed_unnamed(&mut self) -> Option<&mut Sent> {
        let asked = self.unnamed.iter_mut().find(|asked| !asked.echoed)?;
        asked.echoed = true;
        self.replies.iter_mut().find(|sent| sent.unnamed == Some(asked.key))
    }

    /// What is known of the answer to a question that has an id.
    fn sent(&mut self, id: &str) -> Option<&mut Sent> {
        self.replies.iter_mut().find(|sent| !id.is_empty() && *sent.reply.request_id == *id)
    }

    fn remember(&mut self, reply: Reply, unnamed: Option<u64>, arrival: Arrival) {
        if self.replies.len() >= REPLIES {
            self.replies.remove(0);
        }
        self.replies.push(Sent { reply, unnamed, arrival });
    }

    #[inline(never)]
    fn post(&mut self, outgoing: Outgoing) -> bool {
        match self.state {
            State::Ended { .. } => return false,
            State::Open => self.deliver(outgoing),
            _ => match self.outbox.iter_mut().find(|waiting| waiting.is_replaced_by(&outgoing)) {
                Some(waiting) => *waiting = outgoing,
                None => self.outbox.push(outgoing),
            },
        }
        true
    }

    fn deliver(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Input(input) => {
                self.send(TaskRequest::Input(&input));
                self.input_sent = true;
            }
            Outgoing::Cancel => self.send(TaskRequest::Cancel),
            Outgoing::Stop => self.send(TaskRequest::Stop),
            Outgoing::Reply(reply) => {
                self.send(TaskRequest::Reply(&reply));
                self.remember(reply, None, Arrival::OnTheWay);
            }
        }
    }

    fn tell_to_approve(&mut self) {
        self.told_to_approve = self.options.auto_approve;
        self.send(TaskRequest::AutoApprove(self.told_to_approve));
    }

    fn send(&mut self, request: TaskRequest<'_>) {
        self.actions.push(Action::Send(request.to_json(self.options.form)));
    }
}
