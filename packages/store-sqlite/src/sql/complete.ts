import type { Transaction } from "../database/transaction.ts";
import { type HeldInput, held, heldParameters, owned } from "./held.ts";

export interface CompleteInput extends HeldInput {
  readonly retentionMs: number;
}

/** Leased → done. True for the token that did it before as well. */
export function complete(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, owned) || isDone(tx, input);
}

/**
 * Leased → done together with what the handler wrote, by the fence alone: a lease that has ended and was taken by nobody is
 * still this one.
 */
export function completeByFence(tx: Transaction, input: CompleteInput): boolean {
  return markDone(tx, input, `${held} and state = 'leased'`);
}

function markDone(tx: Transaction, input: CompleteInput, condition: string): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set state = 'done', body = null, ends_at = $now + $retentionMs where ${condition}`,
    { ...heldParameters(tx, input), retentionMs: input.retentionMs },
  );
  return changed > 0;
}

function isDone(tx: Transaction, input: HeldInput): boolean {
  const { now: _, ...parameters } = heldParameters(tx, input);
  const row = tx.get(`select 1 from esim_webhooks_event where ${held} and state = 'done'`, parameters);
  return row !== undefined;
}
