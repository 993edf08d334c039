import { type Backoff, limitPauses } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { type Logger, silentLogger, throttledLog, warnOnce } from "../base/logger.ts";
import type { DriftWatch } from "../drift/watch-drift.ts";
import type { Catalog, Parsed } from "../event/catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import { decide, type Limits } from "../handle/decide.ts";
import { createTypeWarning, type Dispatcher } from "../handle/dispatcher.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";
import {
  createRunHandler,
  isDone,
  type LoopWatch,
  type Ran,
  runInTransaction,
} from "../handle/run-handler.ts";
import { isSettlementSeen, reportEnding } from "../handle/settled.ts";
import type { TimeLimits } from "../handle/time-limits.ts";
import type { Ending } from "../store/ending.ts";
import type { InboxQueue, TakenEvent } from "../store/inbox-queue.ts";
import type { WorkerLease } from "./leases.ts";

/** How a taken event ended, and whether the transaction of its handler has stored that already. */
export interface Ended {
  readonly ending: Ending;
  readonly isStored?: boolean;
}

export interface EventRunnerOptions {
  readonly inbox: Pick<InboxQueue, "transact">;
  readonly dispatcher: Dispatcher;
  readonly limits: TimeLimits;
  readonly leaseMs: number;
  readonly catalog: Catalog<unknown>;
  readonly maxAttempts: number;
  readonly maxWaitMs: number;
  readonly backoff: Backoff;
  readonly logger: Logger;
  readonly watch: LoopWatch;
  readonly drift: DriftWatch | undefined;
}

/** Creates the function that parses a taken event and runs its handler. It rejects only when the inbox fails. */
export function createEventRunner(options: EventRunnerOptions): (lease: WorkerLease) => Promise<Ended> {
  const {
    inbox,
    dispatcher,
    limits,
    leaseMs,
    catalog,
    maxAttempts,
    maxWaitMs,
    backoff,
    logger,
    watch,
    drift,
  } = options;
  const limitedWait = limitPauses("retryLater", logger, backoff);
  const runHandler = createRunHandler(dispatcher, watch, logger);
  const warnLate = throttledLog(logger.warn, monotonicClock);

  const warnUnhandled = createTypeWarning(
    logger,
    "Events of this type have no handler and are kept unhandled. Add a handler, and retry them before their retention ends: esim-webhooks inbox retry --status unhandled.",
  );

  function parse(taken: TakenEvent): Parsed<unknown> | { readonly kind: "threw"; readonly error: unknown } {
    try {
      return catalog.parse(taken.id, taken.body);
    } catch (error) {
      return { kind: "threw", error };
    }
  }

  async function run(event: WebhookEvent, lease: WorkerLease): Promise<Ran> {
    const { taken } = lease;
    const { transact } = inbox;
    const { source, attempt, receivedAt, replayed, waitMs, trace } = taken;
    const facts = { source, attempt, receivedAt, replayed, waitMs, trace, by: "worker" } as const;
    if (transact === undefined)
      return {
        outcome: await runHandler(event, facts, lease, undefined, performance.now()),
        transaction: "unused",
      };
    return runInTransaction(
      (work) => transact.call(inbox, taken, work),
      (tx) => runHandler(event, facts, lease, tx, performance.now()),
    );
  }

  async function runTaken(lease: WorkerLease): Promise<Ended> {
    const { taken } = lease;
    const { source, id, tries, waitedMs } = taken;
    const limitsOfTry: Limits = {
      maxWaitMs,
      isLast: ({ code }) => (code === "failed" ? tries >= maxAttempts : waitedMs >= maxWaitMs),
      afterMs: (outcome) =>
        outcome.code === "failed" ? backoff(tries) : limitedWait(outcome.retryAfterMs, tries),
    };
    const ended = (outcome: EventOutcome): Ended => ({ ending: decide(outcome, limitsOfTry) });

    if (tries > maxAttempts) {
      const error = `It was tried as often as this worker allows (maxAttempts: ${maxAttempts}). Its history says how each attempt ended.`;
      return { ending: { state: "dead", reason: "attempts", error } };
    }
    if (limits.isAbandoned(taken)) {
      const error = "The handler of an earlier attempt ran too long, and still runs in this process.";
      return { ending: { state: "given_back", afterMs: leaseMs, error } };
    }

    const parsed = parse(taken);
    if (parsed.kind === "threw") return ended({ code: "failed", error: parsed.error });
    if (taken.attempt === 1 && !taken.replayed) drift?.see(parsed, taken.receivedAt);
    if (parsed.kind === "invalid") return ended({ code: "invalid", issues: parsed.issues });
    const event: WebhookEvent = parsed.event;
    if (!dispatcher.handles(event.type)) {
      warnUnhandled(event, source);
      return ended({ code: "unhandled_type" });
    }

    const { outcome, transaction } = await run(event, lease);
    const about = { id, type: event.type, source };
    if (outcome.code === "lease_lost") {
      warnLate(about, "The lease on an event ended before its handler could start: it is given back.");
      return ended(outcome);
    }
    if (outcome.code === "discarded")
      logger.info({ ...about, reason: outcome.reason }, "An event was discarded by its handler.");
    if (transaction === "committed") return { ...ended(outcome), isStored: true };
    const isLost = lease.state === "lost" || (transaction === "rolled_back" && isDone(outcome));
    return isLost ? { ending: { state: "lost" } } : ended(outcome);
  }

  return runTaken;
}

const howToSeeMore =
  "Pass { logger } to createWorker: without one, this is the only warning, also for other events.";

/** Reports how a worker's lease ended. */
export function reportEnd(logger: Logger, lease: WorkerLease, ending: Ending): void {
  if (logger === silentLogger) warnOfFailure(ending);
  if (!isSettlementSeen(logger)) return;
  const { taken, takenAt, spanIds } = lease;
  const { source, id, type, attempt, receivedAt, waitMs } = taken;
  const durationMs = performance.now() - takenAt;
  const facts = { source, id, ...(type && { type }), by: "worker", attempt, durationMs, receivedAt } as const;
  reportEnding(logger, ending, { ...facts, waitMs }, spanIds);
}

/** Warns of the first failed handler and the first dead event of the process, for a worker without a logger. */
function warnOfFailure(ending: Ending): void {
  if (ending.state === "dead")
    warnOnce(
      "event_dead",
      `An event is dead and will not be tried again (${ending.reason}). ${howToSeeMore}`,
      ending.thrown,
    );
  if (ending.state !== "retry" || !("thrown" in ending)) return;
  const why = ending.reason === "timed_out" ? "The handler ran too long." : "The handler failed.";
  warnOnce("handler_failed", `${why} ${howToSeeMore}`, ending.thrown);
}
