import type { InboxEntry, Logger } from "@esim-webhooks/core";
import type { JobOutcome } from "./ending.ts";

/** Logs a dead event once. `outcome` is absent if no handler was called. */
export function logDead(
  logger: Logger,
  { id, type, source }: InboxEntry,
  attempt: number,
  { message: cause }: Error,
  outcome?: JobOutcome,
): void {
  logger.error(
    {
      id,
      type,
      source,
      attempt,
      outcome: "dead",
      cause,
      ...(outcome && "error" in outcome && { err: outcome.error }),
    },
    outcome?.code === "unhandled_type" || outcome?.code === "unknown_type"
      ? "No handler takes this event: it is kept as dead, and not tried again. Add a handler, then redrive it: esim-webhooks inbox retry."
      : "An event is dead and will not be tried again. Mend the cause, then redrive it: esim-webhooks inbox retry.",
  );
}
