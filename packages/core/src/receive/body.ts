import type { Outcome } from "./outcome.ts";

/** Why there are no bytes to verify. */
export type BodyFault = Extract<
  Outcome,
  { code: "body_incomplete" | "body_consumed" | "too_large" | "overloaded" }
>;

/** The bytes of a whole body. */
export interface WholeBody {
  readonly bytes: Uint8Array;
  /** Whether they are a copy that the receiver has made of several chunks. Nobody else has it. */
  readonly isOwnCopy: boolean;
}

/** Where a `BodyReader` puts what it reads. After the first `end`, `abandon` or `consumed`, nothing more is taken. */
export interface BodySink {
  /** Takes the next bytes, and keeps them: do not reuse the chunk. */
  add(chunk: Uint8Array): void;
  /** The body is complete. */
  end(): void;
  /** The client left before the body was complete. */
  abandon(): void;
  /** Something else has read the body. `hint` says how to mend that. */
  consumed(hint: string): void;
}

/**
 * Begins to read a request's raw body into `sink`, as fast as it comes: its limits are the receiver's. Returns a function
 * that stops reading, and leaves the connection open, so that an answer can be sent.
 */
export type BodyReader = (sink: BodySink) => () => void;
