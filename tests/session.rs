//! Session files: every type of entry, rule of the context and of migration, each as the smallest file that shows it
//! and what comes of it.

#![cfg(feature = "sessions")]

use chatrows::json::Raw;
use chatrows::{Context, EntryKind, ForkHeader, Limits, Session, SessionState};
use serde_json::{Value, json};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-30T19:15:45.617Z","cwd":"/p"}"#;
const FORK: ForkHeader<'static> =
    ForkHeader { id: "f", timestamp: "2026-12-01T00:00:00.000Z", parent_session: "s.jsonl" };

/// An entry; `-` is no parent, `members` what it has beside its place.
fn entry(kind: &str, id: &str, parent: &str, members: &str) -> String {
    let parent = if parent == "-" { "null".to_owned() } else { format!("\"{parent}\"") };
    let members = if members.is_empty() { String::new() } else { format!(",{members}") };
    let time = "2026-11-30T19:15:45.620Z";
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{time}"{members}}}"#)
}

fn user(id: &str, parent: &str) -> String {
    message(id, parent, &format!(r#"{{"role":"user","content":"{id}"}}"#))
}

fn message(id: &str, parent: &str, message: &str) -> String {
    entry("message", id, parent, &format!(r#""message":{message}"#))
}

fn file(header: &str, entries: &[String]) -> String {
    entries.iter().fold(header.to_owned(), |file, entry| file + "\n" + entry) + "\n"
}

fn import(file: &str) -> Session {
    Session::import(file.as_bytes(), &Limits::default()).unwrap()
}

fn session(entries: &[String]) -> Session {
    import(&file(HEADER, entries))
}

fn exported(session: &Session) -> String {
    String::from_utf8(session.export()).unwrap()
}

fn faults(session: &Session) -> Vec<&'static str> {
    session.faults().map(|fault| fault.reason).collect()
}

fn id(session: &Session, node: chatrows::Node) -> String {
    session.entry(node).unwrap().id.into_owned()
}

fn ids(session: &Session, nodes: impl IntoIterator<Item = chatrows::Node>) -> String {
    nodes.into_iter().map(|node| id(session, node)).collect::<Vec<_>>().join(" ")
}

fn branch(session: &Session) -> String {
    ids(session, session.branch(session.leaf()))
}

fn messages(context: &Context<'_>) -> Vec<Value> {
    context.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

/// The messages of the context at the leaf.
fn check(entries: &[String], expected: Value) {
    let session = session(entries);
    assert_eq!(json!(messages(&session.context(session.leaf()))), expected, "{entries:#?}");
    assert_eq!(session.fault_count(), 0);
    assert_eq!(exported(&session), file(HEADER, entries));
}

/// The same, each message as the text it says: its summary, its content or the text of its first block.
fn check_texts(entries: &[String], expected: &str) {
    let session = session(entries);
    assert_eq!(texts(&session.context(session.leaf())), expected, "{entries:#?}");
}

fn texts(context: &Context<'_>) -> String {
    let text = |message: &Value| {
        let said = [&message["summary"], &message["content"], &message["content"][0]["text"]];
        said.iter().find_map(|value| value.as_str()).unwrap_or("?").to_owned()
    };
    messages(context).iter().map(text).collect::<Vec<_>>().join(" ")
}

fn state(entries: &[String]) -> SessionState {
    let session = session(entries);
    session.state(session.leaf())
}

fn assistant(id: &str, parent: &str, model: &str) -> String {
    let text = format!(r#"[{{"type":"text","text":"{id}"}}]"#);
    message(id, parent, &format!(r#"{{"role":"assistant","content":{text},"provider":"p","model":"{model}"}}"#))
}

fn compaction(id: &str, parent: &str, first_kept: &str) -> String {
    entry("compaction", id, parent, &format!(r#""summary":"{id}","firstKeptEntryId":"{first_kept}","tokensBefore":7"#))
}

fn with_tail(id: &str, parent: &str, tail: &str) -> String {
    entry("compaction", id, parent, &format!(r#""summary":"{id}","tokensBefore":7,"retainedTail":{tail}"#))
}

fn edit(id: &str, parent: &str, target: &str, replacement: &str) -> String {
    entry("context_edit", id, parent, &format!(r#""targetId":"{target}","replacement":{replacement}"#))
}

// Types of entries

#[test]
fn a_message_of_any_role_is_itself_in_the_context() {
    for told in [
        json!({"role": "system", "content": "be kind", "sections": []}),
        json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1}),
        json!({"role": "assistant", "content": [], "stopReason": "aborted", "errorMessage": "Request was aborted"}),
        json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "x"}], "isError": false}),
        json!({"role": "bashExecution", "command": "ls", "output": "a\n", "excludeFromContext": true}),
        json!({"role": "custom", "customType": "x", "content": "y", "display": true}),
    ] {
        check(&[message("a", "-", &told.to_string())], json!([told]));
    }
}

#[test]
fn a_model_change_chooses_the_model_and_is_no_message() {
    let change = [entry("model_change", "a", "-", r#""provider":"p","modelId":"m""#)];
    check(&change, json!([]));
    assert_eq!(state(&change).model, Some(["p".to_owned(), "m".to_owned()]));
}

#[test]
fn a_thinking_level_change_chooses_the_level() {
    let change = [entry("thinking_level_change", "a", "-", r#""thinkingLevel":"high""#)];
    check(&change, json!([]));
    assert_eq!(state(&change).thinking_level, "high");
}

#[test]
fn an_active_tools_change_chooses_the_tools() {
    let change = [entry("active_tools_change", "a", "-", r#""activeToolNames":["read","bash"]"#)];
    check(&change, json!([]));
    assert_eq!(state(&change).active_tools, Some(vec!["read".to_owned(), "bash".to_owned()]));
}

#[test]
fn a_compaction_is_a_summary_with_its_tokens_and_its_time() {
    check(
        &[user("a", "-"), compaction("s", "a", "x")],
        json!([{"role": "compactionSummary", "summary": "s", "tokensBefore": 7, "timestamp": 1796066145620u64}]),
    );
}

#[test]
fn a_branch_summary_is_a_message_unless_it_is_empty() {
    check(
        &[
            user("a", "-"),
            entry("branch_summary", "b", "a", r#""fromId":"z","summary":"tried""#),
            entry("branch_summary", "c", "b", r#""fromId":"z","summary":"""#),
        ],
        json!([
            {"role": "user", "content": "a"},
            {"role": "branchSummary", "summary": "tried", "fromId": "z", "timestamp": 1796066145620u64},
        ]),
    );
}

#[test]
fn custom_state_is_in_the_context_only_through_a_projector() {
    let session = session(&[user("a", "-"), entry("custom", "b", "a", r#""customType":"n","data":{"n":1}"#)]);
    assert_eq!(texts(&session.context(session.leaf())), "a");
    let told = session.context_with(session.leaf(), |entry| {
        assert_eq!((&*entry.id, entry.kind), ("b", EntryKind::Custom));
        Some(Raw::written(|json| json.object(|json| json.key("content").string("projected"))))
    });
    assert_eq!(texts(&told), "a projected");
}

#[test]
fn a_custom_message_goes_to_the_model_whether_it_is_displayed_or_hidden() {
    check(
        &[
            entry("custom_message", "a", "-", r#""customType":"n","content":"x","display":true,"details":{"k":1}"#),
            entry("custom_message", "b", "a", r#""customType":"n","content":"y","display":false"#),
        ],
        json!([
            {
                "role": "custom", "customType": "n", "content": "x", "display": true, "details": {"k": 1},
                "timestamp": 1796066145620u64,
            },
            {"role": "custom", "customType": "n", "content": "y", "display": false, "timestamp": 1796066145620u64},
        ]),
    );
}

#[test]
fn the_latest_label_of_an_entry_counts_and_an_absent_one_clears_it() {
    let label = |id: &str, parent: &str, rest: &str| entry("label", id, parent, rest);
    let mut entries = vec![
        user("a", "-"),
        label("l1", "a", r#""targetId":"a","label":"one""#),
        user("b", "l1"),
        label("l2", "b", r#""targetId":"a","label":"two""#),
        label("l3", "a", r#""targetId":"b","label":"three""#),
    ];
    let before = session(&entries);
    assert_eq!(before.label(before.node("a").unwrap()).as_deref(), Some("two"));
    let labels: Vec<String> = before.labels().map(|(node, label)| id(&before, node) + " " + &label).collect();
    assert_eq!(labels, ["a two", "b three"]);
    entries.push(label("l4", "l3", r#""targetId":"a""#));
    let after = session(&entries);
    assert_eq!(after.label(after.node("a").unwrap()), None);
}

#[test]
fn a_label_is_a_node_that_others_may_follow() {
    let session = session(&[user("a", "-"), entry("label", "l", "a", r#""targetId":"a","label":"x""#), user("b", "l")]);
    assert_eq!((branch(&session).as_str(), texts(&session.context(session.leaf())).as_str()), ("a l b", "a b"));
}

#[test]
fn the_latest_name_counts_and_an_empty_one_clears_it() {
    let named = |id: &str, parent: &str, name: &str| entry("session_info", id, parent, &format!(r#""name":"{name}""#));
    let entries = [named("a", "-", "one"), named("b", "a", "two"), named("c", "b", "")];
    assert_eq!(session(&entries[..1]).name().as_deref(), Some("one"));
    assert_eq!(session(&entries[..2]).name().as_deref(), Some("two"));
    assert_eq!(session(&entries).name(), None);
}

#[test]
fn a_leaf_entry_moves_the_leaf_and_is_no_node() {
    let session = session(&[user("a", "-"), user("b", "a"), entry("leaf", "l", "b", r#""targetId":"a""#)]);
    assert_eq!((branch(&session).as_str(), session.node("l"), session.entries().count()), ("a", None, 2));
}

#[test]
fn usage_is_a_node_without_a_message() {
    check_texts(
        &[user("a", "-"), entry("usage", "u", "a", r#""kind":"cache_warm","usage":{}"#), user("b", "u")],
        "a b",
    );
}

#[test]
fn a_context_edit_is_a_node_without_a_message() {
    check_texts(&[user("a", "-"), edit("e", "a", "x", "null"), user("b", "e")], "a b");
}

#[test]
fn an_entry_of_an_unknown_type_is_a_node_without_a_message() {
    let session = session(&[user("a", "-"), entry("hologram", "h", "a", r#""depth":3"#), user("b", "h")]);
    assert_eq!((branch(&session).as_str(), texts(&session.context(session.leaf())).as_str()), ("a h b", "a b"));
    assert_eq!(session.entry(session.node("h").unwrap()).unwrap().kind, EntryKind::Other);
    assert_eq!(session.fault_count(), 0);
}

// Leaf and tree

#[test]
fn the_leaf_is_the_last_entry_of_the_file() {
    assert_eq!(branch(&session(&[user("a", "-"), user("b", "a"), user("c", "a")])), "a c");
}

#[test]
fn a_leaf_entry_without_target_leaves_an_empty_context_and_the_next_entry_is_a_root() {
    let mut session = session(&[user("a", "-"), entry("leaf", "l", "a", r#""targetId":null"#)]);
    assert_eq!((session.leaf(), session.context(session.leaf()).messages.len()), (None, 0));
    session.append_new("message", "b", "t", |json| json.key("message").raw(r#"{"role":"user","content":"b"}"#));
    assert_eq!((branch(&session).as_str(), ids(&session, session.roots()).as_str()), ("b", "a b"));
}

#[test]
fn an_unknown_leaf_is_the_last_entry() {
    let session = session(&[
        user("a", "-"),
        user("b", "a"),
        entry("leaf", "l", "b", r#""targetId":"a""#),
        entry("leaf", "m", "b", r#""targetId":"gone""#),
    ]);
    assert_eq!((branch(&session).as_str(), faults(&session)), ("a b", vec!["missing-target"]));
    assert_eq!(session.node_or_last("gone"), session.node("b"));
    assert_eq!(session.node_or_last("a"), session.node("a"));
}

#[test]
fn a_leaf_that_is_set_is_where_the_next_entry_goes_on() {
    let mut session = session(&[user("a", "-"), user("b", "a")]);
    session.set_leaf(session.node("a"));
    session.append(&user("c", "a"));
    assert_eq!(branch(&session), "a c");
    session.set_leaf(None);
    assert_eq!(branch(&session), "");
}

#[test]
fn a_leaf_that_is_appended_stands_in_the_file() {
    let mut session = session(&[user("a", "-"), user("b", "a")]);
    assert!(session.append_leaf(session.node("a"), "l", "t"));
    assert_eq!(branch(&session), "a");
    assert!(
        exported(&session)
            .ends_with("{\"type\":\"leaf\",\"id\":\"l\",\"parentId\":\"b\",\"timestamp\":\"t\",\"targetId\":\"a\"}\n")
    );
    assert!(session.append_leaf(None, "m", "t"));
    assert_eq!(branch(&import(&exported(&session))), "");
    assert!(!session.append_leaf(None, "a", "t"));
}

#[test]
fn an_id_that_is_taken_is_not_appended() {
    let mut session = session(&[user("a", "-")]);
    assert_eq!(session.append_new("custom", "a", "t", |_| {}), None);
    assert_eq!(exported(&session), file(HEADER, &[user("a", "-")]));
}

#[test]
fn roots_children_leaves_and_branches_are_listed_in_the_order_of_the_file() {
    let session =
        session(&[user("a", "-"), user("b", "a"), user("c", "b"), user("d", "a"), user("e", "b"), user("f", "-")]);
    assert_eq!(ids(&session, session.roots()), "a f");
    assert_eq!(ids(&session, session.children(session.node("a").unwrap())), "b d");
    assert_eq!(ids(&session, session.leaves()), "c d e f");
    let forks: Vec<String> = session
        .branches()
        .map(|branch| id(&session, branch.leaf) + &branch.fork.map_or("-".to_owned(), |fork| id(&session, fork)))
        .collect();
    assert_eq!(forks, ["cb", "da", "eb", "f-"]);
}

#[test]
fn records_are_the_lines_of_a_branch_oldest_first() {
    let entries = [user("a", "-"), user("b", "a"), user("c", "a")];
    let session = session(&entries);
    let records: Vec<&str> = session.records(session.leaf()).map(|entry| entry.json).collect();
    assert_eq!(records, [&entries[0], &entries[2]]);
}

#[test]
fn the_difference_of_two_branches_is_what_each_has_alone() {
    let session =
        session(&[user("a", "-"), user("b", "a"), user("c", "b"), user("d", "b"), user("e", "d"), user("f", "-")]);
    let check = |from: &str, to: &str, expected: &str| {
        let difference = session.difference(session.node(from), session.node(to));
        let common = difference.common.map_or("-".to_owned(), |node| id(&session, node));
        let shown = [ids(&session, difference.left), common, ids(&session, difference.entered)].join("|");
        assert_eq!(shown, expected, "{from} to {to}");
    };
    check("c", "e", "c|b|d e");
    check("e", "b", "d e|b|");
    check("a", "c", "|a|b c");
    check("c", "c", "|c|");
    check("c", "f", "a b c|-|f");
    check("none", "b", "|-|a b");
    check("none", "none", "|-|");
}

#[test]
fn a_node_of_another_session_answers_nothing() {
    let (long, mut short) = (session(&[user("a", "-"), user("b", "a")]), session(&[user("a", "-")]));
    let foreign = long.leaf();
    assert!(short.entry(foreign.unwrap()).is_none() && short.branch(foreign).is_empty());
    assert!(short.context(foreign).messages.is_empty() && short.difference(foreign, None).left.is_empty());
    short.set_leaf(foreign);
    assert_eq!(short.leaf(), None);
}

// The context

#[test]
fn without_a_compaction_the_whole_branch_is_told() {
    check_texts(&[user("a", "-"), user("b", "a"), user("c", "a")], "a c");
}

#[test]
fn a_compaction_keeps_from_its_first_kept_entry_on() {
    check_texts(
        &[user("a", "-"), user("b", "a"), user("c", "b"), compaction("S", "c", "b"), user("d", "S")],
        "S b c d",
    );
}

#[test]
fn the_last_compaction_counts_and_an_older_one_that_it_kept_is_nothing() {
    check_texts(
        &[user("a", "-"), compaction("S", "a", "a"), user("b", "S"), compaction("T", "b", "a"), user("c", "T")],
        "T a b c",
    );
}

#[test]
fn a_first_kept_entry_that_is_not_on_the_branch_keeps_nothing() {
    for first_kept in ["gone", "x", "S", "c"] {
        check_texts(
            &[user("a", "-"), user("x", "a"), user("b", "a"), compaction("S", "b", first_kept), user("c", "S")],
            "S c",
        );
    }
}

#[test]
fn system_messages_before_a_compaction_are_left_out_and_those_after_it_are_not() {
    let system = |id: &str, parent: &str| message(id, parent, &format!(r#"{{"role":"system","content":"{id}"}}"#));
    check_texts(&[system("a", "-"), user("b", "a"), compaction("S", "b", "a"), system("c", "S")], "S b c");
    check_texts(&[system("a", "-"), user("b", "a")], "a b");
}

#[test]
fn the_system_message_of_a_compaction_stands_before_its_summary() {
    let members = r#""summary":"S","tokensBefore":1,"systemMessage":{"role":"system","content":"be kind"}"#;
    let session = session(&[user("a", "-"), entry("compaction", "s", "a", members)]);
    assert_eq!(texts(&session.context(session.leaf())), "be kind S");
}

#[test]
fn a_retained_tail_takes_the_place_of_what_was_kept() {
    let tail = r#"[{"role":"user","content":"t1"},{"role":"user","content":"t2"}]"#;
    let members = format!(r#""summary":"S","tokensBefore":1,"firstKeptEntryId":"a","retainedTail":{tail}"#);
    check_texts(&[user("a", "-"), entry("compaction", "s", "a", &members), user("b", "s")], "S t1 t2 b");
    check_texts(&[user("a", "-"), with_tail("S", "a", "[]"), user("b", "S")], "S b");
}

#[test]
fn the_walk_stops_at_a_compaction_with_a_retained_tail() {
    let before = [user("a", "-"), with_tail("R", "a", r#"[{"role":"user","content":"t"}]"#), user("b", "R")];
    let with = |first_kept: &str| [&before[..], &[compaction("S", "b", first_kept), user("c", "S")]].concat();
    check_texts(&with("b"), "S b c");
    check_texts(&with("R"), "S b c");
    check_texts(&with("a"), "S c");
}

#[test]
fn a_retained_tail_that_is_null_is_none() {
    let members = r#""summary":"S","tokensBefore":1,"firstKeptEntryId":"a","retainedTail":null"#;
    check_texts(&[user("a", "-"), entry("compaction", "s", "a", members)], "S a");
}

#[test]
fn an_edit_to_null_drops_its_target() {
    check_texts(&[user("a", "-"), user("b", "a"), edit("e", "b", "a", "null")], "b");
    check_texts(&[user("a", "-"), compaction("S", "a", "a"), edit("e", "S", "S", "null")], "a");
}

#[test]
fn an_edit_replaces_the_content_and_the_latest_one_counts() {
    check(
        &[
            message("a", "-", r#"{"role":"user","content":"a","timestamp":1}"#),
            edit("e", "a", "a", "null"),
            edit("f", "e", "a", r#"{"content":"new"}"#),
        ],
        json!([{"role": "user", "content": "new", "timestamp": 1}]),
    );
}

#[test]
fn edited_text_of_an_assistant_or_a_tool_result_is_one_block() {
    for role in ["assistant", "toolResult"] {
        check(
            &[
                message("a", "-", &format!(r#"{{"role":"{role}","content":[]}}"#)),
                edit("e", "a", "a", r#"{"content":"x"}"#),
            ],
            json!([{"role": role, "content": [{"type": "text", "text": "x"}]}]),
        );
    }
    check(
        &[
            message("a", "-", r#"{"role":"assistant","content":[]}"#),
            edit("e", "a", "a", r#"{"content":[{"type":"image"}]}"#),
        ],
        json!([{"role": "assistant", "content": [{"type": "image"}]}]),
    );
}

#[test]
fn an_edit_changes_a_custom_message_too() {
    check(
        &[
            entry("custom_message", "a", "-", r#""customType":"n","content":"x","display":true"#),
            edit("e", "a", "a", r#"{"content":"y"}"#),
        ],
        json!([{"role": "custom", "customType": "n", "content": "y", "display": true, "timestamp": 1796066145620u64}]),
    );
}

#[test]
fn an_edit_of_another_branch_or_from_before_a_compaction_counts_nothing() {
    check_texts(&[user("a", "-"), edit("e", "a", "a", "null"), user("b", "a")], "a b");
    check_texts(
        &[user("a", "-"), edit("e", "a", "b", "null"), user("b", "e"), compaction("S", "b", "b"), user("c", "S")],
        "S b c",
    );
}

#[test]
fn an_edit_that_says_no_replacement_is_none() {
    check_texts(&[user("a", "-"), entry("context_edit", "e", "a", r#""targetId":"a""#)], "a");
    check_texts(&[user("a", "-"), edit("e", "a", "a", "\"x\"")], "a");
}

#[test]
fn null_content_is_an_empty_list() {
    check(
        &[message("a", "-", r#"{"role":"assistant","content":null,"stopReason":"error"}"#)],
        json!([{"role": "assistant", "content": [], "stopReason": "error"}]),
    );
    check(
        &[message("a", "-", r#"{"role":"user","content":"a"}"#), edit("e", "a", "a", r#"{"content":null}"#)],
        json!([{"role": "user", "content": []}]),
    );
}

#[test]
fn a_message_that_is_no_object_is_nothing() {
    check(&[message("a", "-", "\"hello\""), entry("message", "b", "a", "")], json!([]));
}

#[test]
fn a_timestamp_that_is_no_time_is_null_in_the_message() {
    let compaction = r#"{"type":"compaction","id":"a","parentId":null,"timestamp":"soon","summary":"S"}"#.to_owned();
    check(&[compaction], json!([{"role": "compactionSummary", "summary": "S", "timestamp": null}]));
}

#[test]
fn the_state_of_nothing_is_the_default() {
    assert_eq!(state(&[]), SessionState { thinking_level: "off".to_owned(), model: None, active_tools: None });
}

#[test]
fn the_state_comes_from_the_whole_branch_compactions_or_not() {
    let chosen = [
        entry("thinking_level_change", "a", "-", r#""thinkingLevel":"low""#),
        entry("active_tools_change", "b", "a", r#""activeToolNames":[]"#),
        entry("model_change", "c", "b", r#""provider":"p","modelId":"m""#),
        with_tail("d", "c", "[]"),
        entry("thinking_level_change", "x", "a", r#""thinkingLevel":"another branch""#),
        user("e", "d"),
    ];
    let model = Some(["p".to_owned(), "m".to_owned()]);
    assert_eq!(state(&chosen), SessionState { thinking_level: "low".to_owned(), model, active_tools: Some(vec![]) });
}

#[test]
fn the_model_is_the_one_that_was_chosen_or_that_answered_whichever_is_later() {
    let change = |id: &str, parent: &str, model: &str| {
        entry("model_change", id, parent, &format!(r#""provider":"p","modelId":"{model}""#))
    };
    let model = |entries: &[String]| state(entries).model.unwrap()[1].clone();
    assert_eq!(model(&[change("a", "-", "chosen"), assistant("b", "a", "answered"), user("c", "b")]), "answered");
    assert_eq!(model(&[assistant("a", "-", "answered"), change("b", "a", "chosen")]), "chosen");
    assert_eq!(
        model(&[change("a", "-", "chosen"), message("b", "a", r#"{"role":"assistant","content":[]}"#)]),
        "chosen"
    );
}

// Migrations

const V1: &str = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/p","provider":"p","branchedFrom":"old.jsonl"}"#;
const V2: &str = r#"{"type":"session","version":2,"id":"s","timestamp":"t","cwd":"/p"}"#;

fn check_migration(header: &str, entries: &[&str], expected: &str) {
    let entries: Vec<String> = entries.iter().map(|entry| entry.to_string()).collect();
    let migrated = exported(&import(&file(header, &entries)));
    assert_eq!(migrated.split_once('\n').unwrap().1, expected);
    assert_eq!(exported(&import(&migrated)), migrated);
}

#[test]
fn a_missing_version_is_1_and_becomes_3_with_every_other_member_kept() {
    let session = import(&file(V1, &[]));
    assert_eq!(session.header().version, 1);
    assert_eq!(exported(&session), V1.replace('}', ",\"version\":3}\n"));
    assert_eq!(exported(&import(&file(V2, &[]))), V2.replace(":2", ":3") + "\n");
}

#[test]
fn entries_of_version_1_get_ids_and_follow_each_other() {
    check_migration(
        V1,
        &[
            r#"{"type":"message","timestamp":"t","message":{"role":"user"}}"#,
            r#"{"type":"model_change","extra":[1, 2]}"#,
        ],
        "{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\"},\
         \"id\":\"00000001\",\"parentId\":null}\n\
         {\"type\":\"model_change\",\"extra\":[1, 2],\"id\":\"00000002\",\"parentId\":\"00000001\"}\n",
    );
}

#[test]
fn a_first_kept_index_counts_lines_with_the_header_and_becomes_an_id() {
    check_migration(
        V1,
        &[r#"{"type":"message"}"#, r#"{"type":"compaction","firstKeptEntryIndex":1,"summary":"S"}"#],
        "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null}\n\
         {\"type\":\"compaction\",\"summary\":\"S\",\"id\":\"00000002\",\"parentId\":\"00000001\",\
         \"firstKeptEntryId\":\"00000001\"}\n",
    );
    let told = |index: &str| {
        let compaction = format!(r#"{{"type":"compaction","firstKeptEntryIndex":{index},"summary":"S"}}"#);
        let said = |text: &str| format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#);
        let session = import(&file(V1, &[said("a"), said("b"), compaction, said("c")]));
        texts(&session.context(session.leaf()))
    };
    assert_eq!(told("1"), "S a b c");
    assert_eq!(told("2"), "S b c");
    check_migration(
        V1,
        &[r#"{"type":"custom","firstKeptEntryIndex":1}"#],
        "{\"type\":\"custom\",\"firstKeptEntryIndex\":1,\"id\":\"00000001\",\"parentId\":null}\n",
    );
    for nothing in ["0", "3", "4", "99", "-1", "1.5", "null", "\"1\""] {
        assert_eq!(told(nothing), "S c", "{nothing}");
    }
}

#[test]
fn a_malformed_line_of_version_1_stays_and_the_entries_around_it_follow_each_other() {
    check_migration(
        V1,
        &[r#"{"type":"message"}"#, "{oops", r#"{"type":"message"}"#],
        "{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null}\n{oops\n\
         {\"type\":\"message\",\"id\":\"00000003\",\"parentId\":\"00000001\"}\n",
    );
}

#[test]
fn hook_messages_of_version_2_are_custom_messages_and_other_lines_keep_their_bytes() {
    check_migration(
        V2,
        &[
            r#"{"type":"message", "id":"a","parentId":null,"message":{"role":"user"}}"#,
            r#"{"type":"message", "id":"b","parentId":"a","message":{"role":"hookMessage","x":[1, 2]}}"#,
            r#"{"type":"custom", "id":"c","parentId":"b","message":{"role":"hookMessage"}}"#,
        ],
        "{\"type\":\"message\", \"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\"}}\n\
         {\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"custom\",\"x\":[1, 2]}}\n\
         {\"type\":\"custom\", \"id\":\"c\",\"parentId\":\"b\",\"message\":{\"role\":\"hookMessage\"}}\n",
    );
}

#[test]
fn hook_messages_of_version_1_are_custom_messages_too() {
    check_migration(
        V1,
        &[r#"{"type":"message","message":{"role":"hookMessage"}}"#],
        "{\"type\":\"message\",\"message\":{\"role\":\"custom\"},\"id\":\"00000001\",\"parentId\":null}\n",
    );
}

#[test]
fn a_hook_message_of_version_3_is_left_alone() {
    check(
        &[message("a", "-", r#"{"role":"hookMessage","content":"x"}"#)],
        json!([{"role": "hookMessage", "content": "x"}]),
    );
}

// Files

#[test]
fn what_is_no_entry_is_a_fault_and_stays_in_its_place() {
    let lines = ["{oops", "[1]", "{\"id\":\"x\"}", "{\"type\":\"custom\"}", "\u{feff}{}", HEADER];
    let mut file = HEADER.to_owned() + "\n";
    lines.iter().for_each(|line| file = format!("{file}{line}\n"));
    let session = import(&(file.clone() + &user("a", "-")));
    assert_eq!(faults(&session), ["json", "not-a-record", "not-a-record", "no-id", "json", "second-header"]);
    let first = session.faults().next().unwrap();
    assert_eq!((first.offset, first.excerpt.as_str()), (HEADER.len() as u64 + 1, "{oops"));
    assert_eq!(exported(&session), file + &user("a", "-"));
    assert_eq!(branch(&session), "a");
}

#[test]
fn a_line_that_is_no_text_comes_out_as_it_went_in() {
    let bytes = [HEADER.as_bytes(), b"\n{\"type\":\"\xff\"}\n", user("a", "-").as_bytes(), b"\n"].concat();
    let session = Session::import(&bytes, &Limits::default()).unwrap();
    assert_eq!((faults(&session), session.export()), (vec!["utf-8"], bytes));
}

#[test]
fn lines_before_the_header_that_are_no_records_stay_before_it() {
    let file = format!("\n{{cut\n{HEADER}\n{}\n", user("a", "-"));
    let session = import(&file);
    assert_eq!((exported(&session), faults(&session), branch(&session)), (file, vec!["json"], "a".to_owned()));
}

#[test]
fn blank_lines_and_carriage_returns_are_kept_and_are_no_faults() {
    let file = format!("{HEADER}\r\n\r\n\n{}\r\n  \n", user("a", "-"));
    let session = import(&file);
    assert_eq!((exported(&session), session.fault_count(), branch(&session)), (file, 0, "a".to_owned()));
}

#[test]
fn pi_1911_a_line_separator_of_unicode_is_payload() {
    check(
        &[message("a", "-", "{\"role\":\"user\",\"content\":\"a\u{2028}b\u{2029}\u{85}\"}")],
        json!([{"role": "user", "content": "a\u{2028}b\u{2029}\u{85}"}]),
    );
}

#[test]
fn a_file_may_lack_its_last_newline_or_be_cut() {
    let whole = file(HEADER, &[user("a", "-"), user("b", "a")]);
    for end in HEADER.len()..=whole.len() {
        let mut session = import(&whole[..end]);
        assert_eq!(exported(&session), whole[..end]);
        let last = whole[..end].rsplit('\n').next().unwrap();
        let is_cut = !last.is_empty() && serde_json::from_str::<Value>(last).is_err();
        assert_eq!(session.fault_count(), u64::from(is_cut), "{last}");
        session.append(&user("c", "a"));
        let joint = if whole[..end].ends_with('\n') { "" } else { "\n" };
        assert_eq!(exported(&session), format!("{}{joint}{}\n", &whole[..end], user("c", "a")));
    }
}

#[test]
fn what_is_no_session_is_refused_and_says_why() {
    let check = |file: &str, expected: &str| {
        let error = Session::import(file.as_bytes(), &Limits::default()).unwrap_err();
        let kinds =
            [error.is_empty(), error.is_without_entries(), error.is_without_header(), error.is_unknown_version()];
        let kind = ["empty", "entries", "header", "version"][kinds.iter().position(|is| *is).unwrap()];
        assert_eq!(format!("{kind} {}: {error}", error.offset()), expected);
    };
    check("", "empty 0: this is no session: the file is empty");
    check(" \n\n", "entries 0: this is no session: the file holds nothing but spaces");
    check(
        "\n{oops\nx",
        "entries 1: this is no session: no line of the file is a record; the first is wrong (json) at byte 1",
    );
    check(&user("a", "-"), "header 0: this is no session: the first record, at byte 0, is no session header");
    check(
        "x\n{\"type\":\"session\",\"version\":4}",
        "version 2: this is no session: its version is 4; 1 to 3 are known",
    );
}

#[test]
fn a_missing_parent_ends_the_walk_and_is_a_fault() {
    let session = session(&[user("a", "-"), user("b", "gone"), user("c", "b")]);
    assert_eq!((branch(&session), faults(&session)), ("b c".to_owned(), vec!["missing-parent"]));
    assert_eq!(ids(&session, session.roots()), "a b");
}

#[test]
fn a_parent_that_stands_later_or_is_the_entry_itself_is_missing() {
    let own = session(&[user("a", "a")]);
    assert_eq!((branch(&own), faults(&own)), ("a".to_owned(), vec!["missing-parent"]));
    let circle = session(&[user("a", "b"), user("b", "a")]);
    assert_eq!((branch(&circle), faults(&circle)), ("a b".to_owned(), vec!["missing-parent"]));
}

#[test]
fn the_first_of_two_entries_with_one_id_counts() {
    let session = session(&[user("a", "-"), user("b", "a"), user("a", "b"), user("c", "a")]);
    assert_eq!((branch(&session), faults(&session)), ("a c".to_owned(), vec!["duplicate-id"]));
}

#[test]
fn a_label_of_nothing_is_a_node_and_a_fault() {
    let session = session(&[user("a", "-"), entry("label", "l", "a", r#""targetId":"gone","label":"x""#)]);
    assert_eq!((branch(&session), faults(&session)), ("a l".to_owned(), vec!["missing-target"]));
}

#[test]
fn an_id_with_escapes_is_the_same_id() {
    let mut session = session(&[r#"{"type":"custom","id":"\u0061\n","parentId":null}"#.to_owned()]);
    assert_eq!(session.node("a\n"), session.leaf());
    session.append_new("custom", "b", "t", |_| {});
    assert_eq!((branch(&session).as_str(), session.fault_count()), ("a\n b", 0));
}

#[test]
fn what_passes_a_cap_is_a_fault_and_comes_out_again() {
    let check = |limits: Limits, line: String, reason: &str| {
        let file = file(HEADER, &[user("a", "-"), line]);
        let session = Session::import(file.as_bytes(), &limits).unwrap();
        assert_eq!(
            (faults(&session), branch(&session), exported(&session)),
            (vec![reason], "a".to_owned(), file.clone())
        );
    };
    let limits = Limits { record_bytes: 200, nesting: 4, record_values: 20, ..Limits::default() };
    check(limits, user(&"b".repeat(200), "a"), "too-long");
    check(limits, entry("custom", "b", "a", r#""data":[[[[]]]]"#), "nesting");
    check(limits, entry("custom", "b", "a", r#""data":[1,2,3,4,5,6,7,8,9,10]"#), "values");
}

#[test]
fn faults_beyond_their_cap_are_counted() {
    let file = HEADER.to_owned() + "\n1\n2\n3\n";
    let session = Session::import(file.as_bytes(), &Limits { faults: 2, ..Limits::default() }).unwrap();
    assert_eq!((session.fault_count(), session.faults().next().unwrap().excerpt.as_str()), (3, "2"));
}

#[test]
fn entries_that_are_appended_are_what_a_file_with_them_holds() {
    let entries = [user("a", "-"), user("b", "a"), "{oops".to_owned(), compaction("S", "b", "b"), user("c", "S")];
    let whole = session(&entries);
    let mut grown = session(&entries[..1]);
    assert_eq!(grown.append(&entries[1..4].join("\n")), grown.node("S"));
    assert_eq!(grown.append(&(entries[4].clone() + "\n")), grown.node("c"));
    assert_eq!(grown.append("{oops too"), None);
    grown = import(exported(&grown).strip_suffix("{oops too\n").unwrap());
    assert_eq!((exported(&grown), branch(&grown)), (exported(&whole), branch(&whole)));
    assert_eq!(grown.faults().collect::<Vec<_>>(), whole.faults().collect::<Vec<_>>());
}

// Forks

fn check_fork(entries: &[String], expected: &str) -> Session {
    let session = session(entries);
    let fork = session.fork(session.leaf(), FORK);
    assert_eq!((texts(&fork.context(fork.leaf())).as_str(), fork.fault_count()), (expected, 0));
    assert!(fork.entries().all(|entry| entry.kind != EntryKind::Label));
    fork
}

#[test]
fn a_fork_is_the_branch_under_a_header_that_names_where_it_comes_from() {
    let entries = [user("a", "-"), user("x", "a"), user("b", "a")];
    let fork = check_fork(&entries, "a b");
    let header = r#"{"type":"session","version":3,"id":"f","timestamp":"2026-12-01T00:00:00.000Z","cwd":"/p""#;
    let header = format!(r#"{header},"parentSession":"s.jsonl"}}"#);
    assert_eq!(exported(&fork), file(&header, &[entries[0].clone(), entries[2].clone()]));
    assert_eq!(import(&exported(&fork)).header(), fork.header());
}

#[test]
fn a_fork_drops_labels_and_what_followed_one_follows_what_it_followed() {
    let label = |id: &str, parent: &str| entry("label", id, parent, r#""targetId":"a","label":"x""#);
    let fork = check_fork(&[user("a", "-"), label("l", "a"), label("m", "l"), user("b", "m"), user("c", "b")], "a b c");
    assert_eq!(branch(&fork), "a b c");
    assert!(exported(&fork).ends_with(&file(&user("a", "-"), &[user("b", "a"), user("c", "b")])));
}

#[test]
fn pi_8989_what_was_kept_from_a_label_on_is_kept_from_the_next_entry_on() {
    let label = |id: &str, parent: &str| entry("label", id, parent, r#""targetId":"a","label":"x""#);
    let fork = check_fork(
        &[
            user("A", "-"),
            entry("label", "L", "A", r#""targetId":"A","label":"x""#),
            user("C", "L"),
            user("D", "C"),
            compaction("K", "D", "L"),
            user("E", "K"),
        ],
        "K C D E",
    );
    assert!(exported(&fork).contains(r#""firstKeptEntryId":"C""#));
    check_fork(&[user("a", "-"), label("l", "a"), label("m", "l"), user("b", "m"), compaction("K", "b", "l")], "K b");
    check_fork(&[user("a", "-"), label("l", "a"), compaction("K", "l", "l"), user("b", "K")], "K b");
}

#[test]
fn what_was_not_kept_from_a_label_above_a_retained_tail_is_not_kept_after_a_fork_either() {
    let label = entry("label", "l", "a", r#""targetId":"a","label":"x""#);
    let entries = [user("a", "-"), label, with_tail("R", "l", "[]"), user("b", "R"), compaction("K", "b", "l")];
    check_texts(&entries, "K");
    check_fork(&entries, "K");
}

#[test]
fn a_fork_of_a_branch_whose_parent_is_missing_begins_with_a_root() {
    let mut session = session(&[]);
    session.append(&user("a", "gone"));
    let fork = session.fork(session.leaf(), FORK);
    assert!(exported(&fork).ends_with(&(user("a", "-") + "\n")));
}

#[test]
fn a_fork_of_nothing_is_a_header() {
    let fork = session(&[user("a", "-")]).fork(None, FORK);
    assert_eq!((fork.leaf(), exported(&fork).lines().count()), (None, 1));
}

// Work

#[test]
fn appending_walks_nothing_and_switching_costs_what_the_branches_differ() {
    let cost = |size: usize| {
        let mut session = session(&[user("e0", "-")]);
        (1..size).for_each(|number| {
            session.append(&user(&format!("e{number}"), &format!("e{}", number - 1)));
        });
        let (leaf, before) = (session.leaf(), session.work());
        session.append(&user("x", &format!("e{}", size - 3)));
        let appended = session.work() - before;
        let difference = session.difference(leaf, session.leaf());
        assert_eq!((difference.left.len(), difference.entered.len()), (2, 1));
        (appended, session.work() - before - appended)
    };
    let (small, large) = (cost(1_000), cost(32_000));
    // Ids are found in the logarithm of their number.
    assert!(large.0 < 2 * small.0, "{small:?} {large:?}");
    assert!(large.1 <= 6, "{large:?}");
}
