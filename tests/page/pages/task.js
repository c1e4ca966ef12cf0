// A page that follows tasks of the server's: `follow` makes a task of a script, follows it to its end, and tells what it
// came to. Many may be followed at once, each with a chat of its own.
import init, { ChatRows, TaskStreamClient } from "/pkg/chatrows.js";
import { mountPanels } from "/rows.js";

await init();

const ask = async (path, request) => (await fetch(`/task-stream/tasks${path}`, request)).json();
const post = (path, body = {}) => ask(path, { method: "POST", body: JSON.stringify(body) });
const make = async (script) => (await post("", { ping_ms: 40, ...script })).id;
const received = async (task) => (await ask(`/${task}/received`)).map(({ dial, type, data }) => [dial, type, data]);
const drop = (task, loss) => post(`/${task}/drop`, loss);
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

/** Waits until it is so. */
async function until(condition) {
  while (!(await condition())) await sleep(5);
}

/** Rows without what one run has of its own. */
const plain = (chat) => chat.rows().map(({ id, startedAt, endedAt, ...row }) => row);

/** What each row says, shortly. */
const brief = (chat) => chat.rows().map((row) => [row.kind, row.state, row.tool?.title ?? row.text ?? row.error?.code ?? row.message?.key]);

const options = (task, more) => ({ url: location.origin, task, input: "go", backoff: { first: 20, max: 40 }, ...more });

/** A client of a task, and what the reader sees meanwhile. */
function start(task, more, chat = new ChatRows()) {
  const client = new TaskStreamClient(chat, options(task, more));
  const states = [], restless = [];
  const stop = chat.subscribe((ops) => {
    for (const { name, patch } of ops) {
      const said = name === "connection" && (patch.reason ?? patch.state);
      if (said && states.at(-1) !== said) states.push(said);
    }
    if (states.at(-1) === "retrying") restless.push(...chat.rows().filter((row) => row.busy));
  });
  const ended = client.connect().then((end) => {
    chat.flush();
    stop();
    return end;
  });
  return { task, client, chat, ended, states, restless };
}

/** Follows a task to its end. `during` is told the running client. */
async function follow(script, more, during) {
  const running = start(await make(script), more);
  await during?.(running);
  const end = await running.ended;
  const { chat, client, states, restless, task } = running;
  const moves = chat.rows().filter((row) => row.busy || ["streaming", "preparing", "running"].includes(row.state));
  return { end, rows: plain(chat), brief: brief(chat), stats: chat.stats().records, panels: chat.panels(), states, restless, moves, unsent: client.unsent, received: await received(task) };
}

const QUESTIONS = [{ question: "Which way?", header: "Way", multiSelect: false, options: [{ label: "left" }, { label: "right" }] }];
const MORE = [...QUESTIONS, { question: "With what?", multiSelect: true, options: [{ label: "a" }, { label: "b" }, { label: "c" }] }];

/** A turn that has something of everything. */
const TURN = [
  { commands: [{ name: "review", description: "Review" }] },
  { thought: "First " }, { thought: "I look." },
  { plan: [{ content: "look", status: "in_progress" }, { content: "act", status: "pending" }] },
  { text: "I " }, { text: "look 👀 " }, { text: "思考中" },
  { tool_call: { toolCallId: "t1", title: "ls", kind: "execute", status: "in_progress", rawInput: { command: "ls" } } },
  { tool_call_update: { toolCallId: "t1", status: "in_progress", content: [{ type: "content", content: { type: "text", text: "a" } }] } },
  { text: "Meanwhile." },
  { tool_call_update: { toolCallId: "t1", status: "completed", rawOutput: { output: "a\nb" } } },
  { usage: { used: 10, size: 100 } },
  { ask: { id: "q1", questions: QUESTIONS } },
  { text: "You said {answer}." },
  { tool_call: { toolCallId: "t2", title: "edit", kind: "edit", status: "pending", locations: [{ path: "a.txt", line: 3 }] } },
  { tool_call_update: { toolCallId: "t2", status: "completed", content: [{ type: "diff", path: "a.txt", oldText: "a", newText: "b" }] } },
  { plan: [{ content: "look", status: "completed" }, { content: "act", status: "completed" }] },
  { text: "Done." },
];
/** Frames of that turn: the echo, the start, the answer's echo and the end come on top. */
const RECORDS = TURN.length + 4;

window.tasks = { ChatRows, TaskStreamClient, mountPanels, make, received, drop, sleep, until, plain, brief, options, start, follow, QUESTIONS, MORE, TURN, RECORDS };
