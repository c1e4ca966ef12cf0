//! Sessions against a reference that reads the file anew for every question, on generated files: trees with
//! compactions of both generations, labels, edits, leaf entries, malformed lines, in one piece or grown line by line.

#![cfg(all(feature = "sessions", not(target_arch = "wasm32")))]

mod support;

use chatrows::{ForkHeader, Limits, Node, Session};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use support::cases;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}"#;

/// Lines that are no entries, and some that are strange ones.
const STRANGE: &[&str] = &[
    " ",
    "\r",
    "{oops",
    "[]",
    r#"{"type":"custom"}"#,
    r#"{"type":"custom","id":7,"parentId":null}"#,
    r#"{"type":"session","version":3}"#,
    r#"{"type":"leaf","id":"l","parentId":"e0","targetId":null}"#,
    r#"{"type":"leaf","id":"l","parentId":"e0","targetId":"gone"}"#,
    r#"{"type":"message","id":"strange","parentId":7,"message":null}"#,
    r#"{"type":"label","id":"nothing","targetId":"gone","label":"x"}"#,
];

#[derive(Debug, Clone)]
enum Line {
    Entry { kind: &'static str, id: Place, parent: Place, target: Place, word: &'static str, role: &'static str },
    Leaf(Place),
    Strange(&'static str),
}

/// Which id of the file so far.
#[derive(Debug, Clone)]
enum Place {
    /// The one that is added now, or was added last.
    Next,
    Some(Index),
    None,
    Gone,
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        12 => Just(Place::Next),
        6 => any::<Index>().prop_map(Place::Some),
        1 => Just(Place::None),
        1 => Just(Place::Gone),
    ]
}

fn anywhere() -> impl Strategy<Value = Place> {
    prop_oneof![10 => any::<Index>().prop_map(Place::Some), 1 => Just(Place::None), 1 => Just(Place::Gone)]
}

const KINDS: &[&str] = &[
    "message",
    "message",
    "message",
    "model_change",
    "thinking_level_change",
    "active_tools_change",
    "compaction",
    "compaction",
    "retained",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
    "usage",
    "context_edit",
    "context_edit",
    "hologram",
];

const ROLES: &[&str] = &["user", "user", "assistant", "assistant", "toolResult", "system", "bashExecution"];
const WORDS: &[&str] = &["", "one", "two", "a\"b\\", "\u{2028}é"];

fn line() -> impl Strategy<Value = Line> {
    let id = prop_oneof![20 => Just(Place::Next), 1 => any::<Index>().prop_map(Place::Some)];
    let entry = (select(KINDS), id, place(), anywhere(), select(WORDS), select(ROLES));
    let words =
        entry.prop_map(|(kind, id, parent, target, word, role)| Line::Entry { kind, id, parent, target, word, role });
    prop_oneof![
        16 => words,
        1 => anywhere().prop_map(Line::Leaf),
        2 => select(STRANGE).prop_map(Line::Strange),
    ]
}

/// The lines as text; ids are `e` and a number.
fn written(lines: &[Line]) -> Vec<String> {
    let (mut written, mut count) = (Vec::new(), 0usize);
    for (number, line) in lines.iter().enumerate() {
        let known = |place: &Place, next: Option<usize>| match place {
            Place::Next => next.map_or(Value::Null, |number| json!(format!("e{number}"))),
            Place::Some(index) if count > 0 => json!(format!("e{}", index.index(count))),
            Place::Some(_) | Place::None => Value::Null,
            Place::Gone => json!("gone"),
        };
        let text = match line {
            Line::Strange(text) => (*text).to_owned(),
            Line::Leaf(target) => json!({"type": "leaf", "id": "l", "targetId": known(target, None)}).to_string(),
            Line::Entry { kind, id, parent, target, word, role } => {
                let id = match id {
                    Place::Some(index) if count > 0 => format!("e{}", index.index(count)),
                    _ => format!("e{count}"),
                };
                let (parent, target) = (known(parent, count.checked_sub(1)), known(target, None));
                let mut entry = members(kind, word, role, number, &target);
                entry["id"] = json!(id);
                entry["parentId"] = parent;
                entry["timestamp"] = json!(format!("2026-11-30T19:15:45.{:03}Z", number));
                count += usize::from(id == format!("e{count}"));
                entry.to_string()
            }
        };
        written.push(text);
    }
    written
}

fn members(kind: &str, word: &str, role: &str, number: usize, target: &Value) -> Value {
    let odd = number % 2 == 1;
    match kind {
        "message" => {
            let content = if number.is_multiple_of(5) { Value::Null } else { json!([{"type": "text", "text": word}]) };
            let mut message = json!({"role": role, "content": content, "n": number});
            if role == "assistant" && odd {
                message["provider"] = json!("p");
                message["model"] = json!(word);
            }
            json!({"type": kind, "message": message})
        }
        "model_change" => json!({"type": kind, "provider": word, "modelId": format!("m{number}")}),
        "thinking_level_change" => json!({"type": kind, "thinkingLevel": word}),
        "active_tools_change" => json!({"type": kind, "activeToolNames": [word]}),
        "compaction" if odd => {
            let mut entry = members(kind, word, role, number - 1, target);
            entry["systemMessage"] = json!({"role": "system", "content": word});
            entry
        }
        "compaction" => json!({"type": kind, "summary": word, "tokensBefore": number, "firstKeptEntryId": target}),
        "retained" => {
            let tail = [json!({"role": "user", "content": word}), json!({"role": "assistant", "content": null})];
            let mut entry = members("compaction", word, role, number, target);
            entry["retainedTail"] = json!(tail);
            entry
        }
        "branch_summary" => json!({"type": kind, "fromId": target, "summary": word}),
        "custom" => json!({"type": kind, "customType": word, "data": number}),
        "custom_message" => json!({"type": kind, "customType": "c", "content": word, "display": odd}),
        "label" if number.is_multiple_of(3) => json!({"type": kind, "targetId": target}),
        "label" => json!({"type": kind, "targetId": target, "label": word}),
        "session_info" => json!({"type": kind, "name": word}),
        "context_edit" => {
            let replacement =
                [json!(null), json!({"content": word}), json!({"content": [{"type": "text", "text": word}]})];
            json!({"type": kind, "targetId": target, "replacement": replacement[number % 3]})
        }
        _ => json!({"type": kind, "usage": {}}),
    }
}

/// The reference: a list of the entries that are nodes.
#[derive(Default)]
struct Reference {
    nodes: Vec<Value>,
    leaf: Option<usize>,
}

impl Reference {
    fn of(file: &str) -> Reference {
        let mut reference = Reference::default();
        for line in file.split('\n') {
            let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
            let last = reference.nodes.len().checked_sub(1);
            match entry["type"].as_str() {
                Some("session") | None => {}
                Some("leaf") => match reference.find(&entry["targetId"]) {
                    None if !entry["targetId"].is_null() => reference.leaf = last,
                    target => reference.leaf = target,
                },
                Some(_) if entry["id"].is_string() && reference.find(&entry["id"]).is_none() => {
                    reference.leaf = Some(reference.nodes.len());
                    reference.nodes.push(entry);
                }
                Some(_) => {}
            }
        }
        reference
    }

