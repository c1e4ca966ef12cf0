// The release package as a user has it, installed from its tarball: the module
// starts from its file, and one recorded stream becomes rows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ChatRows, initSync } from "chatrows";

const module = fileURLToPath(import.meta.resolve("chatrows/chatrows_bg.wasm"));
initSync({ module: readFileSync(module) });

const chat = new ChatRows();
const stream = chat.stream({ format: "openai-chat" });
const records = [
  { id: "r1", choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] },
  { id: "r1", choices: [{ index: 0, delta: { content: "lo" } }] },
  { id: "r1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
];
for (const record of records) stream.push(`data: ${JSON.stringify(record)}\n\n`);
stream.push("data: [DONE]\n\n");
stream.finish();

const rows = chat.rows().map(({ kind, state, text }) => ({ kind, state, text }));
assert.deepEqual(rows, [{ kind: "text", state: "done", text: "Hello" }]);
chat.dispose();
console.log("the packed package turned a stream into rows");
