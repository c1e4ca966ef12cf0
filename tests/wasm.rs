//! The package as a page has it: the exported classes, driven through their JavaScript objects in a browser. What is
//! checked is the edge (what goes in, what comes out, when listeners are called) and that the rows are those of the
//! native tests. The bodies of the tests are JavaScript; a wrong expectation throws.

#![cfg(target_arch = "wasm32")]

#[path = "support/inputs.rs"]
mod inputs;

use chatrows::{
    JsAgentSession, JsAgentState, JsChatRows, JsConversion, JsPreparingEmitter, JsTaskStreamClient, acp_cancelled,
    acp_prompted,
};
use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// What the bodies use, besides `ChatRows`.
const PRELUDE: &str = r##"
    // Equal as plain data, whatever the order of the keys; what differs is named by its path.
    const same = (seen, expected, path = "") => {
        const plain = value => typeof value === "object" && value !== null;
        if (!plain(seen) || !plain(expected)) {
            if (!Object.is(seen, expected)) {
                throw new Error(`${path || "it"} is ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`);
            }
            return;
        }
        if (Array.isArray(seen) !== Array.isArray(expected)) throw new Error(`${path} is of another kind`);
        for (const key of new Set([...Object.keys(seen), ...Object.keys(expected)])) {
            same(seen[key], expected[key], `${path}.${key}`);
        }
    };
    const ok = (truth, what) => { if (!truth) throw new Error(what); };
    // That it throws an error of this class whose message has this text.
    const throws = (act, kind, text) => {
        let thrown;
        try { act(); } catch (error) { thrown = error; }
        ok(thrown instanceof kind && thrown.message.includes(text), `thrown: ${thrown}, not ${kind.name} with "${text}"`);
        return thrown;
    };
    const rejects = async (promise, text) => {
        let thrown;
        try { await promise; } catch (error) { thrown = error; }
        ok(thrown instanceof Error && thrown.message.includes(text), `rejected with ${thrown}, not "${text}"`);
        return thrown;
    };
    const bytes = text => new TextEncoder().encode(text);
    const sse = (...records) => records.map(record => `data: ${JSON.stringify(record)}\n\n`).join("");
    const delta = (delta, finish = null) => ({ id: "r", choices: [{ index: 0, delta, finish_reason: finish }] });
    const text = (content, finish) => delta({ content }, finish);
    const call = (args, id = "c") => delta({ tool_calls: [{ index: 0, id, function: { name: "f", arguments: args } }] });
    const end = (finish = "stop") => delta({}, finish);
    const hello = sse(text("Hel"), text("lo"), end());
    const timeless = rows => rows.map(({ startedAt, endedAt, ...row }) => row);
    const shown = chat => chat.rows().map(row => [row.kind, row.state, row.tool ? row.tool.input : row.text ?? row.error?.code]);

    // What a page holds, by the rules of types.ts.
    const merge = (target, patch) => {
        for (const [key, value] of Object.entries(patch)) {
            if (value === null) delete target[key]; else target[key] = value;
        }
    };
    const apply = (page, op) => {
        const row = page.rows.find(row => row.id === op.id);
        if (op.op === "reset") { page.rows = []; page.panels = {}; }
        else if (op.op === "panel") merge(page.panels[op.name] ??= {}, op.patch);
        else if (op.op === "insert") {
            ok(!row, `row ${op.id} stands already`);
            const place = op.before === null ? page.rows.length : page.rows.findIndex(row => row.id === op.before);
            page.rows.splice(place, 0, structuredClone(op.row));
        }
        else if (!row) throw new Error(`${op.op} for no row: ${op.id}`);
        else if (op.op === "remove") page.rows.splice(page.rows.indexOf(row), 1);
        else if (op.op === "append") {
            const field = /^tool\.fields\[(\d+)\]\.text$/.exec(op.field);
            const [holder, name] = field ? [row.tool.fields[field[1]], "text"]
                : op.field === "text" ? [row, "text"] : [row.tool, op.field.slice(5)];
            const before = holder[name];
            holder[name] = (op.keep === undefined ? before : before.slice(0, op.keep)) + op.text;
        }
        else if (op.op === "update") {
            const { tool, ...rest } = op.patch;
            merge(row, rest);
            if (tool) {
                const { fields, ...properties } = tool;
                merge(row.tool, properties);
                if (fields === null) delete row.tool.fields;
                else for (const [index, field] of Object.entries(fields ?? {})) {
                    row.tool.fields ??= [];
                    Object.assign(row.tool.fields[index] ??= {}, field);
                }
            }
        }
        else throw new Error(`unknown op ${op.op}`);
    };
    const newPage = () => ({ rows: [], panels: {} });

    // The op buffer as plain ops, by the table in the crate's documentation.
    const PANELS = ["activity", "plan", "usage", "commands", "mode", "queue", "session", "connection", "state"];
    const decode = (words, string) => {
        const ops = [];
        let at = 0, offset = 0;
        const next = () => words[at++];
        const take = () => { const length = next(); offset += length; return string.slice(offset - length, offset); };
        while (at < words.length) {
            const code = next();
            if (code === 0) ops.push({ op: "reset" });
            else if (code === 1) {
                const id = next(), before = next();
                ops.push({ op: "insert", id, before: before || null, row: JSON.parse(take()) });
            } else if (code === 2) {
                const id = next(), field = next(), keep = next();
                const name = ["text", "tool.input", "tool.output"][field] ?? `tool.fields[${field - 3}].text`;
                const op = { op: "append", id, field: name, text: take() };
                if (keep !== 0xFFFFFFFF) op.keep = keep;
                ops.push(op);
            } else if (code === 3) { const id = next(); ops.push({ op: "update", id, patch: JSON.parse(take()) }); }
            else if (code === 4) ops.push({ op: "remove", id: next() });
            else if (code === 5) { const name = PANELS[next()]; ops.push({ op: "panel", name, patch: JSON.parse(take()) }); }
            else throw new Error(`unknown code ${code}`);
        }
        same(offset, string.length, "the string's length");
        return ops;
    };

    const stream = (...pieces) => new ReadableStream({
        start(controller) {
            for (const piece of pieces) controller.enqueue(typeof piece === "string" ? bytes(piece) : piece);
            controller.close();
        },
    });
    const response = (body, init) => new Response(body, init);
    const EVENTS = { headers: { "content-type": "text/event-stream" } };
"##;

