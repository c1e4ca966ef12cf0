//! The classes `AgentSession` and `AgentState`.

use js_sys::{Array, Function, Uint8Array};
use wasm_bindgen::prelude::*;

use super::pump::fault_array;
use super::{Inlet, call, error, json_of, object_json, optional_string, parse, string_property, type_error};
use crate::json::{JsonWriter, ReadErrorKind};
use crate::{AgentState, AgentStateChange, ForkHeader, Limits, Node, Session};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("session.ts");

/// A session file as a tree. See `session.ts` for what each method does.
#[wasm_bindgen(js_name = AgentSession, skip_typescript)]
pub struct JsAgentSession(Session);

#[wasm_bindgen(js_class = AgentSession)]
impl JsAgentSession {
    #[wasm_bindgen(js_name = import, skip_typescript)]
    pub fn import(file: &JsValue) -> Result<JsAgentSession, JsValue> {
        let (mut inlet, mut bytes) = (Inlet::new(), Vec::new());
        inlet.data(file, |piece| bytes.extend_from_slice(piece))?;
        let session = Session::import(&bytes, &Limits::default());
        session.map(JsAgentSession).map_err(|wrong| error(&wrong.to_string()))
    }

    #[wasm_bindgen(js_name = export, skip_typescript)]
    pub fn export(&self) -> Uint8Array {
        Uint8Array::from(&*self.0.export())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn header(&self) -> Result<JsValue, JsValue> {
        let header = self.0.header();
        parse(&object_json(|json| {
            json.key("version").number(header.version);
            for (name, value) in [("id", &header.id), ("timestamp", &header.timestamp), ("cwd", &header.cwd)] {
                json.key(name).string(value);
            }
            if let Some(parent) = &header.parent_session {
                json.key("parentSession").string(parent);
            }
        }))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn name(&self) -> Option<String> {
        self.0.name()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn entries(&self) -> Result<JsValue, JsValue> {
        array(|json| self.0.entries().for_each(|entry| json.raw(entry.json)))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn labels(&self) -> Result<JsValue, JsValue> {
        parse(&object_json(|json| {
            for (node, label) in self.0.labels() {
                json.key(&quoted(&self.id(node))).string(&label);
            }
        }))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn branches(&self) -> Result<JsValue, JsValue> {
        array(|json| {
            for branch in self.0.branches() {
                json.object(|json| {
                    json.key("leaf").string(&self.id(branch.leaf));
                    match branch.fork {
                        Some(fork) => json.key("fork").string(&self.id(fork)),
                        None => json.key("fork").null(),
                    }
                });
            }
        })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn branch(&self, leaf: &JsValue) -> Result<JsValue, JsValue> {
        let leaf = self.leaf_of(leaf)?;
        array(|json| self.0.branch(leaf).into_iter().for_each(|node| json.string(&self.id(node))))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn leaf(&self) -> Option<String> {
        self.0.leaf().map(|node| self.id(node))
    }

    #[wasm_bindgen(js_name = setLeaf, skip_typescript)]
    pub fn set_leaf(&mut self, leaf: &JsValue) -> Result<(), JsValue> {
        let leaf = self.node(leaf)?;
        self.0.set_leaf(leaf);
        Ok(())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn append(&mut self, entry: &JsValue) -> Result<Option<String>, JsValue> {
        let lines = match entry.as_string() {
            Some(lines) => lines,
            None if entry.is_object() => json_of(entry).ok_or_else(wrong_entry)?,
            None => return Err(wrong_entry()),
        };
        Ok(self.0.append(&lines).map(|node| self.id(node)))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn walk(&self, from: &JsValue, to: &JsValue) -> Result<String, JsValue> {
        Ok(self.0.walk(self.node(from)?, self.node(to)?))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn context(&self, leaf: &JsValue) -> Result<JsValue, JsValue> {
        let context = self.0.context(self.leaf_of(leaf)?);
        parse(&object_json(|json| {
            json.key("messages").array(|json| context.messages.iter().for_each(|message| json.raw(message)));
            json.key("thinkingLevel").string(&context.state.thinking_level);
            match &context.state.model {
                Some([provider, id]) => json.key("model").object(|json| {
                    json.key("provider").string(provider);
                    json.key("modelId").string(id);
                }),
                None => json.key("model").null(),
            }
            match &context.state.active_tools {
                Some(tools) => json.key("activeTools").array(|json| tools.iter().for_each(|tool| json.string(tool))),
                None => json.key("activeTools").null(),
            }
        }))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn fork(&self, leaf: &JsValue, header: &JsValue) -> Result<JsAgentSession, JsValue> {
        let text = |name: &str| {
            string_property(header, name)?.ok_or_else(|| type_error("a fork takes { id, timestamp, parentSession }"))
        };
        let (id, timestamp, parent_session) = (text("id")?, text("timestamp")?, text("parentSession")?);
        let header = ForkHeader { id: &id, timestamp: &timestamp, parent_session: &parent_session };
        Ok(JsAgentSession(self.0.fork(self.leaf_of(leaf)?, header)))
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn faults(&self) -> Array {
        fault_array(self.0.faults())
    }

    fn id(&self, node: Node) -> String {
        self.0.entry(node).map(|entry| entry.id.into_owned()).unwrap_or_default()
    }

    /// The node of this id; null is none.
    fn node(&self, id: &JsValue) -> Result<Option<Node>, JsValue> {
        let Some(id) = optional_string(id, "the id of an entry")? else { return Ok(None) };
        self.0.node(&id).map(Some).ok_or_else(|| error(&["the session has no entry ", &id].concat()))
    }

    /// The same; left out, it is the leaf.
    fn leaf_of(&self, id: &JsValue) -> Result<Option<Node>, JsValue> {
        if id.is_undefined() { Ok(self.0.leaf()) } else { self.node(id) }
    }
}

/// The state of an agent. See `session.ts` for what each method does.
#[wasm_bindgen(js_name = AgentState, skip_typescript)]
#[derive(Default)]
pub struct JsAgentState {
    state: AgentState,
    listeners: Vec<Function>,
}

#[wasm_bindgen(js_class = AgentState)]
impl JsAgentState {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new() -> JsAgentState {
        JsAgentState::default()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn push(&mut self, event: &JsValue) -> Result<JsValue, JsValue> {
        let json = match event.as_string() {
            Some(line) => line,
            None if event.is_object() => json_of(event).ok_or_else(wrong_entry)?,
            None => return Err(type_error("push takes one event, as an object or as its line")),
        };
        let change = self.state.push(&json).map_err(|wrong| {
            let kind = if wrong.kind == ReadErrorKind::Eof { "the line ends inside it" } else { "it is no JSON" };
            error(&["this is not one event: ", kind].concat())
        })?;
        self.tell(change)
    }

    #[wasm_bindgen(js_name = finishRun, skip_typescript)]
    pub fn finish_run(&mut self) -> Result<JsValue, JsValue> {
        let change = self.state.finish_run();
        self.tell(change)
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn snapshot(&self) -> Result<JsValue, JsValue> {
        parse(&self.state.to_json())
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn subscribe(&mut self, listener: Function) {
        self.listeners.push(listener);
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn unsubscribe(&mut self, listener: &Function) {
        self.listeners.retain(|known| !js_sys::Object::is(known, listener));
    }

    /// Tells the listeners what has changed, if anything has.
    fn tell(&mut self, change: AgentStateChange) -> Result<JsValue, JsValue> {
        if !change.any() {
            return Ok(JsValue::UNDEFINED);
        }
        let told = parse(&self.state.change_json(change))?;
        for listener in self.listeners.clone() {
            call(&listener, &Array::of1(&told));
        }
        Ok(told)
    }
}

fn wrong_entry() -> JsValue {
    type_error("an entry or event is an object, or its JSON text")
}

fn array(write: impl FnOnce(&mut JsonWriter)) -> Result<JsValue, JsValue> {
    let mut json = JsonWriter::default();
    json.array(write);
    parse(&json.into_string())
}

/// What stands between the quotes of a string: a key of the wire's as a member's name.
fn quoted(text: &str) -> String {
    let mut json = JsonWriter::default();
    json.string(text);
    let quoted = json.into_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}
