//! One WebSocket connection to a task: the log goes out, from where the
//! client's mode says, with the faults that the script asks for; what the
//! client sends comes in. After `task-ended` the server closes it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{self, Instant, Interval};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::script::CutAt;
use super::task::{Received, State, Task};
use super::wire::{self, Record};

/// How long a client that is gone, or does not close, is waited for.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a client dials for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A new turn: what the log has so far is not sent.
    New,
    /// The latest turn in full, then what follows.
    Attach,
}

impl Mode {
    /// As the address has it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::New => "new",
            Mode::Attach => "attach",
        }
    }
}

/// A connection that is to become a line.
pub(crate) struct Dial {
    pub(super) task: Arc<Task>,
    pub(super) mode: Mode,
    /// From 1.
    pub(super) number: usize,
}

impl Dial {
    /// Speaks with the client until the line is lost or closed. `read` is what has been read of it already.
    pub(crate) async fn run(self, stream: TcpStream, read: Bytes) {
        self.task.line_opened();
        let task = Arc::clone(&self.task);
        let mut line = Line::open(self, stream, read).await;
        // A client that has gone is told nothing.
        let end = line.speak().await.unwrap_or(End::Gone);
        task.line_closed();
        match end {
            End::Cut(last) => line.cut(&last).await,
            End::Closed(code) => line.close(code).await,
            End::Gone => {}
        }
    }
}

struct Line {
    task: Arc<Task>,
    dial: usize,
    socket: WebSocketStream<TcpStream>,
    state: watch::Receiver<State>,
    /// The next record to send.
    next: usize,
    /// From here on records are live, no replay.
    live: usize,
    drops: usize,
    cursor: Option<String>,
    ping: Option<Interval>,
}

enum End {
    /// The TCP connection ends, without a word; these are the last bytes on it.
    Cut(Vec<u8>),
    Closed(u16),
    /// The client has closed.
    Gone,
}

/// What a line does next.
enum Next {
    Send(usize),
    /// The second before the first.
    Swapped(usize),
    Wait,
}

impl From<Option<u16>> for End {
    fn from(close: Option<u16>) -> End {
        close.map_or_else(|| End::Cut(Vec::new()), End::Closed)
    }
}

impl Line {
    async fn open(dial: Dial, stream: TcpStream, read: Bytes) -> Line {
        // Small frames, one after the other: none waits for the last one's acknowledgement.
        let _ = stream.set_nodelay(true);
        let socket = WebSocketStream::from_partially_read(stream, read.to_vec(), Role::Server, None).await;
        let task = dial.task;
        let state = task.watch();
        let (next, live, drops) = {
            let now = state.borrow();
            let live = now.log.len();
            (if dial.mode == Mode::Attach { now.latest_turn() } else { live }, live, now.drops.0)
        };
        let cursor = if dial.mode == Mode::Attach { task.cursor() } else { None };
        let ping = (task.script.ping_ms > 0).then(|| {
            let period = Duration::from_millis(task.script.ping_ms);
            time::interval_at(Instant::now() + period, period)
        });
        Line { task, dial: dial.number, socket, state, next, live, drops, cursor, ping }
    }

    async fn speak(&mut self) -> Result<End, Error> {
        if let Some(cursor) = self.cursor.take() {
            self.socket.feed(Message::text(cursor)).await?;
        }
        loop {
            self.state.mark_unchanged();
            let (next, drops) = {
                let state = self.state.borrow();
                (self.next(&state), state.drops)
            };
            if drops.0 != self.drops {
                return Ok(drops.1.into());
            }
            let order = match next {
                Next::Send(record) => [Some(record), None],
                Next::Swapped(record) => [Some(record + 1), Some(record)],
                Next::Wait => {
                    self.socket.flush().await?;
                    if let Some(end) = self.listen().await? {
                        return Ok(end);
                    }
                    continue;
                }
            };
            for record in order.into_iter().flatten() {
                self.next += 1;
                if let Some(end) = self.send(record).await? {
                    return Ok(end);
                }
            }
        }
    }

