import type { WebhookDelivery } from "@esim-webhooks/client";

/**
 * What the service will do about a delivery.
 * - `coming`: it sends it, now or later
 * - `delivered`: it was acknowledged, and is not sent again
 * - `missed`: it was not acknowledged, and is not sent again
 */
export type DeliveryFate = "coming" | "delivered" | "missed";

/**
 * The fate of a delivery, by its status. A status that nobody knows, or none, counts as missed: an event that is brought in too early
 * is a duplicate when it comes, but one that is left alone for ever is lost.
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
