/** What one row shows. Absent properties do not apply to the row. */
export interface Row {
  /** Assigned once, never reused, never changed. */
  id: number;
  kind: RowKind;
  state: RowState;
  /** Show a spinner. */
  busy: boolean;
  /** Identity on the wire, where there is one. */
  key?: string;
  /** The row inside which this one is drawn. */
  parent?: number;
  text?: string;
  /** Interface text as a catalogue key, never prose. */
  message?: Message;
  tool?: Tool;
  /** Byte-count rows: the UTF-8 bytes received so far, and the same as a label such as `1.3 KB`. */
  bytes?: { count: number; label: string };
  /** Milliseconds; set once nothing has come for 5 s, cleared by the next byte. */
  quietSince?: number;
  error?: { message: string; code?: string; retryable?: boolean };
  question?: Question;
  permission?: Permission;
  images?: { url: string; mediaType?: string }[];
  files?: { url?: string; name?: string; mediaType?: string }[];
  sources?: { url: string; title?: string }[];
  /** A cap or the provider's length limit cut this row's content. */
  truncated?: boolean;
  /** Milliseconds, on the clock the page gave. */
  startedAt?: number;
  endedAt?: number;
  meta?: { [key: string]: unknown };
}

export type RowKind =
  | "user" | "text" | "reasoning" | "tool" | "tool-preparing" | "question" | "permission"
  | "notice" | "error" | "retry" | "compaction" | "summary" | "image" | "custom";

export type RowState =
  | "streaming" | "preparing" | "pending" | "running" | "done"
  | "failed" | "cancelled" | "interrupted" | "expired";

/** Interface text: `key` names an entry of the page's catalogue, `params` fill its gaps. */
export interface Message {
  key: string;
  params?: { [name: string]: string | number };
}

export interface Tool {
  /** Empty until the wire has named it. */
  name: string;
  callId?: string;
  title?: string;
  /** The arguments are parameters written as tags in the message's text, no JSON. */
  tagged?: true;
  /** Arguments as received: JSON text; of a tagged call what stands between its tags. */
  input: string;
  /** The arguments ended and are well-formed. */
  inputDone: boolean;
  /** The arguments piece by piece as they stream: one entry a leaf value, in order of arrival. */
  fields?: ToolField[];
  /** More leaf values came than the preview keeps; the arguments themselves are whole. */
  fieldsTruncated?: boolean;
  output?: string;
  isError?: boolean;
  /** What kind of work it is, such as `edit`, `read`, `execute`, `search`, `fetch`. */
  kind?: string;
  /** What the tool shows besides its output, such as the change it makes to a file. */
  content?: ToolContent[];
  /** Where it works. Lines count from 1. */
  locations?: { path: string; line?: number }[];
}

export type ToolContent =
  | { type: "diff"; path: string; oldText?: string; newText: string }
  /** A change as the wire gives it: unified, or in blocks of search and replace. */
  | { type: "patch"; path?: string; text: string }
  | { type: "text"; text: string }
  /** A terminal of the editor's, while nothing is known of what it shows. */
  | { type: "terminal"; id: string };

/** The connection of a `TaskStreamClient`. */
export type ConnectionPanel = {
  state: "connecting" | "open" | "silent" | "retrying" | "closed";
  /** Which dial in a row it is, from 1: while one is made or waited for. */
  attempt?: number;
  /** When the next dial is made, as `Date.now()` counts. */
  retryAt?: number;
  /** The close code of the last loss. */
  code?: number;
  /** Why it is closed. */
  reason?: TaskEnd["reason"];
};

/** A question to the reader, by the wire or by a call; its words are the row's `text`. Pending or running until it is answered or no longer matters. */
export interface Question {
  /** A title above its words. */
  header?: string;
  options?: { id?: string; label: string; description?: string }[];
  /** More than one option may be chosen. */
  multiple?: boolean;
  /** An answer in the reader's own words may be given. */
  custom?: boolean;
  /** What was answered. */
  answer?: string | string[];
  /** Several questions at once, instead of the properties above. */
  parts?: QuestionPart[];
  /** The wire's id of the request, as it stands there: what an answer is sent for. */
  request?: string | number;
  /** Of a form: the name of the value and its type. */
  name?: string;
  type?: string;
}

