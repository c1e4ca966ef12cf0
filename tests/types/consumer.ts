// Everything public of the package, used as a page would use it. Only its types
// are checked: `cargo xtask test --only types` compiles it, nothing runs it.
import init, {
  ChatRows,
  ChatStream,
  PreparingEmitter,
  TaskStreamClient,
  acpCancel,
  acpPrompt,
  initSync,
  parsePreparingMarker,
  preparingMarker,
  type AppendField,
  type Attachment,
  type Cadence,
  type ChatOptions,
  type ChatStats,
  type ConnectionPanel,
  type Fault,
  type FormatName,
  type InitInput,
  type InitOutput,
  type Limits,
  type Message,
  type PanelName,
  type Panels,
  type Permission,
  type Question,
  type Row,
  type RowKind,
  type RowOp,
  type RowPatch,
  type RowState,
  type Stats,
  type StreamEnd,
  type StreamOptions,
  type SyncInitInput,
  type TaggedTools,
  type TaskAnswer,
  type TaskEnd,
  type TaskEvent,
  type TaskStreamOptions,
  type ToolCall,
  type ToolContext,
  type ToolOptions,
  type TurnState,
  type Tool,
  type ToolContent,
  type ToolField,
  type ToolRef,
  type Usage,
} from "chatrows";
import type * as Module from "chatrows";
import type * as Renderer from "chatrows/rows.js";
import french from "chatrows/locales/fr.js";
import {
  answerOf,
  answersOf,
  applyOps,
  diffLines,
  mountPanels,
  mountRows,
  optionValue,
  patchLines,
  readOps,
  type Catalogue,
  type ChangedLine,
  type MountOptions,
  type OpReader,
  type PanelMap,
  type PanelsView,
  type PermissionOption,
  type RowRenderer,
  type RowsView,
  type RowsViewEvents,
} from "chatrows/rows.js";

/** Fails to compile unless the two types are the same. */
function same<A, B>(_: [A] extends [B] ? ([B] extends [A] ? true : false) : false): void {}

// What is added is used below, too: a name that is missing here fails to compile.
same<
  keyof typeof Module,
  | "ChatRows" | "ChatStream" | "PreparingEmitter" | "TaskStreamClient" | "acpCancel" | "acpPrompt" | "initSync" | "default"
  | "parsePreparingMarker" | "preparingMarker"
>(true);
same<keyof typeof Renderer, "answerOf" | "answersOf" | "applyOps" | "diffLines" | "mountPanels" | "mountRows" | "optionValue" | "patchLines" | "readOps">(true);
same<
  keyof ChatRows,
  | "abort" | "acpReply" | "addUser" | "args" | "dispose" | "faults" | "finish" | "flush" | "free" | "locale" | "onFault"
  | "panels" | "push" | "pushMessage" | "ready" | "reset" | "rows" | "snapshot" | "stats" | "stream" | "subscribe" | "subscribeBuffer"
  | "toolProgress" | "toolResult" | "toolStarted" | "truncateFrom" | typeof Symbol.dispose
>(true);
same<
  keyof ChatStream,
  "abort" | "end" | "faults" | "finish" | "free" | "id" | "loadHistory" | "pipe" | "push" | "pushMessage" | "ready" | "restart" | "stats" | "turn"
>(true);

same<
  keyof PreparingEmitter,
  "delta" | "end" | "free" | "preparing" | "reported" | "tick" | "visible"
>(true);

same<
  keyof TaskStreamClient,
  | "answer" | "autoApprove" | "cancel" | "close" | "connect" | "free" | "loadHistory" | "send" | "stop" | "stream" | "unsent"
  | typeof Symbol.dispose
>(true);

