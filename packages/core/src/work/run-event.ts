import type { Backoff } from "../base/backoff.ts";
import type { Logger } from "../base/logger.ts";
import type { Catalog, Issue } from "../event/catalog.ts";
import type { WebhookEvent } from "../event/event.ts";
import type { Dispatcher } from "../handle/dispatcher.ts";
import { handlerContext } from "../handle/handler-context.ts";
import { isDone, transacted } from "../handle/run-handler.ts";
import type { InboxQueue, Settlement } from "../store/inbox-queue.ts";
import type { WorkerLease } from "./leases.ts";

/** What a worker makes of a taken event: how to settle it, or that it has been settled with its transaction. */
export type Worked = Settlement | "committed" | "lost";

export interface TakenWorkOptions {
  readonly inbox: Pick<InboxQueue, "transact">;
  readonly dispatcher: Dispatcher;
  readonly catalog: Catalog<unknown>;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly logger: Logger;
}

/** Parse, dispatch, and say how to settle. Never rejects but for what the inbox does. */
export function createTakenWork(options: TakenWorkOptions): (lease: WorkerLease) => Promise<Worked> {
  const { inbox, dispatcher, catalog, maxAttempts, backoff, logger } = options;

  const warnedOf = new Set<string>();

  function warnUnhandled(type: string, source: string): void {
    if (warnedOf.has(type)) return;
    warnedOf.add(type);
    logger.warn(
      { type, source },
      "No handler takes events of this type: they are kept unhandled. Add a handler and redrive them before their retention ends.",
    );
  }

  return async (lease) => {
    const { taken } = lease;
    const { source, id, token } = taken;
    const done = { source, id, token, state: "done" } as const;
    const dead = (error: string) => ({ source, id, token, state: "dead", error }) as const;
    if (taken.attempt > maxAttempts)
      return dead(`Its worker ended, or the inbox did not answer, ${maxAttempts} times.`);

    const parsed = catalog.parse(id, taken.body);
    lease.type = parsed.type;
    if (parsed.kind === "invalid") return dead(describeIssues(parsed.issues));
    const event: WebhookEvent = parsed.event;
    if (parsed.kind === "unknown" || !dispatcher.handles(event.type)) {
      warnUnhandled(event.type, source);
      return { source, id, token, state: "unhandled" };
    }

    const { transact } = inbox;
    const { attempt, receivedAt, replayed } = taken;
    const facts = { source, attempt, receivedAt, replayed, lease };
    const { outcome, transaction } = await transacted(
      transact && ((work) => transact.call(inbox, taken, work)),
      (tx) => dispatcher.dispatch(event, handlerContext(event, { ...facts, tx }, logger)),
    );
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
        return done;
      case "retry_later":
        return taken.attempt >= maxAttempts
          ? dead(`The handler asked for a retry ${maxAttempts} times.`)
          : { source, id, token, state: "ready", afterMs: outcome.retryAfterMs, error: "retryLater" };
      case "failed": {
        const error = describeError(outcome.error);
        logger.error(
          { id, type: event.type, source, attempt: taken.attempt, err: outcome.error },
          "The handler failed.",
        );
        return taken.attempt >= maxAttempts
          ? dead(error)
          : { source, id, token, state: "ready", afterMs: backoff(taken.attempt), error };
      }
    }
  };
}

/** For operators, in the inbox: what the handler threw, without its stack. */
function describeError(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "The handler threw what has no text."; // an object without a prototype, for one
  }
}

/** By path and message: they stay in the inbox, beside the body. */
function describeIssues(issues: readonly Issue[]): string {
  return `invalid: ${issues.map(({ path, message }) => `${path}: ${message}`).join("; ")}`;
}
