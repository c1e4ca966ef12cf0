//! A chat that was saved: its rows and panels as JSON, and a chat made of them again. What was under way when it was
//! saved is interrupted; a row that its wire names is found again by its key. What is read is not trusted: the
//! arguments of a call are judged anew, and a row that is none is an error.

use std::collections::BinaryHeap;
use std::fmt;

use crate::json::{JsonStr, JsonWriter, Raw, ReadErrorKind, Tape, Value};
use crate::limits::Limits;
use crate::present::call_reader::CallReader;
use crate::present::panels::Panels;
use crate::present::rows::{Rows, empty_row};
use crate::row::{Fact, PanelName, Row, RowId, RowKind, RowState, Tool, Word, write_values};
use crate::text::Grammar;

/// The version of the form.
const VERSION: u64 = 1;
/// How deep the form itself is, with room for the next version.
const NESTING: usize = 8;
/// Names of interface text, of its gaps and of facts are short.
const NAME_BYTES: usize = 64;

/// Why a chat could not be made of what was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreError {
    reason: &'static str,
    row: Option<usize>,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no snapshot of a chat: ")?;
        f.write_str(self.reason)?;
        match self.row {
            Some(row) => write!(f, ", in row {row} of it"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RestoreError {}

/// Writes a chat.
pub(crate) fn write(rows: &Rows, panels: &Panels, json: &mut JsonWriter) {
    json.object(|json| {
        json.key("chatrows").number(VERSION);
        json.key("ids").number(rows.ids() as u64);
        json.key("rows").array(|json| rows.iter().for_each(|row| row.write_json(json)));
        json.key("panels").object(|json| {
            for name in PanelName::ALL.iter().filter(|name| **name != PanelName::Activity) {
                let values = panels.get(*name).values();
                if !values.is_empty() {
                    write_values(values, json.key(name.name()));
                }
            }
        });
    });
}

/// Reads a chat.
pub(crate) fn read(saved: &str, limits: &Limits) -> Result<(Rows, Panels), RestoreError> {
    let wrong = |reason| RestoreError { reason, row: None };
    // What rows hold may be as deep as the cap allows, inside the rows.
    let mut tape = Tape::with_caps(limits.nesting.saturating_add(NESTING), usize::MAX);
    let record = tape.read(saved).map_err(|error| match error.kind {
        ReadErrorKind::Nesting => wrong("it nests deeper than the cap on nesting allows"),
        _ => wrong("it is not JSON"),
    })?;
    let saved = record.root();
    if saved.get("chatrows").u64() != Some(VERSION) {
        return Err(wrong("its version is another"));
    }
    let (mut rows, mut panels) = (Rows::new(limits), Panels::default());
    for (place, row) in saved.get("rows").items().enumerate() {
        let row = read_row(row, limits).and_then(|row| match row {
            Some(row) => rows.adopt(row),
            None => Ok(()),
        });
        row.map_err(|reason| RestoreError { reason, row: Some(place) })?;
    }
    rows.keep_ids(saved.get("ids").u64().unwrap_or_default());
    for name in PanelName::ALL {
        for (value_name, value) in saved.get("panels").get(name.name()).members() {
            if let Some(value_name) = short(value_name) {
                panels.set(*name, value_name, Raw::of(value));
            }
        }
    }
    Ok((rows, panels))
}

fn read_row(saved: Value<'_>, limits: &Limits) -> Result<Option<Row>, &'static str> {
    let id = saved.get("id").u64().and_then(|id| RowId::new(u32::try_from(id).ok()?)).ok_or("it has no id")?;
    let name = text(saved.get("kind")).unwrap_or_default();
    let kind = RowKind::ALL.iter().find(|kind| kind.name() == name).ok_or("its kind is unknown")?;
    let name = text(saved.get("state")).unwrap_or_default();
    let state = RowState::ALL.iter().find(|state| state.name() == name).ok_or("its state is unknown")?;
    if *kind == RowKind::ToolPreparing {
        return Ok(None);
    }
    let state = if state.is_at_rest() { *state } else { RowState::Interrupted };
    let mut row = empty_row(id, *kind, state);
    row.key = text(saved.get("key")).map(Box::from);
    row.parent = saved.get("parent").u64().and_then(|id| RowId::new(u32::try_from(id).ok()?));
    row.text = text(saved.get("text"));
    row.bytes = saved.get("bytes").get("count").u64();
    for fact in Fact::ALL {
        let value = if fact.is_of_tool() { saved.get("tool") } else { saved }.get(fact.name());
        if fits(*fact, value, limits) {
            row.facts.set(*fact, Some(Raw::of(value)));
        }
    }
    row.truncated = saved.get("truncated").bool() == Some(true);
    row.started_at = saved.get("startedAt").u64();
    row.ended_at = saved.get("endedAt").u64();
    if saved.get("tool").is_object() {
        row.tool = Some(Box::new(read_tool(saved.get("tool"), limits)));
    }
    // The other side was at work on it.
    if row.state == RowState::Pending && saved.get("busy").bool() == Some(true) {
        row.state = RowState::Interrupted;
    }
    // What was cut may parse by chance; output is cut apart from it.
    let (cut, asked) = (row.truncated, row.facts.raw(Fact::Permission).is_some());
    if let Some(tool) = row.tool.as_deref_mut().filter(|_| row.state == RowState::Pending) {
        tool.input_done &= !cut || tool.output.is_some();
        if !tool.input_done && !asked {
            row.state = RowState::Interrupted;
        }
    }
    Ok(Some(row))
}

fn read_tool(saved: Value<'_>, limits: &Limits) -> Tool {
    let mut tool = Tool {
        name: text(saved.get("name")).unwrap_or_default(),
        call_id: text(saved.get("callId")).map(Box::from),
        input: text(saved.get("input")).unwrap_or_default(),
        output: text(saved.get("output")),
        is_error: saved.get("isError").bool(),
        tagged: saved.get("tagged").bool() == Some(true),
        ..Tool::default()
    };
    let mut reader = match tool.tagged {
        true => CallReader::tagged(&Grammar::default(), &tool.name),
        false => CallReader::json(limits),
    };
    reader.advance(&tool.input, &mut tool.spans);
    let done = saved.get("inputDone").bool() == Some(true);
    if let CallReader::Tagged(call) = &mut reader {
        call.closed = done;
    }
    let read = tool.spans.len();
    let well_formed = reader.finish(&tool.input, &mut tool.spans);
    if !done {
        // A number that a cap cut has no end, and was not shown.
        tool.spans.truncate(read.max(saved.get("fields").items().count()));
    }
    tool.fields_truncated = reader.preview_truncated();
    tool.input_done = well_formed && done;
    tool
}

/// Whether the value is of the shape that readers of rows count on.
fn fits(fact: Fact, value: Value<'_>, limits: &Limits) -> bool {
    match fact {
        Fact::Message => value.get("key").str().is_some(),
        Fact::Error => value.get("message").str().is_some(),
        Fact::Question | Fact::Permission | Fact::Meta => value.is_object(),
        Fact::Title | Fact::Work => value.str().is_some(),
        Fact::Sources if value.items().count() > limits.sources => false,
        Fact::Images | Fact::Sources => value.is_array() && value.items().all(|item| item.get("url").str().is_some()),
        Fact::Files | Fact::Content | Fact::Locations => value.is_array() && value.items().all(|item| item.is_object()),
    }
}

fn text(value: Value<'_>) -> Option<String> {
    value.str().map(|text| text.text().into_owned())
}

fn short(name: JsonStr<'_>) -> Option<Word> {
    let name = name.text().into_owned();
    (name.len() <= NAME_BYTES).then_some(Word::Owned(name))
}

/// What stands for the time of a key that names none: after all times.
const NO_TIME: u64 = u64::MAX;

/// Rows of an earlier stream or life whose keys hold beyond it, until their wire names them again.
#[derive(Debug, Default)]
pub(crate) struct Unclaimed {
    /// In the order of their times, then of their keys. What was given out leaves its place empty.
    rows: Vec<(u64, Box<str>, Option<RowId>)>,
    left: usize,
}

impl Unclaimed {
    /// The rows that have a key; those whose keys begin with a time stand first.
    pub fn of(rows: &Rows) -> Self {
        let time = |key: &str| key.split(':').next().and_then(|time| time.parse().ok()).unwrap_or(NO_TIME);
        let timed = rows.iter().filter_map(|row| Some((time(row.key.as_deref()?), row.key.clone()?, Some(row.id))));
        let rows = timed.collect::<BinaryHeap<_>>().into_sorted_vec();
        Unclaimed { left: rows.len(), rows }
    }

    /// A stream ended: another one may tell of its row.
    pub fn put(&mut self, time: u64, key: &str, row: RowId) {
        match self.find(time, key) {
            Ok(place) => {
                self.left += usize::from(self.rows[place].2.is_none());
                self.rows[place].2 = Some(row);
            }
            Err(place) => {
                self.left += 1;
                self.rows.insert(place, (time, key.into(), Some(row)));
            }
        }
    }

    #[inline(never)]
    fn find(&self, time: u64, key: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|known| (known.0, &*known.1).cmp(&(time, key)))
    }

    /// The row of this key, given out once; none if it is no more.
    pub fn claim(&mut self, time: Option<u64>, key: &str, rows: &Rows) -> Option<RowId> {
        let place = self.find(time.unwrap_or(NO_TIME), key).ok()?;
        let row = self.rows[place].2.take()?;
        self.left -= 1;
        if self.left == 0 {
            self.rows = Vec::new();
        }
        rows.get(row).map(|row| row.id)
    }

    /// The first row after this key, with its time.
    pub fn next(&self, time: u64, key: &str, rows: &Rows) -> Option<(u64, RowId)> {
        let place = self.find(time, key).unwrap_or_else(|place| place);
        let next = self.rows.get(place..)?.iter().find_map(|(time, _, row)| Some((*time, rows.get((*row)?)?.id)));
        next.filter(|(time, _)| *time < NO_TIME)
    }
}

impl Rows {
    /// Takes a row that was saved.
    fn adopt(&mut self, row: Row) -> Result<(), &'static str> {
        // The notices about the caps stand beyond them, once each.
        if !self.adopt_notice(&row) && self.counted() >= self.limits().rows {
            return Err("it is one more than the cap on rows");
        }
        self.place(row).ok_or("its id is another row's, or beyond all that can be")
    }
}
