//! Blocks that the wire names. Each is told as a whole, whenever anything of it has changed; here it is compared with
//! the row it has, and only the difference becomes a change: text grows by what is new of it, however often a wire
//! repeats the rest.

use crate::chunk::{Block, Effect, Refusal, ToolBlock};
use crate::present::blocks::{Blocks, Stage, grow_text};
use crate::present::call_reader::CallReader;
use crate::row::{Changed, Fact, Row, RowId, RowKind, RowState, Tool, error};
use crate::sorted::{Keyed, Sorted};
use crate::text::common_prefix_after;

/// The rows of a stream's named blocks, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Named {
    rows: Sorted<NamedRow>,
}

impl Keyed for NamedRow {
    fn key(&self) -> &str {
        &self.key
    }
}

#[derive(Debug)]
struct NamedRow {
    key: Box<str>,
    row: RowId,
    /// Bytes of its text or arguments when it was last told of in this pass over the stream.
    seen: usize,
    /// Its time, if its key holds beyond the stream.
    time: Option<u64>,
    /// The wire says that its tool runs.
    runs: bool,
    /// The wire has told what its tool gave back.
    gave: bool,
    /// It stood before the stream first told of it: what is the start of it may still come.
    stood: bool,
    /// Of a call whose arguments were told.
    reader: Option<Box<CallReader>>,
    /// What the reader said of them once they were said to be whole: what is wrong with them, if anything is.
    verdict: Option<Option<&'static str>>,
}

impl Named {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that a later stream may tell of: time, key and row.
    pub fn timed(&self) -> impl Iterator<Item = (u64, &str, RowId)> {
        self.rows.iter().filter_map(|named| Some((named.time?, &*named.key, named.row)))
    }

    /// The row that a new one stands before: that of the key, or one of an earlier stream where its time is sooner.
    fn next(&self, before: Option<&str>, standing: Option<(u64, RowId)>) -> Option<RowId> {
        let next = before.and_then(|key| self.rows.get(key));
        match (next, standing) {
            (Some(next), Some((time, _))) if next.time.is_some_and(|next| next <= time) => Some(next.row),
            (next, standing) => standing.map(|(_, row)| row).or(next.map(|next| next.row)),
        }
    }

    /// Whether the row stood before the stream told of it, and nothing beyond has come yet.
    fn stood(&mut self, key: &str) -> Option<&mut bool> {
        self.rows.get_mut(key).map(|named| &mut named.stood)
    }

    /// The rows, in the order of their keys.
    pub fn rows(&self) -> impl Iterator<Item = RowId> {
        self.rows.iter().map(|named| named.row)
    }

    /// The rows whose tools run on the other side.
    pub fn running(&self) -> impl Iterator<Item = RowId> {
        self.rows.iter().filter(|named| named.runs).map(|named| named.row)
    }

    pub fn get(&self, key: &str) -> Option<RowId> {
        self.rows.get(key).map(|named| named.row)
    }

    /// What comes now is told from the start, of the rows from this index on.
    pub fn restart(&mut self, from: usize) {
        let again = self.rows.iter_mut().filter(|named| named.row.index() >= from);
        again.for_each(|named| named.seen = 0);
    }

    /// Notes how much of a block is told now; answers how much was before.
    fn note(&mut self, key: &str, block: &Block<'_>) -> usize {
        let told = block.tool.as_ref().map_or(&block.text, |tool| &tool.input);
        self.rows.get_mut(key).map_or(0, |named| std::mem::replace(&mut named.seen, told.len()))
    }

    /// This key means that row, one that stood already or a new one.
    pub fn adopt(&mut self, key: &str, time: Option<u64>, row: RowId, stood: bool) {
        let new = || NamedRow {
            key: key.into(),
            row,
            seen: 0,
            time,
            runs: false,
            gave: false,
            stood,
            reader: None,
            verdict: None,
        };
        let named = self.rows.get_or_insert(key, new);
        (named.row, named.reader, named.verdict) = (row, None, None);
    }
}

