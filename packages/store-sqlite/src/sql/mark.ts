import type { EventKey } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded } from "./lease.ts";

export interface HeldInput {
  readonly key: EventKey;
  readonly token: string;
}

/** The row of this token, and that its lease is live: SQL. */
const held = "id = $id and source = $source and fence = $token";
const owned = `${held} and state = 'leased' and not ${hasEnded}`;

function parametersOf({ nowMs: now }: Transaction, { key: { id, source }, token }: HeldInput) {
  return { now, id, source, token };
}

/** Leased → leased for longer. False: the lease is not this token's any more. */
export function extend(tx: Transaction, input: HeldInput & { readonly leaseMs: number }): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set ends_at = $now + $leaseMs, lease_ms = $leaseMs where ${owned}`,
    { ...parametersOf(tx, input), leaseMs: input.leaseMs },
  );
  return changed > 0;
}

export type CompleteInput = HeldInput & { readonly retentionMs: number };

/** Leased → done. True for the token that did it before as well. */
export function complete(tx: Transaction, input: CompleteInput): boolean {
  return done(tx, input, owned) || isDone(tx, input);
}

/**
 * Leased → done together with what the handler wrote, by the fence alone: a lease that has ended and was taken by nobody is
 * still this one.
 */
export function completeByFence(tx: Transaction, input: CompleteInput): boolean {
  return done(tx, input, `${held} and state = 'leased'`);
}

function done(tx: Transaction, input: CompleteInput, condition: string): boolean {
  const changed = tx.run(
    `update esim_webhooks_event set state = 'done', body = null, ends_at = $now + $retentionMs where ${condition}`,
    { ...parametersOf(tx, input), retentionMs: input.retentionMs },
  );
  return changed > 0;
}

function isDone(tx: Transaction, input: HeldInput): boolean {
  const { now: _, ...parameters } = parametersOf(tx, input);
  const row = tx.get(`select 1 from esim_webhooks_event where ${held} and state = 'done'`, parameters);
  return row !== undefined;
}

/** Leased → absent, or ready where an inbox has left its body. False: as for `extend`. */
export function release(tx: Transaction, input: HeldInput): boolean {
  const parameters = parametersOf(tx, input);
  const giveBack = `update esim_webhooks_event set state = 'ready', ends_at = $now where ${owned}`;
  return (
    tx.run(`delete from esim_webhooks_event where ${owned} and body is null`, parameters) > 0 ||
    tx.run(giveBack, parameters) > 0
  );
}
