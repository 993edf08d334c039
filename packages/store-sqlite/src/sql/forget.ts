import type { Transaction } from "../database/transaction.ts";
import { shrink } from "./shrink.ts";

/** Deletes some events whose retention is over, and says how many: done and unhandled ones. */
export function forget(tx: Transaction, { limit }: { readonly limit: number }): number {
  const forgotten = tx.run(
    `delete from esim_webhooks_event where rowid in (
      select rowid from esim_webhooks_event
      where state in ('done', 'unhandled') and ends_at <= $now order by ends_at limit $limit
    )`,
    { now: tx.nowMs, limit },
  );
  if (forgotten > 0) shrink(tx);
  return forgotten;
}
