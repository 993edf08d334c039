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

/** What no line of the processor says, since no handler has run. */
export const unsettledTexts: Partial<Record<EventOutcome["code"], string>> = {
  conflict: "The id of this event was done with another body, so nothing ran.",
  invalid: "The event does not have the expected form, and stays in the queue.",
  store_unavailable: "The store cannot answer, so the event stays in the queue.",
};

/** The fields of a log line. Not the values of issues, which are the event's own. */
export function shownOutcome(outcome: EventOutcome): Record<string, unknown> {
  return {
    outcome: outcome.code,
    ...("error" in outcome && { err: outcome.error }),
    ...("issues" in outcome && { issues: outcome.issues.map(({ path }) => path) }),
  };
}
