import type { Claim, EventKey } from "@esim-webhooks/core";
import { spreadRetention } from "@esim-webhooks/core/kit";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inMs, qualified, retentionTime, serverTime, type Tables } from "../database/tables.ts";
import { countConflict, discardsRows, mostTries } from "./put.ts";

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
  for (let tries = mostTries; ; tries -= 1) {
    const inserted = await insert(db, tables, wanted, leaseMs);
    if (inserted !== undefined) return { status: "claimed", token: inserted };
    const held = await look(db, tables, wanted);
    if (held === undefined && tries === 0) throw discardsRows(tables);
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

/** The time at which to compare the end of a row's lease or retention, as SQL. */
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
      case when ends_at = 'infinity' then 0 else (extract(epoch from ends_at - ${endTime(tables)}) * 1000)::float8 end as left_ms
    from ${tables.event} where source = ${source} and id = ${id}`.execute(db);
  const row = rows[0];
  return row && { state: row.state, isQueued: row.queued, leftMs: row.left_ms, isConflict: row.conflict };
}

/**
 * Claims a row whose lease has ended or whose retention has expired, and clears what an inbox left in it. Also claims an unhandled event
 * of the same body, and keeps it until it is completed inline; if it is not, workers get it back. Removes the lane, since the lane has
 * moved on. Answers busy, without waiting, for a row that another transaction has locked.
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
      attempts = case when is_kept then taken.attempts else 0 end,
      tries = case when is_kept then taken.tries else 0 end,
      replay = case when is_kept then taken.replay end,
      runs = case when is_kept then taken.runs end,
      subject = case when is_kept then taken.subject end, key = case when is_kept then taken.key end,
      trace = case when is_kept then taken.trace end, history = case when is_kept then taken.history end,
      taken_at = case when is_kept then taken.taken_at end, settled_at = null,
      received_at = case when is_kept then taken.received_at end, error = case when is_kept then taken.error end,
      due_at = null, erased_at = null
    from over where taken.source = over.source and taken.id = over.id
    returning taken.fence::text as token`.execute(db);
  const row = rows[0];
  return row ? { status: "claimed", token: row.token } : { status: "busy", retryAfterMs: retryHeldRowMs };
}

/** Whether this token holds a live lease. Compares tokens as text, so that any string is allowed. */
function owned({ source, id }: EventKey, token: string): RawBuilder<boolean> {
  return sql`source = ${source} and id = ${id} and fence::text = ${token}
    and state = 'leased' and ends_at > ${serverTime}`;
}

/** Leased → leased for longer. False: this token no longer holds the lease. */
export async function extend(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
  leaseMs: number,
): Promise<boolean> {
  return changed(db, sql`update ${tables.event} set ends_at = ${inMs(leaseMs)} where ${owned(key, token)}`);
}

/** The columns of an id that was worked inline. */
function done(retentionMs: number): RawBuilder<unknown> {
  return sql`state = 'done', body = null, trace = null, key = null, settled_at = ${serverTime},
    ends_at = ${inMs(spreadRetention(retentionMs))}`;
}

/** Leased → done. True also for the token that completed it before. */
export async function complete(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
  retentionMs: number,
): Promise<boolean> {
  const mark = sql`update ${tables.event} set ${done(retentionMs)} where ${owned(key, token)}`;
  if (await changed(db, mark)) return true;
  const { rows } = await sql`
    select from ${tables.event}
    where source = ${key.source} and id = ${key.id} and fence::text = ${token} and state = 'done'`.execute(
    db,
  );
  return rows.length > 0;
}

/**
 * Leased → done in the handler's transaction. Checks only the fence: an ended lease stays valid until another process takes it over,
 * and a takeover now waits for this transaction.
 */
export async function completeInTransaction(
  tx: Kysely<unknown>,
  tables: Tables,
  { source, id }: EventKey,
  token: string,
  retentionMs: number,
): Promise<boolean> {
  return changed(
    tx,
    sql`update ${tables.event} set ${done(retentionMs)}
      where source = ${source} and id = ${id} and fence::text = ${token} and state = 'leased'`,
  );
}

/** Leased → absent, or ready if an inbox has stored its body. False as for `extend`. */
export async function release(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
): Promise<boolean> {
  if (await changed(db, sql`delete from ${tables.event} where ${owned(key, token)} and body is null`))
    return true;
  const makeReady = sql`update ${tables.event} set state = 'ready', ends_at = ${serverTime} where ${owned(key, token)}`;
  return changed(db, makeReady);
}

async function changed(db: Kysely<unknown>, statement: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows = 0n } = await statement.execute(db);
  return numAffectedRows > 0n;
}
