/** How far a clock may be behind without having been set back, in ms. */
export const driftMs = 1000;

/**
 * Whether the lease in a row has ended at the time `$now`: SQL. One that ends further ahead than it was long has ended too,
 * since the machine's clock was set back and its owner is long gone.
 */
export const hasEnded: string = `(ends_at <= $now or ends_at > $now + term_ms + ${driftMs})`;

/**
 * Whether a retention in a row is over at the time `$now`: SQL. It is not over by a clock that has jumped ahead by more than an hour since the
 * last purge, nor while purging is held.
 */
export const isOver: string = `ends_at <= min($now, coalesce(
  (select iif(held_until > seen_at, 0, seen_at + 3600000) from esim_webhooks_purge_clock where one = 1), $now
))`;

/** A fence that was never given before: SQL. */
export const newFence = "lower(hex(randomblob(12)))";

/** Why an event whose lease has ended is ready again, where no attempt before gave a reason. */
export const leaseEnded = "The lease ended before its worker settled it.";
