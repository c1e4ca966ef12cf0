//! A task on the server: its log, who has dialled and what they sent, and the
//! faults that are still to come. The agent writes the log, lines read it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::script::{Cut, CutAt, EventShape, Loss, Refusal, Script};
use super::wire::{self, Frame, Record, Sent, UserInput};

/// A task of the server's.
#[derive(Debug)]
pub struct Task {
    pub(super) id: String,
    pub(super) script: Script,
    state: watch::Sender<State>,
    inbox: mpsc::UnboundedSender<Sent>,
}

/// What changes in a task's life. Whoever waits for a change watches it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) log: Vec<Arc<Record>>,
    /// The first record of each turn, and when it was made.
    pub(super) turns: Vec<(usize, u64)>,
    /// Between an input and the end of its turn.
    running: bool,
    /// Turns that have still to be over before anyone may dial.
    past: usize,
    last_time: u64,
    last_seq: u64,
    received: Vec<Received>,
    dials: usize,
    open: usize,
    refusals: VecDeque<Refusal>,
    gone: bool,
    cuts: Vec<Cut>,
    /// How often all lines were dropped, and how the last time.
    pub(super) drops: (usize, Option<u16>),
}

/// A frame that a client has sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Received {
    /// The dial it came by, from 1.
    pub dial: usize,
    /// `unreadable` for what is no envelope, `binary` for a binary frame.
    #[serde(rename = "type")]
    pub name: String,
    /// Decoded: the text of a user input is plain.
    pub data: Value,
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Dials so far, refused ones too.
    pub dials: usize,
    /// Lines that are open.
    pub open: usize,
    /// Records of the log.
    pub records: usize,
    /// Whether a turn is going on.
    pub running: bool,
}

