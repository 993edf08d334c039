import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { EventOf, FamilyOf } from "../event/event.ts";

/** What a handler learns besides the event. */
export interface HandlerContext<Tx = unknown> {
  /** Aborts when the time for an answer is up or the claim is lost: stop, and write nothing more. */
  readonly signal: AbortSignal;
  /** Which try this is, from 1, as far as whoever hands in the event counts. */
  readonly attempt: number;
  /** The name of the endpoint the event came in by. */
  readonly source: string;
  /** When this delivery arrived. */
  readonly receivedAt: Date;
  /** True when the event comes from a dump and not from the sender. */
  readonly replayed: boolean;
  /** Adds the event's id, type and source to every line. */
  readonly logger: Logger;
  /**
   * Where the store is transactional, a transaction of its database: what is written by it commits together with the
   * mark that the event is done, or not at all. Begun at its first query, over when the handler returns.
   */
  readonly tx: Tx;
}

/**
 * Works one event. Returning means done, whatever is returned, save `retryLater(ms)` and `discard(reason)`;
 * throwing means failed, and the event is tried again.
 */
export type Handler<Event, Tx = unknown> = (event: Event, context: HandlerContext<Tx>) => unknown;

type FamilyMember<Types, Family> = Family extends `${infer Prefix}.*`
  ? Extract<Types, `${Prefix}.${string}`>
  : never;

/**
 * Event type → function. Keys are exact types, families (`"esim.lifecycle.*"`) and `"*"`, which takes every
 * type of the catalog; the most specific one runs.
 */
export type Handlers<Data, Tx = unknown> = {
  readonly [Type in keyof Data & string]?: Handler<EventOf<Pick<Data, Type>>, Tx>;
} & {
  readonly [Family in FamilyOf<keyof Data & string>]?: Handler<
    EventOf<Pick<Data, FamilyMember<keyof Data, Family>>>,
    Tx
  >;
} & { readonly "*"?: Handler<EventOf<Data>, Tx> };

const verdict: unique symbol = Symbol.for("esim-webhooks.verdict");

/** Returned by a handler: not ready yet, try again. */
export interface RetryLater {
  readonly [verdict]: "retry_later";
  readonly afterMs: number;
}

/** Returned by a handler: this event is done without effect. */
export interface Discard {
  readonly [verdict]: "discard";
  readonly reason: string;
}

/**
 * Return this from a handler that is not ready for the event, such as one that came before the answer of
 * the API call that caused it (spec 6.5). The event is tried again.
 * @param afterMs the pause asked for; a sender keeps its own schedule, a worker keeps to this
 */
export function retryLater(afterMs: number): RetryLater {
  if (Number.isFinite(afterMs) && afterMs >= 0) return { [verdict]: "retry_later", afterMs };
  throw new WebhookError("invalid_input", `retryLater got ${afterMs}.`, "Give it milliseconds, 0 or more.");
}

/** Return this from a handler to be done with an event without effect, for a reason that is logged. */
export function discard(reason: string): Discard {
  return { [verdict]: "discard", reason };
}

/** Tells the two verdicts from everything else a handler may return. */
export function readVerdict(returned: unknown): RetryLater | Discard | undefined {
  const isVerdict = typeof returned === "object" && returned !== null && verdict in returned;
  return isVerdict ? (returned as RetryLater | Discard) : undefined;
}

export function isRetryLater(given: RetryLater | Discard): given is RetryLater {
  return given[verdict] === "retry_later";
}
