import type { Claim, EventKey } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { inMs, qualified, serverTime, type Tables } from "../database/tables.ts";
import { countConflict } from "./count-conflict.ts";

const retryHeldRowMs = 1000;

interface Held {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** The inbox has its body: a worker works it, or an operator redrives it. */
  readonly isQueued: boolean;
  /** For how long the state lasts, in ms; 0 if unknown. */
  readonly leftMs: number;
  /** It was claimed with another fingerprint. */
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
    if (!held.isQueued && held.leftMs <= 0) return takeOver(db, tables, wanted, leaseMs);
    const conflict = held.isConflict && { conflict: true as const };
    if (held.state === "done") {
      if (conflict) await countConflict(db, tables, key);
      return { status: "done", ...conflict };
    }
    if (!held.isQueued) return { status: "busy", retryAfterMs: Math.ceil(held.leftMs), ...conflict };
    const inInbox = held.state === "dead" ? "dead" : "waiting";
    const retryAfterMs = Math.ceil(Math.max(held.leftMs, retryHeldRowMs));
    return { status: "busy", retryAfterMs, ...conflict, inInbox };
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

async function look(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
): Promise<Held | undefined> {
  const { rows } = await sql<{ state: Held["state"]; queued: boolean; conflict: boolean; left_ms: number }>`
    select state, state not in ('done', 'unhandled') and body is not null as queued,
      coalesce(fingerprint <> ${fingerprint}::bigint and replay -> 'rebuilt' is distinct from 'true', false) as conflict,
      case when state in ('unhandled', 'dead') then 0 else (extract(epoch from ends_at - ${serverTime}) * 1000)::float8 end as left_ms
    from ${tables.event} where source = ${source} and id = ${id}`.execute(db);
  const row = rows[0];
  return row && { state: row.state, isQueued: row.queued, leftMs: row.left_ms, isConflict: row.conflict };
}

/**
 * Claims a row whose lease or retention is over, and clears what an inbox left in it. Also claims an unhandled event, but keeps
 * its body until it is completed inline; if it is not, workers get it back. Removes the lane, since the event's turn is over.
 * Answers busy, without waiting, for a row that another transaction has locked.
 */
async function takeOver(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
  leaseMs: number,
): Promise<Claim> {
  const { rows } = await sql<{ token: string }>`
    with over as (
      select source, id from ${tables.event}
      where source = ${source} and id = ${id}
        and (state = 'unhandled' or ends_at <= ${serverTime} and (state = 'done' or body is null))
      for update skip locked
    )
    update ${tables.event} as taken
    set state = 'leased', fence = nextval(${qualified(tables, "fence")}::regclass), ends_at = ${inMs(leaseMs)},
      fingerprint = ${fingerprint}, lane = null,
      body = case when taken.state = 'unhandled' then taken.body end,
      body_hash = case when taken.state = 'unhandled' then taken.body_hash end,
      replay = case when taken.state = 'unhandled' then taken.replay end,
      runs = case when taken.state = 'unhandled' then taken.runs end
    from over where taken.source = over.source and taken.id = over.id
    returning taken.fence::text as token`.execute(db);
  const row = rows[0];
  return row ? { status: "claimed", token: row.token } : { status: "busy", retryAfterMs: retryHeldRowMs };
}
