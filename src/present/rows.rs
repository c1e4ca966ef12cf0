//! The rows of a chat, and the one place where a row becomes ops. Changes only mark a row; [`Rows::drain`] compares
//! each marked row with what was last shown of it and writes the difference, so whatever happened in between is
//! coalesced, and what came to nothing is silent.

use std::collections::BinaryHeap;

use crate::chunk::{Effect, Refusal};
use crate::json::{FieldSpan, Step};
use crate::limits::Limits;
use crate::op::{AppendField, Patch, RowOp, RowSink, utf16_len};
use crate::present::call_reader::CallReader;
use crate::present::spoken::{answer, asks, speak};
use crate::row::{Changed, Fact, Facts, FieldNews, Row, RowId, RowKind, RowState, Tool, message};
use crate::text::{common_prefix, common_prefix_after};

/// All rows, in their order.
#[derive(Debug)]
pub(crate) struct Rows {
    /// By id; a removed row leaves its place empty, so that its id is never used again.
    slots: Vec<Option<Box<Slot>>>,
    order: Vec<RowId>,
    marked: Vec<RowId>,
    removed: Vec<RowId>,
    reset: bool,
    /// Rows not shown yet that stand before others.
    scattered: Vec<RowId>,
    /// How many rows wait for their place in the list: they grow, and nobody is told of them.
    held: usize,
    limits: Limits,
    /// A row appeared or ended since the last drain.
    urgent: bool,
    /// The notices about the caps on rows and on open blocks stand.
    full: [bool; 2],
    text: String,
    /// Bytes of text that ops carried.
    pub work: u64,
}

#[derive(Debug)]
struct Slot {
    row: Row,
    changed: Changed,
    marked: bool,
    is_shown: bool,
    is_held: bool,
    /// What was last shown of the row, while the row may be another.
    shown: Option<Box<Shown>>,
}

/// What ops have said of a row: enough to tell what is new.
#[derive(Debug)]
struct Shown {
    state: RowState,
    busy: bool,
    truncated: bool,
    bytes: Option<u64>,
    quiet_since: Option<u64>,
    ended_at: Option<u64>,
    is_error: Option<bool>,
    input_done: bool,
    has_output: bool,
    has_text: bool,
    key: Option<Box<str>>,
    call_id: Option<Box<str>>,
    name: Box<str>,
    text: Extent,
    input: Extent,
    output: Extent,
    fields: usize,
    /// Of the last field: how far it was shown, and whether it was open.
    field_end: u32,
    field_open: bool,
    /// A field that was shown as closed goes on after all: which one, and how far it was shown.
    regrown: Option<(usize, u32)>,
    fields_rewritten: bool,
}

/// How many bytes of a text stand as they were shown, and what was shown after them and is replaced.
#[derive(Debug, Default)]
struct Extent {
    bytes: usize,
    cut: Option<String>,
}

impl Shown {
    fn of(row: &Row) -> Shown {
        let extent = |text: Option<&String>| Extent { bytes: text.map_or(0, String::len), cut: None };
        let tool = row.tool.as_deref();
        let last = tool.and_then(|tool| tool.spans.last());
        Shown {
            state: row.state,
            busy: row.busy,
            truncated: row.truncated,
            bytes: row.bytes,
            quiet_since: row.quiet_since,
            ended_at: row.ended_at,
            is_error: tool.and_then(|tool| tool.is_error),
            input_done: tool.is_some_and(|tool| tool.input_done),
            has_output: tool.is_some_and(|tool| tool.output.is_some()),
            has_text: row.text.is_some(),
            key: row.key.clone(),
            call_id: tool.and_then(|tool| tool.call_id.clone()),
            name: tool.map_or("", |tool| &tool.name).into(),
            text: extent(row.text.as_ref()),
            input: extent(tool.map(|tool| &tool.input)),
            output: extent(tool.and_then(|tool| tool.output.as_ref())),
            fields: tool.map_or(0, |tool| tool.spans.len()),
            field_end: last.map_or(0, |span| span.shown_end),
            field_open: last.is_some_and(|span| !span.closed),
            regrown: None,
            fields_rewritten: false,
        }
    }
}

/// What the notices about the caps say.
const CAPS: [&str; 2] = ["limit.rows", "limit.open-blocks"];