/** One of several questions. */
export interface QuestionPart extends Omit<Question, "parts" | "request"> {
  text: string;
}

/** The wire waits for the reader to allow something: the row's tool, or what its `text` says. */
export interface Permission {
  options: {
    id: string;
    /** Absent: the catalogue's word for the kind. */
    label?: string;
    kind?: "allow_once" | "allow_always" | "reject_once" | "reject_always";
  }[];
  /** The `id` that was chosen. */
  chosen?: string;
  /** The wire's id of the request, as it stands there: what an answer is sent for. */
  request?: string | number;
}

export interface ToolField {
  path: (string | number)[];
  /** A string's content; a number's or literal's text; a container deeper than the preview as JSON text. */
  text: string;
  /** The value ended. */
  closed: boolean;
}

/**
 * A change of a row: an absent property stays, `null` clears it. `tool` is merged one level deep,
 * and inside it `fields` by index, so that opening or closing one field never repeats the others.
 */
export type RowPatch = { [K in keyof Omit<Row, "id" | "tool">]?: Row[K] | null } & {
  tool?: { [K in keyof Omit<Tool, "fields">]?: Tool[K] | null } & {
    fields?: { [index: number]: Partial<ToolField> } | null;
  };
};

export type AppendField = "text" | "tool.input" | "tool.output" | `tool.fields[${number}].text`;

export type PanelName =
  | "activity" | "plan" | "usage" | "commands" | "mode" | "queue" | "session" | "connection" | "state";

/** What is shown once beside the list. */
export interface Panels {
  activity: { state: "idle" | "waiting" | "streaming" | "retrying" | "stalled" };
  usage?: Usage;
  plan?: { entries?: PlanEntry[]; text?: string };
  /** Where `options` are known they stand instead of modes. */
  mode?: { current?: string; model?: string; available?: { id: string; name?: string }[]; options?: ConfigOption[] };
  connection?: ConnectionPanel;
  [name: string]: { [key: string]: unknown } | undefined;
}

export type PlanEntry = { content: string; status?: string; priority?: string; id?: string };

/** What an agent lets the reader set; `options` may stand in groups. */
export type ConfigOption = {
  id: string;
  name?: string;
  type: "select" | "boolean";
  currentValue?: string | boolean;
  options?: ({ value: string; name?: string } | { group: string; name?: string; options: { value: string; name?: string }[] })[];
};

/** Tokens as the provider last reported them. */
export type Usage = {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  reasoningTokens?: number;
  cachedTokens?: number;
  cacheWriteTokens?: number;
  /** What it cost, in US dollars or in a currency that is named. */
  cost?: number | { amount: number; currency?: string };
  /** Tokens of the context in use, and how many it holds. */
  used?: number;
  size?: number;
  /** The model that answered. */
  model?: string;
};

export type RowOp =
  | { op: "insert"; id: number; before: number | null; row: Row }
  /** `keep`: UTF-16 units of the text that stay before the new ones; absent: all. A text that is absent is empty. */
  | { op: "append"; id: number; field: AppendField; keep?: number; text: string }
  | { op: "update"; id: number; patch: RowPatch }
  | { op: "remove"; id: number }
  | { op: "panel"; name: PanelName; patch: { [key: string]: unknown } }
  | { op: "reset" };

export type FormatName = "openai-chat" | "say" | "api-stream" | "acp" | "task-stream" | "agent-events" | "auto";

/** When pending changes are handed out. `"frame"`: the next animation frame; a number: at most every so many
 * milliseconds; `"local"` is 40 and `"remote"` 90. What appears or ends is handed out with the next frame. */
