// The parts of the page that need no page: reading op buffers, applying ops, and the recordings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, pieces } from "./recordings.js";
import { readdirSync } from "node:fs";
import { answerOf, answersOf, applyOps, diffLines, optionValue, patchLines, readOps } from "./rows.js";

const ABSENT = 0xffffffff;
const text = (id, text) => ({ id, kind: "text", state: "streaming", busy: false, text });
const call = (id, fields) => ({ id, kind: "tool", state: "preparing", busy: true, tool: { name: "f", input: "", inputDone: false, fields } });
const insert = (row, before = null) => ({ op: "insert", id: row.id, before, row });

/** The rows after `ops`, from nothing. */
const rowsAfter = (...ops) => applyOps([], {}, ops).rows;

test("rows stand where they were inserted", () => {
  const rows = rowsAfter(insert(text(1, "a")), insert(text(2, "b")), insert(text(3, "c"), 2));
  assert.deepEqual(rows.map((row) => row.id), [1, 3, 2]);
});

test("an append adds to the field it names", () => {
  const [row] = rowsAfter(
    insert(call(1, [{ path: ["a"], text: "x", closed: false }])),
    { op: "append", id: 1, field: "text", text: "t" },
    { op: "append", id: 1, field: "tool.input", text: "{" },
    { op: "append", id: 1, field: "tool.output", text: "o" },
    { op: "append", id: 1, field: "tool.fields[0].text", text: "y" },
  );
  assert.equal(row.text, "t");
  assert.deepEqual(row.tool, { name: "f", input: "{", inputDone: false, output: "o", fields: [{ path: ["a"], text: "xy", closed: false }] });
});

test("an append keeps as many UTF-16 units as it says", () => {
  assert.equal(rowsAfter(insert(text(1, "a😊bcd")), { op: "append", id: 1, field: "text", keep: 4, text: "!" })[0].text, "a😊b!");
  assert.equal(rowsAfter(insert(text(1, "abc")), { op: "append", id: 1, field: "text", keep: 0, text: "x" })[0].text, "x");
});

test("an update leaves what is absent and clears what is null", () => {
  const [row] = rowsAfter(insert({ ...text(1, "a"), quietSince: 5, truncated: true }), { op: "update", id: 1, patch: { state: "done", quietSince: null } });
  assert.deepEqual(row, { ...text(1, "a"), state: "done", truncated: true });
});

test("an update merges the tool one level deep, and its fields by index", () => {
  const [row] = rowsAfter(
    insert(call(1)),
    { op: "update", id: 1, patch: { tool: { fields: { 0: { path: ["a"], text: "", closed: false } } } } },
    { op: "update", id: 1, patch: { tool: { output: "o", fields: { 0: { closed: true }, 1: { path: ["b"], text: "2", closed: false } } } } },
    { op: "update", id: 1, patch: { tool: { output: null, isError: false } } },
  );
  assert.deepEqual(row.tool, {
    name: "f", input: "", inputDone: false, isError: false,
    fields: [{ path: ["a"], text: "", closed: true }, { path: ["b"], text: "2", closed: false }],
  });
});

test("an update with no fields left clears them", () => {
  const [row] = rowsAfter(insert(call(1, [{ path: ["a"], text: "", closed: true }])), { op: "update", id: 1, patch: { tool: { fields: null } } });
  assert.deepEqual(row.tool, { name: "f", input: "", inputDone: false });
});

test("panels are merged and cleared by name", () => {
  const { panels } = applyOps([], { usage: { inputTokens: 1, outputTokens: 2 } }, [
    { op: "panel", name: "usage", patch: { inputTokens: 3, outputTokens: null } },
    { op: "panel", name: "activity", patch: { state: "idle" } },
    { op: "panel", name: "plan", patch: { entries: [] } },
    { op: "panel", name: "plan", patch: { entries: null } },
  ]);
  assert.deepEqual(panels, { usage: { inputTokens: 3 }, activity: { state: "idle" } });
});

test("a reset leaves nothing, a remove leaves the others", () => {
  assert.deepEqual(applyOps([text(1, "")], { usage: {} }, [{ op: "reset" }]), { rows: [], panels: {} });
  assert.deepEqual(rowsAfter(insert(text(1, "a")), insert(text(2, "b")), { op: "remove", id: 1 }), [text(2, "b")]);
});

test("a key such as __proto__ is only data", () => {
  const patch = JSON.parse('{"__proto__":{"admin":true}}');
  const { panels } = applyOps([], {}, [{ op: "panel", name: "state", patch }]);
  assert.equal(panels.state.admin, undefined);
  assert.deepEqual(Object.keys(panels.state), ["__proto__"]);
});

