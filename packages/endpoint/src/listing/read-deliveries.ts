import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { newestMs, sentAtMs } from "./delivery-times.ts";

export interface ReadDeliveriesOptions {
  /** Ends after the first page whose deliveries are all older than this. Default: reads the whole listing. */
  readonly until?: Date | undefined;
  /** Gives up when it aborts: the iteration rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of the deliveries listing. */
export interface DeliveriesPage {
  /** Newest first, as the service orders them. */
  readonly deliveries: readonly WebhookDelivery[];
  /** Why no page follows: all of its deliveries are `older` than `until`, or the `listing` ends. Absent before the last page. */
  readonly end?: "older" | "listing";
}

/**
 * Reads the deliveries of an endpoint from the top, 100 a page, with the low priority of lists. A delivery is as old as the
 * newest time that it shows: when its event occurred, its latest attempt, or its acknowledgement. One that was not attempted
 * yet is never older: the service may have made it now, of an event that occurred long ago. So `until` works whichever of
 * these the service orders by, as long as their differences are small; without it, none is missed.
 *
 * The listing reaches back 7 days, and may show deliveries late, or one on two pages. Rejects with an `ApiError`.
 */
export async function* readDeliveries(
  api: Pick<ApiClient, "webhooks">,
  endpointReference: string,
  { until, signal }: ReadDeliveriesOptions = {},
): AsyncGenerator<DeliveriesPage> {
  const untilMs = until?.getTime() ?? Number.NEGATIVE_INFINITY;
  const isOlder = (delivery: WebhookDelivery) =>
    !Number.isNaN(sentAtMs(delivery)) && newestMs(delivery) < untilMs;
  const listing = api.webhooks.deliveries(endpointReference, { limit: 100, signal });
  for await (const { data: deliveries, pagination } of listing.pages()) {
    if (!pagination.hasMore) {
      yield { deliveries, end: "listing" };
    } else if (deliveries.length > 0 && deliveries.every(isOlder)) {
      yield { deliveries, end: "older" };
      return;
    } else {
      yield { deliveries };
    }
  }
}