export async function follow(chat: ChatRows): Promise<string> {
  const attachments: Attachment[] = [{ url: "https://example.org/a", filename: "a" }];
  const options: Required<TaskStreamOptions> = {
    url: "https://example.org", task: "7", mode: "new", input: "hello", attachments, autoApprove: true, autoAnswer: false,
    timeout: 0, maxDials: 3, silence: 1000, dropSilent: true, backoff: { first: 1, max: 2, jitter: 0.5 }, stopCodes: [4401],
    data: "plain", classify: async ({ code, opened }) => opened || code !== 1006,
    loadHistory: async (cursor) => (cursor === null ? undefined : { chunks: [] }),
    onEvent: (event: TaskEvent) => {
      if (event.type === "task-error") same<string, typeof event.data>(true);
    },
    signal: AbortSignal.timeout(5),
  };
  const client = new TaskStreamClient(chat, options);
  new TaskStreamClient(null, { url: "", task: "" }).close();
  // @ts-expect-error a task has an id
  new TaskStreamClient(chat, { url: "" });
  const ended: Promise<TaskEnd> = client.connect();
  const answer: TaskAnswer = ["a", "b"];
  const told: boolean[] = [client.send("hello", { attachments }), client.cancel(), client.stop(), client.answer(1, answer), client.answer("q", { "Which?": answer }), client.answer("q", null)];
  client.autoApprove(false);
  const { state, attempt, retryAt, code, reason }: Partial<ConnectionPanel> = chat.panels().connection ?? {};
  const stream: ChatStream | null = client.stream;
  const lines: (string | undefined)[] = [acpPrompt(1, "s", "hello"), acpCancel("s"), chat.acpReply(1, { option: "yes" }), chat.acpReply(1, "decline"), chat.acpReply(1, null)];
  console.log(lines, answerOf, answersOf, optionValue);
  const { usage } = await ended;
  return [...told, await client.loadHistory(), state, attempt, retryAt, code, reason, stream?.end, usage.total_tokens, ...client.unsent].join();
}

export async function start(module: WebAssembly.Module): Promise<ChatRows> {
  const input: InitInput = new URL("chatrows_bg.wasm", "https://example.org/");
  const bytes: SyncInitInput = module;
  const output: InitOutput = await init();
  await init({ module_or_path: input });
  initSync({ module: bytes });
  console.log(output.memory.buffer.byteLength);
  const limits: Required<Limits> = {
    recordBytes: 1024, recordValues: 100, toolInputBytes: 1024, textBytes: 1024, nesting: 8, previewDepth: 2,
    previewFields: 10, previewKeyBytes: 64, openBlocks: 4, rows: 100, sources: 10, faults: 10,
  };
  const format: FormatName = "openai-chat";
  const cadence: Cadence = "frame";
  const taggedTools: Required<TaggedTools> = { tools: ["deploy"], params: ["stage"], inCode: false, thoughts: "inline" };
  const tools: Required<ToolOptions> = {
    onTool: { deploy: async (call: ToolCall, { signal }: ToolContext) => ({ output: call.name, isError: signal.aborted }) },
    onApproval: (call) => call.row > 0, checkpoint: async () => {}, parallel: true, mode: "serial", readOnly: ["look"],
  };
  const options: Required<ChatOptions> = { format, cadence, limits, locale: "de", taggedTools, ...tools };
  new ChatRows().dispose();
  new ChatRows({ cadence: 50 }).free();
  const chat: ChatRows = new ChatRows(options);
  same<string | undefined, typeof chat.locale>(true);
  // @ts-expect-error an unknown format is refused before it runs
  new ChatRows({ format: "nonsense" });
  // @ts-expect-error so is an option that there is not
  new ChatRows({ formats: "openai-chat" });
  // @ts-expect-error a stream belongs to a chat, which makes it
  new ChatStream();
  return chat;
}

export async function feed(chat: ChatRows, response: Response): Promise<StreamEnd> {
  chat.push("data: {}\n\n");
  chat.pushMessage({ choices: [] });
  same<StreamEnd | null, ReturnType<typeof chat.finish>>(true);
  console.log(chat.finish(), chat.abort(), chat.abort("the user left"));
  const user: number = chat.addUser("hello");
  const options: StreamOptions = { format: "openai-chat", parent: user, taggedTools: true };
  const stream: ChatStream = chat.stream(options);
  const turn: TurnState | null = stream.turn();
  console.log(turn?.waitsFor, await stream.ready(), await chat.ready());
  stream.push(new Uint8Array(2));
  stream.push(new ArrayBuffer(2));
  stream.push("text");
  stream.pushMessage({});
  const abort = new AbortController();
  const piped = await stream.pipe(response, { signal: abort.signal });
  await stream.pipe(new ReadableStream<Uint8Array>());
  same<Stats, typeof piped.stats>(true);
  const stats: Stats = stream.stats();
  const { total, faulted, late, skipped, applied, noop } = stats.records;
  console.log(stream.id, total === faulted + late + skipped + applied + noop, stats.bytes, stats.lateBytes, stats.pings);
  stream.restart();
  stream.restart({ from: "beginning" });
  stream.restart({ from: "turn" });
  stream.loadHistory({ chunks: [] });
  stream.abort("cancelled");
  const end: StreamEnd | null = stream.end;
  const faults: Fault[] = stream.faults();
  faults.map(({ stream, offset, reason, excerpt }) => `${stream} ${offset} ${reason} ${excerpt}`);
  stream.push("[DONE]");
  const finished: StreamEnd = stream.finish();
  stream.free();
  return end ?? finished ?? piped.end;
}

