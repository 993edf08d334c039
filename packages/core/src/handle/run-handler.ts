import type { Awaitable } from "../base/awaitable.ts";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, throttledLog } from "../base/logger.ts";
import { andThen } from "../base/waiting.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { Transacted } from "../store/dedupe-store.ts";
import type { DispatchOutcome, EventOutcome } from "./event-outcome.ts";
import type { HandlerContext } from "./handler.ts";

/** The lease of an event, as far as its handler is concerned. */
export interface HandlerLease {
  /** Aborts when the lease is lost, or when the handler must stop. Made by the first call: most handlers never use it. */
  signal(): AbortSignal;
  /** For how many ms nobody else can have the event, at least. Counted from when the lease was asked for. */
  remainingMs(): number;
}

/** What is known about an event when its handler is called. */
export interface ContextFacts {
  readonly source: string;
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replayed: boolean;
  readonly lease: HandlerLease;
  readonly tx: unknown;
}

/** The context of one run. It can be spread: `signal` and `logger` are properties of its own, made when they are read. */
export function handlerContext(
  { id, type }: WebhookEvent,
  { source, attempt, receivedAt, replayed, lease, tx }: ContextFacts,
  logger: Logger,
): HandlerContext {
  return {
    get signal() {
      return lease.signal();
    },
    attempt,
    source,
    receivedAt,
    replayed,
    get logger() {
      return logger.child?.({ id, type, source }) ?? logger;
    },
    tx,
  };
}

/** The outcome of a handler, or `lease_lost` if it was not started, and what became of its transaction. */
export interface Ran {
  readonly outcome: RunOutcome;
  readonly transaction: Transacted;
}

type RunOutcome = DispatchOutcome | Extract<EventOutcome, { code: "lease_lost" }>;

/** Runs `work` with a transaction. Commits it together with the mark if `work` resolves to true. */
export type Transact = (work: (tx: unknown) => Promise<boolean>) => Promise<Transacted>;

/**
 * Runs the handler, in a transaction if the store has them. Commits it if the event is done. Does not start it once its lease
 * has ended: the event loop may have been blocked since the lease was asked for, and another owner may have the event.
 */
export function transacted(
  transact: Transact | undefined,
  lease: HandlerLease,
  handle: (tx: unknown) => Awaitable<DispatchOutcome>,
): Awaitable<Ran> {
  const run = (tx: unknown): Awaitable<RunOutcome> =>
    lease.remainingMs() > 0 ? handle(tx) : { code: "lease_lost" };
  if (transact !== undefined) return inTransaction(transact, run);
  return andThen(run(undefined), (outcome) => ({ outcome, transaction: "unused" }));
}

async function inTransaction(transact: Transact, run: (tx: unknown) => Awaitable<RunOutcome>): Promise<Ran> {
  let outcome: RunOutcome | undefined;
  try {
    const transaction = await transact(async (tx) => {
      outcome = await run(tx);
      return isDone(outcome);
    });
    if (outcome === undefined) throw new TypeError("transact() did not call its work.");
    return { outcome, transaction };
  } catch (error) {
    if (WebhookError.is(error)) throw error;
    return { outcome: { code: "failed", error }, transaction: "rolled_back" }; // for example a constraint that is checked at commit
  }
}

export function isDone({ code }: RunOutcome): boolean {
  return code === "processed" || code === "discarded";
}

/** Warns of handlers that block the event loop: no lease is renewed meanwhile. */
export interface LoopWatch {
  /** Calls a handler, and warns if the call itself takes long. */
  call<Result>(type: string, handler: () => Result): Result;
  /** Warns when a timer fires late, which happens if a handler blocks after an `await`. Names the types that ran. */
  timerFired(dueAt: number, types: () => readonly (string | null)[]): void;
}

/** Accepts that the event loop is blocked for a third of a lease, and for 1 s at most. */
export function watchLoop(logger: Logger, leaseMs: number): LoopWatch {
  const acceptedMs = Math.min(1000, leaseMs / 3);
  const log = throttledLog((fields, message) => logger.warn(fields, message), monotonicClock);
  let warnedAt = Number.NEGATIVE_INFINITY;

  function timerFired(dueAt: number, types: () => readonly (string | null)[]): void {
    const now = performance.now();
    if (now - dueAt <= acceptedMs || warnedAt > dueAt) return;
    warnedAt = now;
    log(
      { types: [...new Set(types())], blockedMs: Math.round(now - dueAt) },
      "The event loop was blocked while handlers of these types ran, so no lease was renewed. Do long computations in a worker thread.",
    );
  }

  return {
    call(type, handler) {
      const calledAt = performance.now();
      const result = handler();
      timerFired(calledAt, () => [type]);
      return result;
    },
    timerFired,
  };
}
