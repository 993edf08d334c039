import type { InboxLease, Settlement } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { inMs, type Tables } from "../tables.ts";

export interface SettleRules {
  readonly retentionMs: number;
  readonly keepBodies: boolean;
}

const longestError = 4000;
const longestWaitMs = 100 * 365 * 24 * 3_600_000; // more may be past the end of the calendar, and refused with the whole batch

/** Leased → done, ready or dead, for the leases whose fence still is the row's. One to one: whether it was. */
export async function settle(
  db: Kysely<unknown>,
  tables: Tables,
  settlements: readonly Settlement[],
  { retentionMs, keepBodies }: SettleRules,
): Promise<boolean[]> {
  const { rows } = await sql<{ token: string }>`
    update ${tables.event} as event
    set state = given.state,
      ends_at = case given.state
        when 'done' then ${inMs(tables, retentionMs)}
        when 'dead' then 'infinity'
        else ${tables.now()} + given.after_ms * interval '1 millisecond' end,
      attempts = attempts - given.refunded,
      error = given.error,
      body = case when given.state = 'done' and not ${keepBodies}::boolean then null else body end
    from unnest(
      ${settlements.map(({ source }) => source)}::text[],
      ${settlements.map(({ id }) => id)}::text[],
      ${settlements.map(({ token }) => token)}::bigint[],
      ${settlements.map(({ state }) => (state === "untouched" ? "ready" : state))}::text[],
      ${settlements.map((given) => ("afterMs" in given ? Math.min(given.afterMs, longestWaitMs) : 0))}::float8[],
      ${settlements.map(({ state }) => (state === "untouched" ? 1 : 0))}::int[],
      ${settlements.map((given) => ("error" in given ? storableError(given.error) : null))}::text[]
    ) as given (source, id, fence, state, after_ms, refunded, error)
    where event.source = given.source and event.id = given.id and event.fence = given.fence and event.state = 'leased'
    returning event.fence::text as token`.execute(db);
  return outOf(settlements, rows);
}

/** Leased → leased for longer. One to one: whether the lease was still held. */
export async function renew(
  db: Kysely<unknown>,
  tables: Tables,
  leases: readonly InboxLease[],
  leaseMs: number,
): Promise<boolean[]> {
  const { rows } = await sql<{ token: string }>`
    update ${tables.event} as event set ends_at = ${inMs(tables, leaseMs)}
    from unnest(
      ${leases.map(({ source }) => source)}::text[],
      ${leases.map(({ id }) => id)}::text[],
      ${leases.map(({ token }) => token)}::bigint[]
    ) as given (source, id, fence)
    where event.source = given.source and event.id = given.id and event.fence = given.fence and event.state = 'leased'
    returning event.fence::text as token`.execute(db);
  return outOf(leases, rows);
}

/** A fence is never used twice, so that it names a lease. */
function outOf(leases: readonly InboxLease[], rows: readonly { token: string }[]): boolean[] {
  const changed = new Set(rows.map(({ token }) => token));
  return leases.map(({ token }) => changed.has(token));
}

function storableError(error: string): string {
  return error.replaceAll("\0", "\uFFFD").slice(0, longestError);
}
