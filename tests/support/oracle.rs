//! The list that a page holds: ops as JSON go in, each applied by the rules of `src/wasm/types.ts` and by nothing
//! else. An op that the rules do not allow, or that changes nothing, is an error.

use std::collections::{BTreeMap, BTreeSet};

use chatrows::PanelName;
use serde_json::{Map, Value, json};

/// Rows and panels as the ops have left them.
#[derive(Debug, Default)]
pub struct Oracle {
    order: Vec<u64>,
    rows: BTreeMap<u64, Value>,
    panels: Map<String, Value>,
    /// Every id that ever was.
    seen: BTreeSet<u64>,
}

impl Oracle {
    /// All rows, in their order.
    pub fn rows(&self) -> Value {
        self.order.iter().map(|id| self.rows[id].clone()).collect()
    }

    /// All panels.
    pub fn panels(&self) -> Value {
        Value::Object(self.panels.clone())
    }

    /// Applies one op.
    pub fn apply(&mut self, op: &Value) -> Result<(), String> {
        self.change(op).map_err(|wrong| format!("{wrong}: {op}"))
    }

    fn change(&mut self, op: &Value) -> Result<(), String> {
        match op["op"].as_str().unwrap_or_default() {
            "reset" => {
                self.order.clear();
                self.rows.clear();
                self.panels.clear();
            }
            "panel" => {
                let panel = self.panels.entry(text(&op["name"])?).or_insert_with(|| json!({}));
                let panel = panel.as_object_mut().ok_or("a panel is no object")?;
                for (name, value) in op["patch"].as_object().ok_or("a panel's patch is no object")? {
                    let before = match value {
                        Value::Null => panel.remove(name).map_or(Some(Value::Null), |_| None),
                        value => panel.insert(name.clone(), value.clone()),
                    };
                    if before.as_ref() == Some(value) {
                        return Err(format!("`{name}` was that before"));
                    }
                }
                if panel.is_empty() {
                    self.panels.remove(&text(&op["name"])?);
                }
            }
            "insert" => {
                let id = number(&op["id"])?;
                if !self.seen.insert(id) {
                    return Err("the id was used before".into());
                }
                if op["row"]["id"] != op["id"] {
                    return Err("the row has another id".into());
                }
                let place = match &op["before"] {
                    Value::Null => self.order.len(),
                    before => self.place(before)?,
                };
                self.order.insert(place, id);
                self.rows.insert(id, op["row"].clone());
            }
            "remove" => {
                let place = self.place(&op["id"])?;
                self.rows.remove(&self.order.remove(place));
            }
            "append" => append(self.row(&op["id"])?, op)?,
            "update" => {
                let patch = op["patch"].as_object().ok_or("a patch is no object")?;
                let row = self.row(&op["id"])?.as_object_mut().ok_or("a row is no object")?;
                if patch.is_empty() {
                    return Err("the patch is empty".into());
                }
                for (name, value) in patch {
                    match (name.as_str(), value) {
                        ("id" | "kind", _) => return Err("a row becomes another".into()),
                        ("tool", Value::Object(patch)) => patch_tool(&mut row["tool"], patch)?,
                        _ => set(row, name, value)?,
                    }
                }
            }
            _ => return Err("an unknown op".into()),
        }
        Ok(())
    }

    fn place(&self, id: &Value) -> Result<usize, String> {
        let id = number(id)?;
        self.order.iter().position(|known| *known == id).ok_or_else(|| format!("no row {id}"))
    }

    fn row(&mut self, id: &Value) -> Result<&mut Value, String> {
        let id = number(id)?;
        self.rows.get_mut(&id).ok_or_else(|| format!("no row {id}"))
    }
}

/// Sets a property, or clears it with null. An error if that changes nothing.
fn set(object: &mut Map<String, Value>, name: &str, value: &Value) -> Result<(), String> {
    let before = if value.is_null() { object.remove(name) } else { object.insert(name.to_owned(), value.clone()) };
    if before.unwrap_or_default() == *value { Err(format!("`{name}` was that before")) } else { Ok(()) }
}

