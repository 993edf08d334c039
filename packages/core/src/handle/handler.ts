import type { Logger } from "../base/logger.ts";
import type { EventOf, FamilyOf, UnknownEvent } from "../event/event.ts";

/** The second argument of a handler, next to the event. */
export interface HandlerContext<Tx = unknown> {
  /** Aborts at the deadline or time limit, when the claim or lease is lost, or when the worker stops. Stop then, and write nothing more. */
  readonly signal: AbortSignal;
  /**
   * The number of this attempt, from 1. Every inbox also counts the attempts that ended with `retryLater`, a crash or a stop of the
   * worker, and those before a retry by an operator. Inline it is always 1, unless your own queue counts.
   */
  readonly attempt: number;
  /** The name of the endpoint that received the event. */
  readonly source: string;
  /** When the event was received. For an import without captured requests: when it was imported. */
  readonly receivedAt: Date;
  /** True when the event comes from an import, not from the sender. */
  readonly replayed: boolean;
  /** Adds the event's id, type and source to every line, if your logger has `child`. */
  readonly logger: Logger;
  /**
   * A transaction of the store's database, if the store is transactional. Its writes commit together with the mark that the event is done, or
   * not at all. It begins with its first query and ends when the handler has ended. If one call gets both the handlers and the store, the
   * type of `tx` comes from the store. Otherwise it is the second type parameter, `Handlers<EsimEvents, SqliteTransaction>`, or `unknown`.
   */
  readonly tx: Tx;
  /**
   * Ends a handler that is not ready for the event, for example because the event arrived before the answer to the API call that caused it. The
   * event is tried again, and what was written by `tx` is rolled back. This try does not count towards `maxAttempts`: the event can wait for the
   * worker's `maxWaitMs`. Notes the outcome, then throws `HandlerEnded`, so nothing after the call runs. Write `return context.retryLater()`, so
   * that TypeScript knows it too. If the pause is negative or not a number, the event fails with `invalid_input`.
   * @param afterMs the pause, in ms. A worker waits for a day at most; a sender has its own schedule. Default 60,000
   */
  readonly retryLater: (afterMs?: number) => never;
  /**
   * Ends a handler that wants no effect: the event is done, and `reason` is logged. What was written by `tx` before is committed. Notes
   * the outcome, then throws `HandlerEnded`, so nothing after the call runs. Write `return context.discard(reason)`.
   */
  readonly discard: (reason: string) => never;
}

/**
 * Handles one event. Returning any value means that it is done. Throwing means that it has failed, and it is tried again. A handler that
 * has called `context.retryLater` or `context.discard` ends as that call says, even if it catches the call's error and returns.
 */
export type Handler<Event, Tx = unknown> = (event: Event, context: HandlerContext<Tx>) => unknown;

/** The event types that begin with a family's prefix: for `"esim.lifecycle.*"`, all that begin with `esim.lifecycle.`. */
export type FamilyMember<Types, Family> = Family extends `${infer Prefix}.*`
  ? Extract<Types, `${Prefix}.${string}`>
  : never;

/**
 * Event type → function. Keys are exact types of the catalog, its families (`"esim.lifecycle.*"`) and `"*"`. The most specific
 * key runs. Families and `"*"` also take event types that the catalog does not have, as an `UnknownEvent`.
 */
export type Handlers<Data, Tx = unknown> = {
  // mapped over keyof Data only, which keeps its doc comments: an editor shows when the event is sent
  readonly [Type in keyof Data]?: Handler<EventOf<Pick<Data, Type>>, Tx>;
} & {
  readonly [Family in FamilyOf<keyof Data & string>]?: Handler<
    EventOf<Pick<Data, FamilyMember<keyof Data, Family>>> | UnknownEvent,
    Tx
  >;
} & { readonly "*"?: Handler<EventOf<Data> | UnknownEvent, Tx> };

/** The error of an attempt whose handler ran too long. `cause`: the error that the handler threw within `graceMs`, if it did. */
export class HandlerTimeout extends Error {
  /** The same name as that of the error of `AbortSignal.timeout`. */
  override readonly name = "TimeoutError";
}
