// Pauses. Due events of a paused type, and those that wait behind them in their lanes, are parked: they get an `ends_at` that never comes,
// so that no take reads past them.
import type { Pause } from "@esim-webhooks/core";
import type { NewPause } from "@esim-webhooks/core/engine";
import type { Connection } from "../database/connection.ts";
import { nowMs, type Transaction } from "../database/transaction.ts";
import { never } from "./lease.ts";

const allTypes = "*";

/** Whether a pause has not ended at the time `$now`: SQL. */
const isActive = "(until is null or until > $now)";

const pausedTypes = `select type from esim_webhooks_pause where ${isActive}`;

/**
 * Adds pauses, in place of those of the same types. If such a one has ended, some of its events may have run, so what waited behind them is
 * released.
 */
export function pause(tx: Transaction, { pauses }: { readonly pauses: readonly NewPause[] }): void {
  for (const { type, reason, until, by } of pauses) {
    tx.run(
      `insert into esim_webhooks_pause (type, reason, since, until, by) values (?, ?, ?, ?, ?)
      on conflict (type) do update set reason = excluded.reason, since = excluded.since, until = excluded.until, by = excluded.by,
        generation = generation + iif(until <= excluded.since, 1, 0)`,
      ...[type ?? allTypes, reason, tx.nowMs, until?.getTime() ?? null, by],
    );
  }
}

/** Ends the pauses of these types, or all. Returns them. What they have parked is still to be released. */
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

/** The pauses that have not ended, that of all types first. */
export function paused(connection: Connection, _: undefined): Pause[] {
  return pausesAt(connection, nowMs(connection));
}

