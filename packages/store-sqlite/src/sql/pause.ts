// Pauses. A ready event of a paused type is held: it is in no index of due events, so a take need not read past it.
import type { Pause } from "@esim-webhooks/core";
import type { NewPause } from "@esim-webhooks/core/engine";
import type { Connection } from "../database/connection.ts";
import { nowMs, type Transaction } from "../database/transaction.ts";

const allTypes = "*";

/** Whether a pause has not ended at the time `$now`: SQL. */
const isActive = "(until is null or until > $now)";

/** Whether there is a pause of this single type, as SQL: a row of the type that becomes ready is held. `type` and `now` are SQL. */
export function isPausedType(type: string, now = "$now"): string {
  return `exists (select 1 from esim_webhooks_pause as pause where pause.type = ${type} and (until is null or until > ${now}))`;
}

/** Adds pauses, which replace those of the same types. Does not hold their events: `hold` does. */
export function pause(tx: Transaction, { pauses }: { readonly pauses: readonly NewPause[] }): void {
  for (const { type, reason, until, by } of pauses) {
    tx.run(
      "insert or replace into esim_webhooks_pause (type, reason, since, until, by) values (?, ?, ?, ?, ?)",
      ...[type ?? allTypes, reason, tx.nowMs, until?.getTime() ?? null, by],
    );
  }
}

/** Ends the pauses of these types, or all, and returns them. Does not let their events go: `letGo` does. */
export function resume(
  tx: Transaction,
  { types }: { readonly types: readonly string[] | undefined },
): Pause[] {
  const ended = pausesAt(tx, tx.nowMs).filter(
    ({ type }) => types === undefined || (type !== null && types.includes(type)),
  );
  for (const { type } of ended)
    tx.run("update esim_webhooks_pause set until = ? where type = ?", tx.nowMs, type ?? allTypes);
  return ended;
}

/** When the last pause of all types ended, in ms since the Unix epoch: until then, no event could be taken. */
export function allPausedUntil({ get, nowMs: now }: Pick<Transaction, "get" | "nowMs">): number {
  const sql = `select until from esim_webhooks_pause where type = '${allTypes}' and not ${isActive}`;
  return get<{ until: number }>(sql, { now })?.until ?? 0;
}

/** The pauses that have not ended, that of all types first. */
export function paused(connection: Connection, _: undefined): Pause[] {
  return pausesAt(connection, nowMs(connection));
}

interface Row {
  readonly type: string;
  readonly reason: string;
  readonly since: number;
  readonly until: number | null;
  readonly by: string | null;
}

function pausesAt(connection: Connection, now: number): Pause[] {
  const rows = connection.all<Row>(
    `select type, reason, since, until, by from esim_webhooks_pause where ${isActive} order by type`,
    { now },
  );
  return rows.map(({ type, since, until, ...row }) => ({
    ...row,
    type: type === allTypes ? null : type,
    since: new Date(since),
    until: until === null ? null : new Date(until),
  }));
}

/** The types that have a pause of their own now; `isAll`: there is a pause of all types. */
export interface PausedTypes {
  readonly isAll: boolean;
  readonly types: readonly string[];
}

export function pausedTypes(tx: Pick<Transaction, "all" | "nowMs">): PausedTypes {
  const active = tx
    .all<{ type: string }>(`select type from esim_webhooks_pause where ${isActive}`, { now: tx.nowMs })
    .map(({ type }) => type);
  return { isAll: active.includes(allTypes), types: active.filter((type) => type !== allTypes) };
}

/** How far holding has come: the last row that it has looked at, and in which of the two indexes of due events. */
export interface HoldPlace {
  readonly inLanes: boolean;
  readonly dueAt: number;
  readonly termMs: number;
  readonly rowid: number;
}

const first: Omit<HoldPlace, "inLanes"> = { dueAt: Number.MIN_SAFE_INTEGER, termMs: 0, rowid: 0 };
const lookedAt = 2000; // rows in each call: others write in between

