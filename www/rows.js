// Puts the rows of a chat on the page. What goes in: the op buffers of `chat.subscribeBuffer`. What comes
// out: elements, changed only where an op says so, so that the work for one op does not depend on how many
// rows there are. What comes from the wire is only ever text: no HTML, attribute name, style or class.
// `readOps`, `applyOps`, `diffLines` and `patchLines` know nothing of the page and serve other renderers and tests.
import ENGLISH from "./locales/en.js";

const KINDS = "user text reasoning tool tool-preparing question permission notice error retry compaction summary image custom".split(" ");
const STATES = "streaming preparing pending running done failed cancelled interrupted expired".split(" ");
const PANELS = "activity plan usage commands mode queue session connection state".split(" ");
const FIELDS = ["text", "tool.input", "tool.output"];
const HEADED = ["tool", "tool-preparing", "reasoning", "retry", "compaction", "summary"];
const FOLDED = ["tool", "reasoning", "summary"];
/** Tools by which a model speaks to the reader. */
const SPOKEN = ["ask_followup_question", "attempt_completion"];
const SLOTS = ["head", "message", "text", "locations", "fields", "input", "content", "output", "error", "media", "meta", "ask"];

/**
 * Reads an op buffer and tells `sink` each op. Fields are numbers: see `FIELDS`, then `tool.fields[n - 3].text`.
 * What a sink has no method for is passed over, its JSON unread.
 */
export function readOps(words, text, sink) {
  let at = 0, from = 0;
  const word = () => words[at++];
  const piece = (length) => text.slice(from, (from += length));
  while (at < words.length) {
    const op = word();
    if (op === 0) sink.reset?.();
    else if (op === 1) {
      const id = word(), before = word(), row = piece(word());
      sink.insert?.(id, before, JSON.parse(row));
    } else if (op === 2) {
      const id = word(), field = word(), keep = word(), added = piece(word());
      sink.append?.(id, field, keep === 0xffffffff ? undefined : keep, added);
    } else if (op === 3) {
      const id = word(), patch = piece(word());
      sink.update?.(id, JSON.parse(patch));
    } else if (op === 4) {
      const id = word();
      sink.remove?.(id);
    } else if (op === 5) {
      const name = PANELS[word()], patch = piece(word());
      sink.panel?.(name, JSON.parse(patch));
    } else throw new RangeError(`unknown op ${op}`);
  }
}

/**
 * Applies plain ops (from `chat.subscribe`) and returns the new `{ rows, panels }`. What went in stays as it
 * was, and a row no op names stays the same object: made for React state.
 */
export function applyOps(rows, panels, ops) {
  rows = [...rows];
  panels = { ...panels };
  const own = new Set();
  const index = (id) => rows.findLastIndex((row) => row.id === id);
  const change = (id, apply) => {
    const at = index(id);
    if (at < 0) return;
    const { tool } = rows[at];
    if (tool?.fields && !own.has(id)) rows[at] = { ...rows[at], tool: { ...tool, fields: [...tool.fields] } };
    own.add(id);
    rows[at] = apply(rows[at]);
  };
  for (const op of ops) {
    if (op.op === "reset") (rows = []), (panels = {});
    else if (op.op === "insert") {
      const at = index(op.before);
      rows.splice(at < 0 ? rows.length : at, 0, op.row);
    }
    else if (op.op === "append") change(op.id, (row) => appended(row, fieldNumber(op.field), op.keep, op.text));
    else if (op.op === "update") change(op.id, (row) => patched(row, op.patch));
    else if (op.op === "remove") rows = rows.filter((row) => row.id !== op.id);
    else if (!Object.keys((panels[op.name] = merged(panels[op.name], op.patch))).length) delete panels[op.name];
  }
  return { rows, panels };
}

const fieldNumber = (name) => (FIELDS.includes(name) ? FIELDS.indexOf(name) : 3 + parseInt(name.slice(12)));
const fieldName = (number) => FIELDS[number] ?? `tool.fields[${number - 3}].text`;

/** Absent stays, `null` clears. A spread defines properties, so that a key such as `__proto__` is only data. */
function merged(old, patch) {
  const next = { ...old, ...patch };
  for (const key in patch) if (patch[key] === null) delete next[key];
  return next;
}

/** The row after an update; its `tool.fields` array is changed in place. */
function patched(row, patch) {
  const next = merged(row, patch);
  if (patch.tool) {
    next.tool = merged(row.tool, patch.tool);
    if (patch.tool.fields) {
      const fields = (next.tool.fields = row.tool?.fields ?? []);
      for (const i in patch.tool.fields) fields[i] = { ...fields[i], ...patch.tool.fields[i] };
    }
  }
  return next;
}

/** The row after an append; its `tool.fields` array is changed in place. */
function appended(row, field, keep, text) {
  const join = (old = "") => (keep === undefined ? old : old.slice(0, keep)) + text;
  if (field === 0) return { ...row, text: join(row.text) };
  const tool = { ...row.tool };
  if (field === 1) tool.input = join(tool.input);
  else if (field === 2) tool.output = join(tool.output);
  else tool.fields[field - 3] = { ...tool.fields[field - 3], text: join(tool.fields[field - 3]?.text) };
  return { ...row, tool };
}

/** Pairs of lines that a comparison may look at; past it, all of the old gives way to all of the new. */
const PAIRS = 1e6;
/** Unchanged lines shown around a change. */
const AROUND = 3;

const linesOf = (text) => (text ? text.replace(/\n$/, "").split("\n") : []);

/**
 * What changed between two texts, as `[sign, line]`: `"+"` added, `"-"` removed, `" "` the same, and
 * `["…", count]` for a run of lines that are the same and far from any change.
 */
export function diffLines(before = "", after = "") {
  const old = linesOf(before), now = linesOf(after);
  let head = 0, tail = 0;
  const short = Math.min(old.length, now.length);
  while (head < short && old[head] === now[head]) head++;
  while (tail < short - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const a = old.slice(head, old.length - tail), b = now.slice(head, now.length - tail);
  const changed = [];
  let i = 0, j = 0;
  if (a.length * b.length <= PAIRS) {
    // same[i * w + j]: the most lines that a from i on and b from j on have in common, in order
    const w = b.length + 1, same = new Uint32Array((a.length + 1) * w);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        const at = i * w + j;
        same[at] = a[i] === b[j] ? same[at + w + 1] + 1 : Math.max(same[at + w], same[at + 1]);
      }
    }
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) changed.push([" ", a[i++]]), j++;
      else if (same[(i + 1) * w + j] >= same[i * w + j + 1]) changed.push(["-", a[i++]]);
      else changed.push(["+", b[j++]]);
    }
  }
  while (i < a.length) changed.push(["-", a[i++]]);
  while (j < b.length) changed.push(["+", b[j++]]);
  if (!changed.length) return [];
  const lines = [...old.slice(0, head).map((line) => [" ", line]), ...changed, ...old.slice(old.length - tail).map((line) => [" ", line])];
  return withoutFar(lines);
}

