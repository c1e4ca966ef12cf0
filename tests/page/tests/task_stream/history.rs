//! Pages of what went before, loaded by the page's function and shown before all there is.

use page::each_browser;
use serde_json::json;

use crate::{open, told};

/// A task whose turns are a second apart, so that none can be taken for another.
const PAST: &str = "const past = { turns: [[{ text: 'answer to {input}' }, { tool_call: { toolCallId: 't', title: 'tool of {input}', status: 'completed' } }]], \
       past: ['one', 'two', 'three', 'four', 'five'], clock: { start_ms: 1700000000000, step_ms: 1000 } }; \
     const asked = []; \
     const page = (task, limit = 2) => async (cursor) => { asked.push(cursor === null ? null : typeof cursor); \
       return (await fetch(`/api/v1/users/tasks/rounds?id=${task}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`)).json(); }; \
     const texts = (chat) => chat.rows().filter(({ kind }) => kind !== 'tool').map(({ text }) => text);";

#[test]
fn pages_stand_before_what_is_there_in_order() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{PAST} const task = await make(past); \
             const running = start(task, {{ mode: 'attach', input: undefined, loadHistory: page(task) }}); \
             const end = await running.ended; \
             const first = texts(running.chat); \
             const loaded = [await running.client.loadHistory()]; \
             const second = texts(running.chat), before = running.chat.rows().map(({{ id }}) => id); \
             while (loaded.at(-1)) loaded.push(await running.client.loadHistory()); \
             const after = running.chat.rows(); \
             return [end.reason, first, second, texts(running.chat), loaded, asked, before.every((id) => after.some((row) => row.id === id)), after.every(({{ state }}) => state === 'done'), running.chat.stats().records.faulted];"
        );
        let turn = |name: &str| vec![json!(name), json!(format!("answer to {name}"))];
        let turns = |names: &[&str]| json!(names.iter().flat_map(|name| turn(name)).collect::<Vec<_>>());
        assert_eq!(
            told(page, &body).await,
            json!([
                "task-ended",
                turns(&["five"]),
                turns(&["three", "four", "five"]),
                turns(&["one", "two", "three", "four", "five"]),
                [true, true, false],
                ["string", "string"],
                true,
                true,
                0
            ])
        );
    });
}

#[test]
fn calls_at_once_follow_each_other_and_a_failure_changes_nothing() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{PAST} const task = await make(past), load = page(task, 1); \
             let fails = true; \
             const loadHistory = async (cursor) => {{ if (fails) {{ fails = false; throw new Error('of loadHistory'); }} return JSON.stringify(await load(cursor)); }}; \
             const {{ client, chat, ended }} = start(task, {{ mode: 'attach', input: undefined, loadHistory }}); await ended; \
             const loaded = await Promise.all([1, 2, 3].map(() => client.loadHistory().catch(({{ message }}) => message))); \
             return [loaded, texts(chat).filter((text) => !text.startsWith('answer'))];"
        );
        assert_eq!(told(page, &body).await, json!([["of loadHistory", true, true], ["three", "four", "five"]]));
    });
}

#[test]
fn pages_and_a_line_that_is_cut_do_not_meet() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{PAST} const run = async (cuts) => {{ \
               const task = await make({{ ...past, turns: [...past.past.map(() => past.turns[0]), [{{ text: 'a' }}, {{ delay: 200 }}, {{ text: 'b' }}, {{ tool_call: {{ toolCallId: 't2', title: 'last', status: 'completed' }} }}]], cuts }}); \
               const running = start(task, {{ input: 'now', mode: 'attach', loadHistory: page(task) }}); \
               await until(() => running.chat.rows().some(({{ text }}) => text?.startsWith('a'))); \
               await running.client.loadHistory(); \
               return [running, (await running.ended).reason]; }}; \
             const [[one, oneEnd], [two, twoEnd]] = [await run([]), await run([{{ record: 28, at: 'after' }}, {{ record: 28, at: 'before' }}])]; \
             await one.client.loadHistory(); await two.client.loadHistory(); \
             return [oneEnd, twoEnd, JSON.stringify(plain(one.chat)) === JSON.stringify(plain(two.chat)), texts(one.chat), texts(two.chat)];"
        );
        let told = told(page, &body).await;
        assert_eq!(
            (&told[0], &told[1], &told[2]),
            (&json!("task-ended"), &json!("task-ended"), &json!(true)),
            "{told:#}"
        );
    });
}
