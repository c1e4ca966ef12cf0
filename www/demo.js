// The demo page: plays a recording into a chat, piece by piece, as a network would, and shows what comes of it.
import { mountRows } from "./rows.js";
import { cutFile, recordings } from "./recordings.js";

const $ = (id) => document.getElementById(id);
const SPEEDS = { recorded: 1, fast: 4, instant: Infinity };
const OPS_SHOWN = 200;
const WIRE_SHOWN = 6000; // characters
const TOOL_MS = 600;
const REFRESH_MS = 100;
const NOTHING = { bytes: 0, records: { total: 0, applied: 0, noop: 0, skipped: 0, faulted: 0, late: 0 }, lateBytes: 0 };

/**
 * Feeds network pieces `[at_ms, bytes]` to `feed` at a speed that may change meanwhile. `onend` follows the
 * last piece.
 */
class Player {
  constructor(pieces, feed, onend) {
    Object.assign(this, { pieces, feed, onend, next: 0, at: 0, speed: 1, timer: 0 });
  }

  get playing() {
    return this.timer !== 0;
  }

  get over() {
    return this.next >= this.pieces.length;
  }

  play() {
    if (this.playing || this.over) return;
    this.since = performance.now();
    this.timer = setTimeout(() => this.tick());
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Feeds one piece, whatever the time. */
  step() {
    if (this.over) return;
    const [at, bytes] = this.pieces[this.next++];
    this.at = Math.max(this.at, at);
    this.feed(bytes);
    if (this.over) {
      this.pause();
      this.onend();
    }
  }

  tick() {
    const now = performance.now(), until = this.speed === Infinity ? Infinity : this.at + (now - this.since) * this.speed;
    this.since = now;
    while (!this.over && this.pieces[this.next][0] <= until) this.step();
    if (this.over) return;
    this.at = until;
    this.timer = setTimeout(() => this.tick(), (this.pieces[this.next][0] - until) / this.speed);
  }
}

async function start() {
  const { default: init, ChatRows } = await import("./pkg/chatrows.js");
  await init();
  const chat = new ChatRows({ format: "openai-chat" });
  window.__chat = chat; // for the console

  const view = mountRows($("log"), chat);
  const choices = [...recordings];
  const hostTimers = new Set();
  let choice, player, stream, played = false, before = chat.stats();

  // --- playing -----------------------------------------------------------------------------------------

  function rewind() {
    player?.pause();
    for (const timer of hostTimers) clearTimeout(timer);
    hostTimers.clear();
    chat.reset();
    before = chat.stats();
    stream = undefined;
    played = false;
    clearWire();
    player = new Player(choice.pieces(), feed, () => end(stream.finish()));
    setSpeed();
    say("Ready");
    $("empty").hidden = false;
  }

  function begin() {
    if (stream) return;
    $("empty").hidden = true;
    if (choice.ask) chat.addUser(choice.ask);
    window.__stream = stream = chat.stream({ format: "openai-chat" });
  }

  function feed(bytes) {
    showWire(bytes);
    stream.push(bytes);
    dirty();
  }

  function end(how) {
    played = true;
    say({ done: "Done", interrupted: "Ended early", cancelled: "Aborted" }[how] ?? how);
  }

  function play() {
    if (played) rewind();
    begin();
    player.play();
    if (player.playing) say("Playing");
  }

  function pause() {
    if (!player.playing) return;
    player.pause();
    say("Paused");
  }

  function step() {
    if (played) rewind();
    begin();
    player.pause();
    player.step();
    if (!played) say(`Paused after piece ${player.next} of ${player.pieces.length}`);
  }

  function abort() {
    if (!stream || played) return;
    player.pause();
    stream.abort("cancelled");
    end("cancelled");
  }

  function restart() {
    rewind();
    play();
  }

  function choose(index) {
    choice = choices[index];
    $("recording").value = choice.id;
    rewind();
  }

  function setSpeed() {
    player.speed = SPEEDS[$("speed").value];
  }

  /** The host of the tools: runs a call once it is complete, which `args` alone decides. */
  function run(id) {
    const source = stream;
    const later = (ms, act) => {
      const timer = setTimeout(() => {
        hostTimers.delete(timer);
        if (source.end !== "cancelled") act(); // an abort has cancelled the call
      }, ms / player.speed);
      hostTimers.add(timer);
    };
    later(0, () => {
      const args = chat.args(id);
      if (args === undefined) return;
      chat.toolStarted(id);
      later(TOOL_MS, () => chat.toolResult(id, { output: toolOutput(args) }));
    });
  }

  function toolOutput(args) {
    if (typeof args.content === "string") {
      return `Wrote ${args.content.split("\n").length.toLocaleString("en")} lines to ${args.path}`;
    }
    return args.station ? `${args.station}: high water 04:12, low water 10:31` : "Done";
  }

  // --- files -------------------------------------------------------------------------------------------

  async function open(file) {
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    const own = { id: "own", title: file.name, pieces: () => cutFile(bytes, bytes.length) };
    const at = choices.findIndex((other) => other.id === "own");
    if (at < 0) {
      choices.push(own);
      $("recording").add(new Option(own.title, "own"));
    } else {
      choices[at] = own;
      $("recording").options[at].text = own.title;
    }
    choose(choices.indexOf(own));
    play();
  }

  // --- what the page says of it ------------------------------------------------------------------------

  let due = 0;
  function dirty() {
    due ||= setTimeout(refresh, REFRESH_MS);
  }

  function say(status) {
    $("status").textContent = status;
    $("app").dataset.mode = player.playing ? "playing" : stream && !played ? "paused" : "still";
    $("play").ariaDisabled = String(player.playing);
    $("pause").ariaDisabled = String(!player.playing);
    $("abort").ariaDisabled = String(!stream || played);
    dirty();
  }

  function define(list, entries) {
    entries.forEach(([name, value = "–"], i) => {
      const row = list.children[i] ?? list.appendChild(document.createElement("div"));
      if (!row.firstChild) row.append(document.createElement("dt"), document.createElement("dd"));
      row.className = /^[a-z]/.test(name) ? "sub" : "";
      row.firstChild.textContent = name;
      row.lastChild.textContent = typeof value === "number" ? value.toLocaleString("en") : value;
    });
  }

  function refresh() {
    due = 0;
    const { bytes, records, lateBytes } = stream?.stats() ?? NOTHING;
    const { rows, ops, batches } = chat.stats();
    const { activity, usage = {} } = chat.panels();
    define($("stats"), [
      ["Bytes", bytes], ["Records", records.total], ["applied", records.applied], ["no change", records.noop],
      ["skipped", records.skipped], ["faulted", records.faulted], ["late", records.late],
      ["Late bytes", lateBytes], ["Rows", rows], ["Ops", ops - before.ops], ["Batches", batches - before.batches],
    ]);
    define($("panels"), [
      ["Activity", activity?.state], ["Tokens in", usage.inputTokens], ["cached", usage.cachedTokens],
      ["Tokens out", usage.outputTokens], ["reasoning", usage.reasoningTokens],
    ]);
    const faults = stream?.faults() ?? [];
    $("faultcount").textContent = faults.length || "";
    $("faults").replaceChildren(...faults.slice(-50).map(({ reason, offset, excerpt }) => {
      const item = document.createElement("li"), what = document.createElement("span"), code = document.createElement("code");
      what.textContent = `${reason} at byte ${offset.toLocaleString("en")}`;
      code.textContent = visible(excerpt);
      item.append(what, code);
      return item;
    }));
    $("clock").textContent = `${(player.at / 1000).toFixed(1)} s · ${player.next} of ${player.pieces.length} pieces`;
    $("progress").style.scale = `${player.next / player.pieces.length} 1`;
  }

  // --- wire and ops ------------------------------------------------------------------------------------

  let wire = "", decoder = new TextDecoder(), lines = [], frame = 0;

  function clearWire() {
    [wire, decoder, lines] = ["", new TextDecoder(), []];
    showHood();
  }

  function showWire(bytes) {
    wire = (wire + decoder.decode(bytes, { stream: true }) + "┊").slice(-WIRE_SHOWN);
    showHood();
  }

  function opLine({ op, id, before, row, field, keep, text, patch, name }) {
    const brief = (value) => {
      const json = JSON.stringify(value, (_, v) => (typeof v === "string" && v.length > 60 ? `${v.slice(0, 60)}…` : v));
      return json.length > 240 ? `${json.slice(0, 240)}…` : json;
    };
    if (op === "insert") return `insert ${id}${before === null ? "" : ` before ${before}`} ${brief(row)}`;
    if (op === "append") return `append ${id} ${field}${keep === undefined ? "" : ` keep ${keep}`} ${brief(text)}`;
    if (op === "update") return `update ${id} ${brief(patch)}`;
    if (op === "panel") return `panel  ${name} ${brief(patch)}`;
    return id === undefined ? op : `${op} ${id}`;
  }

  /** Controls as what they are: one that turns the writing round must not turn this text round. */
  function visible(text) {
    return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, (c) =>
      c === "\r" ? "␍" : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  function showHood() {
    if ($("wires").hidden) return;
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      $("wire").textContent = visible(wire);
      $("ops").textContent = visible(lines.map(opLine).join("\n"));
      $("opcount").textContent = `last ${lines.length}`;
    });
  }

