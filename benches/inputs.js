// What is measured on: response bodies as a provider sends them, made from a fixed seed, so that every run and
// every environment reads the same bytes. Each input comes with what a chat must hold after it.

/** Deltas of the text inputs. */
const DELTAS = 20_000;
/** Characters of one delta of the inputs that are given by their length. */
const LONG_DELTA = 24;
/** How a body arrives. */
const PIECE_BYTES = 16 << 10;

const ID = "chatcmpl-D8Z5oo6uDh67AD85p73ksdT1KxhE0";
const HEAD = { id: ID, object: "chat.completion.chunk", created: 1770933892, model: "gpt-4.1-nano-2025-04-14" };
const FINGERPRINT = { service_tier: "default", system_fingerprint: "fp_de604bd877a1" };

const WORDS = (
  "the of and to in is that for it as with on be by this are from or an at not have which can one has all but " +
  "stream row delta chunk record event buffer cursor window message request response session token value index " +
  "running pending finished between through without because another different possible important following"
).split(" ");
const MARKS = [".\n\n", ",", ".", ":\n", "\n- ", ' "', '"', " **", "**", " `", "`", "\n", "\t", " \\", " naïve", " — ", " 😀"];

/** Random numbers that are the same in every run: mulberry32. */
function random(seed) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const one = (list) => list[below(list.length)];
  const letters = (n) => Array.from({ length: n }, () => String.fromCharCode(97 + below(26))).join("");
  return { below, one, letters };
}

/** A token of prose: one in eight is punctuation, some of which JSON has to escape. */
const token = (rng) => (rng.below(8) ? ` ${rng.one(WORDS)}` : rng.one(MARKS));

const choice = (delta, finish = null) => ({ index: 0, delta, logprobs: null, finish_reason: finish });
const chunk = (delta, finish) => ({ ...HEAD, ...FINGERPRINT, choices: [choice(delta, finish)], usage: null });

/** The body of `chunks` with its end marker. */
function body(chunks) {
  const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return { bytes: new TextEncoder().encode(`${events.join("")}data: [DONE]\n\n`), records: events.length };
}

/** A response of `count` text deltas; `vary` makes the chunk of each. */
function text(count, vary = (delta) => chunk(delta)) {
  const rng = random(1);
  const chunks = [chunk({ role: "assistant", content: "", refusal: null })];
  let said = "";
  for (let n = 0; n < count; n++) {
    const content = token(rng);
    said += content;
    chunks.push(vary({ content }, n));
  }
  chunks.push(chunk({}, "stop"));
  return { ...body(chunks), deltas: count, text: said };
}

/** Every event has a padding string of its own length. */
function padded() {
  const rng = random(2);
  return text(DELTAS, (delta) => ({ ...chunk(delta), obfuscation: rng.letters(1 + rng.below(16)) }));
}

/** Every event has the usage so far. */
function counted() {
  const usage = (n) => ({
    prompt_tokens: 10, completion_tokens: n, total_tokens: 10 + n,
    prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 },
  });
  return text(DELTAS, (delta, n) => ({ ...chunk(delta), usage: usage(n) }));
}

/**
 * No two events alike: members in an order of their own, other numbers, and an extra member whose name, place and
 * value are made up each time.
 */
function varied() {
  const rng = random(3);
  const shuffled = (object) => {
    const members = Object.entries(object);
    for (let at = members.length - 1; at > 0; at--) {
      const other = rng.below(at + 1);
      [members[at], members[other]] = [members[other], members[at]];
    }
    return Object.fromEntries(members);
  };
  const extra = (depth) => {
    const kind = rng.below(depth ? 6 : 4);
    if (kind === 0) return rng.below(1e9) / 1000;
    if (kind === 1) return rng.one([true, false, null]);
    if (kind < 4) return rng.letters(rng.below(24)) + rng.one(["", " ", '"', "\n"]);
    const items = Array.from({ length: rng.below(4) }, () => extra(depth - 1));
    return kind === 4 ? items : Object.fromEntries(items.map((item) => [rng.letters(3 + rng.below(8)), item]));
  };
  const member = () => ({ [rng.letters(4 + rng.below(10))]: extra(2) });
  return text(DELTAS, (delta) =>
    shuffled({
      ...HEAD, ...FINGERPRINT, ...member(), created: 1770933892 + rng.below(1e6), usage: null,
      choices: [shuffled({ ...choice(shuffled({ ...delta, ...(rng.below(2) ? { refusal: null } : {}) })) })],
    }),
  );
}

