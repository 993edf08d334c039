import { type Backoff, limitPauses } from "../base/backoff.ts";
import { monotonicClock } from "../base/clock.ts";
import { type Logger, silentLogger, throttledLog, warnOnce } from "../base/logger.ts";
import { isInstance } from "../base/thrown.ts";
import { type Catalog, type Issue, issueText, type Parsed, withoutValues } from "../event/catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import { createTypeWarning, type Dispatcher } from "../handle/dispatcher.ts";
import { HandlerTimeout } from "../handle/handler.ts";
import {
  createRunHandler,
  isDone,
  type LoopWatch,
  type Ran,
  runInTransaction,
} from "../handle/run-handler.ts";
import { ageOf, isSettlementSeen, reportSettled, type SettleMessage } from "../handle/settled.ts";
import type { TimeLimits } from "../handle/time-limits.ts";
import { errorText, readErrorText } from "../store/error-text.ts";
import type { FailureReason } from "../store/history.ts";
import type { InboxQueue, Settlement, TakenEvent } from "../store/inbox-queue.ts";
import type { WorkerLease } from "./leases.ts";

/** The result of running a taken event: how to settle it, or that its transaction has settled it or lost its lease. */
export type RunResult = Ending | "committed" | "lost";

/** How to settle an event. After a failed attempt it has a reason, and what its handler threw; a dead one also has a cause for the log. */
export interface Ending {
  readonly settlement: Settlement;
  readonly reason?: FailureReason;
  /** Default: the settlement's error. */
  readonly cause?: string;
  readonly error?: unknown;
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
}

/** Creates the function that parses a taken event and runs its handler. It rejects only when the inbox fails. */
export function createEventRunner(options: EventRunnerOptions): (lease: WorkerLease) => Promise<RunResult> {
  const { inbox, dispatcher, limits, leaseMs, catalog, maxAttempts, maxWaitMs, backoff, logger, watch } =
    options;
  const limitedWait = limitPauses("retryLater", logger, backoff);
  const runHandler = createRunHandler(dispatcher, watch, logger);
  const warnLate = throttledLog(logger.warn, monotonicClock);

  const warnUnhandled = createTypeWarning(
    logger,
    "Events of this type have no handler and are kept unhandled. Add a handler, and redrive them before their retention ends: esim-webhooks inbox retry --status unhandled.",
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
    const { source, attempt, receivedAt, replayed, dueForMs, trace } = taken;
    const facts = { source, attempt, receivedAt, replayed, dueForMs, trace, by: "worker" } as const;
    if (transact === undefined)
      return { outcome: await runHandler(event, facts, lease, undefined), transaction: "unused" };
    return runInTransaction(
      (work) => transact.call(inbox, taken, work),
      (tx) => runHandler(event, facts, lease, tx),
    );
  }

  return async (lease) => {
    const { taken } = lease;
    const { source, id, token, tries } = taken;
    const key = { source, id, token };
    const dead = (reason: FailureReason, error: string): Ending => ({
      settlement: { ...key, state: "dead", error },
      reason,
    });
    const failed = (error: unknown, message: string): Ending => {
      const text = errorText(error);
      const reason = isInstance(error, HandlerTimeout) ? "timed_out" : "failed";
      if (tries >= maxAttempts) return { ...dead(reason, text), error };
      if (logger === silentLogger) warnOnce("handler_failed", `${message} ${howToSeeMore}`, error);
      return {
        settlement: { ...key, state: "ready", afterMs: backoff(tries), error: text },
        reason,
        error,
      };
    };
    if (tries > maxAttempts)
      return dead(
        "attempts",
        `It was tried as often as this worker allows (maxAttempts: ${maxAttempts}). Its history says how each attempt ended.`,
      );

    if (limits.isAbandoned(taken)) {
      const error = "The handler of an earlier attempt ran too long, and still runs in this process.";
      return { settlement: { ...key, state: "waiting", afterMs: leaseMs, error, isPutOff: true } };
    }

    const parsed = parse(taken);
    if (parsed.kind === "threw") return failed(parsed.error, "The schema of the event threw.");
    if (parsed.kind === "invalid") {
      const cause = describeIssues(parsed.issues.map(withoutValues));
      return { ...dead("invalid", describeIssues(parsed.issues)), cause };
    }
    const event: WebhookEvent = parsed.event;
    if (!dispatcher.handles(event.type)) {
      warnUnhandled(event, source);
      return { settlement: { ...key, state: "unhandled" } };
    }

    const { outcome, transaction } = await run(event, lease);
    if (outcome.code === "lease_lost") {
      warnLate(
        { id, type: event.type, source },
        "The lease on an event ended before its handler could start: it is given back.",
      );
      return { settlement: { ...key, state: "untouched" } };
    }
    if (outcome.code === "discarded") {
      logger.info(
        { id, type: event.type, source, reason: outcome.reason },
        "An event was discarded by its handler.",
      );
    }
    if (transaction === "committed") return "committed";
    if (lease.isLost || (transaction === "rolled_back" && isDone(outcome))) return "lost";
    switch (outcome.code) {
      case "processed":
      case "discarded":
        return { settlement: { ...key, state: "done" } };
      case "retry_later":
        if (taken.waitedMs >= maxWaitMs)
          return dead(
            "retry_later",
            `The handler asked for retries for longer than maxWaitMs, ${maxWaitMs} ms.`,
          );
        return {
          settlement: {
            ...key,
            state: "waiting",
            afterMs: limitedWait(outcome.retryAfterMs, tries),
            error: "retryLater",
          },
        };
      case "failed":
        return failed(
          outcome.error,
          isInstance(outcome.error, HandlerTimeout) ? "The handler ran too long." : "The handler failed.",
        );
    }
  };
}