export type Cadence = "frame" | "local" | "remote" | number;

/** Caps; each has a default, see the crate's `Limits`. */
export interface Limits {
  recordBytes?: number;
  recordValues?: number;
  toolInputBytes?: number;
  textBytes?: number;
  nesting?: number;
  previewDepth?: number;
  previewFields?: number;
  previewKeyBytes?: number;
  openBlocks?: number;
  rows?: number;
  sources?: number;
  faults?: number;
}

/** A call whose arguments are complete and well-formed. */
export interface ToolCall {
  /** The number of its stream. */
  stream: number;
  /** Its row: what `toolProgress` and events of `rows.js` name it by. */
  row: number;
  name: string;
  /** The id on the wire, where it has one. */
  callId?: string;
  /** What `chat.args(row)` gives. */
  args: unknown;
}

/** Aborted when nobody waits for the answer any more. */
export interface ToolContext {
  signal: AbortSignal;
}

type Soon<T> = T | PromiseLike<T>;

/** What the row shows as its output; without any, what the tool showed by `toolProgress` stands. */
export type ToolOutput = void | null | string | { output?: string; isError?: boolean };

export type ToolFunction = (call: ToolCall, context: ToolContext) => Soon<ToolOutput>;

/**
 * How the calls of a stream are run: one after the other, each when its turn has come. Without `onTool` the page runs
 * what is pending as it likes, and the other options are none. The calls of `say` are run by the other side.
 */
export interface ToolOptions {
  /**
   * Runs a call. What it throws or rejects with fails the call; it may never settle, which `abort` ends. As an object
   * it names the tools there are: a call of another is an error row.
   */
  onTool?: ToolFunction | { [name: string]: ToolFunction };
  /** Asked before each call; absent, calls run unasked. While it waits the row has a `permission`. */
  onApproval?: (call: ToolCall, context: ToolContext) => Soon<boolean>;
  /** Called once, before the first call of a tool that is not read-only; calls wait for what it returns. */
  checkpoint?: (context: ToolContext) => Soon<unknown>;
  /** A message may use more than one call. */
  parallel?: boolean;
  /**
   * `"serial"`: what stands behind a call shows when the call is handled, and does not after one that was rejected.
   * `"concurrent"`: everything shows as it comes. Default: serial with `taggedTools`, else concurrent. Blocks that the
   * wire names always show as they come.
   */
  mode?: "serial" | "concurrent";
  /** The tools that change nothing, instead of the built-in list. */
  readOnly?: string[];
}

/** Where the presenter of a stream's calls stands. */
export interface TurnState {
  /** The block at hand; those before it are handled. */
  index: number;
  /** Blocks that have begun; the end of a message counts as one. */
  blocks: number;
  /** The row of the block at hand. */
  row?: number;
  waitsFor?: "checkpoint" | "approval" | "run";
  locked: boolean;
  /** Something came while it was locked. */
  pending: boolean;
  /** A call of the message was rejected. */
  rejected: boolean;
  /** A call of the message has run. */
  used: boolean;
  /** Nothing more comes of the message. */
  complete: boolean;
  aborted: boolean;
  /** Everything that came is handled. */
  over: boolean;
}

export interface ChatOptions extends ToolOptions {
  /** Language of interface text, handed on to renderers. */
  locale?: string;
  /** Format of the default stream, and of streams that name none. */
  format?: FormatName;
  cadence?: Cadence;
  limits?: Limits;
  /** Of the default stream, and of streams that say nothing of it. */
  taggedTools?: boolean | TaggedTools;
}

/** Calls that a model writes as tags in its text, such as `<read_file><path>a.txt</path></read_file>`. */
export interface TaggedTools {
  /** Names of tools and of parameters beside the built-in ones. */
  tools?: string[];
  params?: string[];
  /** Tags inside code spans and fences are calls as well. */
  inCode?: boolean;
  /** Where that goes which stands in thinking tags: to rows of its own (`"apart"`, the default), or into the text. */
  thoughts?: "apart" | "inline";
}

