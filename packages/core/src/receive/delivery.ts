import type { HeaderSource } from "../verify/headers.ts";
import type { Outcome } from "./outcome.ts";
import type { Reply } from "./reply.ts";

/** A request of any framework. */
export interface Delivery {
  /** The HTTP method. All but `POST` are answered 405. */
  readonly method: string;
  /** The headers of the request, those of the signature among them. */
  readonly headers: HeaderSource;
  /**
   * Where it arrived, for a receiver with `endpoints`: the path below the adapter's route, as it was sent, such as `/acme`. A query
   * and a slash at its end are ignored.
   */
  readonly path?: string | undefined;
  /**
   * How long its platform still waits for the answer, in ms: a longer `deadlineMs` is shortened to this. With zero or less, nothing runs and the
   * answer is 503. Default: as long as `deadlineMs`.
   */
  readonly remainingMs?: number | undefined;
  /** The raw body, or a function that reads it. A string stands for its UTF-8 bytes. */
  readonly body: Uint8Array | string | ReadBody;
  /**
   * For a platform that ends the work of a request once it is answered or its client has left. Called with a promise of the whole work,
   * which may end after the answer: a handler that is late, and the end of its claim. The promise never rejects.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** Reads a request's raw body: returns its bytes if all are there, or else its stream. A receiver calls it at most once. */
export type ReadBody = () => Uint8Array | BodyStream;

/**
 * Streams a raw body into `sink` as fast as it arrives; the receiver limits its size and its time. Returns a function that stops reading
 * and leaves the connection open, so that an answer can be sent.
 */
export type BodyStream = (sink: BodySink) => () => void;

/** Where a `BodyStream` puts its bytes. After the first `end`, `abandon` or `consumed`, all calls are ignored. */
export interface BodySink {
  /** Adds the next bytes, and keeps them: do not reuse the chunk. */
  add(chunk: Uint8Array): void;
  /** The body is complete. */
  end(): void;
  /** The client left before the body was complete. */
  abandon(): void;
  /** Something else has read the body. `hint` says how to fix that. */
  consumed(hint: string): void;
}

/** Why there are no bytes to verify. */
export type BodyFault = Extract<
  Outcome,
  { code: "body_incomplete" | "body_consumed" | "too_large" | "overloaded" }
>;

/** The answer to a delivery, and its reason. Only the `Reply` in it is for the sender. */
export interface Received extends Reply {
  /** The delivery's outcome. It may contain an error: do not put it into an answer. */
  readonly outcome: Outcome;
}

/** Verifies, parses and accepts the deliveries of one route and, with `endpoints`, of the paths below it. Every adapter passes its deliveries to a receiver. */
export interface Receiver {
  /** Whether it has `endpoints`: its adapter then also passes it the requests below the route, each with its path. */
  readonly hasEndpoints: boolean;
  /** Passes one delivery through the pipeline. Resolves to the answer and the outcome, and never rejects. */
  receive(delivery: Delivery): Promise<Received>;
  /**
   * Resolves while it can decide about deliveries. Rejects with `shutting_down` once it closes, and with `missing_secret` or
   * `keys_unavailable` while it has no keys. Its store or inbox has a `ready()` of its own.
   */
  ready(): Promise<void>;
  /** Aborts when `close` is called. */
  readonly closing: AbortSignal;
  /**
   * Answers 503 from now on. Resolves when all accepted deliveries have ended, late handlers included. A handler that
   * never ends keeps it waiting, so give the shutdown a time limit.
   */
  close(): Promise<void>;
}
