// Which due events a take finds. While a type is paused, it parks what it would otherwise read past again at each take.
import type { TakeOptions } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { mostParked, parkBehindParked, parkRows } from "./pause.ts";

export interface TakeInput extends TakeOptions {
  readonly laneHeldByDead: boolean;
}

/** A take, and the types that are paused, as JSON; null for none. */
export interface Taking extends TakeInput {
  readonly paused: string | null;
}

export interface Due {
  readonly rowid: number;
  readonly endsAt: number;
}

/** What a take may lease, the longest due first. */
export function longestDue(tx: Transaction, taking: Taking): Due[] {
  return (
    taking.suspects ? dueSuspects(tx, taking) : [...dueOutOfLanes(tx, taking), ...dueInLanes(tx, taking)]
  )
    .sort((a, b) => a.endsAt - b.endsAt)
    .slice(0, taking.limit);
}

/** The types that are asked for: SQL, with the lists as JSON, null for any. */
const asked = `($only is null or type in (select value from json_each($only)))
  and ($except is null or type is null or type not in (select value from json_each($except)))`;

const isPaused = "type in (select value from json_each($paused))";

/** Those of them that are not paused: SQL. */
export const wanted: string = `${asked} and ($paused is null or type is null or not ${isPaused})`;

export type TakeParameters = {
  readonly now: number;
  readonly limit: number;
  readonly only: string | null;
  readonly except: string | null;
  readonly paused: string | null;
};

export function parametersOf(
  { nowMs: now }: Transaction,
  { limit, only, except, paused }: Taking,
): TakeParameters {
  const listOf = (types: readonly string[] | undefined) => (types ? JSON.stringify(types) : null);
  return { now, limit, only: listOf(only), except: listOf(except), paused };
}

function dueOutOfLanes(tx: Transaction, input: Taking): Due[] {
  const parameters = parametersOf(tx, input);
  if (input.paused !== null) return dueAndParked(tx, parameters);
  const { paused: _, ...others } = parameters;
  return tx.all<Due>(
    `select rowid, ends_at as endsAt from esim_webhooks_event
    where state = 'ready' and lane is null and ends_at <= $now and suspect = 0 and ${asked}
    order by ends_at limit $limit`,
    others,
  );
}

/** How often a take parks, while it finds nothing but paused events: otherwise the events behind them would wait for as many takes. */
const parkings = 10;

/** As `dueOutOfLanes`. Parks events of paused types that it meets, so that the next take need not read past them. */
function dueAndParked(tx: Transaction, parameters: TakeParameters): Due[] {
  const { limit } = parameters;
  const first = (most: number) =>
    tx.all<Due & { readonly isPaused: 0 | 1 | null }>(
      `select rowid, ends_at as endsAt, ${isPaused} as isPaused from esim_webhooks_event
      where state = 'ready' and lane is null and ends_at <= $now and suspect = 0 and (${asked} or ${isPaused})
      order by ends_at limit $limit`,
      { ...parameters, limit: most },
    );
  for (let left = parkings; left > 0; left -= 1) {
    const next = first(limit);
    if (next.every((row) => row.isPaused !== 1)) return next;
    const due = first(limit + mostParked);
    const isPaused = due.filter((row) => row.isPaused === 1);
    parkRows(tx, rowidsOf(isPaused));
    if (isPaused.length < limit + mostParked) return due.filter((row) => row.isPaused !== 1).slice(0, limit);
  }
  return [];
}

function dueSuspects(tx: Transaction, input: Taking): Due[] {
  return tx.all<Due>(
    `select rowid, ends_at as endsAt from esim_webhooks_event as event
    where state = 'ready' and suspect = 1 and ends_at <= $now and ${wanted}
      and (lane is null or ${isNextInLane("event", input.laneHeldByDead)})
    order by ends_at limit $limit`,
    parametersOf(tx, input),
  );
}

/** Whether a row is the next one of its lane: SQL, each condition that of an index, word for word. */
export function isNextInLane(row: string, laneHeldByDead: boolean): string {
  const before = (other: string) =>
    `(${other}.occurred_at, ${other}.source, ${other}.id) < (${row}.occurred_at, ${row}.source, ${row}.id)`;
  return `not exists (
      select 1 from esim_webhooks_event as worked
      where worked.lane = ${row}.lane and worked.lane is not null and worked.state = 'leased'
    ) and not exists (
      select 1 from esim_webhooks_event as ahead
      where ahead.lane = ${row}.lane and ahead.lane is not null and ahead.state in ('ready', 'leased')
        and ${before("ahead")}
    )${
      laneHeldByDead
        ? ` and not exists (
      select 1 from esim_webhooks_event as died
      where died.lane = ${row}.lane and died.lane is not null and died.state = 'dead' and ${before("died")}
    )`
        : ""
    }`;
}