test("what went in stays as it was, and untouched rows stay the same objects", () => {
  const before = rowsAfter(insert(text(1, "a")), insert(call(2, [{ path: ["a"], text: "x", closed: false }])));
  const copy = structuredClone(before);
  const ops = [
    { op: "append", id: 2, field: "tool.fields[0].text", text: "y" },
    { op: "update", id: 2, patch: { tool: { fields: { 0: { closed: true } } } } },
  ];
  const once = applyOps(before, {}, ops), twice = applyOps(before, {}, ops);
  assert.deepEqual(before, copy);
  assert.deepEqual(once, twice);
  assert.equal(once.rows[0], before[0]);
  assert.notEqual(once.rows[1], before[1]);
});

test("ops for a row that is not there change nothing", () => {
  assert.deepEqual(rowsAfter({ op: "append", id: 9, field: "text", text: "x" }, { op: "update", id: 9, patch: {} }, { op: "remove", id: 9 }), []);
});

test("an op buffer is read as words and one string", () => {
  const said = [];
  const sink = Object.fromEntries(["reset", "insert", "append", "update", "remove", "panel"].map((name) => [name, (...args) => said.push([name, ...args])]));
  const row = JSON.stringify(text(7, "😊")), patch = '{"state":"done"}', panel = '{"state":"idle"}';
  readOps(
    new Uint32Array([0, 1, 7, 0, row.length, 2, 7, 4, ABSENT, 2, 2, 7, 0, 1, 3, 3, 7, patch.length, 4, 7, 5, 8, panel.length]),
    `${row}ab😊c${patch}${panel}`,
    sink,
  );
  assert.deepEqual(said, [
    ["reset"],
    ["insert", 7, 0, text(7, "😊")],
    ["append", 7, 4, undefined, "ab"],
    ["append", 7, 0, 1, "😊c"],
    ["update", 7, { state: "done" }],
    ["remove", 7],
    ["panel", "state", { state: "idle" }],
  ]);
});

test("a word that is no op is an error, not a guess", () => {
  assert.throws(() => readOps(new Uint32Array([6]), "", {}), RangeError);
});

test("what a sink has no method for is passed over, unread", () => {
  const said = [];
  readOps(new Uint32Array([1, 7, 0, 4, 3, 7, 1, 4, 7, 5, 8, 2]), "oops?{}", { panel: (...args) => said.push(args) });
  assert.deepEqual(said, [["state", {}]]);
});

/** Lines as one would write them down: sign and text. */
const written = (lines) => lines.map(([sign, line]) => `${sign}${line}`);

test("a diff shows what was removed and added, and three lines around it", () => {
  assert.deepEqual(written(diffLines("a\nb\nc\n", "a\nB\nc\n")), [" a", "-b", "+B", " c"]);
  assert.deepEqual(written(diffLines(undefined, "new\nfile\n")), ["+new", "+file"]);
  assert.deepEqual(written(diffLines("gone", "")), ["-gone"]);
  assert.deepEqual(written(diffLines("far\na\nb\nc\n", "far\na\nb\nc\nd\n")), [" far", " a", " b", " c", "+d"]);
  const lines = [..."abcdefghijklmnopqrst"];
  const changed = lines.with(9, "J");
  assert.deepEqual(written(diffLines(lines.join("\n"), changed.join("\n"))), ["…6", " g", " h", " i", "-j", "+J", " k", " l", " m", "…7"]);
});

test("a diff of equal texts is empty", () => {
  assert.deepEqual(diffLines("a\nb", "a\nb\n"), []);
  assert.deepEqual(diffLines(), []);
});

test("a diff keeps the lines that both texts have, and builds both of them", () => {
  const words = (seed) => Array.from({ length: 40 }, (_, i) => "abc"[(i * i * seed + seed) % 3]);
  for (let seed = 1; seed < 30; seed++) {
    const old = words(seed).join("\n"), now = words(seed + 7).join("\n");
    const lines = diffLines(old, now), far = lines.filter(([sign]) => sign === "…").length;
    const side = (other) => lines.filter(([sign]) => sign !== other && sign !== "…").map(([, line]) => line).join("\n");
    if (far || !lines.length) continue;
    assert.equal(side("+"), old);
    assert.equal(side("-"), now);
  }
});

test("texts too long to compare line by line give way as a whole, between what is the same", () => {
  const old = Array.from({ length: 2000 }, (_, i) => `old ${i}`), now = Array.from({ length: 2000 }, (_, i) => `new ${i}`);
  const lines = diffLines(["same", ...old].join("\n"), ["same", ...now].join("\n"));
  assert.deepEqual(written([lines[0], lines[1], lines[2000], lines[2001]]), [" same", "-old 0", "-old 1999", "+new 0"]);
});

test("a unified patch is read by its prefixes", () => {
  const patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- not a name\n-old\n+new\n\\ No newline at end of file\n";
  assert.deepEqual(written(patchLines(patch)), ["@--- a/x", "@+++ b/x", "@@@ -1,3 +1,3 @@", " same", "--- not a name", "-old", "+new", "@\\ No newline at end of file"]);
});

