//! What is shown once beside the rows.

use crate::json::{JsonWriter, Raw};
use crate::op::{RowOp, RowSink};
use crate::row::{Panel, PanelName, write_values};

/// All panels.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    panels: [Panel; PanelName::ALL.len()],
    /// What changed since the last drain.
    changed: Vec<(PanelName, &'static str)>,
}

impl Panels {
    pub fn get(&self, name: PanelName) -> &Panel {
        &self.panels[name as usize]
    }

    /// Sets a value. True if it was another one before.
    pub fn set(&mut self, name: PanelName, value_name: &'static str, value: Raw) -> bool {
        let changed = self.panels[name as usize].set(value_name, value);
        if changed && !self.changed.contains(&(name, value_name)) {
            self.changed.push((name, value_name));
        }
        changed
    }

    pub fn is_pending(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Forgets everything; a reset op says so to listeners.
    pub fn clear(&mut self) {
        *self = Panels::default();
    }

    /// Writes what changed since the last drain.
    pub fn drain(&mut self, sink: &mut impl RowSink) {
        let changed = std::mem::take(&mut self.changed);
        for name in PanelName::ALL {
            let values: Vec<_> = self
                .get(*name)
                .values()
                .iter()
                .filter(|(value, _)| changed.contains(&(*name, value)))
                .cloned()
                .collect();
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
