import type { EventKey } from "@esim-webhooks/core";
import { spreadRetention } from "@esim-webhooks/core/kit";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inMs, serverTime, type Tables } from "../database/tables.ts";

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

/** Leased → done. True also for the token that completed it before. */
export async function complete(
  db: Kysely<unknown>,
  tables: Tables,
  key: EventKey,
  token: string,
  retentionMs: number,
): Promise<boolean> {
  const mark = sql`update ${tables.event} set state = 'done', body = null, ends_at = ${inMs(spreadRetention(retentionMs))} where ${owned(key, token)}`;
  if (await changed(db, mark)) return true;
  const { rows } = await sql`
    select from ${tables.event}
    where source = ${key.source} and id = ${key.id} and fence::text = ${token} and state = 'done'`.execute(
    db,
  );
  return rows.length > 0;
}

/**
 * Leased → done in the handler's transaction. Checks only the fence: an ended lease that nobody has taken over still counts,
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
    sql`update ${tables.event} set state = 'done', body = null, ends_at = ${inMs(spreadRetention(retentionMs))}
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
