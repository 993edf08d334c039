import type { Transaction } from "../database/transaction.ts";
import { type ChosenInput, chosen } from "./chosen.ts";
import { shrink } from "./shrink.ts";

/** Deletes dead events. Returns how many. */
export function purgeDead(tx: Transaction, input: ChosenInput): number {
  const { sql, parameters } = chosen(input);
  const purged = tx.run(`delete from esim_webhooks_event where rowid in (${sql})`, ...parameters);
  if (purged > 0) shrink(tx);
  return purged;
}