    fn find(&self, id: &Value) -> Option<usize> {
        self.nodes.iter().position(|node| node["id"] == *id)
    }

    fn path(&self, leaf: Option<usize>) -> Vec<usize> {
        let (mut path, mut at) = (Vec::new(), leaf);
        while let Some(node) = at {
            path.insert(0, node);
            at = self.find(&self.nodes[node]["parentId"]).filter(|parent| *parent < node);
        }
        path
    }

    fn context(&self, leaf: Option<usize>) -> Value {
        let path = self.path(leaf);
        let entries: Vec<&Value> = path.iter().map(|node| &self.nodes[*node]).collect();
        let is_compaction = |entry: &Value| entry["type"] == "compaction";
        let has_tail = |entry: &Value| is_compaction(entry) && entry["retainedTail"].is_array();
        let walked = &entries[entries.iter().rposition(|entry| has_tail(entry)).unwrap_or(0)..];
        let selected: Vec<&Value> = match walked.iter().rposition(|entry| is_compaction(entry)) {
            None => walked.to_vec(),
            Some(at) => {
                let is_first = |entry: &&Value| entry["id"] == walked[at]["firstKeptEntryId"];
                let first = walked[..at].iter().position(is_first).unwrap_or(at);
                let kept = walked[first..at].iter().filter(|entry| entry["message"]["role"] != "system");
                [walked[at]].iter().chain(kept).chain(&walked[at + 1..]).copied().collect()
            }
        };
        let mut messages = Vec::new();
        for (place, entry) in selected.iter().enumerate() {
            let mut edits = selected.iter().filter(|edit| edit["type"] == "context_edit");
            let edit = edits.rfind(|edit| edit["targetId"] == entry["id"]).map(|edit| &edit["replacement"]);
            if edit.is_none_or(|edit| !edit.is_null()) {
                messages.extend(projected(entry, edit, place == 0));
            }
        }
        json!(messages)
    }

