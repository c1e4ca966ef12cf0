// A chat on a page, drawn by one of three sides: the package's renderer, a page that writes the growing message's whole
// text anew, and one that draws the whole list anew. frame.js opens it, builds the chat, and asks for rounds.

import init, { ChatRows } from "/chatrows/chatrows.js";
import { mountRows } from "/chatrows/rows.js";
import { createParser } from "/eventsource-parser/index.js";
import { answerWithCall, growth, textEvents } from "./inputs.js";

if (!crossOriginIsolated) throw new Error("the page is not isolated: its clock is too coarse to measure with");

/** 2,000 deltas a second, at 60 frames a second. */
const DELTAS_PER_FRAME = 33;
const DELTA_CHARACTERS = 24;

/** A frame in which nothing is measured lets the browser do what it put off. */
const REST_FRAMES = 3;

const log = document.querySelector("#log");
document.body.style.margin = 0;
Object.assign(log.style, { width: "800px", height: "600px" });

/**
 * A format: `frames` that one text grows, and `texts` in turn that make a round; how a chat of `rows` rows is filled,
 * with what answers for each text with its row's number and what feeds it; and how a page of its own reads the same.
 */
const WIRES = {
  "openai-chat": {
    frames: 30,
    texts: 1,
    arrivals: (frames) => frames.map(textEvents),

    fill(chat, { rows, place, rounds }) {
      // Rows stand in the order in which they were first seen: those that will grow in the middle are begun there.
      const streams = [];
      const begin = () => {
        const stream = chat.stream();
        stream.push(textEvents([" "]));
        return stream;
      };
      const begun = place === "middle" ? rounds : 0;
      const middle = Math.ceil((rows - begun) / 2);
      let made = 0;
      const turn = (most) => {
        chat.addUser("And what about the next one?");
        if (most < 3) return 1;
        const { bytes, callId } = answerWithCall(made);
        const stream = chat.stream();
        stream.push(bytes);
        stream.finish();
        chat.toolResult({ stream, callId }, { output: `${made} lines\nread` });
        return 3;
      };
      while (made < middle) made += turn(middle - made);
      while (streams.length < begun) streams.push(begin());
      while (made < rows - begun) made += turn(rows - begun - made);
      return (text) => {
        const stream = streams[text] ?? begin();
        return { row: begun ? middle + text : rows + text, text: " ", feed: (bytes) => stream.push(bytes), end: () => stream.finish() };
      };
    },

    reader(grow) {
      const decoder = new TextDecoder();
      const parser = createParser({ onEvent: ({ data }) => grow(JSON.parse(data).choices[0].delta.content) });
      return (bytes) => parser.feed(decoder.decode(bytes, { stream: true }));
    },
  },

  say: {
    frames: 10,
    texts: 3,
    arrivals(frames) {
      let whole = "";
      // Each message repeats the whole text; it is counted when it is sent.
      return frames.map((deltas) => deltas.map((delta) => (whole += delta)));
    },

    fill(chat, { rows, place }) {
      const growing = place === "middle" ? rows >> 1 : rows - 1;
      const kinds = [["user_feedback", "And what about the next one?"], ["text", "It is read, and so are those that it names."], ["tool", '{"tool":"readFile","path":"src/lib.rs"}']];
      let seq = 0;
      const post = (ts, say, text, partial) => chat.pushMessage({ type: "messageUpdated", clineMessage: { ts, seq: ++seq, type: "say", say, text, partial } });
      for (let n = 0; n < rows; n++) {
        if (n === growing) post(n + 1, "text", " ", true);
        else post(n + 1, ...kinds[n % 3], false);
      }
      return () => {
        post(growing + 1, "text", " ", true);
        return { row: growing, text: "", feed: (messages) => messages.forEach((text) => post(growing + 1, "text", text, true)), end() {} };
      };
    },

    reader: (_, set) => (messages) => messages.forEach(set),
  },
};

/** Draws rows as a page may do it that knows nothing of what changed. */
function draw(row) {
  const el = document.createElement("div");
  el.className = "cr-row";
  el.dataset.kind = row.kind;
  const body = el.appendChild(document.createElement("div"));
  body.className = "cr-body";
  for (const said of [row.tool && `${row.tool.name} ${row.tool.input}`, row.text, row.tool?.output]) {
    if (!said) continue;
    const part = body.appendChild(document.createElement("div"));
    part.className = "cr-text";
    part.textContent = said;
  }
  return el;
}

