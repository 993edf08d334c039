import type { InboxLease, Settlement } from "@esim-webhooks/core";
import { keyText, rowChange, spreadRetention } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import { inMs, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder, numberArray, textArray } from "./batch.ts";
import { storableJson } from "./put-rows.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;

/**
 * Leased → done, unhandled, ready or dead, for each lease that is still held. Resolves to a boolean for each, in the same order: whether it
 * was held. A second settlement of the same lease is lost.
 */
export async function settle(
  db: Kysely<unknown>,
  tables: Tables,
  settlements: readonly Settlement[],
  { retentionMs, keepBodies }: SettleRules,
): Promise<boolean[]> {
  const tokens = new Set<string>();
  const isFirst = settlements.map(({ token }) => tokens.size < tokens.add(token).size);
  const sorted = inKeyOrder(
    settlements.filter((_, index) => isFirst[index]),
    keyText,
  );
  const areDone = sorted.every(({ state }) => state === "done");
  const changes = areDone ? [] : sorted.map(rowChange);
  const column = (values: readonly (string | null)[]) => (areDone ? null : textArray(values));
  const numbers = (values: readonly number[]) => (areDone ? null : numberArray(values));
  const { rows } = await sql<{ token: string }>`
    select fence::text as token from ${tables.settle}(
      ${textArray(sorted.map(({ source }) => source))}::text[],
      ${textArray(sorted.map(({ id }) => id))}::text[],
      ${textArray(sorted.map(({ token }) => token))}::bigint[],
      ${column(changes.map(({ state }) => state))}::text[],
      ${numbers(changes.map(({ attempts }) => attempts))}::integer[],
      ${numbers(changes.map(({ tries }) => tries))}::integer[],
      ${column(changes.map(({ staysSuspect }) => String(staysSuspect)))}::boolean[],
      ${column(changes.map(({ waiting }) => waiting))}::text[],
      ${numbers(changes.map(({ afterMs }) => afterMs))}::float8[],
      ${column(changes.map(({ error }) => error && storableError(error)))}::text[],
      ${column(changes.map(({ attempt }) => attempt && storableJson(attempt)))}::jsonb[],
      ${serverTime}, ${spreadRetention(retentionMs)}::float8 * interval '1 millisecond', ${keepBodies}
    ) as fence`.execute(db);
  return wereHeld(settlements, rows).map((held, index) => held && isFirst[index] === true);
}

/** Leased → leased for longer. Resolves to a boolean for each lease, in the same order: whether it was still held. */
export async function renew(
  db: Kysely<unknown>,
  tables: Tables,
  leases: readonly InboxLease[],
  leaseMs: number,
): Promise<boolean[]> {
  const sorted = inKeyOrder(leases, keyText);
  const { rows } = await sql<{ token: string }>`
    select fence::text as token from ${tables.renew}(
      ${textArray(sorted.map(({ source }) => source))}::text[],
      ${textArray(sorted.map(({ id }) => id))}::text[],
      ${textArray(sorted.map(({ token }) => token))}::bigint[],
      ${inMs(leaseMs)}
    ) as fence`.execute(db);
  return wereHeld(leases, rows);
}

/** Whether each lease was held. A fence is never reused, so it identifies its lease. */
function wereHeld(leases: readonly InboxLease[], lost: readonly { token: string }[]): boolean[] {
  const tokens = new Set(lost.map(({ token }) => token));
  return leases.map(({ token }) => !tokens.has(token));
}

function storableError(error: string): string {
  return error.replaceAll("\0", "\uFFFD").slice(0, longestError);
}
