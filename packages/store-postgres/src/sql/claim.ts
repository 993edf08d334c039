import type { Claim, EventKey } from "@esim-webhooks/core";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inMs, qualified, retentionTime, serverTime, type Tables } from "../database/tables.ts";
import { countConflict } from "./count-conflict.ts";

const retryHeldRowMs = 1000;

interface Held {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** The inbox has its body: a worker works it, or an operator redrives it. */
  readonly isQueued: boolean;
  /** For how long the state lasts, in ms; 0 if unknown. */
  readonly leftMs: number;
  /** The fingerprint of its body is known, and another one. */
  readonly isConflict: boolean;
}

/** An id, and the fingerprint of its body; null without one. */
interface Claimed extends EventKey {
  readonly fingerprint: number | null;
}

/**
 * Absent → leased. Inserts first, since most ids are new. ON CONFLICT DO NOTHING does not lock an existing row; DO UPDATE
 * would, and would wait for a concurrent settle of the same id. One statement that inserts or else selects is not enough: it
 * sees the table as it was before, and returns no row for a concurrent duplicate.
 */
export async function claim(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  leaseMs: number,
  fingerprint: number | undefined,
): Promise<Claim> {
  const wanted = { ...key, fingerprint: fingerprint ?? null };
  for (;;) {
    const inserted = await insert(db, tables, wanted, leaseMs);
    if (inserted !== undefined) return { status: "claimed", token: inserted };
    const held = await look(db, tables, wanted);
    if (held === undefined) continue; // released between the two statements
    const conflict = held.isConflict && { conflict: true as const };
    if (held.isQueued) {
      const inInbox = held.state === "dead" ? "dead" : "waiting";
      const retryAfterMs = Math.ceil(Math.max(held.leftMs, retryHeldRowMs));
      return { status: "busy", retryAfterMs, ...conflict, inInbox };
    }
    if (held.leftMs <= 0 || (held.state === "unhandled" && !conflict))
      return takeOver(db, tables, wanted, leaseMs);
    if (held.state === "leased") return { status: "busy", retryAfterMs: Math.ceil(held.leftMs), ...conflict };
    if (conflict) await countConflict(db, tables, key);
    return { status: "done", ...conflict };
  }
}

async function insert(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
  leaseMs: number,
): Promise<string | undefined> {
  const { rows } = await sql<{ token: string }>`
    insert into ${tables.event} (source, id, state, ends_at, fingerprint)
    values (${source}, ${id}, 'leased', ${inMs(leaseMs)}, ${fingerprint})
    on conflict do nothing
    returning fence::text as token`.execute(db);
  return rows[0]?.token;
}

function isConflict(fingerprint: number | null): RawBuilder<boolean> {
  return sql`coalesce(fingerprint <> ${fingerprint}::bigint and replay -> 'rebuilt' is distinct from 'true', false)`;
}

/** The time by which the lease or the retention of a row is over, as SQL. */
function endTime(tables: Tables): RawBuilder<Date> {
  return sql`case when state in ('done', 'unhandled') then ${retentionTime(tables)} else ${serverTime} end`;
}

async function look(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
): Promise<Held | undefined> {
  const { rows } = await sql<{ state: Held["state"]; queued: boolean; conflict: boolean; left_ms: number }>`
    select state, state not in ('done', 'unhandled') and body is not null as queued,
      ${isConflict(fingerprint)} as conflict,
      case when state = 'dead' then 0 else (extract(epoch from ends_at - ${endTime(tables)}) * 1000)::float8 end as left_ms
    from ${tables.event} where source = ${source} and id = ${id}`.execute(db);
  const row = rows[0];
  return row && { state: row.state, isQueued: row.queued, leftMs: row.left_ms, isConflict: row.conflict };
}

/**
 * Claims a row whose lease or retention is over, and clears what an inbox left in it. Also claims an unhandled event of the same
 * body, and keeps it until it is completed inline; if it is not, workers get it back. Removes the lane, since the event's turn is
 * over. Answers busy, without waiting, for a row that another transaction has locked.
 */
async function takeOver(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
  leaseMs: number,
): Promise<Claim> {
  const isKept = sql`(state = 'unhandled' and not ${isConflict(fingerprint)})`;
  const { rows } = await sql<{ token: string }>`
    with over as (
      select source, id, ${isKept} as is_kept from ${tables.event}
      where source = ${source} and id = ${id}
        and (${isKept} or ends_at <= ${endTime(tables)} and (state in ('done', 'unhandled') or body is null))
      for update skip locked
    )
    update ${tables.event} as taken
    set state = 'leased', fence = nextval(${qualified(tables, "fence")}::regclass), ends_at = ${inMs(leaseMs)},
      fingerprint = coalesce(case when is_kept then taken.fingerprint end, ${fingerprint}), lane = null,
      body = case when is_kept then taken.body end,
      replay = case when is_kept then taken.replay end,
      runs = case when is_kept then taken.runs end
    from over where taken.source = over.source and taken.id = over.id
    returning taken.fence::text as token`.execute(db);
  const row = rows[0];
  return row ? { status: "claimed", token: row.token } : { status: "busy", retryAfterMs: retryHeldRowMs };
}
