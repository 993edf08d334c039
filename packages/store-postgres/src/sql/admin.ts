import type {
  EventKey,
  GivenUp,
  InboxFilter,
  InboxState,
  InboxStats,
  LaneHolder,
  RedriveFilter,
  StoredEvent,
} from "@esim-webhooks/core";
import { shownColumns, storedEvent } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { isPausedType, qualified, serverTime, type Tables } from "../database/tables.ts";
import { textArray } from "./batch.ts";
import { type EventRow, readColumns } from "./event-rows.ts";
import { allOf, matching, statesOfSubjects } from "./filter.ts";
import { oldestReadyMs } from "./gauges.ts";
import { storable } from "./put-rows.ts";
import { planByIndexes } from "./steady-plan.ts";

export async function stats(
  db: Kysely<unknown>,
  tables: Tables,
  laneHeldByDead: boolean,
): Promise<InboxStats> {
  const counted = await sql<{
    state: InboxState;
    type: string | null;
    count: number;
    last_ms: number | null;
  }>`
    select state, type, count(*)::int as count,
      (extract(epoch from max(received_at) filter (where replay is null)) * 1000)::float8 as last_ms
    from ${tables.event} group by state, type order by state, type`.execute(db);
  const types = counted.rows.map(({ last_ms: _, ...rest }) => rest);
  const last = counted.rows.reduce(
    (newest, row) => Math.max(newest, row.last_ms ?? newest),
    Number.NEGATIVE_INFINITY,
  );
  const states = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  for (const { state, count } of types) states[state] += count;
  const more = await sql<{ oldest_ms: number | null; conflicts: number }>`
    select ${oldestReadyMs(tables, laneHeldByDead)} as oldest_ms,
      (select coalesce(sum(conflicts), 0)::int from ${tables.event} where conflicts > 0) as conflicts`.execute(
    db,
  );
  const { oldest_ms = null, conflicts = 0 } = more.rows[0] ?? {};
  return {
    states,
    types,
    oldestReadyMs: oldest_ms,
    conflicts,
    lastReceivedAt: Number.isFinite(last) ? new Date(last) : null,
  };
}

/** Counts up to `most`. */
export async function count(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  most: number,
): Promise<number> {
  const states = filter.subject !== undefined && filter.state === undefined ? statesOfSubjects : [sql`true`];
  if (filter.subject !== undefined) await planByIndexes(db);
  const parts = states.map(
    (state) => sql`(
    select count(*) from (
      select from ${tables.event} where ${state} and ${matching(filter)}
      ${Number.isFinite(most) ? sql`limit ${most}` : sql``}
    ) as found
  )`,
  );
  const { rows } = await sql<{ count: number }>`
    select (${sql.join(parts, sql` + `)})::float8 as count`.execute(db);
  return Math.min(most, rows[0]?.count ?? 0);
}

/** The sources of all ids. Reads the whole table: 0.2 s for a million rows. */
export async function sources(db: Kysely<unknown>, tables: Tables): Promise<string[]> {
  const { rows } = await sql<{ source: string }>`
    select distinct source from ${tables.event} order by source`.execute(db);
  return rows.map(({ source }) => source);
}

export async function get(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id }: EventKey,
  laneHeldByDead: boolean,
): Promise<StoredEvent | undefined> {
  const { rows } = await sql<EventRow>`
    select ${readColumns(shownColumns)} from ${tables.event} where source = ${source} and id = ${id}`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const mayBeHeld = row.state === "ready" && row.lane !== null;
  return storedEvent(row, mayBeHeld ? await holderOf(db, tables, row, laneHeldByDead) : null);
}

/**
 * The event that a ready one waits for: the leased one of its lane, else the first ready one before it, else a dead one before it. Each
 * condition repeats that of an index.
 */
