//! A whole task, in each form in which its frames are written, and what comes twice.

use page::each_browser;
use serde_json::json;

use crate::{open, told};

#[test]
fn a_task_becomes_rows_and_panels() {
    each_browser(async |page| {
        open(page).await;
        let body = "return follow({ turns: [TURN] }, { autoAnswer: true, autoApprove: true });";
        let task = told(page, body).await;
        assert_eq!(task["end"]["reason"], "task-ended");
        assert_eq!(
            task["brief"],
            json!([
                ["user", "done", "go"],
                ["reasoning", "done", "First I look."],
                ["text", "done", "I look 👀 思考中"],
                ["tool", "done", "ls"],
                ["text", "done", "Meanwhile."],
                ["question", "done", "Which way?"],
                ["text", "done", "You said left."],
                ["tool", "done", "edit"],
                ["text", "done", "Done."],
            ])
        );
        assert_eq!(task["panels"]["plan"]["entries"][1]["status"], "completed");
        assert_eq!(task["panels"]["usage"]["used"], 10);
        assert_eq!(task["panels"]["connection"], json!({ "state": "closed", "reason": "task-ended" }));
        assert_eq!((&task["moves"], &task["stats"]["faulted"]), (&json!([]), &json!(0)));
        let sent = task["received"].as_array().expect("frames").iter().map(|frame| frame[1].clone());
        assert_eq!(
            sent.filter(|name| name != "ping").collect::<Vec<_>>(),
            ["auto-approve", "user-input", "reply-question"]
        );
    });
}

#[test]
fn each_form_of_the_wire_gives_the_same_rows() {
    each_browser(async |page| {
        open(page).await;
        let body = "const forms = []; \
             for (const data of ['base64', 'text', 'inline']) for (const events of ['nested', 'flat']) \
               for (const name of ['type', 'event']) for (const time of ['s', 'ms', 'us', 'ns']) forms.push({ data, events, name, time }); \
             const done = await Promise.all(forms.map(async (wire) => [wire, await follow({ turns: [TURN], wire }, { autoAnswer: true })])); \
             const of = {}; \
             for (const [{ events }, { rows }] of done) of[events] ??= JSON.stringify(rows); \
             return { count: done.length, wrong: done.filter(([{ events }, { rows, stats }]) => JSON.stringify(rows) !== of[events] || stats.faulted).map(([wire, { brief, stats }]) => [wire, brief, stats]), \
               texts: done.map(([, { brief }]) => brief.filter(([kind]) => kind === 'text').map(([, , text]) => text).join()).filter((text, i, all) => all.indexOf(text) === i) };";
        let forms = told(page, body).await;
        assert_eq!(
            forms,
            json!({ "count": 48, "wrong": [], "texts": ["I look 👀 思考中,Meanwhile.,You said left.,Done."] })
        );
    });
}

#[test]
fn what_a_client_sends_is_read_in_either_form() {
    each_browser(async |page| {
        open(page).await;
        let body = "return Promise.all(['base64', 'plain'].map(async (data) => { \
               const { received, rows } = await follow({ turns: [[{ ask: { id: 'q', questions: MORE } }]] }, \
                 { data, autoAnswer: true, input: 'héllo 思考 👩‍👩‍👧', attachments: [{ url: 'https://files.example/a', filename: 'a.txt' }] }); \
               return [received.filter(([, type]) => type !== 'ping').map(([, , data]) => data), rows[0].text, rows[0].files]; }));";
        let input = json!({ "content": "héllo 思考 👩‍👩‍👧", "attachments": [{ "url": "https://files.example/a", "filename": "a.txt" }] });
        let answers = r#"{"Which way?":"left","With what?":["a"]}"#;
        let reply = json!({ "request_id": "q", "answers_json": answers, "cancelled": false });
        let row = json!([[input, reply], "héllo 思考 👩‍👩‍👧", [{ "url": "https://files.example/a", "name": "a.txt" }]]);
        assert_eq!(told(page, body).await, json!([row, row]));
    });
}

