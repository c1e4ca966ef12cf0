//! Lines that are lost: the rows are those of a line that held, and nothing is busy meanwhile.

use page::each_browser;
use serde_json::json;

use crate::{open, told};

#[test]
fn a_cut_at_any_record_or_inside_it_leaves_the_same_rows() {
    each_browser(async |page| {
        open(page).await;
        for wire in ["{ seq: true }", "{ seq: false, time: 'ns' }"] {
            let body = format!(
                "const one = JSON.stringify((await follow({{ turns: [TURN] }}, {{ autoAnswer: true }})).rows); \
                 const cuts = [{{ record: 0, at: 'before' }}], wrong = []; \
                 for (let record = 0; record < RECORDS; record++) for (const at of ['inside', 'after']) cuts.push({{ record, at }}); \
                 const often = cuts.filter(({{ record }}) => record % 4 === 0); \
                 await Promise.all([...cuts.map((cut) => [cut]), often].map(async (cuts) => {{ \
                   const {{ rows, end, restless, moves, received, brief }} = await follow({{ turns: [TURN], cuts, wire: {wire} }}, {{ autoAnswer: true }}); \
                   const inputs = received.filter(([, type]) => type === 'user-input').length; \
                   if (JSON.stringify(rows) !== one || end.reason !== 'task-ended' || restless.length || moves.length || inputs !== 1) wrong.push([cuts, end, inputs, restless, brief]); }})); \
                 return [cuts.length, wrong];"
            );
            assert_eq!(told(page, &body).await, json!([45, []]), "{wire}");
        }
    });
}

#[test]
fn a_replay_of_ten_thousand_records_leaves_the_rows_as_they_were() {
    each_browser(async |page| {
        open(page).await;
        let body = "const turn = []; \
             for (let i = 0; i < 10000; i++) turn.push(i % 1000 === 999 ? { tool_call: { toolCallId: `t${i}`, title: `t${i}`, status: 'completed' } } : { text: `${i} ` }); \
             const clock = { start_ms: 1700000000000, step_ms: 1 }; \
             const cuts = [{ record: 2100, at: 'after' }, { record: 10001, at: 'after' }]; \
             const run = async (script) => { const { rows, end, brief, restless } = await follow({ turns: [turn], clock, ...script }); return [JSON.stringify(rows), end.reason, restless.length]; }; \
             const one = await run({}); \
             const others = [await run({ cuts }), await run({ cuts, wire: { seq: false } })]; \
             return [JSON.parse(one[0]).length, others.map((other, i) => other.every((part, j) => part === one[j]))];";
        assert_eq!(told(page, body).await, json!([21, [true, true]]));
    });
}

#[test]
fn the_panel_tells_what_the_connection_is() {
    each_browser(async |page| {
        open(page).await;
        let body = "const turn = [{ tool_call: { toolCallId: 't', title: 't', status: 'in_progress' } }, { delay: 60 }, { text: 'a' }, { delay: 700 }, { text: 'b' }]; \
             const cuts = [{ record: 3, at: 'before', close: 1011, refuse: [503] }]; \
             let lost; \
             const { states, restless, rows } = await follow({ turns: [turn], cuts }, { backoff: { first: 100, max: 200 } }, async ({ chat }) => { \
               await until(() => chat.panels().connection.state === 'retrying'); \
               const { retryAt, ...connection } = chat.panels().connection; \
               const row = chat.rows()[1]; \
               lost = { ...connection, soon: Math.abs(retryAt - Date.now()) < 2000, row: [row.state, row.busy] }; }); \
             return { lost, states: states.filter((state) => state !== 'connecting').filter((state, i, all) => state !== all[i - 1]), restless, tool: rows[1].state };";
        let expected = json!({
            "lost": { "state": "retrying", "attempt": 1, "code": 1011, "soon": true, "row": ["running", false] },
            "states": ["open", "retrying", "open", "task-ended"],
            "restless": [],
            "tool": "failed",
        });
        assert_eq!(told(page, body).await, expected);
    });
}

#[test]
fn the_reader_is_told_in_words() {
    each_browser(async |page| {
        open(page).await;
        let body = "const chat = new ChatRows(); tasks.mountPanels(document.querySelector('#panels'), chat); \
             const shown = () => document.querySelector('.cr-connection')?.textContent; \
             const running = start(await make({ turns: [[{ delay: 5000 }]], cuts: [{ record: 1, at: 'after', gone: true }] }), { maxDials: 2, backoff: { first: 200, max: 200 } }, chat); \
             await until(() => shown()?.includes('rying')); const trying = shown(); \
             await running.ended; await until(() => shown() !== trying && shown() !== 'Connecting…'); return [trying, shown()];";
        assert_eq!(
            told(page, body).await,
            json!(["The connection was lost: trying again (attempt 1)", "The server cannot be reached"])
        );
    });
}

