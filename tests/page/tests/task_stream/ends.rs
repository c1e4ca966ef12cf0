//! How a client ends, other than by its task: nothing moves afterwards, and the reader is told where something is wrong.

use page::each_browser;
use serde_json::json;

use crate::{open, told};

/// A tool and a question are open when it ends.
const OPEN: &str = "const open = [{ text: 'a' }, { tool_call: { toolCallId: 't', title: 't', status: 'in_progress' } }, { ask: { id: 'q', questions: QUESTIONS } }]; \
     const short = ({ end, brief, moves, states }) => [end.reason, states.at(-1), brief.slice(1), moves]; \
     const all = ({ chat }) => until(() => chat.rows().length === 4);";

#[test]
fn the_overall_timeout_is_no_error() {
    each_browser(async |page| {
        open(page).await;
        let body = format!("{OPEN} return short(await follow({{ turns: [open] }}, {{ timeout: 300 }}));");
        let rows = json!([["text", "done", "a"], ["tool", "interrupted", "t"], ["question", "expired", "Which way?"]]);
        assert_eq!(told(page, &body).await, json!(["timeout", "timeout", rows, []]));
    });
}

#[test]
fn the_user_and_a_signal_close_it() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{OPEN} \
             const abort = async (more) => {{ const control = new AbortController(); return short(await follow({{ turns: [open] }}, {{ signal: control.signal }}, async (running) => {{ await all(running); control.abort(); }})); }}; \
             const close = short(await follow({{ turns: [open] }}, {{}}, async (running) => {{ await all(running); running.client.close(); running.client.close(); }})); \
             const before = async () => {{ const chat = new ChatRows(), client = new TaskStreamClient(chat, options('x', {{ signal: AbortSignal.abort() }})); return [(await client.connect()).reason, client.connect() === client.connect(), chat.rows().length]; }}; \
             const never = async () => {{ const client = new TaskStreamClient(new ChatRows(), options('x')); client.close(); return [(await client.connect()).reason, client.stream]; }}; \
             return [close, await abort(), await before(), await never()];"
        );
        let rows = json!([["text", "done", "a"], ["tool", "cancelled", "t"], ["question", "cancelled", "Which way?"]]);
        let closed = json!(["closed", "closed", rows, []]);
        assert_eq!(told(page, &body).await, json!([closed, closed, ["closed", true, 0], ["closed", null]]));
    });
}

#[test]
fn a_server_that_says_no_or_has_gone_is_an_error_to_try_again() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{OPEN} \
             const run = async (loss, more, script) => {{ const done = await follow({{ turns: [open], ...script }}, {{ maxDials: 3, ...more }}, loss && (async (running) => {{ await all(running); await drop(running.task, loss); }})); \
               return [...short(done), done.rows.at(-1).error?.retryable, done.restless]; }}; \
             const asked = []; \
             const classify = (loss) => {{ asked.push(loss); return Promise.resolve(false); }}; \
             return [await run({{ gone: true }}), await run({{ close: 4403 }}), await run({{ close: 4999 }}, {{ stopCodes: [4999] }}), await run({{ close: 1011 }}, {{ classify }}), \
               await run(null, {{ classify }}, {{ refuse: [403] }}), await run(null, {{ url: 'ftp://x' }}), asked];"
        );
        let ended = |code: &str, error: bool| {
            let mut rows = vec![
                json!(["text", "done", "a"]),
                json!(["tool", "interrupted", "t"]),
                json!(["question", "expired", "Which way?"]),
            ];
            if error {
                rows.push(json!(["error", "done", code]));
            }
            json!([code, code, rows, [], true, []])
        };
        let at_once = json!(["refused", "refused", [], [], true, []]);
        assert_eq!(
            told(page, &body).await,
            json!([
                ended("unreachable", true),
                ended("refused", true),
                ended("refused", true),
                ended("refused", true),
                at_once,
                at_once,
                [{ "code": 1011, "opened": true }, { "code": 1006, "opened": false }]
            ])
        );
    });
}

#[test]
fn classify_may_take_its_time_and_may_fail() {
    each_browser(async |page| {
        open(page).await;
        let body = "const run = (classify) => follow({ turns: [[{ text: 'a' }]], refuse: [403, 403] }, { classify }); \
             const done = await Promise.all([run(() => sleep(60).then(() => true)), run(() => { throw new Error('of classify'); }), run(() => Promise.reject(new Error('of classify'))), run(() => {})]); \
             return done.map(({ end, rows }) => [end.reason, rows.at(-1).text]);";
        let ended = json!(["task-ended", "a"]);
        assert_eq!(told(page, body).await, json!([ended, ended, ended, ended]));
        page.take_problems(4, "error: ").await;
    });
}

