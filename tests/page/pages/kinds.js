// Every kind of row, and every state that looks like no other.

const PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAFAAAAAoCAIAAADmAupWAAAAT0lEQVR42u3YQQkAQAwDwQo7YdFUlXVRODqwBuYXUi99qgIGBgYGBgYGXgMnfSpgYGBgYGBg4D2wLQ0MDAwMDAwM7NOypYGBgYGBgYE/awDEZI8P6w6z0wAAAABJRU5ErkJggg==";
const numbered = (count, words) => Array.from({ length: count }, (_, i) => `${words} ${i + 1}`).join("\n");
const before = `${numbered(12, "line")}\nlast\n`;
const tool = (name, more) => ({ name, input: "", inputDone: true, ...more });

const ROWS = [
  { kind: "user", text: "Please tidy the notes, and show me the tide table.", images: [{ url: PICTURE }], files: [{ name: "notes.md", mediaType: "text/markdown" }, { url: "https://example.org/tides.csv", name: "tides.csv" }] },
  { kind: "reasoning", text: "The notes come first.\nThe table is easy." },
  { kind: "reasoning", state: "streaming", text: "Now where is that table" },
  { kind: "text", text: "I will start with the notes.", sources: [{ url: "https://example.org/tides", title: "Tides, explained" }] },
  { kind: "text", text: "שלום, זה טקסט מימין לשמאל (with some English) והוא ממשיך." },
  { kind: "tool-preparing", state: "preparing", busy: true, tool: tool("write_to_file", { inputDone: false }), bytes: { count: 1434, label: "1.4 KB" } },
  { kind: "tool", state: "preparing", busy: true, bytes: { count: 31, label: "31 B" }, tool: tool("write_file", { inputDone: false, input: '{"path":"a.txt","content":"Onc', fields: [{ path: ["path"], text: "a.txt", closed: true }, { path: ["content"], text: "Onc", closed: false }] }) },
  { kind: "tool", state: "pending", tool: tool("read_file", { input: '{"path":"a.txt"}', fields: [{ path: ["path"], text: "a.txt", closed: true }] }) },
  { kind: "tool", state: "pending", permission: { options: [{ id: "a", kind: "allow_once" }, { id: "b", kind: "allow_always", label: "Always allow edits in notes/" }, { id: "c", kind: "reject_once" }] },
    tool: tool("apply_diff", { title: "notes/tides.md", kind: "edit", locations: [{ path: "notes/tides.md", line: 13 }, { path: "notes/index.md" }], content: [{ type: "diff", path: "notes/tides.md", oldText: before, newText: before.replace("line 9\n", "line nine\nline nine and a half\n").replace("line 12\n", "") }] }) },
  { kind: "tool", state: "running", busy: true, tool: tool("execute_command", { title: "make test", kind: "execute", output: numbered(60, "test") }) },
  { kind: "tool", state: "running", busy: true, tool: tool("patch", { content: [{ type: "patch", path: "src/main.c", text: "@@ -1,3 +1,3 @@\n int main(void) {\n-  return 1;\n+  return 0;\n }\n" }, { type: "patch", text: "<<<<<<< SEARCH\n:start_line:1\n-------\nold words\n=======\nnew words\n>>>>>>> REPLACE\n" }, { type: "text", text: "Two places changed." }] }) },
  { kind: "tool", tool: tool("search", { output: "3 matches" }) },
  { kind: "tool", state: "failed", error: { message: "Unexpected end", code: "arguments-malformed" }, tool: tool("write_file", { input: '{"path":', inputDone: false }) },
  { kind: "tool", state: "cancelled", tool: tool("fetch", {}) },
  { kind: "tool", state: "interrupted", truncated: true, tool: tool("fetch", {}) },
  { kind: "question", state: "pending", text: "Which table do you mean?", question: { options: [{ id: "north", label: "The northern coast", description: "Three harbours" }, { id: "south", label: "The southern coast" }], custom: true } },
  { kind: "question", state: "pending", text: "Which harbours?", question: { options: [{ label: "Dover" }, { label: "Calais" }], multiple: true } },
  { kind: "question", text: "Metres or feet?", question: { options: [{ id: "m", label: "Metres" }], answer: "m" } },
  { kind: "question", state: "expired", text: "Shall I wait?", question: { options: [{ label: "Yes" }] } },
  { kind: "permission", state: "pending", text: "May I read the folder /srv/tides?", permission: { options: [{ id: "yes", kind: "allow_once" }, { id: "no", kind: "reject_once" }] } },
  { kind: "permission", text: "May I list the folder?", permission: { options: [{ id: "yes", kind: "allow_once" }], chosen: "yes" } },
  { kind: "notice", message: { key: "say.checkpoint" } },
  { kind: "notice", message: { key: "say.hook", params: { name: "format" } }, text: "ran in 40 ms" },
  { kind: "error", error: { message: "The server is busy", code: "overloaded", retryable: true } },
  { kind: "retry", state: "running", busy: true, message: { key: "say.retry", params: { attempt: 2, max: 5 } } },
  { kind: "compaction", message: { key: "say.condense" } },
  { kind: "compaction", state: "running", busy: true, message: { key: "say.condensing" } },
  { kind: "summary", text: "Notes tidied; the table is missing." },
  { kind: "image", images: [{ url: PICTURE }] },
  { kind: "custom", key: "vendor/badge", meta: { colour: "green" } },
];

const children = (parent) => [
  { kind: "text", parent, text: "Looked in three places." },
  { kind: "tool", parent, state: "running", busy: true, tool: tool("read_file", { title: "harbours.csv" }) },
];

/** Tells a chat of them all; answers with their number. */
export function everyKind(chat) {
  const rows = [...ROWS, { kind: "tool", state: "running", busy: true, tool: tool("sub_agent", { title: "find the table" }) }, ...children(ROWS.length + 1)];
  rows.forEach((row, i) => chat.insert({ id: i + 1, ...row }));
  chat.panel("session", { title: "Tides" });
  chat.panel("connection", { state: "retrying", attempt: 2 });
  chat.panel("mode", { current: "plan", available: [{ id: "plan", name: "Plan first" }] });
  chat.panel("plan", { entries: [{ content: "Tidy the notes", status: "completed", priority: "low" }, { content: "Find the table", status: "in_progress", priority: "high" }, { content: "Show it", status: "pending", priority: "medium" }] });
  chat.panel("queue", { steering: ["Use metres"], followUp: ["And then the moon"] });
  chat.panel("usage", { inputTokens: 12345, outputTokens: 678, cachedTokens: 9000, cost: 0.0432 });
  chat.panel("commands", { available: [{ name: "compact" }] });
  chat.panel("activity", { state: "streaming" });
  return rows.length;
}
