import type { ChatRows, PanelName, Row, RowKind, RowOp, RowPatch } from "./chatrows.js";

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

/** Reads an op buffer of `chat.subscribeBuffer`. */
export function readOps(words: Uint32Array, text: string, sink: OpReader): void;

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
 * Draws a row's body in one's own way. The first call for a body brings `insert` and an empty `body`, the
 * last one `remove`; `row` is the whole row after the change.
 */
export type RowRenderer = (
  body: HTMLElement,
  row: Row,
  change: Extract<RowOp, { op: "insert" | "append" | "update" | "remove" }>,
) => void;

export interface MountOptions {
  /** One's own drawing of a kind of row. */
  renderers?: { [K in RowKind]?: RowRenderer };
  /** Interface text by key, over the English that is built in; `{gaps}` are filled from a message's `params`. */
  catalogue?: { [key: string]: string };
  /** For numbers in interface text, such as `"de"`; else that of the chat. */
  locale?: string;
}

export interface RowsViewEvents {
  /** The reader wants a row's text on the clipboard; `preventDefault()` leaves the copying to the listener. */
  copy: CustomEvent<{ row: Row; text: string }>;
  /** The reader asks to try again after a retryable error. */
  retry: CustomEvent<{ row: Row }>;
}

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
  /** Stops listening to the chat and empties the element. */
  unmount(): void;
}

/** Draws `chat` inside `log`, which becomes the scrolling list (`role="log"`); give it a height. */
export function mountRows(
  log: HTMLElement,
  chat: Pick<ChatRows, "subscribeBuffer"> & { readonly locale?: string | undefined },
  options?: MountOptions,
): RowsView;