#[test]
fn the_stream_and_the_chat_may_end_first() {
    each_browser(async |page| {
        open(page).await;
        let body = format!(
            "{OPEN} \
             const run = async (act) => {{ const running = start(await make({{ turns: [open] }})); await all(running); act(running); const end = await running.ended.catch((error) => ({{ reason: String(error) }})); return [end.reason, running.client.send('x')]; }}; \
             return [await run(({{ client }}) => client.stream.abort()), await run(({{ client }}) => client.stream.finish()), await run(({{ chat }}) => chat.reset()), \
               await (async () => {{ const chat = new ChatRows(), client = new TaskStreamClient(chat, options(await make({{ turns: [open] }}))); const ended = client.connect(); await until(() => chat.rows().length === 4); chat.dispose(); \
                 return [(await ended).reason, client.answer('q', {{}}), client.unsent]; }})().catch(String), \
               await (async () => {{ const chat = new ChatRows(); chat.dispose(); return new TaskStreamClient(chat, options('x')).connect().catch(({{ message }}) => message); }})()];"
        );
        let closed = json!(["closed", false]);
        assert_eq!(
            told(page, &body).await,
            json!([closed, closed, closed, "Error: this chat was disposed", "this chat was disposed"])
        );
    });
}

#[test]
fn a_callback_may_call_anything_and_may_throw() {
    each_browser(async |page| {
        open(page).await;
        let body = "const chat = new ChatRows(); let client; const events = []; \
             const onEvent = (event) => { events.push(event.type); chat.rows(); chat.flush(); client.autoApprove(events.length % 2 === 0); \
               if (event.type === 'acp') { client.send(`echo ${events.length}`); chat.addUser('local'); } \
               if (events.length === 3) client.close(); throw new Error('of onEvent'); }; \
             client = new TaskStreamClient(chat, options(await make({ turns: [[{ text: 'a' }, { text: 'b' }, { text: 'c' }, 'hang']] }), { onEvent })); \
             const end = await client.connect(); return [end.reason, events, chat.rows().every(({ busy }) => !busy)];";
        assert_eq!(told(page, body).await, json!(["closed", ["task-started", "acp", "acp"], true]));
        page.take_problems(3, "error: ").await;
    });
}

#[test]
fn options_that_are_none_are_named() {
    each_browser(async |page| {
        open(page).await;
        let body = "const wrong = (act) => { try { act(); return 'taken'; } catch (error) { return `${error.name}: ${error.message}`; } }; \
             const made = (more, chat = null) => wrong(() => new TaskStreamClient(chat, { url: 'u', task: 't', ...more })); \
             const client = new TaskStreamClient(null, options('x')); \
             return [made({}), made({ urls: 1 }).slice(0, 40), made({ url: undefined }), made({ task: 7 }), made({ mode: 'old' }), made({ timeout: -1 }), made({ backoff: { jitter: 2 } }), made({ backoff: { min: 2 } }), \
               made({ stopCodes: 7 }), made({ stopCodes: ['x'] }), made({ data: 'x' }), made({ classify: 7 }), made({ signal: {} }), made({ attachments: [{}] }), made({}, {}), made({}, 7), \
               made({ input: '', attachments: Array(11).fill({ url: 'u', filename: 'f' }) }), wrong(() => client.send(7)), wrong(() => client.answer({}, 'x')), wrong(() => client.answer('q', 'x')), wrong(() => client.answer('q', 7)), wrong(() => client.answer('q', { a: 7 })), \
               await client.loadHistory().catch(String)];";
        assert_eq!(
            told(page, body).await,
            json!([
                "taken",
                "TypeError: unknown name urls in options;",
                "TypeError: url takes a string",
                "TypeError: task takes a string",
                "TypeError: mode is \"new\" or \"attach\"",
                "TypeError: timeout must be a whole number from 0",
                "TypeError: jitter must be a number from 0 to 1",
                "TypeError: unknown name min in backoff; the names are: first, max, jitter",
                "TypeError: stopCodes must be an array",
                "TypeError: a stop code must be a whole number from 0",
                "TypeError: data is \"base64\" or \"plain\"",
                "TypeError: classify must be a function",
                "TypeError: signal must be an AbortSignal",
                "TypeError: attachments go with an input",
                "TypeError: a TaskStreamClient takes a ChatRows, or null",
                "TypeError: a TaskStreamClient takes a ChatRows, or null",
                "TypeError: an input has at most 10 attachments",
                "TypeError: send takes a string",
                "TypeError: name the question by its row's id, or by the id of its request",
                "TypeError: of several questions, say which: { [question]: answer }",
                "TypeError: answers are a string, an array of strings, an object of these by question, or null",
                "TypeError: answers are a string, an array of strings, an object of these by question, or null",
                "TypeError: loadHistory needs the option loadHistory"
            ])
        );
    });
}
