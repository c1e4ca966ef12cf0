//! The connection to a task (task-stream.md, sections 1, 2.3, 2.6, 2.7, 3.1, 3.3, 3.5): what is dialled, sent and
//! shown, and when, on a clock of the test's own; then every order of a few events.

#![cfg(not(target_arch = "wasm32"))]

use chatrows::json::Tape;
use chatrows::limits::{REPLIES, SEEN_FRAMES};
use chatrows::{Action, Backoff, Connection, DataForm, Heard, LinkEnd, LinkOptions, LinkState, MAX_ATTACHMENTS, Reply};
use chatrows::{STOP_CODES, SeenFrames, TaskLink, TaskMode, TaskRequest, TooManyAttachments, UserInput, task_url};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

const PING: &str = r#"{"type":"ping","data":null,"kind":"","timestamp":0}"#;
const TEXT: &str = r#"{"type":"task-running","kind":"acp_event","data":"e30=","timestamp":1719561600123}"#;
const ENDED: &str = r#"{"type":"task-ended"}"#;

/// A link and the one who carries out what it says: one socket, a list of what was sent, and a clock.
struct Edge {
    link: TaskLink,
    now: u64,
    /// A socket is there; whether it is open.
    socket: Option<bool>,
    /// The time and mode of each dial.
    dials: Vec<(u64, &'static str)>,
    sent: Vec<String>,
    shown: Vec<Connection>,
    asked: Vec<(u16, bool)>,
    ended: Option<LinkEnd>,
}

fn options(mode: TaskMode) -> LinkOptions {
    LinkOptions::new("wss://ide.example", "7", mode)
}

fn saying(text: &str) -> LinkOptions {
    LinkOptions { input: Some(UserInput::new(text)), ..options(TaskMode::New) }
}

impl Edge {
    fn new(options: LinkOptions) -> Edge {
        Edge {
            link: TaskLink::new(options),
            now: 0,
            socket: None,
            dials: Vec::new(),
            sent: Vec::new(),
            shown: Vec::new(),
            asked: Vec::new(),
            ended: None,
        }
    }

    /// Started and open at 0.
    fn open(options: LinkOptions) -> Edge {
        let mut edge = Edge::new(options);
        edge.start();
        edge.opened();
        edge
    }

    fn carry_out(&mut self) {
        for action in self.link.actions() {
            assert_eq!(self.ended, None, "{action:?} after the end");
            match action {
                Action::Dial { url, mode } => {
                    assert_eq!(self.socket, None, "two sockets at once");
                    assert_eq!(url, task_url("wss://ide.example", "7", mode));
                    self.socket = Some(false);
                    self.dials.push((self.now, mode.name()));
                }
                Action::Send(text) => {
                    assert_eq!(self.socket, Some(true), "sent without a socket: {text}");
                    self.sent.push(read(&text));
                }
                Action::Close => assert!(self.socket.take().is_some(), "closed twice"),
                Action::Classify { code, opened } => self.asked.push((code, opened)),
                Action::Show(connection) => {
                    assert_ne!(self.shown.last(), Some(&connection), "shown twice");
                    self.shown.push(connection);
                }
                Action::Ended(end) => self.ended = Some(end),
            }
        }
        if self.ended.is_some() {
            assert_eq!((self.socket, self.link.due()), (None, None), "over, and still alive");
        }
    }

    fn start(&mut self) {
        self.link.start(self.now);
        self.carry_out();
    }

    fn opened(&mut self) {
        if self.socket == Some(false) {
            self.socket = Some(true);
        }
        self.link.opened(self.now);
        self.carry_out();
    }

    fn closed(&mut self, code: u16) {
        self.socket = None;
        self.link.closed(code, self.now);
        self.carry_out();
    }

    fn frame(&mut self, text: &str) -> Heard {
        let heard = self.link.frame(text, self.now);
        self.carry_out();
        heard
    }

    fn at(&mut self, now: u64) {
        self.now = now;
        self.link.tick(now);
        self.carry_out();
        assert!(self.link.due().is_none_or(|due| due >= now), "due in the past");
    }

    /// Waits for what is due next.
    fn wait(&mut self) {
        self.at(self.link.due().expect("nothing is due"));
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut TaskLink) -> T) -> T {
        let taken = act(&mut self.link);
        self.carry_out();
        taken
    }

    /// Cut now, dialled again as soon as may be, and open.
    fn cut(&mut self) {
        self.closed(1006);
        self.wait();
        self.opened();
    }

    /// The panel, as a page has it.
    fn panel(&self) -> Value {
        serde_json::from_str(&self.link.connection().to_json()).unwrap()
    }

    #[track_caller]
    fn check_sent(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.sent), expected);
    }
}

/// A request as `type` and its data. Each is decoded once: there are few of them, and millions are sent.
fn read(request: &str) -> String {
    thread_local!(static KNOWN: RefCell<HashMap<String, String>> = RefCell::default());
    KNOWN.with_borrow_mut(|known| known.entry(request.to_owned()).or_insert_with(|| decode(request)).clone())
}

/// Decoded by another reader than the one that wrote it.
fn decode(request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap();
    let name = request["type"].as_str().unwrap();
    let Some(data) = request.get("data") else { return name.to_owned() };
    let data = data.as_str().unwrap();
    let data = if data.starts_with('{') { data.to_owned() } else { decoded(data) };
    let mut data: Value = serde_json::from_str(&data).unwrap();
    match name {
        "user-input" => {
            let text = decoded(data["content"].as_str().unwrap());
            let files = data["attachments"].as_array().unwrap();
            let files: Vec<String> =
                files.iter().map(|file| format!(" +{}={}", file["filename"], file["url"])).collect();
            format!("user-input {text}{}", files.concat())
        }
        "reply-question" => {
            let answers: Value = serde_json::from_str(data["answers_json"].take().as_str().unwrap()).unwrap();
            let cancelled = if data["cancelled"].as_bool().unwrap() { " cancelled" } else { "" };
            format!("reply-question {} {answers}{cancelled}", data["request_id"].as_str().unwrap())
        }
        _ => panic!("{name} has no data"),
    }
}

