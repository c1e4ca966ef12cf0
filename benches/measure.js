// The measurements, for any environment that hands in the two sides: `createParser` of eventsource-parser and the
// package's `ChatRows`. Answers with raw samples in milliseconds; what they mean is for `cargo xtask bench` to say.

import { input } from "./inputs.js";

/** Pieces that arrive before the page draws its next frame. */
export const PIECES_PER_FRAME = 16;
const WARM_UP_ROUNDS = 3;

/** Each case reads one input on both sides; `frame` is how many pieces one drain takes. */
const CASES = [
  { name: "text", input: "text" },
  { name: "text-per-piece", input: "text", frame: 1 },
  { name: "argument", input: "argument" },
  { name: "varied", input: "varied" },
  { name: "padded", input: "padded" },
  { name: "usage", input: "usage" },
  { name: "write-to-file", input: "write-to-file" },
  { name: "tagged-text", input: "tagged-text" },
];

/** How time grows with the length of one input; a short one is read `repeat` times for one sample. */
const GROWTH = [
  { name: "argument-256k", repeat: 4 },
  { name: "argument", repeat: 1 },
  { name: "argument-4m", repeat: 1 },
  { name: "write-to-file-256k", repeat: 4 },
  { name: "write-to-file", repeat: 1 },
  { name: "tagged-text-256k", repeat: 4 },
  { name: "tagged-text", repeat: 1 },
];

/** The least that a page can do in JavaScript: decode, split into events, parse, and nothing else. */
export function readFloor(createParser, pieces) {
  let records = 0;
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent({ data }) {
      if (data === "[DONE]") return;
      JSON.parse(data);
      records++;
    },
  });
  for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
  parser.feed(decoder.decode());
  return records;
}

/** The same bytes through a chat of their own, up to a listener that reads every word and the string's length. */
export function readChat(ChatRows, { pieces, taggedTools = false }, frame = PIECES_PER_FRAME) {
  const chat = new ChatRows({ format: "openai-chat", taggedTools });
  const heard = { sum: 0, units: 0 };
  chat.subscribeBuffer((words, text) => {
    for (let at = 0; at < words.length; at++) heard.sum = (heard.sum + words[at]) | 0;
    heard.units += text.length;
  });
  let waiting = 0;
  for (const piece of pieces) {
    chat.push(piece);
    if (++waiting === frame) {
      chat.flush();
      waiting = 0;
    }
  }
  chat.finish();
  chat.flush();
  return { chat, heard };
}

export function discard(chat) {
  chat.dispose();
  chat.free();
}

/** A measurement of something that goes wrong measures nothing. */
function check({ ChatRows, createParser }, name) {
  const expected = input(name);
  const records = readFloor(createParser, expected.pieces);
  const { chat, heard } = readChat(ChatRows, expected);
  const [row, ...others] = chat.rows();
  const stats = chat.stats();
  const field = row.tool?.fields.find(({ path }) => path[0] === "content");
  const faults = [
    records === expected.records ? "" : `the floor read ${records} of ${expected.records} records`,
    stats.records.total === expected.records ? "" : `the chat read ${stats.records.total} of ${expected.records} records`,
    stats.records.faulted === 0 ? "" : `the chat faulted ${stats.records.faulted} records`,
    others.length === 0 ? "" : `the chat has ${1 + others.length} rows`,
    row.text === expected.text ? "" : "the row's text is not what the body carries",
    row.tool?.input === expected.input ? "" : "the arguments are not what the body carries",
    field?.text === expected.field ? "" : "the argument's field is not what the body carries",
    heard.units >= (expected.text ?? expected.input).length ? "" : "the listener did not hear everything",
  ].filter(Boolean);
  discard(chat);
  if (faults.length) throw new Error(`${name}: ${faults.join(", ")}`);
}

/** Lets the environment do what it put off, so that it falls into no sample. */
const rest = () => new Promise((resolve) => setTimeout(resolve));

async function sample(repeat, run) {
  await rest();
  let chats = [];
  const start = performance.now();
  for (let n = 0; n < repeat; n++) chats.push(run());
  const time = (performance.now() - start) / repeat;
  for (const chat of chats) if (chat) discard(chat);
  return time;
}

/** Warm measurements in interleaved rounds. `only` names cases, and `growth`. */
export async function measure(sides, { rounds, only }) {
  const { ChatRows, createParser } = sides;
  const wanted = (name) => only.length === 0 || only.includes(name);
  const cases = CASES.filter(({ name }) => wanted(name));
  const growth = wanted("growth") ? GROWTH : [];
  for (const name of new Set([...cases.map(({ input }) => input), ...growth.map(({ name }) => name)])) check(sides, name);

  const samples = new Map(cases.map(({ name }) => [name, { floor: [], chatrows: [] }]));
  const grown = new Map(growth.map(({ name }) => [name, []]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    // Each case comes after every other, so that none always pays for what another left behind.
    for (let turn = 0; turn < cases.length; turn++) {
      const { name, input: from, frame } = cases[(turn + round + WARM_UP_ROUNDS) % cases.length];
      const response = input(from);
      const floor = () => sample(1, () => void readFloor(createParser, response.pieces));
      const chatrows = () => sample(1, () => readChat(ChatRows, response, frame).chat);
      // Each goes first in every other round.
      const times = {};
      if (round & 1) (times.floor = await floor()), (times.chatrows = await chatrows());
      else (times.chatrows = await chatrows()), (times.floor = await floor());
      if (round < 0) continue;
      samples.get(name).floor.push(times.floor);
      samples.get(name).chatrows.push(times.chatrows);
    }
    for (const { name, repeat } of growth) {
      const response = input(name);
      const time = await sample(repeat, () => readChat(ChatRows, response).chat);
      if (round >= 0) grown.get(name).push(time);
    }
  }
  return {
    cases: cases.map(({ name, input: from }) => {
      const { deltas, bytes } = input(from);
      return { name, deltas, bytes: bytes.length, ...samples.get(name) };
    }),
    growth: growth.map(({ name }) => ({ name, bytes: input(name).bytes.length, samples: grown.get(name) })),
  };
}

/**
 * One cold sample; the process must be new. From the module's bytes at hand to the first 2,000 deltas as ops, or
 * the same deltas through the floor.
 */
export async function coldSample(side, { startModule, ChatRows, createParser }) {
  const response = input("cold");
  const { pieces, records } = response;
  const start = performance.now();
  if (side === "floor") {
    const read = readFloor(createParser, pieces);
    const time = performance.now() - start;
    if (read !== records) throw new Error(`the floor read ${read} of ${records} records`);
    return time;
  }
  await startModule();
  const { chat } = readChat(ChatRows, response);
  const time = performance.now() - start;
  const { total } = chat.stats().records;
  if (total !== records) throw new Error(`the chat read ${total} of ${records} records`);
  return time;
}