export function runTools(chat: ChatRows, stream: ChatStream): void {
  for (const row of chat.rows()) {
    const args: unknown = chat.args(row.id);
    const ref: ToolRef = row.tool?.callId ? { stream, callId: row.tool.callId } : row.id;
    if (args === undefined) continue;
    chat.toolStarted(ref);
    chat.toolProgress(ref, { append: "half", title: "Reading" });
    chat.toolResult(ref, { output: "whole", isError: false });
  }
}

/** Every property of a row, of which each that may be absent has to be asked for. */
export function tell(row: Row): string {
  const { id, kind, state, busy, key, parent, text, message, tool, bytes, quietSince, error, ...more }: Row = row;
  const { question, permission, images, files, sources, truncated, startedAt, endedAt, meta, ...rest } = more;
  same<never, keyof typeof rest>(true);
  same<RowKind, typeof kind>(true);
  same<RowState, typeof state>(true);
  same<Message | undefined, typeof message>(true);
  same<Tool | undefined, typeof tool>(true);
  const fields: ToolField[] = tool?.fields ?? [];
  const paths = fields.map(({ path, text, closed }) => `${path.join(".")}: ${text}${closed ? "" : "…"}`);
  const call = [tool?.name, tool?.callId, tool?.title, tool?.input, tool?.inputDone, tool?.fieldsTruncated, tool?.output, tool?.isError];
  const contents: ToolContent[] = tool?.content ?? [];
  const shown = contents.map((item) => (item.type === "diff" ? `${item.path}: ${item.oldText ?? ""} → ${item.newText}` : item.type === "terminal" ? item.id : item.text));
  const places = tool?.locations?.map(({ path, line }) => `${path}:${line?.toFixed()}`);
  same<Question | undefined, typeof question>(true);
  same<Permission | undefined, typeof permission>(true);
  const asked = [question?.options?.[0]?.label, question?.multiple, question?.custom, [question?.answer].flat().join()];
  const allowed = [permission?.options[0]?.kind, permission?.options[0]?.label, permission?.chosen, tool?.kind];
  const links = [images?.[0]?.url, files?.[0]?.name, sources?.[0]?.title];
  const said = [message?.key, Object.keys(message?.params ?? {}), error?.message, error?.code, error?.retryable];
  const times = [quietSince, startedAt, endedAt].map((time?: number) => time?.toFixed());
  const marks = [busy ? "…" : "", key, parent, truncated, bytes?.count.toFixed(), bytes?.label.trim(), meta?.["choice"]];
  return [id, kind, state, text, ...call, ...paths, ...shown, places, ...asked, ...allowed, ...links, ...said, ...times, ...marks].join(" ");
}

/** A kind or a state more, and a renderer that lists them fails to compile here first. */
const KINDS: { [K in RowKind]: true } = {
  user: true, text: true, reasoning: true, tool: true, "tool-preparing": true, question: true, permission: true,
  notice: true, error: true, retry: true, compaction: true, summary: true, image: true, custom: true,
};
const STATES: { [S in RowState]: true } = {
  streaming: true, preparing: true, pending: true, running: true, done: true, failed: true, cancelled: true,
  interrupted: true, expired: true,
};
const PANELS: { [P in PanelName]: true } = {
  activity: true, plan: true, usage: true, commands: true, mode: true, queue: true, session: true,
  connection: true, state: true,
};
console.log(KINDS, STATES, PANELS);

