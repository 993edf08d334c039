import type { InboxFilter, InboxPage, InboxState } from "@esim-webhooks/core";
import {
  inboxRow,
  type ListCursor,
  listedColumns,
  readCursor,
  writeCursor,
} from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { type EventRow, readColumns } from "./event-rows.ts";
import { allOf, isAbout, matching } from "./filter.ts";
import { planByIndexes } from "./steady-plan.ts";

/**
 * How many rows a page searches, and how many entries of the index of the done events of an eSIM. These are 20,000 in all, as the contract
 * allows. 10,000 rows take 20 ms of the server's CPU, and twice that if they are in its cache only in part.
 */
const mostRows = 10_000;
const mostEntries = 10_000;

/** A row that was found in a stretch. */
interface Found extends EventRow {
  readonly matches: boolean;
  /** When it was received, in µs since the Unix epoch. */
  readonly micros: string;
}

/** A place in the list. */
type Place = Pick<Found, "source" | "id" | "received_at" | "micros">;

/**
 * Returns a page. Reads a bounded stretch of the list and filters it, so that a filter that matches few events does not read all. An index of
 * all rows in this order would cost each put, take and settlement an entry. So each state has its own, and the stretches of the states
 * are merged. Ids that were handled inline are no events, and have no receive time.
 */
export async function list(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  limit: number,
  cursor: string | undefined,
): Promise<InboxPage> {
  const after =
    cursor === undefined ? undefined : readCursor(cursor, (micros) => /^-?\d{1,18}$/.test(micros));
  await planByIndexes(db);
  const floor = await floorOf(db, tables, filter, after);
  const isReached =
    floor === undefined
      ? sql`true`
      : sql`(received_at, id, source) >= (${timeOf(floor.micros)}, ${floor.id}, ${floor.source})`;
  const matches = sql`coalesce(${matching(filter)}, false)`;
  const { rows } = await sql<Found & { place: number }>`
    select ${readColumns(listedColumns)}, ${micros} as micros, ${matches} as matches, place
    from (
      select stretch.*, (row_number() over (${newestFirst}))::int as place
      from (${received(tables, filter, after, floor)} ${newestFirst} limit ${mostRows}) as stretch
    ) as numbered
    where ${isReached} and (${matches} or place = ${mostRows})
    limit ${limit + 1}`.execute(db);
  const found = rows.filter((row) => row.matches);
  const listed = found.slice(0, limit);
  const end = rows.at(-1)?.place === mostRows ? rows.at(-1) : floor; // the stretch is full: more rows may follow
  const last = found.length > limit ? listed.at(-1) : end;
  return {
    rows: listed.map(inboxRow),
    nextCursor: last ? writeCursor({ ...last, receivedAt: last.micros }) : null,
    searchedTo: last?.received_at ?? null,
  };
}

const micros = sql`(extract(epoch from received_at) * 1000000)::bigint::text`;
const newestFirst = sql`order by received_at desc, id desc, source desc`;
const columns = sql.raw(listedColumns.map(({ name }) => name).join());

/** The conditions that together find the leased events: no index has both those in lanes and those without a lane. */
const leased = [
  sql<boolean>`state = 'leased' and body is not null and lane is null`,
  sql<boolean>`lane is not null and state = 'leased'`,
];

/** A sorted stretch of each state, merged. `floor`: the last place that the page may have. */
function received(
  tables: Tables,
  filter: InboxFilter,
  after: ListCursor | undefined,
  floor: Place | undefined,
): RawBuilder<unknown> {
  const { ids } = filter;
  const range = allOf(
    inTime(filter),
    after && isBehind(after),
    floor && sql`received_at >= ${timeOf(floor.micros)}`, // a scan ends only by a condition on the first column of an index
  );
  const from =
    ids === undefined
      ? tables.event
      : sql`(select * from ${tables.event} where id = any(${[...ids]}::text[]) offset 0) as event`; // few, by the primary key
  const stretches = conditions(filter, after, floor).map(
    (condition) => sql`
      (select ${columns} from ${from} where ${condition} and ${range} ${newestFirst} limit ${mostRows})`,
  );
  return sql`select * from (${sql.join(stretches, sql` union all `)}) as merged`;
}

function inTime({ since, until }: InboxFilter): RawBuilder<boolean> {
  return allOf(
    sql`received_at is not null`,
    since && sql`received_at >= ${since}`,
    until && sql`received_at < ${until}`,
  );
}

function isBehind({ receivedAt, id, source }: ListCursor): RawBuilder<boolean> {
  return sql`(received_at, id, source) < (${timeOf(receivedAt)}, ${id}, ${source})`;
}

/**
 * A search for the done events of an eSIM skips the index entries of all others. Resolves to the last place that it may reach; undefined: the
 * end. Reads only the index.
 */
async function floorOf(
  db: Kysely<unknown>,
  { event }: Tables,
  filter: InboxFilter,
  after: ListCursor | undefined,
): Promise<Place | undefined> {
  const { state = "done", subject, ids } = filter;
  if (subject === undefined || ids !== undefined || state !== "done") return undefined;
  const { rows } = await sql<Place>`
    select source, id, received_at, ${micros} as micros from ${event}
    where state = 'done' and ${allOf(inTime(filter), after && isBehind(after))} ${newestFirst}
    limit 1 offset ${mostEntries - 1}`.execute(db);
  return rows[0];
}

/** The condition of each stretch: word for word that of an index. */
function conditions(
  { state, ids, subject }: InboxFilter,
  after: ListCursor | undefined,
  floor: Place | undefined,
): readonly RawBuilder<boolean>[] {
  if (ids !== undefined) return [sql`true`];
  const isWanted = (each: InboxState) => state === undefined || state === each;
  const others = (["unhandled", "dead", "ready"] as const).filter(isWanted);
  const parts = subject === undefined ? [sql<boolean>`true`] : doneParts(subject, after, floor);
  return [
    ...(isWanted("done") ? parts.map((part) => sql<boolean>`state = 'done' and ${part}`) : []),
    ...others.map((each) => sql<boolean>`state = ${sql.lit(each)}`),
    ...(isWanted("leased") ? leased : []),
  ];
}

/**
 * The conditions that find the done events of an eSIM between two places, without reading another row. The first and the last time have
 * conditions of their own: within a time, a condition on the id ends a scan, but one on the pair of time and id does not.
 */
function doneParts(
  subject: string,
  after: ListCursor | undefined,
  floor: Place | undefined,
): readonly RawBuilder<boolean>[] {
  const isFirst = after && sql`received_at = ${timeOf(after.receivedAt)} and id <= ${after.id}`;
  const isLast = floor && sql`received_at = ${timeOf(floor.micros)} and id >= ${floor.id}`;
  const parts =
    after && floor && after.receivedAt === floor.micros
      ? [allOf(isFirst, isLast)]
      : [
          allOf(
            after && sql`received_at < ${timeOf(after.receivedAt)}`,
            floor && sql`received_at > ${timeOf(floor.micros)}`,
          ),
          ...[isFirst ?? [], isLast ?? []].flat(),
        ];
  return parts.map((part) => allOf(isAbout(subject), part));
}

function timeOf(micros: string): RawBuilder<Date> {
  return sql<Date>`(timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond')`;
}
