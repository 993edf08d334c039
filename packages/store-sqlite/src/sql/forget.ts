import type { PurgeClock } from "@esim-webhooks/core/engine";
import type { Transaction } from "../database/transaction.ts";

/** The machine's clock, and what the last purge kept of it. */
export function purgeClock(
  tx: Transaction,
  _: undefined,
): { readonly nowMs: number; readonly kept: PurgeClock | undefined } {
  const kept = tx.get<PurgeClock>(
    "select seen_at as seenMs, held_until as heldUntilMs from esim_webhooks_purge_clock",
  );
  return { nowMs: tx.nowMs, kept };
}

export interface ForgetInput {
  readonly limit: number;
  readonly next: PurgeClock;
  readonly kept: PurgeClock | undefined;
  /** How long the bodies of dead and unhandled events are kept; undefined: as long as the events. */
  readonly bodyRetentionMs: number | undefined;
}

/**
 * Replaces `kept` by `next`, then deletes some done and unhandled events whose retention had expired at the time of `next`, and removes
 * some bodies of dead and unhandled ones, both together at most `limit`. Returns how many; undefined if another process has replaced `kept`.
 */
export function forget(tx: Transaction, input: ForgetInput): number | undefined {
  const { limit, next, kept, bodyRetentionMs } = input;
  const replaced = tx.run(
    `insert into esim_webhooks_purge_clock (one, seen_at, held_until) values (1, $seenMs, $heldUntilMs)
    on conflict do update set seen_at = excluded.seen_at, held_until = excluded.held_until where seen_at = $keptMs`,
    { ...next, keptMs: kept?.seenMs ?? null },
  );
  if (replaced === 0) return undefined;
  const forgotten = tx.run(
    `delete from esim_webhooks_event where rowid in (
      select rowid from esim_webhooks_event
      where state in ('done', 'unhandled') and kept_until <= $untilMs order by kept_until limit $limit
    )`,
    { untilMs: next.seenMs, limit },
  );
  const emptied =
    bodyRetentionMs === undefined || forgotten >= limit
      ? 0
      : removeBodies(tx, { untilMs: next.seenMs - bodyRetentionMs, limit: limit - forgotten });
  if (forgotten + emptied > 0) shrink(tx);
  return forgotten + emptied;
}

/** Removes the bodies of events that died, or had no handler, at this time or earlier. Returns how many. */
function removeBodies(tx: Transaction, input: { readonly untilMs: number; readonly limit: number }): number {
  return tx.run(
    `update esim_webhooks_event set body = null where rowid in (
      select rowid from esim_webhooks_event
      where state in ('dead', 'unhandled') and body is not null and settled_at <= $untilMs order by settled_at limit $limit
    )`,
    { untilMs: input.untilMs, limit: input.limit },
  );
}

const mostPages = 256;

/** Gives some of the free pages back to the disk. Has no effect unless this package has created the file (`auto_vacuum`). */
export function shrink(tx: Transaction): void {
  tx.exec(`pragma incremental_vacuum(${mostPages})`);
}
