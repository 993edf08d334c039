import type { EventKey, InboxFilter } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import type { EventRow } from "./event-rows.ts";
import { all, type Condition, type Filter, isEvent, matching, ofIds } from "./filter.ts";

/** The place in the list after which a page begins. */
export interface Place extends EventKey {
  /** In ms since the Unix epoch. */
  readonly receivedAt: number;
}

export interface ListInput {
  /** The columns of the page's rows: SQL. */
  readonly columns: string;
  readonly filter: InboxFilter;
  readonly limit: number;
  readonly after: Place | undefined;
}

/** A page, whose rows are as they are in the table. */
export interface ListedRows {
  readonly rows: readonly EventRow[];
  /** The place after which the next page begins; undefined at the end of the list. */
  readonly next: Place | undefined;
}

/** The rows in which the filter searches, in their order. */
interface Searched {
  /** The table, with the index that has the order: SQL. */
  readonly table: string;
  /** The condition that the rows meet: SQL. */
  readonly rows: Condition;
  /** How far a page searches. */
  readonly bounds: readonly Bound[];
}

/** A page ends after `most` entries of the index that meet `of`, a condition that needs nothing but the index. */
interface Bound {
  readonly of: Condition;
  readonly most: number;
}

/** Returns a page: newest received first, then by id and source. Ids that were handled inline are no events, and have no receive time. */
export function list(connection: Connection, input: ListInput): ListedRows {
  const { filter, limit } = input;
  const few = fewOfIds(connection, filter);
  if (few !== undefined) return listFew(connection, few, input);
  const { found, end } = search(connection, searched(filter), { ...input, limit: limit + 1 });
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? rowPlace(rows.at(-1)) : end };
}

function rowPlace(row: EventRow | undefined): Place | undefined {
  return row && { receivedAt: row.received_at as number, id: row.id, source: row.source };
}

const newestFirst = "order by received_at desc, id desc, source desc";

/** Returns the matching rows after a place, up to the last one that a page may search: `end`. Without `end`, the search reaches the end of the list. */
function search(
  connection: Connection,
  { table, rows, bounds }: Searched,
  { columns, filter, limit, after }: ListInput,
): { readonly found: EventRow[]; readonly end: Place | undefined } {
  const compared = (operator: "<" | "<=" | ">=", { receivedAt, id }: Place): Condition => ({
    sql: `(received_at, id) ${operator} (?, ?)`,
    parameters: [receivedAt, id],
  });
  const { since, until, ...others } = filter;
  // One condition for each end of the range: SQLite searches an index by no more. The range includes the row of `after` itself, since rows
  // with its id, but another source, may follow.
  const ahead = all([
    rows,
    after === undefined ? matching({ until }) : compared(after.source === "" ? "<" : "<=", after),
  ]);
  const upTo = (place: Place | undefined) =>
    all([ahead, place === undefined ? matching({ since }) : compared(">=", place)]);
  let last: Place | undefined;
  for (const { of, most } of bounds) {
    const { sql, parameters } = all([upTo(last), of]);
    last =
      connection.get<Place>(
        `select received_at as receivedAt, id, '' as source from ${table} where ${sql}
        order by received_at desc, id desc limit 1 offset ?`,
        ...parameters,
        most - 1,
      ) ?? last;
  }
  const { sql, parameters } = all([
    upTo(last),
    ...(after === undefined ? [] : [laterThan(after)]),
    matching(others),
    ...(since === undefined ? [] : [{ sql: "+received_at >= ?", parameters: [since.getTime()] }]),
    ...(until === undefined ? [] : [{ sql: "+received_at < ?", parameters: [until.getTime()] }]),
  ]);
  const found = connection.all<EventRow>(
    `select ${columns} from ${table} where ${sql} ${newestFirst} limit ?`,
    ...parameters,
    limit,
  );
  return { found, end: last };
}

const mostSearched = 5000; // rows
const mostErrorsSearched = 2500; // where texts are searched
const mostEntriesSearched = 20_000; // of the index, for the events of an eSIM

/** The rows to search: those of the smallest index that has every row which the filter can mean. */
function searched({ state, since: _since, until: _until, ...rest }: InboxFilter): Searched {
  const isEnded = state === "dead" || state === "unhandled";
  const { subject, ...others }: Filter = isEnded ? rest : { ...rest, state };
  return {
    table: `esim_webhooks_event indexed by esim_webhooks_event_${isEnded ? state : "received"}`,
    rows: isEnded ? all([isEvent, matching({ state })]) : isEvent,
    bounds:
      subject === undefined || isEnded
        ? boundsOf({ ...others, subject })
        : [
            { of: all([]), most: mostEntriesSearched },
            ...boundsOf(others).map(({ most }) => ({ of: matching({ subject }), most })),
          ],
  };
}

/** `other`: the conditions of the filter that the index does not answer. If there are none, every row is a result, and no bound is needed. */
function boundsOf(other: Filter): readonly Bound[] {
  if (Object.values(other).every((value) => value === undefined)) return [];
  return [{ of: all([]), most: other.error === undefined ? mostSearched : mostErrorsSearched }];
}

const fewRows = 2500;

/** The rows that a filter names by its ids, if they are few: a JSON array. They are sorted rather than searched. */
function fewOfIds(connection: Connection, filter: InboxFilter): string | undefined {
  const named = ofIds(filter);
  if (named === undefined) return undefined;
  const rows = connection.all<{ rowid: number }>(
    `select rowid from esim_webhooks_event where ${named.sql} limit ${fewRows + 1}`,
    ...named.parameters,
  );
  return rows.length > fewRows ? undefined : JSON.stringify(rows.map(({ rowid }) => rowid));
}

function listFew(
  connection: Connection,
  rowids: string,
  { columns, filter, limit, after }: ListInput,
): ListedRows {
  const { sql, parameters } = all([
    { sql: "rowid in (select value from json_each(?))", parameters: [rowids] },
    matching(filter),
    ...(after === undefined ? [] : [laterThan(after)]),
  ]);
  const matched = connection.all<EventRow>(
    `select ${columns} from esim_webhooks_event where ${sql} ${newestFirst} limit ?`,
    ...parameters,
    limit + 1,
  );
  const rows = matched.slice(0, limit);
  return { rows, next: matched.length > limit ? rowPlace(rows.at(-1)) : undefined };
}

function laterThan({ receivedAt, id, source }: Place): Condition {
  return { sql: "(received_at, id, source) < (?, ?, ?)", parameters: [receivedAt, id, source] };
}