/** Leaves out lines that are the same and far from any change. */
function withoutFar(lines) {
  const changes = lines.flatMap(([sign], i) => (sign === " " ? [] : [i]));
  const kept = [];
  let next = 0; // the first change that is not far behind
  lines.forEach((line, i) => {
    while (changes[next] < i - AROUND) next++;
    if (changes[next] <= i + AROUND) kept.push(line);
    else if (kept.at(-1)?.[0] === "…") kept.at(-1)[1]++;
    else kept.push(["…", 1, line]);
  });
  // One line is shown as soon as counted.
  return kept.map(([sign, text, line]) => (text === 1 ? line : [sign, text]));
}

/**
 * A change as the wire gives it, unified or in blocks of search and replace, as `[sign, line]`; `"@"`: a line
 * about the change, neither old nor new.
 */
export function patchLines(text) {
  const lines = linesOf(text);
  let part = ""; // of a block: what stands before the lines to search, those, and those to put there
  return lines.map((line, i) => {
    if (/^(<{5,}|-{5,} SEARCH)/.test(line)) part = "head";
    else if (part && /^={5,}$/.test(line)) part = "+";
    else if (part && /^(>{5,}|\+{5,} REPLACE)/.test(line)) part = "";
    else if (part === "head" && /^-{5,}$/.test(line)) part = "-";
    else if (part === "head" && !/^:\w+:/.test(line)) return [(part = "-"), line];
    else if (part && part !== "head") return [part, line];
    else if (!part && !isAbout(lines, i)) return /^[-+ ]/.test(line) ? [line[0], line.slice(1)] : [" ", line];
    return ["@", line];
  });
}

/** In a unified change: a line that names files or places. A removed line may begin with `-- `, an added one with `++ `. */
const isAbout = (lines, i) =>
  /^(@@|\*\*\*|diff |index |\\ )/.test(lines[i]) ||
  (/^--- /.test(lines[i]) && /^\+\+\+ /.test(lines[i + 1])) ||
  (/^\+\+\+ /.test(lines[i]) && /^--- /.test(lines[i - 1]));

/**
 * What a question gets of what the reader has entered: `chosen` says which of its options, `words` what in their own
 * words. Nothing entered is no answer; own words count before one that was chosen.
 */
export function answerOf({ options = [], multiple }, { chosen, words }) {
  const all = options.filter((_, i) => chosen[i]).map(({ id, label }) => id ?? label), own = words.trim();
  if (own) all.push(own);
  return all.length ? (multiple ? all : all.at(-1)) : undefined;
}

/** The same for the parts of a question, by their words; those without an answer are left out. */
export function answersOf(parts, entered) {
  const answers = parts.map((part, i) => [part.text, answerOf(part, entered[i])]);
  return Object.fromEntries(answers.filter(([, answer]) => answer !== undefined));
}

/** What was answered, in the words of the options. */
const labels = ({ options = [], answer }) => [answer].flat().map((one) => options.find(({ id, label }) => (id ?? label) === one)?.label ?? one);

/** An option of an agent's as it stands: the name of its value, or whether it is on. */
export function optionValue({ currentValue, options }) {
  const all = array(options).flatMap((one) => (Array.isArray(one?.options) ? one.options : one));
  return all.find((one) => one?.value === currentValue)?.name ?? currentValue;
}

function make(tag, name, ...children) {
  const el = document.createElement(tag);
  el.className = name;
  el.append(...children);
  return el;
}

/** Interface text: remembers what is written where, so that another catalogue can take its place. */
class Words {
  written = new WeakMap();

  constructor(root, catalogue, locale) {
    this.root = root;
    this.use(catalogue, locale);
  }

  /** Another catalogue over the English one; what is written already changes in place. */
  use(catalogue = {}, locale = this.locale) {
    Object.assign(this, { catalogue, locale, numbers: new Intl.NumberFormat(locale) });
    for (const el of [this.root, ...this.root.querySelectorAll("*")]) {
      for (const [place, [key, params]] of this.written.get(el) ?? []) this.write(el, key, params, place);
    }
  }

  known(key) {
    return [this.catalogue, ENGLISH].find((texts) => Object.hasOwn(texts, key))?.[key];
  }

  /** Pieces in turn of the text and of the names of its gaps. A key that is not known shows its last part. */
  pieces(key) {
    return String(this.known(key) ?? (key.slice(key.lastIndexOf(".") + 1) || key)).split(/\{(\w+)\}/);
  }

  param(value = "") {
    return typeof value === "number" ? this.numbers.format(value) : String(value);
  }

  phrase(key, params) {
    return this.pieces(key).map((s, i) => (i % 2 ? this.param(params?.[s]) : s)).join("");
  }

  /** A number of bytes: `1.2 KB`. */
  size(bytes) {
    const power = bytes < 1024 ? 0 : bytes < 1023.95 * 1024 ? 1 : 2;
    return `${this.numbers.format(+(bytes / 1024 ** power).toFixed(1))} ${["B", "KB", "MB"][power]}`;
  }

  write(el, key, params, place) {
    if (place) el.setAttribute(place, this.phrase(key, params));
    else el.replaceChildren(...this.pieces(key).map((s, i) => (i % 2 ? make("bdi", s === "name" ? "cr-name" : "cr-param", this.param(params?.[s])) : s)));
  }

  /** Writes interface text into an element, or into the attribute `place`; answers with the element. */
  say(el, key, params, place = "") {
    const places = this.written.get(el) ?? new Map();
    const [before, had] = places.get(place) ?? [];
    if (before !== key || JSON.stringify(had) !== JSON.stringify(params)) {
      this.written.set(el, places.set(place, [key, params]));
      this.write(el, key, params, place);
    }
    return el;
  }

  label(el, key, params) {
    return this.say(el, key, params, "aria-label");
  }
}

/** What each button does; one listener serves them all. */
const PRESSED = new WeakMap();

function button(name, press) {
  const el = make("button", name);
  el.type = "button";
  PRESSED.set(el, press);
  return el;
}

/** Makes an element ours; answers with what undoes it. */
function claim(el, name, attributes) {
  const before = Object.keys(attributes).map((key) => [key, el.getAttribute(key)]);
  el.classList.add(...name);
  for (const key in attributes) if (attributes[key] !== null) el.setAttribute(key, attributes[key]);
  return () => {
    el.replaceChildren();
    el.classList.remove(...name);
    if (!el.classList.length) el.removeAttribute("class");
    for (const [key, value] of before) value === null ? el.removeAttribute(key) : el.setAttribute(key, value);
  };
}

/** What says for how long it has been quiet: one timer for all chats of the page, and none while nothing is quiet. */
const QUIET = new Set();
let ticking;

function setQuiet(tell, on) {
  QUIET[on ? "add" : "delete"](tell);
  if (!QUIET.size) ticking = clearInterval(ticking);
  else ticking ??= setInterval(() => QUIET.forEach((tell) => tell()), 1000);
}

/**
 * Text that grows, at a cost that does not: a browser lays out a block anew as a whole, so that past `SOFT`
 * units the next line starts a new one, and past `HARD` units a line without end is broken. Appending to a
 * text node makes it look for what changed, a new one is ten times as cheap; but what may join the character
 * before it stays in one.
 */
class Growing {
  static SOFT = 1024;
  static HARD = 16384;

  constructor(el) {
    el.dir = "auto";
    this.el = el;
    this.before = 0; // units before `node`
    this.node = "";
    this.start();
  }

