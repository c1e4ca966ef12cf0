// Puts the rows of a chat on the page. What goes in: the op buffers of `chat.subscribeBuffer`. What comes
// out: elements, changed only where an op says so, so that the work for one op does not depend on how many
// rows there are. What comes from the wire is only ever text: no HTML, attribute name, style or class.
// `readOps` and `applyOps` know nothing of the page and serve other renderers and tests.

const KINDS = "user text reasoning tool tool-preparing question permission notice error retry compaction summary image custom".split(" ");
const STATES = "streaming preparing pending running done failed cancelled interrupted expired".split(" ");
const PANELS = "activity plan usage commands mode queue session connection state".split(" ");
const FIELDS = ["text", "tool.input", "tool.output"];
const HEADED = ["tool", "tool-preparing", "reasoning", "retry", "compaction"];
const FOLDED = ["tool", "reasoning"];
const SLOTS = ["head", "message", "text", "fields", "input", "output", "error", "media"];

/** Interface text; the `catalogue` option overrides it. `{name}` is drawn in the editor's font. */
const ENGLISH = {
  __proto__: null,
  log: "Chat", jump: "Jump to latest", copy: "Copy", copied: "Copied", retry: "Try again",
  alternative: "Alternative {n}", truncated: "Cut short", quiet: "Waiting for data",
  "kind.user": "You", "kind.text": "Assistant", "kind.reasoning": "Reasoning", "kind.tool": "Tool",
  "kind.tool-preparing": "Tool", "kind.question": "Question", "kind.permission": "Permission",
  "kind.notice": "Notice", "kind.error": "Error", "kind.retry": "Retry", "kind.compaction": "Compaction",
  "kind.summary": "Summary", "kind.image": "Image", "kind.custom": "Message",
  "state.pending": "Ready to run", "state.running": "Running", "state.failed": "Failed",
  "state.cancelled": "Cancelled", "state.interrupted": "Interrupted", "state.expired": "Expired",
  "toolPreparing.preparing": "Preparing {name}…", "tool.unnamed": "Preparing a tool call…",
  "tool.call": "{name} {title}", "tool.output": "Output", "tool.input": "Arguments as received",
  "tool.more": "More arguments are not shown",
  "reasoning.streaming": "Thinking…", "reasoning.done": "Thought",
  "limit.rows": "This chat is full: it shows {max} rows", "limit.open-blocks": "Too much at once: it shows {max} parts that are still arriving", "finish.filtered": "A content filter ended the answer",
  "error.arguments-malformed": "The arguments are not valid JSON", "error.arguments-too-long": "The arguments are too long",
  "error.arguments-nesting": "The arguments are nested too deeply", "error.name-missing": "The call names no tool", "error.no-records": "The response is not a stream of messages",
  "error.other": "The response broke off with an error",
  "activity.waiting": "Thinking…", "activity.retrying": "Trying again…", "activity.stalled": "Waiting for data…",
};