async function holderOf(
  db: Kysely<unknown>,
  { event }: Tables,
  { source, id, lane }: EventRow,
  laneHeldByDead: boolean,
): Promise<LaneHolder | null> {
  const isBefore = sql`(occurred_at, source, id) < (select occurred_at, source, id from ${event} where source = ${source} and id = ${id})`;
  const first = (state: LaneHolder["state"], ...conditions: RawBuilder<unknown>[]) => sql`(
    select source, id, state from ${event}
    where ${allOf(sql`lane = ${lane} and lane is not null and state = ${sql.lit(state)}`, ...conditions)}
    order by occurred_at, source, id limit 1)`;
  const { rows } = await sql<LaneHolder>`
    ${first("leased")} union all ${first("ready", isBefore)} ${laneHeldByDead ? sql`union all ${first("dead", isBefore)}` : sql``}
    limit 1`.execute(db);
  return rows[0] ?? null;
}

/** Dead, unhandled, or ready and due later → ready and due, where a body is left, oldest received first. */
export async function redrive(
  db: Kysely<unknown>,
  tables: Tables,
  { state = "dead", ...filter }: RedriveFilter,
  limit: number,
  step: string,
): Promise<number> {
  const isMeant = allOf(
    matching({ ...filter, state }),
    sql`body is not null`,
    state === "ready" && sql`due_at > ${serverTime}`,
  );
  const { numAffectedRows = 0n } = await sql`
    update ${tables.event} as event
    set state = 'ready', fence = nextval(${qualified(tables, "fence")}::regclass), tries = 0, due_at = ${serverTime},
      held = ${isPausedType(tables, sql`event.type`)}, kept_until = null, settled_at = null, waiting_since = null,
      history = ${withStep(tables, step)}
    from (${chosen(tables, isMeant, limit)}) as chosen
    where event.source = chosen.source and event.id = chosen.id`.execute(db);
  return Number(numAffectedRows);
}

/** Ready → dead, oldest received first. Also counts those that match and are leased. */
export async function giveUp(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  { error, step }: { readonly error: string; readonly step: string },
  limit: number,
): Promise<GivenUp> {
  const { rows } = await sql<{ lane: string | null }>`
    update ${tables.event} as event
    set state = 'dead', fence = nextval(${qualified(tables, "fence")}::regclass), held = false, due_at = null, suspect = false,
      waiting_since = null, settled_at = ${serverTime}, error = ${storable(error)}, history = ${withStep(tables, step)}
    from (${chosen(tables, matching({ ...filter, state: "ready" }), limit)}) as chosen
    where event.source = chosen.source and event.id = chosen.id
    returning event.lane`.execute(db);
  const lanes = rows.flatMap(({ lane }) => lane ?? []);
  if (lanes.length > 0)
    await sql`select ${tables.freeLanes}(${textArray(lanes)}::text[], ${serverTime})`.execute(db);
  return { events: rows.length, leased: await countLeased(db, tables, filter) };
}

/** Counts matching leased events. Each condition repeats that of an index. */
async function countLeased(db: Kysely<unknown>, tables: Tables, filter: InboxFilter): Promise<number> {
  const counts = [sql`body is not null and lane is null`, sql`lane is not null`].map(
    (index) =>
      sql`(select count(*) from ${tables.event} where state = 'leased' and ${index} and ${matching(filter)})`,
  );
  const { rows } = await sql<{
    count: number;
  }>`select (${sql.join(counts, sql` + `)})::float8 as count`.execute(db);
  return rows[0]?.count ?? 0;
}

/** The history of an event with a step of an operator. */
function withStep(tables: Tables, step: string): RawBuilder<unknown> {
  return sql`${tables.withAttempt}(event.history, ${step}::text::jsonb || jsonb_build_object('attempts', event.attempts), ${serverTime})`;
}

export async function purgeDead(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ deleted: number }>`
    with deleted as (
      delete from ${tables.event} as event
      using (${chosen(tables, matching({ ...filter, state: "dead" }), limit)}) as chosen
      where event.source = chosen.source and event.id = chosen.id
      returning event.lane
    )
    select count(*)::float8 as deleted, ${tables.freeLanes}(array_agg(lane) filter (where lane is not null), ${serverTime})
    from deleted`.execute(db);
  return rows[0]?.deleted ?? 0;
}

function chosen(tables: Tables, condition: RawBuilder<boolean>, limit: number): RawBuilder<EventKey> {
  return sql`
    select source, id from ${tables.event} where ${condition}
    order by received_at limit ${limit} for update skip locked`;
}