impl Blocks {
    /// Shows a named block as the wire tells it now. `standing`: the first row of an earlier stream that it stands
    /// before, with its time.
    pub fn show(
        &mut self,
        key: &str,
        before: Option<&str>,
        standing: Option<(u64, RowId)>,
        block: &Block<'_>,
        stage: &mut Stage<'_>,
    ) -> Effect {
        let known = match self.named.get(key) {
            Some(id) => match stage.rows.get(id) {
                Some(row) => Some((id, row.kind)),
                // The page removed the row, or it has ended for good: a repeat does not bring it back.
                None => return Effect::None,
            },
            None => None,
        };
        if let Some((id, kind)) = known {
            let replays = self.is_replaying();
            if has_run(block.state, id, stage) || replays && is_behind(block.state, id, stage) {
                return Effect::None;
            }
            // A replay tells of the way to what stands already.
            let seen = self.named.note(key, block);
            let stood = self.named.stood(key);
            if block.partial && (replays || stood.as_deref() == Some(&true)) {
                if kind != block.kind {
                    return Effect::None;
                }
                if is_start(block, seen, id, stage) {
                    return match stage.rows.get(id).map(|row| row.state) {
                        Some(RowState::Interrupted) => self.set_state(id, block.state, stage),
                        _ => Effect::None,
                    };
                }
            }
            if let Some(stood) = stood {
                *stood = false;
            }
        }
        let (id, mut effect) = match known {
            Some((id, kind)) if kind == block.kind => (id, Effect::None),
            _ => {
                // A row that is another kind of row now is another row; it stands where the one before did.
                let place = known.map(|(id, _)| id).or_else(|| self.named.next(before, standing));
                let added = self.add_named(place, block, stage);
                if let Some((id, _)) = known {
                    stage.rows.remove(id);
                    self.forget_open(id);
                    self.note(id);
                }
                let id = match added {
                    Ok(id) => id,
                    Err(refusal) => return Effect::Refused(refusal),
                };
                self.named.adopt(key, block.time, id, false);
                self.named.note(key, block);
                (id, Effect::Changed)
            }
        };
        effect = effect.and(stage.rows.change(id, |row| {
            let key = block.identity(key).map(Box::from);
            if put(&mut row.key, &key) { Changed::KEY } else { Changed::NONE }
        }));
        effect = effect.and(stage.rows.set_text(id, &block.text, block.text_same));
        if let Some(tool) = &block.tool {
            effect = effect.and(self.set_input(key, id, &tool.input, tool.input_same, stage));
            // What the host wrote stays where the wire says nothing.
            let gave = self.named.rows.get_mut(key).map(|named| &mut named.gave);
            let gave = gave.is_some_and(|gave| std::mem::replace(gave, tool.output.is_some()));
            effect = effect.and(match tool.output {
                Some(output) => stage.rows.replace_output(id, output, tool.output_same),
                None if gave => stage.rows.clear_output(id),
                None => Effect::None,
            });
        }
        let mut failed;
        let block = match self.verdict(key, id, block, stage) {
            None => block,
            Some(code) => {
                failed = block.clone();
                fail(&mut failed, code);
                &failed
            }
        };
        let runs = self.turns.is_some();
        effect = effect.and(stage.rows.change(id, |row| set_properties(row, block, runs)));
        effect.and(self.set_named_state(key, id, block.state, stage))
    }

    /// Cancelled stays cancelled, whatever is still told of it; and the way of a remote call to its end is told again
    /// in a replay.
    pub(super) fn set_named_state(&mut self, key: &str, id: RowId, state: RowState, stage: &mut Stage<'_>) -> Effect {
        let Some(row) = stage.rows.get(id) else { return Effect::None };
        let is_remote = row.tool.as_deref().is_some_and(|tool| tool.is_remote);
        let waits = !state.is_at_rest() || state == RowState::Pending;
        let runs = state == RowState::Running || is_remote && waits;
        self.named.rows.get_mut(key).into_iter().for_each(|named| named.runs = runs);
        match row.state {
            RowState::Cancelled => Effect::None,
            _ if self.is_replaying() && is_behind(state, id, stage) => Effect::None,
            _ => self.set_state(id, state, stage),
        }
    }

    /// A named block's text goes on.
    pub(super) fn grow_named(&mut self, key: &str, text: &str, stage: &mut Stage<'_>) -> Effect {
        let Some(named) = self.named.rows.get_mut(key) else { return Effect::Refused(Refusal::Rows) };
        named.stood = false;
        let id = named.row;
        let grown = grow_text(id, &mut named.seen, text, stage);
        let state = stage.rows.get(id).map(|row| (row.kind, row.state));
        match (grown, state) {
            (Effect::Changed, Some((RowKind::Text | RowKind::Reasoning, RowState::Interrupted))) => {
                grown.and(self.set_state(id, RowState::Streaming, stage))
            }
            _ => grown,
        }
    }

