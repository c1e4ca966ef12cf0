//! What the user says while a task runs: answers, inputs, cancel and stop; each arrives once, whatever the line does.

use page::each_browser;
use serde_json::json;

use crate::{open, told};

/// The replies that the server has received.
const REPLIES: &str = "const replies = ({ received }) => received.filter(([, type]) => type === 'reply-question').map(([, , data]) => data);";

/// The question's row, once it waits.
const ASKED: &str = "const asked = async ({ chat }) => { let row; await until(() => (row = chat.rows().find(({ kind, state }) => kind === 'question' && state === 'pending'))); return row; };";

#[test]
fn a_question_is_answered_by_its_row_or_its_request() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{REPLIES} {ASKED} \
             const ask = (questions) => ({{ turns: [[{{ ask: {{ id: 'q', questions }} }}, {{ text: 'You said {{answer}}.' }}]] }}); \
             const run = async (questions, give) => {{ let taken; \
               const done = await follow(ask(questions), {{}}, async (running) => {{ const row = await asked(running); taken = give(running.client, row); }}); \
               const row = done.rows.find(({{ kind }}) => kind === 'question'); \
               return [taken, replies(done), row.state, done.brief.at(-1)[2]]; }}; \
             return Promise.all([ \
               run(QUESTIONS, (client, row) => [client.answer(row.id, 'right'), client.answer(row.id, 'left'), client.answer(9999, 'left')]), \
               run(QUESTIONS, (client) => [client.answer('q', 'my own way')]), \
               run(MORE, (client, row) => [client.answer(row.id, {{ 'Which way?': 'right', 'With what?': ['b', 'c'] }})]), \
               run(QUESTIONS, (client, row) => [client.answer(row.id, null)]), \
             ]);"
        );
        let reply = |answers: &str| json!({ "request_id": "q", "answers_json": answers, "cancelled": false });
        let cancelled = json!({ "request_id": "q", "answers_json": "{}", "cancelled": true });
        assert_eq!(
            told(page, &body).await,
            json!([
                [[true, false, false], [reply(r#"{"Which way?":"right"}"#)], "done", "You said right."],
                [[true], [reply(r#"{"Which way?":"my own way"}"#)], "done", "You said my own way."],
                [[true], [reply(r#"{"Which way?":"right","With what?":["b","c"]}"#)], "done", "You said right, b, c."],
                [[true], [cancelled], "cancelled", "You said ."],
            ])
        );
    });
}

#[test]
fn an_answer_that_is_given_offline_arrives_once() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{REPLIES} {ASKED} \
             const script = {{ turns: [[{{ ask: {{ id: 'q', questions: QUESTIONS }} }}, {{ text: 'You said {{answer}}.' }}]] }}; \
             const run = (lose) => follow(script, {{ backoff: {{ first: 100, max: 100 }} }}, async (running) => {{ const row = await asked(running); await lose(running, () => running.client.answer(row.id, 'right')); }}); \
             const lost = ({{ chat }}) => until(() => chat.panels().connection.state === 'retrying'); \
             const all = await Promise.all([ \
               run(async (running, answer) => {{ await drop(running.task); await lost(running); answer(); }}), \
               run(async (running, answer) => {{ await drop(running.task, {{ refuse: [503, 'reset'] }}); await lost(running); answer(); }}), \
               run(async (running, answer) => {{ answer(); await drop(running.task); }}), \
             ]); \
             return all.map((done) => [replies(done).length, done.brief.at(-2), done.brief.at(-1)[2], done.restless, done.end.reason]);"
        );
        let once = json!([1, ["question", "done", "Which way?"], "You said right.", [], "task-ended"]);
        assert_eq!(told(page, &body).await, json!([once, once, once]));
    });
}

#[test]
fn inputs_go_out_in_order_and_what_no_line_took_is_given_back() {
    each_browser(async |page| {
        open(page).await;
        let body = "const inputs = ({ received }) => received.filter(([, type]) => type === 'user-input').map(([dial, , data]) => [dial, data.content]); \
             const one = await follow({ turns: [['input', { text: '{input}' }]] }, {}, async (running) => { \
               await until(() => running.chat.rows().length); await drop(running.task); await until(() => running.chat.panels().connection.state === 'retrying'); running.client.send('more'); }); \
             const two = await follow({ refuse: [403, 403] }, { maxDials: 2 }, ({ client }) => { client.send('again', { attachments: [{ url: 'u', filename: 'f' }] }); }); \
             const late = (await (async () => { const running = start(await make({ turns: [[]] })); await running.ended; return [running.client.send('late'), running.client.cancel(), running.client.stop(), running.client.answer('q', {})]; })()); \
             return [inputs(one), one.brief, two.end.reason, two.unsent, inputs(two), late];";
        assert_eq!(
            told(page, body).await,
            json!([
                [[1, "go"], [2, "more"]],
                [["user", "done", "go"], ["user", "done", "more"], ["text", "done", "more"]],
                "unreachable",
                ["go", "again"],
                [],
                [false, false, false, false]
            ])
        );
    });
}

#[test]
fn cancel_and_stop_end_the_turn() {
    each_browser(async |page| {
        open(page).await;
        let body = "const script = { turns: [[{ tool_call: { toolCallId: 't', title: 't', status: 'in_progress' } }, 'hang']] }; \
             const run = (what) => follow(script, {}, async ({ chat, client }) => { await until(() => chat.rows().length === 2); client[what](); }); \
             const [cancelled, stopped] = await Promise.all([run('cancel'), run('stop')]); \
             const sent = ({ received }) => received.map(([, type]) => type).filter((type) => type !== 'ping'); \
             return [cancelled, stopped].map((done) => [done.end.reason, done.brief, sent(done), done.moves]);";
        assert_eq!(
            told(page, body).await,
            json!([
                [
                    "task-ended",
                    [["user", "done", "go"], ["tool", "cancelled", "t"], ["notice", "done", "task.cancelled"]],
                    ["user-input", "user-cancel"],
                    []
                ],
                ["task-ended", [["user", "done", "go"], ["tool", "failed", "t"]], ["user-input", "user-stop"], []]
            ])
        );
    });
}

#[test]
fn leave_that_is_given_for_all_is_given_again_on_each_line() {
    each_browser(async |page| {
        open(page).await;
        let body = "const done = await follow({ turns: [['approval', { delay: 150 }, { text: 'a' }, { delay: 150 }]], cuts: [{ record: 2, at: 'before' }] }, {}, async ({ client, chat }) => { \
               await until(() => chat.rows().length); client.autoApprove(true); client.autoApprove(true); await until(() => chat.rows().length > 1 || chat.panels().connection.state === 'retrying'); }); \
             return [done.brief.at(-1), done.received.map(([dial, type]) => [dial, type]).filter(([, type]) => type.includes('approve'))];";
        assert_eq!(told(page, body).await, json!([["text", "done", "a"], [[1, "auto-approve"], [2, "auto-approve"]]]));
    });
}