/** The package: what arrives goes into the chat, and its renderer puts it on the page. */
function packaged(chat, grow) {
  let listened = 0;
  mountRows(log, {
    locale: chat.locale,
    subscribeBuffer: (listener) => chat.subscribeBuffer((words, text) => {
      const start = performance.now();
      listener(words, text);
      listened += performance.now() - start;
    }),
  });
  chat.flush();
  return (text) => {
    const { row, text: begun, feed, end } = grow(text);
    chat.flush();
    return {
      feed,
      /** Answers with the time that the renderer took. */
      draw() {
        listened = 0;
        chat.flush();
        return listened;
      },
      follow() {}, // the renderer does
      end,
      whole: () => ({ row, begun, text: chat.rows()[row].text, shown: log.querySelectorAll(".cr-row")[row].querySelector(".cr-text").textContent }),
    };
  };
}

/** A page without the package, of which `list` draws everything. */
function naive(chat, grow, wire, list) {
  const rows = chat.rows();
  log.className = "cr-log";
  const box = log.appendChild(document.createElement("div"));
  box.append(...rows.map(draw));
  return (text) => {
    const { row, text: begun } = grow(text);
    if (row === rows.length) box.append(draw(rows[rows.push({ kind: "text" }) - 1]));
    rows[row] = { kind: "text", text: begun || " " };
    box.children[row].replaceWith(draw(rows[row]));
    rows[row].text = begun;
    const said = box.children[row].querySelector(".cr-text");
    return {
      feed: wire.reader((delta) => (rows[row].text += delta), (whole) => (rows[row].text = whole)),
      draw() {
        if (list) box.replaceChildren(...rows.map(draw));
        else said.textContent = rows[row].text;
        return 0;
      },
      follow: () => (log.scrollTop = log.scrollHeight),
      end() {},
      whole: () => ({ row, begun, text: rows[row].text, shown: box.children[row].querySelector(".cr-text").textContent }),
    };
  };
}

const nextFrame = () => new Promise(requestAnimationFrame);

/** Resolves when the browser has drawn the frame of the callback it is called from. */
const drawn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve(performance.now());
  port2.postMessage(null);
});

let wire, arrivals, expected, start, last;

const calls = {
  async build({ side, format, place, rows, rounds }) {
    await init();
    wire = WIRES[format];
    const frames = growth(wire.frames, DELTAS_PER_FRAME, DELTA_CHARACTERS);
    arrivals = wire.arrivals(frames);
    expected = frames.flat().join("");
    const chat = new ChatRows({ format });
    const grow = wire.fill(chat, { rows, place, rounds: rounds * wire.texts });
    chat.flush();
    const { length } = chat.rows();
    if (length !== rows) throw new Error(`${format}: the chat has ${length} rows, not ${rows}`);
    if (chat.stats().records.faulted) throw new Error(`${format}: the chat faulted records`);
    start = side === "chatrows" ? packaged(chat, grow) : naive(chat, grow, wire, side === "list");
    for (let n = 0; n < REST_FRAMES; n++) await nextFrame();
  },

  /** The frames of one round, each `[push, drain, dom, layout, drawn]` in milliseconds. */
  async round(round) {
    const times = [];
    for (let n = 0; n < wire.texts; n++) {
      const text = start(round * wire.texts + n);
      for (let n = 0; n < REST_FRAMES; n++) await nextFrame();
      for (const arrival of arrivals) {
        await nextFrame();
        const begun = performance.now();
        text.feed(arrival);
        const pushed = performance.now();
        const dom = text.draw();
        const applied = performance.now();
        log.scrollHeight;
        const laidOut = performance.now();
        const end = drawn();
        text.follow();
        times.push([pushed - begun, applied - pushed - dom, dom, laidOut - applied, (await end) - begun]);
      }
      text.end();
      last = text;
    }
    return times;
  },

  /** A measurement of something that goes wrong measures nothing. */
  async check() {
    await nextFrame();
    const { begun, text, shown } = last.whole();
    if (text !== begun + expected) throw new Error("the row's text is not what was sent");
    if (shown !== text) throw new Error("the page does not show the row's text");
  },
};

/** What frame.js asks for comes with a port for the answer. */
addEventListener("message", async ({ data: { name, argument }, ports: [port] }) => {
  try {
    port.postMessage({ value: await calls[name](argument) });
  } catch (error) {
    port.postMessage({ error: String(error?.stack ?? error) });
  }
});
parent.postMessage("ready", "*");