fn patch_tool(tool: &mut Value, patch: &Map<String, Value>) -> Result<(), String> {
    let tool = tool.as_object_mut().ok_or("a tool patch for a row without tool")?;
    if patch.is_empty() {
        return Err("the tool patch is empty".into());
    }
    for (name, value) in patch {
        if name == "callId" && tool.get("callId").is_some_and(|id| id != value) {
            return Err("a call becomes another".into());
        }
        let ("fields", Value::Object(news)) = (name.as_str(), value) else {
            set(tool, name, value)?;
            continue;
        };
        if news.is_empty() {
            return Err("a patch of no fields".into());
        }
        let fields = tool.entry("fields").or_insert_with(|| json!([])).as_array_mut().ok_or("fields are no array")?;
        // The keys of an object come sorted as text; indices are numbers.
        let mut news: Vec<(usize, &Value)> = news
            .iter()
            .map(|(index, field)| Ok((index.parse().map_err(|_| "no index")?, field)))
            .collect::<Result<_, String>>()?;
        news.sort_by_key(|(index, _)| *index);
        for (index, news) in news {
            if index == fields.len() {
                fields.push(json!({}));
            }
            let field = fields.get_mut(index).and_then(Value::as_object_mut).ok_or("a gap in the fields")?;
            for (name, value) in news.as_object().ok_or("a field is no object")? {
                set(field, name, value)?;
            }
        }
    }
    Ok(())
}

fn append(row: &mut Value, op: &Value) -> Result<(), String> {
    let name = text(&op["field"])?;
    let field = match name.as_str() {
        "text" => &mut row["text"],
        "tool.input" => &mut row["tool"]["input"],
        "tool.output" => &mut row["tool"]["output"],
        _ => {
            let index = name.strip_prefix("tool.fields[").and_then(|rest| rest.strip_suffix("].text"));
            let index: usize = index.and_then(|index| index.parse().ok()).ok_or("an unknown field")?;
            let field = row["tool"]["fields"].get_mut(index).ok_or("no such field")?;
            if field["closed"] == true {
                return Err("the field is closed".into());
            }
            &mut field["text"]
        }
    };
    // A text that is absent is empty.
    let before = if field.is_null() { String::new() } else { text(field)? };
    let new = text(&op["text"])?;
    let after = match op.get("keep") {
        None if new.is_empty() => return Err("appends nothing".into()),
        None => before + &new,
        Some(keep) => {
            let units: Vec<u16> = before.encode_utf16().collect();
            let keep = number(keep)? as usize;
            let kept = units.get(..keep).ok_or("keeps more than there is")?;
            let kept = String::from_utf16(kept).map_err(|_| "keeps half a character")?;
            let replaced = before[kept.len()..].chars().next();
            if new.chars().next() == replaced {
                return Err("replaces a tail that begins alike".into());
            }
            kept + &new
        }
    };
    *field = Value::String(after);
    Ok(())
}

fn text(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no string"))
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is no whole number"))
}

/// Reads an op buffer as `www/rows.js` does: the ops as JSON.
pub fn decode(words: &[u32], text: &str) -> Vec<Value> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut ops = Vec::new();
    let mut offset = 0;
    let mut take = |len: u32| {
        let start = offset;
        offset += len as usize;
        String::from_utf16(&units[start..offset]).expect("the string is cut inside a character")
    };
    let parse = |json: &str| serde_json::from_str::<Value>(json).expect("rows, patches and panels are JSON");
    let mut words = words.iter().copied();
    while let Some(code) = words.next() {
        let mut next = || words.next().expect("the words end inside an op");
        ops.push(match code {
            0 => json!({"op": "reset"}),
            1 => {
                let (id, before, len) = (next(), next(), next());
                let before = if before == 0 { Value::Null } else { before.into() };
                json!({"op": "insert", "id": id, "before": before, "row": parse(&take(len))})
            }
            2 => {
                let (id, field, keep, len) = (next(), next(), next(), next());
                let field = match field {
                    0 => "text".to_owned(),
                    1 => "tool.input".to_owned(),
                    2 => "tool.output".to_owned(),
                    field => format!("tool.fields[{}].text", field - 3),
                };
                let mut op = json!({"op": "append", "id": id, "field": field, "text": take(len)});
                if keep != u32::MAX {
                    op["keep"] = keep.into();
                }
                op
            }
            3 => {
                let (id, len) = (next(), next());
                json!({"op": "update", "id": id, "patch": parse(&take(len))})
            }
            4 => json!({"op": "remove", "id": next()}),
            5 => {
                let (panel, len) = (next(), next());
                json!({"op": "panel", "name": PanelName::ALL[panel as usize].name(), "patch": parse(&take(len))})
            }
            code => panic!("no op has the code {code}"),
        });
    }
    assert_eq!(offset, units.len(), "the string has more than the ops take");
    ops
}
