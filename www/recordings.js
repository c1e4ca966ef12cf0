// Recordings for the demo: what a model's server would have sent as OpenAI chat completion chunks, an extension's
// provider as chunks of its own, and an extension as messages to its webview (posted.js). Written for this project
// and built anew, always the same, whenever one is played: a script of events with the pauses between them. Bytes
// are cut into network pieces `[at_ms, Uint8Array]` without regard for events, escapes or characters; messages are
// pieces `[at_ms, object]`.
import { posted } from "./posted.js";

const PIECE_MS = 16;

/** Numbers from 0 to 1, the same for the same seed. */
function chance(seed) {
  return () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32;
}

/**
 * Cuts a script of `[pause_ms, text]` into network pieces: events that come within 16 ms share a piece, and
 * each piece but the last ends somewhere inside its last event.
 */
export function pieces(script, seed = 1) {
  const random = chance(seed), encoder = new TextEncoder(), cut = [];
  let at = 0, from = 0, held = [];
  const deliver = (keep) => {
    const bytes = new Uint8Array(held.reduce((sum, part) => sum + part.length, 0));
    let end = 0;
    for (const part of held) bytes.set(part, end), (end += part.length);
    cut.push([Math.round(from), bytes.slice(0, end - keep)]);
    held = keep ? [bytes.slice(end - keep)] : [];
  };
  for (const [pause, text] of script) {
    at += pause;
    if (held.length && at - from >= PIECE_MS) deliver(Math.floor(random() * held.at(-1).length));
    if (cut.length === 0 || at - from >= PIECE_MS) from = at;
    held.push(encoder.encode(text));
  }
  deliver(0);
  return cut;
}

/** Cuts a file of one's own in the same way: 2,000 pieces at most, over 10 seconds at most. */
export function cutFile(bytes, seed) {
  const random = chance(seed), cut = [];
  const mean = Math.max(180, bytes.length / 1000);
  for (let from = 0, at = 0; from < bytes.length; at += 10) {
    const end = from + 1 + Math.floor(random() * 2 * mean);
    cut.push([at, bytes.subarray(from, end)]);
    from = end;
  }
  return cut;
}

const sse = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;

/** The events of one response: each builds one `data:` line. */
function response(id, model = "demo-model") {
  const event = (rest) => sse({ id, object: "chat.completion.chunk", created: 1750000000, model, ...rest });
  const delta = (delta, index = 0, finish_reason = null) => event({ choices: [{ index, delta, finish_reason }] });
  return {
    start: delta({ role: "assistant", content: "" }),
    text: (content, index) => delta({ content }, index),
    reason: (reasoning_content) => delta({ reasoning_content }),
    call: (index, id, name) => delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    args: (index, part) => delta({ tool_calls: [{ index, function: { arguments: part } }] }),
    finish: (reason, index) => delta({}, index, reason),
    usage: (prompt_tokens, completion_tokens, more) =>
      event({ choices: [], usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, ...more } }),
    done: sse("[DONE]"),
  };
}

/** Text as a model would bring it: a few letters at a time. */
const tokens = (text) => text.match(/\s*\S{1,5}|\s+$/gu) ?? [];
const spread = (texts, pause, event) => texts.map((text) => [pause, event(text)]);
const every = (text, size) => text.match(new RegExp(`[^]{1,${size}}`, "gu"));

function answer() {
  const r = response("chatcmpl-a1");
  return [
    [180, r.start],
    ...spread(tokens(
      "The tide follows the Moon. Its pull raises the sea on the side that faces it, and a second bulge stands on " +
      "the far side, where the pull is weakest.\n\nAs the Earth turns under both, most coasts see two high waters " +
      "in a little under 25 hours. When the Sun is in line – at new and full moon – the two add up to a spring tide; " +
      "at the quarters they work against each other, and the tide is neap.",
    ), 28, (t) => r.text(t)),
    [30, r.finish("stop")],
    [20, r.usage(14, 96)],
    [0, r.done],
  ];
}

function reasoning() {
  const r = response("chatcmpl-b1");
  return [
    [200, r.start],
    ...spread(tokens(
      "Seventeen sheep, all but nine run away. “All but nine” means nine stay. It is tempting to take 17 − 9 = 8, " +
      "but that counts the ones that ran.",
    ), 26, (t) => r.reason(t)),
    [350, r.text("Nine")],
    ...spread(tokens(" are left: “all but nine” says how many did not run away. 😊"), 34, (t) => r.text(t)),
    [30, r.finish("stop")],
    [20, r.usage(23, 71, { completion_tokens_details: { reasoning_tokens: 48 } })],
    [0, r.done],
  ];
}

