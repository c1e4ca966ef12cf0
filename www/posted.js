// Scenes for the demo as a coding agent's extension posts them to its webview: say/ask messages, each told again
// as it grows. A scene is a list of `[pause_ms, message]`; where a third entry stands, the agent waits for the
// reader, and what it answers decides how the scene goes on.

/** Text as it grows: a few words more each time. */
const growing = (text, words = 2) =>
  (text.match(new RegExp(`(?:\\s*\\S+){1,${words}}`, "gu")) ?? []).map((_, i, parts) => parts.slice(0, i + 1).join(""));

/**
 * What an extension does with its messages: `ts` comes from a counter, and every word about a message has a higher
 * `seq`, so that a message that is told again, or late, is known for what it is.
 */
class Conversation {
  constructor() {
    Object.assign(this, { ts: 1750000000000, seq: 0, script: [] });
  }

  /** Posts a message or what is new of one; answers with it. */
  post(pause, message, waits) {
    message.ts ??= ++this.ts;
    const clineMessage = { ...message, seq: ++this.seq, epoch: 1 };
    this.script.push([pause, { type: "messageUpdated", clineMessage }, ...(waits ? [waits] : [])]);
    return message;
  }

  say(pause, say, text, more) {
    return this.post(pause, { type: "say", say, text, ...more });
  }

  ask(pause, ask, text, waits) {
    return this.post(pause, { type: "ask", ask, text }, waits);
  }

  /** A message that is written while one watches. */
  write(kind, texts, pause, type = "say") {
    const message = { type, [type]: kind };
    for (const text of texts) this.post(pause, Object.assign(message, { text, partial: true }));
    return this.post(pause, Object.assign(message, { partial: false }));
  }

  /** A request to the model: `act` is what comes of it. */
  request(pause, cost, act) {
    const message = this.say(pause, "api_req_started", JSON.stringify({ request: "…", apiProtocol: "openai" }));
    act();
    this.post(60, Object.assign(message, { text: JSON.stringify({ request: "…", ...cost }) }));
  }

  tool(pause, tool) {
    return this.say(pause, "tool", JSON.stringify(tool));
  }

  plan(...done) {
    const steps = ["Read the tide printer", "Add the --metric flag", "Run the tests"];
    this.say(20, "task_progress", steps.map((step, i) => `- [${done[i] ?? " "}] ${step}`).join("\n"));
  }

  /** The user's words, as the wire repeats them. */
  hear(text) {
    this.say(80, "user_feedback", text);
  }

  complete(text) {
    this.write("completion_result", growing(text), 45);
    this.ask(40, "completion_result", "");
  }

  /** What was posted since the last call. */
  take() {
    return this.script.splice(0);
  }
}

const FILE = `// Heights in the unit the reader asked for.
const FEET = 0.3048;

/** "1.9 m" or "6.2 ft". */
export function height(metres, { metric = false } = {}) {
  if (!Number.isFinite(metres)) return "–";
  return metric ? \`\${metres.toFixed(1)} m\` : \`\${(metres / FEET).toFixed(1)} ft\`;
}

export function table(tides, options) {
  const rows = tides.map(({ place, at, metres }) => [place, at, height(metres, options)]);
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i].length)));
  return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i])).join("  ")).join("\\n");
}
`;

/** The output of a test run, as the terminal has it: a line of progress that rewrites itself. */
function testRun() {
  const tests = 12, told = ["$ node --test\n"];
  let output = told[0];
  for (let n = 1; n <= tests; n++) {
    output += `\r${"#".repeat(n)}${".".repeat(tests - n)} ${n} of ${tests}`;
    told.push(output);
  }
  return [...told, `${output}\n\n✔ height in feet (0.8 ms)\n✔ height in metres (0.2 ms)\n✔ 10 more\n\n12 passed in 1.3 s\n`];
}

