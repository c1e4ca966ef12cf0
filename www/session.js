// The session scene: a session file of an agent as a tree to walk. The rows are those of the branch that is chosen; what
// the reader says begins a branch of its own.

const $ = (id) => document.getElementById(id);
const WORDS = 60; // characters of an entry that the tree shows
const line = (value) => JSON.stringify(value) + "\n";

/** Whether a file is one: its first line names itself a session. */
export function isSession(text) {
  try {
    return JSON.parse(text.slice(0, text.indexOf("\n") + 1 || undefined)).type === "session";
  } catch {
    return false;
  }
}

/** A session written for the demo, with a branch that was given up. */
export function demoSession() {
  let at = 0;
  const entry = (id, parentId, type, members) =>
    line({ type, id, parentId, timestamp: `2026-11-30T09:0${(at / 60) | 0}:${String((at += 7) % 60).padStart(2, "0")}.000Z`, ...members });
  const says = (id, parentId, role, content, more) =>
    entry(id, parentId, "message", { message: { role, content: typeof content === "string" ? [{ type: "text", text: content }] : content, ...more } });
  const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
  return [
    line({ type: "session", version: 3, id: "demo", timestamp: "2026-11-30T09:00:00.000Z", cwd: "/notes" }),
    entry("00000001", null, "session_info", { name: "The week’s tides" }),
    says("00000002", "00000001", "user", "Which days of this week have a spring tide?"),
    says("00000003", "00000002", "assistant", [{ type: "text", text: "I look at the table." }, call("call_1", "read", { path: "notes/tides.md" })], { stopReason: "toolUse" }),
    says("00000004", "00000003", "toolResult", "Friday: high water 07:02, 6.3 m (spring)\nSaturday: high water 07:48, 6.2 m (spring)", { toolCallId: "call_1", toolName: "read", isError: false }),
    says("00000005", "00000004", "assistant", "Friday and Saturday.", { stopReason: "stop" }),
    entry("00000006", "00000005", "label", { targetId: "00000005", label: "the answer" }),
    says("00000007", "00000005", "user", "Write a long page about each of them."),
    says("00000008", "00000007", "assistant", "Friday begins with the moon behind the breakwater, and", { stopReason: "aborted", errorMessage: "Request was aborted" }),
    entry("00000009", "00000005", "branch_summary", { fromId: "00000008", summary: "A long page was begun and given up." }),
    says("0000000a", "00000009", "user", "One line for each is enough."),
    says("0000000b", "0000000a", "assistant", "- Friday: high water 07:02, 6.3 m\n- Saturday: high water 07:48, 6.2 m", { stopReason: "stop" }),
    says("0000000c", "0000000b", "bashExecution", "", { command: "wc -l notes/week.md", output: "2 notes/week.md\n", exitCode: 0 }),
  ].join("");
}

export class SessionTree {
  /** `onchange` hears of each entry that is shown. */
  constructor(chat, AgentSession, onchange) {
    Object.assign(this, { chat, AgentSession, onchange });
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      const words = $("words").value.trim();
      if (!this.session || !words) return;
      $("words").value = "";
      this.say(words);
    });
    $("entries").addEventListener("click", (event) => {
      const id = event.target.closest("button")?.dataset.entry;
      if (id) this.go(id);
    });
  }

  /** Shows the branch of a file's leaf. Throws where it is no session. */
  begin(text) {
    this.session = this.AgentSession.import(text);
    this.stream = this.chat.stream({ format: "agent-events" });
    this.at = null;
    this.stream.push(line({ type: "session", ...this.session.header() }));
    this.go(this.session.leaf() ?? null);
  }

  /** The rows become those of the branch of this entry. */
  go(id) {
    const walk = this.session.walk(this.at, id);
    this.session.setLeaf(id);
    this.at = id;
    if (walk) this.stream.push(walk);
    this.draw();
    this.onchange(walk);
  }

  /** What the reader says follows the entry that is chosen. */
  say(words) {
    const id = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const message = { role: "user", content: [{ type: "text", text: words }], timestamp: Date.now() };
    this.session.append({ type: "message", id, parentId: this.at, timestamp: new Date().toISOString(), message });
    this.go(id);
  }

  clear() {
    this.session?.free();
    this.session = this.stream = undefined;
    $("entries").replaceChildren();
  }

  draw() {
    const { session } = this, labels = session.labels();
    const shown = new Set(session.branch()), depth = new Map(), children = new Map();
    const entries = session.entries();
    for (const { parentId } of entries) children.set(parentId, (children.get(parentId) ?? 0) + 1);
    const items = entries.map((entry) => {
      const under = depth.get(entry.parentId) ?? 0;
      depth.set(entry.id, under + (children.get(entry.parentId) > 1 ? 1 : 0));
      const said = words(entry);
      if (!said) return;
      const item = document.createElement("li"), button = document.createElement("button"), text = document.createElement("bdi");
      button.type = "button";
      button.dataset.entry = entry.id;
      if (shown.has(entry.id)) button.dataset.shown = "";
      if (entry.id === this.at) button.ariaCurrent = "true";
      item.style.setProperty("--depth", depth.get(entry.id));
      text.textContent = said;
      button.append(text);
      if (labels[entry.id]) {
        const label = document.createElement("span");
        label.textContent = labels[entry.id];
        button.append(label);
      }
      item.append(button);
      return item;
    });
    $("entries").replaceChildren(...items.filter(Boolean));
  }
}

/** What the tree shows of an entry; nothing of one that says nothing. */
function words({ type, message, content, summary, display }) {
  const text = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? (part.name ? `${part.name}(…)` : "")).filter(Boolean).join(" · "));
  const cut = (who, said) => `${who}: ${said.length > WORDS ? `${said.slice(0, WORDS)}…` : said}`;
  if (type === "compaction") return cut("Condensed", summary ?? "");
  if (type === "branch_summary") return cut("Summary", summary ?? "");
  if (type === "custom_message") return display ? cut("Note", text(content)) : undefined;
  if (type !== "message") return;
  if (message.role === "bashExecution") return cut("Shell", message.command ?? "");
  const who = { user: "You", assistant: "Agent", toolResult: "Result" }[message.role];
  return who && cut(who, text(message.content) || (message.stopReason ?? ""));
}