/**
 * Reads the first thousand due rows of all lanes, or more. Usually those are all, or enough of them are next in their lanes. If not, it
 * parks those that are, or wait for, paused ones, and reads again. If few are, it asks each lane for its first event, which takes time by
 * the number of lanes, not by their lengths.
 */
function dueInLanes(tx: Transaction, input: Taking): Due[] {
  const reach = 1000 + 4 * input.limit;
  for (let left = parkings; ; left -= 1) {
    const parked = input.paused === null ? 0 : parkInLanes(tx, input.paused, reach);
    const near = nearInLanes(tx, input, reach);
    if (near.length === input.limit || isAll(tx, reach)) return near;
    const behind = input.paused === null ? 0 : parkBehindParked(tx, firstInLanes(tx, reach));
    if (2 * (parked + behind) < reach) return headsOfLanes(tx, input);
    if (near.length > 0 || left === 1) return near;
  }
}

/** Those of the first `reach` due rows that are next in their lanes. It reads the subquery row by row, and no further than to the last one found. */
function nearInLanes(tx: Transaction, input: Taking, reach: number): Due[] {
  return tx.all<Due>(
    `select rowid, ends_at as endsAt from (
      select rowid, ends_at, lane, occurred_at, source, id, type, suspect from esim_webhooks_event
      where state = 'ready' and lane is not null and ends_at <= $now
      order by ends_at limit $reach
    ) as near
    where suspect = 0 and ${wanted} and ${isNextInLane("near", input.laneHeldByDead)}
    limit $limit`,
    { ...parametersOf(tx, input), reach },
  );
}

/** The first events of all lanes that are due. */
function headsOfLanes(tx: Transaction, input: Taking): Due[] {
  return tx.all<Due>(
    `with recursive lane_name (lane) as (
      select min(lane) from esim_webhooks_event where lane is not null and state in ('ready', 'leased')
      union all
      select (
        select min(lane) from esim_webhooks_event
        where lane is not null and state in ('ready', 'leased') and lane > lane_name.lane
      ) from lane_name where lane_name.lane is not null
    ), head as materialized (
      select (
        select rowid from esim_webhooks_event
        where lane is not null and state in ('ready', 'leased') and lane = lane_name.lane
        order by occurred_at, source, id limit 1
      ) as first from lane_name where lane_name.lane is not null
    )
    select event.rowid, event.ends_at as endsAt from head
    join esim_webhooks_event as event on event.rowid = head.first
    where event.state = 'ready' and event.ends_at <= $now and suspect = 0 and ${wanted} and ${isNextInLane("event", input.laneHeldByDead)}
    order by event.ends_at limit $limit`,
    parametersOf(tx, input),
  );
}

/** Parks the events of paused types among the first `reach` due ones in lanes. Returns how many. */
function parkInLanes(tx: Transaction, paused: string, reach: number): number {
  const found = tx.all<Pick<Due, "rowid">>(
    `select rowid from (
      select rowid, type, suspect from esim_webhooks_event
      where state = 'ready' and lane is not null and ends_at <= $now order by ends_at limit $reach
    ) where suspect = 0 and ${isPaused}`,
    { now: tx.nowMs, paused, reach },
  );
  if (found.length > 0) parkRows(tx, rowidsOf(found));
  return found.length;
}

/** The first `reach` due rows in lanes. */
function firstInLanes(tx: Transaction, reach: number): number[] {
  const found = tx.all<Pick<Due, "rowid">>(
    `select rowid from esim_webhooks_event
    where state = 'ready' and lane is not null and ends_at <= $now order by ends_at limit $reach`,
    { now: tx.nowMs, reach },
  );
  return rowidsOf(found);
}

function rowidsOf(rows: readonly Pick<Due, "rowid">[]): number[] {
  return rows.map(({ rowid }) => rowid);
}

/** Whether no more than `reach` rows are due in lanes. */
function isAll(tx: Transaction, reach: number): boolean {
  const next = tx.get(
    `select 1 from esim_webhooks_event
    where state = 'ready' and lane is not null and ends_at <= $now order by ends_at limit 1 offset $reach`,
    { now: tx.nowMs, reach },
  );
  return next === undefined;
}
