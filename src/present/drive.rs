//! Runs the calls of a chat by futures: for programs without JavaScript.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::present::chat::{ChatRows, StreamId};
use crate::present::turn::WaitId;
use crate::present::turns::{Asked, Outcome};
use crate::row::RowId;

/// A call that is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The stream it came by.
    pub stream: StreamId,
    /// Its row.
    pub row: RowId,
    /// The tool's name.
    pub name: String,
    /// The wire's id, where it has one.
    pub call_id: Option<String>,
    /// Its arguments: complete and well-formed JSON text.
    pub args: String,
}

/// What a tool gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the row shows as its output.
    pub output: Option<String>,
    /// It is an error.
    pub is_error: bool,
}

/// A future of a [`ToolHost`]. Dropped before its end: nobody waits for it any more.
pub type ToolFuture<T> = Pin<Box<dyn Future<Output = Result<T, String>>>>;

/// The outside world of a chat's calls. An error, in words, fails the call.
pub trait ToolHost {
    /// Runs a call.
    fn run(&mut self, call: ToolCall) -> ToolFuture<ToolOutput>;

    /// Asks the user whether the call may run.
    fn approve(&mut self, call: ToolCall) -> ToolFuture<bool> {
        drop(call);
        Box::pin(std::future::ready(Ok(true)))
    }

    /// Makes the checkpoint, or waits until it is made.
    fn checkpoint(&mut self, stream: StreamId) -> ToolFuture<()> {
        let _ = stream;
        Box::pin(std::future::ready(Ok(())))
    }

    /// All blocks of a message are handled.
    fn ready(&mut self, stream: StreamId) {
        let _ = stream;
    }

    /// A turn was aborted.
    fn aborted(&mut self, stream: StreamId) {
        let _ = stream;
    }
}

enum Waiting {
    Checkpoint(ToolFuture<()>),
    Approval(ToolFuture<bool>),
    Run(ToolFuture<ToolOutput>),
}

/// Carries what a chat asks for to a host, and the answers back.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use chatrows::{ChatRows, Driver, Format, Options, RunTools, StreamOptions, TaggedTools};
/// use chatrows::{ToolCall, ToolFuture, ToolHost, ToolOutput};
///
/// struct Files;
/// impl ToolHost for Files {
///     fn run(&mut self, call: ToolCall) -> ToolFuture<ToolOutput> {
///         let output = Some(format!("{} {}", call.name, call.args));
///         Box::pin(async move { Ok(ToolOutput { output, is_error: false }) })
///     }
/// }
///
/// let (mut chat, mut driver) = (ChatRows::new(Options::default()), Driver::new(Files));
/// let (tagged_tools, run_tools) = (Some(TaggedTools::default()), Some(RunTools::default()));
/// let stream = chat.stream(StreamOptions { tagged_tools, run_tools, ..Format::ApiStream.into() });
/// chat.push_message(stream, r#"{"type":"text","text":"<read_file><path>a</path></read_file>"}"#);
/// chat.finish(stream);
/// assert_eq!(driver.poll(&mut chat, &mut Context::from_waker(Waker::noop())), Poll::Ready(()));
/// let tool = chat.rows().next().unwrap().tool.as_deref().unwrap();
/// assert_eq!(tool.output.as_deref(), Some(r#"read_file {"path":"a"}"#));
/// ```
pub struct Driver<H> {
    /// Whom the chat asks.
    pub host: H,
    waiting: Vec<(StreamId, WaitId, Waiting)>,
}

impl<H: ToolHost> Driver<H> {
    /// A driver that has asked for nothing.
    pub fn new(host: H) -> Self {
        Driver { host, waiting: Vec::new() }
    }

    /// Asks the host for what the chat asks, and settles what has come to its end. Ready once nothing is waited for;
    /// else `cx` is woken when this should be called again. Call it after each push, finish and abort too.
    pub fn poll(&mut self, chat: &mut ChatRows, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let asked = chat.take_asked();
            let news = asked.len();
            asked.for_each(|(stream, asked)| self.ask(stream, asked, chat));
            let mut settled = 0;
            self.waiting.retain_mut(|(stream, wait, waiting)| {
                let is_over = settle(chat, *stream, *wait, waiting, cx);
                settled += usize::from(is_over);
                !is_over
            });
            if news + settled == 0 {
                return if self.waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
    }

    fn ask(&mut self, stream: StreamId, asked: Asked, chat: &ChatRows) {
        let call = |row: RowId| {
            let tool = chat.row(row)?.tool.as_deref()?;
            let call_id = tool.call_id.as_deref().map(str::to_owned);
            Some(ToolCall { stream, row, name: tool.name.clone(), call_id, args: chat.args(row)?.into_owned() })
        };
        let (wait, waiting) = match asked {
            Asked::Checkpoint(wait) => (wait, Waiting::Checkpoint(self.host.checkpoint(stream))),
            Asked::Approve(wait, row) => {
                let approval = call(row).map_or_else(gone, |call| self.host.approve(call));
                (wait, Waiting::Approval(approval))
            }
            Asked::Run(wait, row) => {
                let run = call(row).map_or_else(gone, |call| self.host.run(call));
                (wait, Waiting::Run(run))
            }
            Asked::Cancel(wait) => {
                return self.waiting.retain(|(of, asked, _)| (*of, *asked) != (stream, wait));
            }
            Asked::Ready => return self.host.ready(stream),
            Asked::Aborted => return self.host.aborted(stream),
        };
        self.waiting.push((stream, wait, waiting));
    }
}

/// The row is gone, and with it what could be told of the call.
fn gone<T: 'static>() -> ToolFuture<T> {
    Box::pin(std::future::ready(Err("the call is no more".to_owned())))
}

/// Whether the future came to its end.
fn settle(chat: &mut ChatRows, stream: StreamId, wait: WaitId, waiting: &mut Waiting, cx: &mut Context<'_>) -> bool {
    let outcome = match waiting {
        Waiting::Checkpoint(made) => made.as_mut().poll(cx).map(|made| made.map(|()| (true, ToolOutput::default()))),
        Waiting::Approval(said) => said.as_mut().poll(cx).map(|said| said.map(|yes| (yes, ToolOutput::default()))),
        Waiting::Run(run) => run.as_mut().poll(cx).map(|run| run.map(|output| (true, output))),
    };
    let Poll::Ready(outcome) = outcome else { return false };
    let outcome = match &outcome {
        Err(why) => Outcome::Failed(why),
        Ok((false, _)) => Outcome::No,
        Ok((true, ToolOutput { output, is_error })) => {
            Outcome::Ended { output: output.as_deref(), is_error: *is_error }
        }
    };
    chat.settle(stream, wait, outcome);
    true
}
