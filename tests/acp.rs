//! The Agent Client Protocol, row by row of the fact sheet's tables: the smallest records that show a rule, and the
//! rows, panels and counts they come to. `check` feeds each input in every cut, compares the oracle after every batch,
//! and declares it a replay, which must leave everything as it was and say nothing.

#![cfg(not(target_arch = "wasm32"))]

mod support;

use chatrows::{ChatRows, End, Format, Options, ToolRef};
use serde_json::{Value, json};
use support::{Chat, Cuts, chat_of, unindent, without_ids};

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
    rests(&again);
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

fn rests(chat: &Chat) {
    for row in chat.rows().as_array().unwrap() {
        let moves = ["streaming", "preparing", "running"].iter().any(|state| row["state"] == *state);
        assert!(!moves && row["busy"] == false, "not at rest: {row}");
    }
}

/// The rows after the stream's end, however it is cut.
#[track_caller]
fn ended(records: &[Value], expected: &str) -> Chat {
    let mut chat = chat_of(Format::Acp, Options::default());
    chat.feed(lines_of(records).as_bytes(), Cuts::Whole);
    chat.finish();
    chat.drain();
    rests(&chat);
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
    let expected = "text done \"a\"\ntool done ?#t() whole title \"Read\"\ntext streaming \"b\"";
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
        tool done ?#t() whole title "Edit a" chose yes
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
        tool interrupted ?#t() whole title "Run"
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
        r#"tool done ?#t1() whole title "Run" output "done""#,
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
    assert_eq!(check(&[items.clone()], "").panels()["plan"], json!({"entries": entries}));
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
    check(&[begun.clone()], "compaction running say.condensing");
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
        tool done Explore() whole title "Look around"
        text done "I look." parent 1
        tool pending ?#t() title "Read" parent 1
        text streaming "Main."
        "#,
    );
    assert_eq!(chat.rows()[0]["tool"]["kind"], "subagent");
}

#[test]
fn a_subagent_that_goes_on_ends_with_its_turn() {
    check(&[spawned(), stop(1, "end_turn")], r#"tool interrupted Explore() whole title "Look around""#);
    check(&[spawned(), cancel()], r#"tool cancelled Explore() whole title "Look around""#);
    check(&[spawned(), stop(1, "end_turn"), subagent("completed")], r#"tool done Explore() whole title "Look around""#);
    check(&[spawned(), subagent("failed")], r#"tool failed Explore() whole title "Look around""#);
    ended(&[spawned()], r#"tool interrupted Explore() whole title "Look around""#);
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