impl Rows {
    pub fn new(limits: &Limits) -> Self {
        Rows {
            slots: Vec::new(),
            order: Vec::new(),
            marked: Vec::new(),
            removed: Vec::new(),
            reset: false,
            scattered: Vec::new(),
            held: 0,
            limits: *limits,
            urgent: false,
            full: [false; 2],
            text: String::new(),
            work: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many ids were given out.
    pub fn ids(&self) -> usize {
        self.slots.len()
    }

    /// So many ids were given out in an earlier life, and are not given out again.
    pub fn keep_ids(&mut self, ids: u64) {
        let ids = ids.min(self.most_ids()) as usize;
        while self.slots.len() < ids {
            self.slots.push(None);
        }
    }

    fn most_ids(&self) -> u64 {
        // Ids of removed rows cost a word each.
        const LEAST: u64 = 1 << 20;
        (self.limits.rows as u64).saturating_mul(16).clamp(LEAST, u64::from(u32::MAX) / 2)
    }

    /// Adds a row that has its id already, as it stands. None if another has it, or if no row can.
    pub fn place(&mut self, row: Row) -> Option<()> {
        let id = row.id;
        if id.index() as u64 >= self.most_ids() {
            return None;
        }
        self.keep_ids(u64::from(id.get()));
        let slot = self.slots.get_mut(id.index()).filter(|slot| slot.is_none())?;
        *slot = Some(Slot::boxed(row));
        self.order.push(id);
        self.marked.push(id);
        Some(())
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.order.iter().filter_map(|id| self.get(*id))
    }

    pub fn get(&self, id: RowId) -> Option<&Row> {
        self.slots.get(id.index())?.as_deref().map(|slot| &slot.row)
    }

    /// Whether a drain would say anything.
    pub fn is_pending(&self) -> bool {
        self.reset || !self.marked.is_empty() || !self.removed.is_empty()
    }

    /// Whether something waits that the cadence should not hold back.
    pub fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Adds a row at the end; `fill` makes it what it is. None once the cap on rows is reached: then one notice row
    /// says so.
    pub fn add(&mut self, kind: RowKind, state: RowState, fill: &mut dyn FnMut(&mut Row)) -> Option<RowId> {
        self.add_before(None, kind, state, fill)
    }

    /// Adds a row before another.
    pub fn add_before(
        &mut self,
        before: Option<RowId>,
        kind: RowKind,
        state: RowState,
        fill: &mut dyn FnMut(&mut Row),
    ) -> Option<RowId> {
        let id = self.add_capped(kind, state, fill)?;
        // What comes out of its order is rarely far from its place.
        if let Some(place) = before.and_then(|before| place_of(&self.order, before)) {
            self.order.pop();
            self.order.insert(place, id);
            self.scattered.push(id);
        }
        Some(id)
    }

    /// Adds a row that is not in the list before [`Rows::release`] puts it at the end.
    pub fn add_held(&mut self, kind: RowKind, state: RowState, fill: &mut dyn FnMut(&mut Row)) -> Option<RowId> {
        let id = self.add_capped(kind, state, fill)?;
        self.order.pop();
        self.marked.pop();
        if let Some(slot) = self.slots.get_mut(id.index()).and_then(Option::as_deref_mut) {
            (slot.is_held, slot.marked) = (true, false);
        }
        self.held += 1;
        Some(id)
    }

    /// Puts a row that was held at the end of the list.
    pub fn release(&mut self, id: RowId) {
        let slot = self.slots.get_mut(id.index()).and_then(Option::as_deref_mut);
        if let Some(slot) = slot.filter(|slot| slot.is_held) {
            (slot.is_held, slot.marked) = (false, true);
            self.held -= 1;
            self.order.push(id);
            self.marked.push(id);
            self.urgent = true;
        }
    }

    /// Whether the row waits for its place.
    pub fn is_held(&self, id: RowId) -> bool {
        self.slots.get(id.index()).and_then(Option::as_deref).is_some_and(|slot| slot.is_held)
    }

    fn add_capped(&mut self, kind: RowKind, state: RowState, fill: &mut dyn FnMut(&mut Row)) -> Option<RowId> {
        if self.len() + self.held >= self.limits.rows {
            self.note_cap(0, CAPS[0], self.limits.rows);
            return None;
        }
        self.push(kind, state, fill)
    }

    /// Says once that open blocks are at their cap.
    pub fn note_open_blocks(&mut self) {
        self.note_cap(1, CAPS[1], self.limits.open_blocks);
    }

    /// Whether a row is the first notice about one of the caps.
    pub fn adopt_notice(&mut self, row: &Row) -> bool {
        let said = row.facts.get(Fact::Message).and_then(|message| message.strip_prefix("{\"key\":\""));
        let which = CAPS.iter().position(|key| said.is_some_and(|said| said.starts_with(key)));
        which.is_some_and(|which| row.kind == RowKind::Notice && !std::mem::replace(&mut self.full[which], true))
    }

    /// Rows, the notices about the caps aside.
    pub fn counted(&self) -> usize {
        self.len() - self.full.iter().filter(|full| **full).count()
    }

    fn note_cap(&mut self, which: usize, key: &'static str, max: usize) {
        if !std::mem::replace(&mut self.full[which], true) {
            let mut message = Some(message(key, &[("max", &max.to_string())]));
            self.push(RowKind::Notice, RowState::Done, &mut |row| {
                row.facts.set(Fact::Message, message.take());
            });
        }
    }

    #[inline(never)]
    fn push(&mut self, kind: RowKind, state: RowState, fill: &mut dyn FnMut(&mut Row)) -> Option<RowId> {
        let id = RowId::new(u32::try_from(self.slots.len() + 1).ok()?)?;
        let mut row = empty_row(id, kind, state);
        fill(&mut row);
        self.slots.push(Some(Slot::boxed(row)));
        self.order.push(id);
        self.marked.push(id);
        self.urgent = true;
        Some(id)
    }

    #[inline(never)]
    fn slot(&mut self, id: RowId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id.index())?.as_deref_mut()?;
        slot.remember();
        if !slot.is_held && !std::mem::replace(&mut slot.marked, true) {
            self.marked.push(id);
        }
        Some(slot)
    }

    /// The index of the next row that is made.
    pub fn next_index(&self) -> usize {
        self.slots.len()
    }

    /// Changes properties of a row. `change` says which it touched; what ends up as it was is not shown.
    pub fn change(&mut self, id: RowId, change: impl FnOnce(&mut Row) -> Changed) -> Effect {
        let slot = self.slots.get_mut(id.index()).and_then(Option::as_deref_mut);
        let changed = slot.map_or(Changed::NONE, |slot| {
            slot.remember();
            change(&mut slot.row)
        });
        if changed.is_none() { Effect::None } else { self.changed(id, changed) }
    }

    #[inline(never)]
    fn changed(&mut self, id: RowId, changed: Changed) -> Effect {
        let Some(slot) = self.slot(id) else { return Effect::None };
        slot.changed.add(changed);
        let busy = is_busy(&slot.row);
        if slot.row.busy != busy {
            slot.row.busy = busy;
            slot.changed.add(Changed::BUSY);
        }
        if changed.has(Changed::STATE) {
            if slot.row.state.is_at_rest() {
                slot.row.text.iter_mut().for_each(String::shrink_to_fit);
                let tool = slot.row.tool.iter_mut();
                tool.for_each(|tool| tool.input.shrink_to_fit());
            }
            self.urgent = true;
        }
        Effect::Changed
    }

    /// Appends to the row's text, up to the cap.
    pub fn append_text(&mut self, id: RowId, text: &str) -> Effect {
        let max = self.limits.text_bytes;
        let Some(slot) = self.slot(id) else { return Effect::None };
        let whole = append(slot.row.text.get_or_insert_default(), text, max);
        slot.keep_to_cap(whole, Refusal::TextBytes)
    }

    /// Appends to the output of the row's call, up to the cap.
    pub fn append_output(&mut self, id: RowId, text: &str) -> Effect {
        let max = self.limits.text_bytes;
        let Some(slot) = self.slot(id) else { return Effect::None };
        let Some(tool) = slot.row.tool.as_deref_mut() else { return Effect::None };
        if tool.output.is_none() {
            slot.changed.add(Changed::OUTPUT);
        }
        let whole = append(tool.output.get_or_insert_default(), text, max);
        slot.keep_to_cap(whole, Refusal::TextBytes)
    }

    /// Replaces the output of the row's call, of which the first `same` bytes are known to stand.
    pub fn replace_output(&mut self, id: RowId, output: &str, same: usize) -> Effect {
        let Some(slot) = self.slot(id) else { return Effect::None };
        let Some(tool) = slot.row.tool.as_deref_mut() else { return Effect::None };
        let there = tool.output.as_deref().unwrap_or_default();
        let keep = common_prefix_after(there, output, same);
        if keep == there.len() && keep == output.len() && tool.output.is_some() {
            return Effect::None;
        }
        if let Some(shown) = &mut slot.shown {
            shown.output.cut_at(keep, there);
        }
        if let Some(there) = &mut tool.output {
            there.truncate(keep);
        }
        self.append_output(id, output.get(keep..).unwrap_or_default())
    }

    /// The call's tool has come to its end. One that was cancelled takes the output and stays cancelled.
    pub fn end_call(&mut self, id: RowId, output: Option<&str>, is_error: bool, now: u64) {
        if let Some(output) = output {
            self.replace_output(id, output, 0);
        }
        // It may be answered before its turn to ask has come.
        if self.get(id).is_some_and(|row| asks(row) && row.facts.get(Fact::Question).is_none()) {
            speak(id, self);
        }
        self.change(id, |row| {
            let said = output.filter(|_| !is_error);
            let mut changed = said.map_or(Changed::NONE, |output| answer(row, output));
            if let Some(tool) = row.tool.as_deref_mut() {
                let is_error = is_error.then_some(true);
                if std::mem::replace(&mut tool.is_error, is_error) != is_error {
                    changed.add(Changed::IS_ERROR);
                }
            }
            let state = if is_error { RowState::Failed } else { RowState::Done };
            if row.state != RowState::Cancelled && row.state != state {
                row.state = state;
                row.ended_at = Some(now);
                changed.add(Changed::STATE);
                changed.add(Changed::ENDED_AT);
            }
            changed
        });
    }

    /// The row's call has no output after all.
    pub fn clear_output(&mut self, id: RowId) -> Effect {
        let Some(slot) = self.slot(id) else { return Effect::None };
        let Some(output) = slot.row.tool.as_deref_mut().and_then(|tool| tool.output.take()) else {
            return Effect::None;
        };
        if let Some(shown) = &mut slot.shown {
            shown.output.cut_at(0, &output);
        }
        slot.changed.add(Changed::OUTPUT);
        Effect::Changed
    }

    /// Appends to the arguments of the row's call, up to the cap, and reads them.
    pub fn append_input(&mut self, id: RowId, text: &str, reader: &mut CallReader) -> Effect {
        let max = self.limits.tool_input_bytes;
        let Some(slot) = self.slot(id) else { return Effect::None };
        let Some(tool) = slot.row.tool.as_deref_mut() else { return Effect::None };
        let whole = append(&mut tool.input, text, max);
        slot.read_input(reader);
        slot.keep_to_cap(whole, Refusal::ToolInputBytes)
    }

    /// The arguments of the row's call ended. True if they may be executed.
    pub fn finish_input(&mut self, id: RowId, reader: &mut CallReader) -> bool {
        let Some(slot) = self.slot(id) else { return false };
        let Some(tool) = slot.row.tool.as_deref_mut() else { return false };
        let well_formed = reader.finish(&tool.input, &mut tool.spans);
        slot.heed_rewritten(reader);
        well_formed
    }

    /// Makes the row's text this one, of which the first `same` bytes are known to stand.
    pub fn set_text(&mut self, id: RowId, text: &str, same: usize) -> Effect {
        let there = self.get(id).and_then(|row| row.text.as_deref()).unwrap_or_default();
        let keep = common_prefix_after(there, text, same);
        let rest = text.get(keep..).unwrap_or_default();
        match (keep == there.len(), rest.is_empty()) {
            (true, true) => Effect::None,
            (true, false) => self.append_text(id, rest),
            (false, _) => self.replace_text(id, keep, rest),
        }
    }

    /// Replaces the row's text from byte `keep` on.
    pub fn replace_text(&mut self, id: RowId, keep: usize, text: &str) -> Effect {
        let Some(slot) = self.slot(id) else { return Effect::None };
        let there = slot.row.text.get_or_insert_default();
        if let Some(shown) = &mut slot.shown {
            shown.text.cut_at(keep, there);
        }
        there.truncate(keep);
        self.append_text(id, text)
    }

    /// Replaces the arguments of the row's call from byte `keep` on; `reader` is new.
    pub fn replace_input(&mut self, id: RowId, keep: usize, text: &str, reader: &mut CallReader) -> Effect {
        let Some(slot) = self.slot(id) else { return Effect::None };
        let Some(tool) = slot.row.tool.as_deref_mut() else { return Effect::None };
        if let Some(shown) = &mut slot.shown {
            shown.input.cut_at(keep, &tool.input);
            shown.fields_rewritten = true;
        }
        tool.input.truncate(keep);
        tool.spans.clear();
        self.append_input(id, text, reader)
    }

    /// The same on a wire that closes what it repeats: where the first value that differs has only grown and those
    /// after it are as they were, the fields stand as they were shown, and that one goes on.
    pub fn regrow_input(&mut self, id: RowId, keep: usize, text: &str, reader: &mut CallReader) -> Effect {
        let before = self.slot(id).and_then(|slot| Some((slot.shown.as_ref()?, slot.row.tool.as_deref()?)));
        let before = before.filter(|(shown, _)| !shown.fields_rewritten).map(|(shown, tool)| {
            let last = (shown.fields, shown.field_end, shown.field_open);
            (last, shown.regrown, tool.spans.clone(), tool.input.get(keep..).unwrap_or_default().to_owned())
        });
        let effect = self.replace_input(id, keep, text, reader);
        let Some(((fields, field_end, field_open), regrown, old, tail)) = before else { return effect };
        let Some(slot) = self.slots.get_mut(id.index()).and_then(Option::as_deref_mut) else { return effect };
        let (Some(shown), Some(tool)) = (&mut slot.shown, slot.row.tool.as_deref()) else { return effect };
        let new = &tool.spans;
        if new.len() < fields || old.len() < fields {
            return effect;
        }
        let kept = |old: &FieldSpan| old.shown_end as usize <= keep;
        let grown = old.iter().zip(new).take_while(|(old, new)| old == new && kept(old)).count();
        if grown >= fields {
            (shown.field_end, shown.field_open, shown.regrown) = (field_end, field_open, regrown);
            shown.fields_rewritten = false;
            return effect;
        }
        // What stands behind the place that grew has moved.
        let unmoved = |at: u32| (at as usize).checked_sub(keep).and_then(|at| tail.get(at..));
        let same = |old: &FieldSpan, new: &FieldSpan| {
            let text = |span: &FieldSpan| tool.input.get(span.start as usize..span.shown_end as usize);
            let long = old.shown_end.saturating_sub(old.start) as usize;
            let was = unmoved(old.start).and_then(|text| text.get(..long));
            let moved = new.start.wrapping_sub(old.start);
            let path = old.path.len() == new.path.len()
                && old.path.iter().zip(&new.path).all(|(old, new)| match (old, new) {
                    (Step::Index(old), Step::Index(new)) => old == new,
                    (Step::Key { start, end }, Step::Key { start: now, end: now_end }) => {
                        (start, end) == (now, now_end)
                            || (start.wrapping_add(moved), end.wrapping_add(moved)) == (*now, *now_end)
                    }
                    _ => false,
                });
            path && (old.kind, old.closed) == (new.kind, new.closed) && was.is_some() && was == text(new)
        };
        let (was, is) = (&old[grown], &new[grown]);
        let half = tool.input.get(was.shown_end.saturating_sub(6) as usize..was.shown_end as usize);
        let half = half.is_some_and(|escape| escape.starts_with("\\u"));
        let place = (&was.path, was.kind, was.start) == (&is.path, is.kind, is.start);
        let grows = place && kept(was) && is.shown_end >= was.shown_end && !half;
        let others = old[grown + 1..fields].iter().zip(&new[grown + 1..]).all(|(old, new)| same(old, new));
        if !grows || !others || regrown.is_some_and(|(index, _)| index != grown) {
            return effect;
        }
        let is_last = grown + 1 == fields;
        let from = regrown.map_or(if is_last { field_end } else { was.shown_end }, |(_, from)| from);
        shown.fields_rewritten = false;
        if is_last && field_open {
            (shown.field_end, shown.field_open) = (field_end, true);
        } else {
            shown.regrown = Some((grown, from));
            let last = &new[fields - 1];
            (shown.field_end, shown.field_open) = (last.shown_end, !last.closed);
        }
        effect
    }

    /// Removes the row.
    pub fn remove(&mut self, id: RowId) {
        if !self.is_held(id)
            && let Some(place) = place_of(&self.order, id)
        {
            self.order.remove(place);
        }
        self.forget(id);
    }

    /// Removes rows, in one pass.
    pub fn remove_all(&mut self, ids: impl Iterator<Item = RowId>) {
        ids.for_each(|id| self.forget(id));
        self.order.retain(|id| self.slots.get(id.index()).is_some_and(Option::is_some));
    }

    /// Removes the row and all after it, those that wait for their place among them.
    pub fn truncate_from(&mut self, id: RowId) -> bool {
        let place = self.order.iter().position(|known| *known == id);
        if let Some(place) = place {
            let mut gone = self.order.split_off(place);
            gone.extend(self.slots.iter().flatten().filter(|slot| slot.is_held).map(|slot| slot.row.id));
            gone.into_iter().for_each(|id| self.forget(id));
        }
        self.full = [false; 2];
        place.is_some()
    }

    fn forget(&mut self, id: RowId) {
        let slot = self.slots.get_mut(id.index()).and_then(Option::take);
        let Some(slot) = slot else { return };
        self.held -= usize::from(slot.is_held);
        if slot.is_shown {
            self.removed.push(id);
        }
    }

    /// Removes all rows. Ids go on.
    pub fn clear(&mut self) {
        for slot in &mut self.slots {
            *slot = None;
        }
        self.order.clear();
        self.held = 0;
        self.removed.clear();
        self.full = [false; 2];
        self.reset = true;
    }

    /// Writes what changed since the last drain.
    pub fn drain(&mut self, sink: &mut impl RowSink) {
        if std::mem::take(&mut self.reset) {
            sink.op(RowOp::Reset);
        }
        for id in self.removed.drain(..) {
            sink.op(RowOp::Remove { id });
        }
        self.urgent = false;
        let is_new = |id: &RowId| self.slots[id.index()].as_ref().is_some_and(|slot| !slot.is_shown);
        // Most rows are added at the end: those not shown yet are the last ones.
        let tail = self.order.iter().rev().take_while(|id| is_new(id)).count();
        let mut new: Vec<(RowId, Option<RowId>)> =
            self.order[self.order.len() - tail..].iter().rev().map(|id| (*id, None)).collect();
        let scattered = std::mem::take(&mut self.scattered);
        let front = self.order.len() - tail;
        // Few are looked for, many are walked to.
        let few = scattered.len() < front / 16;
        let places: BinaryHeap<usize> = match few {
            true => {
                scattered.iter().filter_map(|id| place_of(&self.order, *id)).filter(|place| *place < front).collect()
            }
            false if scattered.is_empty() => BinaryHeap::new(),
            false => (0..front).filter(|place| is_new(&self.order[*place])).collect(),
        };
        let mut next: Option<(usize, RowId)> = None;
        for place in places.into_sorted_vec().into_iter().rev() {
            let after = place + 1;
            // Behind a row that is new itself stands what stands behind that one.
            let shown = match next {
                Some((known, row)) if known == after => Some(row),
                _ => self.order.get(after).copied().filter(|id| !is_new(id)),
            };
            next = shown.map(|row| (place, row));
            new.push((self.order[place], shown));
        }
        let slots = &mut self.slots;
        for (id, before) in new.into_iter().rev() {
            if let Some(slot) = slots[id.index()].as_deref_mut() {
                sink.op(RowOp::Insert { before, row: &slot.row });
                slot.row.facts.take_news();
                slot.row.facts.settle();
                slot.is_shown = true;
                slot.changed = Changed::NONE;
            }
        }
        for id in self.marked.drain(..) {
            if let Some(slot) = slots[id.index()].as_deref_mut() {
                slot.marked = false;
                self.work += slot.drain(&mut self.text, sink) as u64;
            }
        }
        self.text.shrink_to(64 << 10);
    }

    /// Writes all rows as inserts: what a new listener needs. Nothing may be pending.
    pub fn write_all(&self, sink: &mut impl RowSink) {
        for row in self.iter() {
            sink.op(RowOp::Insert { before: None, row });
        }
    }
}

/// Where a row stands among others: near one of the ends, mostly.
pub(crate) fn place_of(rows: &[RowId], id: RowId) -> Option<usize> {
    let last = rows.len().checked_sub(1)?;
    (0..=last).flat_map(|place| [last - place, place]).take(last + 2).find(|place| rows.get(*place) == Some(&id))
}

/// A row of which nothing more is known.
pub(crate) fn empty_row(id: RowId, kind: RowKind, state: RowState) -> Row {
    let mut row = Row {
        id,
        kind,
        state,
        busy: false,
        key: None,
        parent: None,
        is_paused: false,
        text: None,
        tool: None,
        bytes: None,
        quiet_since: None,
        facts: Facts::default(),
        truncated: false,
        started_at: None,
        ended_at: None,
    };
    row.busy = is_busy(&row);
    row
}

/// A row shows a spinner while arguments arrive and while a tool runs; text that streams just grows.
fn is_busy(row: &Row) -> bool {
    let works = || row.tool.as_deref().is_some_and(|tool| tool.is_remote) && !row.asks();
    let moves = matches!(row.state, RowState::Preparing | RowState::Running);
    !row.is_paused && (moves || row.state == RowState::Pending && works())
}

impl Extent {
    /// The text is about to be replaced from byte `keep` on.
    fn cut_at(&mut self, keep: usize, text: &str) {
        if let Some(tail) = text.get(keep..self.bytes).filter(|tail| !tail.is_empty()) {
            self.cut.get_or_insert_default().insert_str(0, tail);
            self.bytes = keep;
        }
    }

