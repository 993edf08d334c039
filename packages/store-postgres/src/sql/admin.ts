import type {
  EventKey,
  InboxFilter,
  InboxPage,
  InboxState,
  InboxStats,
  RedriveFilter,
  Replay,
  StoredEvent,
} from "@esim-webhooks/core";
import { frameStart, readCursor, readErrorText, readHistory, writeCursor } from "@esim-webhooks/core/kit";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { qualified, serverTime, type Tables } from "../database/tables.ts";

interface Row {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly received_at: Date | null;
  readonly attempts: number;
  readonly ends_at: Date | null;
  readonly error: string | null;
  readonly conflicts: number;
  readonly replay: string | null;
}

interface More {
  readonly body: Buffer | null;
  readonly subject: string | null;
  readonly key: string | null;
  readonly trace: string | null;
  readonly taken_at: Date | null;
  readonly settled_at: Date | null;
  readonly history: string | null;
}

const columns = sql`source, id, state, type, lane, received_at, attempts,
  case when state = 'dead' then null else ends_at end as ends_at, error, conflicts, replay::text as replay`; // as text, since a user's type parsers may change how jsonb is read

function rowOf<More>({ received_at: receivedAt, ends_at: endsAt, error, replay, ...row }: Row & More) {
  return {
    ...row,
    receivedAt,
    endsAt,
    error: readErrorText(error).error,
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}

function matching(filter: InboxFilter): RawBuilder<boolean> {
  const { state, types, source, ids, idPrefix, since, until, error, endedBy } = filter;
  const conditions = [
    sql`true`,
    state && sql`state = ${state}`,
    types && sql`type = any(${[...types]}::text[])`,
    source !== undefined && sql`source = ${source}`,
    ids && sql`id = any(${[...ids]}::text[])`,
    idPrefix !== undefined && sql`starts_with(id, ${idPrefix})`,
    since && sql`received_at >= ${since}`,
    until && sql`received_at < ${until}`,
    error !== undefined && sql`strpos(split_part(error, ${frameStart}, 1), ${error}) > 0`,
    endedBy && sql`ends_at <= ${endedBy}`,
  ].filter((condition) => typeof condition === "object");
  return sql`${sql.join(conditions, sql` and `)}`;
}

export async function stats(db: Kysely<unknown>, tables: Tables): Promise<InboxStats> {
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
  const oldest = await sql<{ oldest_ms: number | null; conflicts: number }>`
    select
      (select (extract(epoch from ${serverTime} - min(ends_at)) * 1000)::float8 from ${tables.event}
        where state = 'ready' and body is not null and ends_at <= ${serverTime}) as oldest_ms,
      (select coalesce(sum(conflicts), 0)::int from ${tables.event} where conflicts > 0) as conflicts`.execute(
    db,
  );
  const { oldest_ms: oldestReadyMs = null, conflicts = 0 } = oldest.rows[0] ?? {};
  return {
    states,
    types,
    oldestReadyMs,
    conflicts,
    lastReceivedAt: Number.isFinite(last) ? new Date(last) : null,
  };
}

export async function count(db: Kysely<unknown>, tables: Tables, filter: InboxFilter): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::float8 as count from ${tables.event} where ${matching(filter)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** The sources of all ids. Reads the whole table: 0.2 s for a million rows. */
export async function sources(db: Kysely<unknown>, tables: Tables): Promise<string[]> {
  const { rows } = await sql<{ source: string }>`
    select distinct source from ${tables.event} order by source`.execute(db);
  return rows.map(({ source }) => source);
}

export async function list(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  limit: number,
  cursor: string | undefined,
): Promise<InboxPage> {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const { rows } = await sql<Row & { place: string | null }>`
    select ${columns}, received_at::text as place from ${tables.event}
    where ${matching(filter)} ${
      after
        ? sql`and (coalesce(received_at, '-infinity'), source, id)
            < (coalesce(${after.receivedAt}::timestamptz, '-infinity'), ${after.source}, ${after.id})`
        : sql``
    }
    order by coalesce(received_at, '-infinity') desc, source desc, id desc limit ${limit + 1}`.execute(db);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const isMore = rows.length > limit && last !== undefined;
  return {
    rows: page.map(({ place: _, ...row }) => rowOf(row)),
    nextCursor: isMore ? writeCursor({ ...last, receivedAt: last.place }) : null,
  };
}

export async function get(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id }: EventKey,
): Promise<StoredEvent | undefined> {
  const { rows } = await sql<Row & More>`
    select ${columns}, body, subject, key, trace, taken_at, settled_at, history::text as history
    from ${tables.event} where source = ${source} and id = ${id}`.execute(db);
  if (rows[0] === undefined) return undefined;
  const { taken_at: takenAt, settled_at: settledAt, history, ...row } = rows[0];
  const { stack } = readErrorText(row.error);
  return { ...rowOf(row), stack, takenAt, settledAt, history: readHistory(history) };
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
    set state = 'ready', fence = nextval(${qualified(tables, "fence")}::regclass), attempts = 0, ends_at = ${serverTime},
      settled_at = null
    from (${chosen(tables, { ...filter, state }, limit)}) as chosen
    where event.source = chosen.source and event.id = chosen.id`.execute(db);
  return Number(numAffectedRows);
}

export async function purgeDead(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${tables.event} as event
    using (${chosen(tables, { ...filter, state: "dead" }, limit)}) as chosen
    where event.source = chosen.source and event.id = chosen.id`.execute(db);
  return Number(numAffectedRows);
}

function chosen(tables: Tables, filter: InboxFilter, limit: number): RawBuilder<EventKey> {
  return sql`
    select source, id from ${tables.event} where ${matching(filter)}
    order by received_at limit ${limit} for update skip locked`;
}
