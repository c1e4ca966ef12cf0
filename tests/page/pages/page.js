// A page that shows what tests tell it to: `scene.chat` is a chat as far as rows.js knows one, made of plain ops.
import * as rows from "/rows.js";
import en from "/locales/en.js";
import fr from "/locales/fr.js";
import zh from "/locales/zh.js";
import { everyKind } from "./kinds.js";

const PANELS = "activity plan usage commands mode queue session connection state".split(" ");
const FIELDS = ["text", "tool.input", "tool.output"];

/** Plain ops as an op buffer. */
function encode(ops) {
  const words = [];
  let text = "";
  const piece = (added) => {
    text += added;
    return added.length;
  };
  const field = (name) => (FIELDS.includes(name) ? FIELDS.indexOf(name) : 3 + parseInt(name.slice(12)));
  for (const op of ops) {
    if (op.op === "reset") words.push(0);
    else if (op.op === "insert") words.push(1, op.id, op.before ?? 0, piece(JSON.stringify(op.row)));
    else if (op.op === "append") words.push(2, op.id, field(op.field), op.keep ?? 0xffffffff, piece(op.text));
    else if (op.op === "update") words.push(3, op.id, piece(JSON.stringify(op.patch)));
    else if (op.op === "remove") words.push(4, op.id);
    else words.push(5, PANELS.indexOf(op.name), piece(JSON.stringify(op.patch)));
  }
  return [new Uint32Array(words), text];
}

class Chat {
  locale = "en";
  listeners = new Set();
  state = { rows: [], panels: {} };

  subscribeBuffer(listener) {
    const { rows, panels } = this.state;
    this.listeners.add(listener);
    listener(...encode([
      { op: "reset" },
      ...rows.map((row) => ({ op: "insert", id: row.id, before: null, row })),
      ...Object.entries(panels).map(([name, patch]) => ({ op: "panel", name, patch })),
    ]));
    return () => this.listeners.delete(listener);
  }

  tell(...ops) {
    this.state = rows.applyOps(this.state.rows, this.state.panels, ops);
    for (const listener of this.listeners) listener(...encode(ops));
  }

  insert(row, before = null) {
    this.tell({ op: "insert", id: row.id, before, row: { state: "done", busy: false, ...row } });
  }

  update(id, patch) {
    this.tell({ op: "update", id, patch });
  }

  append(id, field, text, keep) {
    this.tell({ op: "append", id, field, text, keep });
  }

  remove(id) {
    this.tell({ op: "remove", id });
  }

  panel(name, patch) {
    this.tell({ op: "panel", name, patch });
  }
}

const chat = new Chat(), said = [];
const log = document.querySelector("#log"), panels = document.querySelector("#panels");

/** Mounts a chat; what the reader does is kept in `said`. */
function mount(options, element = log, of = chat) {
  const view = rows.mountRows(element, of, options);
  for (const type of ["answer", "approve", "reject", "retry", "copy", "open"]) {
    view.addEventListener(type, ({ detail: { row, ...detail } }) => said.push([type, row.id, detail]));
  }
  return view;
}

/** What each row shows, in the order in which it is read. */
const order = (element = log) => [...element.querySelectorAll("[data-row]")].map((el) => +el.dataset.row);

/** From now on the page's clocks and intervals move only by `advance`. */
function stopTheClock() {
  const timers = new Map();
  let now = 1e12, next = 1;
  Date.now = () => now;
  performance.now = () => now - 1e12;
  window.setInterval = (run, every) => (timers.set(next, { run, every, at: now + every }), next++);
  window.clearInterval = (id) => void timers.delete(id);
  const advance = (ms) => {
    const end = now + ms;
    for (let due; (due = [...timers.values()].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]); due.run()) {
      now = due.at;
      due.at += due.every;
    }
    now = end;
  };
  window.clock = { advance, timers, now: () => now };
}

/**
 * A chat of the module itself, in `#other`, whose clock `ahead` sets forward. `pipe` reads what the server answers;
 * `piped` is then how that ended.
 */
async function mountModule(format = "openai-chat") {
  const { default: init, ChatRows } = await import("/pkg/chatrows.js");
  const { now } = Date, wait = window.setTimeout;
  let lead = 0;
  Date.now = () => now() + lead;
  window.setTimeout = (run, ms, ...rest) => wait(run, Math.min(ms, 50), ...rest);
  await init();
  const chat = new ChatRows({ format });
  rows.mountRows(document.querySelector("#other"), chat);
  const call = (part, more) => chat.push(`data: ${JSON.stringify({ id: "r", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...more, function: { ...more?.function, arguments: part } }] } }] })}\n\n`);
  const pipe = async (url) => {
    const source = await fetch(url);
    const ended = chat.stream().pipe(source);
    ended.then(({ end }) => (live.piped = end), (error) => (live.piped = `${error?.name}`));
  };
  window.live = { chat, call, pipe, piped: "", ahead: (ms) => (lead += ms) };
}

window.scene = { stopTheClock, mountModule, Chat, chat, said, log, panels, mount, order, rows, everyKind, catalogues: { en, fr, zh } };
