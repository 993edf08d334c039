// The search for due events before a take. It only reads. The indexes of due events leave out those that a pause holds; the indexes of
// suspects and of lanes contain them.
import type { TakeOptions } from "@esim-webhooks/core";
import type { LaneVisit } from "@esim-webhooks/core/engine";
import type { Transaction } from "../database/transaction.ts";
import { isNextInLane } from "./lane.ts";
import { allPausedUntil, heldTypes } from "./pause.ts";

export interface TakeInput extends TakeOptions {
  readonly laneHeldByDead: boolean;
  /** The lane at which the last visit of lanes has ended, empty for none. Null: the take leaves out all lanes. */
  readonly after: string | null;
}

export interface Due {
  readonly rowid: number;
  readonly dueAt: number;
}

export interface DueEvents {
  /** Ordered by when they became due. */
  readonly due: readonly Due[];
  readonly visit?: LaneVisit;
}

/** A connection, and the present time in ms since the Unix epoch. */
export type Reading = Pick<Transaction, "all" | "get" | "nowMs">;

/**
 * Returns the events that a take may lease, none of them of a paused type. In lanes, the take reads the first thousand due rows, or some
 * more. Usually there are no others, or enough of these rows are next in their lanes. Otherwise most of them wait behind other events, and
 * the take also visits some lanes, after the one at which the last visit ended.
 */
export function dueEvents(reading: Reading, input: TakeInput, paused: readonly string[]): DueEvents {
  const { limit, after } = input;
  const search = searchOf(reading, input, paused);
  if (input.suspects) return { due: suspects(reading, search) };
  const others = outOfLanes(reading, search);
  if (after === null) return { due: others };
  const near = nearInLanes(reading, search);
  if (near.length >= limit || isAllNear(reading, search))
    return { due: firstDue([...others, ...near], limit) };
  const { due, upto } = visitLanes(reading, search, after);
  const known = new Set(near.map(({ rowid }) => rowid));
  const inLanes = [...near, ...due.filter(({ rowid }) => !known.has(rowid))];
  return { due: firstDue([...others, ...inLanes], limit), visit: { upto, found: inLanes.length > 0 } };
}

function firstDue(due: readonly Due[], limit: number): Due[] {
  return due.toSorted((a, b) => a.dueAt - b.dueAt).slice(0, limit);
}

/** For how long a take could have returned the oldest due event, in ms. Null: no event is due. */
export function oldestReadyMs(
  reading: Reading,
  laneHeldByDead: boolean,
  paused: readonly string[],
): number | null {
  const input = { limit: 1, leaseMs: 0, laneHeldByDead, after: "" };
  const due = [
    ...dueEvents(reading, input, paused).due,
    ...dueEvents(reading, { ...input, suspects: true }, paused).due,
    ...stillHeld(reading),
  ];
  if (due.length === 0) return null;
  return reading.nowMs - Math.max(allPausedUntil(reading), Math.min(...due.map(({ dueAt }) => dueAt)));
}

/**
 * For each type whose pause has ended, but whose events no worker has released yet: since when the oldest due event could run. Reads a
 * thousand events of the type.
 */
function stillHeld(reading: Reading): Pick<Due, "dueAt">[] {
  const ended = heldTypes(reading).filter(({ isPaused }) => !isPaused);
  return ended.flatMap(({ type }) =>
    reading.all<Pick<Due, "dueAt">>(
      `select max(min(due_at), coalesce((select until from esim_webhooks_pause where type = $type), 0)) as dueAt
      from (select due_at from esim_webhooks_event where held = 1 and type = $type limit 1000)
      having min(due_at) <= $now`,
      { type, now: reading.nowMs },
    ),
  );
}

interface Search {
  /** How many due rows in lanes a take reads before it visits lanes: the near rows. */
  readonly reach: number;
  readonly laneHeldByDead: boolean;
  readonly parameters: {
    readonly now: number;
    readonly limit: number;
    readonly only: string | null;
    readonly except: string | null;
  };
}