#[test]
fn dials_that_are_refused_are_made_again() {
    each_browser(async |page| {
        open(page).await;
        let body = "const { rows, end, received } = await follow({ turns: [[{ text: 'a' }]], refuse: [403, 'reset', 500] }); \
             return [end.reason, rows.map(({ text }) => text), received.filter(([, type]) => type === 'user-input').map(([dial]) => dial)];";
        assert_eq!(told(page, body).await, json!(["task-ended", ["go", "a"], [4]]));
    });
}

#[test]
fn silence_is_noticed_and_a_silent_line_is_dropped_where_asked() {
    each_browser(async |page| {
        open(page).await;
        let script = "{ turns: [[{ text: 'a' }, { delay: 600 }, { text: 'b' }, { delay: 100 }]], ping_ms: 0 }";
        let body = format!(
            "const noticed = await follow({script}, {{ silence: 250 }}); \
             const dropped = await follow({script}, {{ silence: 250, dropSilent: true }}); \
             return [noticed.states.filter((state) => state !== 'connecting'), noticed.brief.at(-1), dropped.states.includes('retrying'), dropped.brief.at(-1)];"
        );
        let row = json!(["text", "done", "ab"]);
        assert_eq!(told(page, &body).await, json!([["open", "silent", "open", "task-ended"], row, true, row]));
    });
}

#[test]
fn late_timers_and_a_clock_that_jumps_break_nothing() {
    each_browser(async |page| {
        open(page).await;
        let body = "const { setTimeout, Date: { now } } = window; let asked = 0; \
             const seen = (truth) => new Promise((wake) => { const timer = setInterval(() => { if (truth()) { clearInterval(timer); wake(); } }, 2); }); \
             const task = await make({ turns: [[{ text: 'a' }, { delay: 300 }, { text: 'b' }]], cuts: [{ record: 2, at: 'after' }] }); \
             window.setTimeout = () => (asked++, 0); \
             const running = start(task, {}), state = () => running.chat.panels().connection?.state; \
             await seen(() => state() === 'retrying'); \
             Date.now = () => now() + 3600000; \
             const since = performance.now(); await seen(() => performance.now() > since + 100); \
             const still = state(); \
             window.setTimeout = setTimeout; Date.now = () => now() - 3600000; \
             document.dispatchEvent(new Event('visibilitychange')); \
             const { reason } = await running.ended; Date.now = now; \
             return [still, asked > 0, reason, running.chat.rows().at(-1).text];";
        assert_eq!(told(page, body).await, json!(["retrying", true, "task-ended", "ab"]));
    });
}

#[test]
fn nobody_need_keep_the_client() {
    each_browser(async |page| {
        open(page).await;
        let body = "const chat = new ChatRows(); \
             const client = new TaskStreamClient(chat, options(await make({ turns: [[{ text: 'a' }, { delay: 100 }, { text: 'b' }]], cuts: [{ record: 2, at: 'after' }] }))); \
             const ended = client.connect(); client.free(); \
             return [(await ended).reason, chat.rows().at(-1).text];";
        assert_eq!(told(page, body).await, json!(["task-ended", "ab"]));
    });
}

#[test]
fn a_line_that_is_lost_before_it_has_shown_anything_shows_all_later() {
    each_browser(async |page| {
        open(page).await;
        let body = "const cut = (at) => [{ record: 12, at }]; \
             const turn = [{ text: 'a' }, { text: 'b' }], past = { turns: [turn], past: ['one', 'two', 'three'], clock: { start_ms: 1700000000000, step_ms: 1000 } }; \
             const attach = (script) => follow({ ...past, ...script }, { mode: 'attach', input: undefined }); \
             const one = await attach({}); \
             const others = await Promise.all(['before', 'inside', 'after'].flatMap((at) => [10, 11, 12, 13, 14].map((record) => attach({ cuts: [{ record, at }] })))); \
             return [one.brief, others.filter(({ rows }) => JSON.stringify(rows) !== JSON.stringify(one.rows)).map(({ brief }) => brief), others.filter(({ end }) => end.reason !== 'task-ended').length];";
        let rows = json!([["user", "done", "three"], ["text", "done", "ab"]]);
        assert_eq!(told(page, body).await, json!([rows, [], 0]));
    });
}
