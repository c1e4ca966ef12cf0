// The demo page: plays a recording into a chat, piece by piece, as a network or an extension would, and shows what
// comes of it.
import { mountPanels, mountRows } from "./rows.js";
import { cutFile, recordings, timed } from "./recordings.js";
import { Player } from "./player.js";
import { settings } from "./settings.js";
import { ToolHost } from "./tools.js";
import { LiveTask } from "./live.js";
import { SessionTree, demoSession, isSession } from "./session.js";

const $ = (id) => document.getElementById(id);
const SPEEDS = { recorded: 1, fast: 4, instant: Infinity };
const OPS_SHOWN = 200;
const WIRE_SHOWN = 6000; // characters
const TOOL_MS = 600;
const REFRESH_MS = 100;
const SENT_SHOWN = 20;
const FORMATS = { "openai-chat": "OpenAI chat", say: "Say messages", "api-stream": "API stream", "task-stream": "Task stream", "agent-events": "Agent events", auto: "Your file" };
/** No recording: a task on the server that serves this page. */
const LIVE = { id: "live", title: "A live task", format: "task-stream", live: true, pieces: () => [] };
/** No recording either: a file to walk in. */
const SESSION = { id: "session", title: "A session to walk", format: "agent-events", session: demoSession, pieces: () => [] };
const LIVE_ENDS = { "task-ended": "done", "task-error": "interrupted", timeout: "done", closed: "cancelled", refused: "refused by the server", unreachable: "the server cannot be reached" };
const NOTHING = { bytes: 0, records: { total: 0, applied: 0, noop: 0, skipped: 0, faulted: 0, late: 0 }, lateBytes: 0 };