  write(text, keep) {
    if (keep !== undefined) this.cut(keep);
    while (text) {
      const room = Growing.HARD - this.filled;
      let end = text.length;
      if (room < 1) end = 0;
      else if (this.filled + end > Growing.SOFT) {
        end = text.slice(0, room).indexOf("\n", Math.max(0, Growing.SOFT - this.filled)) + 1 || end;
        if (end > room) end = text.lastIndexOf(" ", room - 1) + 1 || room;
        if ((text.charCodeAt(end) & 0xfc00) === 0xdc00) end--;
      }
      this.filled += end;
      if (this.node.length < 64 || text.charCodeAt(0) > 0x2ff) this.node.appendData(text.slice(0, end));
      else if (end) this.open(text.slice(0, end));
      text = text.slice(end);
      if (text) this.start();
    }
  }

  /** A block that is empty yet. */
  start() {
    this.block = this.el.appendChild(make("div", "cr-block"));
    this.filled = 0; // units in `block`
    this.open("");
  }

  open(text) {
    this.before += this.node.length;
    this.node = this.block.appendChild(new Text(text));
  }

  cut(keep) {
    while (this.before && keep <= this.before) {
      this.filled -= this.node.length;
      this.node.remove();
      if (!this.block.firstChild) {
        this.block.remove();
        this.block = this.el.lastChild;
        this.filled = this.block.textContent.length;
      }
      this.node = this.block.lastChild;
      this.before -= this.node.length;
    }
    const at = Math.min(keep - this.before, this.node.length), rest = this.node.length - at;
    this.node.deleteData(at, rest);
    this.filled -= rest;
  }
}

/** Past so many lines or units the page holds an end of a text, no longer than that, until the reader asks for all. */
const SHOWN_LINES = 20;
const SHOWN_UNITS = 4096;

const breaks = (text) => text.split("\n").length - 1;

function endOf(text) {
  let from = Math.max(0, text.length - SHOWN_UNITS);
  if ((text.charCodeAt(from) & 0xfc00) === 0xdc00) from++;
  text = text.slice(from);
  let at = text.length - 1; // a break there ends the last line
  for (let left = SHOWN_LINES; left && at > 0; left--) at = text.lastIndexOf("\n", at - 1);
  return at > 0 ? text.slice(at + 1) : text;
}

const sayAll = (words, el, lines, bytes) => words.say(el, lines > 1 ? "showAll" : "showLine", { lines, size: words.size(bytes) });

/** A text that folds to its end when it gets long, at a cost that then does not depend on its length. */
class Folding {
  static bytes = new TextEncoder();

  /** `whole` answers with all of the text. */
  constructor(el, words, whole) {
    this.box = el.appendChild(make("div", "cr-value"));
    this.more = button("cr-more", () => this.unfold(!this.open));
    Object.assign(this, { words, whole, units: 0, lines: 0, bytes: 0, end: "", open: false, folded: false });
    this.fill("");
  }

  count(text, sign) {
    this.units += sign * text.length;
    this.lines += sign * breaks(text);
    this.bytes += sign * Folding.bytes.encode(text).length;
  }

  write(text, keep) {
    const cut = keep === undefined ? 0 : this.units - keep;
    if (cut > this.end.length) {
      Object.assign(this, { units: 0, lines: 0, bytes: 0 });
      this.count(this.whole(), 1);
      this.end = endOf(this.whole());
    } else {
      if (cut > 0) this.count(this.end.slice(-cut), -1);
      this.count(text, 1);
      this.end = endOf(this.end.slice(0, this.end.length - cut) + text);
    }
    this.shown = this.lines + (this.end.endsWith("\n") ? 0 : 1);
    const long = this.shown > SHOWN_LINES || this.units > SHOWN_UNITS;
    if (long && !this.open) this.show();
    else if (this.folded) this.fill(this.whole());
    else this.grown.write(text, keep);
    if (this.shown > 4 || this.units > 200) this.box.tabIndex = 0; // it may scroll
    if (!long) this.more.remove();
    else {
      if (!this.more.parentNode) this.box.after(this.more);
      this.tell();
    }
  }

  /** The end alone. */
  show() {
    if (!this.folded) {
      this.folded = true;
      this.box.classList.add("cr-end");
      this.box.replaceChildren((this.code = make("div", "cr-code")));
      this.code.dir = "auto";
    }
    this.code.textContent = this.end;
  }

  /** All of it. */
  fill(text) {
    this.folded = false;
    this.box.classList.remove("cr-end");
    const code = make("div", "cr-code");
    this.box.replaceChildren(code);
    this.grown = new Growing(code);
    this.grown.write(text);
  }

  unfold(open) {
    this.open = open;
    if (open) this.fill(this.whole());
    else this.show();
    this.tell();
  }

  tell() {
    this.more.ariaExpanded = this.open;
    if (this.open) this.words.say(this.more, "showLess");
    else sayAll(this.words, this.more, this.shown, this.bytes);
  }
}

/** Lines with a sign each, as `diffLines` and `patchLines` give them; of many only the first, until the reader asks. */
function drawLines(el, words, lines) {
  const TAGS = { "+": "ins", "-": "del" };
  const box = make("div", "cr-value cr-diff");
  const put = (some) => box.append(...some.map(([sign, line]) => {
    if (sign === "…") return words.say(make("div", "cr-line cr-far"), "unchanged", { count: line });
    return make(TAGS[sign] ?? "div", sign === "@" ? "cr-line cr-far" : "cr-line", line);
  }));
  let shown = 0, units = 0, bytes = 0;
  for (const [, line] of lines) {
    units += String(line).length + 1;
    if (shown < SHOWN_LINES && units <= SHOWN_UNITS) shown++;
  }
  const first = lines.slice(0, Math.max(1, shown)).map(([sign, line]) => [sign, typeof line === "string" ? line.slice(0, SHOWN_UNITS) : line]);
  put(first);
  if (first.length > 4 || units > 200) box.tabIndex = 0;
  el.append(box);
  if (shown === lines.length) return;
  for (const [, line] of lines) bytes += Folding.bytes.encode(`${line}\n`).length;
  const more = button("cr-more", () => {
    box.replaceChildren();
    put(lines);
    box.focus({ preventScroll: true });
    more.remove();
  });
  el.append(sayAll(words, more, lines.length, bytes));
}

function safeUrl(text, schemes) {
  try {
    const url = new URL(text);
    return schemes.test(url.protocol === "data:" ? url.href : url.protocol) ? url.href : undefined;
  } catch {}
}
const LINK = /^(https?|mailto):$/;
const PICTURE = /^(https?:$|blob:$|data:image\/(png|jpeg|gif|webp|avif)[;,])/;

const pathLabel = (path) => path.map((step, i) => (typeof step === "number" ? `[${step}]` : (i ? "." : "") + step)).join("");
/** A call that does not run says why, beside its name. */
const isPassedOver = (row) => row.kind === "tool" && row.state === "cancelled";
const isLive = (row) => ["streaming", "preparing", "pending", "running"].includes(row.state);
/** The reader is asked for something and has yet to answer. */
const isAsking = ({ state, question, permission }) =>
  ["preparing", "pending", "running"].includes(state) && ((question && question.answer === undefined) || (permission && permission.chosen === undefined));