fn decoded(text: &str) -> String {
    assert_eq!(text.len() % 4, 0, "padded");
    let digit =
        |byte| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|d| *d == byte);
    let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(|byte| digit(byte).unwrap() as u8).collect();
    let bits: String = digits.iter().map(|digit| format!("{digit:06b}")).collect();
    let bytes = bits.as_bytes().chunks_exact(8).map(|byte| std::str::from_utf8(byte).unwrap());
    String::from_utf8(bytes.map(|byte| u8::from_str_radix(byte, 2).unwrap()).collect()).unwrap()
}

fn encoded(text: &str) -> String {
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let digits = bits.as_bytes().chunks(6).map(|six| {
        let six = format!("{:0<6}", std::str::from_utf8(six).unwrap());
        char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                [usize::from_str_radix(&six, 2).unwrap()],
        )
    });
    let mut out: String = digits.collect();
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

fn frame(name: &str, data: Value) -> String {
    json!({"type": name, "data": encoded(&data.to_string()), "timestamp": 1_719_561_600_123u64}).to_string()
}

/// That an answer arrived.
fn echo(id: &str) -> String {
    frame("reply-question", json!({"request_id": id, "answers_json": "{}", "cancelled": false}))
}

/// A question as the server asks it.
fn question(id: &str) -> String {
    let questions = json!([{"question": "Which?", "options": [{"label": "left"}, {"label": "right"}]}]);
    asked(json!({"toolCall": {"toolCallId": id, "rawInput": {"questions": questions}}}))
}

fn asked(data: Value) -> String {
    let data = encoded(&data.to_string());
    json!({"type": "task-running", "kind": "acp_ask_user_question", "data": data}).to_string()
}