    /// The block has come to this state, and is what it was.
    pub fn end_block(&mut self, key: &str, state: RowState, stage: &mut Stage<'_>) -> Effect {
        let id = self.named.get(key).filter(|id| stage.rows.get(*id).is_some_and(|row| row.state.is_open()));
        id.map_or(Effect::None, |id| self.set_state(id, state, stage))
    }

    /// The block is no more.
    pub fn take_away(&mut self, key: &str, stage: &mut Stage<'_>) -> Effect {
        let Some(NamedRow { row, .. }) = self.named.rows.remove(key) else { return Effect::None };
        let shown = stage.rows.get(row).is_some();
        stage.rows.remove(row);
        self.forget_open(row);
        self.note(row);
        if shown { Effect::Changed } else { Effect::None }
    }

    /// All named blocks are no more.
    pub fn take_all_away(&mut self, stage: &mut Stage<'_>) -> Effect {
        if self.named.is_empty() {
            return Effect::None;
        }
        let named = std::mem::take(&mut self.named);
        for row in named.rows() {
            self.forget_open(row);
            self.note(row);
        }
        stage.rows.remove_all(named.rows());
        Effect::Changed
    }

    fn add_named(&mut self, before: Option<RowId>, block: &Block<'_>, stage: &mut Stage<'_>) -> Result<RowId, Refusal> {
        if block.state.is_open() && self.is_full(stage.limits) {
            return Err(Refusal::OpenBlocks);
        }
        if self.named.rows.len() >= stage.limits.rows.saturating_mul(2) {
            return Err(Refusal::Rows);
        }
        let parent = block.parent.and_then(|key| self.named.get(key)).or(self.parent());
        let now = stage.now;
        // `set_state` makes it what it is, so that what is open is known.
        let state = match block.state {
            RowState::Interrupted => RowState::Pending,
            _ => RowState::Interrupted,
        };
        let added = stage.rows.add_before(before, block.kind, state, &mut |row| {
            row.parent = parent;
            row.started_at = Some(now);
            row.tool = block.tool.as_ref().map(|_| Box::new(Tool::default()));
        });
        added.ok_or(Refusal::Rows)
    }

    /// Compares the arguments with what is known of them.
    fn set_input(&mut self, key: &str, id: RowId, input: &str, same: usize, stage: &mut Stage<'_>) -> Effect {
        let Some(tool) = stage.rows.get(id).and_then(|row| row.tool.as_deref()) else { return Effect::None };
        let keep = common_prefix_after(&tool.input, input, same);
        let there = tool.input.len();
        if keep == there && keep == input.len() {
            return Effect::None;
        }
        let Some(named) = self.named.rows.get_mut(key) else { return Effect::None };
        let rest = input.get(keep..).unwrap_or_default();
        let fresh = || Box::new(CallReader::json(stage.limits));
        // A reader that has come to its verdict reads no further, and of a row that stood nothing was read.
        let verdict = named.verdict.take();
        if keep == there && verdict.is_none() && (there == 0 || named.reader.is_some()) {
            return stage.rows.append_input(id, rest, named.reader.get_or_insert_with(fresh));
        }
        let reader = named.reader.insert(fresh());
        stage.rows.regrow_input(id, keep, rest, reader)
    }

    /// What is wrong with arguments that the wire says are whole.
    fn verdict(&mut self, key: &str, id: RowId, block: &Block<'_>, stage: &mut Stage<'_>) -> Option<&'static str> {
        let told = block.tool.as_ref().filter(|tool| tool.input_done)?;
        if stage.rows.get(id)?.tool.as_deref()?.input.len() < told.input.len() {
            return Some("arguments-too-long");
        }
        let named = self.named.rows.get_mut(key)?;
        let reader = named.reader.get_or_insert_with(|| {
            // The row stood already, and its fields with it.
            let mut reader = Box::new(CallReader::json(stage.limits));
            reader.advance(&told.input, &mut Vec::new());
            reader
        });
        *named.verdict.get_or_insert_with(|| match stage.rows.finish_input(id, reader) {
            true => None,
            false if reader.nested_too_deep() => Some("arguments-nesting"),
            false => Some("arguments-malformed"),
        })
    }
}