export interface StreamOptions extends ToolOptions {
  format?: FormatName;
  /** The row inside which this stream's rows are drawn, such as the call that started a sub-agent. */
  parent?: number;
  taggedTools?: boolean | TaggedTools;
}

export interface Stats {
  bytes: number;
  /** Every record is counted once, by its worst outcome. */
  records: { total: number; faulted: number; late: number; skipped: number; applied: number; noop: number };
  /** Bytes that came after the stream had ended; they were dropped. */
  lateBytes: number;
  /** Comments, empty payloads: signs of life that are no records. */
  pings: number;
}

export interface ChatStats extends Stats {
  streams: number;
  rows: number;
  ops: number;
  batches: number;
}

export interface Fault {
  /** Number of the stream, from 1. */
  stream: number;
  /** Byte offset in the stream at which the record starts. */
  offset: number;
  /** What is wrong, as a code such as `json`, `utf-8`, `nesting`. */
  reason: string;
  /** The record's first bytes, as text. */
  excerpt: string;
}

export type StreamEnd = "done" | "interrupted" | "cancelled";

/** A row by its id, or a call by its stream and wire id. */
export type ToolRef = number | { stream: ChatStream; callId: string };

/** One source feeding a chat: a response, a socket, an agent. Made by `chat.stream()`. */
export class ChatStream {
  private constructor();
  /** The number that faults name. */
  readonly id: number;
  /** `null` while the stream lives. */
  readonly end: StreamEnd | null;
  /** Bytes or text of the wire, cut anywhere. After the end they are counted and dropped. */
  push(data: Uint8Array | ArrayBuffer | string): void;
  /** One record as an object. */
  pushMessage(message: object): void;
  /** The source ended; what is still open becomes interrupted unless the wire had ended it. Idempotent. */
  finish(): StreamEnd;
  /**
   * Ends the stream: what is open, and calls that run or wait to run, become cancelled. After the end it only stops what
   * `onTool`, `onApproval` and `checkpoint` are still at.
   * A reason is kept as the rows' `meta.reason`.
   */
  abort(reason?: string): StreamEnd;
  /**
   * Opens the stream again for a replay of what it already brought: rows stay, only what is new changes them. With
   * `{ from: "turn" }` a stream that lives (`task-stream`) repeats its latest turn and no more; a TypeError on any other.
   */
  restart(options?: { from: "beginning" | "turn" }): void;
  /**
   * A page of what went before all the stream has shown, `{ chunks: [...] }` with the newest turn first: its rows stand before
   * the others, and what overlaps is dropped. Only of formats with a history (`task-stream`).
   */
  loadHistory(page: object): void;
  /**
   * Reads a response or a byte stream to its end. A response with an error status becomes an error row.
   * Rejects when reading fails, after an error row; aborting `signal` ends the stream as cancelled and is no failure.
   */
  pipe(
    source: Response | ReadableStream<Uint8Array>,
    options?: { signal?: AbortSignal },
  ): Promise<{ end: StreamEnd; stats: Stats }>;
  /**
   * Resolves when all blocks of the message are handled: the stream has brought it whole, and each call has run, or
   * will not. Rejects with an `AbortError` when the stream is aborted first, and where there is no `onTool`.
   */
  ready(): Promise<void>;
  /** Where the presenter stands; `null` without `onTool`. */
  turn(): TurnState | null;
  stats(): Stats;
  faults(): Fault[];
  free(): void;
}

/** A chat that was saved. */
export interface Snapshot {
  /** The version of this form. */
  chatrows: 1;
  /** How many row ids were given out. */
  ids: number;
  rows: Row[];
  panels: { [name: string]: { [key: string]: unknown } | undefined };
}

