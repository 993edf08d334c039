import type { InboxFilter, InboxPage, InboxState } from "@esim-webhooks/core";
import { type ListCursor, readCursor, writeCursor } from "@esim-webhooks/core/kit";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { type EventRow, eventColumns, inboxRow } from "./event-rows.ts";
import { allOf, isAbout, matching } from "./filter.ts";
import { planByIndexes } from "./steady-plan.ts";

/**
 * How many rows with a time a page searches, and how many without, if it comes to them. Of the done events of an eSIM, it searches entries of an
 * index instead. These are 20,000 in all, as the contract allows. 10,000 rows take 20 ms of the server's CPU, and twice that if they are in its cache
 * only in part.
 */
const mostReceived = 9500;
const mostInline = 500;
const mostEntries = 10_000;

/** A row that was found in a stretch. */
interface Found extends EventRow {
  readonly matches: boolean;
  /** When it was received, in µs since the Unix epoch. */
  readonly micros: string | null;
}

/** A bounded part of the list, in its order. */
interface Stretch {
  /** Which of its rows belong to the list. */
  readonly isListed: RawBuilder<boolean>;
  /** Which of its rows the page may have: it ends where another part of the search does. */
  readonly isReached: RawBuilder<boolean>;
  readonly rows: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
  readonly most: number;
}

/** What matches in a stretch. */
interface Searched {
  readonly rows: readonly Found[];
  /** Its last row, if the stretch is full: more rows may follow. */
  readonly end: Place | undefined;
}

/** A place in the list. */
type Place = Pick<Found, "source" | "id" | "received_at" | "micros">;

/**
 * A page. It reads a bounded stretch of the list and filters that, so that a filter that matches few events does not read all. An index of
 * all rows in this order would cost each put, take and settlement an entry. So each state has its own, and the stretches of the states
 * are merged. Ids that were handled inline have no time, and come last.
 */
export async function list(
  db: Kysely<unknown>,
  tables: Tables,
  filter: InboxFilter,
  limit: number,
  cursor: string | undefined,
): Promise<InboxPage> {
  const after = cursor === undefined ? undefined : readPlace(cursor);
  await planByIndexes(db);
  let found: readonly Found[] = [];
  if (after?.receivedAt !== null) {
    const floor = await floorOf(db, tables, filter, after);
    const { rows, end = floor } = await search(db, filter, limit + 1, received(tables, filter, after, floor));
    if (rows.length > limit || end !== undefined || !(await hasInline(db, tables, filter)))
      return page(rows, limit, end);
    found = rows;
  }
  const { rows, end } = await search(db, filter, limit + 1 - found.length, inline(tables, after));
  // the last one searched may have a time, but is a place among those that have none
  const withoutTime = { received_at: null, micros: null };
  return page(
    [...found, ...rows.map((row) => ({ ...row, ...withoutTime }))],
    limit,
    end && { ...end, ...withoutTime },
  );
}

function page(rows: readonly Found[], limit: number, end: Place | undefined): InboxPage {
  const matching = rows.filter(({ matches }) => matches);
  const listed = matching.slice(0, limit);
  const last = matching.length > limit ? listed.at(-1) : end;
  return {
    rows: listed.map(inboxRow),
    nextCursor: last ? writeCursor({ ...last, receivedAt: last.micros }) : null,
    searchedTo: last?.received_at ?? null,
  };
}

/** Stops after that many rows. */
async function search(
  db: Kysely<unknown>,
  filter: InboxFilter,
  mostFound: number,
  { isListed, isReached, rows: stretch, order, most }: Stretch,
): Promise<Searched> {
  const matches = sql`coalesce(${allOf(isListed, matching(filter))}, false)`;
  const { rows } = await sql<Found & { place: number }>`
    select ${eventColumns}, ${micros} as micros, ${matches} as matches, place
    from (
      select stretch.*, (row_number() over (${order}))::int as place from (${stretch} ${order} limit ${most}) as stretch
    ) as numbered
    where ${isReached} and (${matches} or place = ${most})
    limit ${mostFound}`.execute(db);
  const last = rows.at(-1);
  return { rows, end: last?.place === most ? last : undefined };
}

const micros = sql`(extract(epoch from received_at) * 1000000)::bigint::text`;
const newestFirst = sql`order by received_at desc, id desc, source desc`;
const columns = sql`source, id, state, type, lane, received_at, attempts, tries, ends_at, due_at, error, conflicts, replay, subject,
  settled_at`;

/** Where the leased events are: no index has those of all lanes and of none. */
const leased = [
  sql<boolean>`state = 'leased' and body is not null and lane is null`,
  sql<boolean>`lane is not null and state = 'leased'`,
];

/** The rows with a time: a sorted stretch of each state, merged. `floor`: the last place that the page may have. */
function received(
  tables: Tables,
  filter: InboxFilter,
  after: ListCursor | undefined,
  floor: Place | undefined,
): Stretch {
  const { ids } = filter;
  const range = allOf(
    inTime(filter),
    after && isBehind(after),
    floor && sql`received_at >= ${timeOf(floor.micros)}`, // a scan ends by the first column of an index alone
  );
  const from =
    ids === undefined
      ? tables.event
      : sql`(select * from ${tables.event} where id = any(${[...ids]}::text[]) offset 0) as event`; // few, by the primary key
  const stretches = conditions(filter, after, floor).map(
    (condition) => sql`
      (select ${columns} from ${from} where ${condition} and ${range} ${newestFirst} limit ${mostReceived})`,
  );
  return {
    isListed: sql`true`,
    isReached:
      floor === undefined
        ? sql`true`
        : sql`(received_at, id, source) >= (${timeOf(floor.micros)}, ${floor.id}, ${floor.source})`,
    rows: sql`select * from (${sql.join(stretches, sql` union all `)}) as merged`,
    order: newestFirst,
    most: mostReceived,
  };
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
 * Of the done events of an eSIM, a search skips the entries of all others. This is how far it may, by the index alone. Undefined: to the end.
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
 * The done events of an eSIM between two places, of which the search reads no other row. The first and the last time have parts of their own:
 * within a time, a scan ends by a condition on the id, but not by one on the pair.
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

/** The rows without a time, from the primary key, among the others. */
function inline({ event }: Tables, after: ListCursor | undefined): Stretch {
  const isAfter = after?.receivedAt === null && sql`(id, source) < (${after.id}, ${after.source})`;
  return {
    isListed: sql`received_at is null`,
    isReached: sql`true`,
    rows: sql`select ${columns} from ${event} where ${allOf(isAfter)}`,
    order: sql`order by id desc, source desc`,
    most: mostInline,
  };
}

/** Whether ids were handled inline that the filter may match. None is found while the first ones of all are being handled. */
async function hasInline(db: Kysely<unknown>, { event }: Tables, filter: InboxFilter): Promise<boolean> {
  const { state, types, since, until, subject } = filter;
  const isOfEvents = types ?? since ?? until ?? subject;
  if (isOfEvents !== undefined || (state !== undefined && state !== "done" && state !== "leased"))
    return false;
  const { rows } = await sql`
    select from ${event} where state = 'done' and received_at is null limit 1`.execute(db);
  return rows.length > 0;
}

function timeOf(micros: string | null): RawBuilder<Date> {
  return sql<Date>`(timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond')`;
}

/** Throws `invalid_input` for a cursor of another inbox, too. */
function readPlace(cursor: string): ListCursor {
  const place = readCursor(cursor);
  const isTime = place.receivedAt === null || /^-?\d{1,18}$/.test(place.receivedAt);
  return isTime ? place : readCursor("");
}
