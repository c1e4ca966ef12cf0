// The measurements in node: `node node.js PACKAGE PARSER TASK [OPTIONS]` prints the result as JSON. PACKAGE is the
// release package's folder, PARSER the folder of eventsource-parser, TASK `warm`, `cold` or `memory`, OPTIONS JSON.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { input, shortAnswers } from "./inputs.js";
import { PIECES_PER_FRAME, coldSample, discard, measure, readChat } from "./measure.js";

const [packageFolder, parserFolder, task, options] = process.argv.slice(2);
const glue = pathToFileURL(join(packageFolder, "chatrows.js")).href;
const module = readFileSync(join(packageFolder, "chatrows_bg.wasm"));
const parser = pathToFileURL(join(parserFolder, "dist/index.js")).href;

const tasks = {
  async warm(options) {
    const { default: init, ChatRows } = await import(glue);
    const { createParser } = await import(parser);
    await init({ module_or_path: module });
    return measure({ ChatRows, createParser }, options);
  },

  async cold(side) {
    const { initSync, ChatRows } = await import(glue);
    const { createParser } = await import(parser);
    // `init` would ask for `Response`, and node loads all of fetch when it is asked.
    return coldSample(side, { startModule: () => initSync({ module }), ChatRows, createParser });
  },

  /** Memory that the module holds after one job, and the UTF-8 bytes of what its rows say; a module of its own each. */
  async memory() {
    return [
      await held("text", (ChatRows) => readChat(ChatRows, input("text")).chat),
      await held("argument", (ChatRows) => readChat(ChatRows, input("argument")).chat),
      await held("short-rows", tenThousandRows),
    ];
  },
};

async function held(name, job) {
  // A query makes the glue another module, with memory of its own.
  const { default: init, ChatRows } = await import(`${glue}?${name}`);
  const { memory } = await init({ module_or_path: module });
  const chat = job(ChatRows);
  const bytes = memory.buffer.byteLength;
  const rows = chat.rows();
  const said = rows.flatMap(({ text, tool }) => [text, tool?.input, tool?.output]);
  const text = said.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0);
  discard(chat);
  return { name, rows: rows.length, memory: bytes, text };
}

/** What the user said and what came back, in turn. */
function tenThousandRows(ChatRows) {
  const chat = new ChatRows({ format: "openai-chat" });
  let waiting = 0;
  chat.subscribeBuffer(() => {});
  for (const answer of shortAnswers(5_000)) {
    chat.addUser("And what about the next one?");
    chat.push(answer.bytes);
    chat.finish();
    if (++waiting % PIECES_PER_FRAME === 0) chat.flush();
  }
  chat.flush();
  return chat;
}

console.log(JSON.stringify(await tasks[task](options && JSON.parse(options))));