impl Task {
    pub(super) fn new(id: String, script: Script) -> (Task, mpsc::UnboundedReceiver<Sent>) {
        let (inbox, sent) = mpsc::unbounded_channel();
        for input in &script.past {
            // The receiver is at hand.
            let _ = inbox.send(Sent::Input(UserInput::of(input)));
        }
        let state = State {
            log: Vec::new(),
            turns: Vec::new(),
            running: false,
            past: script.past.len(),
            last_time: 0,
            last_seq: 0,
            received: Vec::new(),
            dials: 0,
            open: 0,
            refusals: script.refuse.iter().copied().collect(),
            gone: false,
            cuts: script.cuts.clone(),
            drops: (0, None),
        };
        (Task { id, script, state: watch::Sender::new(state), inbox }, sent)
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// What clients have sent, in order.
    pub fn received(&self) -> Vec<Received> {
        self.state.borrow().received.clone()
    }

    pub fn standing(&self) -> Standing {
        let state = self.state.borrow();
        Standing { dials: state.dials, open: state.open, records: state.log.len(), running: state.running }
    }

    /// Drops every line that is open; of the dials after it, some or all may be refused.
    pub fn drop_lines(&self, loss: &Loss) {
        self.state.send_modify(|state| {
            state.drops = (state.drops.0 + 1, loss.close);
            state.lose(loss);
        });
    }

    pub(super) fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Waits for the turns that were over before anyone dials.
    pub(super) async fn past_over(&self) {
        // The sender lives as long as the task.
        let _ = self.watch().wait_for(|state| state.past == 0).await;
    }

    /// Counts a dial, and says which it is or how it fails.
    pub(super) fn dial(&self) -> Result<usize, Refusal> {
        let mut outcome = Err(Refusal::Reset);
        self.state.send_modify(|state| {
            state.dials += 1;
            if !state.gone {
                outcome = state.refusals.pop_front().map_or(Ok(state.dials), Err);
            }
        });
        outcome
    }

    pub(super) fn line_opened(&self) {
        self.state.send_modify(|state| state.open += 1);
    }

    pub(super) fn line_closed(&self) {
        self.state.send_modify(|state| state.open -= 1);
    }

    /// Takes the cut that is to happen here, if one is.
    pub(super) fn take_cut(&self, record: usize, at: CutAt) -> Option<Loss> {
        let mut taken = None;
        self.state.send_if_modified(|state| {
            if let Some(found) = state.cuts.iter().position(|cut| cut.record == record && cut.at == at) {
                let loss = state.cuts.remove(found).loss;
                state.lose(&loss);
                taken = Some(loss);
            }
            false
        });
        taken
    }

    /// Notes a client's frame and hands it to the agent.
    pub(super) fn receive(&self, dial: usize, text: &str) {
        let (name, data, sent) = wire::read(text);
        self.note(Received { dial, name, data });
        if let Some(sent) = sent {
            // The agent lives as long as the server.
            let _ = self.inbox.send(sent);
        }
    }

    pub(super) fn note(&self, received: Received) {
        self.state.send_modify(|state| state.received.push(received));
    }

    pub(super) fn begin_turn(&self, input: &UserInput) {
        let time = self.append_frame("user-input", "", Some(input.echo()), false);
        self.state.send_modify(|state| {
            state.turns.push((state.log.len() - 1, time));
            state.running = true;
        });
        self.frame("task-started", "", None);
    }

    pub(super) fn end_turn(&self, data: Option<Value>) {
        self.frame("task-ended", "", data);
        self.state.send_modify(|state| {
            state.running = false;
            state.past = state.past.saturating_sub(1);
        });
    }

    pub(super) fn frame(&self, name: &str, kind: &str, data: Option<Value>) {
        self.append_frame(name, kind, data, self.script.wire.seq);
    }

    /// The echo of an input within a turn.
    pub(super) fn echo(&self, input: &UserInput) {
        self.append_frame("user-input", "", Some(input.echo()), false);
    }

    pub(super) fn update(&self, name: &str, mut fields: Value) {
        fields["sessionUpdate"] = json!(name);
        self.raw_update(fields);
    }

    pub(super) fn raw_update(&self, update: Value) {
        self.frame("task-running", wire::EVENT, Some(wire::event(update, self.events())));
    }

    pub(super) fn events(&self) -> EventShape {
        self.script.wire.events
    }

    pub(super) fn garbage(&self, record: Record) {
        self.state.send_modify(|state| state.log.push(Arc::new(record)));
    }

    fn append_frame(&self, name: &str, kind: &str, data: Option<Value>, numbered: bool) -> u64 {
        let mut time = 0;
        self.state.send_modify(|state| {
            time = state.next_time(&self.script);
            let seq = numbered.then(|| {
                state.last_seq += 1;
                state.last_seq
            });
            let frame = Frame { name: name.to_owned(), kind: kind.to_owned(), data, seq, time };
            state.log.push(Arc::new(Record::Frame(frame)));
        });
        time
    }

    /// The cursor frame that an attaching client is sent; none where nothing is older.
    pub(super) fn cursor(&self) -> Option<String> {
        let state = self.state.borrow();
        let (_, first) = *state.turns.last().filter(|_| state.turns.len() > 1)?;
        let data = Some(json!({ "cursor": first.to_string(), "has_more": true }));
        let frame = Frame { name: "cursor".into(), kind: String::new(), data, seq: None, time: now() };
        Some(frame.text(&self.script.wire))
    }

    /// A page of history: whole turns on one side of the cursor, which is the
    /// time of a turn's first record; the nearest first, each in order.
    pub(super) fn rounds(&self, page: &Page) -> Value {
        let state = self.state.borrow();
        let mut turns: Vec<usize> = (0..state.turns.len()).collect();
        if !page.forward {
            turns.reverse();
        }
        turns.retain(|&turn| {
            let first = state.turns[turn].1;
            page.cursor.is_none_or(|cursor| match page.forward {
                _ if first == cursor => page.inclusive,
                true => first > cursor,
                false => first < cursor,
            })
        });
        let has_more = turns.len() > page.limit;
        turns.truncate(page.limit);
        let mut chunks = Vec::new();
        for &turn in &turns {
            let end = state.turns.get(turn + 1).map_or(state.log.len(), |(next, _)| *next);
            for record in &state.log[state.turns[turn].0..end] {
                if let Record::Frame(frame) = record.as_ref() {
                    chunks.push(frame.entry(&self.script.wire, turn + 1));
                }
            }
        }
        let mut data = json!({ "chunks": chunks, "has_more": has_more });
        if let Some(&last) = turns.last() {
            data["next_cursor"] = json!(state.turns[last].1.to_string());
        }
        json!({ "code": 0, "message": "success", "data": data })
    }
}

/// What is asked of the history.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) cursor: Option<u64>,
    /// In turns.
    pub(super) limit: usize,
    pub(super) forward: bool,
    pub(super) inclusive: bool,
}

impl State {
    fn lose(&mut self, loss: &Loss) {
        self.refusals.extend(&loss.refuse);
        self.gone |= loss.gone;
    }

    /// Where a line that attaches begins: at the latest turn.
    pub(super) fn latest_turn(&self) -> usize {
        self.turns.last().map_or(self.log.len(), |(first, _)| *first)
    }

    /// Whether a record that is held back may still get one after it.
    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    fn next_time(&mut self, script: &Script) -> u64 {
        let time = match script.clock {
            Some(clock) => (clock.start_ms + clock.step_ms * self.log.len() as u64) * 1_000_000,
            None => now(),
        };
        self.last_time = time.max(self.last_time + 1);
        self.last_time
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
