import type { InboxLease, Settlement } from "@esim-webhooks/core";
import { spreadRetention } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import { inMs, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder } from "./key-order.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;
const longestWaitMs = 100 * 365 * 24 * 3_600_000; // a time beyond Postgres's calendar would fail the whole batch

/**
 * Leased → done, unhandled, ready or dead, for each lease that is still held. Answers one to one whether it was held.
 * `migrations/0002-inbox.sql` says why it is a function in the database.
 */
export async function settle(
  db: Kysely<unknown>,
  tables: Tables,
  settlements: readonly Settlement[],
  { retentionMs, keepBodies }: SettleRules,
): Promise<boolean[]> {
  const sorted = inKeyOrder(settlements, (lease) => lease);
  const { rows } = await sql<{ token: string }>`
    select fence::text as token from ${tables.settle}(
      ${sorted.map(({ source }) => source)}::text[],
      ${sorted.map(({ id }) => id)}::text[],
      ${sorted.map(({ token }) => token)}::bigint[],
      ${sorted.map(({ state }) => (state === "untouched" ? "ready" : state))}::text[],
      ${sorted.map((settlement) => ("afterMs" in settlement ? Math.min(settlement.afterMs, longestWaitMs) : 0))}::float8[],
      ${sorted.map(({ state }) => (state === "untouched" ? 1 : 0))}::int[],
      ${sorted.map((settlement) => ("error" in settlement ? storableError(settlement.error) : null))}::text[],
      ${serverTime}, ${spreadRetention(retentionMs)}::float8 * interval '1 millisecond', ${keepBodies}
    ) as fence`.execute(db);
  return wereChanged(settlements, rows);
}

/** Leased → leased for longer. Answers one to one whether the lease was still held. */
export async function renew(
  db: Kysely<unknown>,
  tables: Tables,
  leases: readonly InboxLease[],
  leaseMs: number,
): Promise<boolean[]> {
  const sorted = inKeyOrder(leases, (lease) => lease);
  const { rows } = await sql<{ token: string }>`
    select fence::text as token from ${tables.renew}(
      ${sorted.map(({ source }) => source)}::text[],
      ${sorted.map(({ id }) => id)}::text[],
      ${sorted.map(({ token }) => token)}::bigint[],
      ${inMs(leaseMs)}
    ) as fence`.execute(db);
  return wereChanged(leases, rows);
}

/** Whether each lease was changed. A fence is never reused, so it identifies its lease. */
function wereChanged(leases: readonly InboxLease[], rows: readonly { token: string }[]): boolean[] {
  const changed = new Set(rows.map(({ token }) => token));
  return leases.map(({ token }) => changed.has(token));
}

function storableError(error: string): string {
  return error.replaceAll("\0", "\uFFFD").slice(0, longestError);
}