    fn state(&self, leaf: Option<usize>) -> Value {
        let mut state = json!({"thinkingLevel": "off", "model": null, "activeToolNames": null});
        for node in self.path(leaf) {
            let (entry, message) = (&self.nodes[node], &self.nodes[node]["message"]);
            match entry["type"].as_str().unwrap() {
                "thinking_level_change" => state["thinkingLevel"] = entry["thinkingLevel"].clone(),
                "active_tools_change" => state["activeToolNames"] = entry["activeToolNames"].clone(),
                "model_change" => state["model"] = json!([entry["provider"], entry["modelId"]]),
                "message" if message["role"] == "assistant" && message["model"].is_string() => {
                    state["model"] = json!([message["provider"], message["model"]]);
                }
                _ => {}
            }
        }
        state
    }

    fn labels(&self) -> Vec<(String, String)> {
        let label = |target: usize| {
            let mut labels = self.nodes.iter().enumerate().filter(|(place, entry)| {
                *place > target && entry["type"] == "label" && entry["targetId"] == self.nodes[target]["id"]
            });
            let label = labels.next_back()?.1["label"].as_str().filter(|label| !label.is_empty())?;
            Some((self.id(target), label.to_owned()))
        };
        (0..self.nodes.len()).filter_map(label).collect()
    }