/** So many bytes of arguments: a path, then a file full of what JSON must escape and of characters of several bytes. */
export function longArguments(most = 200 * 1024) {
  const lines = [];
  const places = ["Brest", "Reykjavík", "Saint-Malo", "Владивосток", "Άνδρος", "Łeba"];
  const head = '{"path":"notes/tides.md","content":"';
  let size = head.length + 2;
  for (let n = 1; ; n++) {
    const place = places[n % places.length];
    const line = n % 12 === 1
      ? `\n## Week ${(n + 11) / 12}\n\n`
      : `- ${place}: "high water" at ${n % 24}:${String((n * 17) % 60).padStart(2, "0")},\t${((n * 37) % 900) / 100} m${n % 5 ? "" : ", calm 😊"}\n`;
    const escaped = JSON.stringify(line).slice(1, -1);
    size += new TextEncoder().encode(escaped).length;
    if (size > most) break;
    lines.push(escaped);
  }
  return `${head}${lines.join("")}"}`;
}

function longCall() {
  const r = response("chatcmpl-c1");
  const parts = every(longArguments(), 23);
  return [
    [160, r.start],
    ...spread(tokens("I will write the table to a file."), 30, (t) => r.text(t)),
    [120, r.call(0, "call_c1", "write_file")],
    ...spread(parts, 11600 / parts.length, (part) => r.args(0, part)),
    [30, r.finish("tool_calls")],
    [20, r.usage(212, 51840)],
    [0, r.done],
  ];
}

function parallelCalls() {
  const r = response("chatcmpl-d1");
  const north = every('{"station":"Reykjavík","days":3,"units":{"height":"m","speed":"kn"}}', 7);
  const south = every('{"station":"Saint-Malo","days":3,"alerts":[true,"spring tide",12.5]}', 7);
  const both = north.flatMap((part, i) => [r.args(0, part), ...(south[i] ? [r.args(1, south[i])] : [])]);
  return [
    [180, r.start],
    ...spread(tokens("I will ask both stations at once."), 34, (t) => r.text(t)),
    [140, r.call(0, "call_d1", "tide_table")],
    [60, r.call(1, "call_d2", "tide_table")],
    ...spread(both, 85, (event) => event),
    [30, r.finish("tool_calls")],
    [20, r.usage(301, 58, { prompt_tokens_details: { cached_tokens: 256 } })],
    [0, r.done],
  ];
}

function cutByLength() {
  const r = response("chatcmpl-e1");
  return [
    [180, r.start],
    ...spread(tokens(
      "A tide pool, from the top down:\n\n1. Splash zone: periwinkles, lichens.\n2. High zone: barnacles, limpets.\n" +
      "3. Middle zone: mussels, anemones, and below them the first of the",
    ), 32, (t) => r.text(t)),
    [30, r.finish("length")],
    [20, r.usage(18, 64)],
    [0, r.done],
  ];
}

function errorInside() {
  const r = response("chatcmpl-f1");
  return [
    [180, r.start],
    ...spread(tokens("The harbour was first surveyed in"), 40, (t) => r.text(t)),
    [700, sse({ error: { message: "The model is overloaded. Please try again shortly.", type: "server_error", code: "overloaded" } })],
  ];
}

function hostile() {
  const r = response("chatcmpl-g1");
  const lines = (text) => text.replaceAll("\n", "\r\n");
  const call = every('{"__proto__":{"admin":true},"path":"<b>x</b>","note":"\\u202Edesrever\\u202C, שלום"', 9);
  return [
    [150, `\uFEFF: keep-alive\n\n${r.start}`],
    [200, lines(r.text("Markup stays text: "))],
    [120, lines(r.text("<img src=x onerror=alert(1)> & <script>alert(2)</script> "))],
    [200, 'data: {"id":"chatcmpl-g1","choices":[{"index":0,"delta":{"content":"bro\n\n'],
    [160, ": a comment\r\n\r\n"],
    [160, sse({ object: "telemetry.sample", load: 0.7, note: "not a chunk" })],
    [200, "event: message\rid: 7\r" + r.text("[a link](javascript:alert(3)) \u0000 and the stream goes on.").replace(/\n\n$/, "\r\r")],
    [300, r.call(0, "call_g1", "save_note")],
    ...spread(call, 60, (part) => r.args(0, part)),
  ];
}

