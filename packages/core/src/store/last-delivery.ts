import { monotonicClock } from "../base/clock.ts";
import type { InboxEntry } from "./inbox-entry.ts";

const everyMs = 10_000;

/**
 * For authors of inboxes: returns a function to call with entries once they are stored. It calls `write` with the time of the last
 * delivery among them, at most every ten seconds. What `write` throws is ignored: the next delivery tries again.
 */
export function noteDeliveries(
  write: (receivedAt: Date) => Promise<void>,
): (entries: readonly InboxEntry[]) => void {
  let dueAt = Number.NEGATIVE_INFINITY;

  return (entries) => {
    const now = monotonicClock.now();
    if (now < dueAt) return;
    const times = entries
      .filter(({ replay }) => replay === undefined)
      .map(({ receivedAt }) => receivedAt.getTime());
    if (times.length === 0) return;
    dueAt = now + everyMs;
    void write(new Date(Math.max(...times))).catch(() => {
      dueAt = Number.NEGATIVE_INFINITY;
    });
  };
}
