import type { TakenEvent, TakeOptions } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { hasEnded, leaseEnded, leaseEndedAttempt, newFence, withAttempt } from "./lease.ts";
import { mostParked, parkRows, pausedForTake } from "./pause.ts";

export interface TakeInput extends TakeOptions {
  readonly laneHeldByDead: boolean;
}

export interface Due {
  readonly rowid: number;
  readonly endsAt: number;
}

/** A take, and the types that are paused, as JSON; null for none. */
export interface Taking extends TakeInput {
  readonly paused: string | null;
}

/** Ready and due → leased, the longest due first. */
export function take(tx: Transaction, input: TakeInput): TakenEvent[] {
  reap(tx);
  const { isAll, types: paused } = pausedForTake(tx);
  if (isAll) return [];
  return lease(tx, longestDue(tx, { ...input, paused }), input.leaseMs);
}

export function longestDue(tx: Transaction, taking: Taking): Due[] {
  return (
    taking.suspects ? dueSuspects(tx, taking) : [...dueOutOfLanes(tx, taking), ...dueInLanes(tx, taking)]
  )
    .sort((a, b) => a.endsAt - b.endsAt)
    .slice(0, taking.limit);
}

/** Ended leases → ready, as suspects, so that all events that wait are in one state. */
export function reap(tx: Transaction): void {
  tx.run(
    `update esim_webhooks_event
    set state = 'ready', ends_at = min(ends_at, $now), term_ms = 0, suspect = 1, error = coalesce(error, $leaseEnded),
      history = ${withAttempt(leaseEndedAttempt, "min(ends_at, $now)")}
    where state = 'leased' and body is not null and ${hasEnded}`,
    { now: tx.nowMs, leaseEnded },
  );
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
    parkRows(
      tx,
      isPaused.map(({ rowid }) => rowid),
    );
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
 * asks each lane for its first event, which takes time by the number of lanes, not by their lengths.
 */
function dueInLanes(tx: Transaction, input: Taking): Due[] {
  const reach = 1000 + 4 * input.limit;
  for (let left = parkings; ; left -= 1) {
    const areManyPaused = input.paused !== null && parkInLanes(tx, input.paused, reach);
    const near = nearInLanes(tx, input, reach);
    if (near.length === input.limit || isAll(tx, reach)) return near;
    if (!areManyPaused) return headsOfLanes(tx, input);
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

/** Parks the events of paused types among the first `reach` due ones in lanes. Returns whether there may be many more. */
function parkInLanes(tx: Transaction, paused: string, reach: number): boolean {
  const found = tx.all<Pick<Due, "rowid">>(
    `select rowid from (
      select rowid, type, suspect from esim_webhooks_event
      where state = 'ready' and lane is not null and ends_at <= $now order by ends_at limit $reach
    ) where suspect = 0 and ${isPaused}`,
    { now: tx.nowMs, paused, reach },
  );
  if (found.length > 0)
    parkRows(
      tx,
      found.map(({ rowid }) => rowid),
    );
  return 2 * found.length >= reach;
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

interface Leased {
  readonly rowid: number;
  readonly source: string;
  readonly id: string;
  readonly token: string;
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly receivedAt: number;
  readonly attempt: number;
  readonly waitingSince: number | null;
  readonly replayed: 0 | 1;
  readonly trace: string | null;
}

/** One statement takes half the time of one for each row, and returns the rows in an order of its own. */
export function lease(tx: Transaction, due: readonly Due[], leaseMs: number): TakenEvent[] {
  const leased = tx.all<Leased>(
    `update esim_webhooks_event
    set state = 'leased', fence = ${newFence}, attempts = attempts + 1, ends_at = ?, term_ms = ?,
      taken_at = coalesce(taken_at, ?)
    where rowid in (select value from json_each(?))
    returning rowid, source, id, fence as token, type, body, received_at as receivedAt, attempts as attempt,
      waiting_since as waitingSince, replay is not null as replayed, trace`,
    ...[tx.nowMs + leaseMs, leaseMs, tx.nowMs, JSON.stringify(due.map(({ rowid }) => rowid))],
  );
  const byRowid = new Map(leased.map((row) => [row.rowid, row]));
  return due.map(({ rowid, endsAt }) => takenEvent(tx, byRowid.get(rowid) as Leased, endsAt));
}

function takenEvent(
  { nowMs }: Transaction,
  { source, id, token, type, body, receivedAt, attempt, waitingSince, replayed, trace }: Leased,
  dueAt: number,
): TakenEvent {
  return {
    source,
    id,
    token,
    type,
    body,
    receivedAt: new Date(receivedAt),
    attempt,
    waitedMs: waitingSince === null ? 0 : nowMs - waitingSince,
    replayed: replayed === 1,
    dueForMs: nowMs - dueAt,
    trace,
  };
}
