import type {
  EventKey,
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
import { type EventRow, readColumns } from "./event-rows.ts";
import { allOf, matching, statesOfSubjects } from "./filter.ts";
import { oldestReadyMs } from "./gauges.ts";
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

/** Stops counting at `most`. */
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
 * The leased event of the lane of a ready one, else the first one that is ready, else a dead one, if it is before this one. Each condition
 * repeats that of an index.
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

/** Dead or unhandled → ready, oldest received first. */
export async function redrive(
  db: Kysely<unknown>,
  tables: Tables,
  { state = "dead", ...filter }: RedriveFilter,
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update ${tables.event} as event
    set state = 'ready', fence = nextval(${qualified(tables, "fence")}::regclass), tries = 0, due_at = ${serverTime},
      held = ${isPausedType(tables, sql`event.type`)}, kept_until = null, settled_at = null
    from (${chosen(tables, allOf(matching({ ...filter, state }), sql`body is not null`), limit)}) as chosen
    where event.source = chosen.source and event.id = chosen.id`.execute(db);
  return Number(numAffectedRows);
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
