import type { EventOutcome } from "@esim-webhooks/core";

/** Whether SQS may delete the message. */
export const isDone: Readonly<Record<EventOutcome["code"], boolean>> = {
  processed: true,
  duplicate: true,
  conflict: true,
  discarded: true,
  unknown_type: true,
  unhandled_type: true,
  invalid: false,
  busy: false,
  retry_later: false,
  failed: false,
  deadline_reached: false,
  lease_lost: false,
  store_unavailable: false,
};

/** The outcomes of which the processor logs nothing, since no handler has run, and of which an operator must know. */
export const unlogged: ReadonlySet<EventOutcome["code"]> = new Set<EventOutcome["code"]>([
  "conflict",
  "invalid",
  "store_unavailable",
]);

/** The fields of a log line. Not the values of issues, which are the event's own. */
export function shownOutcome(outcome: EventOutcome): Record<string, unknown> {
  return {
    outcome: outcome.code,
    ...("error" in outcome && { err: outcome.error }),
    ...("issues" in outcome && { issues: outcome.issues.map(({ path }) => path) }),
  };
}