    /// The op's `keep` and what is new of `text`, if anything is.
    fn news<'a>(&mut self, text: &'a str) -> Option<(Option<u32>, &'a str)> {
        let new = text.get(self.bytes..).unwrap_or_default();
        let (keep, new) = match self.cut.take() {
            Some(cut) => {
                // What was replaced by itself stands as it was.
                let same = common_prefix(&cut, new);
                let new = new.get(same..).unwrap_or_default();
                let keep = (same < cut.len()).then(|| utf16_len(text.strip_suffix(new).unwrap_or(text)));
                (keep, new)
            }
            None => (None, new),
        };
        self.bytes = text.len();
        (keep.is_some() || !new.is_empty()).then_some((keep, new))
    }
}

impl Slot {
    /// Of a row that is to be shown.
    fn boxed(row: Row) -> Box<Slot> {
        Box::new(Slot { row, changed: Changed::NONE, marked: true, is_shown: false, is_held: false, shown: None })
    }

    /// Before the row changes: keeps what is shown of it.
    #[inline(never)]
    fn remember(&mut self) {
        if self.is_shown && self.shown.is_none() {
            self.shown = Some(Box::new(Shown::of(&self.row)));
        }
    }

    /// After an append: where the cap cut it, the row says so and the record is a fault.
    fn keep_to_cap(&mut self, whole: bool, cap: Refusal) -> Effect {
        if whole {
            return Effect::Changed;
        }
        self.row.truncated = true;
        self.changed.add(Changed::TRUNCATED);
        Effect::Refused(cap)
    }

