// Readers of JSON as WebAssembly, beside JSON.parse: `node readers.js records FILE` writes the records that are read;
// `node readers.js measure FILE ROUNDS FOLDER NAME …` prints names, digests and samples in milliseconds as JSON.
// FOLDER holds one module a name, as wasm-bindgen wrote it.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { variedRecords } from "./inputs.js";

const RECORDS = 480;
/** One pass over the records is too short for a clock. */
const PASSES = 10;
const WARM_UP_ROUNDS = 5;

const [task, file, rounds, folder, ...names] = process.argv.slice(2);

/** What every reader answers with: FNV-1a of the contents and of the finish reasons. */
function parseAll(bytes, ends) {
  const digest = { content: 0x811c9dc5, finish: 0x811c9dc5 };
  const take = (part, text) => {
    if (typeof text !== "string") return;
    let hash = digest[part];
    for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
    digest[part] = Math.imul(hash ^ 0xff, 0x01000193);
  };
  for (const record of decodeAll(bytes, ends)) {
    const choice = record.choices[0];
    take("content", choice.delta.content);
    take("finish", choice.finish_reason);
  }
  return (digest.content ^ ((digest.finish << 16) | (digest.finish >>> 16))) >>> 0;
}

function decodeAll(bytes, ends) {
  const decoder = new TextDecoder();
  let start = 0;
  return Array.from(ends, (end) => JSON.parse(decoder.decode(bytes.subarray(start, (start = end)))));
}

async function measure() {
  const bytes = new Uint8Array(readFileSync(file));
  const ends = Uint32Array.from(Array.from(bytes.keys()).filter((at) => bytes[at] === 10), (at) => at + 1);
  const sides = [{ name: "JSON.parse", read: decodeAll, digest: parseAll(bytes, ends), samples: [] }];
  for (const name of names) {
    const { read, initSync } = await import(pathToFileURL(join(folder, name, "readers.js")).href);
    initSync({ module: readFileSync(join(folder, name, "readers_bg.wasm")) });
    sides.push({ name, read, digest: read(bytes, ends), samples: [] });
  }
  for (let round = -WARM_UP_ROUNDS; round < Number(rounds); round++) {
    for (const { read, samples } of sides) {
      const start = performance.now();
      for (let pass = 0; pass < PASSES; pass++) read(bytes, ends);
      if (round >= 0) samples.push((performance.now() - start) / PASSES);
    }
  }
  return sides.map(({ name, digest, samples }) => ({ name, digest, samples }));
}

if (task === "records") writeFileSync(file, variedRecords(RECORDS).map((record) => `${record}\n`).join(""));
else console.log(JSON.stringify(await measure()));