/** Lines of code until they have `length`, as `size` counts it. */
function code(rng, length, size) {
  let content = "";
  for (let soFar = 0; soFar < length; ) {
    const line = `${"  ".repeat(rng.below(5))}const ${rng.letters(6)} = ${rng.one(WORDS)}(${rng.one(['"a\\tb"', '"…"', "42", "x"])});`;
    const piece = `${line}${rng.below(6) ? "" : ` // ${rng.one(WORDS)} ${rng.one(WORDS)} 😀`}\n`;
    content += piece;
    soFar += size(piece);
  }
  return content;
}

/** `text` in deltas. By characters, not UTF-16 units: halves of a pair would be escapes, twelve bytes for one character. */
function longDeltas(text) {
  const characters = Array.from(text);
  const deltas = [];
  for (let at = 0; at < characters.length; at += LONG_DELTA) deltas.push(characters.slice(at, at + LONG_DELTA).join(""));
  return deltas;
}

/** A response that calls a tool with `length` characters of arguments: a file to write, as JSON text. */
function argument(length) {
  const rng = random(4);
  const head = '{"path":"src/présenter/cursor.ts","mode":"overwrite","content":"';
  const tail = '","executable":false}';
  const content = code(rng, length - head.length - tail.length, (piece) => JSON.stringify(piece).length - 2);
  const input = `${head}${JSON.stringify(content).slice(1, -1)}${tail}`;
  const call = (more) => chunk({ tool_calls: [{ index: 0, ...more }] });
  const name = { id: "call_Nb3pQ7wZ", type: "function", function: { name: "write_file", arguments: "" } };
  const deltas = longDeltas(input);
  const chunks = [
    chunk({ role: "assistant", content: null, refusal: null }), call(name),
    ...deltas.map((piece) => call({ function: { arguments: piece } })), chunk({}, "tool_calls"),
  ];
  return { ...body(chunks), deltas: deltas.length, input, field: content };
}

/** A response that says `said`, to be read with calls as tags. */
function tagged(said, holds) {
  const deltas = longDeltas(said);
  const chunks = [
    chunk({ role: "assistant", content: "", refusal: null }), ...deltas.map((content) => chunk({ content })), chunk({}, "stop"),
  ];
  return { ...body(chunks), deltas: deltas.length, taggedTools: true, ...holds };
}

/** The same file as a call written in tags, `length` characters of it. */
function writeToFile(length) {
  const content = code(random(4), length, (piece) => piece.length);
  const input = `\n<path>src/présenter/cursor.ts</path>\n<content>\n${content}</content>\n`;
  return tagged(`<write_to_file>${input}</write_to_file>`, { input, field: content.trim() });
}

/** `length` characters of text in which no call is. */
function taggedText(length) {
  const rng = random(8);
  let said = "";
  while (said.length < length) said += token(rng);
  return tagged(said, { text: said.trim() });
}

/** `count` responses of one short text each, every one its own body; for a chat of many rows. */
export function shortAnswers(count) {
  const rng = random(5);
  return Array.from({ length: count }, (_, n) => {
    const said = Array.from({ length: 8 }, () => token(rng));
    const chunks = [...said.map((content) => chunk({ content })), chunk({}, "stop")];
    return { ...body(chunks.map((chunk) => ({ ...chunk, id: `chatcmpl-${n}` }))), text: said.join("") };
  });
}

/** One turn of a long chat: some text, then a call of a tool. */
export function answerWithCall(n) {
  const rng = random(1000 + n);
  const said = Array.from({ length: 8 }, () => token(rng));
  const call = {
    index: 0, id: `call_${n}`, type: "function",
    function: { name: "read_file", arguments: JSON.stringify({ path: `src/${rng.one(WORDS)}.rs`, lines: rng.below(400) }) },
  };
  const chunks = [...said.map((content) => chunk({ content })), chunk({ tool_calls: [call] }), chunk({}, "tool_calls")];
  return { ...body(chunks.map((chunk) => ({ ...chunk, id: `chatcmpl-${n}` }))), callId: call.id };
}

/** The text of a row that grows: in each of `frames` frames `deltas` pieces of `length` characters. */
export function growth(frames, deltas, length) {
  const rng = random(7);
  const characters = [];
  while (characters.length < frames * deltas * length) characters.push(...token(rng));
  const piece = (at) => characters.slice(at * length, (at + 1) * length).join("");
  return Array.from({ length: frames }, (_, frame) => Array.from({ length: deltas }, (_, at) => piece(frame * deltas + at)));
}