    /// Fields that were shown may have been taken back.
    fn heed_rewritten(&mut self, reader: &mut CallReader) {
        let rewritten = reader.take_rewritten();
        self.shown.iter_mut().for_each(|shown| shown.fields_rewritten |= rewritten);
    }

    fn read_input(&mut self, reader: &mut CallReader) {
        let Some(tool) = self.row.tool.as_deref_mut() else { return };
        reader.advance(&tool.input, &mut tool.spans);
        self.heed_rewritten(reader);
        let Some(tool) = self.row.tool.as_deref_mut() else { return };
        if reader.preview_truncated() != tool.fields_truncated {
            tool.fields_truncated = reader.preview_truncated();
            self.changed.add(Changed::FIELDS_TRUNCATED);
        }
        self.row.bytes = Some(tool.input.len() as u64);
        self.changed.add(Changed::BYTES);
    }

    /// Writes what changed of the row; returns how many bytes of text that was.
    fn drain(&mut self, buffer: &mut String, sink: &mut impl RowSink) -> usize {
        let Some(mut shown) = self.shown.take() else { return 0 };
        let Slot { row, changed, .. } = self;
        let id = row.id;
        let mut work = 0;
        // A text that came and went.
        if !shown.has_text && row.text.as_deref() == Some("") {
            row.text = None;
        }
        let mut append = |field, keep, text: &str| {
            work += text.len();
            sink.op(RowOp::Append { id, field, keep, text });
        };
        if let Some((keep, text)) = row.text.as_deref().and_then(|text| shown.text.news(text)) {
            append(AppendField::Text, keep, text);
        }
        let mut news = FieldNews::default();
        if let Some(tool) = row.tool.as_deref() {
            let input = shown.input.news(&tool.input);
            if let Some((keep, text)) = input {
                append(AppendField::Input, keep, text);
            }
            // What was replaced by itself has the same fields; those of tags depend on what came before as well.
            let last = tool.spans.last().map_or((0, false), |span| (span.shown_end, !span.closed));
            let stands = (tool.spans.len(), last) == (shown.fields, (shown.field_end, shown.field_open));
            shown.fields_rewritten &= input.is_some() || !stands || shown.regrown.is_some() || tool.tagged;
            match &tool.output {
                Some(output) if shown.has_output => {
                    changed.take_out(Changed::OUTPUT);
                    if let Some((keep, text)) = shown.output.news(output) {
                        append(AppendField::Output, keep, text);
                    }
                }
                None if !shown.has_output => changed.take_out(Changed::OUTPUT),
                _ => {}
            }
            let rewritten = shown.fields_rewritten;
            let regrown = shown.regrown.take().filter(|_| !rewritten);
            if rewritten && shown.fields > 0 {
                (shown.fields, shown.field_open) = (0, false);
                let patch = Patch { row, changed: Changed::NONE, fields: news, clear_fields: true };
                sink.op(RowOp::Update { id, patch });
            }
            if let Some((index, from, span)) = regrown.and_then(|(at, from)| Some((at, from, tool.spans.get(at)?))) {
                let set_closed = |sink: &mut dyn FnMut(RowOp<'_>), closed: bool| {
                    let at = |is| Some(index).filter(|_| is);
                    let fields = FieldNews { closed: at(closed), opened: at(!closed), from: usize::MAX };
                    sink(RowOp::Update {
                        id,
                        patch: Patch { row, changed: Changed::FIELDS, fields, clear_fields: false },
                    });
                };
                if span.shown_end > from || !span.closed {
                    set_closed(&mut |op| sink.op(op), false);
                    buffer.clear();
                    span.decode_from(&tool.input, from, buffer);
                    work += buffer.len();
                    let field = AppendField::Field(index as u32);
                    if !buffer.is_empty() {
                        sink.op(RowOp::Append { id, field, keep: None, text: buffer });
                    }
                    if span.closed {
                        set_closed(&mut |op| sink.op(op), true);
                    }
                }
                if index + 1 == shown.fields {
                    (shown.field_end, shown.field_open) = (span.shown_end, !span.closed);
                }
            }
            news = shown.field_news(tool, buffer, |index, text| {
                work += text.len();
                sink.op(RowOp::Append { id, field: AppendField::Field(index), keep: None, text });
            });
            if news.closed.is_some() || news.from < tool.spans.len() {
                changed.add(Changed::FIELDS);
            }
        }
        let tool = row.tool.as_deref();
        let is_error = tool.and_then(|tool| tool.is_error);
        let input_done = tool.is_some_and(|tool| tool.input_done);
        for (property, same) in [
            (Changed::STATE, shown.state == row.state),
            (Changed::BUSY, shown.busy == row.busy),
            (Changed::TRUNCATED, shown.truncated == row.truncated),
            (Changed::BYTES, shown.bytes == row.bytes),
            (Changed::QUIET_SINCE, shown.quiet_since == row.quiet_since),
            (Changed::ENDED_AT, shown.ended_at == row.ended_at),
            (Changed::IS_ERROR, shown.is_error == is_error),
            (Changed::INPUT_DONE, shown.input_done == input_done),
            (Changed::KEY, shown.key == row.key),
            (Changed::CALL_ID, tool.is_some_and(|tool| tool.call_id == shown.call_id)),
            (Changed::NAME, tool.is_some_and(|tool| *tool.name == *shown.name)),
        ] {
            if same {
                changed.take_out(property);
            }
        }
        changed.take_out(Changed::FACTS);
        changed.add(row.facts.take_news());
        if !changed.is_none() {
            let patch = Patch { row, changed: *changed, fields: news, clear_fields: false };
            sink.op(RowOp::Update { id, patch });
            *changed = Changed::NONE;
            row.facts.settle();
        }
        work
    }
}

impl Shown {
    /// What is new of the fields: the last field shown may have grown and closed, those after it are new.
    fn field_news(&self, tool: &Tool, buffer: &mut String, mut append: impl FnMut(u32, &str)) -> FieldNews {
        let mut news = FieldNews { closed: None, opened: None, from: self.fields };
        let last_shown = self.fields.checked_sub(1).filter(|_| self.field_open);
        if let Some((index, span)) = last_shown.and_then(|index| Some((index, tool.spans.get(index)?))) {
            if span.shown_end > self.field_end {
                buffer.clear();
                span.decode_from(&tool.input, self.field_end, buffer);
                append(index as u32, buffer);
            }
            news.closed = span.closed.then_some(index);
        }
        news
    }
}

/// Appends as much of `text` as the cap leaves room for; true if that was all.
fn append(to: &mut String, text: &str, max: usize) -> bool {
    let room = max.saturating_sub(to.len());
    let fits = if text.len() <= room {
        text.len()
    } else {
        (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
    };
    to.push_str(text.get(..fits).unwrap_or_default());
    fits == text.len()
}
