import type { ChatRows, ConfigOption, PanelName, QuestionPart, Row, RowKind, RowOp, RowPatch } from "./chatrows.js";

/** Panels as plain ops build them; `Panels` of the module is what they come to. */
export interface PanelMap {
  [name: string]: { [key: string]: unknown } | undefined;
}

/** Called for each op of an op buffer, in order. */
export interface OpReader {
  reset(): void;
  /** `before` 0: at the end. */
  insert(id: number, before: number, row: Row): void;
  /** `field`: 0 `text`, 1 `tool.input`, 2 `tool.output`, from 3 on `tool.fields[field - 3].text`. */
  append(id: number, field: number, keep: number | undefined, text: string): void;
  update(id: number, patch: RowPatch): void;
  remove(id: number): void;
  panel(name: PanelName, patch: { [key: string]: unknown }): void;
}

/** Reads an op buffer of `chat.subscribeBuffer`. What `sink` has no method for is passed over. */
export function readOps(words: Uint32Array, text: string, sink: Partial<OpReader>): void;

/**
 * Applies plain ops of `chat.subscribe` and returns new rows and panels. What went in stays as it was, and
 * a row no op names stays the same object, so that the result can be kept as React state.
 */
export function applyOps<P extends PanelMap>(
  rows: readonly Row[],
  panels: P,
  ops: readonly RowOp[],
): { rows: Row[]; panels: P };

/**
 * One line of a change. `"+"`: added, `"-"`: removed, `" "`: the same, `"@"`: about the change, neither old nor
 * new; `["…", count]`: so many lines that are the same and far from any change.
 */
export type ChangedLine = ["+" | "-" | " " | "@", string] | ["…", number];

/** What changed from one text to another, line by line; nothing where they are the same. */
export function diffLines(before?: string, after?: string): ChangedLine[];

/** What the reader has entered for a question: which of its options, and what in their own words. */
export interface Entered {
  chosen: boolean[];
  words: string;
}

/** The answer to a question; `undefined` where nothing was entered. */
export function answerOf(question: Pick<QuestionPart, "options" | "multiple">, entered: Entered): string | string[] | undefined;

/** The answers to the parts of a question by their text; those without one are left out. */
export function answersOf(parts: QuestionPart[], entered: Entered[]): { [text: string]: string | string[] };

/** An option of an agent's as it stands: the name of its value, or whether it is on. */
export function optionValue(option: ConfigOption): unknown;

/** A change as text, unified or in blocks of search and replace, line by line. */
export function patchLines(text: string): ChangedLine[];

/**
 * Draws a row's body in one's own way. The first call for a body brings `insert` and an empty `body`, the
 * last one `remove`; `row` is the whole row after the change. An `update` whose `patch` is empty says that the
 * language has changed.
 */
export type RowRenderer = (
  body: HTMLElement,
  row: Row,
  change: Extract<RowOp, { op: "insert" | "append" | "update" | "remove" }>,
) => void;

export interface MountOptions {
  /** One's own drawing of a kind of row. */
  renderers?: { [K in RowKind]?: RowRenderer };
  /**
   * Interface text by key, over the English that is built in; `{gaps}` are filled from a message's `params`.
   * `chatrows/locales/` has catalogues. A key that is in none shows its last part.
   */
  catalogue?: Catalogue;
  /** For numbers in interface text, such as `"de"`; else that of the chat. */
  locale?: string;
  /** Less room for each row. */
  compact?: boolean;
}

export interface Catalogue {
  [key: string]: string;
}

export interface RowsViewEvents {
  /** The reader wants a row's text on the clipboard; `preventDefault()` leaves the copying to the listener. */
  copy: CustomEvent<{ row: Row; text: string }>;
  /** The reader asks to try again after a retryable error. */
  retry: CustomEvent<{ row: Row }>;
  /**
   * The reader answers a question: with an option's `id`, else its label, or in their own words; with all of them where
   * several may be chosen. A question of several parts has `answers` instead, by the parts' text.
   */
  answer: CustomEvent<{ row: Row; answer: string | string[] } | { row: Row; answers: { [text: string]: string | string[] } }>;
  /** The reader chooses an option whose kind allows. Until the row changes, its buttons stay disabled. */
  approve: CustomEvent<{ row: Row; option: PermissionOption }>;
  /** The reader chooses any other option, one without a kind too: `option` says which. */
  reject: CustomEvent<{ row: Row; option: PermissionOption }>;
  /** The reader wants to see a place in a file. Lines count from 1. */
  open: CustomEvent<{ row: Row; path: string; line?: number }>;
}

export type PermissionOption = NonNullable<Row["permission"]>["options"][number];

export interface RowsView extends EventTarget {
  addEventListener<K extends keyof RowsViewEvents>(
    type: K,
    listener: (event: RowsViewEvents[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  /** Another language: interface text changes in place. Without `locale`, numbers stay as they are. */
  setCatalogue(catalogue: Catalogue, locale?: string): void;
  /** Stops listening to the chat and leaves the element as it was, empty. */
  unmount(): void;
}

/** Draws `chat` inside `log`, which becomes the scrolling list (`role="log"`); give it a height. */
export function mountRows(
  log: HTMLElement,
  chat: Pick<ChatRows, "subscribeBuffer"> & { readonly locale?: string | undefined },
  options?: MountOptions,
): RowsView;

export interface PanelsView {
  setCatalogue(catalogue: Catalogue, locale?: string): void;
  unmount(): void;
}

/**
 * Draws inside `element` what is shown once beside the rows, each panel once it says something:
 * `session` `{ title }`, `connection` `{ state }`, `mode` `{ current, name?, available?: { id, name }[] }`
 * or `{ options: { id, name, type, currentValue, options? }[] }`, `plan` `{ entries: { content, status, priority }[], text? }`, `queue` `{ steering, followUp }` with a string each or
 * `{ text }`, `usage` with its tokens, `used` of `size` and `cost`, a number of US dollars or `{ amount, currency }`.
 * `activity` stands under the rows; other panels are for the page to read (`chat.panels()`).
 */
export function mountPanels(
  element: HTMLElement,
  chat: Pick<ChatRows, "subscribeBuffer"> & { readonly locale?: string | undefined },
  options?: Pick<MountOptions, "catalogue" | "locale">,
): PanelsView;
