/**
 * Whether the lease in a row has ended at the time `$now`: SQL. One that ends further ahead than it was long has ended too,
 * since the machine's clock was set back and its owner is long gone; by a second more, which a clock may drift.
 */
export const hasEnded = "(ends_at <= $now or ends_at > $now + lease_ms + 1000)";

/** A fence that was never given before: SQL. */
export const newFence = "lower(hex(randomblob(12)))";

/** Why an event whose lease has ended is ready again, where no attempt before gave a reason. */
export const leaseEnded = "The lease ended before its worker settled it.";