fn reply(id: &str) -> Reply {
    Reply::new(id, r#"{"Which?":"right"}"#).unwrap()
}

const ANSWER: &str = r#"reply-question q {"Which?":"right"}"#;

// The address (section 1).

#[test]
fn the_address_has_the_id_and_the_mode_and_the_rest_of_the_base() {
    let path = "wss://h/api/v1/users/tasks/stream";
    for (base, expected) in [
        ("https://h", format!("{path}?id=7&mode=new")),
        ("HTTPS://h/", format!("{path}?id=7&mode=new")),
        ("wss://h?", format!("{path}?id=7&mode=new")),
        ("https://h?a=1&&b=%20#f", format!("{path}?a=1&b=%20&id=7&mode=new")),
        ("http://h:8080", "ws://h:8080/api/v1/users/tasks/stream?id=7&mode=new".into()),
        ("ws://[::1]:3/x/y/", "ws://[::1]:3/x/y/?id=7&mode=new".into()),
        ("wss://h/s?id=8&mode=attach&idea=1&mode", "wss://h/s?idea=1&id=7&mode=new".into()),
        ("wss://h/s?to=http://x/?y", "wss://h/s?to=http://x/?y&id=7&mode=new".into()),
        ("h", "h/api/v1/users/tasks/stream?id=7&mode=new".into()),
        ("", "/api/v1/users/tasks/stream?id=7&mode=new".into()),
        ("/s", "/s?id=7&mode=new".into()),
    ] {
        assert_eq!(task_url(base, "7", TaskMode::New), expected, "{base}");
    }
}

#[test]
fn an_id_of_any_characters_stays_one_value() {
    let url = task_url("wss://h/s", "a-b._~&c=d/é #%", TaskMode::Attach);
    assert_eq!(url, "wss://h/s?id=a-b._~%26c%3Dd%2F%C3%A9%20%23%25&mode=attach");
}

// What is sent (sections 2.3, 3.1, 3.3).

#[test]
fn the_data_of_a_request_is_base64_of_json_and_the_text_of_an_input_is_base64_once_more() {
    let input = UserInput::new("思考 👩‍👩‍👧 \"x\"\n");
    let sent: Value = serde_json::from_str(&TaskRequest::Input(&input).to_json(DataForm::Base64)).unwrap();
    let data: Value = serde_json::from_str(&decoded(sent["data"].as_str().unwrap())).unwrap();
    assert_eq!(data, json!({"content": encoded(input.text()), "attachments": []}));
    let plain: Value = serde_json::from_str(&TaskRequest::Input(&input).to_json(DataForm::Plain)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(plain["data"].as_str().unwrap()).unwrap(), data);
}

#[test]
fn an_input_takes_ten_attachments_and_no_eleventh() {
    let mut input = UserInput::new("look");
    for number in 0..MAX_ATTACHMENTS {
        input = input.attach(format!("https://f/{number}"), format!("{number}.png")).unwrap();
    }
    assert_eq!(input.clone().attach("https://f/10", "10.png"), Err(TooManyAttachments));
    let sent = read(&TaskRequest::Input(&input).to_json(DataForm::Base64));
    assert!(sent.starts_with(r#"user-input look +"0.png"="https://f/0" +"1.png"="#), "{sent}");
    assert_eq!(sent.matches('+').count(), 10);
}

#[test]
fn requests_without_data_are_their_type_alone() {
    for (request, name) in [
        (TaskRequest::Cancel, "user-cancel"),
        (TaskRequest::Stop, "user-stop"),
        (TaskRequest::AutoApprove(true), "auto-approve"),
        (TaskRequest::AutoApprove(false), "disable-auto-approve"),
        (TaskRequest::Ping, "ping"),
    ] {
        for form in [DataForm::Base64, DataForm::Plain] {
            assert_eq!(request.to_json(form), format!(r#"{{"type":"{name}"}}"#));
        }
    }
}

#[test]
fn answers_are_a_json_object_or_no_reply() {
    for answers in ["", " ", "null", "[]", "\"a\"", "{", "{} {}", "{\"a\":1,}"] {
        assert_eq!(Reply::new("q", answers), None, "{answers}");
    }
    let reply = Reply::new("q", " {\"a\":[\"b\",\"c\"]} ").unwrap();
    assert_eq!(read(&TaskRequest::Reply(&reply).to_json(DataForm::Base64)), r#"reply-question q {"a":["b","c"]}"#);
    let reply = Reply::cancelled("q");
    assert_eq!(read(&TaskRequest::Reply(&reply).to_json(DataForm::Base64)), "reply-question q {} cancelled");
}

// On open (section 1).

#[test]
fn on_open_auto_approve_goes_first_and_then_the_input() {
    let mut edge = Edge::open(LinkOptions { auto_approve: true, ..saying("hi") });
    edge.check_sent(&["auto-approve", "user-input hi"]);
    let mut edge = Edge::open(saying("hi"));
    edge.check_sent(&["user-input hi"]);
}

#[test]
fn nothing_is_dialled_before_the_start_and_one_start_counts() {
    let mut edge = Edge::new(saying("hi"));
    edge.at(1_000_000);
    edge.opened();
    edge.closed(1006);
    assert_eq!((edge.frame(TEXT), edge.link.due(), edge.dials.len(), edge.shown.len()), (Heard::Late, None, 0, 0));
    edge.start();
    edge.start();
    assert_eq!(edge.dials, [(1_000_000, "new")]);
}

#[test]
fn auto_approve_is_said_on_every_connection_and_taken_back_once() {
    let mut edge = Edge::open(LinkOptions { auto_approve: true, ..saying("hi") });
    edge.cut();
    edge.check_sent(&["auto-approve", "user-input hi", "auto-approve"]);
    edge.act(|link| {
        link.set_auto_approve(true);
        link.set_auto_approve(false);
    });
    edge.check_sent(&["disable-auto-approve"]);
    edge.cut();
    edge.check_sent(&[]);
    edge.closed(1006);
    edge.link.set_auto_approve(true);
    edge.wait();
    edge.opened();
    edge.closed(1006);
    edge.link.set_auto_approve(false);
    edge.wait();
    edge.opened();
    edge.check_sent(&["auto-approve", "disable-auto-approve"]);
}

// The mode (sections 1, 2.7, 3.5).

#[test]
fn it_attaches_once_the_input_was_sent() {
    let mut edge = Edge::open(saying("hi"));
    edge.cut();
    edge.cut();
    assert_eq!(edge.dials, [(0, "new"), (500, "attach"), (1000, "attach")]);
    edge.check_sent(&["user-input hi"]);
}

#[test]
fn it_stays_new_while_the_input_is_unsent() {
    let mut edge = Edge::new(saying("hi"));
    edge.start();
    edge.cut();
    assert_eq!(edge.dials, [(0, "new"), (500, "new")]);
    edge.check_sent(&["user-input hi"]);
    // Also where the socket opened and the user has not said anything yet.
    let mut edge = Edge::open(options(TaskMode::New));
    edge.cut();
    assert!(edge.act(|link| link.send_input(UserInput::new("hi"))));
    edge.cut();
    assert_eq!(edge.dials, [(0, "new"), (500, "new"), (1000, "attach")]);
    edge.check_sent(&["user-input hi"]);
}

#[test]
fn a_link_that_attaches_attaches_always_and_takes_further_inputs() {
    let mut edge = Edge::open(LinkOptions { auto_approve: true, ..options(TaskMode::Attach) });
    assert!(edge.act(|link| link.send_input(UserInput::new("and then?"))));
    edge.cut();
    edge.check_sent(&["auto-approve", "user-input and then?", "auto-approve"]);
    assert_eq!(edge.dials, [(0, "attach"), (500, "attach")]);
}

// Pings and silence (sections 1, 2.2, 4).

#[test]
fn a_ping_is_answered_at_once_with_a_ping() {
    let mut edge = Edge::open(saying("hi"));
    edge.sent.clear();
    assert_eq!((edge.frame(PING), edge.frame(PING)), (Heard::Ping, Heard::Ping));
    edge.check_sent(&["ping", "ping"]);
    assert_eq!(edge.frame(r#"{"event":"ping"}"#), Heard::Ping, "under the other name of a type");
}

#[test]
fn silence_of_30_s_shows_and_is_gone_with_the_next_frame_of_any_kind() {
    for sign in [PING, TEXT, r#"{"type":"unheard-of"}"#, "no json", ""] {
        let mut edge = Edge::open(saying("hi"));
        edge.at(29_999);
        assert_eq!(edge.panel()["state"], "open");
        assert_eq!(edge.link.due(), Some(30_000));
        edge.wait();
        assert_eq!(edge.panel()["state"], "silent");
        edge.at(90_000);
        edge.now = 100_000;
        edge.frame(sign);
        assert_eq!(edge.panel()["state"], "open", "{sign:?}");
        assert_eq!(edge.link.due(), Some(130_000));
        assert_eq!(edge.dials.len(), 1, "silence is no disconnect");
    }
}

#[test]
fn a_frame_within_30_s_keeps_silence_away() {
    let mut edge = Edge::open(saying("hi"));
    for seconds in 1..50 {
        edge.at(seconds * 10_000);
        edge.frame(PING);
    }
    assert_eq!(
        edge.shown.iter().map(|shown| shown.state).collect::<Vec<_>>(),
        [LinkState::Connecting, LinkState::Open]
    );
}

#[test]
fn a_dial_that_does_not_open_is_silent_too_and_may_still_open() {
    let mut edge = Edge::new(saying("hi"));
    edge.start();
    edge.wait();
    assert_eq!((edge.now, edge.panel()["state"].clone()), (30_000, json!("silent")));
    edge.opened();
    assert_eq!(edge.panel()["state"], "open");
    edge.check_sent(&["user-input hi"]);
}

#[test]
fn a_silent_socket_is_dropped_where_that_is_asked_for() {
    let mut edge = Edge::open(LinkOptions { drop_silent: true, ..saying("hi") });
    edge.wait();
    assert_eq!((edge.socket, edge.panel()["state"].clone()), (None, json!("retrying")));
    edge.wait();
    assert_eq!(edge.dials, [(0, "new"), (30_500, "attach")]);
    // A dial that hangs counts as one that failed.
    edge.wait();
    edge.wait();
    assert_eq!(edge.dials[2..], [(61_500, "attach")]);
    assert_eq!(edge.panel()["attempt"], 2);
}

#[test]
fn silence_0_is_none() {
    let mut edge = Edge::open(LinkOptions { silence: 0, timeout: 0, ..saying("hi") });
    edge.at(u64::MAX);
    assert_eq!((edge.link.due(), edge.panel()["state"].clone()), (None, json!("open")));
}

// Dialling again (sections 2.7, 3.5).

#[test]
fn the_delays_double_from_500_ms_to_8_s() {
    let mut edge = Edge::open(saying("hi"));
    for _ in 0..8 {
        edge.closed(1006);
        edge.wait();
    }
    let times: Vec<u64> = edge.dials.iter().map(|dial| dial.0).collect();
    let delays: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000]);
}

#[test]
fn an_open_starts_the_delays_afresh() {
    let mut edge = Edge::new(saying("hi"));
    edge.start();
    edge.closed(1006);
    edge.wait();
    edge.closed(1006);
    edge.wait();
    assert_eq!(edge.dials, [(0, "new"), (500, "new"), (1500, "new")]);
    edge.opened();
    edge.closed(1006);
    assert_eq!(edge.link.due(), Some(2000));
}

#[test]
fn nothing_is_dialled_before_its_time() {
    let mut edge = Edge::open(saying("hi"));
    edge.closed(1006);
    edge.at(499);
    assert_eq!(edge.dials.len(), 1);
    edge.at(500);
    assert_eq!(edge.dials.len(), 2);
}

#[test]
fn jitter_takes_off_the_share_that_chance_says() {
    let backoff = Backoff { jitter: 0.5, ..Backoff::default() };
    let mut edge = Edge::open(LinkOptions { backoff, random: || 0.5, ..saying("hi") });
    edge.closed(1006);
    assert_eq!(edge.link.due(), Some(375));
}

#[test]
fn ten_dials_in_a_row_that_never_opened_are_enough() {
    let mut edge = Edge::new(saying("hi"));
    edge.start();
    for attempt in 1..10 {
        assert_eq!(edge.panel()["attempt"], attempt);
        edge.closed(1006);
        edge.wait();
    }
    assert_eq!((edge.now, edge.ended), (47_500, None));
    edge.closed(1006);
    assert_eq!((edge.dials.len(), edge.ended), (10, Some(LinkEnd::Unreachable)));
    let panel = json!({"state": "closed", "attempt": null, "retryAt": null, "code": 1006, "reason": "unreachable"});
    assert_eq!(edge.panel(), panel);
}

#[test]
fn dials_that_opened_are_not_counted() {
    let mut edge = Edge::new(LinkOptions { max_dials: 2, ..saying("hi") });
    edge.start();
    for _ in 0..20 {
        edge.closed(1006);
        edge.wait();
        edge.opened();
        edge.closed(1006);
        edge.wait();
    }
    assert_eq!(edge.ended, None);
    edge.closed(1006);
    edge.wait();
    edge.closed(1006);
    assert_eq!(edge.ended, Some(LinkEnd::Unreachable));
}

#[test]
fn max_dials_0_never_gives_up() {
    let mut edge = Edge::new(LinkOptions { max_dials: 0, timeout: 0, ..saying("hi") });
    edge.start();
    for _ in 0..1000 {
        edge.closed(1006);
        edge.wait();
    }
    assert_eq!((edge.ended, edge.dials.len()), (None, 1001));
}

// What ends it (sections 2.2, 3.2, 3.5).

#[test]
fn task_ended_closes_the_socket_and_nothing_is_dialled_any_more() {
    let mut edge = Edge::open(saying("hi"));
    assert_eq!(edge.frame(ENDED), Heard::Frame);
    assert_eq!((edge.ended, edge.socket), (Some(LinkEnd::TaskEnded), None));
    edge.closed(1000);
    edge.at(1_000_000);
    edge.opened();
    edge.start();
    assert_eq!(edge.dials.len(), 1);
}

#[test]
fn a_frame_after_the_end_is_late_and_a_request_is_not_taken() {
    let mut edge = Edge::open(saying("hi"));
    edge.frame(ENDED);
    edge.sent.clear();
    for text in [TEXT, PING, ENDED, "no json"] {
        assert_eq!(edge.frame(text), Heard::Late, "{text}");
    }
    assert!(!edge.act(|link| link.send_input(UserInput::new("x"))));
    assert!(!edge.act(TaskLink::cancel) && !edge.act(TaskLink::stop) && !edge.act(|link| link.answer(reply("q"))));
    edge.act(|link| {
        link.set_auto_approve(true);
        link.verdict(true, 5);
        link.close();
    });
    edge.check_sent(&[]);
}

#[test]
fn task_error_ends_it_unless_it_says_that_it_is_not_terminal() {
    let error = |data: Value| json!({"type": "task-error", "data": data}).to_string();
    let text = json!({"error": "x", "terminal": false});
    for data in [text.clone(), json!(text.to_string()), json!(encoded(&text.to_string()))] {
        let mut edge = Edge::open(saying("hi"));
        edge.frame(&error(data.clone()));
        assert_eq!(edge.ended, None, "{data}");
    }
    let text = json!({"error": "x", "terminal": true}).to_string();
    for data in [json!(encoded(&text)), json!({"error": "x"}), json!("timeout"), json!(null), json!(3)] {
        let mut edge = Edge::open(saying("hi"));
        edge.frame(&error(data.clone()));
        assert_eq!(edge.ended, Some(LinkEnd::TaskError), "{data}");
    }
    let mut edge = Edge::open(saying("hi"));
    edge.frame(r#"{"type":"error","data":"ImZ1bGwi"}"#);
    assert_eq!(edge.ended, None, "a server's own failure says nothing of the task");
}

#[test]
fn the_user_can_close_it_in_every_state() {
    for steps in 0..5 {
        let mut edge = Edge::new(saying("hi"));
        let all: [fn(&mut Edge); 4] = [Edge::start, Edge::opened, |edge| edge.closed(1006), Edge::wait];
        all.iter().take(steps).for_each(|step| step(&mut edge));
        edge.act(|link| link.close());
        assert_eq!((edge.ended, edge.panel()["reason"].clone()), (Some(LinkEnd::Closed), json!("closed")), "{steps}");
        let dials = edge.dials.len();
        edge.at(1_000_000);
        assert_eq!(edge.dials.len(), dials);
    }
}

#[test]
fn a_close_code_that_says_no_is_not_dialled_again() {
    for code in STOP_CODES {
        for opened in [false, true] {
            let mut edge = Edge::new(saying("hi"));
            edge.start();
            if opened {
                edge.opened();
            }
            edge.closed(*code);
            assert_eq!((edge.ended, edge.link.connection().code), (Some(LinkEnd::Refused), Some(*code)));
        }
    }
}

#[test]
fn every_other_close_code_is_dialled_again() {
    for code in (0..=u16::MAX).filter(|code| !STOP_CODES.contains(code)) {
        let mut edge = Edge::open(saying("hi"));
        edge.closed(code);
        assert_eq!((edge.ended, edge.link.due()), (None, Some(500)), "{code}");
    }
}

#[test]
fn the_close_codes_that_say_no_are_an_option() {
    let mut edge = Edge::open(LinkOptions { stop_codes: vec![1000], ..saying("hi") });
    edge.closed(1008);
    assert_eq!(edge.ended, None);
    edge.wait();
    edge.opened();
    edge.closed(1000);
    assert_eq!(edge.ended, Some(LinkEnd::Refused));
}

#[test]
fn who_is_asked_decides_and_nothing_is_dialled_before() {
    let asking = || LinkOptions { classify: true, ..saying("hi") };
    let mut edge = Edge::open(asking());
    edge.closed(1006);
    assert_eq!((edge.asked.clone(), edge.panel()["retryAt"].clone()), (vec![(1006, true)], json!(null)));
    edge.at(400_000);
    assert_eq!(edge.dials.len(), 1);
    // Late: at once.
    edge.act(|link| link.verdict(true, 400_000));
    assert_eq!(edge.dials.len(), 2);
    // Early: in its time.
    edge.closed(1001);
    edge.act(|link| link.verdict(true, 400_000));
    assert_eq!((edge.asked[1], edge.link.due()), ((1001, false), Some(401_000)));
    edge.wait();
    edge.closed(1006);
    edge.act(|link| link.verdict(false, 401_000));
    assert_eq!(edge.ended, Some(LinkEnd::Refused));
}

#[test]
fn nobody_is_asked_about_what_a_code_or_the_number_of_dials_decides() {
    let asking = || LinkOptions { classify: true, max_dials: 1, ..saying("hi") };
    let mut edge = Edge::open(asking());
    edge.closed(1008);
    assert_eq!((edge.asked.len(), edge.ended), (0, Some(LinkEnd::Refused)));
    let mut edge = Edge::new(asking());
    edge.start();
    edge.closed(1006);
    assert_eq!((edge.asked.len(), edge.ended), (0, Some(LinkEnd::Unreachable)));
}

#[test]
fn a_verdict_that_was_not_asked_for_changes_nothing() {
    let mut edge = Edge::open(saying("hi"));
    edge.link.verdict(false, 0);
    edge.closed(1006);
    edge.link.verdict(false, 0);
    edge.link.verdict(true, 0);
    edge.wait();
    assert_eq!((edge.ended, edge.dials.len()), (None, 2));
}

// The timeout (section 1).

#[test]
fn the_task_ends_without_an_error_after_10_minutes_in_any_state() {
    let ready: [fn(&mut Edge); 3] = [|_| {}, |edge| edge.opened(), |edge| edge.closed(1006)];
    for ready in ready {
        let mut edge = Edge::new(LinkOptions { silence: 0, classify: true, ..saying("hi") });
        edge.start();
        ready(&mut edge);
        edge.at(599_999);
        assert_eq!((edge.ended, edge.link.due()), (None, Some(600_000)));
        edge.wait();
        assert_eq!((edge.ended, edge.panel()["reason"].clone()), (Some(LinkEnd::TimedOut), json!("timeout")));
    }
}

#[test]
fn frames_and_reconnects_do_not_put_the_timeout_off_and_0_is_none() {
    let mut edge = Edge::open(LinkOptions { timeout: 1000, ..saying("hi") });
    edge.at(900);
    edge.frame(TEXT);
    edge.closed(1006);
    edge.wait();
    assert_eq!((edge.now, edge.ended), (1000, Some(LinkEnd::TimedOut)));
    assert_eq!(edge.dials.len(), 1);
    let mut edge = Edge::open(LinkOptions { timeout: 0, ..saying("hi") });
    edge.at(u64::MAX);
    assert_eq!(edge.ended, None);
}

// What the user says while offline.

#[test]
fn what_is_said_offline_waits_and_is_sent_once_in_its_order() {
    let mut edge = Edge::open(saying("1"));
    edge.closed(1006);
    edge.sent.clear();
    for act in [
        (|link| link.send_input(UserInput::new("2"))) as fn(&mut TaskLink) -> bool,
        TaskLink::cancel,
        TaskLink::cancel,
        |link| link.answer(reply("q")),
        TaskLink::stop,
        TaskLink::stop,
        |link| link.send_input(UserInput::new("2")),
    ] {
        assert!(edge.act(act));
    }
    assert_eq!(edge.link.unsent().map(UserInput::text).collect::<Vec<_>>(), ["2", "2"]);
    edge.wait();
    edge.opened();
    edge.check_sent(&["user-input 2", "user-cancel", ANSWER, "user-stop", "user-input 2"]);
    edge.cut();
    edge.check_sent(&[]);
    assert_eq!(edge.link.unsent().count(), 0);
}

#[test]
fn online_each_request_is_sent_at_once() {
    let mut edge = Edge::open(saying("1"));
    edge.act(TaskLink::cancel);
    edge.act(TaskLink::cancel);
    edge.act(TaskLink::stop);
    edge.act(|link| link.answer(reply("q")));
    edge.check_sent(&["user-input 1", "user-cancel", "user-cancel", "user-stop", ANSWER]);
}

#[test]
fn what_was_never_sent_is_given_back_after_the_end() {
    let mut edge = Edge::new(saying("1"));
    edge.start();
    edge.act(|link| link.send_input(UserInput::new("2")));
    edge.act(TaskLink::cancel);
    edge.closed(1008);
    assert_eq!(edge.link.unsent().map(UserInput::text).collect::<Vec<_>>(), ["1", "2"]);
    assert!(!edge.act(TaskLink::cancel), "nothing waits any more");
}

// Answers (sections 2.6, 3.2, 3.4, 3.5).

#[test]
fn an_answer_is_sent_again_after_the_replay_if_the_replay_lacks_its_echo() {
    let mut edge = Edge::open(saying("hi"));
    assert!(edge.act(|link| link.answer(reply("q"))));
    edge.check_sent(&["user-input hi", ANSWER]);
    edge.cut();
    for text in [TEXT, &question("q"), &echo("other"), "no json"] {
        edge.frame(text);
        edge.check_sent(&[]);
    }
    edge.frame(PING);
    edge.check_sent(&["ping", ANSWER]);
    edge.frame(PING);
    edge.check_sent(&["ping"]);
    edge.frame(&echo("q"));
    edge.cut();
    edge.frame(TEXT);
    edge.frame(PING);
    edge.check_sent(&["ping"]);
}

#[test]
fn an_answer_is_not_sent_again_if_its_echo_came_live_or_in_the_replay() {
    for live in [true, false] {
        for echo in [echo("q"), r#"{"type":"reply-question","data":{"request_id":"q"}}"#.into()] {
            let mut edge = Edge::open(saying("hi"));
            edge.act(|link| link.answer(reply("q")));
            if live {
                edge.frame(&echo);
            }
            edge.cut();
            edge.sent.clear();
            edge.frame(if live { TEXT } else { &echo });
            edge.frame(PING);
            edge.check_sent(&["ping"]);
        }
    }
}

#[test]
fn a_ping_before_anything_else_is_not_yet_the_end_of_the_replay() {
    let mut edge = Edge::open(saying("hi"));
    edge.act(|link| link.answer(reply("q")));
    edge.cut();
    edge.sent.clear();
    edge.frame(PING);
    edge.check_sent(&["ping"]);
    edge.frame(PING);
    edge.check_sent(&["ping", ANSWER]);
}

#[test]
fn an_answer_lost_in_a_replay_again_is_sent_after_the_next() {
    let mut edge = Edge::open(saying("hi"));
    edge.act(|link| link.answer(reply("q")));
    edge.cut();
    edge.frame(TEXT);
    edge.cut();
    edge.frame(TEXT);
    edge.sent.clear();
    edge.frame(PING);
    edge.check_sent(&["ping", ANSWER]);
}

#[test]
fn an_answer_on_a_connection_without_replay_is_sent_again_at_once() {
    let mut edge = Edge::open(options(TaskMode::New));
    edge.act(|link| link.answer(reply("q")));
    edge.cut();
    edge.check_sent(&[ANSWER, ANSWER]);
    assert_eq!(edge.dials[1].1, "new");
}

#[test]
fn the_last_of_several_answers_offline_counts_and_after_sending_the_first() {
    let other = |id: &str| Reply::new(id, r#"{"Which?":"left"}"#).unwrap();
    let mut edge = Edge::new(options(TaskMode::Attach));
    edge.start();
    assert!(edge.act(|link| link.answer(other("q"))) && edge.act(|link| link.answer(reply("q"))));
    edge.opened();
    edge.check_sent(&[ANSWER]);
    assert!(!edge.act(|link| link.answer(other("q"))), "it is on its way");
    edge.closed(1006);
    assert!(edge.act(|link| link.answer(other("q"))), "nobody knows whether the first arrived");
    edge.wait();
    edge.opened();
    edge.frame(TEXT);
    edge.frame(PING);
    edge.check_sent(&["ping", r#"reply-question q {"Which?":"left"}"#]);
    edge.frame(&echo("q"));
    assert!(!edge.act(|link| link.answer(reply("q"))), "it arrived");
}

#[test]
fn answers_are_remembered_up_to_their_cap() {
    let mut edge = Edge::open(saying("hi"));
    for number in 0..=REPLIES {
        edge.act(|link| link.answer(reply(&number.to_string())));
    }
    edge.cut();
    edge.sent.clear();
    edge.frame(TEXT);
    edge.frame(PING);
    assert_eq!(edge.sent.len(), 1 + REPLIES, "the oldest is forgotten");
    assert_eq!(edge.sent[1], r#"reply-question 1 {"Which?":"right"}"#);
}

// Automatic answers (section 2.6).

fn answering(mode: TaskMode) -> LinkOptions {
    LinkOptions { auto_answer: true, ..options(mode) }
}

#[track_caller]
fn check_answer(data: Value, expected: &str) {
    let mut edge = Edge::open(answering(TaskMode::New));
    edge.frame(&asked(data));
    edge.check_sent(&[expected]);
}

#[test]
fn a_question_is_answered_at_once_by_its_first_option() {
    check_answer(
        json!({"toolCall": {"toolCallId": "q", "rawInput": {"questions": [
            {"question": "A?", "options": [{"label": "a1"}, {"label": "a2"}]},
            {"question": "B?", "multiSelect": true, "options": [{"label": "b1"}]},
            {"question": "C?", "multiple": false, "multiSelect": true, "options": ["c1"]},
            {"question": "D?", "custom": true, "options": []},
            {"question": "E \"é\"?"},
        ]}}}),
        r#"reply-question q {"A?":"a1","B?":["b1"],"C?":"c1"}"#,
    );
    let questions = json!([{"question": "A?", "options": [{"label": "a"}]}]);
    let all = r#"reply-question q {"A?":["a"]}"#;
    check_answer(json!({"toolCall": {"toolCallId": "q", "rawInput": {"questions": questions, "multiple": true}}}), all);
    let one = r#"reply-question q {"A?":"a"}"#;
    check_answer(json!({"toolCall": {"toolCallId": "q", "_meta": {"askUserQuestion": questions}}}), one);
    check_answer(json!({"toolCall": {"toolCallId": "q", "_meta": {"askUserQuestion": {"questions": questions}}}}), one);
}

#[test]
fn a_question_of_the_first_description_is_answered_by_its_request_id_or_id_or_none() {
    check_answer(json!({"request_id": "r", "id": "i"}), "reply-question r {}");
    check_answer(json!({"id": "i"}), "reply-question i {}");
    check_answer(json!({}), "reply-question  {}");
    check_answer(
        json!({"id": "i", "questions": [{"question": "A?", "options": ["a"]}]}),
        r#"reply-question i {"A?":"a"}"#,
    );
}

#[test]
fn unreadable_questions_are_answered_with_an_empty_object() {
    for data in ["null", "3", "\"\"", "\"!\"", "\"e30\"", "{\"questions\":{}}", "\"{\""] {
        let mut edge = Edge::open(answering(TaskMode::New));
        edge.frame(&format!(r#"{{"type":"task-running","kind":"acp_ask_user_question","data":{data}}}"#));
        edge.check_sent(&["reply-question  {}"]);
    }
}

#[test]
fn a_question_that_comes_again_is_answered_once() {
    let mut edge = Edge::open(LinkOptions { auto_answer: true, ..saying("hi") });
    edge.sent.clear();
    edge.frame(&question("q"));
    edge.frame(&question("q"));
    edge.frame(&echo("q"));
    edge.frame(&question("q"));
    edge.check_sent(&[r#"reply-question q {"Which?":"left"}"#]);
    edge.cut();
    edge.frame(&question("q"));
    edge.frame(&echo("q"));
    edge.frame(PING);
    edge.check_sent(&["ping"]);
}

#[test]
fn a_question_without_an_id_that_comes_again_is_answered_once() {
    let mut edge = Edge::open(LinkOptions { auto_answer: true, ..saying("hi") });
    edge.sent.clear();
    for _ in 0..2 {
        edge.frame(&question(""));
        edge.frame(&echo(""));
    }
    let answer = r#"reply-question  {"Which?":"left"}"#;
    edge.check_sent(&[answer]);
    // Another one is asked, and its answer is lost.
    let other = question("").replace('{', r#"{"timestamp":7,"#);
    edge.frame(&other);
    edge.check_sent(&[answer]);
    for sent in [&["ping", answer][..], &["ping", answer], &["ping"]] {
        edge.cut();
        edge.frame(&question(""));
        edge.frame(&echo(""));
        edge.frame(&other);
        if sent.len() == 1 {
            edge.frame(&echo(""));
        }
        edge.frame(PING);
        edge.frame(&other);
        edge.check_sent(sent);
    }
}

#[test]
fn in_a_replay_only_questions_that_nobody_answered_are_answered_and_at_its_end() {
    let mut edge = Edge::open(answering(TaskMode::Attach));
    edge.frame(&question("old"));
    edge.frame(&echo("old"));
    edge.frame(&question("new"));
    edge.check_sent(&[]);
    edge.frame(PING);
    edge.check_sent(&["ping", r#"reply-question new {"Which?":"left"}"#]);
    edge.frame(&question("live"));
    edge.check_sent(&[r#"reply-question live {"Which?":"left"}"#]);
}

#[test]
fn without_the_option_no_question_is_answered_and_no_other_frame_ever() {
    let mut edge = Edge::open(options(TaskMode::New));
    edge.frame(&question("q"));
    let mut edge = Edge::open(answering(TaskMode::New));
    edge.frame(TEXT);
    edge.frame(r#"{"type":"task-started"}"#);
    edge.check_sent(&[]);
}

// The panel.

#[test]
fn the_panel_tells_each_change_once() {
    let mut edge = Edge::open(saying("hi"));
    edge.frame(TEXT);
    edge.frame(PING);
    edge.closed(1001);
    edge.wait();
    edge.closed(1006);
    edge.wait();
    edge.wait();
    edge.opened();
    edge.frame(ENDED);
    let shown: Vec<String> = edge.shown.iter().map(Connection::to_json).collect();
    let row = |state: &str, attempt: &str, at: &str, code: &str, reason: &str| {
        format!(r#"{{"state":"{state}","attempt":{attempt},"retryAt":{at},"code":{code},"reason":{reason}}}"#)
    };
    assert_eq!(
        shown,
        [
            row("connecting", "1", "null", "null", "null"),
            row("open", "null", "null", "null", "null"),
            row("retrying", "1", "500", "1001", "null"),
            row("connecting", "1", "null", "1001", "null"),
            row("retrying", "2", "1500", "1006", "null"),
            row("connecting", "2", "null", "1006", "null"),
            row("silent", "2", "null", "1006", "null"),
            row("open", "null", "null", "null", "null"),
            row("closed", "null", "null", "null", "\"task-ended\""),
        ]
    );
}

// What comes in is not trusted.

#[test]
fn no_message_breaks_it() {
    for text in [
        "",
        "[]",
        "null",
        "{",
        "{}",
        "\"ping\"",
        r#"{"type":3}"#,
        r#"{"type":null,"event":"x"}"#,
        "\u{0}",
        "{\"type\":\"pi",
    ] {
        let mut edge = Edge::open(LinkOptions { auto_answer: true, ..saying("hi") });
        let heard = edge.frame(text);
        assert_eq!(heard == Heard::Unreadable, serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert_eq!((edge.ended, edge.sent.len()), (None, 1));
    }
    let mut edge = Edge::open(saying("hi"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(edge.frame(&deep), Heard::Unreadable);
    assert_eq!(edge.frame(&frame("reply-question", json!([1]))), Heard::Frame);
}

#[test]
fn what_is_kept_does_not_grow_with_the_number_of_frames() {
    let mut edge = Edge::open(LinkOptions { auto_answer: true, ..saying("hi") });
    for number in 0..2_000 {
        edge.frame(&question(&number.to_string()));
        edge.frame(PING);
        edge.frame(TEXT);
    }
    assert_eq!(edge.sent.len(), 1 + 2 * 2_000);
    let kept = format!("{:?}", edge.link).len();
    for number in 2_000..4_000 {
        edge.frame(&question(&number.to_string()));
        edge.frame(PING);
        edge.frame(TEXT);
    }
    assert_eq!(format!("{:?}", edge.link).len(), kept);
}

// Repeated frames (sections 2.7, 3.5).

#[track_caller]
fn check_seen(first: &str, second: &str, is_new: bool) {
    let (mut seen, mut tape) = (SeenFrames::new(SEEN_FRAMES), Tape::default());
    assert!(seen.is_new(tape.read(first).unwrap().root()), "{first}");
    assert_eq!(seen.is_new(tape.read(second).unwrap().root()), is_new, "{first} {second}");
}

#[test]
fn a_frame_is_another_one_if_any_of_its_five_parts_is() {
    let first = r#"{"type":"t","kind":"k","seq":1,"timestamp":5,"data":"x"}"#;
    check_seen(first, first, false);
    check_seen(first, r#"{ "data":"x", "seq":1, "kind":"k", "type":"t", "timestamp":5, "more":1}"#, false);
    check_seen(first, r#"{"event":"t","kind":"k","seq":1,"timestamp":5,"data":"x"}"#, false);
    for part in [("\"t\"", "\"u\""), ("\"k\"", "\"l\""), (":1", ":2"), (":5", ":6"), ("\"x\"", "\"y\"")] {
        check_seen(first, &first.replace(part.0, part.1), true);
    }
}

#[test]
fn same_time_and_data_under_another_seq_is_another_frame() {
    check_seen(
        r#"{"type":"t","seq":1,"timestamp":5,"data":"x"}"#,
        r#"{"type":"t","seq":2,"timestamp":5,"data":"x"}"#,
        true,
    );
    check_seen(r#"{"type":"t","timestamp":5,"data":"x"}"#, r#"{"type":"t","timestamp":5,"data":"x"}"#, false);
}

#[test]
fn no_nanosecond_is_rounded_away() {
    let at = |time: u64| format!(r#"{{"type":"t","timestamp":{time},"data":"x"}}"#);
    check_seen(&at(1_719_561_600_123_456_789), &at(1_719_561_600_123_456_788), true);
    check_seen(&at(1_719_561_600_123_456_789), &at(1_719_561_600_123_456_789), false);
}

#[test]
fn parts_do_not_run_into_each_other() {
    check_seen(r#"{"type":"t","seq":1,"timestamp":23}"#, r#"{"type":"t","seq":12,"timestamp":3}"#, true);
    check_seen(r#"{"type":"t","seq":1,"data":"x"}"#, r#"{"type":"t","timestamp":1,"data":"x"}"#, true);
    check_seen(r#"{"type":"t","seq":1,"data":null}"#, r#"{"type":"t","seq":1}"#, true);
}

#[test]
fn a_frame_without_seq_and_time_is_always_new() {
    for text in [PING, r#"{"type":"t","data":"x"}"#, r#"{"type":"t","seq":0,"timestamp":null,"data":"x"}"#] {
        check_seen(text, text, true);
    }
}

#[test]
fn the_newest_2000_frames_are_remembered_and_the_oldest_forgotten() {
    let (mut seen, mut tape) = (SeenFrames::new(SEEN_FRAMES), Tape::default());
    let mut is_new = |seq: u64| {
        let text = format!(r#"{{"type":"t","seq":{seq},"timestamp":1719561600123,"data":"e30="}}"#);
        seen.is_new(tape.read(&text).unwrap().root())
    };
    assert!((1..=2000).all(&mut is_new));
    assert!(!(1..=2000).any(&mut is_new), "all of them are remembered");
    assert!(is_new(2001) && is_new(1), "the first made room, and to be seen again made it no newer");
    assert!(!is_new(3) && !is_new(2000));
    assert!((3000..100_000).all(&mut is_new), "no two of them are taken for one");
    let mut none = SeenFrames::new(0);
    let text = r#"{"type":"t","seq":1}"#;
    let mut is_new = || none.is_new(Tape::default().read(text).unwrap().root());
    assert!(is_new() && is_new());
}

// Every order of a few events.

/// What may happen, in any state.
const EVENTS: [fn(&mut Edge); 10] = [
    Edge::opened,
    |edge| edge.closed(1006),
    |edge| edge.closed(1008),
    |edge| _ = edge.frame(PING),
    |edge| _ = edge.frame(&QUESTION),
    |edge| _ = edge.frame(ENDED),
    |edge| _ = edge.act(|link| link.send_input(UserInput::new("more"))),
    |edge| _ = edge.act(|link| link.answer(reply("a"))),
    |edge| edge.at(edge.link.due().unwrap_or(edge.now + 1)),
    |edge| {
        edge.link.close();
        edge.carry_out();
    },
];

static QUESTION: LazyLock<String> = LazyLock::new(|| question("q"));

/// After a schedule: what holds in every one. What holds at each step is asserted by [`Edge`].
fn check_schedule(edge: &Edge, schedule: &[usize]) {
    let count = |text: &str| edge.sent.iter().filter(|sent| *sent == text).count();
    let said = schedule.iter().filter(|event| **event == 6).count();
    assert!(count("user-input first") <= 1, "{schedule:?}: {:?}", edge.sent);
    assert!(count("user-input more") <= said, "{schedule:?}: {:?}", edge.sent);
    let opens = 1 + schedule.iter().filter(|event| **event == 0).count();
    assert!(count(r#"reply-question a {"Which?":"right"}"#) <= opens, "{schedule:?}: {:?}", edge.sent);
    assert!(count(r#"reply-question q {"Which?":"left"}"#) <= opens, "{schedule:?}: {:?}", edge.sent);
    // An input goes out before the first dial that attaches, and a dial after it attaches.
    let first = edge.sent.iter().any(|sent| sent.starts_with("user-input"));
    assert!(first || edge.dials.iter().all(|dial| dial.1 == "new"), "{schedule:?}: {:?}", edge.dials);
    let modes: Vec<&str> = edge.dials.iter().map(|dial| dial.1).collect();
    assert!(modes.is_sorted_by(|a, b| a == b || *a == "new"), "{schedule:?}: {modes:?}");
    // Nothing that was said is lost: it was sent, or it waits.
    if edge.ended.is_none() {
        assert_eq!(count("user-input more") + edge.link.unsent().filter(|input| input.text() == "more").count(), said);
    }
    assert_eq!(edge.shown.last(), Some(&edge.link.connection()), "{schedule:?}");
}

/// All schedules that begin with `schedule`, up to six events; after the end one more.
fn check_schedules(options: &LinkOptions, schedule: &mut Vec<usize>, max: usize) -> u32 {
    let mut edge = Edge::new(options.clone());
    edge.start();
    for event in &*schedule {
        EVENTS[*event](&mut edge);
        if !std::mem::take(&mut edge.asked).is_empty() {
            edge.act(|link| link.verdict(true, 0));
        }
    }
    check_schedule(&edge, schedule);
    let max = if edge.ended.is_some() { max.min(schedule.len() + 1) } else { max };
    let mut count = 1;
    if schedule.len() < max {
        for event in 0..EVENTS.len() {
            schedule.push(event);
            count += check_schedules(options, schedule, max);
            schedule.pop();
        }
    }
    count
}

#[test]
fn no_order_of_six_events_breaks_a_rule() {
    for classify in [false, true] {
        let options = LinkOptions { auto_answer: true, max_dials: 2, timeout: 40_000, classify, ..saying("first") };
        let count = check_schedules(&options, &mut Vec::new(), 6);
        assert!(count > 100_000, "{count}");
    }
}

#[test]
fn in_every_order_of_drops_and_opens_the_delays_are_exact() {
    // Each dial opens and is lost, or fails.
    for opens in 0..1u32 << 12 {
        let mut edge = Edge::new(LinkOptions { max_dials: 0, timeout: 0, ..saying("hi") });
        edge.start();
        let mut delay = 500;
        for dial in 0..12 {
            if opens >> dial & 1 == 1 {
                edge.opened();
                delay = 500;
            }
            edge.closed(1006);
            let lost = edge.now;
            edge.wait();
            assert_eq!(edge.now - lost, delay, "dial {dial} of {opens:b}");
            delay = (delay * 2).min(8000);
        }
        edge.check_sent(if opens == 0 { &[] } else { &["user-input hi"] });
    }
}