#[test]
fn what_comes_twice_or_in_another_order_is_one() {
    each_browser(async |page| {
        open(page).await;
        let body = "const one = await follow({ turns: [TURN] }, { autoAnswer: true }); \
             const others = await Promise.all([{ repeat: true }, { repeat: [2, 3, 9] }, { repeat: true, wire: { seq: false } }] \
               .map((script) => follow({ turns: [TURN], ...script }, { autoAnswer: true }))); \
             return others.map(({ rows, received }) => [JSON.stringify(rows) === JSON.stringify(one.rows), received.filter(([, type]) => type === 'reply-question').length]);";
        assert_eq!(told(page, body).await, json!([[true, 1], [true, 1], [true, 1]]));
    });
}

#[test]
fn what_is_no_frame_is_a_fault_and_stops_nothing() {
    each_browser(async |page| {
        open(page).await;
        let body = "const bytes = (text) => [...new TextEncoder().encode(text)]; \
             const frame = JSON.stringify({ type: 'task-running', kind: 'acp_event', timestamp: 5, data: { type: 'agent_message_chunk', text: ' é' } }); \
             const { brief, stats, end } = await follow({ turns: [[{ text: 'a' }, { garbage: '{' }, { garbage: 'x' }, { garbage_bytes: [255, 254] }, { garbage_bytes: bytes(frame) }, { garbage: '{\"type\":\"new-kind\"}' }, { text: ' b' }]] }); \
             return [end.reason, brief.at(-1), stats.faulted, stats.skipped];";
        assert_eq!(told(page, body).await, json!(["task-ended", ["text", "done", "a é b"], 3, 1]));
    });
}

#[test]
fn events_come_raw_for_those_who_want_no_rows() {
    each_browser(async |page| {
        open(page).await;
        let body = "const turn = [{ text: 'a' }, { usage: { input_tokens: 150, output_tokens: 450 } }, { usage: { total_tokens: 600, output_tokens: 0 } }, { text: 'b' }]; \
             const raw = async (script, more) => { const events = []; \
               const client = new TaskStreamClient(null, options(await make({ turns: [turn], ...script }), { onEvent: (event) => events.push(event), ...more })); \
               const end = await client.connect(); return [events, end, client.stream]; }; \
             const cuts = [1, 2, 3, 4, 5].map((record) => ({ record, at: 'after' })); \
             const beside = async () => { const events = []; const { rows, end } = await follow({ turns: [turn] }, { onEvent: (event) => events.push(event) }); return [events, end, rows.length]; }; \
             return [await raw({ wire: { events: 'flat' } }), await raw({}), await raw({ cuts }), await raw({ turns: [[{ error: 'no model' }]] }), await beside()];";
        let told = told(page, body).await;
        let usage = json!({ "input_tokens": 150, "output_tokens": 450, "total_tokens": 600 });
        let started = json!({ "type": "task-started", "data": {} });
        let ended = json!({ "type": "task-ended", "data": {} });
        let acp = |data| json!({ "type": "acp", "data": data });
        let flat = json!([
            started,
            acp(json!({ "type": "agent_message_chunk", "text": "a" })),
            acp(json!({ "type": "usage_update", "input_tokens": 150, "output_tokens": 450 })),
            acp(json!({ "type": "usage_update", "total_tokens": 600, "output_tokens": 0 })),
            acp(json!({ "type": "agent_message_chunk", "text": "b" })),
            ended
        ]);
        assert_eq!(told[0], json!([flat, { "reason": "task-ended", "usage": usage }, null]));
        let text = |text: &str| {
            let content = json!({ "type": "text", "text": text });
            acp(json!({ "update": { "sessionUpdate": "agent_message_chunk", "content": content } }))
        };
        assert_eq!((&told[1][0][1], &told[1][0][4]), (&text("a"), &text("b")));
        assert_eq!(told[2], told[1], "a line that is cut after each record");
        assert_eq!(told[3][0], json!([started, { "type": "task-error", "data": "no model" }]));
        assert_eq!(told[3][1]["reason"], "task-error");
        assert_eq!((&told[4][0], &told[4][1]["usage"], &told[4][2]), (&told[1][0], &usage, &json!(2)));
    });
}
