import type { HeaderSource } from "../verify/headers.ts";
import type { BodyReader } from "./body.ts";
import type { Outcome } from "./outcome.ts";
import type { Reply } from "./reply.ts";

/** A request of any framework. */
export interface Delivery {
  readonly method: string;
  readonly headers: HeaderSource;
  /** The raw body, or a function that reads it. A string stands for its UTF-8 bytes. */
  readonly body: Uint8Array | string | BodyReader;
}

/** The answer to a delivery, and why it is that. Only the `Reply` in it is for the sender. */
export interface Received extends Reply {
  readonly outcome: Outcome;
}

export interface Receiver {
  /** Takes one delivery through the pipeline. Resolves to the answer and the outcome, and never rejects. */
  receive(delivery: Delivery): Promise<Received>;
  /** Aborts when `close` is called. */
  readonly closing: AbortSignal;
  /**
   * Answers 503 from now on. Resolves when all accepted deliveries have ended, late handlers included. A handler that
   * never ends keeps it waiting, so give the shutdown a time limit.
   */
  close(): Promise<void>;
}
