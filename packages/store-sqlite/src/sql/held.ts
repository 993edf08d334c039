import type { EventKey } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded } from "./lease.ts";

/** A claim of an id, by its token. */
export interface HeldInput {
  readonly key: EventKey;
  readonly token: string;
}

/** Whether a row is this token's: SQL. */
export const held = "id = $id and source = $source and fence = $token";

/** Whether its lease is live, too: SQL. */
export const owned: string = `${held} and state = 'leased' and not ${hasEnded}`;

/** What `held` and `owned` are given. */
export function heldParameters(
  { nowMs: now }: Transaction,
  { key: { id, source }, token }: HeldInput,
): { readonly now: number; readonly id: string; readonly source: string; readonly token: string } {
  return { now, id, source, token };
}
