import type { Awaitable } from "../base/awaitable.ts";
import { monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { childOf, type Logger, silentLogger, throttledLog } from "../base/logger.ts";
import { traceIds } from "../base/tracer.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { Lease } from "../lease/lease.ts";
import type { Transacted } from "../store/dedupe-store.ts";
import type { Dispatcher, TakenFacts } from "./dispatcher.ts";
import type { EventOutcome } from "./event-outcome.ts";
import type { HandlerContext } from "./handler.ts";
import { createNote, noteDiscard, noteRetryLater } from "./noted-outcome.ts";

/** The facts about an event that are known when its handler is called. */
export interface ContextFacts extends TakenFacts {
  readonly source: string;
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replayed: boolean;
}

/**
 * Runs the handler of an event under its lease. The outcome is `lease_lost` if the lease has ended at `now`, a time of `performance.now()`.
 * Never throws or rejects.
 */
export type RunHandler = (
  event: WebhookEvent,
  facts: ContextFacts,
  lease: Lease,
  tx: unknown,
  now: number,
) => Awaitable<EventOutcome>;

/**
 * Makes the function that runs handlers. It does not start the handler of an event whose lease has ended: the event loop may have been
 * blocked since the lease was asked for, and another owner may have the event.
 */
export function createRunHandler(dispatcher: Dispatcher, watch: LoopWatch, logger: Logger): RunHandler {
  return (event, facts, lease, tx, now) => {
    if (lease.state === "lost" || lease.heldUntil <= now) return { code: "lease_lost" };
    const { id, type } = event;
    const { source, attempt, receivedAt, replayed } = facts;
    const note = createNote();
    const noted = { source, id, type, logger };
    const context: HandlerContext = {
      signal: lease.controller.signal,
      attempt,
      source,
      receivedAt,
      replayed,
      logger: logger.child === undefined ? logger : childOf(logger, { id, type, source }),
      tx,
      // closures, so that handlers may destructure or spread their context
      retryLater: (afterMs = 60_000) => noteRetryLater(note, noted, afterMs),
      discard: (reason) => noteDiscard(note, noted, reason),
    };
    const outcome = dispatcher.dispatch(
      event,
      { context, note },
      logger === silentLogger ? facts : noting(lease, facts),
    );
    watch.expectedAt(now, () => [type]); // warns if the call itself took long
    return outcome;
  };
}

/** Adds `onStart`, which notes the ids of the handler's span on the lease. */
function noting(lease: Lease, facts: ContextFacts): ContextFacts {
  return {
    ...facts,
    onStart: () => {
      lease.spanIds = traceIds();
    },
  };
}

/** The outcome of a handler, and what became of its transaction. */
export interface Ran {
  readonly outcome: EventOutcome;
  readonly transaction: Transacted;
}

/** Runs `work` with a transaction. Commits it together with the mark if `work` resolves to true. */
export type Transact = (work: (tx: unknown) => Promise<boolean>) => Promise<Transacted>;

/** Runs a handler in a transaction, and commits it if the event is done. Rejects only with a `WebhookError`, such as one of the store. */
export async function runInTransaction(
  transact: Transact,
  run: (tx: unknown) => Awaitable<EventOutcome>,
): Promise<Ran> {
  let outcome: EventOutcome | undefined;
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

export function isDone({ code }: EventOutcome): boolean {
  return code === "processed" || code === "discarded";
}

/** Warns of handlers that block the event loop: while it is blocked, no lease is renewed. */
export interface LoopWatch {
  /**
   * Warns if `dueAt` is long past, and names the `types`. Called after the call of a handler, and by the timer that renews leases, which is
   * late if a handler blocks after an `await`.
   */
  expectedAt(dueAt: number, types: () => readonly (string | null)[]): void;
}

/** Creates a watch that accepts a blocked event loop for a third of a lease, at most for 1 s. */
export function watchLoop(logger: Logger, leaseMs: number): LoopWatch {
  const acceptedMs = Math.min(1000, leaseMs / 3);
  const log = throttledLog((fields, message) => logger.warn(fields, message), monotonicClock);
  let warnedAt = Number.NEGATIVE_INFINITY;

  return {
    expectedAt(dueAt, types) {
      const now = performance.now();
      if (now - dueAt <= acceptedMs || warnedAt > dueAt) return;
      warnedAt = now;
      log(
        { types: [...new Set(types())], blockedMs: Math.round(now - dueAt) },
        "The event loop was blocked while handlers of these types ran, so no lease was renewed. Do long computations in a worker thread.",
      );
    },
  };
}