/** The patch of an append. */
const NOTHING = {};
/** So many rows of a group fold; a fold of more than `FOLD_MOST` is two, which bounds what one change costs. */
const FOLD_FROM = 3;
const FOLD_MOST = 200;
/** Rows in one page, which the browser may leave out of layout while it is out of sight, and pages in a larger one. */
const PAGE_ROWS = 32;
/** Argument values drawn in one tool row. */
const FIELDS_DRAWN = 500;
/** Characters of a custom row's data that are drawn. */
const META_DRAWN = 2000;

/**
 * Draws `chat` inside `log`, which becomes the scrolling list. Returns an EventTarget with `unmount()` and
 * `setCatalogue()`; what the reader does comes out as events, each with `detail.row`.
 */
export function mountRows(log, chat, { renderers = {}, catalogue, locale = chat.locale, compact = false } = {}) {
  const view = new EventTarget();
  const words = new Words(log, catalogue, locale);
  const changed = new Set(), records = new Map(), orphans = new Map(); // rows whose parent is not there, by its id
  let first, last, current; // records: both ends of the list, and the one the Tab key reaches
  let stuck = true, top = 0, height = 0, spoken = null, copied;

  const release = claim(log, compact ? ["cr-log", "cr-compact"] : ["cr-log"], {
    role: "log",
    "aria-live": "off", // finished rows are announced by `live` instead, once
    "aria-label": log.getAttribute("aria-label"),
    "data-stuck": null,
  });
  if (!log.hasAttribute("aria-label")) words.label(log, "log");
  const list = make("div", "cr-rows");
  const activity = make("div", "cr-activity");
  const live = make("div", "cr-live");
  const jump = words.say(button("cr-jump", toEnd), "jump");
  const copy = button("cr-copy", copyRow);
  live.ariaLive = "polite";
  log.append(list, activity, make("div", "cr-foot", jump), live);

  const tell = (type, detail, cancelable) => view.dispatchEvent(new CustomEvent(type, { detail, cancelable }));

  // --- one row -------------------------------------------------------------------------------------------

  /** The element of a part of a row's body, made at its place on first use; none where it is not wanted. */
  function slot(rec, name, wanted, tag = "div") {
    let el = rec.slots[name];
    if (!wanted) {
      el?.remove();
      delete rec.slots[name];
    } else if (!el) {
      el = rec.slots[name] = make(tag, `cr-${name}`);
      const later = SLOTS.slice(SLOTS.indexOf(name) + 1).find((other) => rec.slots[other]?.parentNode === rec.body);
      // What asks for an answer is never folded away, nor why a call did not run.
      const outside = ["text", "message"].map((part) => rec.slots[part]).find((part) => part?.parentNode === rec.el);
      if (name === "ask") (outside ?? rec.body).after(el);
      // Nor what a call says to the reader, which its arguments would only repeat.
      else if (name === "text" && SPOKEN.includes(rec.row.tool?.name)) {
        rec.body.after(el);
        rec.body.open = false;
      }
      else if (name === "message" && isPassedOver(rec.row)) rec.body.after(el);
      else rec.body.insertBefore(el, rec.slots[later] ?? null);
    }
    return wanted ? el : undefined;
  }

  /** A part that holds growing text: made with the whole value, rewritten only where an update names it. */
  function text(rec, field, value, changed, name, label) {
    const el = slot(rec, name, value !== undefined);
    if (!el) delete rec.texts[field];
    else if (!rec.texts[field]) {
      if (label) el.append(words.say(make("div", "cr-label"), label));
      rec.texts[field] = label ? new Folding(el, words, () => rec.row.tool?.[name] ?? "") : new Growing(el);
      rec.texts[field].write(value);
    } else if (typeof changed === "string") rec.texts[field].write(value, 0);
  }

  function drawHead(rec) {
    const { row, head } = rec;
    if (!head.label) {
      const el = slot(rec, "head", true, FOLDED.includes(row.kind) ? "summary" : "div");
      el.append((head.label = make("span", "cr-title")), (head.bytes = make("span", "cr-bytes")));
    }
    if (row.busy && !head.spinner) {
      head.label.before((head.spinner = make("span", "cr-spinner")));
      head.spinner.ariaHidden = true;
    } else if (!row.busy && head.spinner) {
      head.spinner.remove();
      head.spinner = undefined;
    }
    const { name = "", title = "" } = row.tool ?? {};
    const preparing = row.kind === "tool-preparing" || row.state === "preparing";
    let key = `kind.${row.kind}`, params = { name, title };
    if (row.message && !isPassedOver(row)) ({ key, params } = row.message);
    else if (row.kind === "reasoning") key = row.state === "streaming" ? "reasoning.streaming" : "reasoning.done";
    else if (preparing && !title) key = name ? "toolPreparing.preparing" : "tool.unnamed";
    else if (name || title) key = "tool.call";
    words.say(head.label, key, params);
    head.bytes.textContent = row.bytes?.label ?? "";
  }

  function drawFields(rec, fields, changed) {
    const el = slot(rec, "fields", fields?.length > 0, "dl");
    if (!el) rec.texts.length = Math.min(rec.texts.length, 3);
    else for (const key in changed) {
      const i = +key, field = fields[i];
      if (i >= FIELDS_DRAWN) {
        if (!el.lastChild.matches(".cr-label")) el.append(words.say(make("div", "cr-label"), "tool.more"));
      } else if (!rec.texts[3 + i]) {
        const box = make("div", "cr-code");
        const value = make("dd", "cr-value", box);
        value.tabIndex = 0; // it may scroll
        el.append(make("div", "cr-field", make("dt", "cr-path", pathLabel(field.path)), value));
        (rec.texts[3 + i] = new Growing(box)).write(field.text);
      } else {
        if (changed[i].path) el.children[i].firstChild.textContent = pathLabel(field.path);
        if (typeof changed[i].text === "string") rec.texts[3 + i].write(field.text, 0);
      }
    }
  }

  /** Something to open in the editor. */
  function place({ path, line }) {
    const el = button("cr-place", (rec) => tell("open", { row: rec.row, path, line }));
    el.append(make("bdi", "", line === undefined ? path : `${path}:${line}`));
    return el;
  }

  function drawContent(rec, content = []) {
    const el = slot(rec, "content", content.length);
    const same = (a, b) => ["type", "path", "oldText", "newText", "text", "id"].every((key) => a[key] === b?.[key]);
    rec.content = el && content.map((item, i) => {
      const had = rec.content?.[i];
      if (had && same(item, had.item)) return had;
      const part = make("div", "cr-part");
      if (item.type === "text") new Folding(part, words, () => item.text).write(item.text);
      else if (item.type === "terminal") part.append(words.say(make("div", "cr-label"), "tool.terminal", { id: item.id }));
      else if (item.type === "diff" || item.type === "patch") {
        const lines = item.type === "diff" ? diffLines(item.oldText, item.newText) : patchLines(item.text);
        const count = (sign) => lines.filter(([s]) => s === sign).length;
        part.append(make("div", "cr-label", ...(item.path ? [place(item)] : []), make("span", "cr-count", `+${count("+")} −${count("-")}`)));
        drawLines(part, words, lines);
      }
      return { item, part };
    });
    el?.replaceChildren(...rec.content.map(({ part }) => part));
  }

  /** An error in our words, where its code is one of ours, and in the wire's. */
  const reason = ({ message, code }) => [words.known(`error.${code}`), message].filter(Boolean).join("\n") || words.phrase("error.other");

  function drawError(rec, { error }) {
    const el = slot(rec, "error", error);
    if (!el) return;
    const ours = words.known(`error.${error.code}`) ? `error.${error.code}` : error.message ? undefined : "error.other";
    const said = make("div", "cr-said");
    said.dir = "auto";
    if (ours) said.append(words.say(make("span", ""), ours), error.message ? "\n" : "");
    said.append(error.message ?? "");
    el.replaceChildren(said);
    if (error.code) el.append(make("code", "cr-errorcode", error.code));
    if (error.retryable) el.append(words.say(button("cr-button cr-retry", ({ row }) => tell("retry", { row })), "retry"));
  }

  function drawMedia(rec, { images = [], files = [], sources = [] }) {
    const el = slot(rec, "media", images.length + files.length + sources.length);
    const link = (url, label = url) => {
      const href = url && safeUrl(url, LINK);
      const item = make(href ? "a" : "span", "cr-link", make("bdi", "", label ?? ""));
      return href ? Object.assign(item, { href, target: "_blank", rel: "noopener noreferrer" }) : item;
    };
    el?.replaceChildren(
      ...images.map(({ url }) => {
        const src = safeUrl(url, PICTURE);
        if (!src) return link(url);
        return words.say(Object.assign(make("img", "cr-image"), { referrerPolicy: "no-referrer", loading: "lazy", src }), "kind.image", undefined, "alt");
      }),
      ...files.map(({ url, name, mediaType }) => make("span", "cr-file", link(url, name ?? url ?? mediaType))),
      ...sources.map(({ url, title }) => link(url, title)),
    );
  }

  /** Tells the page what was answered; until the row changes there is nothing more to press. */
  function send(rec, type, detail) {
    const { ask } = rec.slots;
    if (ask.matches(":focus-within")) rec.el.focus({ preventScroll: true });
    ask.querySelectorAll("button, input").forEach((control) => (control.disabled = true));
    tell(type, { row: rec.row, ...detail });
  }

  /** What an option says: its label, else the catalogue's word for its kind. */
  function optionText(option) {
    const { id, label, kind, description } = option;
    const said = label === undefined && kind ? words.say(make("bdi", ""), `permission.${kind}`) : make("bdi", "", label ?? id ?? "");
    return description ? [said, make("small", "cr-description", make("bdi", "", description))] : [said];
  }

  function choice(type, option) {
    const box = Object.assign(make("input", ""), { type });
    return make("label", "cr-check", box, make("span", "", ...optionText(option)));
  }

  function ownAnswer(done) {
    const own = make("input", "cr-own");
    own.dir = "auto";
    words.label(own, "question.own");
    words.say(own, "question.own", undefined, "placeholder");
    own.onkeydown = ({ key, isComposing }) => {
      if (key === "Enter" && !isComposing) done();
    };
    return own;
  }

  /** Several questions in one row: a set of fields for each, and one button that sends all that was answered. */
  function drawParts(rec, parts, asking) {
    const el = slot(rec, "ask", asking || parts.some(({ answer }) => answer !== undefined));
    if (!el) return;
    if (!asking) {
      el.role = el.ariaLabel = null;
      const answered = parts.filter(({ answer }) => answer !== undefined);
      el.replaceChildren(...answered.map((part) => make("div", "cr-answer", make("bdi", "", part.text), "\u2003", words.say(make("span", ""), "question.answered", { answer: labels(part).join(", ") }))));
      return;
    }
    el.role = "group";
    words.label(el, "kind.question");
    const before = [...el.querySelectorAll("input")].map(({ checked, value }) => ({ checked, value }));
    const done = () => {
      const answers = answersOf(parts, sets.map((set) => ({
        chosen: [...set.querySelectorAll(".cr-check > input")].map((box) => box.checked),
        words: set.querySelector(".cr-own")?.value ?? "",
      })));
      if (Object.keys(answers).length) send(rec, "answer", { answers });
    };
    const sets = parts.map((part, at) => {
      const options = part.options ?? [], known = [part.answer ?? []].flat();
      const legend = make("legend", "", ...(part.header ? [make("bdi", "cr-label", part.header), " "] : []), make("bdi", "", part.text));
      const set = make("fieldset", "cr-part", legend, ...options.map((option) => {
        const label = choice(part.multiple ? "checkbox" : "radio", option), [box] = label.children;
        box.name = `cr-${rec.row.id}-${at}`;
        box.checked = known.includes(option.id ?? option.label);
        return label;
      }));
      if (part.custom || !options.length) set.append(ownAnswer(done));
      return set;
    });
    el.replaceChildren(...sets, words.say(button("cr-button cr-main", done), "send"));
    const inputs = [...el.querySelectorAll("input")];
    // What the reader has entered stays, unless something else is asked.
    if (before.length === inputs.length) inputs.forEach((input, i) => (input.type === "text" ? (input.value = before[i].value) : (input.checked = before[i].checked)));
  }

  /** What the reader is asked, or has answered. */
  function drawAsk(rec) {
    const { row } = rec, { question, permission } = row, asking = isAsking(row);
    if (question?.parts) return drawParts(rec, question.parts, asking);
    const answer = [question?.answer ?? permission?.chosen ?? []].flat();
    const el = slot(rec, "ask", asking || answer.length);
    if (!el) return;
    const typed = el.querySelector(".cr-own")?.value ?? "";
    const options = (question ?? permission).options ?? [];
    const name = ({ id, label, kind }) => label ?? (kind ? words.phrase(`permission.${kind}`) : id) ?? "";
    if (!asking) {
      const said = answer.map((one) => name(options.find(({ id, label }) => (id ?? label) === one) ?? options.find(({ label }) => label === one) ?? { label: one }));
      el.role = el.ariaLabel = null;
      el.replaceChildren(words.say(make("div", "cr-answer"), question ? "question.answered" : "permission.chosen", { answer: said.join(", ") }));
      return;
    }
    el.role = "group";
    words.label(el, question ? "question.options" : "kind.permission");
    const boxes = [];
    const answered = () => {
      const answer = answerOf(question, { chosen: boxes.map((box) => box.checked), words: own.value });
      if (answer !== undefined) send(rec, "answer", { answer });
    };
    const own = ownAnswer(answered);
    el.replaceChildren(...options.map((option) => {
      if (question?.multiple) {
        const label = choice("checkbox", option);
        boxes.push(label.firstChild);
        return label;
      }
      const allowed = /^allow/.test(option.kind);
      const el = button("cr-button", () => (question ? send(rec, "answer", { answer: option.id ?? option.label }) : send(rec, allowed ? "approve" : "reject", { option })));
      if (allowed) el.classList.add("cr-main");
      el.append(...optionText(option));
      return el;
    }));
    if (!question) return;
    if (question.custom || !options.length) {
      own.value = typed;
      el.append(own);
    }
    if (own.parentNode || boxes.length) el.append(words.say(button("cr-button cr-main", answered), "send"));
  }

  function drawBody(rec, patch) {
    const { row } = rec, { tool } = row;
    if (HEADED.includes(row.kind)) drawHead(rec);
    if ((!HEADED.includes(row.kind) || isPassedOver(row)) && slot(rec, "message", row.message))
      words.say(rec.slots.message, row.message.key, row.message.params);
    text(rec, 0, row.text || undefined, patch.text, "text");
    if (tool) {
      const raw = tool.input && row.state !== "preparing" && (!tool.inputDone || (!tool.fields?.length && tool.input.length > 2));
      if (patch.tool && "locations" in patch.tool) slot(rec, "locations", tool.locations?.length)?.replaceChildren(...tool.locations.map(place));
      drawFields(rec, tool.fields, patch.tool?.fields);
      text(rec, 1, raw ? tool.input : undefined, patch.tool?.input, "input", "tool.input");
      if (patch.tool && "content" in patch.tool) drawContent(rec, tool.content);
      text(rec, 2, tool.output || undefined, patch.tool?.output, "output", "tool.output");
    }
    if ("error" in patch) drawError(rec, row);
    if ("images" in patch || "files" in patch || "sources" in patch) drawMedia(rec, row);
    if (row.kind === "custom" && ("meta" in patch || "key" in patch)) {
      const data = [row.key, row.meta && JSON.stringify(row.meta)].filter(Boolean).join(" ");
      const el = slot(rec, "meta", data);
      if (el) el.textContent = data.length > META_DRAWN ? `${data.slice(0, META_DRAWN)}…` : data;
    }
    if (row.question || row.permission || rec.slots.ask) {
      const asking = Boolean(isAsking(row));
      if ("question" in patch || "permission" in patch || rec.asking !== asking) {
        rec.asking = asking;
        drawAsk(rec);
      } else if (patch !== NOTHING) rec.slots.ask?.querySelectorAll("button, input").forEach((control) => (control.disabled = false));
    }
  }

  /** What every row shows of itself, however its body is drawn. */
  function drawFrame(rec) {
    const { row, el } = rec, { choice } = row.meta ?? {};
    el.dataset.state = STATES.includes(row.state) ? row.state : "done";
    el.ariaBusy = row.busy === true;
    el.toggleAttribute("data-grouped", Boolean(row.meta?.group));
    if (typeof choice === "number" && !rec.choice) el.prepend((rec.choice = words.say(make("div", "cr-choice"), "alternative", { n: choice + 1 })));
    const flags = [];
    if (row.permission && isAsking(row)) flags.push("permission.waiting");
    else if ((row.kind === "tool" || !["pending", "running"].includes(row.state)) && Object.hasOwn(ENGLISH, `state.${row.state}`)) flags.push(`state.${row.state}`);
    if (row.truncated) flags.push("truncated");
    const quiet = row.quietSince != null;
    if (quiet) flags.push("toolPreparing.quiet");
    if (flags.join() !== rec.flagged) {
      rec.flagged = flags.join();
      rec.flags.replaceChildren(...flags.map((flag) => make("span", "cr-flag")));
      flags.forEach((flag, i) => flag !== "toolPreparing.quiet" && words.say(rec.flags.children[i], flag));
      if (!flags.length) rec.flags.remove();
      else if (rec.head.label && !rec.custom) rec.head.bytes.before(rec.flags);
      else rec.body.after(rec.flags);
    }
    if (quiet) rec.quiet();
    setQuiet(rec.quiet, quiet);
  }

  function draw(rec, op, patch) {
    if (rec.custom) call(rec, op);
    else if (patch) {
      const inside = rec.el.matches(":focus-within");
      drawBody(rec, patch);
      // What had the focus may be gone, such as the button that was pressed.
      if (inside && !rec.el.matches(":focus-within")) rec.el.focus({ preventScroll: true });
    }
    if (patch) drawFrame(rec);
  }

  function call(rec, op) {
    try {
      rec.custom(rec.body, rec.row, op);
    } catch (error) {
      reportError(error); // one faulty renderer must not keep the other ops from the page
    }
  }

  // --- the list ------------------------------------------------------------------------------------------

  /** Puts the element at its place: inside its parent's, before the next row that is drawn in the same box. */
  function put(rec) {
    const { el, row } = rec, root = log.getRootNode(), focused = root.activeElement;
    const parent = records.get(row.parent), from = el.parentNode, box = rec.box;
    orphans.get(rec.waits)?.delete(rec);
    rec.waits = row.parent;
    if (!parent && row.parent != null) orphans.set(row.parent, (orphans.get(row.parent) ?? new Set()).add(rec));
    rec.box = parent && !el.contains(parent.el) ? (parent.kids ??= parent.el.appendChild(make("div", "cr-kids"))) : list;
    let after = rec.next;
    while (after && after.box !== rec.box) after = after.next;
    if (after) after.el.before(el);
    else (rec.box === list ? lastPage() : rec.box).append(el);
    vacate(from, box);
    if (rec.box === list) split(split(el.parentNode));
    if (root.activeElement !== focused) focused.focus({ preventScroll: true });
  }

  /** A page that has no rows any more is none. */
  function vacate(page, box) {
    if (!page || page === box || page.firstChild) return;
    const around = page.parentNode;
    page.remove();
    vacate(around, box);
  }

  /** Of a page with too much in it, the later part becomes the next one; answers with the page around it. */
  function split(page) {
    if (page.childElementCount > 2 * PAGE_ROWS) {
      const rest = make("div", page.className);
      rest.append(...[...page.children].slice(PAGE_ROWS));
      page.after(rest);
    }
    return page.parentNode;
  }

  /**
   * What comes last in a box, or a new one after it once that is full. Pages lie in larger ones, so that no frame has
   * to look at many of them.
   */
  function lastPage(box = lastPage(list, "cr-pages"), name = "cr-page") {
    const page = box.lastElementChild;
    return page?.childElementCount < PAGE_ROWS ? page : box.appendChild(make("div", name));
  }

  // --- groups: tools of one group, one after the other, are one line once all are done -------------------------

  const groupOf = (rec) => rec?.row.kind === "tool" && rec.row.meta?.group;
  const joined = (a, b) => groupOf(b) && groupOf(a) === groupOf(b) && a.box === b.box && !b.starts;

  /** The end of the batch looks at the group of a changed row, and at those around it. */
  const change = (rec) => changed.add(rec.prev).add(rec.next).add(records.get(rec.row.parent)).add(rec);

  /** Folds a row and what is joined to it, but not what failed, goes on, asks, says something or has the focus. */
  function gather(rec, turn) {
    while (joined(rec.prev, rec)) rec = rec.prev;
    if (turn) rec.wanted = rec.body.hidden;
    const run = [rec];
    for (let one; (one = run.at(-1).next), joined(one?.prev, one); ) {
      if (run.length < FOLD_MOST) run.push(one);
      else one.starts = changed.add(one);
    }
    const many = run.length >= FOLD_FROM;
    const shut = many && !rec.wanted && run.every((one) => one.row.state === "done" && !one.row.error && !one.row.text && !one.kids && (!one.el.matches(":focus-within") || one.line?.matches(":focus")));
    for (const one of run) {
      changed.delete(one);
      if (!one.body.hidden === shut) one.body.hidden = shut && "until-found";
      if (one.line) one.line.hidden = !many || one !== rec;
    }
    if (!many) return;
    if (!rec.line) rec.el.prepend((rec.line = button("cr-fold", toggle)));
    words.say(rec.line, run.every((one) => one.row.tool?.kind === "read") ? "group.read" : "group.steps", { count: run.length }).ariaExpanded = !shut;
  }

  const toggle = (rec) => gather(rec, true);

  function settle() {
    changed.delete(undefined);
    changed.forEach((rec) => gather(rec));
  }

  /** Remembers what to tell a screen reader: a row that came to its end, or one that asks. */
  function announce(rec, wasLive, wasAsking) {
    const { row, el } = rec, asking = isAsking(row);
    const ended = wasLive && !isLive(row) && !["user", "reasoning", "question", "permission", "tool-preparing"].includes(row.kind);
    if (!spoken || !(ended || (asking && !wasAsking))) return;
    const said = row.text ?? row.tool?.title ?? row.tool?.name ?? (row.error && reason(row.error)) ?? (row.message && words.phrase(row.message.key, row.message.params)) ?? "";
    const state = asking && row.permission ? words.phrase("permission.waiting") : row.state === "done" || asking ? "" : words.phrase(`state.${row.state}`);
    spoken.push(`${el.ariaLabel}: ${said.slice(0, 1000)} ${state}`);
  }

  function forget(rec) {
    if (rec.custom) call(rec, { op: "remove", id: rec.row.id });
    setQuiet(rec.quiet, false);
  }

  const sink = {
    reset() {
      records.forEach(forget);
      records.clear();
      changed.clear();
      orphans.clear();
      list.replaceChildren();
      first = last = current = undefined;
      spoken = null; // what this batch brings was there already: nothing to announce
      sink.panel("activity", {});
    },
    insert(id, before, row) {
      const next = records.get(before), prev = next ? next.prev : last;
      const kind = KINDS.includes(row.kind) ? row.kind : "custom";
      const custom = Object.hasOwn(renderers, row.kind) && renderers[row.kind], fold = !custom && FOLDED.includes(kind);
      const rec = { row, prev, next, custom, slots: {}, texts: [], head: {}, flagged: "" };
      rec.el = make("div", "cr-row", (rec.body = make(fold ? "details" : "div", "cr-body")));
      rec.flags = make("div", "cr-flags");
      rec.quiet = () => rec.flags.lastChild && words.say(rec.flags.lastChild, "toolPreparing.quiet", { seconds: Math.max(0, ((Date.now() - rec.row.quietSince) / 1000) | 0) });
      if (fold) rec.body.open = isLive(row);
      if (prev) prev.next = rec;
      else first = rec;
      if (next) next.prev = rec;
      else last = rec;
      records.set(id, rec);
      Object.assign(rec.el.dataset, { row: id, kind });
      rec.el.tabIndex = -1;
      rec.el.role = "article";
      words.label(rec.el, `kind.${kind}`);
      draw(rec, { op: "insert", id, before: before || null, row }, row);
      change(rec);
      put(rec);
      for (const child of orphans.get(id) ?? []) put(child);
      announce(rec, true, false);
    },
    append(id, field, keep, text) {
      const rec = records.get(id);
      if (!rec) return;
      rec.row = appended(rec.row, field, keep, text);
      if (rec.custom) draw(rec, { op: "append", id, field: fieldName(field), keep, text });
      else if (rec.texts[field]) rec.texts[field].write(text, keep);
      else if (field === 0 || field === 2) drawBody(rec, NOTHING);
    },
    update(id, patch) {
      const rec = records.get(id);
      if (!rec) return;
      const wasLive = isLive(rec.row), wasAsking = isAsking(rec.row);
      rec.row = patched(rec.row, patch);
      draw(rec, { op: "update", id, patch }, patch);
      change(rec);
      if ("parent" in patch) put(rec);
      announce(rec, wasLive, wasAsking);
    },
    remove(id) {
      const rec = records.get(id);
      if (!rec) return;
      forget(rec);
      change(rec).delete(rec);
      records.delete(id);
      if (rec.prev) rec.prev.next = rec.next;
      else first = rec.next;
      if (rec.next) rec.next.prev = rec.prev;
      else last = rec.prev;
      if (current === rec) current = undefined;
      orphans.get(rec.waits)?.delete(rec);
      for (const el of [...(rec.kids?.children ?? [])]) put(records.get(+el.dataset.row));
      const page = rec.el.parentNode;
      rec.el.remove();
      vacate(page, rec.box);
    },
    panel(name, { state }) {
      if (name !== "activity") return;
      const key = `activity.${state}`;
      const shown = Object.hasOwn(ENGLISH, key);
      activity.toggleAttribute("data-idle", !shown); // keeps its room
      if (shown) words.say(activity, key);
    },
  };

  // --- the reader ----------------------------------------------------------------------------------------

  const recordOf = (target) => records.get(+target.closest("[data-row]")?.dataset.row);

  function rove(rec) {
    if (rec === current) return;
    if (current) current.el.tabIndex = -1;
    if (rec) rec.el.tabIndex = 0;
    current = rec;
  }

  function stick(on) {
    stuck = on;
    jump.hidden = on;
    log.toggleAttribute("data-stuck", on);
  }

  function toEnd() {
    stick(true);
    log.scrollTop = log.scrollHeight;
    last?.el.focus({ preventScroll: true });
  }

  function copyRow({ row, body }) {
    const text = row.text || row.tool?.output || row.tool?.input || (row.error && reason(row.error)) || body.textContent;
    if (tell("copy", { row, text }, true)) navigator.clipboard?.writeText(text).catch(() => {});
    nameCopy("copied");
    clearTimeout(copied);
    copied = setTimeout(nameCopy, 1500, "copy");
  }

  function nameCopy(key) {
    words.say(words.label(copy, key), key, undefined, "title");
  }

  /** Only the reader moves up; content that grows or shrinks does not take them from the end. */
  function look() {
    const gap = log.scrollHeight - log.clientHeight - log.scrollTop;
    if (log.scrollTop < top - 1 && gap > 2) stick(false);
    else if (gap < 24 && (log.scrollTop > top || log.scrollHeight < height)) stick(true);
    top = log.scrollTop;
    height = log.scrollHeight;
  }

  /** The reader sets out upwards: a browser that scrolls smoothly has yet to move, and following would stop it. */
  function leave() {
    if (log.scrollTop > 0) stick(false);
  }

  /** Runs after layout, so that following the end never forces one. */
  const size = new ResizeObserver(() => {
    look();
    if (stuck) log.scrollTop = log.scrollHeight;
    top = log.scrollTop;
  });
  size.observe(list);
  size.observe(log);
  stick(true);
  nameCopy("copy");

  const listeners = new AbortController();
  const on = (type, listener) => log.addEventListener(type, listener, { signal: listeners.signal, passive: type !== "keydown" });

  on("scroll", look);
  on("wheel", ({ target, deltaY, ctrlKey }) => {
    const value = target.closest(".cr-value");
    if (deltaY < 0 && !ctrlKey && !(value && value.scrollHeight > value.clientHeight)) leave();
  });
  on("keydown", (event) => {
    const rec = event.target.matches("[data-row]") && recordOf(event.target);
    if (!rec || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const row = rec.el.getBoundingClientRect(), frame = log.getBoundingClientRect();
    const to = { ArrowDown: rec.next, ArrowUp: rec.prev, Home: first, End: last }[event.key];
    if (!to) return;
    // A row taller than the list is read by scrolling first.
    if (event.key === "ArrowDown" && row.bottom > frame.bottom + 1) return;
    if (event.key === "ArrowUp" && row.top < frame.top - 1) return;
    event.preventDefault();
    to.el.focus();
    settle();
  });
  on("keydown", ({ key, target, defaultPrevented }) => {
    if (!defaultPrevented && (key === "ArrowUp" || key === "PageUp") && !target.matches("input, textarea, select")) leave();
  });

  const reach = (event) => {
    const rec = recordOf(event.target);
    if (!rec) return;
    if (event.type === "focusin") {
      changed.add(current); // closes later: nothing may move under a pointer that is pressed
      rove(rec);
      if (event.target !== rec.line) gather(rec);
    }
    if (copy.parentNode === rec.el || copy.matches(":focus")) return;
    rec.el.append(copy);
    nameCopy("copy");
  };
  on("focusin", reach);
  on("pointerover", reach);

  on("beforematch", ({ target }) => toggle(recordOf(target))); // found in the page

  on("click", ({ target }) => {
    PRESSED.get(target.closest("button"))?.(recordOf(target));
    settle();
  });

  const stop = chat.subscribeBuffer((ops, buffer) => {
    readOps(ops, buffer, sink);
    settle();
    if (!log.matches(":focus-within")) rove(last);
    if (spoken?.length) live.textContent = spoken.slice(-3).join("\n");
    spoken = [];
  });

  view.setCatalogue = (catalogue, locale) => {
    words.use(catalogue, locale);
    for (const rec of records.values()) {
      if (rec.custom) call(rec, { op: "update", id: rec.row.id, patch: {} });
      else if (rec.slots.ask && !rec.asking) drawAsk(rec);
    }
  };

  view.unmount = () => {
    stop();
    sink.reset();
    listeners.abort();
    size.disconnect();
    clearTimeout(copied);
    release();
  };
  return view;
}

// --- panels ------------------------------------------------------------------------------------------------

const array = (value) => (Array.isArray(value) ? value : []);

/** How each panel is drawn: what goes into its element, or nothing where there is nothing to show. */
const DRAWN = {
  session: ({ title }) => title && [make("strong", "", make("bdi", "", title))],
  connection: ({ state, reason = state, ...params }, words) => state && [words.say(make("span", ""), `connection.${reason}`, params)],
  mode: ({ current, name, available, options }, words) => {
    const mode = name ?? array(available).find(({ id }) => id === current)?.name ?? current;
    const shown = array(options).map((option) => {
      const value = optionValue(option), named = typeof value === "boolean" ? words.phrase(value ? "mode.on" : "mode.off") : value;
      return words.say(make("span", "cr-figure"), "mode.option", { option: option.name ?? option.id, value: named });
    });
    if (mode) shown.unshift(words.say(make("span", ""), "mode.current", { mode }));
    return shown.length && shown;
  },
  plan: ({ entries, text }, words) => {
    const all = array(entries), done = all.filter(({ status }) => status === "completed").length;
    const items = all.map(({ content, status = "pending", priority }) => {
      const item = make("li", "cr-entry", words.say(make("span", "cr-status"), `plan.${status}`), make("bdi", "", content ?? ""));
      if (priority === "high") item.append(words.say(make("span", "cr-flag"), "plan.high"));
      if (["pending", "in_progress", "completed", "cancelled"].includes(status)) item.dataset.status = status;
      return item;
    });
    const heading = make("summary", ""), parts = [heading];
    items.length ? words.say(heading, "plan.progress", { done, count: all.length }) : words.say(heading, "panel.plan");
    if (items.length) parts.push(make("ol", "", ...items));
    if (text) parts.push(Object.assign(make("div", "cr-plantext", text), { dir: "auto" }));
    return parts.length > 1 && parts;
  },
  queue: (queue, words) => {
    const waiting = ["steering", "followUp"].filter((name) => array(queue[name]).length);
    return waiting.length && waiting.flatMap((name) => [
      words.say(make("div", "cr-label"), `queue.${name}`),
      make("ul", "", ...queue[name].map((item) => make("li", "", make("bdi", "", typeof item === "string" ? item : item?.text ?? JSON.stringify(item))))),
    ]);
  },
  usage: (usage, words) => {
    const said = (key, params) => words.say(make("span", "cr-figure"), `usage.${key}`, params);
    const { cost, used, size } = usage, { amount = cost, currency = "USD" } = cost ?? {};
    const figures = ["inputTokens", "cachedTokens", "outputTokens", "reasoningTokens", "totalTokens"].filter((key) => usage[key] > 0);
    const shown = figures.map((key) => said(key, { count: usage[key] }));
    if (used >= 0 && size > 0) shown.push(said("context", { used, size }));
    if (amount > 0) shown.push(said("cost", { amount: money(amount, currency, words.locale) }));
    return shown.length && shown;
  },
};

function money(amount, currency, locale) {
  const digits = { maximumFractionDigits: amount < 1 ? 4 : 2 };
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency, ...digits }).format(amount);
  } catch {
    return `${amount} ${currency}`; // no currency that the browser knows
  }
}

