// Everything public of the package, used as a page would use it. Only its types
// are checked: `cargo xtask test --only types` compiles it, nothing runs it.
import init, {
  ChatRows,
  initSync,
  type AppendField,
  type Cadence,
  type ChatOptions,
  type ChatRowsApi,
  type ChatStats,
  type ChatStream,
  type Fault,
  type FormatName,
  type Limits,
  type Message,
  type PanelName,
  type Panels,
  type Row,
  type RowKind,
  type RowOp,
  type RowPatch,
  type RowState,
  type Stats,
  type StreamEnd,
  type StreamOptions,
  type Tool,
  type ToolField,
  type ToolRef,
  type Usage,
} from "chatrows";
import {
  applyOps,
  mountRows,
  readOps,
  type MountOptions,
  type OpReader,
  type PanelMap,
  type RowRenderer,
  type RowsView,
  type RowsViewEvents,
} from "chatrows/rows.js";

/** Fails to compile unless the two types are the same. */
function same<A, B>(_: [A] extends [B] ? ([B] extends [A] ? true : false) : false): void {}

export async function start(module: WebAssembly.Module): Promise<ChatRowsApi> {
  await init();
  await init({ module_or_path: new URL("chatrows_bg.wasm", "https://example.org/") });
  initSync({ module });
  const limits: Limits = { recordBytes: 1024, toolInputBytes: 1024, nesting: 8, rows: 100, faults: 10 };
  const format: FormatName = "openai-chat";
  const cadence: Cadence = "frame";
  const options: ChatOptions = { format, cadence, limits };
  new ChatRows().dispose();
  const chat: ChatRowsApi = new ChatRows(options);
  // @ts-expect-error an unknown format is refused before it runs
  new ChatRows({ format: "nonsense" });
  return chat;
}

export async function feed(chat: ChatRows, response: Response): Promise<StreamEnd> {
  chat.push("data: {}\n\n");
  chat.pushMessage({ choices: [] });
  const user: number = chat.addUser("hello");
  const options: StreamOptions = { format: "openai-chat", parent: user };
  const stream: ChatStream = chat.stream(options);
  stream.push(new Uint8Array(2));
  stream.push(new ArrayBuffer(2));
  stream.push("text");
  stream.pushMessage({});
  const abort = new AbortController();
  const piped = await stream.pipe(response, { signal: abort.signal });
  await stream.pipe(new ReadableStream<Uint8Array>());
  const stats: Stats = piped.stats;
  const { total, faulted, late, skipped, applied, noop } = stats.records;
  console.log(total === faulted + late + skipped + applied + noop);
  stream.restart();
  stream.restart({ from: "beginning" });
  stream.abort("cancelled");
  const end: StreamEnd | null = stream.end;
  const faults: Fault[] = stream.faults();
  faults.map(({ stream, offset, reason, excerpt }) => `${stream} ${offset} ${reason} ${excerpt}`);
  return end ?? stream.finish() ?? piped.end;
}

export function runTools(chat: ChatRowsApi, stream: ChatStream): void {
  for (const row of chat.rows()) {
    const args: unknown = chat.args(row.id);
    const ref: ToolRef = row.tool?.callId ? { stream, callId: row.tool.callId } : row.id;
    if (args === undefined) continue;
    chat.toolStarted(ref);
    chat.toolProgress(ref, { append: "half", title: "Reading" });
    chat.toolResult(ref, { output: "whole", isError: false });
  }
}

export function tell(row: Row): string {
  const kind: RowKind = row.kind;
  const state: RowState = row.state;
  const message: Message | undefined = row.message;
  const tool: Tool | undefined = row.tool;
  const fields: ToolField[] = tool?.fields ?? [];
  const paths = fields.map((field) => `${field.path.join(".")}: ${field.text}${field.closed ? "" : "…"}`);
  const parts = [kind, state, row.text, message?.key, tool?.name, tool?.input, row.bytes?.label, row.error?.message];
  return [row.id, ...parts, ...paths, row.busy ? "…" : "", row.parent, row.truncated].join(" ");
}

export function watch(chat: ChatRowsApi): () => void {
  let rows: readonly Row[] = [];
  let panels: PanelMap = {};
  const stop = chat.subscribe((ops: RowOp[]) => {
    ({ rows, panels } = applyOps(rows, panels, ops));
    for (const op of ops) {
      switch (op.op) {
        case "insert": same<Row, typeof op.row>(true); break;
        case "append": same<AppendField, typeof op.field>(true); break;
        case "update": same<RowPatch, typeof op.patch>(true); break;
        case "panel": same<PanelName, typeof op.name>(true); break;
        case "remove": case "reset": break;
        default: same<never, typeof op>(true);
      }
    }
  });
  const now: Panels = chat.panels();
  const usage: Usage | undefined = now.usage;
  const stats: ChatStats = chat.stats();
  console.log(now.activity.state, usage?.inputTokens, stats.ops, stats.bytes, chat.faults().length);
  const stopFaults = chat.onFault((fault: Fault) => console.warn(fault.reason));
  return () => { stop(); stopFaults(); };
}

export function show(chat: ChatRowsApi, log: HTMLElement): RowsView {
  const text: RowRenderer = (body, row, change) => {
    if (change.op === "remove") return;
    body.textContent = row.text ?? "";
  };
  const options: MountOptions = { renderers: { text }, catalogue: { "tool.title": "Tool" }, locale: "de" };
  const view = mountRows(log, chat, options);
  view.addEventListener("copy", (event: RowsViewEvents["copy"]) => event.detail.text.trim());
  view.addEventListener("retry", ({ detail }) => detail.row.id);
  return view;
}

export function readBuffer(chat: ChatRowsApi, reader: OpReader): () => void {
  return chat.subscribeBuffer((words, text) => readOps(words, text, reader));
}

export function end(chat: ChatRows, view: RowsView): object {
  const saved: object = chat.snapshot();
  chat.truncateFrom(1);
  chat.flush();
  chat.reset();
  view.unmount();
  chat.dispose();
  return saved;
}
