//! What is shown once beside the rows.

use crate::json::{JsonWriter, Raw};
use crate::op::{RowOp, RowSink};
use crate::row::{Panel, PanelName, Word, write_values};

/// All panels.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    panels: [Panel; PanelName::ALL.len()],
    /// What listeners know.
    shown: [Panel; PanelName::ALL.len()],
    pending: bool,
}

impl Panels {
    pub fn get(&self, name: PanelName) -> &Panel {
        &self.panels[name as usize]
    }

    /// Sets a value. True if it was another one before.
    pub fn set(&mut self, name: PanelName, value_name: impl Into<Word>, value: Raw) -> bool {
        let changed = self.panels[name as usize].set(value_name.into(), value);
        self.pending |= changed;
        changed
    }

    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Forgets everything; a reset op says so to listeners.
    pub fn clear(&mut self) {
        *self = Panels::default();
    }

    /// Writes what changed since the last drain.
    pub fn drain(&mut self, sink: &mut impl RowSink) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        for ((panel, shown), name) in self.panels.iter().zip(&mut self.shown).zip(PanelName::ALL) {
            let gone = shown.values().iter().filter(|(name, _)| panel.get(name).is_none());
            let gone = gone.map(|(name, _)| (name.clone(), Raw::null()));
            let new = panel.values().iter().filter(|(name, value)| shown.get(name) != Some(value.as_str()));
            let values: Vec<_> = new.cloned().chain(gone).collect();
            shown.clone_from(panel);
            if !values.is_empty() {
                sink.op(RowOp::Panel { name: *name, values: &values });
            }
        }
    }

    /// Writes all panels: what a new listener needs.
    pub fn write_all(&self, sink: &mut impl RowSink) {
        for name in PanelName::ALL {
            let values = self.get(*name).values();
            if !values.is_empty() {
                sink.op(RowOp::Panel { name: *name, values });
            }
        }
    }

    /// Writes all panels as one JSON object.
    pub fn write_json(&self, json: &mut JsonWriter) {
        json.object(|json| {
            for name in PanelName::ALL {
                let values = self.get(*name).values();
                if !values.is_empty() {
                    write_values(values, json.key(name.name()));
                }
            }
        });
    }
}
