/**
 * Any wire as OpenAI chat completion chunks, for a proxy whose clients know nothing else. What goes in is what a stream of a
 * chat takes; what comes out is asked for after each piece.
 */
export class OpenAiConversion {
  /**
   * `id`, `model` and `created` (seconds) stand in each chunk. `style`: `"plain"`, the default, writes everything as
   * content: `[Thinking] …`, `[Tool: name] arguments`, `[Error] …`; `"modern"` writes `reasoning_content`, `tool_calls` and
   * `error`. Throws a TypeError for an unknown format, style or option.
   */
  constructor(options: { format: string; id?: string; model?: string; created?: number; style?: "plain" | "modern" });
  /** Bytes or text of the wire, cut anywhere. */
  push(data: Uint8Array | ArrayBuffer | string): void;
  /** One record, as an object. */
  pushMessage(message: object): void;
  /** What comes now repeats the latest turn from its start: nothing is written twice. False where the format has no turns. */
  restartTurn(): boolean;
  /** The input ended; a turn that had not ended ends with `length`. */
  finish(): void;
  /** The chunks since this was asked last. */
  take(): object[];
  /** The same as the text of server-sent events; `[DONE]` is yours to send. */
  takeEvents(): string;
  free(): void;
}
