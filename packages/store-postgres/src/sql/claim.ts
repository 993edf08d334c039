import type { Claim, EventKey } from "@esim-webhooks/core";
import { spreadRetention } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inMs, retentionTime, serverTime, type Tables } from "../database/tables.ts";
import { countConflict, discardsRows, endedClaim, mostTries, remove } from "./put.ts";

const retryHeldRowMs = 1000;

interface Held {
  readonly state: "ready" | "leased" | "done" | "unhandled" | "dead";
  /** Whether the inbox has it, and it is not done: a worker handles it, or an operator can redrive it. */
  readonly isQueued: boolean;
  /** Whether its lease or its retention has ended. */
  readonly isEnded: boolean;
  /** The time until its lease ends, or until it is due, in ms; 0 if unknown. */
  readonly leftMs: number;
  /** Whether its body was signed and differs from that of the claim, by their fingerprints. False if one of these is unknown, or its body was rebuilt. */
  readonly isConflict: boolean;
}

/** An id, and the fingerprint of its body; null without one. */
interface Claimed extends EventKey {
  readonly fingerprint: number | null;
}

/**
 * Absent → leased. Inserts first, since most ids are new. ON CONFLICT DO NOTHING does not lock an existing row; DO UPDATE
 * would, and would wait for a concurrent settle of the same id. One statement that inserts or else selects is not enough: it
 * sees the table as it was before, and returns no row for a concurrent duplicate. An inline claim whose lease has ended, or a row whose
 * retention has expired, is treated as absent. If another transaction has locked such a row, the result is busy: nothing waits for the lock.
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
    const found = await look(db, tables, wanted);
    if (found === undefined && tries <= 0) throw discardsRows(tables);
    if (found === undefined) continue; // released or purged between the two statements
    const { state, isQueued, isEnded, leftMs } = found;
    const conflict = found.isConflict && { conflict: true as const };
    if (isQueued) {
      const inInbox = state === "dead" || state === "unhandled" ? state : "waiting";
      const retryAfterMs = Math.ceil(Math.max(leftMs, retryHeldRowMs));
      return { status: "busy", retryAfterMs, ...conflict, inInbox };
    }
    if (isEnded) {
      const isAbsent = await remove(db, tables, key, sql`${endedClaim} or ${hasExpired(tables)}`);
      if (!isAbsent || tries <= 0) return { status: "busy", retryAfterMs: retryHeldRowMs };
      continue;
    }
    if (state === "leased") return { status: "busy", retryAfterMs: Math.ceil(leftMs), ...conflict };
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
    insert into ${tables.event} (source, id, state, leased_until, fingerprint)
    values (${source}, ${id}, 'leased', ${inMs(leaseMs)}, ${fingerprint})
    on conflict do nothing
    returning fence::text as token`.execute(db);
  return rows[0]?.token;
}

function isConflict(fingerprint: number | null): RawBuilder<boolean> {
  return sql`coalesce(fingerprint <> ${fingerprint}::bigint and replay -> 'rebuilt' is distinct from 'true', false)`;
}

/** Whether a retention has expired. */
function hasExpired(tables: Tables): RawBuilder<boolean> {
  return sql`(state in ('done', 'unhandled') and kept_until <= ${retentionTime(tables)})`;
}

async function look(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, fingerprint }: Claimed,
): Promise<Held | undefined> {
  const { rows } = await sql<Held>`
    select state, ${isConflict(fingerprint)} as "isConflict", ${endedClaim} or ${hasExpired(tables)} as "isEnded",
      case state when 'done' then false when 'unhandled' then not ${hasExpired(tables)} when 'leased' then body is not null
        else true end as "isQueued",
      coalesce(extract(epoch from coalesce(leased_until, due_at) - ${serverTime}) * 1000, 0)::float8 as "leftMs"
    from ${tables.event} where source = ${source} and id = ${id}`.execute(db);
  return rows[0];
}

/** Whether a row is this token's claim. Compares tokens as text, so that any string is allowed. */
function held({ source, id }: EventKey, token: string): RawBuilder<boolean> {
  return sql`source = ${source} and id = ${id} and fence::text = ${token} and state = 'leased' and body is null`;
}

/** Whether a row is this token's claim, with a live lease. */
function owned(key: EventKey, token: string): RawBuilder<boolean> {
  return sql`${held(key, token)} and leased_until > ${serverTime}`;
}

/** Leased → leased for longer. False: this token no longer holds the lease. */
export async function extend(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
  leaseMs: number,
): Promise<boolean> {
  return changesRow(
    db,
    sql`update ${tables.event} set leased_until = ${inMs(leaseMs)} where ${owned(key, token)}`,
  );
}

/** The assignments, as SQL, that make an id done whose handler has run inline. */
function done(retentionMs: number): RawBuilder<unknown> {
  return sql`state = 'done', settled_at = ${serverTime}, leased_until = null, kept_until = ${inMs(spreadRetention(retentionMs))}`;
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
  if (await changesRow(db, mark)) return true;
  const { rows } = await sql`
    select from ${tables.event}
    where source = ${key.source} and id = ${key.id} and fence::text = ${token} and state = 'done'`.execute(
    db,
  );
  return rows.length > 0;
}

/**
 * Leased → done in the handler's transaction. Checks only the fence: an ended lease stays valid until another process takes it over,
 * and no process takes over a row that this transaction has locked.
 */
export async function completeInTransaction(
  tx: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
  retentionMs: number,
): Promise<boolean> {
  return changesRow(tx, sql`update ${tables.event} set ${done(retentionMs)} where ${held(key, token)}`);
}

/** Leased → absent. False as for `extend`. */
export async function release(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
): Promise<boolean> {
  return changesRow(db, sql`delete from ${tables.event} where ${owned(key, token)}`);
}

async function changesRow(db: Kysely<unknown>, statement: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows = 0n } = await statement.execute(db);
  return numAffectedRows > 0n;
}
