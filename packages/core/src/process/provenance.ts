import type { UndoneOutcome } from "../handle/event-outcome.ts";

/** Where an event came from, and what its processor has to know to handle it. */
export interface Provenance {
  /** The name of the endpoint that received the event. Default `"default"`. */
  source?: string;
  /** When the event was received. Default: now. */
  receivedAt?: Date;
  /** The attempt as your queue counts it, from 1. Default 1. */
  attempt?: number;
  /** Whether the event comes from a dump: `context.replayed`. Default false. */
  replayed?: boolean;
  /** For how long the event was due in your queue before you got it, in ms. Reported by `observe`. Default: not known. */
  waitMs?: number;
  /** The `traceparent` that the event was stored with, so that the span of the handler links to that span. Default: none. */
  trace?: string;
  /**
   * The CRC-32 of the raw body as signed (`zlib.crc32`). A done id with another fingerprint is a `conflict`. Omit it if
   * the body was rebuilt and is not the signed bytes. Default: none.
   */
  fingerprint?: number;
  /**
   * Returns whether your queue will not try the event again after its handler threw (`failed`) or called `retryLater`
   * (`retry_later`). `observe` then reports `settle` as `dead`, not as `retry` or `waiting`. Called only while `settle` is
   * observed or there is a logger, and only if the claim was not lost. Default: false, also when it throws.
   */
  isLastAttempt?(outcome: UndoneOutcome): boolean;
  /** Aborts when the handler should stop: then `context.signal` aborts, too. If it aborts before the claim is granted, no handler starts. */
  signal?: AbortSignal;
}

/** The provenance from a receiver, which shares one controller with the claim. */
export interface OwnProvenance extends Provenance {
  /** Replaces `signal`. The receiver aborts it at its deadline, and the processor when the claim is lost. */
  controller?: AbortController;
}
