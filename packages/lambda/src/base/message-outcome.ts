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
