import type { InboxLease } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";

/** Leased → leased for longer. One to one: whether the lease was still held. */
export function renew(
  tx: Transaction,
  { leases, leaseMs }: { readonly leases: readonly InboxLease[]; readonly leaseMs: number },
): boolean[] {
  return leases.map(({ source, id, token }) => {
    const changed = tx.run(
      `update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs
      where id = $id and source = $source and fence = $token and state = 'leased'`,
      { now: tx.nowMs, leaseMs, id, source, token },
    );
    return changed > 0;
  });
}