/** One chat. */
export class ChatRows {
  /** @throws TypeError for an unknown format or option. */
  constructor(options?: ChatOptions);
  /**
   * A chat of what `snapshot` gave, or of its JSON text, without its streams: ids stay, what was under way is interrupted, and a row that
   * its wire names again by the same key is the same row.
   * @throws TypeError where `snapshot` is none, or holds more than the caps allow.
   */
  static restore(snapshot: Snapshot | string, options?: ChatOptions): ChatRows;
  /** The rows and panels as plain data, to be kept as JSON. */
  snapshot(): Snapshot;
  /** Language of interface text, for renderers; as given to the constructor. */
  readonly locale: string | undefined;
  /** Feeds the default stream; after its end the next push opens another. */
  push(data: Uint8Array | ArrayBuffer | string): void;
  pushMessage(message: object): void;
  /** Ends the default stream, if one is open. */
  finish(): StreamEnd | null;
  /** Aborts the default stream, if one is open. */
  abort(reason?: string): StreamEnd | null;
  /** `ready` of the default stream. */
  ready(): Promise<void>;
  /** @throws TypeError for an unknown format or option. */
  stream(options?: StreamOptions): ChatStream;
  /** Shows what the user said; the wire's echo of it is the same row. Returns the row's id, 0 past the cap on rows. */
  addUser(text: string): number;
  /** The host runs a pending call. @throws Error for any other row. */
  toolStarted(ref: ToolRef): void;
  /** `output` replaces what the tool showed so far, `append` follows it. */
  toolProgress(ref: ToolRef, progress: { output?: string; append?: string; title?: string }): void;
  toolResult(ref: ToolRef, result?: { output?: string; isError?: boolean }): void;
  rows(): Row[];
  panels(): Panels;
  /**
   * The arguments of a call that were complete and well-formed when it could run, by JSON.parse: while it waits, runs,
   * and after it has ended. `undefined` for any other row, and for what is no row's id.
   */
  args(rowId: number): unknown;
  /**
   * On streams of `acp`: the text of the line that answers what a row asks, or `undefined` where it asks nothing that this
   * answers. `option`: the `id` of a permission's option; `answer` or `answers`: what the `answer` event carried;
   * `"decline"`: the reader does not want to; `null`: nobody is going to answer, for the turn was cancelled.
   */
  acpReply(rowId: number, answer: { option: string } | { answer: unknown } | { answers: object } | "decline" | null): string | undefined;
  stats(): ChatStats;
  faults(): Fault[];
  /** Plain ops: first a reset and inserts, then each batch. Never called from inside a push. Returns the stop function. */
  subscribe(listener: (ops: RowOp[]) => void): () => void;
  /** The same as numbers and one string, for renderers; see `rows.js`. */
  subscribeBuffer(listener: (words: Uint32Array, text: string) => void): () => void;
  /** Hears the faults since the last batch, with the next one; of many at once the last `limits.faults`. */
  onFault(listener: (fault: Fault) => void): () => void;
  /** Removes the row and all rows after it. @throws Error where there is no such row. */
  truncateFrom(rowId: number): void;
  /** Aborts all streams and removes everything. */
  reset(): void;
  /** Hands out what is pending now instead of at the next frame. */
  flush(): void;
  /** Stops timers and listeners. Every later call throws. */
  dispose(): void;
  free(): void;
  [Symbol.dispose](): void;
}

/** A file that was uploaded before. */
export interface Attachment {
  /** Where the server finds it. */
  url: string;
  filename: string;
}

/** What became of a connection that was lost, or of a dial that did not open. */
export interface ConnectionLoss {
  /** The close code; 1006 where a browser says nothing, which is mostly so. */
  code: number;
  /** Whether it had been open. */
  opened: boolean;
}

/** A task's event as it came, for those who want no rows. Each comes once, whatever a reconnect replays. */
export type TaskEvent =
  | { type: "task-started"; data: {} }
  /** What the agent told: nested (`{ update: { sessionUpdate, … } }`) or flat (`{ type, … }`), as the server writes it. */
  | { type: "acp"; data: { [key: string]: unknown } }
  | { type: "task-ended"; data: {} }
  | { type: "task-error"; data: string };

