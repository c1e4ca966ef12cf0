// The live scene: a task on the demo's own server, over a WebSocket. Nothing is recorded here: what the reader answers and
// says goes to the server, and the line can be cut.

const $ = (id) => document.getElementById(id);
const TASKS = "task-stream/tasks";
const ASK = "The invoice test fails. Find out why, and fix it.";

export class LiveTask {
  /** `onchange` hears when the task begins, ends, or waits for the reader; `onevent` each event of it. */
  constructor(chat, TaskStreamClient, speed, onchange, onevent) {
    Object.assign(this, { chat, TaskStreamClient, speed, onchange, onevent });
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      const words = $("words").value.trim();
      if ($("live").hidden || !words) return;
      $("words").value = "";
      this.say(words);
    });
    $("cut").addEventListener("click", () => $("cut").ariaDisabled === "true" || this.cut());
    $("cancel").addEventListener("click", () => $("cancel").ariaDisabled === "true" || this.cancel());
    $("approving").addEventListener("change", () => this.client?.autoApprove($("approving").checked));
    this.show();
  }

  get running() {
    return !!this.client;
  }

  get stream() {
    return this.client?.stream ?? this.last;
  }

  /** Begins a task of its own, as fast as the page plays. */
  async begin() {
    if (this.client) return;
    this.task = `demo-${Math.random().toString(36).slice(2)}`;
    const speed = this.speed();
    await fetch(TASKS, { method: "POST", body: JSON.stringify({ id: this.task, pace: speed === Infinity ? 0 : 1 / speed }) });
    this.say(ASK);
  }

  /** The reader says something: to the turn that goes on, or as the next one. */
  say(words) {
    if (!this.task) return this.begin();
    if (this.client) {
      this.chat.addUser(words);
      this.client.send(words);
      return this.show();
    }
    this.chat.addUser(words);
    const client = (this.client = new this.TaskStreamClient(this.chat, {
      url: location.origin,
      task: this.task,
      mode: "new",
      input: words,
      autoApprove: $("approving").checked,
      onEvent: this.onevent,
    }));
    client.connect().then(({ reason }) => {
      if (this.client !== client) return; // the scene has begun anew
      this.last = client.stream;
      this.client = undefined;
      this.show();
      this.onchange(reason);
    });
    this.show();
    this.onchange();
  }

  /** What the server does to a connection now and then. */
  cut() {
    fetch(`${TASKS}/${this.task}/drop`, { method: "POST" });
  }

  cancel() {
    this.client?.cancel();
  }

  /** The reader's answer to the question of a row. */
  answer(row, said) {
    return this.client?.answer(row, said) ?? false;
  }

  /** The scene begins anew, or another one does. */
  clear() {
    const { client } = this;
    this.client = this.task = this.last = undefined;
    client?.close();
    this.show();
  }

  show() {
    for (const id of ["cut", "cancel"]) $(id).ariaDisabled = String(!this.client);
    $("words").placeholder = this.client ? "Say something while it works" : this.task ? "Say what comes next" : ASK;
  }
}
