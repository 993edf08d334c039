import type { WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";

/** When the event of a delivery occurred, in ms since the Unix epoch. NaN without a valid timestamp. */
export function occurredAtMs({ payload }: Pick<WebhookDelivery, "payload">): number {
  return dateTimeMs(payload?.["timestamp"]);
}

/** When the service last sent it or got its acknowledgement, by the service's clock. NaN before its first attempt. */
export function sentAtMs({ sentAt, deliveredAt }: Pick<WebhookDelivery, "sentAt" | "deliveredAt">): number {
  return newest([dateTimeMs(sentAt), dateTimeMs(deliveredAt)]);
}

/** The newest time that a delivery shows. NaN if it shows none. */
export function newestMs(delivery: WebhookDelivery): number {
  return newest([occurredAtMs(delivery), sentAtMs(delivery)]);
}

/** The newest of these times, without those that are NaN; NaN if all are. */
export function newest(times: readonly number[]): number {
  return times.reduce((one, other) => (other > one || Number.isNaN(one) ? other : one), Number.NaN);
}