export function watch(chat: ChatRows): () => void {
  let rows: readonly Row[] = [];
  let panels: PanelMap = {};
  const stop = chat.subscribe((ops: RowOp[]) => {
    ({ rows, panels } = applyOps(rows, panels, ops));
    for (const op of ops) {
      switch (op.op) {
        case "insert": same<Row, typeof op.row>(true); same<number | null, typeof op.before>(true); break;
        case "append": same<AppendField, typeof op.field>(true); same<number | undefined, typeof op.keep>(true); break;
        case "update": same<RowPatch, typeof op.patch>(true); break;
        case "panel": same<PanelName, typeof op.name>(true); break;
        case "remove": case "reset": break;
        default: same<never, typeof op>(true);
      }
    }
  });
  const now: Panels = chat.panels();
  const taken: { rows: Row[]; panels: Panels } = applyOps(chat.rows(), now, []);
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedTokens }: Usage = taken.panels.usage ?? {};
  const tokens: (number | undefined)[] = [inputTokens, outputTokens, totalTokens, reasoningTokens, cachedTokens];
  const stats: ChatStats = chat.stats();
  console.log(now.activity.state === "idle", ...tokens, chat.faults().length);
  console.log(stats.streams, stats.rows, stats.ops, stats.batches, stats.bytes, stats.lateBytes, stats.records.total);
  const stopFaults = chat.onFault((fault: Fault) => console.warn(fault.reason));
  return () => { stop(); stopFaults(); };
}

export function show(chat: ChatRows, log: HTMLElement): RowsView {
  const text: RowRenderer = (body, row, change) => {
    if (change.op === "remove") return;
    body.textContent = row.text ?? "";
  };
  const options: MountOptions = { renderers: { text }, catalogue: { "tool.title": "Tool" }, locale: "de", compact: true };
  const view = mountRows(log, chat, options);
  view.addEventListener("copy", (event: RowsViewEvents["copy"]) => event.detail.text.trim());
  view.addEventListener("retry", ({ detail }) => detail.row.id);
  view.addEventListener("answer", ({ detail }) => ("answers" in detail ? Object.values(detail.answers).flat() : [detail.answer].flat()).join(", "));
  view.addEventListener("open", ({ detail: { path, line } }) => `${path}:${line?.toFixed()}`);
  for (const type of ["approve", "reject"] as const) {
    view.addEventListener(type, ({ detail }: RowsViewEvents["approve" | "reject"]) => {
      const option: PermissionOption = detail.option;
      console.log(type, detail.row.id, option.id);
    });
  }
  const catalogue: Catalogue = french;
  view.setCatalogue(catalogue, "fr");
  view.setCatalogue({});
  return view;
}

export function showPanels(chat: ChatRows, element: HTMLElement): PanelsView {
  const view = mountPanels(element, chat, { catalogue: french, locale: "fr" });
  view.setCatalogue({}, "en");
  mountPanels(element, chat).unmount();
  return view;
}

export function changes(): ChangedLine[] {
  return [...diffLines("a", "b"), ...diffLines(undefined, "b"), ...patchLines("-a\n+b")];
}

export function readBuffer(chat: ChatRows, reader: OpReader): () => void {
  readOps(new Uint32Array(), "", { reset: () => {} });
  return chat.subscribeBuffer((words: Uint32Array, text: string) => readOps(words, text, reader));
}

export function end(chat: ChatRows, view: RowsView): void {
  chat.truncateFrom(1);
  chat.flush();
  chat.reset();
  view.unmount();
  chat.dispose();
  chat.free();
  using other = new ChatRows();
  other.push("");
}

export function announce(send: (marker: string) => void): void {
  new PreparingEmitter().free();
  const emitter: PreparingEmitter = new PreparingEmitter({ interval: 250 });
  const marker: string | undefined = emitter.delta("0", "write_file", 12, Date.now());
  if (marker !== undefined) send(marker);
  emitter.delta("0", undefined, 40, Date.now());
  emitter.visible(Date.now());
  const timer = setInterval(() => emitter.tick(Date.now()).forEach(send), 250);
  emitter.reported("0");
  if (!emitter.preparing) clearInterval(timer);
  emitter.end();
  const said = parsePreparingMarker(preparingMarker("write_file", 12) ?? "");
  const { name, bytes }: { name: string; bytes: number } = said ?? { name: "", bytes: 0 };
  console.log(name, bytes);
}