function choices() {
  const r = response("chatcmpl-h1");
  const one = tokens("Slack water: the short rest between flood and ebb.");
  const two = tokens("Slack water is the moment when the tide stands still before it turns.");
  const both = two.flatMap((part, i) => [...(one[i] ? [r.text(one[i], 0)] : []), r.text(part, 1)]);
  return [
    [180, r.start],
    ...spread(both, 32, (event) => event),
    [30, r.finish("stop", 0)],
    [30, r.finish("stop", 1)],
    [20, r.usage(12, 41)],
    [0, r.done],
  ];
}

/** Two calls of a provider that says how far it has come by markers inside its reasoning, and reports each as a whole. */
function preparedCalls() {
  const line = (chunk) => `${JSON.stringify(chunk)}\n`;
  const reason = (text) => line({ type: "reasoning", text });
  const marker = (name, bytes) => reason(`\0tool_preparing\0${name}\0${bytes}\0`);
  const tides = longArguments(1.2 * 1024 * 1024);
  const week = JSON.stringify({ path: "notes/week.md", content: "# This week\n\n" + "Spring tide on Friday; keep the lower path clear.\n".repeat(900) });
  const size = (text) => new TextEncoder().encode(text).length;
  const [most, some] = [size(tides), size(week)];
  const grown = (of, part) => Math.round(of * part ** 3); // slowly through the bytes, fast through the megabytes
  const steps = Array.from({ length: 60 }, (_, i) => (i + 1) / 60);
  return [
    [120, line({ type: "response_metadata", model: "demo-model", actualModel: "demo-model-large", ttfbMs: 118 })],
    ...spread(tokens("Two files: the table for the year, and a page for this week. I write both at once."), 30, reason),
    [150, marker("write_file", 0)],
    [90, marker("append_file", 0)],
    ...steps.flatMap((part, i) => [
      [50, marker("write_file", grown(most, part))],
      ...(i < 40 ? [[20, marker("append_file", grown(some, Math.min(1, (i + 1) / 40)))]] : []),
      ...(i % 15 === 7 ? [[10, reason(" Still writing.")]] : []),
    ]),
    [7000, line({ type: "tool_call", id: "call_i1", name: "append_file", arguments: week })],
    [900, line({ type: "tool_call", id: "call_i2", name: "write_file", arguments: tides })],
    [60, line({ type: "usage", inputTokens: 388, outputTokens: 402117, cacheReadTokens: 256, totalCost: 0.4137 })],
  ];
}

/** What a provider's parser makes of a call, after sources and an answer. */
function chunks() {
  const line = (chunk) => `${JSON.stringify(chunk)}\n`;
  const args = every('{"station":"Brest","days":1,"units":{"height":"m"}}', 6);
  return [
    ...spread(tokens("The port of Brest has the gauge I need."), 30, (text) => line({ type: "reasoning", text })),
    [40, line({ type: "thinking_complete", signature: "demo" })],
    ...spread(tokens("High water at Brest today, from the port’s own gauge:"), 32, (text) => line({ type: "text", text })),
    [60, line({ type: "grounding", sources: [{ title: "The gauge at Brest", url: "https://example.org/brest" }] })],
    [80, line({ type: "tool_call_start", id: "call_j1", name: "tide_table" })],
    ...spread(args, 60, (delta) => line({ type: "tool_call_delta", id: "call_j1", delta })),
    [40, line({ type: "tool_call_end", id: "call_j1" })],
    [40, line({ type: "usage", inputTokens: 120, outputTokens: 64, reasoningTokens: 12, totalCost: 0.0021 })],
  ];
}

/** Calls as tags in the text of a provider, of which each waits for its turn. */
function waitingTools() {
  const line = (text) => `${JSON.stringify({ type: "text", text })}\n`;
  return spread(tokens(
    "I look at the page first.\n\n<read_file>\n<path>notes/week.md</path>\n</read_file>\n\n" +
    "Friday is missing. I write the page anew, with the spring tide in it.\n\n" +
    "<write_to_file>\n<path>notes/week.md</path>\n<content>\n# This week\n\n- Monday: high water 04:12, 5.1 m\n" +
    "- Wednesday: high water 05:40, 5.6 m\n- Friday: spring tide, high water 07:02, 6.3 m\n\n" +
    "Keep the lower path clear on Friday.\n</content>\n</write_to_file>\n\n" +
    "Now the check, which goes through all of the notes.\n\n" +
    "<execute_command>\n<command>node check.js notes</command>\n</execute_command>\n\nThat is all there is to do.\n\n" +
    "<attempt_completion>\n<result>The page has Friday’s spring tide, and the notes are in order.</result>\n</attempt_completion>",
  ), 30, line);
}

