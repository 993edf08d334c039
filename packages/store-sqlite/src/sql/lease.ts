import type { Transaction } from "../database/transaction.ts";

/** How far a clock may be behind without having been set back, in ms. */
export const driftMs = 1000;

/**
 * SQL for whether the lease in a row has ended at the time `$now`. A lease whose end is further ahead than its length has ended too:
 * the machine's clock was set back, and the lease's owner is long gone.
 */
export const hasEnded: string = `(leased_until <= $now or leased_until > $now + term_ms + ${driftMs})`;

/**
 * SQL for whether the retention of a row has expired at the time `$now`. A clock that has jumped ahead by more than an hour since the last
 * purge does not make it expire, nor does it expire while purging is held.
 */
export const hasExpired: string = `kept_until <= min($now, coalesce(
  (select iif(held_until > seen_at, 0, seen_at + 3600000) from esim_webhooks_purge_clock where one = 1), $now
))`;

/** SQL for a fence that was never used before. */
export const newFence = "lower(hex(randomblob(12)))";

/**
 * Returns SQL for the history of a row with one more attempt, cut to the last ten attempts. `attempt`: SQL for the attempt, as JSON. `at`: SQL
 * for the time when the attempt ended, in ms since the Unix epoch.
 */
export function withAttempt(attempt: string, at: string): string {
  const earlier =
    "iif(json_array_length(history) >= 10, json_remove(history, '$[0]'), coalesce(history, '[]'))";
  return `json_insert(${earlier}, '$[#]', json_set(${attempt}, '$.at', ${at}))`;
}

/** SQL for the attempt that is added to the history when a lease has ended without a settlement. */
export const leaseEndedAttempt = `'{"reason":"lease_ended"}'`;

/** The error of an event that is ready again because its lease has ended, if it had no error before. */
export const leaseEnded = "The lease ended before its worker settled it.";

/**
 * Shortens waits that have become too long because the machine's clock was set back: such events wait their full time again, from now on.
 * Runs one statement for each index of due events. `letGo` does the same for held events.
 */
export function shortenWaits(tx: Transaction): void {
  for (const where of ["lane is null", "lane is not null"]) {
    tx.run(
      `update esim_webhooks_event set due_at = $now + term_ms
      where state = 'ready' and held = 0 and ${where} and due_at > $now + ${driftMs} and due_at > $now + term_ms + ${driftMs}`,
      { now: tx.nowMs },
    );
  }
}
