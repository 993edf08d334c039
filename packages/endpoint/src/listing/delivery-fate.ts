import type { WebhookDelivery } from "@esim-webhooks/client";

/**
 * What the service will do about a delivery.
 * - `coming`: it sends it, now or later
 * - `delivered`: it was acknowledged, and is not sent again
 * - `missed`: it was not acknowledged, and is not sent again
 */
export type DeliveryFate = "coming" | "delivered" | "missed";

/**
 * The fate of a delivery, by its status. An unknown status, or none, means missed: an event that is recovered too early is a duplicate
 * when it is delivered, but one that is never recovered is lost.
 */
export function fateOf({
  status,
  nextRetryAt,
}: Pick<WebhookDelivery, "status" | "nextRetryAt">): DeliveryFate {
  switch (status) {
    case "delivered":
      return "delivered";
    case "pending":
    case "sending":
      return "coming";
    case "failed":
      return nextRetryAt === null ? "missed" : "coming";
    default:
      return "missed";
  }
}