/** A call by which the model asks the reader, and one that says what came of it. */
function askedByCall() {
  const line = (text) => `${JSON.stringify({ type: "text", text })}\n`;
  return spread(tokens(
    "There are two pages for this week.\n\n<ask_followup_question>\n<question>Which page should have the spring tide?</question>\n" +
    '<options>["notes/week.md", "notes/tides.md"]</options>\n</ask_followup_question>\n\n' +
    "<attempt_completion>\n<result>Friday’s spring tide stands in the page that you named: high water 07:02, 6.3 m.</result>\n</attempt_completion>",
  ), 30, line);
}

/** A run of an agent: two tools at once, and what the user said meanwhile, delivered when its turn has come. */
function agentRun(ask) {
  const line = (event) => `${JSON.stringify(event)}\n`;
  const message = (role, content, more) => ({ role, content, ...more });
  const both = (said) => [[30, line({ type: "message_start", message: said })], [10, line({ type: "message_end", message: said })]];
  const say = (text) => [{ type: "text", text }];
  const part = (event) => line({ type: "message_update", usage: {}, assistantMessageEvent: event });
  const streamed = (contentIndex, kind, text) => [
    [40, part({ type: `${kind}_start`, contentIndex })],
    ...spread(tokens(text), 28, (delta) => part({ type: `${kind}_delta`, contentIndex, delta })),
    [20, part({ type: `${kind}_end`, contentIndex, content: text })],
  ];
  const call = (contentIndex, id, name, args) => [
    [120, part({ type: "toolcall_start", contentIndex, id, toolName: name })],
    ...spread(every(JSON.stringify(args), 9), 50, (delta) => part({ type: "toolcall_delta", contentIndex, delta })),
    [20, part({ type: "toolcall_end", contentIndex, toolCall: { type: "toolCall", id, name, arguments: args } })],
  ];
  const answer = (pause, parts, content, stopReason, usage) => [
    [pause, line({ type: "message_start", message: message("assistant", [], { stopReason: "pending" }) })],
    ...parts,
    [30, line({ type: "message_end", message: message("assistant", content, { stopReason, usage }) })],
  ];
  const tool = (name) => (event) => ({ toolName: name, ...event });
  const [bash, read] = [tool("bash"), tool("read")];
  const [command, file] = [{ command: "node check.js notes" }, { path: "notes/week.md" }];
  const thought = "The notes and their check do not depend on each other: both at once.";
  const first = "I read the page, and run the check meanwhile.";
  const calls = [["run_1", "bash", command], ["run_2", "read", file]].map(([id, name, args]) => ({ type: "toolCall", id, name, arguments: args }));
  const page = "# This week\n\n- Monday: high water 04:12, 5.1 m\n- Wednesday: high water 05:40, 5.6 m";
  const checked = (count) => Array.from({ length: count }, (_, n) => `ok   notes/${["week", "tides", "harbour", "pools"][n]}.md`).join("\n");
  const result = (toolCallId, name, text) => both(message("toolResult", say(text), { toolCallId, toolName: name, isError: false }));
  const steer = "Friday is missing, is it not?", later = "Then say when the lower path is clear.";
  const second = "Yes: Friday’s spring tide, high water 07:02 with 6.3 m, stands in no note yet. Monday and Wednesday do, and the check finds nothing wrong with them.";
  const third = "From 10:30 to 14:00 on Friday.";
  return [
    [60, line({ type: "session", version: 3, id: "demo", timestamp: "2026-11-30T09:00:00.000Z", cwd: "/notes" })],
    [60, line({ type: "agent_start" })],
    [0, line({ type: "turn_start" })],
    ...both(message("user", say(ask))),
    ...answer(500, [...streamed(0, "thinking", thought), ...streamed(1, "text", first), ...call(2, "run_1", "bash", command), ...call(3, "run_2", "read", file)],
      [{ type: "thinking", thinking: thought }, ...say(first), ...calls], "toolUse", { input: 812, output: 96, cacheRead: 640, totalTokens: 908 }),
    [60, line(bash({ type: "tool_execution_start", toolCallId: "run_1", args: command }))],
    [20, line(read({ type: "tool_execution_start", toolCallId: "run_2", args: file }))],
    [400, line(bash({ type: "tool_execution_update", toolCallId: "run_1", args: command, partialResult: { content: say(checked(1)) } }))],
    [350, line(read({ type: "tool_execution_end", toolCallId: "run_2", result: { content: say(page) }, isError: false, durationMs: 770 }))],
    [500, line({ type: "queue_update", steering: [steer], followUp: [] })],
    [300, line(bash({ type: "tool_execution_update", toolCallId: "run_1", args: command, partialResult: { content: say(checked(3)) } }))],
    [900, line({ type: "queue_update", steering: [steer], followUp: [later] })],
    [600, line(bash({ type: "tool_execution_end", toolCallId: "run_1", result: { content: say(checked(4)) }, isError: false, durationMs: 3070 }))],
    ...result("run_1", "bash", checked(4)),
    ...result("run_2", "read", page),
    [20, line({ type: "turn_end", message: message("assistant", []), toolResults: [] })],
    [40, line({ type: "queue_update", steering: [], followUp: [later] })],
    ...both(message("user", say(steer))),
    ...answer(600, streamed(0, "text", second), say(second), "stop", { input: 1033, output: 58, cacheRead: 896, totalTokens: 1091 }),
    [40, line({ type: "queue_update", steering: [], followUp: [] })],
    ...both(message("user", say(later))),
    ...answer(500, streamed(0, "text", third), say(third), "stop", { input: 1112, output: 17, cacheRead: 1024, totalTokens: 1129 }),
    [20, line({ type: "agent_end", messages: [], willRetry: false })],
    [10, line({ type: "agent_settled", aborted: false })],
  ];
}