/// Runs a body of JavaScript, in which the exported classes have their names and `inputs` is the shared table.
async fn js(body: &str) {
    let class = |instance: JsValue| Reflect::get(&instance, &"constructor".into()).unwrap();
    let chat = class(JsChatRows::new(&JsValue::UNDEFINED).unwrap().into());
    let emitter = class(JsPreparingEmitter::new(&JsValue::UNDEFINED).unwrap().into());
    let options = js_sys::JSON::parse(r#"{"format":"say"}"#).unwrap();
    let conversion = class(JsConversion::new(&options).unwrap().into());
    let options = js_sys::JSON::parse(r#"{"url":"","task":""}"#).unwrap();
    let client = class(JsTaskStreamClient::new(&JsValue::NULL, &options).unwrap().into());
    let file = r#"{"type":"session","version":3,"id":"s"}"#;
    let entry = r#"{"type":"message","id":"a","parentId":null}"#;
    let session = class(JsAgentSession::import(&[file, entry].join("\n").into()).unwrap().into());
    let state = class(JsAgentState::new().into());
    let inputs: Array = inputs::INPUTS
        .iter()
        .map(|(name, wire, rows)| Array::of3(&(*name).into(), &(*wire).into(), &rows.trim().into()))
        .collect();
    let function = Function::new_with_args(
        "ChatRows, PreparingEmitter, OpenAiConversion, TaskStreamClient, AgentSession, AgentState, inputs",
        &format!("return (async () => {{ {PRELUDE} {{ {body} }} }})()"),
    );
    let arguments: Array = [chat, emitter, conversion, client, session, state, inputs.into()].into_iter().collect();
    let promise: Promise = function.apply(&JsValue::UNDEFINED, &arguments).unwrap().unchecked_into();
    if let Err(thrown) = JsFuture::from(promise).await {
        let said = |name: &str| Reflect::get(&thrown, &name.into()).ok().and_then(|value| value.as_string());
        panic!("{}", said("message").unwrap_or_else(|| format!("{thrown:?}")));
    }
}

/// Tests by name, each a body of JavaScript.
macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident: $body:literal)*) => {
        $($(#[$doc])* #[wasm_bindgen_test] async fn $name() { js($body).await; })*
    };
}

#[wasm_bindgen_test]
fn what_an_editor_sends_is_one_line() {
    let prompt = acp_prompted(&3.into(), &"s".into(), &"Fix\nit".into()).unwrap();
    let parts = r#"[{"type":"text","text":"Fix\nit"}]"#;
    let head = r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":"#;
    assert_eq!(prompt, format!("{head}{parts}}}}}"));
    assert!(acp_prompted(&0.into(), &"s".into(), &"x".into()).is_err());
    assert!(acp_cancelled(&"s".into()).unwrap().contains("session/cancel"));
}

#[wasm_bindgen_test]
fn a_marker_is_built_and_parsed() {
    let marker = chatrows::marker(&"write_file".into(), 1234.0).unwrap().unwrap();
    assert_eq!(marker, "\0tool_preparing\0write_file\x001234\0");
    let parsed = chatrows::parse_marker(&marker.into()).unwrap();
    assert_eq!(Reflect::get(&parsed, &"name".into()).unwrap(), "write_file");
    assert_eq!(Reflect::get(&parsed, &"bytes".into()).unwrap(), 1234.0);
    assert_eq!(chatrows::marker(&"".into(), 1.0).unwrap(), None);
    assert!(chatrows::parse_marker(&"x".into()).unwrap().is_undefined());
    for odd in [JsValue::from(3), JsValue::UNDEFINED, js_sys::Object::new().into()] {
        assert!(chatrows::marker(&odd, 1.0).unwrap_err().is_instance_of::<js_sys::TypeError>());
        assert!(chatrows::parse_marker(&odd).unwrap_err().is_instance_of::<js_sys::TypeError>());
    }
}

tests! {
    a_provider_is_told_which_markers_to_send: r##"
        const marker = (name, bytes) => `\0tool_preparing\0${name}\0${bytes}\0`;
        const emitter = new PreparingEmitter({ interval: 50 });
        same([emitter.delta("0", undefined, 3, 1000), emitter.preparing], [undefined, false]);
        same([emitter.delta("0", "f", 7, 1000), emitter.preparing], [marker("f", 7), true]);
        same(emitter.delta("0", undefined, 9, 1020), undefined);
        same(emitter.tick(1050), [marker("f", 9)]);
        emitter.visible(3000);
        same([emitter.tick(7999), emitter.tick(8000)], [[], [marker("f", 9)]]);
        emitter.reported("0");
        same([emitter.preparing, emitter.tick(90000)], [false, []]);
        same(emitter.delta("1", "g", 1, 90000), marker("g", 1));
        emitter.end();
        same([emitter.preparing, emitter.delta("2", "h", 1, 99000)], [false, undefined]);
        emitter.free();
        throws(() => new PreparingEmitter({ interval: -1 }), TypeError, "interval must be a whole number from 0");
        throws(() => new PreparingEmitter({ rate: 1 }), TypeError, "the names are: interval");

        // What it sends is one row.
        const chat = new ChatRows({ format: "api-stream" });
        chat.pushMessage({ type: "reasoning", text: marker("f", 1280) });
        const [row] = chat.rows();
        same([row.kind, row.state, row.busy, row.bytes.label, row.message.params.name],
            ["tool-preparing", "preparing", true, "1.3 KB", "f"]);
        chat.pushMessage({ type: "tool_call", id: "c", name: "f", arguments: "{}" });
        same(shown(chat), [["tool", "preparing", "{}"]]);
        chat.dispose();
    "##

    characters_cut_between_two_strings_are_whole: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        const wire = sse(text("a😀b", "stop"));
        for (let at = 0; at < wire.length; at++) stream.push(wire[at]);
        same(stream.finish(), "done");
        same(shown(chat), [["text", "done", "a😀b"]]);
        same(chat.faults(), []);
        chat.dispose();
    "##

    an_abort_stops_a_source_that_brings_nothing: r##"
        const chat = new ChatRows();
        for (const stop of [stream => stream.abort(), stream => stream.finish(), () => chat.reset(), () => chat.dispose()]) {
            const stream = chat.stream({ format: "openai-chat" });
            let cancelled = 0;
            const silent = new ReadableStream({ cancel() { cancelled++; } });
            const piped = stream.pipe(silent).catch(error => error);
            await Promise.resolve();
            stop(stream);
            await piped;
            same(cancelled, 1);
        }
    "##

    an_abort_that_breaks_the_source_too_is_heard_once: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" }), abort = new AbortController();
        const unheard = [];
        const hear = event => { unheard.push(String(event.reason)); event.preventDefault(); };
        addEventListener("unhandledrejection", hear);
        const source = new ReadableStream({
            start(controller) { abort.signal.addEventListener("abort", () => controller.error(abort.signal.reason)); },
        });
        const piped = stream.pipe(source, { signal: abort.signal });
        abort.abort();
        same((await piped).end, "cancelled");
        await new Promise(resolve => { const { port1, port2 } = new MessageChannel(); port1.onmessage = resolve; port2.postMessage(0); });
        removeEventListener("unhandledrejection", hear);
        same(unheard, []);
        chat.dispose();
    "##

    an_error_in_plain_words_shows_them: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        await chat.stream().pipe(new Response("nope", { status: 401 }));
        await chat.stream().pipe(new Response("<html>nope</html>", { status: 502 }));
        same(chat.rows().map(row => [row.error.message, row.error.code]), [["nope", "401"], ["", "502"]]);
        chat.dispose();
    "##

    what_is_no_listener_is_a_type_error: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        throws(() => chat.subscribe(undefined), TypeError, "function");
        throws(() => chat.pushMessage({ toJSON() {} }), TypeError, "JSON.stringify");
        chat.dispose();
    "##

    the_shared_inputs_come_to_the_rows_of_the_native_tests: r##"
        for (const [name, wire, rows] of inputs) {
            const expected = rows.split("\n").map(line => line.trim()).filter(Boolean).map(line => JSON.parse(line));
            for (const size of [1, 7, 1e6]) {
                const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" }), all = bytes(wire);
                for (let at = 0; at < all.length; at += size) stream.push(all.subarray(at, at + size));
                stream.finish();
                same(timeless(chat.rows()), expected, `${name}, ${size}`);
                chat.dispose();
            }
        }
    "##

    // What goes in.

    bytes_strings_and_buffers_are_the_same_input: r##"
        for (const data of [hello, bytes(hello), bytes(hello).buffer, new Uint8Array(bytes("xx" + hello).buffer, 2)]) {
            const chat = new ChatRows({ format: "openai-chat" });
            chat.push(data);
            same(shown(chat), [["text", "done", "Hello"]]);
        }
    "##

    a_string_larger_than_a_piece_is_taken_whole: r##"
        const chat = new ChatRows({ format: "openai-chat" }), long = "é😀".repeat(50_000);
        chat.push(sse(text(long), end()));
        same(chat.rows()[0].text.length, long.length);
        ok(chat.rows()[0].text === long, "the text differs");
        chat.push(bytes(sse({ ...text(long), id: "r2" })));
        ok(chat.rows()[1].text === long, "the text differs");
        same(chat.stats().bytes, bytes(sse(text(long), end())).length + bytes(sse({ ...text(long), id: "r2" })).length);
    "##

    an_object_is_a_record: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        stream.pushMessage(text("Hel"));
        stream.pushMessage(text("lo", "stop"));
        same(stream.finish(), "done");
        same(shown(chat), [["text", "done", "Hello"]]);
        same(stream.stats().records.total, 2);
        throws(() => stream.pushMessage("text"), TypeError, "object");
    "##

    what_is_neither_bytes_nor_text_is_a_type_error: r##"
        const chat = new ChatRows({ format: "openai-chat" }), stream = chat.stream();
        for (const data of [undefined, null, 7, {}, [1], new Uint16Array(2)]) {
            throws(() => chat.push(data), TypeError, "Uint8Array");
            throws(() => stream.push(data), TypeError, "Uint8Array");
        }
        same(chat.rows(), []);
    "##

    an_unknown_format_or_option_is_a_type_error_that_lists_the_names: r##"
        throws(() => new ChatRows({ format: "openai" }), TypeError, "openai-chat");
        throws(() => new ChatRows().stream({ format: "nope" }), TypeError, "openai-chat");
        throws(() => new ChatRows().stream(), TypeError, "openai-chat");
        throws(() => new ChatRows().push("x"), TypeError, "openai-chat");
        throws(() => new ChatRows({ formt: "openai-chat" }), TypeError, "format");
        throws(() => new ChatRows().stream({ format: "openai-chat", patent: 1 }), TypeError, "parent");
        throws(() => new ChatRows({ limits: { row: 1 } }), TypeError, "rows");
        throws(() => new ChatRows({ limits: { rows: -1 } }), TypeError, "rows");
        throws(() => new ChatRows({ limits: { rows: "7" } }), TypeError, "rows");
        throws(() => new ChatRows({ cadence: "fast" }), TypeError, "cadence");
        throws(() => new ChatRows({ locale: 7 }), TypeError, "locale");
        throws(() => new ChatRows("openai-chat"), TypeError, "options");
        same(new ChatRows({ locale: "fr" }).locale, "fr");
        same(new ChatRows().locale, undefined);
    "##

    limits_are_taken: r##"
        const chat = new ChatRows({ format: "openai-chat", limits: { textBytes: 3 } });
        chat.push(hello);
        same(chat.rows()[0].text, "Hel");
        same(chat.rows()[0].truncated, true);
        same(chat.faults().map(fault => fault.reason), ["text-bytes"]);
    "##

    the_default_stream_opens_the_next_after_its_end: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        same(chat.finish(), null);
        same(chat.abort(), null);
        chat.push(sse(text("a")));
        same(chat.finish(), "interrupted");
        chat.push(sse(text("b", "stop")));
        same(chat.finish(), "done");
        chat.pushMessage(text("c"));
        same(chat.abort("enough"), "cancelled");
        same(shown(chat), [["text", "interrupted", "a"], ["text", "done", "b"], ["text", "cancelled", "c"]]);
        same(chat.stats().streams, 3);
    "##

    // What comes out.

    rows_panels_stats_and_faults_are_plain_objects: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.push(sse(text("a"), { ...end(), usage: { prompt_tokens: 3, completion_tokens: 2 } }) + "data: {x\n\n: ping\n\n");
        const before = Date.now();
        const [row] = chat.rows();
        same(Object.keys(row).sort(), ["busy", "endedAt", "id", "key", "kind", "startedAt", "state", "text"]);
        ok(Math.abs(row.startedAt - before) < 60_000, "the time is the page's");
        same(chat.panels(), { activity: { state: "idle" }, usage: { inputTokens: 3, outputTokens: 2 } });
        const stats = chat.stats();
        same(stats.records, { total: 3, faulted: 1, late: 0, skipped: 0, applied: 2, noop: 0 });
        same([stats.pings, stats.lateBytes, stats.streams, stats.rows], [1, 0, 1, 1]);
        const offset = sse(text("a"), { ...end(), usage: { prompt_tokens: 3, completion_tokens: 2 } }).length;
        same(chat.faults(), [{ stream: 1, offset, reason: "json", excerpt: "{x" }]);
        for (const plain of [row, stats, stats.records, chat.faults()[0], chat.panels().usage]) {
            ok(Object.getPrototypeOf(plain) === Object.prototype, "no plain object");
        }
    "##

    arguments_are_asked_for_and_proto_is_plain_data: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        const json = '{"__proto__":{"polluted":true},"n":[1,{"constructor":"x"}],"half":"\\ud83d"}';
        stream.push(sse(call(json)));
        const { id } = chat.rows()[0];
        same(chat.args(id), undefined, "arguments that have not ended");
        stream.push(sse(end("tool_calls")));
        const args = chat.args(id);
        ok(Object.hasOwn(args, "__proto__"), "__proto__ is an own property");
        ok(Object.getPrototypeOf(args) === Object.prototype && {}.polluted === undefined, "no prototype was touched");
        ok(JSON.stringify(args) === JSON.stringify(JSON.parse(json)), "as JSON.parse has it");
        const row = chat.rows()[0];
        same(row.tool.fields[0], { path: ["__proto__", "polluted"], text: "true", closed: true });
        same(chat.args(99), undefined);
        same(chat.args(0), undefined);
    "##

    calls_written_as_tags_are_calls_where_one_asks_for_it: r##"
        const spoken = "<read_file><path>a</path></read_file><deploy><constructor>x</constructor></deploy>";
        const shown = options => {
            const chat = new ChatRows({ format: "openai-chat", ...options.chat });
            chat.stream(options.stream).push(sse(text(spoken), end("stop")));
            return chat;
        };
        const kinds = options => shown(options).rows().map(row => row.kind).join();
        same(kinds({ chat: {}, stream: {} }), "text");
        same(kinds({ chat: {}, stream: { taggedTools: true } }), "tool,text");
        same(kinds({ chat: { taggedTools: true } }), "tool,text");
        same(kinds({ chat: { taggedTools: true }, stream: { taggedTools: false } }), "text");
        const own = { tools: ["deploy"], params: ["constructor"] };
        const chat = shown({ chat: { taggedTools: own } });
        const [, { id, tool }] = chat.rows();
        same([tool.name, tool.tagged, tool.inputDone], ["deploy", true, true]);
        const args = chat.args(id);
        ok(Object.getPrototypeOf(args) === null, "its parameters find nothing of a prototype's");
        same(Object.entries(args), [["constructor", "x"]]);
        for (const taggedTools of [1, "x", { tool: [] }, { tools: "deploy" }, { params: [1] }, { thoughts: "loud" }]) {
            throws(() => new ChatRows({ taggedTools }), TypeError, "");
        }
    "##

    a_call_without_arguments_is_the_empty_object: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.push(sse(call(""), end("tool_calls")));
        same(chat.args(1), {});
    "##

    arguments_that_are_malformed_or_cut_are_never_handed_out: r##"
        for (const [json, finish] of [['{"a":', "tool_calls"], ['{"a":1} x', "stop"], ['{"a":1}', "length"]]) {
            const chat = new ChatRows({ format: "openai-chat" });
            chat.push(sse(call(json), end(finish)));
            same(chat.args(1), undefined);
            throws(() => chat.toolStarted(1), Error, "pending");
        }
    "##

    // Listeners.

    plain_ops_lead_to_the_rows_and_a_reset_comes_first: r##"
        for (const [name, wire] of inputs) {
            const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" }), page = newPage();
            let first;
            const all = bytes(wire);
            stream.push(all.subarray(0, 60));
            const stop = chat.subscribe(ops => { first ??= ops[0]; ops.forEach(op => apply(page, op)); });
            for (let at = 60; at < all.length; at += 11) { stream.push(all.subarray(at, at + 11)); chat.flush(); }
            stream.finish();
            chat.flush();
            same(first, { op: "reset" });
            same(page.rows, chat.rows(), name);
            same(page.panels, chat.panels(), name);
            stop();
            chat.dispose();
        }
    "##

    the_op_buffer_says_the_same_as_the_plain_ops: r##"
        for (const [name, wire] of inputs) {
            const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
            const plain = [], decoded = [];
            chat.subscribe(ops => plain.push(...ops));
            chat.subscribeBuffer((words, string) => {
                ok(words instanceof Uint32Array && typeof string === "string", "words and a string");
                decoded.push(...decode(words, string));
            });
            const all = bytes(wire);
            for (let at = 0; at < all.length; at += 13) { stream.push(all.subarray(at, at + 13)); chat.flush(); }
            stream.finish();
            chat.flush();
            same(decoded, plain, name);
        }
    "##

    listeners_are_never_called_inside_a_push: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        let inside = false, batches = 0;
        const done = new Promise(resolve => chat.subscribe(() => {
            ok(!inside, "called inside a push");
            batches += 1;
            if (chat.rows()[0]?.state === "done") resolve();
        }));
        const during = act => { inside = true; act(); inside = false; };
        during(() => chat.push(sse(text("Hel"))));
        during(() => chat.addUser("x"));
        during(() => chat.push(sse(text("lo"), end())));
        during(() => chat.finish());
        same(batches, 0);
        await done;
        same(batches, 1, "many changes in one task are one batch");
    "##

    a_listener_may_push_and_subscribe: r##"
        const chat = new ChatRows({ format: "openai-chat" }), late = newPage();
        let pushed = false;
        await new Promise(resolve => chat.subscribe(() => {
            if (pushed) return resolve();
            pushed = true;
            chat.push(hello);
            chat.subscribe(ops => ops.forEach(op => apply(late, op)));
        }));
        chat.flush();
        same(shown(chat), [["text", "done", "Hello"]]);
        same(late.rows, chat.rows());
    "##

    each_subscriber_has_its_own_cursor_and_one_that_stopped_hears_nothing: r##"
        const chat = new ChatRows({ format: "openai-chat" }), early = newPage(), late = newPage();
        const listen = page => chat.subscribe(ops => ops.forEach(op => apply(page, op)));
        const stop = listen(early);
        chat.push(sse(text("a")));
        chat.flush();
        listen(late);
        chat.push(sse(text("b")));
        chat.flush();
        same(early.rows, chat.rows());
        same(late.rows, chat.rows());
        stop();
        stop();
        chat.push(sse(text("c", "stop")));
        chat.flush();
        same(early.rows[0].text, "ab");
        same(late.rows, chat.rows());
    "##

    a_listener_that_throws_stops_nobody: r##"
        const chat = new ChatRows({ format: "openai-chat" }), page = newPage();
        const reported = [];
        const hear = event => { reported.push(event.error?.message ?? event.message); event.preventDefault(); };
        const before = self.onerror;
        self.onerror = () => true;
        self.addEventListener("error", hear);
        try {
            chat.subscribe(() => { throw new Error("from a listener"); });
            chat.subscribe(ops => ops.forEach(op => apply(page, op)));
            chat.push(hello);
            chat.flush();
        } finally {
            self.removeEventListener("error", hear);
            self.onerror = before;
        }
        same(page.rows, chat.rows());
        ok(reported.length === 1 && reported[0].includes("from a listener"), `reported: ${reported}`);
    "##

    faults_are_heard_once_with_the_batch: r##"
        const chat = new ChatRows({ format: "openai-chat" }), heard = [];
        const stop = chat.onFault(fault => heard.push(fault));
        chat.push(hello + "data: {x\n\n");
        same(heard, []);
        chat.flush();
        same(heard, chat.faults());
        same([heard[0].reason, heard[0].offset, heard[0].stream], ["json", hello.length, 1]);
        chat.flush();
        same(heard.length, 1);
        stop();
        chat.push("data: {y\n\n");
        chat.flush();
        same(heard.length, 1);
        same(chat.stats().records.faulted, 2);
    "##

    a_fault_listener_alone_is_called_without_flush: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.push(hello);
        const heard = new Promise(resolve => chat.onFault(resolve));
        chat.push("data: {x\n\n");
        same((await heard).excerpt, "{x");
    "##

    a_cadence_in_milliseconds_hands_out_by_itself: r##"
        const chat = new ChatRows({ format: "openai-chat", cadence: 40 }), page = newPage();
        const whole = new Promise(resolve => chat.subscribe(ops => {
            ops.forEach(op => apply(page, op));
            if (page.rows[0]?.text === "ab") resolve();
        }));
        chat.push(sse(text("a")));
        chat.push(sse(text("b")));
        await whole;
        chat.push(sse(text("c")));
        await new Promise(resolve => chat.subscribe(() => { if (chat.rows()[0].text === "abc") resolve(); }));
        chat.flush();
        same(page.rows, chat.rows());
    "##

    // What the user and the host do.

    a_user_row_shows_at_once: r##"
        const chat = new ChatRows();
        same(chat.addUser("hello"), 1);
        same(timeless(chat.rows()), [{ id: 1, kind: "user", state: "done", busy: false, text: "hello" }]);
        same(new ChatRows({ limits: { rows: 0 } }).addUser("x"), 0);
    "##

    a_call_runs_by_its_row_or_by_stream_and_id: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        stream.push(sse(call("{}"), end("tool_calls")));
        chat.toolStarted({ stream, callId: "c" });
        same([chat.rows()[0].state, chat.rows()[0].busy], ["running", true]);
        chat.toolProgress(1, { append: "wor", title: "Working" });
        chat.toolProgress({ stream, callId: "c" }, { append: "king" });
        same([chat.rows()[0].tool.output, chat.rows()[0].tool.title], ["working", "Working"]);
        chat.toolProgress(1, { output: "other" });
        same(chat.rows()[0].tool.output, "other");
        chat.toolResult({ stream, callId: "c" }, { output: "done it", isError: false });
        const row = chat.rows()[0];
        same([row.state, row.busy, row.tool.output, row.tool.isError], ["done", false, "done it", undefined]);
        chat.toolResult(1, { isError: true });
        same([chat.rows()[0].state, chat.rows()[0].tool.output, chat.rows()[0].tool.isError], ["failed", "done it", true]);
    "##

    a_result_without_words_ends_the_call: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.push(sse(call("{}"), end("tool_calls")));
        chat.toolResult(1);
        same([chat.rows()[0].state, chat.rows()[0].tool.output], ["done", undefined]);
    "##

    a_call_that_cannot_run_is_an_error_and_a_reference_that_is_none_a_type_error: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        stream.push(sse(call("{")));
        for (const act of [() => chat.toolStarted(1), () => chat.toolProgress(1, { append: "x" }), () => chat.toolResult(1, {})]) {
            throws(act, Error, "preparing");
        }
        throws(() => chat.toolStarted(2), Error, "no tool call");
        throws(() => chat.toolStarted({ stream, callId: "other" }), Error, "no tool call");
        for (const reference of [undefined, null, "c", {}, { callId: "c" }, { stream }, 0, { stream: 99, callId: "c" }]) {
            throws(() => chat.toolStarted(reference), TypeError, "callId");
        }
        throws(() => chat.toolResult(1, { output: 7 }), TypeError, "output");
        same(shown(chat), [["tool", "preparing", "{"]]);
    "##

    an_abort_ends_the_stream_and_late_bytes_are_dropped: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        stream.push(sse(text("a")));
        same(stream.end, null);
        same(stream.abort("enough"), "cancelled");
        same([stream.end, stream.finish(), stream.abort()], ["cancelled", "cancelled", "cancelled"]);
        stream.push(sse(text("late")));
        same(shown(chat), [["text", "cancelled", "a"]]);
        same(chat.rows()[0].meta, { reason: "enough" });
        same([stream.stats().lateBytes, stream.stats().records.late], [sse(text("late")).length, 1]);
    "##

    a_restart_is_a_replay_that_leaves_the_rows: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "openai-chat" });
        stream.push(hello.slice(0, 100));
        stream.finish();
        const ops = [];
        stream.restart({ from: "beginning" });
        same(stream.end, null);
        stream.push(hello);
        same(stream.finish(), "done");
        same(shown(chat), [["text", "done", "Hello"]]);
        chat.subscribe(batch => ops.push(...batch));
        chat.flush();
        ops.length = 0;
        stream.restart();
        stream.push(hello);
        stream.finish();
        chat.flush();
        same(ops, []);
        throws(() => stream.restart({ from: "end" }), TypeError, "beginning");
    "##

    rows_can_be_truncated_and_the_chat_reset: r##"
        const chat = new ChatRows({ format: "openai-chat" }), page = newPage();
        chat.subscribe(ops => ops.forEach(op => apply(page, op)));
        chat.addUser("a");
        chat.push(hello);
        chat.addUser("b");
        chat.flush();
        chat.truncateFrom(2);
        chat.flush();
        same(page.rows.map(row => row.id), [1]);
        throws(() => chat.truncateFrom(2), Error, "row");
        const stream = chat.stream();
        chat.reset();
        same([chat.rows(), stream.end], [[], "cancelled"]);
        same(chat.addUser("c"), 4);
        chat.flush();
        same(page.rows, chat.rows());
    "##

    a_disposed_chat_is_silent_and_every_call_throws: r##"
        const chat = new ChatRows({ format: "openai-chat" }), stream = chat.stream();
        let heard = 0;
        chat.subscribe(() => heard += 1);
        const stop = chat.onFault(() => heard += 1);
        stream.push(sse(text("a")) + "data: {x\n\n");
        chat.dispose();
        chat.dispose();
        stop();
        for (const act of [
            () => chat.rows(), () => chat.panels(), () => chat.args(1), () => chat.stats(), () => chat.faults(),
            () => chat.push(hello), () => chat.pushMessage({}), () => chat.addUser("x"), () => chat.stream(),
            () => chat.toolStarted(1), () => chat.toolResult(1), () => chat.subscribe(() => {}), () => chat.flush(),
            () => chat.subscribeBuffer(() => {}), () => chat.onFault(() => {}), () => chat.truncateFrom(1),
            () => chat.reset(), () => chat.finish(), () => chat.abort(), () => stream.push(hello), () => stream.finish(),
            () => stream.abort(), () => stream.restart(), () => stream.stats(), () => stream.faults(), () => stream.end,
        ]) throws(act, Error, "disposed");
        await rejects(stream.pipe(stream_of()), "disposed");
        function stream_of() { return new Response(hello).body; }
        await new Promise(resolve => requestAnimationFrame(resolve));
        same(heard, 0);
    "##

    // Calls that the page runs.

    calls_run_in_their_turn_and_ready_tells_when_all_are_handled: r##"
        const said = [], answers = [];
        const chat = new ChatRows({ format: "api-stream", taggedTools: true });
        const s = chat.stream({
            parallel: true,
            onTool: async (call, { signal }) => {
                said.push(["run", call.name, { ...call.args }, call.stream, signal.aborted]);
                chat.toolProgress(call.row, { append: "…" });
                return call.name === "read_file" ? { output: "no", isError: true } : "written";
            },
            onApproval: call => { said.push(["ask", call.name]); return new Promise(resolve => answers.push(resolve)); },
            checkpoint: async () => { said.push(["checkpoint"]); },
        });
        const say = text => s.pushMessage({ type: "text", text });
        say("A<read_file><path>a</path></read_file>B<write_to_file><path>b</path><content>x</content></write_to_file>C");
        same(said, [], "a push calls nobody");
        s.finish();
        const turns = async () => { for (let i = 0; i < 20; i++) await null; };
        await turns();
        same(said.splice(0), [["ask", "read_file"]]);
        same(shown(chat), [["text", "done", "A"], ["tool", "pending", "<path>a</path>"]]);
        same([s.turn().waitsFor, s.turn().row, s.turn().over], ["approval", 2, false]);
        answers.pop()(true);
        await turns();
        same(said.splice(0), [["run", "read_file", { path: "a" }, 1, false], ["checkpoint"], ["ask", "write_to_file"]]);
        answers.pop()(true);
        await s.ready();
        same(said.map(([what]) => what), ["run"]);
        same(shown(chat).map(([, state]) => state), ["done", "failed", "done", "done", "done"]);
        same([chat.rows()[1].tool.output, chat.rows()[3].tool.output, s.turn().over], ["no", "written", true]);
        await s.ready();
    "##

    what_a_tool_throws_or_was_never_there_is_an_error_row: r##"
        const chat = new ChatRows({ format: "api-stream", taggedTools: true, parallel: true, onTool: {
            read_file() { throw new Error("gone"); },
            list_files: () => Promise.reject("words"),
            write_to_file: () => ({ then(yes) { yes("first"); yes("second"); throw new Error("late"); } }),
        } });
        const call = name => `<${name}><path>a</path></${name}>`;
        chat.pushMessage({ type: "text", text: ["read_file", "list_files", "search_files", "write_to_file"].map(call).join("") });
        chat.finish();
        for (let i = 0; i < 40; i++) await null;
        same(chat.rows().map(row => [row.state, row.error?.code, row.error?.message, row.tool.output]), [
            ["failed", "tool-failed", "gone", undefined], ["failed", "tool-failed", "words", undefined],
            ["failed", "tool-unknown", "", undefined], ["done", undefined, undefined, "first"],
        ]);
    "##

    an_abort_ends_a_tool_that_never_settles: r##"
        let signal;
        const chat = new ChatRows({ format: "api-stream", taggedTools: true });
        const s = chat.stream({ onTool: (_, context) => { signal = context.signal; return new Promise(() => {}); } });
        s.pushMessage({ type: "text", text: "<read_file><path>a</path></read_file>hidden" });
        const ready = s.ready();
        s.finish();
        await null; await null;
        same(shown(chat).map(([, state]) => state), ["running"]);
        s.abort();
        const wrong = await ready.catch(error => error);
        same([wrong.name, signal.aborted, shown(chat)[0][1]], ["AbortError", true, "cancelled"]);
        same((await s.ready().catch(error => error)).name, "AbortError");
        await rejects(chat.stream().ready(), "onTool");
    "##

    what_is_no_tool_option_is_a_type_error: r##"
        const chat = new ChatRows({ format: "api-stream" }), onTool = () => {};
        for (const [options, text] of [
            [{ onTool: 1 }, "onTool must"], [{ onTool: { f: 1 } }, "onTool.f must"], [{ onApproval: onTool }, "needs onTool"],
            [{ onTool, checkpoint: 1 }, "checkpoint must"], [{ onTool, mode: "x" }, "mode is"], [{ onTool, readOnly: "x" }, "readOnly"],
            [{ onTool, format: "say" }, "other side"],
        ]) throws(() => chat.stream(options), TypeError, text);
    "##

    // Pipes.

    a_pipe_reads_a_stream_to_its_end: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" }), all = bytes(sse(text("é😀"), end()));
        const pieces = [...all].map((_, at) => all.subarray(at, at + 1));
        const { end: how, stats } = await source.pipe(stream(...pieces));
        same([how, stats.bytes, stats.records.applied, source.end], ["done", all.length, 2, "done"]);
        same(shown(chat), [["text", "done", "é😀"]]);
    "##

    a_pipe_reads_a_response: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        const { end: how } = await source.pipe(response(hello, EVENTS), {});
        same([how, shown(chat)], ["done", [["text", "done", "Hello"]]]);
        const other = chat.stream({ format: "openai-chat" });
        same((await other.pipe(response(sse(text("par"))))).end, "interrupted");
    "##

    a_json_body_on_a_route_of_events_is_read_as_what_it_is: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        const body = JSON.stringify({ id: "r", object: "chat.completion", choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] });
        same((await source.pipe(response(body, { headers: { "content-type": "application/json" } }))).end, "done");
        same(shown(chat), [["text", "done", "Hello"]]);
    "##

    an_error_status_is_an_error_row_in_the_words_of_its_body: r##"
        const error = (status, body, type = "application/json") => response(body, { status, headers: { "content-type": type } });
        for (const [source, expected] of [
            [error(429, '{"error":{"message":"slow down","type":"rate_limit"}}'), { message: "slow down", code: "429", retryable: true }],
            [error(401, '{"error":{"message":"no key"}}'), { message: "no key", code: "401", retryable: false }],
            [error(500, ""), { message: "", code: "500", retryable: true }],
        ]) {
            const chat = new ChatRows();
            same((await chat.stream({ format: "openai-chat" }).pipe(source)).end, "interrupted");
            same(chat.rows().map(row => [row.kind, row.error]), [["error", expected]]);
        }
        const chat = new ChatRows();
        await chat.stream({ format: "openai-chat" }).pipe(error(502, "<html><h1>Bad gateway</h1></html>", "text/html"));
        same(chat.rows().map(row => [row.kind, row.error.code, row.error.retryable]), [["error", "502", true]]);
        const empty = new ChatRows();
        await empty.stream({ format: "openai-chat" }).pipe(new Response(null, { status: 503 }));
        same(empty.rows().map(row => [row.kind, row.error.code]), [["error", "503"]]);
    "##

    a_page_of_html_with_status_ok_is_one_error_row: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        const html = response("<html>\n<body>\nSign in\n</body></html>", { headers: { "content-type": "text/html; charset=utf-8" } });
        same((await source.pipe(html)).end, "interrupted");
        same(chat.rows().map(row => [row.kind, row.error.code]), [["error", "content-type"]]);
    "##

    an_empty_body_is_one_error_row: r##"
        for (const empty of [response(null), response(""), stream(), stream(new Uint8Array())]) {
            const chat = new ChatRows();
            same((await chat.stream({ format: "openai-chat" }).pipe(empty)).end, "interrupted");
            same(chat.rows().map(row => [row.kind, row.error.code]), [["error", "empty-body"]]);
        }
    "##

    a_read_that_fails_leaves_an_error_row_and_rejects: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        let pulls = 0;
        const failing = new ReadableStream({
            pull(controller) {
                if (pulls++ === 0) controller.enqueue(bytes(sse(text("par"))));
                else controller.error(new Error("connection lost"));
            },
        });
        await rejects(source.pipe(failing), "connection lost");
        same(shown(chat), [["text", "interrupted", "par"], ["error", "done", "read-error"]]);
        same(chat.rows()[1].error, { message: "connection lost", code: "read-error", retryable: true });
        same([source.end, chat.panels().activity.state], ["interrupted", "idle"]);
        // A replay goes on where it broke off, and the failure goes.
        source.restart();
        same((await source.pipe(stream(sse(text("par"), text("tial"), end())))).end, "done");
        same(shown(chat)[0], ["text", "done", "partial"]);
    "##

    an_abort_signal_in_the_middle_ends_the_stream_as_cancelled: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" }), abort = new AbortController();
        let cancelled = false;
        const endless = new ReadableStream({
            start(controller) { controller.enqueue(bytes(sse(text("par")))); },
            cancel() { cancelled = true; },
        });
        const seen = new Promise(resolve => chat.subscribe(() => { if (chat.rows().length) resolve(); }));
        const piped = source.pipe(endless, { signal: abort.signal });
        await seen;
        abort.abort();
        same((await piped).end, "cancelled");
        same(shown(chat), [["text", "cancelled", "par"]]);
        ok(cancelled, "the source is not read on");
    "##

    a_signal_that_was_aborted_before_reads_nothing: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        let pulled = false;
        const unread = new ReadableStream({ pull() { pulled = true; } }, { highWaterMark: 0 });
        same((await source.pipe(unread, { signal: AbortSignal.abort() })).end, "cancelled");
        ok(!pulled, "something was read");
        same(shown(chat), []);
        const refused = chat.stream({ format: "openai-chat" });
        same((await refused.pipe(new Response("{}", { status: 500 }), { signal: AbortSignal.abort() })).end, "cancelled");
        same(shown(chat), []);
    "##

    an_abort_of_the_stream_itself_ends_its_pipe: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        let pulls = 0;
        const long = new ReadableStream({
            pull(controller) {
                controller.enqueue(bytes(sse(text(`${pulls} `))));
                if (++pulls === 3) source.abort();
                if (pulls === 1000) controller.close();
            },
        });
        same((await source.pipe(long)).end, "cancelled");
        ok(pulls < 1000, "a stream that nobody takes is read on");
        same(chat.rows().map(row => row.state), ["cancelled"]);
    "##

    what_is_no_source_or_signal_is_a_type_error: r##"
        const chat = new ChatRows(), source = chat.stream({ format: "openai-chat" });
        for (const other of [undefined, null, hello, {}, bytes(hello)]) await rejects(source.pipe(other), "Response");
        await rejects(source.pipe(stream(hello), { signal: {} }), "AbortSignal");
        const pieces = new ReadableStream({ start(controller) { controller.enqueue("text"); controller.close(); } });
        await rejects(source.pipe(pieces), "Uint8Array");
    "##

    a_source_that_is_locked_or_read_already_rejects: r##"
        const chat = new ChatRows(), locked = stream(hello), used = response(hello);
        locked.getReader();
        await rejects(chat.stream({ format: "openai-chat" }).pipe(locked), "");
        await used.text();
        await rejects(chat.stream({ format: "openai-chat" }).pipe(used), "");
    "##

    what_an_agent_asks_is_answered_by_its_row: r##"
        const chat = new ChatRows({ format: "acp" });
        const session = { sessionId: "s" };
        const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
        const ask = (id, method, params) => chat.pushMessage({ jsonrpc: "2.0", id, method, params: { ...session, ...params } });
        ask(5, "session/request_permission", { toolCall: { toolCallId: "t", title: "rm" }, options });
        const [{ id }] = chat.rows();
        same(chat.acpReply(id, { option: "z" }), undefined);
        const answer = chat.acpReply(id, { option: "y" });
        same(JSON.parse(answer), { jsonrpc: "2.0", id: 5, result: { outcome: { outcome: "selected", optionId: "y" } } });
        same(JSON.parse(chat.acpReply(id, null)).result, { outcome: { outcome: "cancelled" } });
        chat.push(answer + "\n");
        same(chat.rows()[0].permission.chosen, "y");
        same(chat.acpReply(id, null), undefined);
        const form = { properties: { port: { type: "integer" } } };
        ask("e", "elicitation/create", { mode: "form", message: "Which port?", requestedSchema: form });
        const question = chat.rows()[1].id;
        same(JSON.parse(chat.acpReply(question, { answer: "80" })), { jsonrpc: "2.0", id: "e", result: { action: "accept", content: { port: 80 } } });
        same(JSON.parse(chat.acpReply(question, "decline")).result, { action: "decline" });
        throws(() => chat.acpReply(question, 7), TypeError, "acpReply takes");
        throws(() => chat.acpReply("1", null), TypeError, "id of a row");
    "##

    a_task_repeats_its_turn_and_its_history_stands_before: r##"
        const chat = new ChatRows(), stream = chat.stream({ format: "task-stream" });
        const said = (text, timestamp) => ({ event: "task-running", kind: "acp_event", timestamp, data: { type: "agent_message_chunk", text } });
        stream.pushMessage(said("Hel", 20));
        stream.restart({ from: "turn" });
        stream.pushMessage(said("Hel", 20));
        stream.pushMessage(said("lo", 21));
        stream.loadHistory({ chunks: [said("before", 10)] });
        same(shown(chat), [["text", "done", "before"], ["text", "streaming", "Hello"]]);
        throws(() => stream.restart({ from: "yesterday" }), TypeError, "turn");
        throws(() => stream.loadHistory("x"), TypeError, "object");
        throws(() => chat.stream({ format: "say" }).restart({ from: "turn" }), TypeError, "task-stream");
    "##

    a_session_is_a_tree_to_walk: r##"
        const entry = (id, parentId, content) => ({ type: "message", id, parentId, timestamp: "t", message: { role: "user", content } });
        const head = { type: "session", version: 3, id: "s", timestamp: "t", cwd: "/p" };
        const label = { type: "label", id: "l", parentId: "__proto__", timestamp: "t", targetId: "__proto__", label: "here" };
        const lines = [head, entry("a", null, "one"), entry("b", "a", "two"), entry("c", "a", "three"), entry("__proto__", "c", "four"), label];
        const file = lines.map(line => JSON.stringify(line) + "\n").join("") + "no entry\n";
        const session = AgentSession.import(bytes(file));
        same(new TextDecoder().decode(session.export()), file);
        same(session.header(), { version: 3, id: "s", timestamp: "t", cwd: "/p" });
        same([session.name(), session.leaf(), session.faults().map(({ reason }) => reason)], [undefined, "l", ["json"]]);
        same(session.entries().map(({ id }) => id), ["a", "b", "c", "__proto__", "l"]);
        same(Object.entries(session.labels()), [["__proto__", "here"]]);
        same(session.branches(), [{ leaf: "b", fork: "a" }, { leaf: "l", fork: "a" }]);
        same([session.branch(), session.branch("b"), session.branch(null)], [["a", "c", "__proto__", "l"], ["a", "b"], []]);
        const chat = new ChatRows(), stream = chat.stream({ format: "agent-events" });
        stream.push(session.walk(null, "c"));
        same(shown(chat).map(([, , text]) => text), ["one", "three"]);
        stream.push(session.walk("c", "b"));
        same(shown(chat).map(([, , text]) => text), ["one", "two"]);
        session.setLeaf("b");
        same(session.append(entry("d", "b", "five")), "d");
        same(session.context().messages.map(({ content }) => content), ["one", "two", "five"]);
        same(session.context("a").thinkingLevel, "off");
        const fork = session.fork("b", { id: "f", timestamp: "t", parentSession: "s" });
        same([fork.header().parentSession, fork.entries().length], ["s", 2]);
        throws(() => session.setLeaf("x"), Error, "no entry x");
        throws(() => session.walk(7, null), TypeError, "string");
        throws(() => session.append(7), TypeError, "an entry");
        throws(() => session.fork("b", {}), TypeError, "a fork takes");
        throws(() => AgentSession.import(7), TypeError, "takes");
        throws(() => AgentSession.import("no session"), Error, "");
    "##

    an_agents_state_is_told_as_it_changes: r##"
        const state = new AgentState(), told = [];
        const listener = change => told.push(change);
        state.subscribe(listener);
        same(state.push({ type: "agent_start" }), { isStreaming: true });
        same(state.push({ type: "queue_update" }), undefined);
        const message = { role: "user", content: "hi" };
        same(state.push(JSON.stringify({ type: "message_end", message })), { message });
        state.unsubscribe(listener);
        same(state.finishRun(), { isStreaming: false });
        same(told, [{ isStreaming: true }, { message }]);
        same(state.snapshot(), { isStreaming: false, streamingMessage: null, messages: [message], pendingToolCalls: [], errorMessage: null });
        throws(() => state.push("{"), Error, "the line ends");
        throws(() => state.push(7), TypeError, "one event");
    "##

    any_wire_becomes_completion_chunks: r##"
        const conversion = new OpenAiConversion({ format: "task-stream", id: "c", model: "m", created: 7, style: "modern" });
        const event = data => ({ type: "task-running", kind: "acp_event", data });
        conversion.pushMessage(event({ type: "agent_thought_chunk", text: "hm" }));
        conversion.push(bytes(JSON.stringify(event({ type: "agent_message_chunk", text: "é" })) + "\n"));
        const [first, second] = conversion.take();
        same(first, { id: "c", object: "chat.completion.chunk", created: 7, model: "m",
            choices: [{ index: 0, delta: { role: "assistant", reasoning_content: "hm" }, finish_reason: null }] });
        same(second.choices[0].delta, { content: "é" });
        same(conversion.take(), []);
        ok(conversion.restartTurn(), "a task has turns");
        conversion.push(JSON.stringify({ type: "task-ended" }));
        conversion.finish();
        ok(/^data: {.*"finish_reason":"stop"}]}\n\n$/.test(conversion.takeEvents()), "one event");
        throws(() => new OpenAiConversion({}), TypeError, "the formats are");
        throws(() => new OpenAiConversion({ format: "say", style: "x" }), TypeError, "style");
        throws(() => new OpenAiConversion({ format: "say", models: "x" }), TypeError, "the names are");
        conversion.free();
    "##

    messages_of_an_extension_become_rows: r##"
        const chat = new ChatRows({ format: "say" });
        const say = (text, partial) => ({ ts: 1, type: "say", say: "text", text, partial });
        chat.pushMessage({ type: "messageUpdated", clineMessage: say("Hel", true) });
        chat.pushMessage({ type: "messageUpdated", clineMessage: say("Hello", false) });
        chat.pushMessage({ type: "theme", text: "dark" });
        same(shown(chat), [["text", "done", "Hello"]]);
        same(chat.stats().records.skipped, 1);
    "##

    a_saved_chat_is_restored_and_its_wire_finds_its_rows: r##"
        const chat = new ChatRows({ format: "say" });
        chat.addUser("hi");
        chat.pushMessage({ ts: 1, type: "say", say: "text", text: "Hel", partial: true });
        const saved = JSON.parse(JSON.stringify(chat.snapshot()));
        const again = ChatRows.restore(saved, { format: "say" });
        same(shown(again), [["user", "done", "hi"], ["text", "interrupted", "Hel"]]);
        again.pushMessage({ ts: 1, type: "say", say: "text", text: "Hello" });
        same(shown(again), [["user", "done", "hi"], ["text", "done", "Hello"]]);
        same(again.rows().map(row => row.id), [1, 2]);
        same(shown(ChatRows.restore(JSON.stringify(saved))), shown(ChatRows.restore(saved)));
        throws(() => ChatRows.restore({ rows: [] }), TypeError, "snapshot");
        for (const none of [null, undefined, 3, { n: 1n }]) throws(() => ChatRows.restore(none), TypeError, "restore takes");
        throws(() => ChatRows.restore({ ...saved, rows: [{ id: 1, kind: "x" }] }), TypeError, "kind");
    "##

    no_method_traps_whatever_it_is_handed: r##"
        const no = () => { throw new Error("no"); };
        const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"];
        const odd = [undefined, null, NaN, -1, 1.5, 2 ** 32 + 1, 0, 1, true, "", "1", {}, [], Symbol("s"), 1n, () => {},
            new Proxy({}, Object.fromEntries(traps.map(name => [name, no]))), new Proxy(() => {}, { apply: no, get: no })];
        const survives = async (act, what) => {
            try { await act(); } catch (error) {
                ok(!(error instanceof WebAssembly.RuntimeError), `${what}: ${error}`);
                ok(!/recursive|null pointer|borrow/.test(error?.message), `${what}: ${error}`);
            }
        };
        const left = ["constructor", "free", "dispose", "__destroy_into_raw"];
        const methods = object => Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter(name => {
            const { value } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(object), name);
            return typeof value === "function" && !left.includes(name);
        });
        const chat = new ChatRows({ format: "openai-chat" });
        const client = new TaskStreamClient(null, { url: "ws://127.0.0.1:9", task: "7", maxDials: 1 });
        for (const object of [chat, chat.stream(), new PreparingEmitter(), client]) {
            ok(methods(object).length > 3, "there are methods");
            for (const name of methods(object)) for (const value of odd) {
                for (const place of [0, 1, 2, 3]) {
                    const rest = name === "delta" ? ["k", "f", 1, 1] : [];
                    const args = Object.assign(rest, { [place]: value });
                    await survives(() => object[name](...args), `${name}, ${odd.indexOf(value)} at ${place}`);
                }
                await survives(() => object[name](value, value, value, value), `${name}, ${odd.indexOf(value)}`);
                chat.rows();
            }
        }
        for (const value of odd) {
            for (const act of [() => new ChatRows(value), () => new PreparingEmitter(value), () => ChatRows.restore(value),
                () => ChatRows.restore(chat.snapshot(), value), () => new ChatRows({ limits: value, cadence: value }),
                () => new TaskStreamClient(value, { url: "", task: "" }), () => new TaskStreamClient(null, value),
                ...["url", "backoff", "stopCodes", "classify", "signal", "input"].map(name => () => new TaskStreamClient(null, { url: "", task: "", [name]: value })),
                () => client.answer("q", { a: value }), () => client.send("x", { attachments: [value] })]) {
                await survives(act, `made with ${odd.indexOf(value)}`);
            }
        }
        chat.reset();
        same(shown(chat), []);
        chat.addUser("it works");
        same(shown(chat), [["user", "done", "it works"]]);
    "##

    a_string_is_a_string: r##"
        const chat = new ChatRows({ format: "openai-chat" }), source = chat.stream(), emitter = new PreparingEmitter();
        throws(() => chat.addUser(3), TypeError, "addUser takes a string");
        throws(() => chat.abort(5), TypeError, "abort takes a string");
        throws(() => source.abort(5), TypeError, "abort takes a string");
        throws(() => emitter.delta({}, "f", 1, 0), TypeError, "its index or its id");
        throws(() => emitter.delta(0, 3, 1, 0), TypeError, "takes a string");
        throws(() => emitter.reported(-1), TypeError, "its index or its id");
        same(source.end, null);
        // A call's index and the same as text are one.
        ok(emitter.delta(0, "f", 1, 0) !== undefined, "the first marker");
        emitter.reported("0");
        same(emitter.preparing, false);
    "##

    only_a_whole_number_is_a_row: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.addUser("a");
        chat.push(sse(call("{}"), end("tool_calls")));
        for (const odd of [2 ** 32 + 1, 2 ** 32 + 2, 1.5, 2.5, "1", "2", 0, -1, NaN, Infinity, null, undefined, {}, 1n]) {
            throws(() => chat.truncateFrom(odd), Error, "no row with this id");
            same(chat.args(odd), undefined);
            throws(() => chat.toolStarted(odd), TypeError, "name the call by its row id");
        }
        throws(() => chat.toolStarted({ stream: { id: 1.5 }, callId: "c" }), TypeError, "name the call");
        throws(() => chat.truncateFrom(3), Error, "no row with this id");
        same(chat.args(2), {});
        same(shown(chat), [["user", "done", "a"], ["tool", "pending", "{}"]]);
    "##

    names_that_a_result_does_not_have_are_type_errors: r##"
        const chat = new ChatRows({ format: "openai-chat" });
        chat.push(sse(call("{}"), end("tool_calls")));
        throws(() => chat.toolResult(1, { ouput: "x" }), TypeError, "the names are: output, isError");
        throws(() => chat.toolProgress(1, { text: "x" }), TypeError, "the names are: output, append, title");
        throws(() => chat.toolResult(1, "x"), TypeError, "must be an object");
        same(shown(chat), [["tool", "pending", "{}"]]);
    "##

    many_pipes_run_side_by_side: r##"
        const chat = new ChatRows();
        const ends = await Promise.all([..."abc"].map(letter =>
            chat.stream({ format: "openai-chat" }).pipe(stream(sse(text(letter)), sse(text(letter)), sse(end())))));
        same(ends.map(({ end }) => end), ["done", "done", "done"]);
        same(chat.rows().map(row => row.text).sort(), ["aa", "bb", "cc"]);
    "##
}
