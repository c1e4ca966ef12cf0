//! The Agent Client Protocol, row by row of the fact sheet's tables: the smallest records that show a rule, and the
//! rows, panels and counts they come to. `check` feeds each input in every cut, compares the oracle after every batch,
//! and declares it a replay, which must leave everything as it was and say nothing.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, End, Format, Options, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, chat_of, rests, unindent};

/// An update of session `s`.
fn update(update: Value) -> Value {
    update_of("s", update)
}

fn update_of(session: &str, update: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}})
}

/// The update of this kind with these members.
fn of_kind(kind: &str, mut members: Value) -> Value {
    members["sessionUpdate"] = json!(kind);
    update(members)
}

fn said(kind: &str, text: &str) -> Value {
    of_kind(kind, json!({"content": {"type": "text", "text": text}}))
}

fn user(text: &str) -> Value {
    said("user_message_chunk", text)
}

fn agent(text: &str) -> Value {
    said("agent_message_chunk", text)
}

fn thought(text: &str) -> Value {
    said("agent_thought_chunk", text)
}

/// The same chunk with a message id.
fn with_id(mut chunk: Value, id: &str) -> Value {
    chunk["params"]["update"]["messageId"] = json!(id);
    chunk
}

fn call(id: &str, mut members: Value) -> Value {
    members["toolCallId"] = json!(id);
    of_kind("tool_call", members)
}

fn patch(id: &str, mut members: Value) -> Value {
    members["toolCallId"] = json!(id);
    of_kind("tool_call_update", members)
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn prompt(id: u64, text: &str) -> Value {
    request(id, "session/prompt", json!({"sessionId": "s", "prompt": [{"type": "text", "text": text}]}))
}

/// The answer to a prompt.
fn stop(id: u64, reason: &str) -> Value {
    answer(id, json!({"stopReason": reason}))
}

fn cancel() -> Value {
    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}})
}

fn ask(id: u64, tool: Value) -> Value {
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    request(id, "session/request_permission", json!({"sessionId": "s", "toolCall": tool, "options": options}))
}

