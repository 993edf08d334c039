import type { Transaction } from "../database/transaction.ts";
import { type HeldInput, heldParameters, owned } from "./held.ts";

/** Leased → absent, or ready where an inbox has left its body. False: as for `extend`. */
export function release(tx: Transaction, input: HeldInput): boolean {
  const parameters = heldParameters(tx, input);
  const giveBack = `update esim_webhooks_event set state = 'ready', ends_at = $now, term_ms = 0 where ${owned}`;
  return (
    tx.run(`delete from esim_webhooks_event where ${owned} and body is null`, parameters) > 0 ||
    tx.run(giveBack, parameters) > 0
  );
}
