import { monotonicClock } from "../base/clock.ts";
import type { InboxEntry } from "./inbox-entry.ts";

const everyMs = 10_000;

/**
 * For authors of inboxes: returns a function that gives the time of the last delivery among entries that are being stored, if the inbox
 * is to note it for `gauges`: at most every ten seconds. Imports are no deliveries.
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