/** Holds those of the next ready events, after `after`, whose types are paused. Returns how far it has come; undefined at the end. */
export function hold(
  tx: Transaction,
  { after = { inLanes: false, ...first } }: { readonly after: HoldPlace | undefined },
): HoldPlace | undefined {
  const { inLanes, ...place } = after;
  const rows = tx.all<Omit<HoldPlace, "inLanes"> & { readonly isPaused: 0 | 1 }>(
    `select due_at as dueAt, term_ms as termMs, rowid, ${isPausedType("event.type")} as isPaused
    from esim_webhooks_event as event
    where state = 'ready' and held = 0 and lane is ${inLanes ? "not null" : "null"}
      and (due_at, term_ms, rowid) > ($dueAt, $termMs, $rowid)
    order by due_at, term_ms, rowid limit ${lookedAt}`,
    { now: tx.nowMs, ...place },
  );
  const found = rows.filter(({ isPaused }) => isPaused === 1).map(({ rowid }) => rowid);
  if (found.length > 0)
    tx.run(
      "update esim_webhooks_event set held = 1 where rowid in (select value from json_each(?))",
      JSON.stringify(found),
    );
  const last = rows.at(-1);
  if (last !== undefined && rows.length === lookedAt)
    return { inLanes, dueAt: last.dueAt, termMs: last.termMs, rowid: last.rowid };
  return inLanes ? undefined : { inLanes: true, ...first };
}

/**
 * Holds the events of paused types among the ready ones that are due first: a process that was killed while it paused a type has not held
 * all. A take leaves such events out, but would have to read past them each time.
 */
export function holdMissed(tx: Transaction, _: undefined): void {
  if (pausedTypes(tx).types.length === 0) return;
  for (const inLanes of [false, true]) hold(tx, { after: { inLanes, ...first } });
}

/** A type of which events are held, and whether it still is paused. */
export interface HeldType {
  readonly type: string;
  readonly isPaused: boolean;
}

/** Returns the types of which events are held, by stepping through the index of held events. */
export function heldTypes(reading: Pick<Transaction, "all" | "nowMs">): readonly HeldType[] {
  const held = reading.all<{ type: string; isPaused: 0 | 1 }>(
    `with recursive known (type) as (
      select min(type) from esim_webhooks_event where held = 1
      union all
      select (select min(type) from esim_webhooks_event where held = 1 and type > known.type) from known where known.type is not null
    )
    select type, ${isPausedType("known.type")} as isPaused from known where type is not null`,
    { now: reading.nowMs },
  );
  return held.map(({ type, isPaused }) => ({ type, isPaused: isPaused === 1 }));
}

/** How many events `letGo` lets go at most. */
export const mostLetGo = 1000;

/**
 * Lets go some of the events whose pause has ended, and returns how many. Those that were due become due now, about in the order in which
 * they were due. Deletes the ended pauses of single types.
 */
export function letGo(tx: Transaction, _?: undefined): number {
  const mayHold = tx.get(
    `select 1 from esim_webhooks_pause where type <> '${allTypes}' union all select 1 from esim_webhooks_event where held = 1 limit 1`,
  );
  if (mayHold === undefined) return 0;
  tx.run(`delete from esim_webhooks_pause where type <> '${allTypes}' and not ${isActive}`, {
    now: tx.nowMs,
  });
  let released = 0;
  for (const { type } of heldTypes(tx).filter(({ isPaused }) => !isPaused))
    released += tx.run(
      `update esim_webhooks_event set held = 0, due_at = iif(due_at < $now, $now - cast(($now - due_at) / 10000 as integer), min(due_at, $now + term_ms)) where rowid in (
        select rowid from esim_webhooks_event where held = 1 and type = $type limit $limit
      )`,
      { now: tx.nowMs, type, limit: mostLetGo - released },
    );
  return released;
}