function task(ask) {
  const c = new Conversation();
  c.say(60, "task", ask);
  c.say(20, "checkpoint_saved", "4f1c09e");
  c.request(120, { tokensIn: 3120, tokensOut: 264, cacheReads: 2048, cost: 0.0131 }, () => {
    c.plan();
    c.write("reasoning", growing("The printer formats heights in feet. I need to see where the unit is chosen, and which tests pin the output, before I change it."), 55);
    c.write("text", growing("I will read the printer and its tests first."), 50);
    c.tool(240, { tool: "readFile", path: "src/print.js", content: "src/print.js", isOutsideWorkspace: false });
    c.tool(200, { tool: "readFile", path: "src/tides.js", content: "src/tides.js", isOutsideWorkspace: false });
    c.tool(200, { tool: "searchFiles", path: "test", regex: "toFixed|ft\\b", filePattern: "*.js", content: "Found 3 results." });
  });
  c.request(220, { tokensIn: 4410, tokensOut: 618, cacheReads: 3968, cost: 0.0187 }, () => {
    c.plan("x", "-");
    c.write("text", growing("The unit is fixed in one place, so a flag is a small change."), 50);
    const marks = [0, 58, 204, 391, 596, 745].map((byteCount) => JSON.stringify({ toolName: "write_to_file", byteCount }));
    c.write("tool_preparing", marks, 170);
    c.write("tool", growing(FILE, 6).map((content) => JSON.stringify({ tool: "newFileCreated", path: "src/print.js", content })), 70);
    c.plan("x", "x", "-");
    c.write("text", growing("Now the tests."), 50);
  });
  const command = c.ask(120, "command", "node --test", { approve, reject });

  function approve() {
    c.post(40, Object.assign(command, { isAnswered: true }));
    c.write("command_output", testRun(), 170);
    c.post(120, Object.assign(command, { commandCompleted: true }));
    c.plan("x", "x", "x");
    busyServer(c, 2);
    c.request(80, { tokensIn: 5230, tokensOut: 96, cacheReads: 4864, cost: 0.0102 }, () => {
      c.write("text", growing("All 12 tests pass. One thing is yours to decide:"), 50);
    });
    const options = ["Keep feet", "Metres everywhere", "Ask the locale"];
    const body = (selected) => JSON.stringify({ question: "Which unit should stand when no flag is given?", options, selected });
    const question = c.ask(80, "followup", body(), { answer });

    function answer(words) {
      c.post(40, Object.assign(question, { text: body(words) }));
      c.hear(words);
      c.request(160, { tokensIn: 5410, tokensOut: 74, cacheReads: 5120, cost: 0.0094 }, () => {
        c.complete(`The tide printer knows --metric now, and the tests pass. Without the flag: ${words}.`);
      });
      return c.take();
    }
    return c.take();
  }

  function reject() {
    c.post(40, Object.assign(command, { isAnswered: true }));
    c.say(60, "command_permission_denied", "node --test");
    c.request(200, { tokensIn: 4620, tokensOut: 58, cacheReads: 4352, cost: 0.0081 }, () => {
      c.complete("The tide printer knows --metric now. The tests have not been run.");
    });
    return c.take();
  }

  return c.take();
}

/** A server that has no time: attempts, and a countdown to the next. */
function busyServer(c, attempts) {
  for (let attempt = 1; attempt < attempts; attempt++) {
    const errorMessage = "503 The model is overloaded.";
    c.say(260, "error_retry", JSON.stringify({ attempt, maxAttempts: 3, delaySeconds: 3, errorMessage }));
    const wait = [3, 2, 1].map((seconds) => JSON.stringify({ seconds }));
    c.write("api_req_rate_limit_wait", wait, 800);
  }
}

function outage(ask) {
  const c = new Conversation();
  c.say(60, "task", ask);
  const request = c.say(120, "api_req_started", JSON.stringify({ request: "…" }));
  busyServer(c, 4);
  c.post(80, Object.assign(request, { text: JSON.stringify({ request: "…", cost: 0 }) }));
  c.ask(120, "api_req_failed", "503 The model is overloaded. Three attempts were made.", { retry });

  function retry() {
    c.say(60, "api_req_retried", "");
    c.request(60, { tokensIn: 812, tokensOut: 88, cost: 0.0024 }, () => {
      c.write("reasoning", growing("The log names one file over and over."), 55);
      c.tool(260, { tool: "readFile", path: "src/gauge.js", content: "src/gauge.js" });
      c.complete("The gauge was read before it was open: src/gauge.js waits for it now.");
    });
    return c.take();
  }
  return c.take();
}

export const posted = [
  { id: "task", title: "A coding task", ask: "Add a --metric flag to the tide printer, and run the tests.", script: task },
  { id: "outage", title: "A server that is busy", ask: "Why does the gauge fail at night?", script: outage },
];
