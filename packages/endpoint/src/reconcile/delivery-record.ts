import type { WebhookDelivery } from "@esim-webhooks/client";
import type { RawRecord } from "@esim-webhooks/import";

/**
 * A delivery as a record for `replayRecords`, with the number of its place. It has only the fields that the documentation of
 * the listing names: the import would take others for those of a captured request. The answer of the endpoint is left out.
 */
export function recordOf(delivery: WebhookDelivery, record: number): RawRecord {
  const { eventId, eventType, payload, status, attemptNumber, httpStatus, nextRetryAt, sentAt, deliveredAt } =
    delivery;
  return {
    position: { record },
    value: {
      eventId,
      eventType,
      payload,
      status,
      attemptNumber,
      httpStatus,
      nextRetryAt,
      sentAt,
      deliveredAt,
    },
  };
}
