import type { InboxEntry, Logger } from "@esim-webhooks/core";
import {
  ageOf,
  monotonicClock,
  type SettleMessage,
  settleNotice,
  throttledLog,
} from "@esim-webhooks/core/kit";
import type { JobOutcome } from "./ending.ts";

/** Logs how the attempts of jobs ended. */
export interface AttemptLog {
  /** An attempt that does not make the event dead. */
  ended(outcome: JobOutcome, entry: InboxEntry, attempt: number): void;
  /** Once for each dead event. `outcome` is absent if no handler was called. */
  dead(entry: InboxEntry, attempt: number, error: Error, outcome?: JobOutcome): void;
}

export function createAttemptLog(logger: Logger): AttemptLog {
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  return {
    ended(outcome, { id, source, type }, attempt) {
      const fields = { id, type, source, attempt };
      switch (outcome.code) {
        case "failed":
          return logger.error({ ...fields, err: outcome.error }, "The handler failed.");
        case "schema_threw":
          return logger.error({ ...fields, err: outcome.error }, "The schema of the event threw.");
        case "conflict":
          return logger.error(
            { ...fields, outcome: outcome.code },
            "An event was not handled: its id was done with another body.",
          );
        case "store_unavailable":
          return logUnavailable({ ...fields, err: outcome.error }, "The store did not answer.");
        case "discarded":
          return logger.info({ ...fields, reason: outcome.reason }, "An event was discarded by its handler.");
      }
    },
    dead({ id, type, source }, attempt, { message: cause }, outcome) {
      const err = outcome && "error" in outcome && { err: outcome.error };
      const isUnhandled = outcome?.code === "unhandled_type" || outcome?.code === "unknown_type";
      logger.error(
        { id, type, source, attempt, outcome: "dead", cause, ...err },
        isUnhandled
          ? "No handler takes this event: it is kept as dead, and not tried again. Add a handler, then redrive it: esim-webhooks inbox retry."
          : "An event is dead and will not be tried again. Fix the cause, then redrive it: esim-webhooks inbox retry.",
      );
    },
  };
}

/** Reports to `observe` how an attempt ended for which no handler ran. The processor of core reports all others. */
export function publishSettled(
  { source, id, type, receivedAt }: InboxEntry,
  ended: Pick<SettleMessage, "attempt" | "outcome" | "reason" | "error" | "durationMs" | "waitMs">,
): void {
  if (settleNotice.hasSubscribers)
    settleNotice.publish({
      source,
      id,
      ...(type && { type }),
      by: "processor",
      ...ended,
      receivedAt,
      ageMs: ageOf(receivedAt),
    });
}