/** Times are milliseconds; a time or a number of 0 is none. */
export interface TaskStreamOptions {
  /**
   * Where the server is, as `https`, `http`, `wss` or `ws`. Without a path it is `/api/v1/users/tasks/stream`; a query, such
   * as one with a token, stays. `id` and `mode` are added.
   */
  url: string;
  /** The task's id. */
  task: string;
  /**
   * `"new"`: opens a turn, for which the server waits for an input. `"attach"`: the task's latest turn is replayed, then it
   * goes on live. Default: new with an `input`, else attach. Once an input was sent, each further dial attaches.
   */
  mode?: "new" | "attach";
  /** What the user says first. */
  input?: string;
  /** Its files, at most ten. */
  attachments?: Attachment[];
  /** Tools run without asking: said on every connection, before anything else. */
  autoApprove?: boolean;
  /** Questions are answered at once, by the first option of each. */
  autoAnswer?: boolean;
  /** How long the task may take from `connect()` on, connected or not. Default: 600,000. */
  timeout?: number;
  /** Dials in a row that may fail to open. Default: 10. */
  maxDials?: number;
  /** How long nothing may come before the panel says so. Default: 30,000; the server pings every 10 s. */
  silence?: number;
  /** A silent connection is taken for lost, and dialled again. */
  dropSilent?: boolean;
  /** Delays before dialling again: `first` (500), doubled up to `max` (8,000); `jitter`, 0 to 1 (0), is the share that chance may take off. */
  backoff?: { first?: number; max?: number; jitter?: number };
  /**
   * Close codes after which it is not dialled again, instead of 1002, 1003, 1007, 1008, 1010, 4400, 4401, 4403, 4404 and
   * 4410. An address that the browser does not dial at all counts as 4400.
   */
  stopCodes?: number[];
  /** How data is sent: base64 of JSON (the default), or JSON text. */
  data?: "base64" | "plain";
  /**
   * Asked about each loss that no code decides, before it is dialled again: `false` ends the task as refused. A browser
   * does not tell a page that a dial was answered with 401; the page may ask its server by `fetch`, or renew its cookie.
   */
  classify?: (loss: ConnectionLoss) => Soon<boolean>;
  /**
   * Gets a page of what went before, for `client.loadHistory()`. `cursor`: where the last page or the server said that it
   * ends, `null` where nobody has. The page is the server's answer, or its JSON text: `{ chunks, next_cursor, has_more }`,
   * also inside `data`; nothing where there is none.
   */
  loadHistory?: (cursor: string | number | null) => Soon<object | string | null | undefined>;
  /** Hears the task's events. It may call anything of the client or the chat; what it throws is an uncaught error. */
  onEvent?: (event: TaskEvent) => void;
  /** Closes it. */
  signal?: AbortSignal;
}

/** How a task came to its end. */
export interface TaskEnd {
  /**
   * `task-ended`, `task-error`: the server said so. `timeout`: it took too long. `closed`: by `close`, the signal, or the end
   * of its stream or chat. `refused`: a stop code, or `classify`. `unreachable`: too many dials did not open.
   */
  reason: "task-ended" | "task-error" | "timeout" | "closed" | "refused" | "unreachable";
  /** The tokens that the task's updates told of; 0 where none did. */
  usage: { input_tokens: number; output_tokens: number; total_tokens: number };
}

/** An answer to one question: a label or words of one's own, or several. */
export type TaskAnswer = string | string[];

/**
 * Follows an agent's task over a WebSocket: dials, dials again when the line is lost, and keeps a chat's rows right
 * meanwhile. The panel `connection` says what it is doing. Nothing is busy while a connection is being retried, and
 * everything is at rest at the end; where the server refused or cannot be reached an error row says so.
 */
