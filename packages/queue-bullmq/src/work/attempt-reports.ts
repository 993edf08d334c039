import type { InboxEntry, Logger } from "@esim-webhooks/core";
import {
  ageOf,
  monotonicClock,
  reportSettled,
  type SettledLine,
  type SettleMessage,
  throttledLog,
} from "@esim-webhooks/core/kit";
import type { JobOutcome } from "./ending.ts";

/** Reports what core's processor does not: it reports the attempts for which a handler ran. */
export interface AttemptReports {
  /** To the log and to `observe`: how an attempt ended for which no handler ran. */
  settled(
    entry: InboxEntry,
    ended: Pick<SettleMessage, "attempt" | "outcome" | "reason" | "error" | "durationMs" | "waitMs">,
    line: SettledLine,
  ): void;
  /** To the log: what a settlement does not say. */
  ended(outcome: JobOutcome, entry: InboxEntry, attempt: number): void;
}

export function createAttemptReports(logger: Logger): AttemptReports {
  const logUnavailable = throttledLog(logger.error, monotonicClock);
  return {
    settled({ source, id, type, receivedAt }, ended, line) {
      const about = { source, id, ...(type && { type }), by: "processor" } as const;
      reportSettled(logger, { ...about, ...ended, receivedAt, ageMs: ageOf(receivedAt) }, line);
    },
    ended(outcome, { id, source, type }, attempt) {
      const fields = { id, type, source, attempt };
      switch (outcome.code) {
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
  };
}
