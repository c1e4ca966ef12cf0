/** An entry of a session file, as it stands there. */
export interface SessionEntry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp?: string;
  [member: string]: unknown;
}

/**
 * A session file of an agent, of any version, as a tree of entries. An id that is left out is the leaf; `null` is no entry.
 * A method that is given an id of no entry throws an Error.
 */
export class AgentSession {
  private constructor();
  /** Reads a file; versions 1 and 2 become version 3. Throws an Error where it is no session. */
  static import(file: Uint8Array | ArrayBuffer | string): AgentSession;
  /** The file: what was not changed is byte for byte what it was. */
  export(): Uint8Array;
  /** `version` is the one that the file had. */
  header(): { version: number; id: string; timestamp: string; cwd: string; parentSession?: string };
  name(): string | undefined;
  /** All entries of the tree, oldest first. */
  entries(): SessionEntry[];
  /** Labels by the id of the entry that has them. */
  labels(): Record<string, string>;
  /** Each branch by its last entry, with the last one that it shares with another. */
  branches(): { leaf: string; fork: string | null }[];
  /** The ids from the root to this entry. */
  branch(leaf?: string | null): string[];
  leaf(): string | undefined;
  setLeaf(leaf: string | null): void;
  /** Adds an entry, or lines of them, at the end of the file; the id of the last that is one. */
  append(entry: object | string): string | undefined;
  /** What to push to an `agent-events` stream that shows one branch, so that it shows another. */
  walk(from: string | null, to: string | null): string;
  /** What the model is told at this entry. */
  context(leaf?: string | null): {
    messages: object[];
    thinkingLevel: string;
    model: { provider: string; modelId: string } | null;
    activeTools: string[] | null;
  };
  /** A session of its own from this branch. */
  fork(leaf: string | null | undefined, header: { id: string; timestamp: string; parentSession: string }): AgentSession;
  /** Lines that are no entries; they stay in the file. */
  faults(): Fault[];
  free(): void;
}

export interface AgentStateSnapshot {
  isStreaming: boolean;
  streamingMessage: object | null;
  messages: object[];
  pendingToolCalls: string[];
  errorMessage: string | null;
}

/** What changed; of the messages, the one that was added. */
export interface AgentStateChange {
  isStreaming?: boolean;
  streamingMessage?: object | null;
  message?: object;
  pendingToolCalls?: string[];
  errorMessage?: string | null;
}

/** The state of an agent as its events tell it: reduced before anybody is told. */
export class AgentState {
  constructor();
  /** One event; what it changed, undefined where that is nothing. Throws an Error where a line is no JSON. */
  push(event: object | string): AgentStateChange | undefined;
  /** The run is over, on a wire that does not say so. */
  finishRun(): AgentStateChange | undefined;
  /** All of it, as it is now. */
  snapshot(): AgentStateSnapshot;
  /** `listener` is called with what changed; it must not push. */
  subscribe(listener: (change: AgentStateChange) => void): void;
  unsubscribe(listener: (change: AgentStateChange) => void): void;
  free(): void;
}
