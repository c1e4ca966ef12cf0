// The host of the scene "Tools that wait": it asks the reader, works and makes a checkpoint as the switches beside the
// chat say, and shows where the presenter of the calls stands. Its work is made up: nothing is read, written or run.

const $ = (id) => document.getElementById(id);
const STEP_MS = 350;
const CHECKPOINT_MS = { fast: 300, slow: 4000 };
/** What the scene's tools do not change; with the switch, writing counts as reading too. */
const READS = ["read_file", "ask_followup_question"];
const FLAGS = ["locked", "pending", "rejected", "used", "complete", "over"];
const PAGE = "# This week\n\n- Monday: high water 04:12, 5.1 m\n- Wednesday: high water 05:40, 5.6 m\n";

/** What each tool shows while it works, piece by piece, and what it gives in the end, where that is something else. */
const WORK = {
  read_file: () => ({ steps: PAGE.match(/.*\n/g) }),
  write_to_file: ({ path, content }) => ({
    steps: [`Writing ${path}…\n`],
    output: `Wrote ${content.trim().split("\n").length} lines to ${path}`,
  }),
  execute_command: ({ command }) => ({ steps: [`$ ${command}\n`, "2 of 6 pages\n", "6 of 6 pages, no mistake\n"] }),
  ask_followup_question: () => ({ steps: [], asks: true }),
  attempt_completion: () => ({ steps: [] }),
};

/** Some time, unless nobody waits for it any more. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

export class ToolHost {
  /** Answers to the reader's questions, by row. */
  waiting = new Map();

  /** `speed` is how fast the scene plays; `onchange` hears when the host begins or ceases to wait for the reader. */
  constructor(chat, speed, onchange) {
    Object.assign(this, { chat, speed, onchange });
    chat.subscribe(() => this.show());
  }

  get asking() {
    return this.waiting.size > 0;
  }

  /** Options of a stream, by the switches as they are now. */
  options() {
    const [ask, checkpoint, endless] = [$("ask").value, $("checkpoint").value, $("endless").checked];
    const tool = (call, { signal }) => this.run(call, signal, endless);
    const asks = (call, { signal }) => ask === "all" || !READS.includes(call.name) ? this.ask(call, signal) : true;
    return {
      taggedTools: true,
      onTool: Object.fromEntries(Object.keys(WORK).map((name) => [name, tool])),
      ...(ask !== "none" && { onApproval: asks }),
      ...(checkpoint !== "none" && { checkpoint: ({ signal }) => this.checkpoint(CHECKPOINT_MS[checkpoint], signal) }),
      parallel: $("several").checked,
      mode: $("mode").value,
      readOnly: $("readonly").checked ? [...READS, "write_to_file"] : READS,
    };
  }

  /** Follows a stream from here on, to the end of its turn, which the promise `over` tells. */
  follow(stream) {
    Object.assign(this, { stream, outcome: "under way" });
    const tell = (outcome) => {
      if (this.stream === stream) this.outcome = outcome;
      this.show();
    };
    this.over = stream.ready().then(() => tell("ready"), () => tell("aborted"));
    this.show();
  }

  /** The scene begins anew. */
  clear() {
    this.waiting.clear();
    this.stream = this.outcome = undefined;
    $("host").replaceChildren();
    this.show();
  }

  /** The reader's answer to the call of a row. */
  answer(row, said) {
    const answer = this.waiting.get(row);
    this.waiting.delete(row);
    answer?.(said);
    this.onchange();
  }

  ask({ row, name }, signal) {
    this.note(`ask ${name}`);
    return this.answered(row, signal);
  }

  /** What the reader says to the call of a row. */
  answered(row, signal) {
    signal.addEventListener("abort", () => this.answer(row, false)); // nobody hears that any more
    return new Promise((answer) => {
      this.waiting.set(row, answer);
      this.onchange();
    });
  }

  async run({ row, name, args }, signal, endless) {
    const { stream } = this;
    this.note(`run ${name}`);
    // A scene that begins anew stops what the one before was at.
    signal.addEventListener("abort", () => stream === this.stream && this.note(`stop ${name}`));
    const { steps, output, asks } = WORK[name](args);
    for (const step of steps) {
      await pause(STEP_MS / this.speed(), signal);
      this.chat.toolProgress(row, { append: step });
    }
    if (endless && name === "execute_command") await new Promise(() => {}); // whatever the signal says
    const answer = asks && (await this.answered(row, signal));
    this.note(`end ${name}`);
    return answer || output;
  }

  async checkpoint(ms, signal) {
    this.note("checkpoint");
    await pause(ms / this.speed(), signal);
    this.note("checkpoint made");
  }

  /** What the host did, in the order in which it did. */
  note(what) {
    const item = document.createElement("li");
    item.textContent = what;
    $("host").append(item);
    this.show();
  }

  /** Where the presenter stands. */
  show() {
    const turn = this.stream?.turn();
    const said = {
      block: turn && `${Math.min(turn.index + 1, turn.blocks)} of ${turn.blocks}`,
      "waits for": turn && (turn.waitsFor ?? "nothing"),
      turn: this.outcome,
    };
    for (const flag of FLAGS) said[flag] = turn && (turn[flag] ? "yes" : "no");
    for (const [name, value = "–"] of Object.entries(said)) {
      const { [name]: el = this.cell(name) } = this.cells;
      el.textContent = value;
      el.toggleAttribute("data-yes", value === "yes");
    }
  }

  cells = {};

  cell(name) {
    const box = document.createElement("div"), term = document.createElement("dt");
    this.cells[name] = document.createElement("dd");
    this.cells[name].dataset.turn = name;
    term.textContent = name;
    box.append(term, this.cells[name]);
    $("turn").append(box);
    return this.cells[name];
  }
}