  chat.subscribe((ops) => {
    for (const op of ops) {
      const row = op.op === "insert" ? op.row : op.op === "update" ? op.patch : undefined;
      if (row?.state === "pending") run(op.id);
    }
    lines = lines.concat(ops.slice(-OPS_SHOWN)).slice(-OPS_SHOWN);
    showHood();
    dirty();
  });
  chat.onFault(dirty);
  view.addEventListener("retry", restart);

  // --- controls ----------------------------------------------------------------------------------------

  const pressable = (id, act) => $(id).addEventListener("click", () => $(id).ariaDisabled === "true" || act());
  pressable("play", play);
  pressable("pause", pause);
  pressable("step", step);
  pressable("abort", abort);
  pressable("restart", restart);
  pressable("open", () => $("file").click());
  pressable("hood", () => {
    const shown = $("wires").hidden;
    $("wires").hidden = !shown;
    $("hood").ariaPressed = String(shown);
    $("app").toggleAttribute("data-hood", shown);
    showHood();
    dirty();
  });
  $("speed").addEventListener("change", setSpeed);
  $("recording").addEventListener("change", () => choose($("recording").selectedIndex));
  $("file").addEventListener("change", () => {
    open($("file").files[0]);
    $("file").value = "";
  });

  const keys = { p: () => (player.playing ? pause() : play()), s: step, a: abort, r: restart, o: () => $("file").click(), w: () => $("hood").click(), "?": () => ($("keys").open = !$("keys").open) };
  addEventListener("keydown", (event) => {
    if (!$("shortcuts").checked || event.ctrlKey || event.altKey || event.metaKey || (event.repeat && event.key !== "s")) return;
    if (event.target.closest?.("select, input, textarea")) return;
    const act = keys[event.key.toLowerCase()] ?? (choices[event.key - 1] && (() => choose(event.key - 1)));
    if (!act) return;
    event.preventDefault();
    act();
  });

  addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.toggleAttribute("data-drop", true);
  });
  for (const type of ["dragleave", "drop"]) {
    addEventListener(type, (event) => {
      if (type === "drop" || !event.relatedTarget) document.body.toggleAttribute("data-drop", false);
    });
  }
  addEventListener("drop", (event) => {
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });

  for (const { id, title } of recordings) $("recording").add(new Option(title, id));
  choose(0);
  $("app").dataset.ready = "";
}

start().catch((error) => {
  window.__problems.push(`start: ${error?.message ?? error}`);
  console.error(error);
  window.showFailure(`The WebAssembly module did not start: ${error?.message ?? error}`);
});