export class TaskStreamClient {
  /**
   * `chat`: where the task is shown, or `null` with `onEvent` for its events alone.
   * @throws TypeError for an unknown option, or one of another type.
   */
  constructor(chat: ChatRows | null, options: TaskStreamOptions);
  /**
   * Dials. Resolves at the end, however it ends, and never rejects for the network; rejects where the chat was disposed.
   * Called again it gives the same promise. The connection goes on though nobody keeps the client, until its end.
   */
  connect(): Promise<TaskEnd>;
  /**
   * The user says something; while no connection is open it waits for one. `false` after the end. The server repeats it,
   * which is its row; `chat.addUser` shows it sooner.
   * @throws TypeError for more than ten attachments.
   */
  send(text: string, options?: { attachments?: Attachment[] }): boolean;
  /** Gives up what runs. `false` after the end. */
  cancel(): boolean;
  /** Stops the task, which then ends by itself. `false` after the end. */
  stop(): boolean;
  /**
   * Answers a question: its row by id, or its request (`row.question.request`). Several questions of a row, and a request
   * without a row, are answered by an object from the words of each to its answer; `null` answers with nothing. It is sent
   * once, offline as soon as there is a connection; the row is done when the server repeats it. `false`: it waits for no
   * answer (any more).
   * @throws TypeError for what is no answer.
   */
  answer(question: number | string, answers: TaskAnswer | { [question: string]: TaskAnswer } | null): boolean;
  /** Whether tools run without asking from now on. */
  autoApprove(on: boolean): void;
  /**
   * Loads the page of history that comes next, by the option `loadHistory`, and shows it before everything else; after the
   * end too. Calls follow each other. Resolves to whether there was one; rejects as the option does, and nothing changes.
   */
  loadHistory(): Promise<boolean>;
  /** Closes it; the promise of `connect` resolves. Letting go of the client, by `free` or otherwise, does not. */
  close(): void;
  /** The stream of its rows, from `connect` on; its end closes the client. `null` without a chat. */
  readonly stream: ChatStream | null;
  /** What the user said that no connection took: to be given back after the end. */
  readonly unsent: string[];
  free(): void;
  [Symbol.dispose](): void;
}

/**
 * For those who write a provider: says which markers to send, each as the whole of one piece of reasoning, while the calls
 * of a response stream. A marker goes out at once when a call's name is first known, then as its arguments grow, and
 * every 5 s while nothing else was visible; none once the call was reported or the stream has ended. It has no clock: `now`
 * is in milliseconds of any clock that does not run backwards.
 */
export class PreparingEmitter {
  /** `interval`: the least milliseconds between two markers of one call; 100 unless given. */
  constructor(options?: { interval?: number });
  /**
   * A delta of the call `key` (its index or id) came. `bytes`: how many its arguments have by now, in UTF-8. Returns the
   * marker to send now, if one is due.
   */
  delta(key: string | number, name: string | undefined, bytes: number, now: number): string | undefined;
  /** The markers that are due now. Call it on a timer, about as often as the interval, while `preparing`. */
  tick(now: number): string[];
  /** The call went out as a whole. */
  reported(key: string | number): void;
  /** Something else that is new was sent, such as text. */
  visible(now: number): void;
  /** The stream ended, well or not. */
  end(): void;
  /** A call was announced that has not been reported yet. */
  readonly preparing: boolean;
  free(): void;
}

/**
 * What an editor sends to an agent over the Agent Client Protocol, each the text of one line, its line end aside. Push it to
 * the stream too (`stream.push(line + "\n")`): the rows then know what was asked and chosen.
 */
export function acpPrompt(id: number, sessionId: string, text: string): string;
/** Requests for permission that wait are to be answered too: `chat.acpReply(row, null)`. */
export function acpCancel(sessionId: string): string;

/** The marker that announces a call; `undefined` for an empty name and for one with a NUL. */
export function preparingMarker(name: string, bytes: number): string | undefined;

/** What a marker says; `undefined` for what is not one marker and nothing else. */
export function parsePreparingMarker(text: string): { name: string; bytes: number } | undefined;
