//! The blocks of one stream, and the one place where a chunk becomes a row change. A block is a run of text or
//! reasoning, a call, an image, an error: it has one row for life. Blocks are remembered in their order, so that a
//! replay of the stream finds them again by position and leaves the rows as they were.

use crate::chunk::{CallNumber, Chunk, Effect, Finish, Refusal};
use crate::json::{JsonWriter, Raw};
use crate::limits::Limits;
use crate::present::call_reader::CallReader;
use crate::present::named::{Named, is_behind};
use crate::present::rows::{Rows, place_of};
use crate::present::spoken::speak;
use crate::present::tagged::{Tagged, TaggedTools};
use crate::present::turns::{RunTools, Turns};
use crate::row::{Changed, Fact, Row, RowId, RowKind, RowState, error, list_of_one, message};
use crate::text::{Grammar, common_prefix};

/// What one stream has shown.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The row inside which this stream's rows are drawn.
    parent: Option<RowId>,
    /// How many messages began before this one.
    message: u32,
    message_id: Option<Box<str>>,
    /// Blocks of this message so far.
    in_message: u32,
    choices: Vec<Choice>,
    /// Calls as the decoder numbers them: place in `call_blocks`. None: a cap kept it out.
    calls: Vec<Option<usize>>,
    call_blocks: Vec<CallBlock>,
    history: Vec<Block>,
    /// Error rows that no wire stands behind: of this pass over the stream, and of the one before as long as this
    /// one has brought nothing.
    failures: Vec<RowId>,
    stale_failures: Vec<RowId>,
    /// In a replay: the block of the history that comes next.
    replay: Option<usize>,
    /// Rows that are streaming or preparing.
    open: Vec<RowId>,
    /// Rows of calls that prepare although the wire has ended their arguments: the message goes on.
    ended: Vec<RowId>,
    /// Records that were lost so far.
    gaps: u32,
    /// The first of `calls` that belongs to this message.
    first_call: usize,
    /// An error ended the message.
    errored: bool,
    /// An error came since the stream began.
    failed: bool,
    /// The blocks that the wire names.
    pub named: Named,
    /// What the wire says of the other side, if it does.
    at_work: Option<bool>,
    /// Calls are written as tags in the text.
    pub tagged: Option<Box<Tagged>>,
    /// Calls of this message that were.
    tagged_calls: Vec<usize>,
    /// How its calls are run from here, if they are.
    pub turns: Option<Box<Turns>>,
    /// The message ended since the turns were looked after.
    turn_over: bool,
    /// The index of the first row of the latest turn.
    turn_start: usize,
    /// The connection is lost and waited for.
    is_paused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Reasoning,
    Call(usize),
    Image,
    Notice,
    Error,
}

#[derive(Debug)]
struct Block {
    message: u32,
    choice: u32,
    kind: BlockKind,
    row: RowId,
}

#[derive(Debug, Default)]
struct Choice {
    index: u32,
    finished: bool,
    speech: Option<Speech>,
    /// Where sources go: the last text.
    last_text: Option<RowId>,
    /// Sources that came before any text: arrays of one.
    sources: Vec<Raw>,
}

/// A run of text or reasoning.
#[derive(Debug, Clone, Copy)]
struct Speech {
    kind: BlockKind,
    /// None: a cap kept it out.
    row: Option<RowId>,
    /// Bytes of the row's text that this pass over the stream has brought.
    seen: usize,
    /// A cap cut it.
    cut: bool,
}

#[derive(Debug)]
struct CallBlock {
    row: RowId,
    choice: u32,
    reader: CallReader,
    /// Bytes of the input that this pass over the stream has brought.
    seen: usize,
    /// A cap cut the arguments.
    cut: bool,
    /// How many records had been lost when it began.
    gaps: u32,
    /// The wire ended the arguments.
    ended: bool,
    /// A record was lost while the arguments came, and that was held against it.
    incomplete: bool,
    /// The input ended before the wire ended the call.
    unended: bool,
    /// An error or the stream's end ended it.
    closed: bool,
    /// Its reader has come to its verdict, and reads no further: whether its closing tag had come by then.
    judged: Option<bool>,
}

impl CallBlock {
    /// The arguments are read from their start.
    fn read_anew(&mut self, limits: &Limits) {
        self.reader = self.reader.again(limits);
        self.judged = None;
    }

    /// The verdict missed only the closing tag, which has come since.
    fn closes_late(&self) -> bool {
        self.judged == Some(false) && self.reader.is_closed()
    }
}

/// What a block needs of its chat to change rows.
pub(crate) struct Stage<'a> {
    pub rows: &'a mut Rows,
    pub limits: &'a Limits,
    pub now: u64,
}

impl Blocks {
    pub fn new(parent: Option<RowId>, tagged_tools: Option<TaggedTools>, run_tools: Option<RunTools>) -> Self {
        let tagged = tagged_tools.map(|tools| Box::new(Tagged::new(tools)));
        let turns = run_tools.map(|tools| Box::new(Turns::new(tools, tagged.is_none())));
        Blocks { parent, tagged, turns, ..Blocks::default() }
    }

    /// A row began or came to another state: the presenter is told.
    pub(super) fn note(&mut self, row: RowId) {
        if let Some(turns) = &mut self.turns {
            turns.note(row);
        }
    }

    /// Lets the presenter see what a chunk brought. `over`: nothing more comes.
    pub fn attend(&mut self, over: bool, stage: &mut Stage<'_>) {
        let over = std::mem::take(&mut self.turn_over) || over;
        if let Some(turns) = &mut self.turns {
            turns.attend(over, stage);
        }
    }

