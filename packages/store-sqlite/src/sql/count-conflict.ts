import type { EventKey } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";

/** Counts a delivery that had the id of an event, but another body. */
export function countConflict(tx: Transaction, { source, id }: EventKey): void {
  tx.run("update esim_webhooks_event set conflicts = conflicts + 1 where id = ? and source = ?", id, source);
}
