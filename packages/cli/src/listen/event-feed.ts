import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import { newestMs, occurredAtMs, readDeliveries, sentAtMs } from "@esim-webhooks/endpoint";

/** The events of an endpoint, as its deliveries listing shows them. */
export interface EventFeed {
  /**
   * Reads the listing from its top. Resolves to the deliveries of events that no read has given before, oldest first. If it
   * rejects, nothing counts as read, and the next read gives these deliveries.
   */
  read(signal: AbortSignal): Promise<readonly WebhookDelivery[]>;
}

export interface EventFeedOptions {
  /** Begins with the events since this time. Default: with those that the service lists after the first read, which gives none. */
  readonly since?: Date | undefined;
  /** The time in ms, for tests. */
  readonly now?: () => number;
}

/** How far below its newest delivery the listing is read again, in ms: it may show a delivery late, and below others. */
const overlapMs = 2 * 60_000;
/** How often a read goes through the whole overlap, in ms. The others end at the first page that is known: usually one call. */
const fullEveryMs = 30_000;

export function createEventFeed(
  api: Pick<ApiClient, "webhooks">,
  reference: string,
  { since, now = () => performance.now() }: EventFeedOptions = {},
): EventFeed {
  // never forgotten: the service may show a delivery at the top again after each of its attempts
  const known = new Set<string | null>(); // of all deliveries without an id, one is given: they cannot be distinguished
  let startMs = since?.getTime();
  /** Where the next full read ends: a time of the service's clock. */
  let endMs = startMs;
  let fullAt = Number.NEGATIVE_INFINITY;

  /** Whether a delivery is from before the start: it is older, or its event is, and a retry lists it again. */
  const isEarlier = (delivery: WebhookDelivery, start: number) =>
    newestMs(delivery) < start || (occurredAtMs(delivery) < start && (delivery.attemptNumber ?? 0) > 1);

  return {
    async read(signal) {
      const readAt = now();
      const isFull = readAt - fullAt >= fullEveryMs;
      const found = new Map<string | null, WebhookDelivery>();
      // only the times of attempts: an event has the time of a device, which may be in the future
      let newestSent = Number.NEGATIVE_INFINITY;
      for await (const { deliveries } of readDeliveries(api, reference, { signal })) {
        for (const delivery of deliveries) {
          if (!known.has(delivery.eventId)) found.set(delivery.eventId, delivery);
          newestSent = Math.max(newestSent, sentAtMs(delivery) || newestSent);
        }
        const end = endMs ?? newestSent - overlapMs;
        const isKnown = deliveries.every(({ eventId }) => known.has(eventId));
        if ((!isFull && isKnown) || deliveries.every((delivery) => newestMs(delivery) < end)) break;
      }
      for (const id of found.keys()) known.add(id);
      if (isFull) {
        fullAt = readAt;
        endMs = newestSent - overlapMs;
      }
      if (startMs === undefined) {
        startMs = newestSent - overlapMs;
        return [];
      }
      const start = startMs;
      return [...found.values()]
        .reverse()
        .filter((delivery) => !isEarlier(delivery, start))
        .sort((one, other) => occurredAtMs(one) - occurredAtMs(other) || 0);
    },
  };
}
