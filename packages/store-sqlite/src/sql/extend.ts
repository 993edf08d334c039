import type { Transaction } from "../database/transaction.ts";
import { type HeldInput, heldParameters, owned } from "./held.ts";

export interface ExtendInput extends HeldInput {
  readonly leaseMs: number;
}

/** Leased → leased for longer. False: the lease is not this token's any more. */
export function extend(tx: Transaction, input: ExtendInput): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs where ${owned}`,
    { ...heldParameters(tx, input), leaseMs: input.leaseMs },
  );
  return changed > 0;
}