/** Draws what is shown once beside the rows. Panels that it does not know, or that are empty, are left out. */
export function mountPanels(element, chat, { catalogue, locale = chat.locale } = {}) {
  const release = claim(element, ["cr-panels"], {});
  const words = new Words(element, catalogue, locale);
  const names = Object.keys(DRAWN);
  let panels = {}, boxes = {};

  function draw(name) {
    const parts = panels[name] && DRAWN[name](panels[name], words);
    if (!parts) {
      boxes[name]?.remove();
      delete boxes[name];
      return;
    }
    if (!boxes[name]) {
      boxes[name] = words.label(make(name === "plan" ? "details" : "div", `cr-panel cr-${name}`), `panel.${name}`);
      if (name === "plan") boxes[name].open = true;
      else boxes[name].role = name === "connection" ? "status" : "group";
      const later = names.slice(names.indexOf(name) + 1).find((other) => boxes[other]);
      element.insertBefore(boxes[name], boxes[later] ?? null);
    }
    const focused = boxes[name].contains(document.activeElement);
    boxes[name].replaceChildren(...parts);
    if (focused) boxes[name].firstChild.focus();
  }

  const stop = chat.subscribeBuffer((ops, buffer) => {
    const changed = new Set();
    readOps(ops, buffer, {
      reset() {
        panels = {};
        names.forEach((name) => changed.add(name));
      },
      panel(name, patch) {
        panels[name] = merged(panels[name], patch);
        if (Object.hasOwn(DRAWN, name)) changed.add(name);
      },
    });
    changed.forEach(draw);
  });

  return {
    setCatalogue(catalogue, locale) {
      words.use(catalogue, locale);
      names.forEach(draw);
    },
    unmount() {
      stop();
      release();
    },
  };
}