function searchOf(
  { nowMs: now }: Reading,
  { limit, only, except = [], laneHeldByDead }: TakeInput,
  paused: readonly string[],
): Search {
  const none = [...except, ...paused];
  const listOf = (types: readonly string[] | undefined) => (types?.length ? JSON.stringify(types) : null);
  return {
    reach: 1000 + 4 * limit,
    laneHeldByDead,
    parameters: { now, limit, only: only ? JSON.stringify(only) : null, except: listOf(none) },
  };
}

/** The types that are wanted: SQL, with the lists as JSON, null for any. */
const wanted = `($only is null or type in (select value from json_each($only)))
  and ($except is null or type is null or type not in (select value from json_each($except)))`;

function outOfLanes(reading: Reading, { parameters }: Search): Due[] {
  return reading.all<Due>(
    `select rowid, due_at as dueAt from esim_webhooks_event
    where state = 'ready' and held = 0 and lane is null and due_at <= $now and suspect = 0 and ${wanted}
    order by due_at limit $limit`,
    parameters,
  );
}

function suspects(reading: Reading, { parameters, laneHeldByDead }: Search): Due[] {
  return reading.all<Due>(
    `select rowid, due_at as dueAt from esim_webhooks_event as event
    where state = 'ready' and suspect = 1 and held = 0 and due_at <= $now and ${wanted}
      and (lane is null or ${isNextInLane("event", laneHeldByDead)})
    order by due_at limit $limit`,
    parameters,
  );
}

/**
 * The near rows (the first `reach` that are due in lanes) that are each the next one of its lane. SQLite reads the subquery row by row, and
 * stops at the last one that it needs.
 */
function nearInLanes(reading: Reading, { parameters, reach, laneHeldByDead }: Search): Due[] {
  return reading.all<Due>(
    `select rowid, due_at as dueAt from (
      select rowid, due_at, lane, occurred_at, source, id, type, suspect from esim_webhooks_event
      where state = 'ready' and held = 0 and lane is not null and due_at <= $now
      order by due_at limit $reach
    ) as near
    where suspect = 0 and ${wanted} and ${isNextInLane("near", laneHeldByDead)}
    limit $limit`,
    { ...parameters, reach },
  );
}

/** Whether all rows that are due in lanes are near. */
function isAllNear(reading: Reading, { reach }: Search): boolean {
  const next = reading.get(
    `select 1 from esim_webhooks_event
    where state = 'ready' and held = 0 and lane is not null and due_at <= $now order by due_at limit 1 offset $reach`,
    { now: reading.nowMs, reach },
  );
  return next === undefined;
}

/** How many lanes a take visits at most: a search in the index for each. */
const mostLanes = 1000;

interface Head extends Due {
  readonly lane: string;
  readonly isNext: 0 | 1 | null;
}

/** Visits the lanes whose names follow `after`, for the first event of each, if it can be taken. After the last lane, the next visit begins with the first. */
function visitLanes(
  reading: Reading,
  { parameters, laneHeldByDead }: Search,
  after: string,
): { readonly due: readonly Due[]; readonly upto: string } {
  const { limit, ...others } = parameters;
  const following = (lane: string) => `(
      select rowid from esim_webhooks_event
      where lane is not null and state in ('ready', 'leased') and lane > ${lane}
      order by lane, occurred_at, source, id limit 1
    )`;
  const heads = reading.all<Head>(
    `with recursive visited (place, lane, number) as (
      select rowid, lane, 1 from esim_webhooks_event where rowid = ${following("$after")}
      union all
      select event.rowid, event.lane, number + 1
      from visited join esim_webhooks_event as event on event.rowid = ${following("visited.lane")}
      where number < ${mostLanes}
    )
    select event.rowid, event.lane, due_at as dueAt,
      event.state = 'ready' and held = 0 and due_at <= $now and suspect = 0 and ${wanted}
        and ${isNextInLane("event", laneHeldByDead)} as isNext
    from visited join esim_webhooks_event as event on event.rowid = visited.place`,
    { ...others, after },
  );
  const due = heads.filter(({ isNext }) => isNext === 1).slice(0, limit);
  const isFull = due.length === limit;
  const last = (isFull ? due : heads).at(-1);
  return { due, upto: isFull || heads.length === mostLanes ? (last?.lane ?? "") : "" };
}