const howToSeeMore =
  "Pass { logger } to createWorker: without one, this is the only warning, also for other events.";

const mostIssues = 20;

/** The paths of the first issues, and what was expected there. */
function describeIssues(issues: readonly Issue[]): string {
  const texts = issues.slice(0, mostIssues).map(issueText);
  const left = issues.length - texts.length;
  return `invalid: ${[...texts, ...(left > 0 ? [`${left} more`] : [])].join("; ")}`;
}

/** Reports how a worker's lease ended; `error` when the inbox did not answer. A lost lease has the result that was discarded. */
export function reportEnd(
  logger: Logger,
  lease: WorkerLease,
  ending: RunResult | { readonly error: unknown },
  isLost = false,
): void {
  const result = typeof ending === "object" && "settlement" in ending ? ending : undefined;
  const isDead = result?.settlement.state === "dead" && !isLost;
  if (isDead && logger === silentLogger)
    warnOnce(
      "event_dead",
      `An event is dead and will not be tried again (${result.reason}). ${howToSeeMore}`,
      result.error,
    );
  if (!isSettlementSeen(logger)) return;
  const { taken, takenAt, spanIds } = lease;
  const { source, id, type, attempt, receivedAt, dueForMs: waitMs } = taken;
  reportSettled(
    logger,
    {
      source,
      id,
      ...(type && { type }),
      by: "worker",
      attempt,
      ...endingFields(isLost ? "lost" : ending),
      durationMs: performance.now() - takenAt,
      receivedAt,
      ageMs: ageOf(receivedAt),
      waitMs,
    },
    {
      isWaiting: result?.settlement.state === "waiting",
      ...(isDead && { cause: result.cause ?? readErrorText(result.settlement.error).error ?? undefined }),
      ...(result?.error !== undefined && { err: result.error }),
      spanIds,
    },
  );
}

function endingFields(
  ending: Parameters<typeof reportEnd>[2],
): Pick<SettleMessage, "outcome" | "afterMs" | "reason" | "error"> {
  if (ending === "committed") return { outcome: "done" };
  if (ending === "lost") return { outcome: "lost" };
  if (!("settlement" in ending)) return { outcome: "store_unavailable", ...ending };
  const { settlement, reason, error } = ending;
  const failure = reason !== undefined && { reason };
  switch (settlement.state) {
    case "ready":
    case "waiting":
      return { outcome: "retry", ...failure, afterMs: settlement.afterMs };
    case "untouched":
      return { outcome: "given_back" };
    case "dead":
      return { outcome: "dead", ...failure, ...(error !== undefined && { error }) };
    default:
      return { outcome: settlement.state };
  }
}