/// What the arguments are said to be they are not: the call is never run from here. One that the other side is to run,
/// and asks about, is still to be answered.
fn fail(block: &mut Block<'_>, code: &'static str) {
    let has = |fact: Fact| block.facts.iter().any(|(said, _)| *said == fact);
    if block.state == RowState::Pending && !has(Fact::Permission) {
        block.state = RowState::Failed;
    }
    if !has(Fact::Error) {
        block.facts.push((Fact::Error, error("", Some(code), None)));
    }
    block.tool.iter_mut().for_each(|tool| tool.input_done = false);
}

/// Whether the host has run this call since the wire was where it is said to be now.
fn has_run(state: RowState, id: RowId, stage: &Stage<'_>) -> bool {
    let Some(row) = stage.rows.get(id) else { return false };
    let ran = matches!(row.state, RowState::Running | RowState::Done | RowState::Failed);
    let waits = matches!(state, RowState::Preparing | RowState::Pending);
    ran && waits && row.tool.as_deref().is_some_and(|tool| tool.input_done && !tool.is_remote)
}

/// Whether the wire tells of the way to an end that a call of the other side has come to.
pub(super) fn is_behind(state: RowState, id: RowId, stage: &Stage<'_>) -> bool {
    let Some(row) = stage.rows.get(id) else { return false };
    let has_ended = matches!(row.state, RowState::Done | RowState::Failed);
    let waits = !state.is_at_rest() || state == RowState::Pending;
    has_ended && waits && row.tool.as_deref().is_some_and(|tool| tool.is_remote)
}

/// Whether a partial block that has grown from `seen` bytes is no more than the start of what its row has. Rows that
/// count have no start.
fn is_start(block: &Block<'_>, seen: usize, id: RowId, stage: &Stage<'_>) -> bool {
    let counts = matches!(block.kind, RowKind::Retry | RowKind::ToolPreparing);
    let Some(row) = stage.rows.get(id).filter(|_| !counts) else { return false };
    let starts = |there: &str, told: &str| told.len() >= seen && there.starts_with(told);
    match (&block.tool, row.tool.as_deref()) {
        // Where messages keep their identity, what is shorter is older: a wire that closes what it goes on with grows
        // in the middle, and has no name yet.
        (Some(said), Some(tool)) if block.time.is_some() => (seen..=tool.input.len()).contains(&said.input.len()),
        (Some(said), Some(tool)) => said.name == tool.name && starts(&tool.input, &said.input),
        (None, None) => starts(row.text.as_deref().unwrap_or_default(), &block.text),
        _ => false,
    }
}

/// Sets what is neither text nor state; answers with what was another before.
///
/// `runs`: calls are run from here, and what the user was asked before them and said is no word of the wire's.
fn set_properties(row: &mut Row, block: &Block<'_>, runs: bool) -> Changed {
    let mut changed = Changed::NONE;
    let mut note = |differs: bool, property: Changed| {
        if differs {
            changed.add(property);
        }
    };
    let bytes = if block.tool.is_some() { row.bytes } else { block.bytes };
    note(put(&mut row.bytes, &bytes), Changed::BYTES);
    for fact in Fact::ALL {
        if block.same.contains(fact) {
            continue;
        }
        let said = block.facts.iter().find(|(said, _)| said == fact).map(|(_, value)| value);
        if said.is_none() && runs && matches!(fact, Fact::Permission | Fact::Question | Fact::Message | Fact::Error) {
            continue;
        }
        note(row.facts.raw(*fact) != said && row.facts.set(*fact, said.cloned()), Changed::FACTS);
    }
    if let (Some(tool), Some(said)) = (row.tool.as_deref_mut(), &block.tool) {
        let ToolBlock { name, call_id, .. } = said;
        if tool.name != **name {
            tool.name = name.to_string();
            note(true, Changed::NAME);
        }
        // An id that is known is not lost where a wire leaves it out.
        let call_id = call_id.map(Box::from).or_else(|| tool.call_id.clone());
        note(put(&mut tool.call_id, &call_id), Changed::CALL_ID);
        note(put(&mut tool.input_done, &said.input_done), Changed::INPUT_DONE);
        note(put(&mut tool.is_error, &said.is_error.then_some(true)), Changed::IS_ERROR);
        tool.is_remote = said.is_remote;
    }
    changed
}

fn put<T: PartialEq + Clone>(there: &mut T, now: &T) -> bool {
    let differs = there != now;
    if differs {
        there.clone_from(now);
    }
    differs
}
