import type { Transaction } from "../database/transaction.ts";
import { driftMs } from "./lease.ts";

/**
 * For events that are due further ahead than they were to wait, since the machine's clock was set back: they wait that long from
 * now. One statement for each of the indexes by which events are due.
 */
export function shortenWaits(tx: Transaction): void {
  for (const where of ["lane is null", "lane is not null"]) {
    tx.run(
      `update esim_webhooks_event set ends_at = $now + term_ms
      where state = 'ready' and ${where} and ends_at > $now + ${driftMs} and ends_at > $now + term_ms + ${driftMs}`,
      { now: tx.nowMs },
    );
  }
}