test("blocks of search and replace are read by their marks", () => {
  const block = "<<<<<<< SEARCH\n:start_line:7\n-------\n- old\n=======\n+ new\n>>>>>>> REPLACE\nafter";
  assert.deepEqual(written(patchLines(block)), ["@<<<<<<< SEARCH", "@:start_line:7", "@-------", "-- old", "@=======", "++ new", "@>>>>>>> REPLACE", " after"]);
  assert.deepEqual(written(patchLines("------- SEARCH\n=======\nx\n+++++++ REPLACE")), ["@------- SEARCH", "@=======", "+x", "@+++++++ REPLACE"]);
  assert.deepEqual(written(patchLines("<<<<<<< SEARCH\nstill com")), ["@<<<<<<< SEARCH", "-still com"]);
});

const color = { text: "Color?", options: [{ label: "Red" }, { id: "b", label: "Blue" }] };

test("an answer is what was chosen, else one's own words; nothing is none", () => {
  assert.equal(answerOf(color, { chosen: [true, false], words: "" }), "Red");
  assert.equal(answerOf(color, { chosen: [false, true], words: " " }), "b");
  assert.equal(answerOf(color, { chosen: [true, false], words: " green " }), "green");
  assert.equal(answerOf(color, { chosen: [false, false], words: " " }), undefined);
  assert.equal(answerOf({}, { chosen: [], words: "x" }), "x");
  const several = { ...color, multiple: true };
  assert.deepEqual(answerOf(several, { chosen: [true, true], words: "green" }), ["Red", "b", "green"]);
  assert.equal(answerOf(several, { chosen: [false, false], words: "" }), undefined);
});

test("the parts of a question are answered by their words, and those without an answer are left out", () => {
  const none = { chosen: [], words: "" }, parts = [color, { text: "Name?" }, { text: "__proto__", multiple: true, options: [{ label: "x" }] }];
  const answers = answersOf(parts, [{ chosen: [false, true], words: "" }, none, { chosen: [true], words: "" }]);
  assert.deepEqual(Object.entries(answers), [["Color?", "b"], ["__proto__", ["x"]]]);
  assert.deepEqual(answersOf(parts, [none, none, none]), {});
});

test("an option of an agent's shows the name of its value, in a group too", () => {
  assert.equal(optionValue({ currentValue: "a", options: [{ value: "a", name: "A" }] }), "A");
  assert.equal(optionValue({ currentValue: "b", options: [{ group: "g", options: [{ value: "b", name: "B" }] }] }), "B");
  assert.equal(optionValue({ currentValue: "c", options: [] }), "c");
  assert.equal(optionValue({ currentValue: true }), true);
});

test("all languages say the same things, and leave the same gaps", async () => {
  const files = readdirSync(new URL("locales/", import.meta.url)).filter((name) => name.endsWith(".js"));
  assert.deepEqual(files, ["en.js", "fr.js", "zh.js"]);
  const gaps = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  const { default: english } = await import("./locales/en.js");
  for (const file of files) {
    const { default: catalogue } = await import(`./locales/${file}`);
    assert.deepEqual(Object.keys(catalogue), Object.keys(english), file);
    for (const key in english) {
      assert.deepEqual(gaps(catalogue[key]), gaps(english[key]), `${file} ${key}`);
      assert.ok(catalogue[key].trim(), `${file} ${key}`);
    }
  }
});

const joined = (cut) => Buffer.concat(cut.map(([, bytes]) => bytes));

test("a recording is the same each time, and its times never fall", () => {
  for (const recording of recordings) {
    const cut = recording.pieces(), written = (cut) => JSON.stringify(cut, (_, value) => (value instanceof Uint8Array ? [...value] : value));
    assert.equal(written(cut), written(recording.pieces()));
    assert.ok(cut.every(([at], i) => i === 0 || at >= cut[i - 1][0]), recording.id);
  }
});

test("cutting leaves every byte", () => {
  const script = [[0, "data: é\n\n"], [20, "data: 😊\n\n"], [1, "x"], [30, ""]];
  assert.equal(joined(pieces(script, 3)).toString(), "data: é\n\ndata: 😊\n\nx");
});

test("the network cuts inside events, escapes and characters", () => {
  const cut = recordings.find(({ id }) => id === "long-call").pieces();
  const ends = cut.slice(0, -1).map(([, bytes]) => bytes.at(-1));
  const starts = cut.slice(1).map(([, bytes]) => bytes[0]);
  assert.ok(ends.some((byte) => byte !== 0x0a), "inside an event");
  assert.ok(ends.some((byte) => byte === 0x5c), "inside an escape");
  assert.ok(starts.some((byte) => (byte & 0xc0) === 0x80), "inside a character");
});

test("the long call carries 200 KB of arguments that parse", () => {
  const cut = recordings.find(({ id }) => id === "long-call").pieces();
  const events = joined(cut).toString().split("\n\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  const input = events.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []).map((part) => part.function.arguments).join("");
  assert.ok(Math.abs(Buffer.byteLength(input) - 200 * 1024) < 100);
  assert.equal(JSON.parse(input).path, "notes/tides.md");
  assert.ok(cut.at(-1)[0] > 10000 && cut.at(-1)[0] < 14000);
});
