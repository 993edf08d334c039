import { monotonicClock } from "../base/clock.ts";
import type { InboxEntry } from "./inbox-entry.ts";

const everyMs = 10_000;

/**
 * For authors of inboxes: returns a function for the entries of each `put`. At most every ten seconds, it returns when the last delivery
 * among them was received, to be noted for `gauges`; else undefined. Imports are no deliveries.
 */
export function createDeliveryNotes(): (entries: readonly InboxEntry[]) => Date | undefined {
  let dueAt = Number.NEGATIVE_INFINITY;

  return (entries) => {
    const now = monotonicClock.now();
    if (now < dueAt) return undefined;
    const deliveries = entries.filter(({ replay }) => replay === undefined);
    if (deliveries.length === 0) return undefined;
    dueAt = now + everyMs;
    return new Date(Math.max(...deliveries.map(({ receivedAt }) => receivedAt.getTime())));
  };
}