    fn name(&self) -> Option<String> {
        let named = self.nodes.iter().rfind(|entry| entry["type"] == "session_info")?;
        named["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn id(&self, node: usize) -> String {
        self.nodes[node]["id"].as_str().unwrap().to_owned()
    }

    fn ids(&self, path: &[usize]) -> Vec<String> {
        path.iter().map(|node| self.id(*node)).collect()
    }
}

fn projected(entry: &Value, edit: Option<&Value>, is_first: bool) -> Vec<Value> {
    let time = |message: Value| {
        let (mut message, text) = (message, entry["timestamp"].as_str());
        let millis = text.and_then(|text| text.strip_prefix("2026-11-30T19:15:45.")?.get(..3)?.parse::<u64>().ok());
        message["timestamp"] = json!(millis.map(|millis| 1_796_066_145_000 + millis));
        message
    };
    match entry["type"].as_str().unwrap() {
        "message" if entry["message"].is_object() => vec![with_content(entry["message"].clone(), edit)],
        "custom_message" => {
            let message =
                json!({"role": "custom", "customType": "c", "content": entry["content"], "display": entry["display"]});
            vec![time(with_content(message, edit))]
        }
        "branch_summary" if entry["summary"] != "" => {
            vec![time(json!({"role": "branchSummary", "summary": entry["summary"], "fromId": entry["fromId"]}))]
        }
        "compaction" if is_first => {
            let system = entry["systemMessage"].is_object().then(|| entry["systemMessage"].clone());
            let (summary, tokens) = (&entry["summary"], &entry["tokensBefore"]);
            let summary = time(json!({"role": "compactionSummary", "summary": summary, "tokensBefore": tokens}));
            let tail = entry["retainedTail"].as_array().cloned().unwrap_or_default();
            let tail = tail.into_iter().map(|message| with_content(message, None));
            system.into_iter().chain([summary]).chain(tail).collect()
        }
        _ => Vec::new(),
    }
}

fn with_content(mut message: Value, edit: Option<&Value>) -> Value {
    if let Some(edit) = edit {
        message["content"] = edit["content"].clone();
        if message["content"].is_string() && (message["role"] == "assistant" || message["role"] == "toolResult") {
            message["content"] = json!([{"type": "text", "text": message["content"]}]);
        }
    }
    if message.get("content").is_some_and(Value::is_null) {
        message["content"] = json!([]);
    }
    message
}

fn import(file: &[u8]) -> Session {
    Session::import(file, &Limits::default()).unwrap()
}

fn ids(session: &Session, nodes: impl IntoIterator<Item = Node>) -> Vec<String> {
    nodes.into_iter().map(|node| session.entry(node).unwrap().id.into_owned()).collect()
}

fn context(session: &Session, leaf: Option<Node>) -> (Value, Value) {
    let context = session.context(leaf);
    let messages: Vec<Value> = context.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let state = context.state;
    let state =
        json!({"thinkingLevel": state.thinking_level, "model": state.model, "activeToolNames": state.active_tools});
    (json!(messages), state)
}

/// Every answer of the session equals the reference's.
fn check(session: &Session, reference: &Reference) {
    let node = |at: Option<usize>| at.and_then(|at| session.node(&reference.id(at)));
    assert_eq!(session.leaf(), node(reference.leaf));
    assert_eq!(
        session.entries().map(|entry| entry.id.into_owned()).collect::<Vec<_>>(),
        reference.ids(&(0..reference.nodes.len()).collect::<Vec<_>>())
    );
    for leaf in (0..reference.nodes.len()).map(Some).chain([None]) {
        let path = reference.path(leaf);
        assert_eq!(ids(session, session.branch(node(leaf))), reference.ids(&path));
        assert_eq!(context(session, node(leaf)), (reference.context(leaf), reference.state(leaf)), "leaf {leaf:?}");
        let other = reference.path(reference.leaf);
        let common = path.iter().zip(&other).take_while(|(a, b)| a == b).count();
        let difference = session.difference(node(leaf), node(reference.leaf));
        assert_eq!(difference.common, node(common.checked_sub(1).map(|last| path[last])));
        assert_eq!(ids(session, difference.left), reference.ids(&path[common..]));
        assert_eq!(ids(session, difference.entered), reference.ids(&other[common..]));
    }
    let has_child = |node: usize| {
        (0..reference.nodes.len()).any(|child| reference.path(Some(child)).iter().rev().nth(1) == Some(&node))
    };
    let leaves: Vec<usize> = (0..reference.nodes.len()).filter(|node| !has_child(*node)).collect();
    assert_eq!(ids(session, session.leaves()), reference.ids(&leaves));
    let labels: Vec<_> = session.labels().map(|(node, label)| (ids(session, [node]).remove(0), label)).collect();
    assert_eq!((labels, session.name()), (reference.labels(), reference.name()));
}

fn file_of(lines: &[String], newline: bool) -> String {
    let mut file = HEADER.to_owned() + "\n" + &lines.join("\n");
    if newline {
        file.push('\n');
    }
    file
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_answer_equals_the_references_and_the_file_comes_out_as_it_went_in(
        lines in vec(line(), 0..40),
        newline: bool,
    ) {
        let file = file_of(&written(&lines), newline);
        let session = import(file.as_bytes());
        check(&session, &Reference::of(&file));
        prop_assert_eq!(String::from_utf8(session.export()).unwrap(), file);
    }

    #[test]
    fn a_session_that_grows_is_the_session_of_the_whole_file(lines in vec(line(), 0..40), cut: Index) {
        let lines = written(&lines);
        let cut = cut.index(lines.len() + 1);
        let mut session = import(file_of(&lines[..cut], false).as_bytes());
        lines[cut..].iter().for_each(|line| {
            session.append(&(line.clone() + "\n"));
        });
        let whole = import(&session.export());
        check(&session, &Reference::of(std::str::from_utf8(&session.export()).unwrap()));
        prop_assert_eq!(session.faults().collect::<Vec<_>>(), whole.faults().collect::<Vec<_>>());
        prop_assert_eq!(session.export(), file_of(&lines, cut < lines.len()).into_bytes());
    }

    #[test]
    fn a_fork_tells_the_model_what_its_branch_tells(lines in vec(line(), 1..40), leaf: Index) {
        let file = file_of(&written(&lines), true);
        let session = import(file.as_bytes());
        let nodes: Vec<Node> = session.entries().map(|entry| entry.node).collect();
        let leaf = (!nodes.is_empty()).then(|| nodes[leaf.index(nodes.len())]);
        let fork = session.fork(leaf, ForkHeader { id: "f", timestamp: "t", parent_session: "s" });
        prop_assert_eq!(context(&fork, fork.leaf()), context(&session, leaf));
        let labels = |kind: &chatrows::EntryKind| *kind == chatrows::EntryKind::Label;
        let kept: Vec<String> =
            session.records(leaf).filter(|entry| !labels(&entry.kind)).map(|entry| entry.id.into_owned()).collect();
        prop_assert_eq!(ids(&fork, fork.branch(fork.leaf())), kept);
        prop_assert_eq!(fork.fault_count(), 0);
        let exported = fork.export();
        check(&import(&exported), &Reference::of(std::str::from_utf8(&exported).unwrap()));
    }

    #[test]
    fn a_file_of_version_1_becomes_what_the_migration_says(lines in vec(line(), 0..30)) {
        let mut file = r#"{"type":"session","id":"s","cwd":"/p"}"#.to_owned();
        let mut expected = r#"{"type":"session","id":"s","cwd":"/p","version":3}"#.to_owned();
        let mut previous = Value::Null;
        for (number, text) in written(&lines).into_iter().enumerate() {
            let Ok(mut entry) = serde_json::from_str::<Value>(&text) else {
                file = file + "\n" + &text;
                expected = expected + "\n" + &text;
                continue;
            };
            if !entry.is_object() || matches!(entry["type"].as_str(), Some("session" | "leaf") | None) {
                continue;
            }
            let line = file.split('\n').count();
            let mut migrated = entry.clone();
            entry.as_object_mut().unwrap().retain(|name, _| !["id", "parentId", "firstKeptEntryId"].contains(&&**name));
            migrated.as_object_mut().unwrap().remove("firstKeptEntryId");
            if entry["type"] == "compaction" {
                entry["firstKeptEntryIndex"] = json!(number / 2);
                if number / 2 > 0 {
                    migrated["firstKeptEntryId"] = json!(format!("{:08x}", number / 2));
                }
            }
            if entry["message"]["role"] == "bashExecution" {
                entry["message"]["role"] = json!("hookMessage");
                migrated["message"]["role"] = json!("custom");
            }
            migrated["id"] = json!(format!("{line:08x}"));
            migrated["parentId"] = std::mem::replace(&mut previous, migrated["id"].clone());
            file = file + "\n" + &entry.to_string();
            expected = expected + "\n" + &migrated.to_string();
        }
        let session = import(file.as_bytes());
        let values = |file: &str| -> Vec<Result<Value, String>> {
            file.split('\n').map(|line| serde_json::from_str(line).map_err(|_| line.to_owned())).collect()
        };
        let exported = String::from_utf8(session.export()).unwrap();
        prop_assert_eq!(values(&exported), values(&expected));
        check(&session, &Reference::of(&expected));
        prop_assert_eq!(import(exported.as_bytes()).export(), exported.into_bytes());
    }

    #[test]
    fn no_bytes_panic_and_what_is_taken_comes_out_as_it_went_in(
        lines in vec(line(), 0..12),
        spoils in vec((any::<Index>(), any::<u8>()), 0..20),
        version in select(&["3", "2", "1", "null"][..]),
    ) {
        let version = format!("\"version\":{version}");
        let mut file = file_of(&written(&lines), true).replacen("\"version\":3", &version, 1).into_bytes();
        for (at, byte) in spoils {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(session) = Session::import(&file, &Limits::default()) {
            for leaf in session.leaves().collect::<Vec<_>>() {
                context(&session, Some(leaf));
                session.fork(Some(leaf), ForkHeader { id: "f", timestamp: "t", parent_session: "s" });
            }
            if session.header().version == 3 {
                prop_assert_eq!(session.export(), file);
            }
        }
    }
}