/** The bytes of some text deltas of a response that goes on. */
export const textEvents = (deltas) => new TextEncoder().encode(deltas.map((content) => `data: ${JSON.stringify(chunk({ content }))}\n\n`).join(""));

const MAKERS = {
  text: () => text(DELTAS),
  argument: () => argument(1 << 20),
  "argument-256k": () => argument(1 << 18),
  "argument-4m": () => argument(1 << 22),
  "write-to-file": () => writeToFile(1 << 20),
  "write-to-file-256k": () => writeToFile(1 << 18),
  "tagged-text": () => taggedText(1 << 20),
  "tagged-text-256k": () => taggedText(1 << 18),
  varied,
  padded,
  usage: counted,
  cold: () => text(2_000),
};

const made = new Map();

/** The input of this name, with its bytes cut into pieces as they arrive. */
export function input(name) {
  if (!made.has(name)) {
    const input = MAKERS[name]();
    const pieces = [];
    for (let at = 0; at < input.bytes.length; at += PIECE_BYTES) pieces.push(input.bytes.slice(at, at + PIECE_BYTES));
    made.set(name, { ...input, pieces });
  }
  return made.get(name);
}

/** The shapes of chat chunks: what stands before and after `choices`, and what a choice says besides its delta. */
const DIALECTS = [
  ({ padding }) => [{ ...HEAD, ...FINGERPRINT }, { logprobs: null }, { usage: null, obfuscation: padding }],
  ({ n }) => [{ ...HEAD, model: "deepseek-reasoner", system_fingerprint: "fp_eaab8d114b_prod0820_fp8_kvcache" },
    { logprobs: null }, { usage: n % 8 ? null : { prompt_tokens: 18, completion_tokens: n, total_tokens: 18 + n } }],
  () => [{ ...HEAD, model: "qwen/qwen3-32b" }, { logprobs: null }, { x_groq: { id: "req_01kh52nmbjem9bfhxdbabnjv0x", seed: 872656815 } }],
  () => [{ id: "a4e29c5b82f94d67b23e108a7c9df6e1", object: "chat.completion.chunk", created: 1769088912, model: "magistral-medium-2507" }, {}, {}],
  () => [{ ...HEAD, model: "grok-3-mini" }, {}, { system_fingerprint: "fp_2a885414fb" }],
  () => [{}, { logprobs: null }, { object: "chat.completion.chunk", usage: null, created: 1770764942, system_fingerprint: null, model: "qwen3-max", id: ID }],
  ({ n }) => [{ id: "58cb9740-f356-49e9-b71e-a02a1376c1b9", model: "sonar", created: 1770768240,
    usage: { prompt_tokens: 10, completion_tokens: n, total_tokens: 10 + n, cost: { input_tokens_cost: 1e-5, total_cost: 0.005 } },
    citations: ["https://example.org/cities_by_population", "https://example.org/wiki/San_Francisco"] }, {}, { object: "chat.completion.chunk" }],
  () => [{ ...HEAD, model: "gpt-4o", prompt_filter_results: [] },
    { content_filter_results: { hate: { filtered: false, severity: "safe" }, violence: { filtered: false, severity: "safe" } } }, { usage: null }],
];

/** Chat chunks of every dialect in turn, no two alike: text, reasoning, tool arguments and ends. One JSON text each. */
export function variedRecords(count) {
  const rng = random(6);
  return Array.from({ length: count }, (_, n) => {
    const [before, beside, after] = DIALECTS[n % DIALECTS.length]({ n, padding: rng.letters(1 + rng.below(16)) });
    const kind = rng.below(10);
    const delta =
      kind < 6 ? { content: token(rng) }
      : kind < 8 ? { content: null, reasoning_content: token(rng) }
      : kind < 9 ? { tool_calls: [{ index: 0, function: { arguments: `"${rng.one(WORDS)}":"${token(rng)}` } }] }
      : { role: "assistant", content: Array.from({ length: 12 }, () => token(rng)).join("") };
    const finish = rng.below(20) ? (n % 3 ? { finish_reason: null } : {}) : { finish_reason: rng.one(["stop", "tool_calls"]) };
    return JSON.stringify({ ...before, choices: [{ index: 0, delta, ...beside, ...finish }], ...after });
  });
}