/** Reads an op buffer and tells `sink` each op. Fields are numbers: see `FIELDS`, then `tool.fields[n - 3].text`. */
export function readOps(words, text, sink) {
  let at = 0, from = 0;
  const word = () => words[at++];
  const piece = (length) => text.slice(from, (from += length));
  while (at < words.length) {
    const op = word();
    if (op === 0) sink.reset();
    else if (op === 1) sink.insert(word(), word(), JSON.parse(piece(word())));
    else if (op === 2) {
      const id = word(), field = word(), keep = word();
      sink.append(id, field, keep === 0xffffffff ? undefined : keep, piece(word()));
    } else if (op === 3) sink.update(word(), JSON.parse(piece(word())));
    else if (op === 4) sink.remove(word());
    else if (op === 5) sink.panel(PANELS[word()], JSON.parse(piece(word())));
    else throw new RangeError(`unknown op ${op}`);
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
    else panels[op.name] = merged(panels[op.name], op.patch);
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

function make(tag, name, ...children) {
  const el = document.createElement(tag);
  el.className = name;
  el.append(...children);
  return el;
}

/**
 * Text that grows, at a cost that does not: a browser lays out a block anew as a whole, so that past `SOFT`
 * units the next line starts a new one, and past `HARD` units a line without end is broken. Appending to a
 * text node makes it look for what changed, a new one is ten times as cheap; but what may join the character
 * before it stays in one.
 */
class Growing {
  static SOFT = 4096;
  static HARD = 16384;

  constructor(el) {
    el.dir = "auto";
    this.el = this.block = el;
    this.node = el.appendChild(new Text());
    this.before = 0; // units before `node`
    this.filled = 0; // units in `block`
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
      if (text) {
        this.block = this.el.appendChild(make("div", "cr-block"));
        this.el.classList.add("cr-long");
        this.filled = 0;
        this.open("");
      }
    }
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
        const last = this.el.lastChild;
        this.block = last.nodeType === 1 ? last : this.el;
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

function safeUrl(text, schemes) {
  try {
    const url = new URL(text);
    return schemes.test(url.protocol === "data:" ? url.href : url.protocol) ? url.href : undefined;
  } catch {}
}
const LINK = /^(https?|mailto):$/;
const PICTURE = /^(https?:$|blob:$|data:image\/(png|jpeg|gif|webp|avif)[;,])/;

const pathLabel = (path) => path.map((step, i) => (typeof step === "number" ? `[${step}]` : (i ? "." : "") + step)).join("");
const isLive = (row) => ["streaming", "preparing", "pending", "running"].includes(row.state);

/** Rows in one block that the browser may leave out of layout while it is out of sight. */
const PAGE_ROWS = 32;
/** Argument values drawn in one tool row. */
const FIELDS_DRAWN = 500;

/**
 * Draws `chat` inside `log`, which becomes the scrolling list. Returns an EventTarget with `unmount()`; its
 * events are `copy` (cancelable, to copy in another way) and `retry`, both with `detail.row`.
 */
export function mountRows(log, chat, { renderers = {}, catalogue = {}, locale = chat.locale } = {}) {
  const view = new EventTarget();
  const records = new Map();
  let first, last, current; // records: both ends of the list, and the one the Tab key reaches
  let stuck = true, top = 0, height = 0, spoken = null;

  const known = (key) => catalogue[key] ?? ENGLISH[key];
  const template = (key) => String(known(key) ?? key).split(/\{(\w+)\}/);
  const param = (value = "") => (typeof value === "number" ? value.toLocaleString(locale) : String(value));
  const phrase = (key, params) => template(key).map((s, i) => (i % 2 ? param(params?.[s]) : s)).join("");
  const phraseInto = (el, key, params) =>
    el.replaceChildren(...template(key).map((s, i) => (i % 2 ? make("bdi", s === "name" ? "cr-name" : "cr-param", param(params?.[s])) : s)));

  const list = make("div", "cr-rows");
  const activity = make("div", "cr-activity");
  const jump = make("button", "cr-jump", phrase("jump"));
  const live = make("div", "cr-live");
  const copy = make("button", "cr-copy");
  jump.type = copy.type = "button";
  jump.hidden = true;
  live.ariaLive = "polite";
  copy.ariaLabel = copy.title = phrase("copy");
  log.classList.add("cr-log");
  log.setAttribute("role", "log");
  log.setAttribute("aria-live", "off"); // finished rows are announced by `live` instead, once
  const named = log.hasAttribute("aria-label");
  if (!named) log.setAttribute("aria-label", phrase("log"));
  log.append(list, activity, make("div", "cr-foot", jump), live);

  // --- one row -------------------------------------------------------------------------------------------

  /** The element of a part of a row's body, made at its place on first use; none where it is not wanted. */
  function slot(rec, name, wanted, tag = "div") {
    let el = rec.slots[name];
    if (!wanted) {
      el?.remove();
      delete rec.slots[name];
    } else if (!el) {
      el = rec.slots[name] = make(tag, `cr-${name}`);
      const later = SLOTS.slice(SLOTS.indexOf(name) + 1).find((other) => rec.slots[other]);
      rec.body.insertBefore(el, rec.slots[later] ?? null);
    }
    return wanted ? el : undefined;
  }

  /** A part that holds growing text: made with the whole value, rewritten only where an update names it. */
  function text(rec, field, value, changed, name, label) {
    const el = slot(rec, name, value !== undefined);
    if (!el) delete rec.texts[field];
    else if (!rec.texts[field]) {
      const box = label ? el.appendChild(make("div", "cr-value")).appendChild(make("div", "cr-code")) : el;
      if (label) el.prepend(make("div", "cr-label", phrase(label)));
      (rec.texts[field] = new Growing(box)).write(value);
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
      head.spinner.ariaHidden = "true";
    } else if (!row.busy && head.spinner) {
      head.spinner.remove();
      head.spinner = undefined;
    }
    const { name = "", title = "" } = row.tool ?? {};
    const preparing = row.kind === "tool-preparing" || row.state === "preparing";
    let key = `kind.${row.kind}`, params = { name, title };
    if (row.message) ({ key, params } = row.message);
    else if (row.kind === "reasoning") key = row.state === "streaming" ? "reasoning.streaming" : "reasoning.done";
    else if (row.tool) key = !preparing ? "tool.call" : name ? "toolPreparing.preparing" : "tool.unnamed";
    const label = key + JSON.stringify(params);
    if (head.key !== label) phraseInto(head.label, (head.key = label, key), params);
    head.bytes.textContent = row.bytes?.label ?? "";
  }

  function drawFields(rec, fields, changed) {
    const el = slot(rec, "fields", fields?.length > 0, "dl");
    if (!el) rec.texts.length = Math.min(rec.texts.length, 3);
    else for (const key in changed) {
      const i = +key, field = fields[i];
      if (i >= FIELDS_DRAWN) {
        if (!el.lastChild.matches(".cr-label")) el.append(make("div", "cr-label", phrase("tool.more")));
      } else if (!rec.texts[3 + i]) {
        const box = make("div", "cr-code");
        el.append(make("div", "cr-field", make("dt", "cr-path", pathLabel(field.path)), make("dd", "cr-value", box)));
        (rec.texts[3 + i] = new Growing(box)).write(field.text);
      } else {
        if (changed[i].path) el.children[i].firstChild.textContent = pathLabel(field.path);
        if (typeof changed[i].text === "string") rec.texts[3 + i].write(field.text, 0);
      }
    }
  }

  /** An error in our words, where its code is one of ours, and in the wire's. */
  const reason = ({ message, code }) => [known(`error.${code}`), message].filter(Boolean).join("\n") || phrase("error.other");

  function drawError(rec, { error }) {
    const el = slot(rec, "error", error);
    if (!el) return;
    const message = make("div", "cr-said", reason(error));
    message.dir = "auto";
    el.replaceChildren(message);
    if (error.code) el.append(make("code", "cr-errorcode", error.code));
    if (error.retryable) el.append(Object.assign(make("button", "cr-retry", phrase("retry")), { type: "button" }));
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
        return Object.assign(make("img", "cr-image"), { referrerPolicy: "no-referrer", loading: "lazy", alt: phrase("kind.image"), src });
      }),
      ...files.map(({ url, name }) => link(url, name)),
      ...sources.map(({ url, title }) => link(url, title)),
    );
  }

  function drawBody(rec, patch) {
    const { row } = rec, { tool } = row;
    if (HEADED.includes(row.kind)) drawHead(rec);
    else if (slot(rec, "message", row.message)) phraseInto(rec.slots.message, row.message.key, row.message.params);
    text(rec, 0, row.text || undefined, patch.text, "text");
    if (tool) {
      const raw = tool.input && row.state !== "preparing" && (!tool.inputDone || (!tool.fields?.length && tool.input.length > 2));
      drawFields(rec, tool.fields, patch.tool?.fields);
      text(rec, 1, raw ? tool.input : undefined, patch.tool?.input, "input", "tool.input");
      text(rec, 2, tool.output || undefined, patch.tool?.output, "output", "tool.output");
    }
    if ("error" in patch) drawError(rec, row);
    if ("images" in patch || "files" in patch || "sources" in patch) drawMedia(rec, row);
  }

  /** What every row shows of itself, however its body is drawn. */
  function drawFrame(rec) {
    const { row, el } = rec, { choice } = row.meta ?? {};
    el.dataset.state = STATES.includes(row.state) ? row.state : "done";
    el.ariaBusy = String(row.busy === true);
    if (typeof choice === "number" && !rec.choice) el.prepend((rec.choice = make("div", "cr-choice", phrase("alternative", { n: choice + 1 }))));
    const flags = [
      (row.kind === "tool" || row.state !== "pending") && ENGLISH[`state.${row.state}`] && phrase(`state.${row.state}`),
      row.truncated && phrase("truncated"),
      row.quietSince != null && phrase("quiet"),
    ].filter(Boolean);
    if (flags.join("") === rec.flags.textContent) return;
    rec.flags.replaceChildren(...flags.map((flag) => make("span", "cr-flag", flag)));
    if (!flags.length) rec.flags.remove();
    else if (rec.head.label && !rec.custom) rec.head.bytes.before(rec.flags);
    else rec.body.after(rec.flags);
  }

  function draw(rec, op, patch) {
    const { row } = rec;
    if (rec.kind !== row.kind) {
      if (rec.custom) call(rec, { op: "remove", id: row.id });
      const kind = (rec.kind = row.kind);
      rec.custom = Object.hasOwn(renderers, kind) && renderers[kind];
      Object.assign(rec, { slots: {}, texts: [], head: {} });
      const fold = !rec.custom && FOLDED.includes(kind);
      const body = make(fold ? "details" : "div", "cr-body");
      if (fold) body.open = isLive(row);
      if (rec.body) rec.body.replaceWith(body);
      else rec.el.append(body);
      rec.body = body;
      rec.flags.replaceChildren();
      rec.el.dataset.kind = KINDS.includes(kind) ? kind : "custom";
      rec.el.ariaLabel = phrase(`kind.${rec.el.dataset.kind}`);
      patch = row;
      if (rec.custom && op.op !== "insert") op = { op: "insert", id: row.id, before: null, row };
    }
    if (rec.custom) call(rec, op);
    else if (patch) drawBody(rec, patch);
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
  function place(rec) {
    const parent = records.get(rec.row.parent);
    rec.box = parent && parent !== rec ? (parent.kids ??= parent.el.appendChild(make("div", "cr-kids"))) : list;
    let after = rec.next;
    while (after && after.box !== rec.box) after = after.next;
    if (after) after.el.before(rec.el);
    else (rec.box === list ? lastPage() : rec.box).append(rec.el);
    const page = rec.el.parentNode;
    if (rec.box === list && page.childElementCount > 2 * PAGE_ROWS) {
      const rest = make("div", page.className);
      rest.append(...[...page.children].slice(PAGE_ROWS));
      page.after(rest);
      page.classList.add("cr-full");
    }
  }

  function lastPage() {
    const page = list.lastElementChild;
    if (page && page.childElementCount < PAGE_ROWS) return page;
    page?.classList.add("cr-full");
    return list.appendChild(make("div", "cr-page"));
  }

  /** Remembers what to tell a screen reader: a row that came to its end. */
  function announce({ row, el }) {
    if (!spoken || isLive(row) || row.kind === "user" || row.kind === "reasoning") return;
    const said = row.tool?.name ?? row.text ?? (row.error && reason(row.error)) ?? (row.message && phrase(row.message.key, row.message.params)) ?? "";
    const state = row.state === "done" ? "" : phrase(`state.${row.state}`);
    spoken.push(`${el.ariaLabel}: ${said.slice(0, 1000)} ${state}`);
  }

  const sink = {
    reset() {
      for (const rec of records.values()) if (rec.custom) call(rec, { op: "remove", id: rec.row.id });
      records.clear();
      list.replaceChildren();
      first = last = current = undefined;
      spoken = null; // what this batch brings was there already: nothing to announce
      sink.panel("activity", {});
    },
    insert(id, before, row) {
      const next = records.get(before), prev = next ? next.prev : last;
      const rec = { row, prev, next, el: make("div", "cr-row"), flags: make("div", "cr-flags") };
      if (prev) prev.next = rec;
      else first = rec;
      if (next) next.prev = rec;
      else last = rec;
      records.set(id, rec);
      rec.el.dataset.row = id;
      rec.el.tabIndex = -1;
      rec.el.setAttribute("role", "article");
      draw(rec, { op: "insert", id, before: before || null, row }, row);
      place(rec);
      announce(rec);
    },
    append(id, field, keep, text) {
      const rec = records.get(id);
      if (!rec) return;
      rec.row = appended(rec.row, field, keep, text);
      if (rec.custom) draw(rec, { op: "append", id, field: fieldName(field), keep, text });
      else if (rec.texts[field]) rec.texts[field].write(text, keep);
      else if (field === 0 || field === 2) drawBody(rec, {});
    },
    update(id, patch) {
      const rec = records.get(id);
      if (!rec) return;
      const wasLive = isLive(rec.row);
      rec.row = patched(rec.row, patch);
      draw(rec, { op: "update", id, patch }, patch);
      if ("parent" in patch) place(rec);
      if (wasLive) announce(rec);
    },
    remove(id) {
      const rec = records.get(id);
      if (!rec) return;
      if (rec.custom) call(rec, { op: "remove", id });
      records.delete(id);
      if (rec.prev) rec.prev.next = rec.next;
      else first = rec.next;
      if (rec.next) rec.next.prev = rec.prev;
      else last = rec.prev;
      if (current === rec) current = undefined;
      for (const el of [...(rec.kids?.children ?? [])]) place(records.get(+el.dataset.row));
      const page = rec.el.parentNode;
      rec.el.remove();
      if (!page.firstChild && page !== rec.box) page.remove();
    },
    panel(name, patch) {
      if (name === "activity") {
        const key = `activity.${patch.state}`;
        activity.textContent = ENGLISH[key] ? phrase(key) : "";
      }
    },
  };

  // --- the reader ----------------------------------------------------------------------------------------

  const recordOf = (target) => records.get(+target.closest?.("[data-row]")?.dataset.row);

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
  });
  on("keydown", ({ key, target, defaultPrevented }) => {
    if (!defaultPrevented && (key === "ArrowUp" || key === "PageUp") && !target.matches("input, textarea, select")) leave();
  });

  const reach = (event) => {
    const rec = recordOf(event.target);
    if (!rec) return;
    if (event.type === "focusin") rove(rec);
    if (copy.parentNode !== rec.el && !copy.matches(":focus")) rec.el.append(copy);
  };
  on("focusin", reach);
  on("pointerover", reach);

  on("click", ({ target }) => {
    const rec = recordOf(target);
    if (target === jump) {
      stick(true);
      log.scrollTop = log.scrollHeight;
      last?.el.focus({ preventScroll: true });
    } else if (target === copy) {
      const { row } = rec;
      const words = row.text || row.tool?.output || row.tool?.input || (row.error && reason(row.error)) || rec.body.textContent;
      const event = new CustomEvent("copy", { cancelable: true, detail: { row, text: words } });
      if (view.dispatchEvent(event)) navigator.clipboard?.writeText(words).catch(() => {});
      copy.ariaLabel = copy.title = phrase("copied");
      setTimeout(() => (copy.ariaLabel = copy.title = phrase("copy")), 1500);
    } else if (target.matches(".cr-retry")) {
      view.dispatchEvent(new CustomEvent("retry", { detail: { row: rec.row } }));
    }
  });

  const stop = chat.subscribeBuffer((words, buffer) => {
    readOps(words, buffer, sink);
    if (!log.matches(":focus-within")) rove(last);
    if (spoken?.length) live.textContent = spoken.slice(-3).join("\n");
    spoken = [];
  });

  view.unmount = () => {
    stop();
    sink.reset();
    listeners.abort();
    size.disconnect();
    log.replaceChildren();
    log.classList.remove("cr-log");
    for (const name of ["role", "aria-live", "data-stuck", ...(named ? [] : ["aria-label"])]) log.removeAttribute(name);
  };
  return view;
}
