import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { readDeliveries } from "@esim-webhooks/endpoint";

/** The newest deliveries of an endpoint. */
export interface NewestDeliveries {
  /** As listed: newest first. */
  readonly deliveries: readonly WebhookDelivery[];
  /** Whether these are all deliveries of the last 7 days. */
  readonly isAll: boolean;
}

/** As many calls fit into 2 s of the rate limit. A busy endpoint has more deliveries in 7 days than anybody would wait for. */
const mostPages = 20;

export async function newestDeliveries(api: ApiClient, reference: string): Promise<NewestDeliveries> {
  const byId = new Map<string | WebhookDelivery, WebhookDelivery>(); // two pages can show the same delivery
  let pages = 0;
  for await (const { deliveries, end } of readDeliveries(api, reference)) {
    for (const delivery of deliveries) byId.set(delivery.eventId ?? delivery, delivery);
    pages += 1;
    if (pages === mostPages && end === undefined) return { deliveries: [...byId.values()], isAll: false };
  }
  return { deliveries: [...byId.values()], isAll: true };
}