fn lines_of(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn an_image_that_the_agent_repeats_is_no_second_message_of_the_user() {
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let parts = json!([{"type": "text", "text": "see"}, image]);
    let sent = request(1, "session/prompt", json!({"sessionId": "s", "prompt": parts}));
    let mut before = chat_of(Format::Acp, Options::default());
    before.push(lines_of(std::slice::from_ref(&sent)).as_bytes());
    let mut chat = chat_of(Format::Acp, Options::default());
    let echo = of_kind("user_message_chunk", json!({"content": image}));
    chat.push(lines_of(&[sent, user("see"), echo]).as_bytes());
    assert_eq!(chat.rows(), before.rows());
    assert_eq!(chat.chat.rows().count(), 1);
}

/// Feeds the records in every way; these rows must stand before the end, and no fault.
#[track_caller]
fn check(records: &[Value], expected: &str) -> Chat {
    let chat = check_text(&lines_of(records), expected, &[]);
    assert_eq!(chat.counts().records(), records.len() as u64, "a record is counted twice, or not at all");
    chat
}

/// The same for an input as it stands.
#[track_caller]
fn check_text(input: &str, expected: &str, faults: &[&str]) -> Chat {
    let run = |cuts: Cuts| {
        let mut chat = chat_of(Format::Acp, Options::default());
        chat.feed(input.as_bytes(), cuts);
        chat.drain();
        assert!(chat.drain().is_empty());
        chat
    };
    let chat = run(Cuts::Whole);
    assert_eq!(chat.lines(), unindent(expected));
    assert_eq!(chat.faults(), faults);
    for cuts in [1, 2, 3, 7, 64].map(Cuts::Every).into_iter().chain((0..4).map(Cuts::Seed)) {
        let other = run(cuts);
        assert_eq!(other.rows(), chat.rows(), "{cuts:?}");
        assert_eq!(other.panels(), chat.panels(), "{cuts:?}");
        assert_eq!(other.counts(), chat.counts(), "{cuts:?}");
    }
    never_run(&mut run(Cuts::Whole));
    // Declared as a replay while the stream lives, and after its end.
    let mut again = run(Cuts::Whole);
    replays(&mut again, input, false);
    let end = again.finish();
    again.drain();
    rests(&again.rows(), "at the end");
    replays(&mut again, input, true);
    assert_eq!(again.chat.end(again.stream), Some(end));
    chat
}

/// The same input once more, declared, changes nothing and says nothing.
#[track_caller]
fn replays(chat: &mut Chat, input: &str, ended: bool) {
    let (rows, panels) = (chat.rows(), chat.panels());
    for cuts in [Cuts::Whole, Cuts::Seed(7)] {
        chat.chat.restart(chat.stream);
        chat.feed(input.as_bytes(), cuts);
        if ended {
            chat.finish();
        }
        let ops = chat.drain();
        assert_eq!(chat.lines(), support::lines(&rows), "a replay changes rows");
        assert_eq!(chat.rows(), rows, "a replay changes rows");
        assert_eq!(chat.panels(), panels, "a replay changes panels");
        if matches!(cuts, Cuts::Whole) {
            assert_eq!(ops, Vec::<Value>::new(), "a replay that changes nothing is not silent");
        }
    }
}

/// Calls of an agent are its own: none may be run from here.
fn never_run(chat: &mut Chat) {
    let calls: Vec<_> = chat.chat.rows().filter(|row| row.tool.is_some()).map(|row| (row.id, row.state)).collect();
    for (id, state) in calls.into_iter().filter(|(_, state)| *state == chatrows::RowState::Pending) {
        assert!(chat.chat.tool_started(ToolRef::Row(id)).is_err(), "a {state:?} call may run");
    }
}

/// The rows after the stream's end, however it is cut.
#[track_caller]
fn ended(records: &[Value], expected: &str) -> Chat {
    let mut chat = chat_of(Format::Acp, Options::default());
    chat.feed(lines_of(records).as_bytes(), Cuts::Whole);
    chat.finish();
    chat.drain();
    rests(&chat.rows(), "at the end");
    assert_eq!(chat.lines(), unindent(expected));
    chat
}

/// A row's `tool`, by place.
fn tool(chat: &Chat, place: usize) -> Value {
    chat.rows()[place]["tool"].clone()
}

// Framing.

#[test]
fn one_message_a_line() {
    check(&[agent("a"), agent("b")], r#"text streaming "ab""#);
    let crlf = lines_of(&[agent("a"), agent("é😀")]).replace('\n', "\r\n");
    check_text(&crlf, r#"text streaming "aé😀""#, &[]);
}

#[test]
fn blank_lines_are_no_records() {
    let input = format!("{}\n\n \n{}\n\n", agent("a"), agent("b"));
    assert_eq!(check_text(&input, r#"text streaming "ab""#, &[]).counts().records(), 2);
}

/// gemini-cli#22647, #25345.
#[test]
fn report_9_a_line_of_text_between_records_is_reported_and_the_next_decodes() {
    let input = format!("{}\nLoaded cached credentials.\n{}\n", agent("a"), agent("b"));
    let chat = check_text(&input, r#"text streaming "ab""#, &["json"]);
    assert_eq!((chat.counts().faulted, chat.counts().applied), (1, 2));
}

#[test]
fn report_9_and_so_is_one_before_the_first() {
    let input = format!("Loaded cached credentials.\n{}\n{}\n", agent("a"), agent("b"));
    let chat = check_text(&input, r#"text streaming "ab""#, &["not-a-record"]);
    assert_eq!((chat.counts().faulted, chat.counts().applied), (1, 2));
}

/// typescript-sdk#210.
#[test]
fn what_is_no_object_is_skipped() {
    let input = format!("{}\nnull\n1\n\"x\"\n[]\ntrue\n{}\n", agent("a"), agent("b"));
    let chat = check_text(&input, r#"text streaming "ab""#, &[]);
    assert_eq!(chat.counts().skipped, 5);
}

#[test]
fn values_may_follow_one_another_without_line_ends_or_over_many_lines() {
    let records = [agent("a"), call("t", json!({"title": "Read", "status": "completed"})), agent("b")];
    let expected = "text done \"a\"\ntool done ?#t() title \"Read\"\ntext streaming \"b\"";
    check_text(&records.iter().map(Value::to_string).collect::<String>(), expected, &[]);
    let pretty: String = records.iter().map(|record| serde_json::to_string_pretty(record).unwrap()).collect();
    check_text(&pretty, expected, &[]);
}

#[test]
fn adapters_write_kind_and_payload_or_method_and_args() {
    let params = |text: &str| agent(text)["params"].clone();
    check(&[json!({"kind": "sessionUpdate", "payload": params("a")})], r#"text streaming "a""#);
    check(&[json!({"method": "sessionUpdate", "args": [params("a")]})], r#"text streaming "a""#);
    check(&[params("a"), params("b")], r#"text streaming "ab""#);
    check(
        &[json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}})],
        r#"text streaming "a""#,
    );
    let tool = json!({"toolCallId": "t", "title": "Edit"});
    let asked = json!({"sessionId": "s", "toolCall": tool, "options": [{"optionId": "y", "kind": "allow_once"}]});
    check(&[json!({"kind": "requestPermission", "payload": asked})], r#"tool pending ?#t() title "Edit" may"#);
    let ended = json!({"kind": "promptResponse", "payload": {"stopReason": "end_turn"}});
    check(&[json!({"kind": "sessionUpdate", "payload": params("a")}), ended], r#"text done "a""#);
    let opened = json!({"kind": "initialize", "payload": {"protocolVersion": 1}});
    assert_eq!(check(&[opened], "").counts().no_op, 1);
}

/// Real captures hold both sides, and each side counts its own requests.
#[test]
fn both_directions_in_one_capture_with_ids_that_collide() {
    let chat = check(
        &[
            request(0, "initialize", json!({"protocolVersion": 1})),
            answer(0, json!({"protocolVersion": 1, "agentCapabilities": {}})),
            request(1, "session/new", json!({"cwd": "/p", "mcpServers": []})),
            answer(1, json!({"sessionId": "s"})),
            prompt(2, "edit it"),
            agent("I "),
            request(1, "fs/read_text_file", json!({"sessionId": "s", "path": "/p/a"})),
            answer(1, json!({"content": "x"})),
            agent("see."),
            ask(2, json!({"toolCallId": "t", "title": "Edit a", "kind": "edit"})),
            answer(2, json!({"outcome": {"outcome": "selected", "optionId": "yes"}})),
            patch("t", json!({"status": "completed"})),
            request(3, "terminal/create", json!({"sessionId": "s", "command": "ls"})),
            answer(3, json!({"terminalId": "term1"})),
            stop(2, "end_turn"),
        ],
        r#"
        user done "edit it"
        text done "I see."
        tool done ?#t() title "Edit a" chose yes
        "#,
    );
    assert_eq!(chat.panels()["activity"]["state"], "idle");
    assert_eq!(chat.counts().skipped, 0);
}

#[test]
fn an_answer_with_an_error_to_a_prompt_ends_the_turn_and_says_so() {
    let failed = json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "Internal error", "data": {"details": "no quota"}}});
    let chat = check(
        &[prompt(2, "go"), agent("a"), call("t", json!({"title": "Run", "status": "in_progress"})), failed],
        r#"
        user done "go"
        text done "a"
        tool interrupted ?#t() title "Run"
        error done !-32603 "Internal error"
        "#,
    );
    assert_eq!(chat.panels()["activity"]["state"], "idle");
}

/// The editor's refusal of what the agent asked for is the agent's to deal with.
#[test]
fn an_error_that_the_editor_answers_with_is_no_end_of_the_turn() {
    let failed = |id: u64| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "No such file"}});
    let chat = check(
        &[
            prompt(2, "go"),
            request(2, "fs/read_text_file", json!({"sessionId": "s", "path": "/p/a"})),
            failed(2),
            agent("a"),
            ask(3, json!({"toolCallId": "t", "title": "Edit"})),
            failed(3),
            agent("b"),
        ],
        r#"
        user done "go"
        text done "a"
        tool pending ?#t() title "Edit"
        text streaming "b"
        "#,
    );
    assert_eq!(chat.panels()["activity"]["state"], "streaming");
}

#[test]
fn an_unknown_method_is_skipped_and_counted() {
    let records = [
        json!({"jsonrpc": "2.0", "method": "_vendor/goal", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 7, "method": "session/teleport", "params": {}}),
        update(json!({"sessionUpdate": "never_heard_of", "content": {"type": "text", "text": "x"}})),
        update(json!({})),
        json!({"jsonrpc": "2.0"}),
        json!({"hello": 1}),
    ];
    assert_eq!(check(&records, "").counts().skipped, records.len() as u64);
}

// 2.1, stable variants.

#[test]
fn user_message_chunk() {
    check(&[user("Fix "), user("it")], r#"user done "Fix it""#);
    let chat = check(&[with_id(user("Fix it"), "m_u1")], r#"user done "Fix it""#);
    assert_eq!(chat.panels()["activity"]["state"], "idle");
}

#[test]
fn agent_message_chunk() {
    let chat = check(&[with_id(agent("Lo"), "m_a1"), with_id(agent("ok"), "m_a1")], r#"text streaming "Look""#);
    assert_eq!(chat.panels()["activity"]["state"], "streaming");
    ended(&[agent("Look")], r#"text interrupted "Look""#);
}

#[test]
fn agent_thought_chunk() {
    check(&[thought("H"), thought("mm"), agent("So")], "reasoning done \"Hmm\"\ntext streaming \"So\"");
}

#[test]
fn tool_call() {
    let members = json!({
        "title": "Edit a.rs", "kind": "edit", "status": "pending",
        "content": [{"type": "diff", "path": "/p/a.rs", "oldText": null, "newText": "x"}],
        "locations": [{"path": "/p/a.rs", "line": 3}], "rawInput": {"path": "a.rs"},
    });
    let chat = check(&[call("t1", members)], r#"tool pending ?#t1({"path":"a.rs"}) whole title "Edit a.rs""#);
    let row = &chat.rows()[0];
    assert_eq!(row["busy"], true);
    assert_eq!(row["key"], "t1");
    assert_eq!(row["tool"]["kind"], "edit");
    assert_eq!(row["tool"]["content"], json!([{"type": "diff", "path": "/p/a.rs", "newText": "x"}]));
    assert_eq!(row["tool"]["locations"], json!([{"path": "/p/a.rs", "line": 3}]));
}

#[test]
fn tool_call_update() {
    let content = json!([
        {"type": "content", "content": {"type": "text", "text": "ok"}},
        {"type": "terminal", "terminalId": "term1"},
    ]);
    let chat = check(
        &[
            call("t1", json!({"title": "Run"})),
            patch("t1", json!({"status": "completed", "content": content, "rawOutput": "done"})),
        ],
        r#"tool done ?#t1() title "Run" output "done""#,
    );
    assert_eq!(tool(&chat, 0)["content"], json!([{"type": "text", "text": "ok"}]));
}

#[test]
fn plan() {
    let entry = |text: &str, status: &str| json!({"content": text, "priority": "medium", "status": status});
    let plan = |entries: &[Value]| of_kind("plan", json!({"entries": entries}));
    let chat = check(&[plan(&[entry("One", "completed"), entry("Two", "in_progress")])], "");
    assert_eq!(chat.panels()["plan"]["entries"], json!([entry("One", "completed"), entry("Two", "in_progress")]));
    // The list is complete: it replaces the one before.
    let chat =
        check(&[plan(&[entry("One", "pending"), entry("Two", "pending")]), plan(&[entry("Three", "pending")])], "");
    assert_eq!(chat.panels()["plan"]["entries"], json!([entry("Three", "pending")]));
    // An entry of an unknown status is none.
    let chat =
        check(&[plan(&[entry("One", "cancelled"), json!({"priority": "low"}), json!(3), entry("Two", "pending")])], "");
    assert_eq!(chat.panels()["plan"]["entries"], json!([entry("Two", "pending")]));
    assert_eq!(chat.counts().faulted, 0);
}

#[test]
fn available_commands_update() {
    let commands = json!([
        {"name": "web", "description": "Search", "input": {"hint": "query"}},
        {"name": "init", "description": "Init", "input": null},
    ]);
    let chat = check(&[of_kind("available_commands_update", json!({"availableCommands": commands}))], "");
    assert_eq!(chat.panels()["commands"]["available"], commands);
    let fewer = of_kind("available_commands_update", json!({"availableCommands": [1, {"description": "nameless"}]}));
    let chat = check(&[of_kind("available_commands_update", json!({"availableCommands": commands})), fewer], "");
    assert_eq!(chat.panels()["commands"]["available"], json!([]));
}

#[test]
fn current_mode_update() {
    let chat = check(&[of_kind("current_mode_update", json!({"currentModeId": "plan"}))], "");
    assert_eq!(chat.panels()["mode"], json!({"current": "plan"}));
}

fn options() -> Value {
    json!([
        {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "a",
         "options": [{"value": "a", "name": "A"}]},
        {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true},
        {"id": "effort", "name": "Effort", "category": "unheard_of", "type": "select", "currentValue": "b",
         "options": [{"group": "g", "name": "G", "options": [{"value": "b", "name": "B"}]}]},
    ])
}

#[test]
fn config_option_update() {
    let chat = check(&[of_kind("config_option_update", json!({"configOptions": options()}))], "");
    assert_eq!(chat.panels()["mode"]["options"], options());
    let mut unknown = options();
    unknown[1]["type"] = json!("slider");
    let chat = check(&[of_kind("config_option_update", json!({"configOptions": unknown}))], "");
    assert_eq!(chat.panels()["mode"]["options"], json!([options()[0], options()[2]]), "an unknown type is ignored");
}

#[test]
fn options_supersede_modes_whichever_come_first() {
    let modes = json!({"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]});
    let only_modes = [answer(1, json!({"sessionId": "s", "modes": modes}))];
    let chat = check(&only_modes, "");
    assert_eq!(chat.panels()["mode"], json!({"current": "ask", "available": modes["availableModes"]}));
    let both = [answer(1, json!({"sessionId": "s", "modes": modes, "configOptions": options()}))];
    assert_eq!(check(&both, "").panels()["mode"], json!({"options": options()}));
    let mode = of_kind("current_mode_update", json!({"currentModeId": "code"}));
    let late = [of_kind("config_option_update", json!({"configOptions": options()})), mode];
    assert_eq!(check(&late, "").panels()["mode"], json!({"options": options()}));
}

#[test]
fn session_info_update() {
    let info = |info: Value| of_kind("session_info_update", info);
    let chat = check(&[info(json!({"title": "Tides", "updatedAt": "2026-08-20T10:00:00Z"}))], "");
    assert_eq!(chat.panels()["session"], json!({"title": "Tides", "updatedAt": "2026-08-20T10:00:00Z"}));
    // Absent is as it was, null takes it back, another type says nothing.
    let chat = check(&[info(json!({"title": "Tides", "updatedAt": "1"})), info(json!({"updatedAt": "2"}))], "");
    assert_eq!(chat.panels()["session"], json!({"title": "Tides", "updatedAt": "2"}));
    let chat =
        check(&[info(json!({"title": "Tides", "updatedAt": "1"})), info(json!({"title": null, "updatedAt": 5}))], "");
    assert_eq!(chat.panels()["session"], json!({"updatedAt": "1"}));
}

#[test]
fn usage_update() {
    let usage = |usage: Value| of_kind("usage_update", usage);
    let cost = json!({"amount": 0.045, "currency": "USD"});
    let chat = check(&[usage(json!({"used": 53000, "size": 200000, "cost": cost}))], "");
    assert_eq!(chat.panels()["usage"], json!({"used": 53000, "size": 200000, "cost": cost}));
    // Neither null nor another type says anything.
    let chat = check(
        &[usage(json!({"used": 5, "size": 9, "cost": cost})), usage(json!({"used": null, "size": "9", "cost": 3}))],
        "",
    );
    assert_eq!(chat.panels()["usage"], json!({"used": 5, "size": 9, "cost": cost}));
    assert_eq!((chat.counts().applied, chat.counts().no_op), (1, 1));
}

// 2.2, unstable variants.

#[test]
fn plan_update_and_plan_removed() {
    let entries = json!([{"content": "One", "status": "pending"}]);
    let plan = |plan: Value| of_kind("plan_update", json!({"plan": plan}));
    let items = plan(json!({"type": "items", "planId": "p", "entries": entries}));
    assert_eq!(check(std::slice::from_ref(&items), "").panels()["plan"], json!({"entries": entries}));
    let markdown = plan(json!({"type": "markdown", "planId": "p", "content": "# Plan"}));
    assert_eq!(check(&[items.clone(), markdown], "").panels()["plan"], json!({"text": "# Plan"}));
    let file = plan(json!({"type": "file", "planId": "p", "uri": "file:///plan.md"}));
    assert_eq!(check(&[file], "").panels()["plan"], json!({"text": "file:///plan.md"}));
    let removed = |id: &str| of_kind("plan_removed", json!({"planId": id}));
    assert_eq!(check(&[items.clone(), removed("q")], "").panels()["plan"], json!({"entries": entries}));
    assert_eq!(check(&[items, removed("p")], "").panels().get("plan"), None);
}

#[test]
fn notice() {
    let notice =
        |severity: &str| of_kind("notice", json!({"severity": severity, "title": "Low disk", "description": "2 MB"}));
    check(&[notice("warning")], r#"notice done "Low disk\n2 MB""#);
    check(&[notice("other")], r#"notice done "Low disk\n2 MB""#);
    check(&[notice("error")], r#"error done "Low disk\n2 MB""#);
    check(&[of_kind("notice", json!({"severity": "info", "title": "Hello"}))], r#"notice done "Hello""#);
}

#[test]
fn compaction_update() {
    let compaction = |status: &str, more: Value| {
        let mut members = more;
        members["compactionId"] = json!("c");
        members["status"] = json!(status);
        of_kind("compaction_update", members)
    };
    let begun = compaction("in_progress", json!({}));
    check(std::slice::from_ref(&begun), "compaction running say.condensing");
    let summary = json!({"summary": {"type": "text", "text": "short"}});
    check(&[begun.clone(), compaction("completed", summary)], r#"compaction done say.condense "short""#);
    let failed = compaction("failed", json!({"error": "no room"}));
    check(&[begun.clone(), failed], r#"compaction failed say.condense "no room""#);
    check(&[begun.clone(), compaction("cancelled", json!({}))], "compaction cancelled say.condense");
    ended(&[begun], "compaction interrupted say.condensing");
}

#[test]
fn compaction_summary_chunk() {
    let begun = of_kind("compaction_update", json!({"compactionId": "c", "status": "in_progress"}));
    let chunk = |text: &str| {
        of_kind("compaction_summary_chunk", json!({"compactionId": "c", "content": {"type": "text", "text": text}}))
    };
    let done = of_kind("compaction_update", json!({"compactionId": "c", "status": "completed"}));
    check(&[begun.clone(), chunk("a"), chunk("b"), done], r#"compaction done say.condense "ab""#);
    // It may be the first that is heard of it.
    check(&[chunk("a"), chunk("b")], r#"compaction running say.condensing "ab""#);
}

#[test]
fn the_name_of_a_call_and_the_tokens_of_a_prompt() {
    check(&[call("t", json!({"name": "Bash", "title": "ls"}))], r#"tool pending Bash#t() title "ls""#);
    let usage = json!({"totalTokens": 9, "inputTokens": 5, "outputTokens": 4, "thoughtTokens": 1, "cachedReadTokens": 2, "cachedWriteTokens": 0});
    let chat =
        check(&[prompt(1, "a"), answer(1, json!({"stopReason": "end_turn", "usage": usage}))], r#"user done "a""#);
    let shown = json!({"totalTokens": 9, "inputTokens": 5, "outputTokens": 4, "reasoningTokens": 1, "cachedTokens": 2});
    assert_eq!(chat.panels()["usage"], shown);
}

// Vendor variants, and sessions inside sessions.

fn spawned() -> Value {
    of_kind(
        "subagent_spawned",
        json!({"subagentSessionId": "s:sub", "name": "Explore", "task": "Look around", "capabilities": {}}),
    )
}

fn subagent(state: &str) -> Value {
    of_kind("subagent_state_update", json!({"subagentSessionId": "s:sub", "state": state}))
}

fn inside(update: Value) -> Value {
    let mut update = update;
    update["params"]["sessionId"] = json!("s:sub");
    update
}

#[test]
fn what_a_subagent_says_stands_inside_its_row() {
    let chat = check(
        &[
            spawned(),
            inside(agent("I look.")),
            inside(call("t", json!({"title": "Read"}))),
            agent("Main."),
            subagent("completed"),
        ],
        r#"
        tool done Explore() title "Look around"
        text done "I look." parent 1
        tool pending ?#t() title "Read" parent 1
        text streaming "Main."
        "#,
    );
    assert_eq!(chat.rows()[0]["tool"]["kind"], "subagent");
}

#[test]
fn a_subagent_that_goes_on_ends_with_its_turn() {
    check(&[spawned(), stop(1, "end_turn")], r#"tool interrupted Explore() title "Look around""#);
    check(&[spawned(), cancel()], r#"tool cancelled Explore() title "Look around""#);
    check(&[spawned(), stop(1, "end_turn"), subagent("completed")], r#"tool done Explore() title "Look around""#);
    check(&[spawned(), subagent("failed")], r#"tool failed Explore() title "Look around""#);
    ended(&[spawned()], r#"tool interrupted Explore() title "Look around""#);
}

#[test]
fn a_session_without_a_parent_stands_beside_the_first() {
    let other = |chunk: Value| inside(chunk);
    check(
        &[agent("a"), other(agent("x")), agent("b"), other(agent("y"))],
        "text streaming \"ab\"\ntext streaming \"xy\"",
    );
    // A call is known by its session and id.
    check(
        &[call("t", json!({"title": "One"})), other(call("t", json!({"title": "Two"})))],
        "tool pending ?#t() title \"One\"\ntool pending ?#t() title \"Two\"",
    );
    // And so is a message.
    check(&[with_id(agent("a"), "m"), other(with_id(agent("x"), "m"))], "text streaming \"a\"\ntext streaming \"x\"");
}

#[test]
fn the_call_that_an_update_names_as_its_parent_holds_it() {
    let mut child = call("u", json!({"title": "Grep"}));
    child["params"]["update"]["_meta"] = json!({"claudeCode": {"parentToolUseId": "t", "toolName": "Grep"}});
    let mut text = agent("inner");
    text["params"]["update"]["_meta"] = json!({"claudeCode": {"parentToolUseId": "t"}});
    check(
        &[call("t", json!({"title": "Task"})), child, text],
        r#"
        tool pending ?#t() title "Task"
        tool pending Grep#u() title "Grep" parent 1
        text streaming "inner" parent 1
        "#,
    );
}

// 3, parts.

#[test]
fn every_content_block_of_a_message() {
    let block = |content: Value| of_kind("agent_message_chunk", json!({"content": content}));
    check(
        &[block(json!({"type": "text", "text": "a", "annotations": {"audience": ["user"]}}))],
        r#"text streaming "a""#,
    );
    check(
        &[
            agent("a"),
            block(json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "uri": "/p/i.png"})),
        ],
        r#"text streaming "a" images data:image/png;base64,iVBORw0KGgo="#,
    );
    let chat = check(
        &[block(json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}))],
        r#"text streaming file ?"#,
    );
    assert_eq!(chat.rows()[0]["files"], json!([{"url": "data:audio/wav;base64,UklGRg==", "mediaType": "audio/wav"}]));
    let link = block(
        json!({"type": "resource_link", "name": "a.rs", "title": "The file", "uri": "file:///p/a.rs", "mimeType": "text/x-rust", "size": 9}),
    );
    let chat = check(&[link], r#"text streaming file The file"#);
    assert_eq!(
        chat.rows()[0]["files"],
        json!([{"name": "The file", "url": "file:///p/a.rs", "mediaType": "text/x-rust"}])
    );
    let text = block(json!({"type": "resource", "resource": {"uri": "file:///p/b.rs", "text": "fn b() {}"}}));
    check(&[text], r#"text streaming file file:///p/b.rs"#);
    let blob = block(json!({"type": "resource", "resource": {"uri": "file:///p/c", "blob": "AAAA"}}));
    check(&[blob], r#"text streaming file file:///p/c"#);
    // What says nothing is nothing.
    let nothing =
        [block(json!({"type": "unheard_of", "text": "x"})), block(json!(null)), block(json!({"type": "image"}))];
    assert_eq!(check(&nothing, "").counts().no_op, 3);
}

#[test]
fn an_image_of_the_user_stands_in_the_users_row() {
    let image = json!({"content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}});
    check(
        &[with_id(user("see"), "u"), with_id(of_kind("user_message_chunk", image), "u")],
        r#"user done "see" images data:image/png;base64,AAAA"#,
    );
}

#[test]
fn every_kind_of_tool() {
    for kind in ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] {
        let chat = check(&[call("t", json!({"title": "x", "kind": kind}))], r#"tool pending ?#t() title "x""#);
        assert_eq!(tool(&chat, 0)["kind"], kind);
    }
    let chat = check(&[call("t", json!({"title": "x", "kind": "dance"}))], r#"tool pending ?#t() title "x""#);
    assert_eq!(tool(&chat, 0)["kind"], "other");
    let chat = check(
        &[
            call("t", json!({"title": "x", "kind": "edit"})),
            patch("t", json!({"kind": null})),
            patch("t", json!({"kind": 4})),
        ],
        r#"tool pending ?#t() title "x""#,
    );
    assert_eq!(tool(&chat, 0)["kind"], "edit");
}

#[test]
fn every_status_of_a_call() {
    let with = |status: Value| call("t", json!({"title": "x", "status": status}));
    let pending = r#"tool pending ?#t() title "x""#;
    let chat = check(&[call("t", json!({"title": "x"}))], pending);
    assert_eq!(chat.rows()[0]["busy"], true, "the agent is at it");
    check(&[with(json!("pending"))], pending);
    let chat = check(&[with(json!("in_progress"))], r#"tool running ?#t() title "x""#);
    assert_eq!(chat.rows()[0]["busy"], true);
    check(&[with(json!("completed"))], r#"tool done ?#t() title "x""#);
    check(&[with(json!("failed"))], r#"tool failed ?#t() title "x""#);
    check(&[with(json!("unheard_of"))], pending);
    check(&[with(json!(3))], pending);
    check(&[with(json!(null))], pending);
}

#[test]
fn a_call_that_failed_shows_its_output_as_an_error() {
    check(
        &[
            call("t", json!({"title": "x"})),
            patch("t", json!({"status": "failed", "rawOutput": {"error": "no such file"}})),
        ],
        r#"tool failed ?#t() title "x" output "no such file" wrong"#,
    );
}

#[test]
fn every_item_of_a_calls_content() {
    let content = json!([
        {"type": "content", "content": {"type": "text", "text": "one"}},
        {"type": "diff", "path": "/p/new", "oldText": null, "newText": "n"},
        {"type": "diff", "path": "/p/old", "oldText": "a\n", "newText": "b\n"},
        {"type": "terminal", "terminalId": "term1"},
        {"type": "content", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
        {"type": "content", "content": {"type": "resource_link", "name": "i.png", "uri": "/p/i.png"}},
        {"type": "unheard_of", "x": 1}, null, 3, {"type": "diff", "newText": "no path"},
        {"type": "diff", "path": "/p/x"}, {"type": "terminal"}, {"type": "content"},
    ]);
    let chat = check(
        &[call("t", json!({"title": "x", "content": content}))],
        r#"tool pending ?#t() title "x" file i.png images data:image/png;base64,AAAA"#,
    );
    // Diffs are data, and what is malformed is left out alone.
    let shown = json!([
        {"type": "text", "text": "one"},
        {"type": "diff", "path": "/p/new", "newText": "n"},
        {"type": "diff", "path": "/p/old", "oldText": "a\n", "newText": "b\n"},
        {"type": "terminal", "id": "term1"},
    ]);
    assert_eq!(tool(&chat, 0)["content"], shown);
}

#[test]
fn content_that_is_nothing_but_text_is_the_output() {
    let text = |words: &[&str]| -> Value {
        words.iter().map(|words| json!({"type": "content", "content": {"type": "text", "text": words}})).collect()
    };
    let chat = check(
        &[call("t", json!({"title": "x", "content": text(&["a", "b"])}))],
        r#"tool pending ?#t() title "x" output "a\nb""#,
    );
    assert_eq!(tool(&chat, 0).get("content"), None);
    // The same as the output is told once; other text is told beside it.
    let done = |output: &str| patch("t", json!({"status": "completed", "rawOutput": output}));
    let begun = call("t", json!({"title": "x", "content": text(&["a"])}));
    let chat = check(&[begun.clone(), done("a")], r#"tool done ?#t() title "x" output "a""#);
    assert_eq!(tool(&chat, 0).get("content"), None);
    let chat = check(&[begun.clone(), done("b")], r#"tool done ?#t() title "x" output "b""#);
    assert_eq!(tool(&chat, 0)["content"], json!([{"type": "text", "text": "a"}]));
    // And back.
    let chat = check(&[begun, done("b"), done("a")], r#"tool done ?#t() title "x" output "a""#);
    assert_eq!(tool(&chat, 0).get("content"), None);
}

#[test]
fn locations_of_a_call() {
    let at = |locations: Value| call("t", json!({"title": "x", "locations": locations}));
    let rows = r#"tool pending ?#t() title "x""#;
    let chat = check(
        &[at(
            json!([{"path": "/a", "line": 3}, {"path": "/b", "line": null}, {"line": 3}, 4, {"path": "/c", "line": "x"}]),
        )],
        rows,
    );
    assert_eq!(tool(&chat, 0)["locations"], json!([{"path": "/a", "line": 3}, {"path": "/b"}, {"path": "/c"}]));
    let chat = check(&[at(json!([{"path": "/a"}])), patch("t", json!({"locations": []}))], rows);
    assert_eq!(tool(&chat, 0).get("locations"), None);
}

/// An image of the output that shows is not told once more in letters; what only happens to stand in its letters is.
#[test]
fn the_letters_of_an_image_are_no_output() {
    let image =
        json!([{"type": "content", "content": {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}]);
    let made =
        |output: Value| call("t", json!({"title": "x", "status": "completed", "content": image, "rawOutput": output}));
    let images = "images data:image/png;base64,iVBORw0KGgo=";
    check(&[made(json!({"result": "iVBORw0KGgo="}))], &format!(r#"tool done ?#t() title "x" {images}"#));
    check(&[made(json!("KG"))], &format!(r#"tool done ?#t() title "x" output "KG" {images}"#));
    check(&[made(json!(""))], &format!(r#"tool done ?#t() title "x" output "" {images}"#));
}

// Permission.

#[test]
fn a_permission_that_is_granted() {
    let asked = [
        call("t", json!({"title": "Edit a", "kind": "edit"})),
        ask(5, json!({"toolCallId": "t", "rawInput": {"a": 1}})),
    ];
    let chat = check(&asked, r#"tool pending ?#t({"a":1}) whole title "Edit a" may"#);
    let permission = json!({"request": 5, "options": [
        {"id": "yes", "label": "Yes", "kind": "allow_once"}, {"id": "no", "label": "No", "kind": "reject_once"},
    ]});
    assert_eq!(chat.rows()[0]["permission"], permission);
    assert_eq!(chat.rows()[0]["busy"], false, "it is the reader's turn");
    let [call, ask] = asked;
    let yes = answer(5, json!({"outcome": {"outcome": "selected", "optionId": "yes"}}));
    let chosen = [call, ask, yes];
    let chat = check(&chosen, r#"tool pending ?#t({"a":1}) whole title "Edit a" chose yes"#);
    assert_eq!(chat.rows()[0]["busy"], true, "it is the agent's");
    let [call, ask, yes] = chosen;
    check(
        &[call, ask, yes, patch("t", json!({"status": "in_progress"})), patch("t", json!({"status": "completed"}))],
        r#"tool done ?#t({"a":1}) whole title "Edit a" chose yes"#,
    );
}

#[test]
fn a_permission_that_is_refused() {
    check(
        &[
            call("t", json!({"title": "Edit a"})),
            ask(5, json!({"toolCallId": "t"})),
            answer(5, json!({"outcome": {"outcome": "selected", "optionId": "no"}})),
            patch("t", json!({"status": "failed"})),
        ],
        r#"tool failed ?#t() title "Edit a" chose no"#,
    );
}

#[test]
fn a_permission_that_a_cancel_answers() {
    check(
        &[
            prompt(1, "go"),
            call("t", json!({"title": "Edit a"})),
            ask(5, json!({"toolCallId": "t"})),
            cancel(),
            answer(5, json!({"outcome": {"outcome": "cancelled"}})),
            stop(1, "cancelled"),
        ],
        "user done \"go\"\ntool cancelled ?#t() title \"Edit a\"",
    );
}

#[test]
fn a_permission_that_nobody_answers() {
    let asked = [call("t", json!({"title": "Edit a"})), ask(5, json!({"toolCallId": "t"}))];
    let [call, ask] = asked.clone();
    check(&[call.clone(), ask.clone(), stop(1, "end_turn")], r#"tool interrupted ?#t() title "Edit a""#);
    // The agent went on without it, as one that allows itself what it asks.
    check(&[call, ask, patch("t", json!({"status": "completed"}))], r#"tool done ?#t() title "Edit a""#);
    let mut chat = ended(&asked, r#"tool interrupted ?#t() title "Edit a" may"#);
    never_run(&mut chat);
}

/// gemini-cli#21783.
#[test]
fn report_1_a_permission_may_be_the_first_that_is_heard_of_a_call() {
    let asked =
        ask(5, json!({"toolCallId": "t", "title": "Run ls", "kind": "execute", "content": [], "status": "pending"}));
    check(std::slice::from_ref(&asked), r#"tool pending ?#t() title "Run ls" may"#);
    check(
        &[
            asked,
            answer(5, json!({"outcome": {"outcome": "selected", "optionId": "yes"}})),
            patch("t", json!({"status": "completed"})),
        ],
        r#"tool done ?#t() title "Run ls" chose yes"#,
    );
    // Without an id there is nothing to ask about.
    let nameless = lines_of(&[ask(5, json!({"title": "Run ls"}))]);
    check_text(&nameless, "", &["tool-call-id"]);
}

#[test]
fn options_of_a_permission_that_say_nothing_are_left_out() {
    let options =
        json!([{"name": "No id"}, 3, {"optionId": "y"}, {"optionId": "z", "kind": "allow_always", "name": null}]);
    let asked = request(
        5,
        "session/request_permission",
        json!({"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options}),
    );
    let chat = check(&[asked], r#"tool pending ?#t() title "t" may"#);
    assert_eq!(chat.rows()[0]["permission"]["options"], json!([{"id": "y"}, {"id": "z", "kind": "allow_always"}]));
}

// Elicitation.

fn form(id: u64, properties: Value) -> Value {
    let schema = json!({"type": "object", "properties": properties});
    request(
        id,
        "elicitation/create",
        json!({"sessionId": "s", "mode": "form", "message": "Which one?", "requestedSchema": schema}),
    )
}

#[test]
fn a_form_of_one_value_is_a_question() {
    let asked = form(5, json!({"name": {"type": "string", "title": "Name"}}));
    let chat = check(std::slice::from_ref(&asked), r#"question pending "Which one?""#);
    assert_eq!(chat.rows()[0]["question"], json!({"request": 5, "name": "name", "custom": true, "type": "string"}));
    assert_eq!(chat.rows()[0]["busy"], false);
    let given = answer(5, json!({"action": "accept", "content": {"name": "Tide"}}));
    check(&[asked.clone(), given], r#"question done "Which one?" answer "Tide""#);
    for action in ["decline", "cancel"] {
        check(&[asked.clone(), answer(5, json!({"action": action}))], r#"question cancelled "Which one?""#);
    }
    check(&[asked.clone(), stop(1, "end_turn")], r#"question expired "Which one?""#);
    check(&[asked, cancel()], r#"question expired "Which one?""#);
}

#[test]
fn what_a_form_offers_to_choose_from() {
    let one = |property: Value| {
        let chat = check(&[form(5, json!({"v": property}))], r#"question pending "Which one?""#);
        chat.rows()[0]["question"].clone()
    };
    let with_options = |property: Value, labels: &str| {
        let chat = check(&[form(5, json!({"v": property}))], &format!(r#"question pending "Which one?" ({labels})"#));
        chat.rows()[0]["question"].clone()
    };
    assert_eq!(one(json!({"type": "integer"}))["type"], "integer");
    with_options(json!({"type": "string", "enum": ["a", "b"]}), "a | b");
    let titled =
        with_options(json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}), "A | b");
    assert_eq!(titled["options"], json!([{"id": "a", "label": "A"}, {"id": "b", "label": "b"}]));
    let several = with_options(json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}), "a | b");
    assert_eq!(several["multiple"], true);
    let several = with_options(json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}), "A");
    assert_eq!(several["multiple"], true);
    with_options(json!({"type": "boolean"}), "true | false");
}

#[test]
fn what_was_entered_in_a_form_of_any_type_shows() {
    let filled = |property: Value, value: Value| {
        let given = answer(5, json!({"action": "accept", "content": {"v": value}}));
        let mut chat = chat_of(Format::Acp, Options::default());
        chat.feed(lines_of(&[form(5, json!({"v": property})), given]).as_bytes(), Cuts::Whole);
        chat.drain();
        chat.rows()[0]["question"]["answer"].clone()
    };
    assert_eq!(filled(json!({"type": "boolean"}), json!(true)), "true");
    assert_eq!(filled(json!({"type": "number"}), json!(2.5)), "2.5");
    assert_eq!(filled(json!({"type": "array"}), json!(["a", "b"])), json!(["a", "b"]));
    assert_eq!(filled(json!({"type": "string"}), json!(null)), Value::Null);
}

#[test]
fn a_form_of_several_values_has_parts() {
    let asked = form(
        5,
        json!({
            "name": {"type": "string", "title": "Name"},
            "color": {"type": "string", "description": "Which color?", "enum": ["red", "blue"]},
            "plain": {"type": "boolean"},
        }),
    );
    let chat = check(std::slice::from_ref(&asked), r#"question pending "Which one?""#);
    let parts = json!([
        {"text": "Which color?", "name": "color", "options": [{"label": "red"}, {"label": "blue"}], "type": "string"},
        {"text": "Name", "name": "name", "custom": true, "type": "string"},
        {"text": "plain", "name": "plain", "options": [{"label": "true"}, {"label": "false"}], "type": "boolean"},
    ]);
    assert_eq!(chat.rows()[0]["question"], json!({"request": 5, "parts": parts}));
    let given = answer(5, json!({"action": "accept", "content": {"name": "Tide", "plain": true}}));
    let chat = check(&[asked, given], r#"question done "Which one?""#);
    let answers: Vec<Value> = (0..3).map(|part| chat.rows()[0]["question"]["parts"][part]["answer"].clone()).collect();
    assert_eq!(answers, [Value::Null, json!("Tide"), json!("true")]);
}

#[test]
fn a_request_to_go_elsewhere_is_a_question_with_a_link() {
    let asked = request(
        5,
        "elicitation/create",
        json!({"sessionId": "s", "mode": "url", "elicitationId": "e", "url": "https://a.example/login", "message": "Sign in"}),
    );
    let chat =
        check(std::slice::from_ref(&asked), r#"question pending "Sign in" (OK) sources https://a.example/login"#);
    assert_eq!(chat.rows()[0]["question"]["request"], 5);
    let complete = json!({"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "e"}});
    check(&[asked.clone(), complete.clone()], r#"question done "Sign in" (OK) sources https://a.example/login"#);
    check(
        &[asked, complete.clone(), stop(1, "end_turn")],
        r#"question done "Sign in" (OK) sources https://a.example/login"#,
    );
    check(&[complete], "");
}

// 4, patch and null rules.

#[test]
fn absent_null_and_wrong_types_leave_a_call_as_it_was() {
    let begun = call(
        "t",
        json!({
            "title": "Edit a", "kind": "edit", "status": "in_progress", "rawInput": {"a": 1}, "rawOutput": "out",
            "content": [{"type": "diff", "path": "/p", "newText": "x"}], "locations": [{"path": "/p"}],
        }),
    );
    let names = ["title", "kind", "status", "rawInput", "rawOutput", "content", "locations", "name"];
    let expected = r#"tool running ?#t({"a":1}) whole title "Edit a" output "out""#;
    let before = check(std::slice::from_ref(&begun), expected).rows();
    for wrong in [json!(null), json!({}), json!(7), json!(false)] {
        for name in names {
            // A raw value may be anything.
            if name.starts_with("raw") && !wrong.is_null() {
                continue;
            }
            let mut members = json!({});
            members[name] = wrong.clone();
            let mut chat = chat_of(Format::Acp, Options::default());
            chat.feed(lines_of(&[begun.clone(), patch("t", members)]).as_bytes(), Cuts::Whole);
            chat.drain();
            let mut rows = chat.rows();
            if name == "kind" {
                rows[0]["tool"]["kind"] = json!("edit");
            }
            assert_eq!(rows, before, "{name} {wrong}");
            assert_eq!(chat.counts().faulted, 0);
        }
    }
    assert_eq!(check(&[begun, patch("t", json!({}))], expected).counts().no_op, 1);
}

#[test]
fn content_and_locations_are_replaced_whole_and_cleared_by_empty_ones() {
    let diff = |text: &str| json!([{"type": "diff", "path": "/p", "newText": text}]);
    let rows = r#"tool pending ?#t() title "x""#;
    let begun = call("t", json!({"title": "x", "content": diff("1"), "locations": [{"path": "/p"}]}));
    let chat = check(&[begun.clone(), patch("t", json!({"content": diff("2")}))], rows);
    assert_eq!(tool(&chat, 0)["content"], diff("2"));
    let chat = check(&[begun, patch("t", json!({"content": [], "locations": []}))], rows);
    assert_eq!((tool(&chat, 0).get("content"), tool(&chat, 0).get("locations")), (None, None));
}

#[test]
fn an_id_is_a_message_and_another_id_another_even_side_by_side() {
    check(&[with_id(agent("a"), "m1"), with_id(agent("b"), "m2")], "text done \"a\"\ntext streaming \"b\"");
    // Absent and null are unknown: what follows goes on with what is there.
    let mut null = agent("c");
    null["params"]["update"]["messageId"] = Value::Null;
    check(&[with_id(agent("a"), "m1"), agent("b"), null], r#"text streaming "abc""#);
    // An id after none names another message.
    check(&[agent("a"), with_id(agent("b"), "m1")], "text done \"a\"\ntext streaming \"b\"");
    // An id that comes back means its row, wherever that stands.
    check(
        &[with_id(agent("a"), "m1"), call("t", json!({"title": "x"})), with_id(agent("b"), "m1")],
        "text done \"ab\"\ntool pending ?#t() title \"x\"",
    );
}

/// One recording gives a thought and a message the same id.
#[test]
fn a_thought_and_a_message_of_one_id_are_two_rows() {
    let both =
        [with_id(thought("hm"), "m"), with_id(agent("so"), "m"), with_id(thought("m"), "m"), with_id(agent("!"), "m")];
    let chat = check(&both, "reasoning done \"hmm\"\ntext streaming \"so!\"");
    assert_ne!(chat.rows()[0]["key"], chat.rows()[1]["key"]);
}

#[test]
fn chunks_without_ids_go_on_until_something_stands_between() {
    check(
        &[agent("a"), agent("b"), thought("c"), agent("d")],
        "text done \"ab\"\nreasoning done \"c\"\ntext streaming \"d\"",
    );
    check(&[user("a"), agent("b"), user("c")], "user done \"a\"\ntext done \"b\"\nuser done \"c\"");
    // Panels stand between nothing, nor does what is known of a call.
    let between = [agent("a"), of_kind("plan", json!({"entries": []})), agent("b")];
    check(&between, r#"text streaming "ab""#);
    let between =
        [call("t", json!({"title": "x"})), agent("a"), patch("t", json!({"status": "completed"})), agent("b")];
    check(&between, "tool done ?#t() title \"x\"\ntext streaming \"ab\"");
}

#[test]
fn a_blank_first_chunk_is_no_row_until_words_come() {
    assert_eq!(check(&[agent("\n\n")], "").counts().no_op, 1);
    check(&[agent(" "), agent("\n"), agent("a")], r#"text streaming " \na""#);
    check(
        &[thought("\n"), call("t", json!({"title": "x"})), agent("a")],
        "tool pending ?#t() title \"x\"\ntext streaming \"a\"",
    );
    check(&[agent(""), agent("a"), agent("\n\n"), agent("b")], r#"text streaming "a\n\nb""#);
    check(&[agent("(no content)"), agent("a")], r#"text streaming "a""#);
}

#[test]
fn lists_and_optionals_of_a_call_default_on_error() {
    let wrong = json!({"title": "x", "kind": {}, "status": [], "content": "y", "locations": 3, "rawInput": null});
    check(&[call("t", wrong)], r#"tool pending ?#t() title "x""#);
    check_text(&lines_of(&[of_kind("tool_call", json!({"title": "x"}))]), "", &["tool-call-id"]);
    check_text(&lines_of(&[of_kind("tool_call", json!({"toolCallId": 4}))]), "", &["tool-call-id"]);
}

#[test]
fn a_call_is_labelled_by_title_else_name_else_kind_else_id() {
    check(&[patch("t", json!({}))], r#"tool pending ?#t() title "t""#);
    check(&[patch("t", json!({"kind": "read"}))], r#"tool pending ?#t() title "read""#);
    check(&[patch("t", json!({"kind": "other"}))], r#"tool pending ?#t() title "t""#);
    check(&[patch("t", json!({"kind": "read", "name": "Read"}))], r#"tool pending Read#t() title "Read""#);
    let titled = [
        patch("t", json!({"kind": "read"})),
        patch("t", json!({"name": "Read"})),
        patch("t", json!({"title": "Read a"})),
    ];
    check(&titled, r#"tool pending Read#t() title "Read a""#);
    check(
        &[patch("t", json!({"title": "Read a"})), patch("t", json!({"title": ""}))],
        r#"tool pending ?#t() title "Read a""#,
    );
}

#[test]
fn updates_and_calls_come_in_any_order() {
    check(
        &[
            patch("t", json!({"status": "completed", "rawOutput": "ok"})),
            call("t", json!({"title": "Run", "status": "pending"})),
        ],
        r#"tool done ?#t() title "Run" output "ok""#,
    );
    // An orphan is a row of its own.
    check(
        &[agent("a"), patch("gone", json!({"status": "completed"})), agent("b")],
        "text done \"a\"\ntool done ?#gone() title \"gone\"\ntext streaming \"b\"",
    );
}

#[test]
fn what_has_ended_does_not_begin_again() {
    for late in ["pending", "in_progress"] {
        check(
            &[call("t", json!({"title": "x", "status": "completed"})), patch("t", json!({"status": late}))],
            r#"tool done ?#t() title "x""#,
        );
    }
    // But it may have failed after all.
    check(
        &[call("t", json!({"title": "x", "status": "completed"})), patch("t", json!({"status": "failed"}))],
        r#"tool failed ?#t() title "x""#,
    );
}

/// A refined diff can follow `completed`.
#[test]
fn late_content_after_the_end_shows() {
    let diff = json!([{"type": "diff", "path": "/p", "oldText": "a", "newText": "b"}]);
    let chat = check(
        &[
            call("t", json!({"title": "x"})),
            patch("t", json!({"status": "completed"})),
            patch("t", json!({"content": diff})),
        ],
        r#"tool done ?#t() title "x""#,
    );
    assert_eq!(tool(&chat, 0)["content"], diff);
}

#[test]
fn what_the_turn_interrupts_a_late_update_ends() {
    let turn = [prompt(1, "go"), call("t", json!({"title": "x", "status": "in_progress"})), stop(1, "end_turn")];
    let chat = check(&turn, "user done \"go\"\ntool interrupted ?#t() title \"x\"");
    assert_eq!(chat.panels()["activity"]["state"], "idle");
    let [prompt, call, stop] = turn;
    check(
        &[prompt.clone(), call.clone(), stop.clone(), patch("t", json!({"status": "completed", "rawOutput": "ok"}))],
        "user done \"go\"\ntool done ?#t() title \"x\" output \"ok\"",
    );
    // It may go on as well.
    let late = [prompt, call, stop, patch("t", json!({"status": "in_progress"}))];
    check(&late, "user done \"go\"\ntool running ?#t() title \"x\"");
    ended(&late, "user done \"go\"\ntool interrupted ?#t() title \"x\"");
}

#[test]
fn what_a_cancel_ended_stays_cancelled_and_takes_content() {
    let records = [
        prompt(1, "go"),
        agent("a"),
        call("t", json!({"title": "x", "status": "in_progress"})),
        cancel(),
        patch("t", json!({"status": "in_progress"})),
        patch("t", json!({"status": "completed", "rawOutput": "half", "title": "y"})),
        stop(1, "cancelled"),
    ];
    check(&records, "user done \"go\"\ntext done \"a\"\ntool cancelled ?#t() title \"y\" output \"half\"");
    check(&records[..4], "user done \"go\"\ntext done \"a\"\ntool cancelled ?#t() title \"x\"");
}

#[test]
fn text_that_a_cancel_ends_is_cancelled() {
    check(&[prompt(1, "go"), agent("a"), cancel()], "user done \"go\"\ntext cancelled \"a\"");
}

// Terminals.

#[test]
fn output_through_meta_stands_instead_of_the_terminal() {
    let terminal = json!([{"type": "terminal", "terminalId": "term1"}]);
    let meta = |meta: Value| patch("t", json!({"_meta": meta}));
    let delta = |data: &str| meta(json!({"terminal_output_delta": {"terminal_id": "term1", "data": data}}));
    let mut begun = call("t", json!({"title": "ls", "kind": "execute", "content": terminal}));
    begun["params"]["update"]["_meta"] = json!({"terminal_info": {"terminal_id": "term1"}});
    let chat = check(std::slice::from_ref(&begun), r#"tool pending ?#t() title "ls""#);
    assert_eq!(tool(&chat, 0)["content"], json!([{"type": "terminal", "id": "term1"}]));
    let mut exit = patch("t", json!({"status": "completed"}));
    exit["params"]["update"]["_meta"] =
        json!({"terminal_exit": {"exit_code": 1, "signal": null, "terminal_id": "term1"}});
    let chat =
        check(&[begun.clone(), delta("a\n"), delta("b\n"), exit], r#"tool done ?#t() title "ls" output "a\nb\n""#);
    assert_eq!(tool(&chat, 0).get("content"), None);
    assert_eq!(chat.rows()[0]["meta"], json!({"exitCode": 1}));
    let whole = |data: &str| meta(json!({"terminal_output": {"terminal_id": "term1", "data": data}}));
    check(&[begun.clone(), whole("a"), whole("ab"), whole("x")], r#"tool pending ?#t() title "ls" output "x""#);
    // What else is said of the output says the same.
    let raw = patch("t", json!({"rawOutput": {"formatted_output": "a\n", "exit_code": 0}}));
    let chat = check(&[begun, delta("a\n"), raw], r#"tool pending ?#t() title "ls" output "a\n""#);
    assert_eq!(chat.rows()[0]["meta"], json!({"exitCode": 0}));
}

/// A terminal stays displayed after its release; agy-acp#29: one whose id nobody knows keeps the row, and its place.
#[test]
fn report_agy_acp_29_a_terminal_that_is_gone_keeps_its_row() {
    let terminal = json!([{"type": "terminal", "terminalId": "evicted"}]);
    let chat = check(
        &[
            call("t", json!({"title": "ls", "content": terminal})),
            request(4, "terminal/release", json!({"sessionId": "s", "terminalId": "evicted"})),
            patch("t", json!({"status": "completed"})),
        ],
        r#"tool done ?#t() title "ls""#,
    );
    assert_eq!(tool(&chat, 0)["content"], json!([{"type": "terminal", "id": "evicted"}]));
}

#[test]
fn raw_output_in_its_shapes() {
    let with = |output: Value, expected: &str| {
        let expected = format!(r#"tool done ?#t() title "x" output {}"#, json!(expected));
        check(&[call("t", json!({"title": "x", "status": "completed", "rawOutput": output}))], &expected)
    };
    with(json!("plain"), "plain");
    with(json!({"stdout": "out", "stderr": "", "exit_code": 0}), "out");
    with(json!({"stdout": "out\n", "stderr": "err"}), "out\nerr");
    with(json!({"aggregated_output": "all"}), "all");
    with(json!({"formatted_output": "nice", "aggregated_output": "all"}), "nice");
    let chat = with(json!({"formatted_output": "", "exitCode": 2}), "");
    assert_eq!(chat.rows()[0]["meta"], json!({"exitCode": 2}));
    with(json!({"output": "a"}), "a");
    with(json!({"rows": [1, 2]}), r#"{"rows":[1,2]}"#);
    with(json!([1]), "[1]");
    with(json!(false), "false");
}

#[test]
fn changes_that_the_raw_output_describes_are_patches() {
    let output = json!({"output": "ok", "metadata": {"files": [{"filePath": "/p/a", "patch": "@@ -1 +1 @@\n-a\n+b\n"}], "diff": "whole"}});
    let chat = check(
        &[call("t", json!({"title": "x", "status": "completed", "rawOutput": output}))],
        r#"tool done ?#t() title "x" output "ok""#,
    );
    assert_eq!(tool(&chat, 0)["content"], json!([{"type": "patch", "path": "/p/a", "text": "@@ -1 +1 @@\n-a\n+b\n"}]));
}

// Ends of turns.

#[test]
fn every_reason_to_stop() {
    let turn = |reason: &str| [prompt(1, "go"), agent("a"), stop(1, reason)];
    let done = "user done \"go\"\ntext done \"a\"";
    check(&turn("end_turn"), done);
    check(&turn("unheard_of"), done);
    check(&turn("max_tokens"), &format!("{done}\nnotice done finish.length"));
    check(&turn("max_turn_requests"), &format!("{done}\nnotice done finish.turns"));
    check(&turn("refusal"), &format!("{done}\nnotice done finish.refusal"));
    check(&turn("cancelled"), "user done \"go\"\ntext cancelled \"a\"");
    let chat = ended(&turn("end_turn"), done);
    assert_eq!(chat.chat.end(chat.stream), Some(End::Done));
}

#[test]
fn a_stream_that_breaks_off_in_a_turn_is_interrupted() {
    let chat = ended(&[prompt(1, "go"), agent("a")], "user done \"go\"\ntext interrupted \"a\"");
    assert_eq!(chat.chat.end(chat.stream), Some(End::Interrupted));
    let mut chat = chat_of(Format::Acp, Options::default());
    chat.feed(lines_of(&[agent("a"), call("t", json!({"title": "x"})), form(5, json!({}))]).as_bytes(), Cuts::Whole);
    assert_eq!(chat.abort(), End::Cancelled);
    chat.drain();
    rests(&chat.rows(), "at the end");
}

#[test]
fn a_request_that_is_tried_again_says_so_until_something_comes() {
    let retry = |attempt: u64| of_kind("llm_call_retry", json!({"attempt": attempt, "message": "overloaded"}));
    check(&[retry(1), retry(2)], r#"retry running say.retryAttempt attempt=2 "overloaded" retryable"#);
    check(
        &[retry(1), agent("a")],
        "retry done say.retryAttempt attempt=1 \"overloaded\" retryable\ntext streaming \"a\"",
    );
    check(
        &[retry(1), call("t", json!({"title": "x"}))],
        "retry done say.retryAttempt attempt=1 \"overloaded\" retryable\ntool pending ?#t() title \"x\"",
    );
    check(&[retry(1), stop(1, "end_turn")], "retry cancelled say.retryAttempt attempt=1 \"overloaded\" retryable");
}

// 5, public reports.

/// acp-ui#9.
#[test]
fn report_2_a_call_as_the_first_event_of_a_turn_shows() {
    check(&[prompt(1, "go"), call("t", json!({"title": "ls"}))], "user done \"go\"\ntool pending ?#t() title \"ls\"");
}

/// vscode-acp#12.
#[test]
fn report_3_thoughts_stay_two_rows_in_their_order() {
    check(
        &[thought("a"), agent("b"), call("t", json!({"title": "x"})), thought("c")],
        r#"
        reasoning done "a"
        text done "b"
        tool pending ?#t() title "x"
        reasoning streaming "c"
        "#,
    );
}

/// opencode#22468.
#[test]
fn report_4_the_echo_of_a_prompt_is_the_same_row() {
    let mut chat = chat_of(Format::Acp, Options::default());
    chat.chat.add_user("hi there");
    for record in [user("hi "), user("there"), agent("Hello")] {
        chat.push(format!("{record}\n").as_bytes());
        chat.drain();
    }
    assert_eq!(chat.lines(), "user done \"hi there\"\ntext streaming \"Hello\"");
    // With the prompt heard on its way as well.
    let mut chat = chat_of(Format::Acp, Options::default());
    chat.chat.add_user("hi there");
    for record in [prompt(1, "hi there"), with_id(user("hi there"), "u"), agent("Hello")] {
        chat.push(format!("{record}\n").as_bytes());
        chat.drain();
    }
    assert_eq!(chat.lines(), "user done \"hi there\"\ntext streaming \"Hello\"");
    check(
        &[prompt(1, "hi there"), user("hi "), user("there"), agent("Hello")],
        "user done \"hi there\"\ntext streaming \"Hello\"",
    );
}

/// dam#3264: without ids nothing on the wire tells two from one that comes in pieces; a prompt between them does.
#[test]
fn report_5_equal_words_of_the_user_are_two_rows_where_a_turn_begins_between() {
    check(&[user("hi"), user("hi")], r#"user done "hihi""#);
    check(&[with_id(user("hi"), "1"), with_id(user("hi"), "2")], "user done \"hi\"\nuser done \"hi\"");
    check(
        &[prompt(1, "hi"), user("hi"), stop(1, "end_turn"), prompt(2, "hi"), user("hi"), stop(2, "end_turn")],
        "user done \"hi\"\nuser done \"hi\"",
    );
}

/// AionUi#2890, acpx#38: `check` replays every input of this file; here what was loaded once is loaded again.
#[test]
fn report_6_a_history_that_is_loaded_again_is_the_same_rows() {
    let load = |id: u64| request(id, "session/load", json!({"sessionId": "s", "cwd": "/p"}));
    let history = [
        load(1),
        with_id(user("hi"), "u"),
        with_id(agent("Hello"), "m"),
        call("t", json!({"title": "x", "status": "completed"})),
        answer(1, json!(null)),
    ];
    let rows = "user done \"hi\"\ntext done \"Hello\"\ntool done ?#t() title \"x\"";
    let chat = check(&history, rows);
    assert_eq!(chat.panels()["activity"]["state"], "idle");
    // Even by another stream of a chat that was saved.
    let saved = chat.chat.snapshot_json();
    let mut again = ChatRows::restore(&saved, Options::default()).unwrap();
    let before = again.rows_json();
    let stream = again.stream(Format::Acp);
    again.push(stream, lines_of(&history).as_bytes());
    again.finish(stream);
    assert_eq!(again.rows_json(), before);
}

/// Universal-Agent-Manager#106.
#[test]
fn report_7_a_cancelled_call_is_not_revived() {
    check(
        &[
            call("t1", json!({"title": "x", "status": "in_progress"})),
            cancel(),
            patch("t1", json!({"status": "in_progress"})),
        ],
        r#"tool cancelled ?#t1() title "x""#,
    );
}

/// zed#59281.
#[test]
fn report_8_commands_before_the_answer_to_session_new_are_kept() {
    let commands = json!([{"name": "web", "description": "Search"}]);
    let chat = check(
        &[
            request(1, "session/new", json!({"cwd": "/p"})),
            of_kind("available_commands_update", json!({"availableCommands": commands})),
            answer(1, json!({"sessionId": "s"})),
        ],
        "",
    );
    assert_eq!(chat.panels()["commands"]["available"], commands);
}

/// intelligent-terminal#600, zed#49456.
#[test]
fn report_10_an_update_without_a_status_is_applied() {
    let content = json!([{"type": "content", "content": {"type": "text", "text": "out"}}]);
    check(
        &[
            call("t1", json!({"title": "Terminal", "status": "in_progress"})),
            patch("t1", json!({"title": "ls", "content": content})),
        ],
        r#"tool running ?#t1() title "ls" output "out""#,
    );
}

/// opencode#23947.
#[test]
fn report_opencode_23947_the_later_title_and_input_count() {
    check(
        &[
            call("t", json!({"title": "edit", "rawInput": {}})),
            patch("t", json!({"title": "Edit a.rs", "rawInput": {"path": "a.rs"}, "status": "completed"})),
        ],
        r#"tool done ?#t({"path":"a.rs"}) whole title "Edit a.rs""#,
    );
}

/// Poracode#274.
#[test]
fn report_poracode_274_a_call_without_a_name_has_a_label() {
    check(&[call("t", json!({"title": "", "kind": "search"}))], r#"tool pending ?#t() title "search""#);
}

/// Roo-Code#10995 and #4888.
#[test]
fn report_roo_code_10995_and_4888_parallel_calls_are_one_row_each_and_end() {
    let begun = |id: &str| call(id, json!({"title": id, "status": "in_progress"}));
    let chat = check(
        &[
            begun("a"),
            begun("b"),
            begun("a"),
            patch("b", json!({"status": "completed"})),
            patch("a", json!({"status": "completed"})),
        ],
        "tool done ?#a() title \"a\"\ntool done ?#b() title \"b\"",
    );
    assert!(chat.rows().as_array().unwrap().iter().all(|row| row["busy"] == false));
}

/// effect#6998, open-design#7465: `check` cuts at every byte.
#[test]
fn report_effect_6998_a_character_may_be_cut() {
    check(&[agent("日本語 🌊")], r#"text streaming "日本語 🌊""#);
}

#[test]
fn a_call_that_runs_already_may_still_ask() {
    check(
        &[
            call("t", json!({"title": "x", "status": "in_progress", "rawInput": {"a": 1}})),
            ask(5, json!({"toolCallId": "t"})),
        ],
        r#"tool pending ?#t({"a":1}) whole title "x" may"#,
    );
    // Not once it has ended.
    check(
        &[call("t", json!({"title": "x", "status": "completed"})), ask(5, json!({"toolCallId": "t"}))],
        r#"tool done ?#t() title "x" may"#,
    );
}

/// Agents ask by a call as well, and tell the answer where others tell the output.
#[test]
fn a_call_that_asks_the_user_is_a_question() {
    let questions = json!([
        {"question": "Which port?", "header": "Port", "options": [{"label": "Dover", "description": "near"}, {"label": "Calais"}]},
        {"question": "Which ships?", "multiSelect": true, "options": ["Tern", "Gull"]},
    ]);
    let begun = call("q", json!({"title": "AskUserQuestion", "rawInput": {"questions": questions}}));
    let chat = check(std::slice::from_ref(&begun), "question pending");
    let parts = json!([
        {"text": "Which port?", "header": "Port", "custom": true, "options": [{"label": "Dover", "description": "near"}, {"label": "Calais"}]},
        {"text": "Which ships?", "custom": true, "multiple": true, "options": [{"label": "Tern"}, {"label": "Gull"}]},
    ]);
    assert_eq!(chat.rows()[0]["question"], json!({"request": "q", "parts": parts}));
    let answers = json!({"Which port?": "Dover", "Which ships?": ["Tern", "Gull"]});
    let answered = patch("q", json!({"rawOutput": {"answers": answers}}));
    let chat = check(&[begun, answered], "question done");
    assert_eq!(chat.rows()[0]["question"]["parts"][0]["answer"], "Dover");
    assert_eq!(chat.rows()[0]["question"]["parts"][1]["answer"], json!(["Tern", "Gull"]));
    // The words of one alone are the row's, and a call by another name that has such an input is none.
    let one = json!({"questions": [{"question": "Which port?", "options": ["Dover"]}]});
    check(
        &[call("q", json!({"kind": "other", "title": "question", "rawInput": one}))],
        r#"question pending "Which port?" (Dover)"#,
    );
    let chat = check(
        &[call("q", json!({"title": "Quiz", "rawInput": {"questions": []}}))],
        r#"tool pending ?#q({"questions":[]}) whole title "Quiz""#,
    );
    assert_eq!(chat.rows()[0]["kind"], "tool");
    // One that turns out to ask is the question from then on.
    check(&[call("q", json!({})), patch("q", json!({"rawInput": one}))], r#"question pending "Which port?" (Dover)"#);
}