    /// Rows that are streaming or preparing.
    pub fn open(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// Whether no further row may stream or prepare.
    pub(super) fn is_full(&self, limits: &Limits) -> bool {
        self.open.len() >= limits.open_blocks
    }

    /// Forgets that a row is open.
    pub(super) fn forget_open(&mut self, id: RowId) {
        if let Some(place) = place_of(&self.open, id) {
            self.open.remove(place);
        }
    }

    /// Whether what comes may have come before.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// The row inside which this stream's rows are drawn.
    pub(super) fn parent(&self) -> Option<RowId> {
        self.parent
    }

    /// Whether the wire itself ended all that it began.
    pub fn is_complete(&self) -> bool {
        let named = !self.named.is_empty() && self.open.is_empty();
        !self.failed
            && (named || !self.choices.is_empty())
            && self.choices.iter().all(|choice| choice.finished)
            && self.at_work != Some(true)
    }

    /// Whether no message is under way.
    pub fn is_idle(&self) -> bool {
        let finished = !self.choices.is_empty() && self.choices.iter().all(|choice| choice.finished);
        self.at_work.map_or(self.errored || finished, |at_work| !at_work)
    }

    /// Whether the stream has shown nothing.
    pub fn is_empty(&self) -> bool {
        self.history.is_empty() && self.named.is_empty()
    }

    /// The row of the last call with this id.
    pub fn call(&self, id: &str, rows: &Rows) -> Option<RowId> {
        let has_id = |row: &RowId| rows.get(*row).and_then(|row| row.tool.as_deref()?.call_id.as_deref()) == Some(id);
        let calls = self.call_blocks.iter().rev().map(|call| call.row);
        calls.chain(self.named.rows()).find(has_id)
    }

    /// What was shown stays, but for failures of the pass that ended; what comes now is compared with it from the
    /// start.
    pub fn restart(&mut self) {
        self.stale_failures.append(&mut self.failures);
        self.message = 0;
        self.message_id = None;
        self.in_message = 0;
        self.choices.clear();
        self.calls.clear();
        self.first_call = 0;
        self.errored = false;
        self.failed = false;
        self.replay = Some(0);
        self.gaps = 0;
        self.named.restart(0);
        self.tagged.iter_mut().for_each(|tagged| tagged.restart());
        self.tagged_calls.clear();
        self.turn_over = false;
        self.turns.iter_mut().for_each(|turns| turns.restart());
        for call in &mut self.call_blocks {
            call.seen = 0;
            (call.gaps, call.ended) = (0, false);
            call.unended = false;
            call.closed = false;
        }
    }

    /// What comes now repeats the latest turn from its start.
    pub fn restart_turn(&mut self) {
        self.replay = Some(self.history.len());
        self.named.restart(self.turn_start);
    }

    /// Whether the connection is lost and waited for.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The connection is lost and waited for, or there again: states stay, and nothing shows that it moves meanwhile.
    pub fn pause(&mut self, is_paused: bool, stage: &mut Stage<'_>) {
        if std::mem::replace(&mut self.is_paused, is_paused) == is_paused {
            return;
        }
        let rows = self.history.iter().map(|block| block.row).chain(self.named.rows());
        for id in rows {
            let moves = |row: &Row| !row.state.is_at_rest() || row.state == RowState::Pending || row.is_paused;
            if stage.rows.get(id).is_some_and(moves) {
                stage.rows.change(id, |row| {
                    row.is_paused = is_paused;
                    Changed::BUSY
                });
            }
        }
    }

    /// The stream ended: only what a replay needs is kept, for a long chat has many streams.
    pub fn rest(&mut self) {
        self.choices = Vec::new();
        self.calls = Vec::new();
        self.first_call = 0;
        self.open = Vec::new();
        self.ended = Vec::new();
        self.history.shrink_to_fit();
        self.call_blocks.shrink_to_fit();
    }

    /// Takes a chunk that belongs to a message.
    pub fn chunk(&mut self, chunk: Chunk<'_>, stage: &mut Stage<'_>) -> Effect {
        match chunk {
            Chunk::MessageStart { id } => {
                if !self.choices.is_empty() || self.errored {
                    self.end_open(RowState::Interrupted, stage);
                    self.message += 1;
                    self.turn_over = true;
                }
                let whole = self.finish_tagged(None, stage);
                self.in_message = 0;
                self.first_call = self.calls.len();
                self.tagged_calls.clear();
                self.choices.clear();
                self.errored = false;
                // An id stands in the key of each of the message's rows; one that is no id would multiply.
                const LONGEST_ID: usize = 256;
                self.message_id = id.filter(|id| id.len() <= LONGEST_ID).map(Box::from);
                whole
            }
            Chunk::Text { choice, text } => match self.tagged.take() {
                Some(mut tagged) => {
                    let effect = tagged.push(choice, text, self, stage);
                    self.tagged = Some(tagged);
                    effect
                }
                None => self.speak(choice, BlockKind::Text, text, stage),
            },
            Chunk::Reasoning { choice, text } => self.speak(choice, BlockKind::Reasoning, text, stage),
            Chunk::ToolStart { choice, call, id, name } => self.start_call(choice, call, id, name, stage),
            Chunk::ToolNamed { call, id, name } => match self.call_block(call) {
                Some(place) => self.name_call(place, id, name, stage),
                None => Effect::Refused(Refusal::Rows),
            },
            Chunk::ToolArguments { call, text } => match self.call_block(call) {
                Some(place) => self.arguments(place, text, stage),
                None => Effect::Refused(Refusal::Rows),
            },
            Chunk::ToolInput { call, text } => match self.call_block(call) {
                Some(place) => self.whole_arguments(place, text, stage),
                None => Effect::Refused(Refusal::Rows),
            },
            Chunk::ToolEnd { call } => {
                if let Some(place) = self.call_block(call) {
                    self.end_arguments(place);
                }
                Effect::None
            }
            Chunk::ToolUnended { call } => {
                if let Some(place) = self.call_block(call) {
                    self.call_blocks[place].unended = true;
                }
                Effect::None
            }
            Chunk::MessageEnd { choice, finish } => self.finish_choice(choice, finish, stage),
            Chunk::Image { choice, url } => {
                let closed = self.close_speech(choice, RowState::Done, stage);
                let (_, effect) = self.block(choice, BlockKind::Image, stage, &mut |row| {
                    row.facts.set(Fact::Images, Some(list_of_one(&[("url", url)])));
                });
                closed.and(effect)
            }
            Chunk::Source { choice, url, title } => self.source(choice, url, title, stage),
            Chunk::Error { message, code, retryable } => {
                let ended = self.end_open(RowState::Interrupted, stage);
                self.turn_over = true;
                self.errored = true;
                self.failed = true;
                ended.and(self.aside(0, BlockKind::Error, Fact::Error, error(message, code, retryable), stage))
            }
            Chunk::BlockText { key, text } => self.grow_named(key, text, stage),
            Chunk::BlockItem { key, list, item } => match self.named.get(key) {
                Some(id) => add_item(id, list, item.clone(), item.inner().as_bytes(), br#"{""#, stage),
                None => Effect::Refused(Refusal::Rows),
            },
            Chunk::BlockOutput { key, state, output, same } => match self.named.get(key) {
                Some(id) if self.is_replaying() && is_behind(state, id, stage) => Effect::None,
                Some(id) => {
                    let shown = stage.rows.replace_output(id, output, same);
                    shown.and(self.set_named_state(key, id, state, stage))
                }
                None => Effect::None,
            },
            Chunk::BlockState { key, state } => match self.named.get(key) {
                Some(id) => self.set_named_state(key, id, state, stage),
                None => Effect::None,
            },
            Chunk::BlockEnd { key, state } => self.end_block(key, state, stage),
            Chunk::Remove { key, .. } => self.take_away(key, stage),
            Chunk::RemoveAll => self.take_all_away(stage),
            Chunk::TurnStart => {
                self.turn_start = stage.rows.next_index();
                Effect::None
            }
            Chunk::AtWork(at_work) => {
                let before = self.at_work.replace(at_work);
                if before == Some(at_work) { Effect::None } else { Effect::Changed }
            }
            Chunk::TurnEnd => Effect::None,
            // These are the chat's.
            Chunk::User { .. } | Chunk::Usage(_) | Chunk::Panel { .. } | Chunk::Block { .. } => Effect::None,
        }
    }

    /// The stream ended: no tool that the other side runs is told of any more.
    pub fn end_named(&mut self, state: RowState, stage: &mut Stage<'_>) {
        let running: Vec<RowId> = self.named.running().filter(|id| is_under_way(*id, stage)).collect();
        for id in running {
            self.set_state(id, state, stage);
        }
    }

    /// A record was lost: what it would have added to the calls that go on nobody knows.
    pub fn note_gap(&mut self) {
        self.gaps += 1;
    }

    /// This pass got further than what failed in the one before.
    pub fn forget_stale_failures(&mut self, rows: &mut Rows) {
        for row in self.stale_failures.drain(..) {
            rows.remove(row);
        }
    }

    /// The stream failed, for a reason that is no part of its wire.
    pub fn fail(&mut self, message: &str, code: &str, retryable: Option<bool>, stage: &mut Stage<'_>) {
        self.end_open(RowState::Interrupted, stage);
        self.errored = true;
        self.failed = true;
        // What failed in the same way again has its row already.
        let mut error = Some(error(message, Some(code), retryable));
        let same = |row: &RowId| stage.rows.get(*row).is_some_and(|row| row.facts.raw(Fact::Error) == error.as_ref());
        if let Some(place) = self.stale_failures.iter().position(same) {
            return self.failures.push(self.stale_failures.remove(place));
        }
        let (parent, now) = (self.parent, stage.now);
        let row = stage.rows.add(RowKind::Error, RowState::Done, &mut |row| {
            row.facts.set(Fact::Error, error.take());
            row.parent = parent;
            (row.started_at, row.ended_at) = (Some(now), Some(now));
        });
        self.failures.extend(row);
    }

    /// Ends every row that is streaming or preparing.
    pub fn end_open(&mut self, state: RowState, stage: &mut Stage<'_>) -> Effect {
        let mut effect = self.finish_tagged(None, stage);
        for choice in &mut self.choices {
            choice.speech = None;
        }
        for place in self.calls[self.first_call..].iter().flatten() {
            self.call_blocks[*place].closed = true;
        }
        let ended = std::mem::take(&mut self.ended);
        for row in std::mem::take(&mut self.open).into_iter().chain(ended).rev() {
            effect = effect.and(self.close(row, state, stage));
        }
        effect
    }

    /// The user stopped the stream: whatever is not at its end is cancelled, calls that wait among it. A reason is
    /// kept as the rows' `meta.reason`.
    pub fn cancel(&mut self, reason: Option<&str>, stage: &mut Stage<'_>) {
        self.finish_tagged(None, stage);
        // Before anything else comes to its end, which would let the next one begin.
        self.turns.iter_mut().for_each(|turns| turns.abort(stage));
        let unended: Vec<RowId> = self.history.iter().map(|block| block.row).chain(self.named.rows()).collect();
        for id in unended {
            let state = stage.rows.get(id).map(|row| row.state);
            if state.is_none_or(|state| state.is_at_rest() && state != RowState::Pending) {
                continue;
            }
            if let Some(reason) = reason {
                stage.rows.change(id, |row| {
                    row.facts.extend(Fact::Meta, member("reason", |json| json.string(reason)));
                    Changed::FACTS
                });
            }
            self.set_state(id, RowState::Cancelled, stage);
        }
        self.end_open(RowState::Cancelled, stage);
    }

    /// Sets or clears the time since when nothing has come, on rows that prepare.
    pub fn set_quiet(&mut self, since: Option<u64>, stage: &mut Stage<'_>) {
        for id in &self.open {
            let quiet = stage.rows.get(*id).filter(|row| row.state == RowState::Preparing).map(|row| row.quiet_since);
            if quiet.is_some_and(|quiet| quiet != since) {
                stage.rows.change(*id, |row| {
                    row.quiet_since = since;
                    Changed::QUIET_SINCE
                });
            }
        }
    }

    /// Whether a row prepares.
    pub fn is_preparing(&self, rows: &Rows) -> bool {
        self.open.iter().any(|id| rows.get(*id).is_some_and(|row| row.state == RowState::Preparing))
    }

    #[inline(never)]
    pub(super) fn set_state(&mut self, id: RowId, state: RowState, stage: &mut Stage<'_>) -> Effect {
        let known = stage.rows.get(id).map(|row| (row.state, row.kind));
        let before = known.map(|(state, _)| state);
        if before == Some(state) {
            return Effect::None;
        }
        // What only announces a call is gone when it ends.
        if known.is_some_and(|(_, kind)| kind == RowKind::ToolPreparing) && !state.is_open() {
            self.forget_open(id);
            stage.rows.remove(id);
            return Effect::Changed;
        }
        // A row that the page removed is open no more.
        match (before.map(RowState::is_open), state.is_open()) {
            (Some(false), true) => self.open.push(id),
            (Some(true) | None, false) | (None, true) => self.forget_open(id),
            _ => {}
        }
        self.note(id);
        let now = stage.now;
        stage.rows.change(id, |row| {
            row.state = state;
            row.ended_at = state.is_at_rest().then_some(now).filter(|_| state != RowState::Pending);
            row.quiet_since = None;
            let mut changed = Changed::STATE;
            changed.add(Changed::ENDED_AT);
            changed.add(Changed::QUIET_SINCE);
            changed
        })
    }

    fn choice(&mut self, index: u32) -> usize {
        self.choices.iter().position(|choice| choice.index == index).unwrap_or_else(|| {
            self.choices.push(Choice { index, ..Choice::default() });
            self.choices.len() - 1
        })
    }

    /// The next block of the stream: in a replay the one that stands there, else a new row. None: a cap kept it out.
    #[inline(never)]
    fn block(
        &mut self,
        choice: u32,
        kind: BlockKind,
        stage: &mut Stage<'_>,
        fill: &mut dyn FnMut(&mut Row),
    ) -> (Option<RowId>, Effect) {
        let position = self.in_message;
        self.in_message += 1;
        if let Some(row) = self.replayed(choice, kind, stage) {
            return (Some(row), Effect::None);
        }
        let (row_kind, state) = match kind {
            BlockKind::Text => (RowKind::Text, RowState::Streaming),
            BlockKind::Reasoning => (RowKind::Reasoning, RowState::Streaming),
            BlockKind::Call(_) => (RowKind::Tool, RowState::Preparing),
            BlockKind::Image => (RowKind::Image, RowState::Done),
            BlockKind::Notice => (RowKind::Notice, RowState::Done),
            BlockKind::Error => (RowKind::Error, RowState::Done),
        };
        if state.is_open() && self.is_full(stage.limits) {
            return (None, Effect::Refused(Refusal::OpenBlocks));
        }
        let (parent, now) = (self.parent, stage.now);
        let key = self.message_id.as_ref().map(|id| [id, ":", &position.to_string()].concat().into_boxed_str());
        let fill = &mut |row: &mut Row| {
            row.parent = parent;
            row.key = key.clone();
            row.started_at = Some(now);
            row.ended_at = state.is_at_rest().then_some(now);
            if choice > 0 {
                row.facts.set(Fact::Meta, Some(member("choice", |json| json.number(u64::from(choice)))));
            }
            fill(row);
        };
        let held = self.turns.as_ref().is_some_and(|turns| turns.holds());
        let added = match held {
            true => stage.rows.add_held(row_kind, state, fill),
            false => stage.rows.add(row_kind, state, fill),
        };
        let Some(row) = added else { return (None, Effect::Refused(Refusal::Rows)) };
        if state.is_open() {
            self.open.push(row);
        }
        self.note(row);
        self.history.push(Block { message: self.message, choice, kind, row });
        (Some(row), Effect::Changed)
    }

    /// A row that is no more than this.
    fn aside(&mut self, choice: u32, kind: BlockKind, fact: Fact, value: Raw, stage: &mut Stage<'_>) -> Effect {
        let mut value = Some(value);
        let fill = &mut |row: &mut Row| {
            row.facts.set(fact, value.take());
        };
        self.block(choice, kind, stage, fill).1
    }

    /// The block that stands at this position since an earlier pass. A block that does not fit ends the replay.
    fn replayed(&mut self, choice: u32, kind: BlockKind, stage: &mut Stage<'_>) -> Option<RowId> {
        let next = self.replay?;
        let fits = self.history.get(next).filter(|block| {
            (block.message, block.choice) == (self.message, choice)
                && match (block.kind, kind) {
                    (BlockKind::Call(_), BlockKind::Call(_)) => true,
                    (before, now) => before == now,
                }
        });
        let row = fits.map(|block| block.row);
        match row {
            Some(_) => self.replay = Some(next + 1),
            None => self.end_replay(stage),
        }
        row
    }

    /// The stream went another way than before, or ended sooner: what it no longer says stays on screen, but no call
    /// of it may run.
    pub fn end_replay(&mut self, stage: &mut Stage<'_>) {
        let Some(next) = self.replay.take() else { return };
        for place in next..self.history.len() {
            let row = self.history[place].row;
            if stage.rows.get(row).is_some_and(|row| row.state == RowState::Pending) {
                self.reopen_call(row, RowState::Interrupted, stage);
            }
        }
    }

    /// Takes back the verdict on a call's arguments.
    fn reopen_call(&mut self, row: RowId, state: RowState, stage: &mut Stage<'_>) -> Effect {
        stage.rows.change(row, |row| {
            row.facts.set(Fact::Error, None);
            row.facts.set(Fact::Question, None);
            if let Some(tool) = row.tool.as_deref_mut() {
                tool.input_done = false;
            }
            Changed::INPUT_DONE
        });
        self.set_state(row, state, stage)
    }

    /// A run of text or reasoning goes on.
    pub(super) fn speak(&mut self, choice: u32, kind: BlockKind, text: &str, stage: &mut Stage<'_>) -> Effect {
        let place = self.choice(choice);
        let mut effect = Effect::None;
        let mut speech = match self.choices[place].speech {
            Some(speech) if speech.kind == kind => speech,
            _ => {
                effect = self.close_speech(choice, RowState::Done, stage);
                let (row, opened) = self.block(choice, kind, stage, &mut |row| row.text = Some(String::new()));
                effect = effect.and(opened);
                if let Some(row) = row {
                    effect = effect.and(self.reopen(place, row, stage));
                    if kind == BlockKind::Text {
                        self.choices[place].last_text = Some(row);
                        for source in std::mem::take(&mut self.choices[place].sources) {
                            effect = effect.and(add_source(row, source, stage));
                        }
                    }
                }
                Speech { kind, row, seen: 0, cut: false }
            }
        };
        let grown = match speech.row {
            Some(row) => grow_text(row, &mut speech.seen, text, stage),
            None => Effect::Refused(Refusal::Rows),
        };
        speech.cut |= matches!(grown, Effect::Refused(_));
        effect = effect.and(grown);
        self.choices[place].speech = Some(speech);
        effect
    }

    /// Sets the state of a row that begins or goes on: text after the finish belongs to a row that is done.
    fn reopen(&mut self, place: usize, row: RowId, stage: &mut Stage<'_>) -> Effect {
        let Some(state) = stage.rows.get(row).map(|row| row.state) else { return Effect::None };
        match state {
            RowState::Streaming if self.choices[place].finished => self.set_state(row, RowState::Done, stage),
            RowState::Interrupted => self.set_state(row, RowState::Streaming, stage),
            _ => Effect::None,
        }
    }

    #[inline(never)]
    fn close_speech(&mut self, choice: u32, state: RowState, stage: &mut Stage<'_>) -> Effect {
        let place = self.choice(choice);
        match self.choices[place].speech.take() {
            Some(Speech { row: Some(row), seen, .. }) => {
                let cut = cut_text(row, seen, stage);
                cut.and(self.close(row, state, stage))
            }
            _ => Effect::None,
        }
    }

    fn close(&mut self, row: RowId, state: RowState, stage: &mut Stage<'_>) -> Effect {
        match stage.rows.get(row) {
            Some(known) if known.state.is_open() => self.set_state(row, state, stage),
            _ => Effect::None,
        }
    }

    fn start_call(
        &mut self,
        choice: u32,
        call: CallNumber,
        id: Option<&str>,
        name: Option<&str>,
        stage: &mut Stage<'_>,
    ) -> Effect {
        let reader = CallReader::json(stage.limits);
        let (place, effect) = self.begin_call(choice, id, name, reader, stage);
        let number = call.0 as usize;
        if self.calls.len() <= number {
            self.calls.resize(number + 1, None);
        }
        self.calls[number] = place;
        match place {
            Some(place) => effect.and(self.name_call(place, id, name, stage)),
            None => effect,
        }
    }

    /// A call begins, in a replay perhaps one that stands: its place among the calls. None: a cap kept it out.
    fn begin_call(
        &mut self,
        choice: u32,
        id: Option<&str>,
        name: Option<&str>,
        reader: CallReader,
        stage: &mut Stage<'_>,
    ) -> (Option<usize>, Effect) {
        let closed = self.close_speech(choice, RowState::Done, stage);
        let place = self.call_blocks.len();
        let known = self.replay.and_then(|next| match self.history.get(next)?.kind {
            BlockKind::Call(place) => Some(place),
            _ => None,
        });
        // Another id or name is another call, wherever it stands, and so is one that is written in another way.
        let is_tagged = reader.is_tagged();
        let tool = known.and_then(|place| stage.rows.get(self.call_blocks[place].row)?.tool.as_deref());
        let differs = |there: &str, now: Option<&str>| !there.is_empty() && now.is_some_and(|now| now != there);
        if tool.is_some_and(|tool| {
            let other_id = differs(tool.call_id.as_deref().unwrap_or_default(), id);
            other_id || differs(&tool.name, name) || tool.tagged != is_tagged
        }) {
            self.end_replay(stage);
        }
        let (row, effect) = self.block(choice, BlockKind::Call(place), stage, &mut |row| {
            row.tool = Some(Box::default());
            row.bytes = Some(0);
            row.key = None;
        });
        let mut effect = closed.and(effect);
        let place = match (row, known) {
            (None, _) => None,
            (Some(row), Some(known)) if self.call_blocks[known].row == row => {
                self.call_blocks[known].gaps = self.gaps;
                if stage.rows.get(row).is_some_and(|row| row.state == RowState::Interrupted) {
                    effect = effect.and(self.set_state(row, RowState::Preparing, stage));
                }
                Some(known)
            }
            (Some(row), _) => {
                self.call_blocks.push(CallBlock {
                    row,
                    choice,
                    reader,
                    seen: 0,
                    cut: false,
                    gaps: self.gaps,
                    ended: false,
                    incomplete: false,
                    unended: false,
                    closed: false,
                    judged: None,
                });
                Some(place)
            }
        };
        (place, effect)
    }

    /// A call written as tags begins.
    pub(super) fn start_tagged(
        &mut self,
        choice: u32,
        name: &str,
        grammar: &Grammar,
        stage: &mut Stage<'_>,
    ) -> (Option<usize>, Effect) {
        let reader = CallReader::tagged(grammar, name);
        let (place, effect) = self.begin_call(choice, None, Some(name), reader, stage);
        let Some(place) = place else { return (None, effect) };
        self.tagged_calls.push(place);
        let tagged = stage.rows.change(self.call_blocks[place].row, |row| {
            if let Some(tool) = row.tool.as_deref_mut() {
                tool.tagged = true;
            }
            Changed::NONE
        });
        (Some(place), effect.and(tagged).and(self.name_call(place, None, Some(name), stage)))
    }

    /// It ended, by its closing tag or because nothing more comes: the verdict on it needs no more.
    pub(super) fn end_tagged(&mut self, place: usize, closed: bool, stage: &mut Stage<'_>) -> Effect {
        if let CallReader::Tagged(call) = &mut self.call_blocks[place].reader {
            call.closed = closed;
        }
        if !closed {
            // Nothing more comes, so its fields are what they are.
            let call = &mut self.call_blocks[place];
            call.judged = Some(false);
            stage.rows.finish_input(call.row, &mut call.reader);
            return Effect::None;
        }
        self.end_arguments(place);
        self.finish_call(place, Finish::Complete, false, stage)
    }

    /// The text of a choice, or of all of them, is whole.
    pub(super) fn finish_tagged(&mut self, choice: Option<u32>, stage: &mut Stage<'_>) -> Effect {
        let Some(mut tagged) = self.tagged.take() else { return Effect::None };
        let effect = tagged.finish(choice, self, stage);
        self.tagged = Some(tagged);
        effect
    }

    /// A cap cut what a choice says.
    pub(super) fn truncate_speech(&mut self, choice: u32, stage: &mut Stage<'_>) -> Effect {
        let place = self.choice(choice);
        let Some(speech) = &mut self.choices[place].speech else { return Effect::Refused(Refusal::TextBytes) };
        speech.cut = true;
        let shown = speech.row.map_or(Effect::None, |row| set_truncated(row, true, stage));
        shown.and(Effect::Refused(Refusal::TextBytes))
    }

    fn call_block(&self, call: CallNumber) -> Option<usize> {
        self.calls.get(call.0 as usize).copied().flatten()
    }

    #[inline(never)]
    fn name_call(&mut self, place: usize, id: Option<&str>, name: Option<&str>, stage: &mut Stage<'_>) -> Effect {
        let row = self.call_blocks[place].row;
        stage.rows.change(row, |row| {
            let mut changed = Changed::NONE;
            let Some(tool) = row.tool.as_deref_mut() else { return changed };
            // What a call is called never changes.
            if let Some(id) = id.filter(|_| tool.call_id.is_none()) {
                tool.call_id = Some(id.into());
                row.key = Some(id.into());
                changed.add(Changed::CALL_ID);
                changed.add(Changed::KEY);
            }
            if let Some(name) = name.filter(|_| tool.name.is_empty()) {
                tool.name = name.to_owned();
                changed.add(Changed::NAME);
            }
            changed
        })
    }

    pub(super) fn arguments(&mut self, place: usize, text: &str, stage: &mut Stage<'_>) -> Effect {
        let call = &mut self.call_blocks[place];
        let id = call.row;
        let Some(row) = stage.rows.get(id) else { return Effect::None };
        let Some(tool) = row.tool.as_deref() else { return Effect::None };
        let there = tool.input.get(call.seen..).unwrap_or_default();
        let common = common_prefix(there, text);
        if common == text.len() {
            call.seen += common;
            return Effect::None;
        }
        let there = there.len();
        let (choice, closed) = (call.choice, call.closed);
        // Behind a cap there is nothing to read.
        let reads_anew = call.judged.is_some() && !call.cut || common < there;
        if row.state != RowState::Preparing || closed {
            // A call may be running by now, and then its arguments cannot change any more. In a replay, one that did
            // not start may.
            let waits = match row.state {
                RowState::Pending => true,
                // By the verdict on its arguments, and not by its tool.
                RowState::Failed => !tool.input_done,
                _ => false,
            };
            let started = !waits || tool.output.is_some();
            if closed || started || self.choices.iter().any(|known| known.index == choice && known.finished) {
                return Effect::Refused(Refusal::ArgumentsAfterEnd);
            }
            self.reopen_call(id, RowState::Preparing, stage);
        }
        let call = &mut self.call_blocks[place];
        let keep = call.seen + common;
        let effect = if reads_anew {
            call.read_anew(stage.limits);
            stage.rows.replace_input(id, keep, text.get(common..).unwrap_or_default(), &mut call.reader)
        } else {
            stage.rows.append_input(id, text.get(common..).unwrap_or_default(), &mut call.reader)
        };
        call.cut |= matches!(effect, Effect::Refused(_));
        call.seen = keep + text.len() - common;
        effect
    }

    /// The arguments of a call are as they will be. Its row counts no more as one that is open.
    fn end_arguments(&mut self, place: usize) {
        let call = &mut self.call_blocks[place];
        if std::mem::replace(&mut call.ended, true) {
            return;
        }
        call.gaps = self.gaps - call.gaps;
        let row = call.row;
        let before = self.open.len();
        self.forget_open(row);
        if self.open.len() < before {
            self.ended.push(row);
        }
    }

    /// All arguments of a call: compared with what is there, and what is there beyond them goes.
    fn whole_arguments(&mut self, place: usize, text: &str, stage: &mut Stage<'_>) -> Effect {
        let call = &mut self.call_blocks[place];
        // Nothing is missing of them.
        call.gaps = if call.ended { 0 } else { self.gaps };
        let before = std::mem::take(&mut call.seen);
        let effect = self.arguments(place, text, stage);
        let call = &mut self.call_blocks[place];
        if call.seen < text.len() {
            call.seen = before;
            return effect;
        }
        let (row, seen) = (call.row, call.seen);
        let preparing = stage.rows.get(row).filter(|row| row.state == RowState::Preparing);
        if preparing.and_then(|row| row.tool.as_deref()).is_none_or(|tool| tool.input.len() <= seen) {
            return effect;
        }
        call.read_anew(stage.limits);
        effect.and(stage.rows.replace_input(row, seen, "", &mut call.reader))
    }

    fn finish_choice(&mut self, index: u32, finish: Finish<'_>, stage: &mut Stage<'_>) -> Effect {
        let whole = self.finish_tagged(Some(index), stage);
        let place = self.choice(index);
        let again = std::mem::replace(&mut self.choices[place].finished, true);
        self.turn_over |= self.choices.iter().all(|choice| choice.finished);
        let mut effect = whole.and(self.show_waiting_sources(place, stage));
        let cut = matches!(finish, Finish::Length | Finish::Filtered);
        if let Some(Speech { row: Some(row), seen, cut: capped, .. }) = self.choices[place].speech {
            effect = effect.and(cut_text(row, seen, stage));
            // In a replay the row has ended already: what ends it this time counts.
            if !again && (cut || !capped) {
                effect = effect.and(set_truncated(row, cut, stage));
            }
            let state = if matches!(finish, Finish::Broken(_)) { RowState::Interrupted } else { RowState::Done };
            effect = effect.and(self.close(row, state, stage));
        }
        for number in self.first_call..self.calls.len() {
            if let Some(place) = self.calls[number].filter(|place| self.call_blocks[*place].choice == index) {
                effect = effect.and(self.finish_call(place, finish, again, stage));
            }
        }
        for number in 0..self.tagged_calls.len() {
            let place = self.tagged_calls[number];
            if self.call_blocks[place].choice == index {
                effect = effect.and(self.finish_call(place, finish, again, stage));
            }
        }
        self.ended.retain(|row| stage.rows.get(*row).is_some_and(|row| row.state.is_open()));
        if again {
            return effect;
        }
        match finish {
            Finish::Filtered => {
                let words = message("finish.filtered", &[]);
                effect.and(self.aside(index, BlockKind::Notice, Fact::Message, words, stage))
            }
            // An error that came with it has its row.
            Finish::Broken(reason) if !self.errored => {
                self.errored = true;
                self.failed = true;
                let error = error("", Some(reason), None);
                effect.and(self.aside(index, BlockKind::Error, Fact::Error, error, stage))
            }
            Finish::Complete | Finish::Length | Finish::Broken(_) => effect,
        }
    }

    /// The message ended: the strict verdict on a call's arguments. Only what passes it may ever run.
    fn finish_call(&mut self, place: usize, finish: Finish<'_>, again: bool, stage: &mut Stage<'_>) -> Effect {
        let call = &self.call_blocks[place];
        let (row, seen) = (call.row, call.seen);
        let gap = call.gaps != if call.ended { 0 } else { self.gaps };
        let Some(known) = stage.rows.get(row) else { return Effect::None };
        let unended_empty = call.unended && seen == 0;
        let less = known.tool.as_deref().is_some_and(|tool| seen < tool.input.len());
        match known.state {
            RowState::Preparing => {}
            // In a replay: what this pass says of a call that waits to run counts.
            RowState::Pending if !again && (less || gap || finish != Finish::Complete) => {
                self.reopen_call(row, RowState::Preparing, stage);
            }
            // As does that nothing is missing after all.
            RowState::Failed if !again && !gap && (call.incomplete || call.closes_late()) => {
                self.reopen_call(row, RowState::Preparing, stage);
            }
            _ => return Effect::None,
        }
        let call = &mut self.call_blocks[place];
        if less || call.closes_late() {
            call.read_anew(stage.limits);
            stage.rows.replace_input(row, seen, "", &mut call.reader);
        }
        let named = stage.rows.get(row).and_then(|row| row.tool.as_deref()).is_some_and(|tool| !tool.name.is_empty());
        let is_tagged = call.reader.is_tagged();
        call.judged = Some(call.reader.is_closed());
        let well_formed = stage.rows.finish_input(row, &mut call.reader);
        let code = match finish {
            Finish::Length | Finish::Filtered => {
                set_truncated(row, true, stage);
                return self.set_state(row, RowState::Interrupted, stage);
            }
            Finish::Broken(_) => return self.set_state(row, RowState::Interrupted, stage),
            Finish::Complete if unended_empty || call.unended && !well_formed && !call.cut => {
                return self.set_state(row, RowState::Interrupted, stage);
            }
            Finish::Complete if call.cut => "arguments-too-long",
            Finish::Complete if gap => {
                call.incomplete = true;
                "arguments-incomplete"
            }
            Finish::Complete if call.reader.nested_too_deep() => "arguments-nesting",
            Finish::Complete if !well_formed && is_tagged => "arguments-incomplete",
            Finish::Complete if !well_formed => "arguments-malformed",
            Finish::Complete if !named => "name-missing",
            Finish::Complete => {
                set_truncated(row, false, stage);
                stage.rows.change(row, |row| {
                    if let Some(tool) = row.tool.as_deref_mut() {
                        tool.input_done = true;
                    }
                    Changed::INPUT_DONE
                });
                // Where its turn is known it speaks when that has come.
                if self.turns.is_none() {
                    speak(row, stage.rows);
                }
                return self.set_state(row, RowState::Pending, stage);
            }
        };
        stage.rows.change(row, |row| {
            row.facts.set(Fact::Error, Some(error("", Some(code), None)));
            Changed::FACTS
        });
        self.set_state(row, RowState::Failed, stage)
    }

    /// Sources of a choice that ended without any text have a row of their own.
    fn show_waiting_sources(&mut self, place: usize, stage: &mut Stage<'_>) -> Effect {
        let sources = std::mem::take(&mut self.choices[place].sources);
        if sources.is_empty() {
            return Effect::None;
        }
        let choice = self.choices[place].index;
        let (row, mut effect) = self.block(choice, BlockKind::Text, stage, &mut |row| row.text = Some(String::new()));
        if let Some(row) = row {
            effect = effect.and(self.reopen(place, row, stage));
            self.choices[place].last_text = Some(row);
            self.choices[place].speech = Some(Speech { kind: BlockKind::Text, row: Some(row), seen: 0, cut: false });
            for source in sources {
                effect = effect.and(add_source(row, source, stage));
            }
        }
        effect
    }

    fn source(&mut self, choice: u32, url: &str, title: Option<&str>, stage: &mut Stage<'_>) -> Effect {
        let place = self.choice(choice);
        let members = [("url", url), ("title", title.unwrap_or_default())];
        let source = list_of_one(if title.is_some() { &members } else { &members[..1] });
        if let Some(row) = self.choices[place].last_text {
            return add_source(row, source, stage);
        }
        let waiting = &mut self.choices[place].sources;
        if waiting.iter().all(|known| url_of(known) != url_of(&source)) {
            if waiting.len() >= stage.limits.sources {
                return Effect::Refused(Refusal::Sources);
            }
            waiting.push(source);
        }
        if self.choices[place].finished { self.show_waiting_sources(place, stage) } else { Effect::None }
    }
}

/// An array of one source up to its URL's end. No string of JSON has such a text within: before its quotes stand
/// backslashes.
fn url_of(source: &Raw) -> &[u8] {
    let bytes = source.as_str().as_bytes();
    let end = places(bytes, br#"","title":"#).next().unwrap_or(bytes.len().saturating_sub(3));
    bytes.get(1..=end).unwrap_or_default()
}

fn places<'a>(bytes: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(what.len()).enumerate().filter(move |(_, window)| *window == what).map(|(place, _)| place)
}

/// Adds a source to a row, if it does not have its URL already.
fn add_source(id: RowId, source: Raw, stage: &mut Stage<'_>) -> Effect {
    let start = url_of(&source).to_vec();
    add_item(id, Fact::Sources, source, &start, br#"{"url":"#, stage)
}

/// Adds an item to one of a row's lists, if none there has this in it. All items begin with `each`.
fn add_item(id: RowId, list: Fact, item: Raw, known_by: &[u8], each: &[u8], stage: &mut Stage<'_>) -> Effect {
    let Some(row) = stage.rows.get(id) else { return Effect::None };
    let known = row.facts.get(list).unwrap_or_default().as_bytes();
    if places(known, known_by).next().is_some() {
        return Effect::None;
    }
    if places(known, each).count() >= stage.limits.sources {
        return Effect::Refused(Refusal::Sources);
    }
    stage.rows.change(id, |row| {
        row.facts.extend(list, item);
        Changed::FACTS
    })
}

/// An object of one member.
fn member(name: &str, write: impl FnOnce(&mut JsonWriter)) -> Raw {
    Raw::written(|json| json.object(|json| write(json.key(name))))
}

/// The wire says that a text ended: what an earlier pass had behind it goes.
fn cut_text(id: RowId, seen: usize, stage: &mut Stage<'_>) -> Effect {
    match stage.rows.get(id).and_then(|row| row.text.as_deref()) {
        Some(text) if seen < text.len() => stage.rows.replace_text(id, seen, ""),
        _ => Effect::None,
    }
}

/// Brings the next piece of a row's text: what stands there already, as in a replay, is passed over; what differs
/// replaces it.
pub(super) fn grow_text(id: RowId, seen: &mut usize, text: &str, stage: &mut Stage<'_>) -> Effect {
    let Some(row) = stage.rows.get(id) else { return Effect::None };
    let there = row.text.as_deref().and_then(|text| text.get(*seen..)).unwrap_or_default();
    let common = common_prefix(there, text);
    let keep = *seen + common;
    let effect = if common == text.len() {
        Effect::None
    } else if common < there.len() {
        stage.rows.replace_text(id, keep, text.get(common..).unwrap_or_default())
    } else {
        stage.rows.append_text(id, text.get(common..).unwrap_or_default())
    };
    *seen = keep + text.len() - common;
    effect
}

fn is_under_way(id: RowId, stage: &Stage<'_>) -> bool {
    let is_remote = |row: &Row| row.tool.as_deref().is_some_and(|tool| tool.is_remote);
    stage.rows.get(id).is_some_and(|row| match row.state {
        RowState::Running => true,
        RowState::Pending => is_remote(row),
        _ => false,
    })
}

fn set_truncated(id: RowId, truncated: bool, stage: &mut Stage<'_>) -> Effect {
    stage.rows.change(id, |row| match std::mem::replace(&mut row.truncated, truncated) == truncated {
        true => Changed::NONE,
        false => Changed::TRUNCATED,
    })
}
