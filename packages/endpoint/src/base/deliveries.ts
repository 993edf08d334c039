import { type ApiClient, ApiError, type WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { checkClient } from "./options.ts";

/** The HTTP status with which a receiver refuses a delivery that none of its keys has signed. The service does not send such a delivery again. */
export const refusedStatus = 401;

/** How long the service lists deliveries, in ms: 7 days. */
export const listedMs: number = 7 * 24 * 60 * 60_000;

/** Options of `readDeliveries`. */
export interface ReadDeliveriesOptions {
  /** Ends after the first page whose deliveries are all older than this. Default: reads the whole listing. */
  readonly until?: Date | undefined;
  /** Ends the reading when it aborts: the iteration rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** A listing with more pages is taken for endless: this many hold ten million deliveries, and take about three hours at the service's rate limit. */
const mostPages = 100_000;

/** A page of the deliveries listing. */
export interface DeliveriesPage {
  /** Newest first, as the service orders them. */
  readonly deliveries: readonly WebhookDelivery[];
  /** Why no page follows: all deliveries of this page are `older` than `until`, or the `listing` ends. Absent before the last page. */
  readonly end?: "older" | "listing";
}

/**
 * Reads the deliveries of an endpoint from the top, 100 a page, with the low priority of lists. A delivery is as old as the
 * newest time that it shows: when its event occurred, its latest attempt, or its acknowledgement. A delivery that was not attempted
 * yet is never older than `until`: the service may have made it just now, for an event that occurred long ago. So `until` works whichever of
 * these times the service orders by, as long as the times of one delivery differ little; without `until`, all that is listed is read.
 *
 * The listing reaches back 7 days, and may show a delivery late, or on two pages. Rejects with an `ApiError`, such as
 * `unexpected_answer` when more pages follow after 100,000, or `invalid_option` without a client.
 */
export async function* readDeliveries(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  { until, signal }: ReadDeliveriesOptions = {},
): AsyncGenerator<DeliveriesPage> {
  checkClient("readDeliveries", api, "webhooks");
  const untilMs = until?.getTime() ?? Number.NEGATIVE_INFINITY;
  const isOlder = (delivery: WebhookDelivery) =>
    !Number.isNaN(sentAtMs(delivery)) && newestMs(delivery) < untilMs;
  const listing = api.webhooks.deliveries(endpointReference, { limit: 100, signal });
  let pages = 0;
  for await (const { data: deliveries, pagination } of listing.pages()) {
    pages += 1;
    if (!pagination.hasMore) {
      yield { deliveries, end: "listing" };
    } else if (deliveries.length > 0 && deliveries.every(isOlder)) {
      yield { deliveries, end: "older" };
      return;
    } else if (pages < mostPages) {
      yield { deliveries };
    } else {
      throw new ApiError(
        "unexpected_answer",
        `the listing of the endpoint ${endpointReference} has more than 100,000 pages, so it may have no end.`,
        "Ask the service's support why its cursors do not end.",
        { where: "webhooks.deliveries" },
      );
    }
  }
}

/** When the event of a delivery occurred, in ms since the Unix epoch. NaN without a valid timestamp. */
export function occurredAtMs({ payload }: Pick<WebhookDelivery, "payload">): number {
  return dateTimeMs(payload?.["timestamp"]);
}

/** When the service last sent a delivery or got its acknowledgement, by the service's clock. NaN if the delivery shows neither time. */
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

/**
 * The service's plan for a delivery.
 * - `coming`: the service sends it, now or later
 * - `delivered`: it was acknowledged, and is not sent again
 * - `missed`: it was not acknowledged, and is not sent again
 */
export type ServicePlan = "coming" | "delivered" | "missed";

/**
 * Returns the service's plan for a delivery, by its status and `nextRetryAt`. An unknown status, or none, means missed: an event that is
 * recovered too early is a duplicate when it is delivered, but an event that is never recovered is lost.
 */
export function servicePlanOf({
  status,
  nextRetryAt,
}: Pick<WebhookDelivery, "status" | "nextRetryAt">): ServicePlan {
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