async function start() {
  const { default: init, AgentSession, ChatRows, TaskStreamClient } = await import("./pkg/chatrows.js");
  await init();
  const chat = new ChatRows({ format: "openai-chat" });
  window.__chat = chat; // for the console

  const view = mountRows($("log"), chat);
  const panels = mountPanels($("panels"), chat);
  settings([view, panels]);
  const choices = [...recordings, SESSION, LIVE];
  const hostTimers = new Set();
  const host = new ToolHost(chat, () => player.speed, goOn);
  const live = new LiveTask(chat, TaskStreamClient, () => player.speed, liveChanged, (event) => showWire(event));
  const tree = new SessionTree(chat, AgentSession, (walk) => {
    window.__stream = stream = tree.stream;
    if (walk) showWire(new TextEncoder().encode(walk));
    end("done");
  });
  /** `fed`: what the stream has had, as pieces; `again`: how the rows stood before they are played again on top. */
  let choice, player, stream, fed, again, played = false, before = chat.stats();

  // --- playing -----------------------------------------------------------------------------------------

  function rewind() {
    player?.pause();
    for (const timer of hostTimers) clearTimeout(timer);
    hostTimers.clear();
    stream = again = undefined;
    host.clear();
    live.clear();
    tree.clear();
    chat.reset();
    before = chat.stats();
    played = false;
    fed = [];
    clearWire();
    $("sent").replaceChildren();
    // An extension's messages have no end; all others end with their response.
    player = new Player(choice.pieces(), feed, finish, wait);
    setSpeed();
    say("Ready");
    $("empty").hidden = false;
  }

  function begin() {
    if (stream) return;
    $("empty").hidden = true;
    if (choice.ask) chat.addUser(choice.ask);
    window.__stream = stream = chat.stream({ format: choice.format, ...(choice.tools && host.options()) });
    if (choice.tools) host.follow(stream);
  }

  /** Whether the scene is one of messages that an extension posts. */
  function posts() {
    return choice.format === "say";
  }

  function feed(data, at) {
    if (!again) fed.push([at, data]);
    showWire(data);
    if (posts()) stream.pushMessage(data);
    else stream.push(data);
    dirty();
  }

  function wait() {
    say("Waiting for you");
  }

  /** The live task has begun, or ended for a reason. */
  function liveChanged(reason) {
    if (!choice.live) return;
    window.__stream = stream = live.stream;
    if (reason) return end(LIVE_ENDS[reason]);
    played = false;
    $("empty").hidden = true;
    say("Live");
  }

  /** All is fed; tools may still have to be waited for. */
  async function finish() {
    const source = stream, how = posts() ? "done" : source.finish();
    if (choice.tools) {
      goOn();
      await host.over;
    }
    if (stream === source && !played) end(how);
  }

  /** Says what the scene does now that it has not ended. */
  function goOn() {
    if (!stream || played) return;
    if (host.asking) wait();
    else if (player.playing) say(again ? "Replaying" : "Playing");
    else say(idle() ? "Waiting for the tools" : "Paused");
  }

  /** Whether nothing can be fed: the scene waits for the reader or for its tools. */
  function idle() {
    if (choice.live) return live.running;
    return !!player.waits || (!!stream && player.over && !played);
  }

  /** The rows, but for when they ended: what was interrupted has ended again. */
  function standing() {
    return JSON.stringify(chat.rows(), (name, value) => (name === "endedAt" ? undefined : value));
  }

  function end(how) {
    played = true;
    if (again) {
      const same = how === "cancelled" || standing() === again;
      again = undefined;
      return say(how === "cancelled" ? "Aborted" : same ? "Replayed: no row has changed" : "Replayed: rows have changed");
    }
    say({ done: "Done", interrupted: "Ended early", cancelled: "Aborted" }[how] ?? how);
  }

  /** The same once more into the chat as it stands, as after a connection that was lost and begins from the start. */
  function replay() {
    if (!played) return;
    again = standing();
    played = false;
    clearWire();
    if (!posts()) stream.restart({ from: "beginning" });
    if (choice.tools) host.follow(stream);
    player = new Player(fed, feed, finish, wait);
    setSpeed();
    player.play();
    say("Replaying");
  }

  /** The reader has acted: what goes back to the other side, and what that answers in the scene. */
  function act(name, row, said) {
    send({ type: name, ...(row.key && { key: row.key }), ...said });
    if (choice.tools) host.answer(row.id, said?.answer ?? name === "approve");
    if (choice.live && name === "answer") return live.answer(row.id, said.answers ?? said.answer);
    const then = player.waits?.[name];
    if (!then) return false;
    player.reply(timed(then(said?.answer), player.at));
    goOn();
    return true;
  }

  function send(message) {
    const item = document.createElement("li"), code = document.createElement("code");
    code.textContent = visible(JSON.stringify(message));
    item.append(code);
    $("sent").append(item);
    while ($("sent").children.length > SENT_SHOWN) $("sent").firstChild.remove();
  }

  function play() {
    if (choice.live && live.running) return;
    if (played) rewind();
    if (choice.live) return void live.begin();
    if (choice.session) return walk();
    begin();
    player.play();
    if (player.playing) goOn();
  }

  /** The branch of the session's leaf; what is no session says why. */
  function walk() {
    $("empty").hidden = true;
    try {
      tree.begin(choice.session());
    } catch (error) {
      say(error.message);
    }
  }

  function pause() {
    if (!player.playing) return;
    player.pause();
    say("Paused");
  }

  function step() {
    if (choice.live || choice.session) return;
    if (played) rewind();
    begin();
    player.pause();
    if (idle()) return;
    player.step();
    if (!played && !idle()) say(`Paused after piece ${player.next} of ${player.pieces.length}`);
  }

  function abort() {
    if (!stream || played) return;
    if (choice.live) return live.client?.close();
    if (choice.session) return;
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
    $("tools").hidden = $("presenter").hidden = !choice.tools;
    $("live").hidden = !choice.live;
    $("tree").hidden = !choice.session;
    $("composer").hidden = !choice.live && !choice.session;
    rewind();
    if (choice.session) $("words").placeholder = "Say something after the chosen entry";
  }

  function setSpeed() {
    player.speed = SPEEDS[$("speed").value];
  }

  /** The host of the tools: runs a call once it is complete, which `args` alone decides; one that is busy is run by the other side. */
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
      if (args === undefined || chat.rows().find((row) => row.id === id)?.busy) return;
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

  /** Adds a recording to the list, among those of its format. */
  function list({ id, title, format }) {
    const label = FORMATS[format];
    let group = [...$("recording").children].find((other) => other.label === label);
    if (!group) {
      group = document.createElement("optgroup");
      group.label = label;
      $("recording").append(group);
    }
    group.append(new Option(title, id));
  }

  // --- files -------------------------------------------------------------------------------------------

  async function open(file) {
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    const own = { id: "own", title: file.name, format: "auto", pieces: () => cutFile(bytes, bytes.length) };
    const text = new TextDecoder().decode(bytes);
    if (isSession(text)) Object.assign(own, { format: "agent-events", session: () => text, pieces: () => [] });
    const at = choices.findIndex((other) => other.id === "own");
    if (at < 0) {
      choices.push(own);
      list(own);
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
    $("app").dataset.mode = player.playing || live.running ? "playing" : stream && !played ? "paused" : "still";
    $("play").ariaDisabled = String(player.playing || idle() || live.running);
    $("pause").ariaDisabled = String(!player.playing);
    $("step").ariaDisabled = String(idle() || !!choice.live || !!choice.session);
    $("abort").ariaDisabled = String(!stream || played || !!choice.session);
    $("replay").ariaDisabled = String(!played || !fed.length);
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
    const { activity } = chat.panels();
    define($("stats"), [
      ["Format", choice.format], ["Activity", activity?.state], ["Bytes", bytes], ["Records", records.total], ["applied", records.applied], ["no change", records.noop],
      ["skipped", records.skipped], ["faulted", records.faulted], ["late", records.late],
      ["Late bytes", lateBytes], ["Rows", rows], ["Ops", ops - before.ops], ["Batches", batches - before.batches],
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
    $("clock").textContent = choice.live || choice.session ? "" : `${(player.at / 1000).toFixed(1)} s · ${player.next}${player.waits ? "" : ` of ${player.pieces.length}`} pieces`;
    $("progress").style.scale = `${player.next / (player.pieces.length || 1)} 1`;
  }

  // --- wire and ops ------------------------------------------------------------------------------------

  let wire = "", decoder = new TextDecoder(), lines = [], frame = 0;

  function clearWire() {
    [wire, decoder, lines] = ["", new TextDecoder(), []];
    showHood();
  }

  function showWire(data) {
    const text = ArrayBuffer.isView(data) ? `${decoder.decode(data, { stream: true })}┊` : `${JSON.stringify(data)}\n`;
    wire = (wire + text).slice(-WIRE_SHOWN);
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
      // What waits for leave is run by the other side, or the presenter has it run.
      if (row?.state === "pending" && row.tool && !row.permission && !posts() && !choice.tools && !choice.live) run(op.id);
      if (choice.live && row?.state && (row.kind === "question" || op.id === live.asking)) {
        live.asking = row.state === "pending" ? op.id : undefined;
        if (live.asking) wait();
        else if (live.running) say("Live");
      }
    }
    lines = lines.concat(ops.slice(-OPS_SHOWN)).slice(-OPS_SHOWN);
    showHood();
    dirty();
  });
  chat.onFault(dirty);
  for (const type of ["approve", "reject"]) {
    view.addEventListener(type, ({ detail: { row, option } }) => act(type, row, { option: option.id }));
  }
  view.addEventListener("answer", ({ detail: { row, answer, answers } }) =>
    act("answer", row, answers || choice.live ? { answer, answers } : { answer: [answer].flat().join(", ") }));
  view.addEventListener("retry", ({ detail: { row } }) => act("retry", row) || restart());
  view.addEventListener("open", ({ detail: { row, path, line } }) => act("open", row, { path, line }));

  // --- controls ----------------------------------------------------------------------------------------

  const pressable = (id, act) => $(id).addEventListener("click", () => $(id).ariaDisabled === "true" || act());
  pressable("play", play);
  pressable("pause", pause);
  pressable("step", step);
  pressable("abort", abort);
  pressable("restart", restart);
  pressable("replay", replay);
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

  const keys = { p: () => (player.playing ? pause() : play()), s: step, a: abort, r: restart, t: replay, o: () => $("file").click(), w: () => $("hood").click(), n: () => $("narrow").click(), "?": () => ($("keys").open = !$("keys").open) };
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

  choices.forEach(list);
  choose(0);
  $("app").dataset.ready = "";
}

start().catch((error) => {
  window.__problems.push(`start: ${error?.message ?? error}`);
  console.error(error);
  window.showFailure(`The WebAssembly module did not start: ${error?.message ?? error}`);
});
