//! Calls run by futures, in an executor that takes each step when the test says so.

#![cfg(not(target_arch = "wasm32"))]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use chatrows::{
    ChatRows, Driver, Format, Options, RowState, RunTools, StreamId, StreamOptions, TaggedTools, ToolCall, ToolFuture,
    ToolHost, ToolOutput,
};

/// What the futures come to, in order; none yet: they wait.
type Answers = Rc<RefCell<VecDeque<Result<String, String>>>>;

struct Host {
    said: Vec<String>,
    answers: Answers,
    /// Futures that were dropped before their end.
    dropped: Rc<RefCell<u32>>,
}

struct Guard(Rc<RefCell<u32>>, bool);

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.1 {
            *self.0.borrow_mut() += 1;
        }
    }
}

impl Host {
    fn answer<T>(&self, of: impl Fn(String) -> T + 'static) -> ToolFuture<T> {
        let (answers, mut guard) = (self.answers.clone(), Guard(self.dropped.clone(), false));
        Box::pin(poll_fn(move |_| {
            // All of it, not one field.
            let guard = &mut guard;
            let Some(answer) = answers.borrow_mut().pop_front() else { return Poll::Pending };
            guard.1 = true;
            Poll::Ready(answer.map(&of))
        }))
    }
}

impl ToolHost for Host {
    fn run(&mut self, call: ToolCall) -> ToolFuture<ToolOutput> {
        self.said.push(format!("run {} {}", call.name, call.args));
        self.answer(|output| ToolOutput { output: Some(output), is_error: false })
    }

    fn approve(&mut self, call: ToolCall) -> ToolFuture<bool> {
        self.said.push(format!("approve {}", call.name));
        self.answer(|said| said == "yes")
    }

    fn checkpoint(&mut self, _: StreamId) -> ToolFuture<()> {
        self.said.push("checkpoint".into());
        self.answer(|_| ())
    }

    fn ready(&mut self, _: StreamId) {
        self.said.push("ready".into());
    }

    fn aborted(&mut self, _: StreamId) {
        self.said.push("aborted".into());
    }
}

struct Play {
    chat: ChatRows,
    stream: StreamId,
    driver: Driver<Host>,
}

impl Play {
    fn new() -> Play {
        let mut chat = ChatRows::new(Options::default());
        let run_tools = RunTools { approval: true, checkpoint: true, parallel: true, ..RunTools::default() };
        let (tagged_tools, run_tools) = (Some(TaggedTools::default()), Some(run_tools));
        let stream = chat.stream(StreamOptions { tagged_tools, run_tools, ..Format::ApiStream.into() });
        let call = "<write_to_file><path>a</path><content>x</content></write_to_file>";
        chat.push_message(stream, &format!(r#"{{"type":"text","text":"{call}{call}"}}"#));
        chat.finish(stream);
        let host = Host { said: Vec::new(), answers: Answers::default(), dropped: Rc::default() };
        Play { chat, stream, driver: Driver::new(host) }
    }

    /// Lets one future end, and sees what that leads to.
    #[track_caller]
    fn step(&mut self, answer: Option<Result<&str, &str>>, expected: &str) -> Poll<()> {
        let answer = answer.map(|answer| answer.map(str::to_owned).map_err(str::to_owned));
        self.driver.host.answers.borrow_mut().extend(answer);
        let polled = self.driver.poll(&mut self.chat, &mut Context::from_waker(Waker::noop()));
        assert_eq!(std::mem::take(&mut self.driver.host.said).join(", "), expected);
        polled
    }

    fn states(&self) -> Vec<RowState> {
        self.chat.rows().map(|row| row.state).collect()
    }
}

const RUN: &str = r#"run write_to_file {"path":"a","content":"x"}"#;

#[test]
fn each_step_waits_for_the_one_before() {
    let mut play = Play::new();
    assert_eq!(play.step(None, "checkpoint"), Poll::Pending);
    assert_eq!(play.step(None, ""), Poll::Pending);
    assert_eq!(play.step(Some(Ok("made")), "approve write_to_file"), Poll::Pending);
    assert_eq!(play.step(Some(Ok("yes")), RUN), Poll::Pending);
    assert_eq!(play.step(Some(Err("full")), "approve write_to_file"), Poll::Pending);
    assert_eq!(play.step(Some(Ok("no")), "ready"), Poll::Ready(()));
    assert_eq!(play.states(), [RowState::Failed, RowState::Cancelled]);
    assert_eq!(*play.driver.host.dropped.borrow(), 0);
}

#[test]
fn an_abort_drops_what_is_waited_for() {
    let mut play = Play::new();
    assert!(play.step(None, "checkpoint").is_pending());
    assert!(play.step(Some(Ok("made")), "approve write_to_file").is_pending());
    assert!(play.step(Some(Ok("yes")), RUN).is_pending());
    play.chat.abort(play.stream);
    assert_eq!(play.step(None, "aborted"), Poll::Ready(()));
    assert_eq!(play.states(), [RowState::Cancelled]);
    assert_eq!(*play.driver.host.dropped.borrow(), 1, "the tool's future");
    assert_eq!(play.step(Some(Ok("late")), ""), Poll::Ready(()));
}