/** `[pause_ms, message, waits?]` with the time at which each comes, from `at` on. */
export function timed(script, at = 0) {
  return script.map(([pause, ...rest]) => [(at += pause), ...rest]);
}

const streams = (format, recordings) =>
  recordings.map(({ script, ...rest }, i) => ({ ...rest, format, pieces: () => pieces(script(), i + 1) }));

/**
 * `ask` is what the user says first; `pieces()` are the network pieces, `[at_ms, bytes]`, or the messages,
 * `[at_ms, object]`. A third entry says that the other side waits for the reader: by the name of what they may do,
 * the function that gives what is posted then. `tools`: the presenter runs the calls.
 */
export const recordings = [
  ...streams("openai-chat", [
    { id: "answer", title: "A short answer", ask: "What makes the tides?", script: answer },
    { id: "reasoning", title: "Reasoning, then an answer", ask: "A farmer has 17 sheep. All but nine run away. How many are left?", script: reasoning },
    { id: "long-call", title: "A tool call of 200 KB", ask: "Write a tide table for the year into notes/tides.md.", script: longCall },
    { id: "parallel", title: "Two tool calls at once", ask: "Compare the tides of Reykjavík and Saint-Malo.", script: parallelCalls },
    { id: "length", title: "An answer cut by length", ask: "What lives in a tide pool?", script: cutByLength },
    { id: "error", title: "An error in mid-answer", ask: "When was the harbour surveyed?", script: errorInside },
    { id: "hostile", title: "A hostile stream", ask: "Save a note, please.", script: hostile },
    { id: "choices", title: "Two choices", ask: "What is slack water?", script: choices },
  ]),
  ...posted.map(({ script, ...rest }) => ({ ...rest, format: "say", pieces: () => timed(script(rest.ask)) })),
  ...streams("api-stream", [
    { id: "prepared", title: "Two calls in preparation", ask: "Write the tide table for the year, and a page for this week.", script: preparedCalls },
    { id: "chunks", title: "Sources, and a call in parts", ask: "When is high water at Brest?", script: chunks },
    { id: "waiting", title: "Tools that wait", ask: "Add Friday’s spring tide to notes/week.md, and check the notes.", script: waitingTools, tools: true },
    { id: "asked", title: "A question by a call", ask: "Add Friday’s spring tide to this week’s page.", script: askedByCall, tools: true },
  ]),
  ...streams("agent-events", [
    { id: "run", title: "An agent’s run", ask: "Is this week’s page complete?", script: () => agentRun("Is this week’s page complete?") },
  ]),
];