    fn next(&self, state: &State) -> Next {
        let held = self.next >= self.live && self.task.script.swap.contains(&self.next);
        match state.log.len().saturating_sub(self.next) {
            0 => Next::Wait,
            1 if held && state.is_running() => Next::Wait,
            2.. if held => Next::Swapped(self.next),
            _ => Next::Send(self.next),
        }
    }

    /// Sends a record, or loses the line at it.
    async fn send(&mut self, index: usize) -> Result<Option<End>, Error> {
        let record = Arc::clone(&self.state.borrow().log[index]);
        let message = match record.as_ref() {
            Record::Frame(frame) => Message::text(frame.text(&self.task.script.wire)),
            Record::Text(text) => Message::text(text.as_str()),
            Record::Binary(bytes) => Message::binary(bytes.clone()),
        };
        if let Some(loss) = self.task.take_cut(index, CutAt::Before) {
            return Ok(Some(loss.close.into()));
        }
        if self.task.take_cut(index, CutAt::Inside).is_some() {
            return Ok(Some(End::Cut(first_half(&message))));
        }
        if self.task.script.repeat.includes(index) {
            self.socket.feed(message.clone()).await?;
        }
        self.socket.feed(message).await?;
        if let Some(loss) = self.task.take_cut(index, CutAt::After) {
            return Ok(Some(loss.close.into()));
        }
        let ended = matches!(record.as_ref(), Record::Frame(frame) if frame.name == "task-ended");
        Ok(ended.then_some(End::Closed(1000)))
    }

    /// Until the task has changed: takes what the client sends, and pings it.
    async fn listen(&mut self) -> Result<Option<End>, Error> {
        let ping = async {
            match &mut self.ping {
                Some(ping) => ping.tick().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The sender is the task's.
            _ = self.state.changed() => {}
            _ = ping => self.socket.send(Message::text(wire::ping(&self.task.script.wire))).await?,
            message = self.socket.next() => match message.transpose()? {
                Some(message) => self.receive(&message),
                None => return Ok(Some(End::Gone)),
            },
        }
        Ok(None)
    }

    fn receive(&self, message: &Message) {
        match message {
            Message::Text(text) => self.task.receive(self.dial, text),
            Message::Binary(bytes) => {
                let data = json!({ "bytes": bytes.len() });
                self.task.note(Received { dial: self.dial, name: "binary".into(), data });
            }
            _ => {}
        }
    }

    async fn close(&mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        let farewell = async {
            self.socket.close(Some(frame)).await?;
            while let Some(message) = self.socket.next().await {
                // A frame that crossed the closing one.
                self.receive(&message?);
            }
            Ok::<_, Error>(())
        };
        // It is closed, or it is dropped.
        let _ = time::timeout(FAREWELL, farewell).await;
    }

    /// Ends the TCP connection once the client has all that was sent before: Firefox forgets frames that it has not
    /// read when the connection ends, and a connection that is dropped with bytes unread is reset.
    async fn cut(&mut self, last: &[u8]) {
        let taken = async {
            self.socket.send(Message::Ping(Bytes::new())).await?;
            while let Some(message) = self.socket.next().await.transpose()? {
                if message.is_pong() {
                    break;
                }
                self.receive(&message);
            }
            Ok::<_, Error>(())
        };
        let _ = time::timeout(FAREWELL, taken).await;
        let stream = self.socket.get_mut();
        let farewell = async {
            stream.write_all(last).await?;
            stream.shutdown().await?;
            let mut unread = [0; 4096];
            while stream.read(&mut unread).await? > 0 {}
            Ok::<_, std::io::Error>(())
        };
        let _ = time::timeout(FAREWELL, farewell).await;
    }
}

/// The header of a message's frame, and half of what the header promises.
fn first_half(message: &Message) -> Vec<u8> {
    let opcode = if message.is_text() { 1 } else { 2 };
    let payload = message.clone().into_data();
    let length = payload.len();
    let mut frame = vec![0x80 | opcode];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length @ 0..126), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(&payload[..length / 2]);
    frame
}
