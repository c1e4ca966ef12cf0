// The release package as a user has it, installed from its tarball: what its types name is there, and bytes
// cut anywhere become the same rows, by `rows()` and by the ops that listeners hear.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as chatrows from "chatrows";
import * as renderer from "chatrows/rows.js";

const file = (name) => fileURLToPath(new URL(name, import.meta.resolve("chatrows/package.json")));
const { ChatRows, initSync } = chatrows;
initSync({ module: readFileSync(fileURLToPath(import.meta.resolve("chatrows/chatrows_bg.wasm"))) });

// --- the types name what is there ----------------------------------------------------------------------

const names = (text, pattern) => new Set([...text.matchAll(pattern)].map(([, name]) => name));
function sameNames(module, types) {
  const text = readFileSync(file(types), "utf8");
  const exported = names(text, /^export (?:function|class) (\w+)/gm);
  assert.deepEqual(new Set(Object.keys(module).filter((name) => name !== "default")), exported, types);
  for (const [, name, body] of text.matchAll(/^export class (\w+) \{\n(.*?)^\}/gms)) {
    const typed = names(body.replace(/\([^)]*\)/g, "()"), /^ +(?:readonly )?(\w+)[(:]/gm).add("constructor");
    const there = Object.getOwnPropertyNames(module[name].prototype).filter((method) => !method.startsWith("__"));
    assert.deepEqual(new Set(there), typed, name);
  }
}
sameNames(chatrows, "chatrows.d.ts");
sameNames(renderer, "rows.d.ts");
assert.equal(typeof ChatRows.prototype[Symbol.dispose], "function");

// --- a response, cut anywhere --------------------------------------------------------------------------

const delta = (delta, finish_reason = null) => ({ id: "r1", choices: [{ index: 0, delta, finish_reason }] });
const call = (part, more) => delta({ tool_calls: [{ index: 0, ...more, function: { arguments: part } }] });
const records = [
  delta({ role: "assistant", content: "Hä" }),
  delta({ content: "llo 😊" }),
  delta({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "save", arguments: "" } }] }),
  call('{"path":"é.md","li'),
  call('nes":[1,tr'),
  call('ue,"\\ud83d'),
  call('\\ude0a"]}'),
  delta({}, "tool_calls"),
  { id: "r1", choices: [], usage: { prompt_tokens: 7, completion_tokens: 9 } },
];
const wire = Buffer.from(`${records.map((record) => `data: ${JSON.stringify(record)}\r\n\r\n`).join("")}data: [DONE]\n\n`);
const args = { path: "é.md", lines: [1, true, "😊"] };

async function play(sizes) {
  const chat = new ChatRows({ format: "openai-chat" });
  let heard = { rows: [], panels: {} }, pushing = false, told;
  const stop = chat.subscribe((ops) => {
    assert.ok(!pushing, "a listener is never called from inside a push");
    heard = renderer.applyOps(heard.rows, heard.panels, ops);
    told?.();
  });
  // A batch comes by itself, without a page that has frames.
  const batch = () => new Promise((resolve) => (told = resolve));
  const stream = chat.stream();
  for (let at = 0, n = 0, half = wire.length / 2; at < wire.length; n++) {
    const size = sizes[n % sizes.length];
    pushing = true;
    stream.push(wire.subarray(at, at + size));
    pushing = false;
    if (at < half && half <= at + size && at + size < wire.length) await batch();
    at += size;
  }
  assert.equal(stream.finish(), "done");
  await batch();
  const [text, tool] = chat.rows();
  assert.equal(text.text, "Hällo 😊");
  assert.deepEqual([text.kind, text.state], ["text", "done"]);
  assert.deepEqual([tool.kind, tool.state, tool.tool.name, tool.tool.callId], ["tool", "pending", "save", "call_1"]);
  assert.deepEqual(tool.bytes, { count: Buffer.byteLength(tool.tool.input), label: `${Buffer.byteLength(tool.tool.input)} B` });
  assert.deepEqual(chat.args(tool.id), args);
  assert.equal(chat.args(text.id), undefined);
  chat.toolStarted({ stream, callId: "call_1" });
  chat.toolResult(tool.id, { output: "saved" });
  chat.flush();
  const rows = chat.rows(), panels = chat.panels();
  assert.deepEqual([rows[1].state, rows[1].tool.output], ["done", "saved"]);
  assert.equal(panels.usage.outputTokens, 9);
  assert.deepEqual(heard, { rows, panels });
  assert.deepEqual(chat.faults(), []);
  assert.equal(chat.stats().bytes, wire.length);
  stop();
  chat.dispose();
  assert.throws(() => chat.rows());
  return JSON.parse(JSON.stringify(rows, (key, value) => (/At$/.test(key) ? undefined : value)));
}

const whole = await play([wire.length]);
for (const sizes of [[1], [2, 3, 5, 7, 11], [64, 1], [97]]) assert.deepEqual(await play(sizes), whole, `cut ${sizes}`);
assert.throws(() => new ChatRows({ format: "nonsense" }), /openai-chat/);
console.log("the packed package turned a stream into rows, however it was cut");
