//! A chat that was saved: its rows and panels as JSON, and a chat made of them again. What was under way when it was
//! saved is interrupted; a row that its wire names is found again by its key. What is read is not trusted: the
//! arguments of a call are judged anew, and a row that is none is an error.

use std::fmt;

use crate::json::{ArgsReader, JsonStr, JsonWriter, Raw, Tape, Value};
use crate::limits::Limits;
use crate::present::panels::Panels;
use crate::present::rows::{Rows, empty_row};
use crate::row::{
    ErrorInfo, Image, Message, PanelName, Row, RowId, RowKind, RowState, Source, Tool, Word, write_values,
};

/// The version of the form.
const VERSION: u64 = 1;
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
    let mut tape = Tape::with_caps(limits.nesting, usize::MAX);
    let record = tape.read(saved).map_err(|_| wrong("it is not JSON"))?;
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
                panels.set(*name, value_name, raw(value));
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
    row.message = read_message(saved.get("message"));
    row.bytes = saved.get("bytes").get("count").u64();
    row.error = saved.get("error").is_object().then(|| read_error(saved.get("error")));
    let json = |name: &str| Some(saved.get(name)).filter(|value| value.is_object() || value.is_array()).map(raw);
    row.question = json("question");
    row.permission = json("permission");
    row.files = json("files");
    row.images = saved.get("images").items().filter_map(|image| Some(Image { url: text(image.get("url"))? })).collect();
    let source = |source: Value<'_>| Some(Source { url: text(source.get("url"))?, title: text(source.get("title")) });
    row.sources = saved.get("sources").items().filter_map(source).take(limits.sources).collect();
    row.truncated = saved.get("truncated").bool() == Some(true);
    row.started_at = saved.get("startedAt").u64();
    row.ended_at = saved.get("endedAt").u64();
    row.meta = saved.get("meta").members().filter_map(|(name, value)| Some((short(name)?, raw(value)))).collect();
    if saved.get("tool").is_object() {
        row.tool = Some(Box::new(read_tool(saved.get("tool"), limits)));
    }
    if row.tool.as_ref().is_some_and(|tool| !tool.input_done) && row.state == RowState::Pending {
        row.state = RowState::Interrupted;
    }
    Ok(Some(row))
}

fn read_tool(saved: Value<'_>, limits: &Limits) -> Tool {
    let json = |name: &str| Some(saved.get(name)).filter(|value| value.is_array()).map(raw);
    let mut tool = Tool {
        name: text(saved.get("name")).unwrap_or_default(),
        call_id: text(saved.get("callId")).map(Box::from),
        title: text(saved.get("title")),
        input: text(saved.get("input")).unwrap_or_default(),
        output: text(saved.get("output")),
        is_error: saved.get("isError").bool(),
        kind: text(saved.get("kind")).map(Box::from),
        content: json("content"),
        locations: json("locations"),
        ..Tool::default()
    };
    let mut reader = ArgsReader::new(limits);
    reader.advance(&tool.input, &mut tool.spans);
    let well_formed = reader.finish(&tool.input, &mut tool.spans);
    tool.fields_truncated = reader.preview_truncated();
    tool.input_done = well_formed && saved.get("inputDone").bool() == Some(true);
    tool
}

fn read_message(saved: Value<'_>) -> Option<Message> {
    let params = saved.get("params").members();
    let params = params.filter_map(|(name, value)| Some((short(name)?, text(value)?))).collect();
    Some(Message { key: short(saved.get("key").str()?)?, params })
}

fn read_error(saved: Value<'_>) -> Box<ErrorInfo> {
    let message = text(saved.get("message")).unwrap_or_default();
    ErrorInfo::boxed(&message, text(saved.get("code")).as_deref(), saved.get("retryable").bool())
}

fn text(value: Value<'_>) -> Option<String> {
    value.str().map(|text| text.text().into_owned())
}

fn short(name: JsonStr<'_>) -> Option<Word> {
    let name = name.text().into_owned();
    (name.len() <= NAME_BYTES).then_some(Word::Owned(name))
}

fn raw(value: Value<'_>) -> Raw {
    Raw::written(|json| json.raw(value.raw()))
}

/// Rows of an earlier life that their wire names, until it names them again.
#[derive(Debug, Default)]
pub(crate) struct Unclaimed {
    /// In the order of their keys.
    rows: Vec<(Box<str>, RowId)>,
}

impl Unclaimed {
    pub fn of(rows: &Rows) -> Self {
        let mut keyed: Vec<(Box<str>, RowId)> = Vec::new();
        for row in rows.iter() {
            let Some(key) = &row.key else { continue };
            let place = keyed.partition_point(|(known, _)| known <= key);
            keyed.insert(place, (key.clone(), row.id));
        }
        Unclaimed { rows: keyed }
    }

    /// The row of this key and kind, given out once.
    pub fn claim(&mut self, key: &str, kind: RowKind, rows: &Rows) -> Option<RowId> {
        let place = self.rows.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        let id = self.rows[place].1;
        if rows.get(id).is_none_or(|row| row.kind != kind) {
            return None;
        }
        self.rows.remove(place);
        Some(id)
    }
}

impl Rows {
    /// Takes a row that was saved.
    fn adopt(&mut self, row: Row) -> Result<(), &'static str> {
        if self.len() >= self.limits().rows {
            return Err("it is one more than the cap on rows");
        }
        self.place(row).ok_or("its id is another row's, or beyond all that can be")
    }
}