/** Whether all types are paused. */
export function isAllPaused(connection: Connection, now: number): boolean {
  return (
    connection.get(`select 1 from esim_webhooks_pause where type = '${allTypes}' and ${isActive}`, {
      now,
    }) !== undefined
  );
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

/** What a take leaves out. */
export interface PausedNow {
  readonly isAll: boolean;
  /** Types, as JSON; null for none. */
  readonly types: string | null;
}

/** What is paused now. Releases some of what no pause holds any longer. One query, where nothing is paused. */
export function pausedForTake(tx: Transaction): PausedNow {
  const rows = tx.all<Pick<Row, "type" | "until">>("select type, until from esim_webhooks_pause");
  if (rows.length === 0) return { isAll: false, types: null };
  release(tx, { limit: mostParked });
  const active = rows.filter(({ until }) => until === null || until > tx.nowMs).map(({ type }) => type);
  return { isAll: active.includes(allTypes), types: active.length === 0 ? null : JSON.stringify(active) };
}

/** How many events a take parks or releases at most, apart from those that it would take. */
export const mostParked = 1000;

/** Parks due rows of paused types: as long as they are, no index of due events has them among those. */
export function parkRows(tx: Transaction, rowids: readonly number[]): void {
  tx.run(
    `update esim_webhooks_event set parked_due = ends_at, parked_by = type, ends_at = ${never}, term_ms = ${never}
    where rowid in (select value from json_each(?))`,
    JSON.stringify(rowids),
  );
}

/** What may park events now: paused types, and for the events behind theirs, with the generation of the pause. SQL. */
const parkers = `select type from esim_webhooks_pause where ${isActive}
  union all select type || ' ' || generation from esim_webhooks_pause where ${isActive}`;

/**
 * Parks those of some due rows, all in lanes, whose lanes begin with a parked event of a paused type. They cannot run before it, and are
 * released with it. `releaseBehind` has them released when it is erased. Returns how many.
 */
export function parkBehindParked(tx: Transaction, rowids: readonly number[]): number {
  return tx.run(
    `update esim_webhooks_event as event
    set parked_due = ends_at, parked_by = pause.type || ' ' || pause.generation, ends_at = ${never}, term_ms = ${never}
    from (
      select rowid as place, (
        select iif(parked_by = type, type, null) from esim_webhooks_event as first
        where first.lane = waiting.lane and first.lane is not null and first.state in ('ready', 'leased')
        order by occurred_at, source, id limit 1
      ) as first_type
      from esim_webhooks_event as waiting
      where rowid in (select value from json_each($rowids)) and suspect = 0 and parked_by is null
    ) as found
    join esim_webhooks_pause as pause on pause.type = found.first_type and ${isActive}
    where event.rowid = found.place`,
    { now: tx.nowMs, rowids: JSON.stringify(rowids) },
  );
}

/**
 * Has takes release the events that are parked behind the first ones of these lanes, one of which was erased: a lane may have a million.
 * They park again what still waits.
 */
export function releaseBehind(tx: Transaction, lanes: readonly string[]): void {
  tx.run(
    `update esim_webhooks_pause set generation = generation + 1 where type || ' ' || generation in (
      select parked_by from esim_webhooks_event
      where lane in (select value from json_each(?)) and lane is not null and state in ('ready', 'leased') and parked_by is not null
    )`,
    JSON.stringify(lanes),
  );
}

/** How far parking has come: in each of the indexes of due events, the last row that it has looked at. */
export interface ParkPlace {
  readonly inLanes: boolean;
  readonly endsAt: number;
  readonly termMs: number;
  readonly rowid: number;
}

const first: Omit<ParkPlace, "inLanes"> = { endsAt: -never, termMs: 0, rowid: 0 };
const lookedAt = 2000; // rows in each call: others write in between

interface DueRow extends Omit<ParkPlace, "inLanes"> {
  readonly isPaused: 0 | 1;
}

/** Parks those of the next due events, after `after`, whose types are paused. Returns how far it has come; undefined at the end. */
export function park(
  tx: Transaction,
  { after = { inLanes: false, ...first } }: { readonly after: ParkPlace | undefined },
): ParkPlace | undefined {
  const { inLanes, ...place } = after;
  const rows = tx.all<DueRow>(
    `select ends_at as endsAt, term_ms as termMs, rowid,
      suspect = 0 and type in (${pausedTypes}) as isPaused
    from esim_webhooks_event
    where state = 'ready' and lane is ${inLanes ? "not null" : "null"} and ends_at <= $now
      and (ends_at, term_ms, rowid) > ($endsAt, $termMs, $rowid)
    order by ends_at, term_ms, rowid limit ${lookedAt}`,
    { now: tx.nowMs, ...place },
  );
  const isPaused = rows.filter((row) => row.isPaused === 1);
  if (isPaused.length > 0)
    parkRows(
      tx,
      isPaused.map(({ rowid }) => rowid),
    );
  if (inLanes)
    parkBehindParked(
      tx,
      rows.map(({ rowid }) => rowid),
    );
  const last = rows.at(-1);
  if (last !== undefined && rows.length === lookedAt)
    return { inLanes, endsAt: last.endsAt, termMs: last.termMs, rowid: last.rowid };
  return inLanes ? undefined : { inLanes: true, ...first };
}

/**
 * Releases at most `limit` events that no pause holds any longer, and forgets the pauses that have ended once there are none left. Returns
 * how many.
 */
export function release(tx: Transaction, { limit }: { readonly limit: number }): number {
  let released = 0;
  const ended = tx.all<{ parkedBy: string }>(
    `with recursive known (parked_by) as (
      select min(parked_by) from esim_webhooks_event where parked_due is not null
      union all
      select (
        select min(parked_by) from esim_webhooks_event where parked_due is not null and parked_by > known.parked_by
      ) from known where known.parked_by is not null
    )
    select parked_by as parkedBy from known where parked_by is not null and parked_by not in (${parkers})`,
    { now: tx.nowMs },
  );
  for (const { parkedBy } of ended) {
    released += tx.run(
      `update esim_webhooks_event set ends_at = parked_due, term_ms = 0, parked_due = null, parked_by = null where rowid in (
        select rowid from esim_webhooks_event where parked_due is not null and parked_by = ? limit ?
      )`,
      ...[parkedBy, limit - released],
    );
    if (released === limit) return released;
  }
  tx.run(`delete from esim_webhooks_pause where not ${isActive}`, { now: tx.nowMs });
  return released;
}
