import type { Transaction } from "../database/transaction.ts";
import { type ChosenInput, chosen } from "./chosen.ts";

/** Dead or unhandled → ready, with attempts counted anew. Returns how many. */
export function redrive(tx: Transaction, input: ChosenInput): number {
  const { sql, parameters } = chosen(input);
  return tx.run(
    `update esim_webhooks_event set state = 'ready', attempts = 0, ends_at = ?, term_ms = 0 where rowid in (${sql})`,
    tx.nowMs,
    ...parameters,
  );
}
