import type { EventKey, InboxFilter, InboxPage } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { dateOf, type EventRow, eventColumns, inboxRow } from "./event-rows.ts";
import { all, type Condition, type Filter, matching, ofIds } from "./filter.ts";

/** The place in the list after which a page begins. */
export interface Place extends EventKey {
  /** In ms since the Unix epoch; null for an id that was handled inline. */
  readonly receivedAt: number | null;
}

export interface ListInput {
  readonly filter: InboxFilter;
  readonly limit: number;
  readonly after: Place | undefined;
}

/** A page, except that the `error` of a row is the kept text, with the frames of its stack. */
export interface ListedRows extends Pick<InboxPage, "rows" | "searchedTo"> {
  /** The last place that was searched; undefined at the end of the list. */
  readonly next: Place | undefined;
}

/** A part of the list, in which rows are searched in order. */
interface Part {
  /** The table, with the index that has the order: SQL. */
  readonly table: string;
  /** Which rows of the index are in this part. */
  readonly rows: Condition;
  /** The columns by which they are ordered: SQL. */
  readonly place: string;
  readonly valuesOf: (place: Place) => readonly (string | number | null)[];
  /** How many rows a page searches at most; undefined where all are what the filter means. */
  readonly most: number | undefined;
}

/** Newest received first, then by id and source; at the end ids that were handled inline, which have no time. */
export function list(connection: Connection, { filter, limit, after }: ListInput): ListedRows {
  const input = { filter, limit, after };
  const few = fewOfIds(connection, filter);
  if (few !== undefined) return listFew(connection, few, input);
  if (filter.subject !== undefined && filter.state !== "dead" && filter.state !== "unhandled")
    return listFew(connection, fewOfSubject(connection, input), input);
  const rows: EventRow[] = [];
  for (const part of after?.receivedAt === null ? [inline(filter)] : partsOf(filter)) {
    const left = limit - rows.length;
    const isInPart = (after?.receivedAt === null) === (part.place === inlinePlace);
    const { found, end } = search(connection, part, {
      filter,
      limit: left + 1,
      after: isInPart ? after : undefined,
    });
    rows.push(...found.slice(0, left));
    const next = found.length > left ? placeOf(rows.at(-1)) : end;
    if (next !== undefined) return page(rows, next);
  }
  return page(rows, undefined);
}

function page(rows: readonly EventRow[], next: Place | undefined): ListedRows {
  return { rows: rows.map(inboxRow), next, searchedTo: dateOf(next?.receivedAt ?? null) };
}

function placeOf(row: EventRow | undefined): Place | undefined {
  return row && { receivedAt: row.received_at, id: row.id, source: row.source };
}

const newestFirst = "order by received_at desc, id desc, source desc";

/** The rows of a part after a place, up to the last one that a page may search: `end`. */
function search(
  connection: Connection,
  { table, rows, place, valuesOf, most }: Part,
  { filter, limit, after }: ListInput,
): { readonly found: EventRow[]; readonly end: Place | undefined } {
  const compared = (operator: "<" | ">=", to: Place): Condition => {
    const parameters = valuesOf(to);
    return { sql: `(${place}) ${operator} (${parameters.map(() => "?").join(", ")})`, parameters };
  };
  const ahead = all([rows, ...(after === undefined ? [] : [compared("<", after)])]);
  const end =
    most === undefined
      ? undefined
      : connection.get<Place>(
          `select received_at as receivedAt, id, source from ${table} where ${ahead.sql} ${newestFirst} limit 1 offset ?`,
          ...ahead.parameters,
          most - 1,
        );
  const { sql, parameters } = all([
    ahead,
    ...(end === undefined ? [] : [compared(">=", end)]),
    matching(filter),
  ]);
  const found = connection.all<EventRow>(
    `select ${eventColumns} from ${table} where ${sql} ${newestFirst} limit ?`,
    ...parameters,
    limit,
  );
  return { found, end };
}

const mostSearched = 5000; // of each part
const mostErrorsSearched = 2500; // where texts are searched

/** The parts of the list in which there can be rows that the filter means. */
function partsOf(filter: InboxFilter): readonly Part[] {
  const { state, subject, since, until } = filter;
  const isInOnePart =
    state === "dead" ||
    state === "unhandled" ||
    subject !== undefined ||
    since !== undefined ||
    until !== undefined;
  return isInOnePart ? [received(filter)] : [received(filter), inline(filter)];
}

/** Rows with a time, by the index that has the fewest of them. */
function received(filter: InboxFilter): Part {
  const { state, since, until, ...rest } = filter;
  const [index, condition, other]: readonly [string, Condition, Filter] =
    state === "dead" || state === "unhandled"
      ? [state, matching({ state }), rest]
      : ["received", matching({}), { ...rest, state }];
  return {
    table: `esim_webhooks_event indexed by esim_webhooks_event_${index}`,
    rows: all([condition, { sql: "received_at is not null", parameters: [] }, matching({ since, until })]),
    place: "received_at, id, source",
    valuesOf: ({ receivedAt, id, source }) => [receivedAt, id, source],
    most: mostOf(other),
  };
}

const inlinePlace = "id, source";

/** Ids that were handled inline. */
function inline(filter: InboxFilter): Part {
  return {
    table: "esim_webhooks_event indexed by esim_webhooks_event_inline",
    rows: { sql: "received_at is null", parameters: [] },
    place: inlinePlace,
    valuesOf: ({ id, source }) => [id, source],
    most: mostOf(filter),
  };
}

/** `other`: what the filter says in addition to what an index finds. */
function mostOf(other: Filter): number | undefined {
  if (Object.values(other).every((value) => value === undefined)) return undefined;
  return other.error === undefined ? mostSearched : mostErrorsSearched;
}

const fewRows = 2500;
/** Of the index alone: 45 ns each. */
const mostEntriesSearched = 500_000;

/** Rows that are sorted rather than searched. */
interface FewRows {
  /** A JSON array. */
  readonly rowids: string;
  /** The last place that was searched; undefined at the end of the list. */
  readonly end?: Place | undefined;
}

/** The rows that a filter names by its ids, if they are few. */
function fewOfIds(connection: Connection, filter: InboxFilter): FewRows | undefined {
  const named = ofIds(filter);
  if (named === undefined) return undefined;
  const rows = connection.all<{ rowid: number }>(
    `select rowid from esim_webhooks_event where ${named.sql} limit ${fewRows + 1}`,
    ...named.parameters,
  );
  return rows.length > fewRows ? undefined : { rowids: rowidsOf(rows) };
}

/** The next rows of an eSIM, newest first, found by the index alone, as far as a page may search. */
function fewOfSubject(connection: Connection, { filter, after }: ListInput): FewRows {
  const { subject, since, until } = filter;
  const table = "esim_webhooks_event indexed by esim_webhooks_event_received";
  const ahead = all([
    { sql: "received_at is not null", parameters: [] },
    matching({ since, until }),
    ...(after === undefined ? [] : [{ sql: "received_at <= ?", parameters: [after.receivedAt] }]),
  ]);
  const searchedTo = connection.get<{ at: number }>(
    `select received_at as at from ${table} where ${ahead.sql} order by received_at desc limit 1 offset ?`,
    ...ahead.parameters,
    mostEntriesSearched,
  );
  const from = (at: number | undefined): Condition[] =>
    at === undefined ? [] : [{ sql: "received_at >= ?", parameters: [at] }];
  const find = (at: number | undefined, limit: number) => {
    const { sql, parameters } = all([ahead, ...from(at), matching({ subject })]);
    return connection.all<{ rowid: number; at: number }>(
      `select rowid, received_at as at from ${table} where ${sql} order by received_at desc limit ?`,
      ...parameters,
      limit,
    );
  };
  const first = find(searchedTo?.at, fewRows);
  const isFull = first.length === fewRows;
  const endAt = isFull ? first.at(-1)?.at : searchedTo?.at;
  const rows = isFull ? find(endAt, -1) : first; // with all of the last millisecond
  return { rowids: rowidsOf(rows), end: endAt === undefined ? undefined : placeBefore(endAt) };
}

/** The place behind all rows of a millisecond. */
function placeBefore(receivedAt: number): Place {
  return { receivedAt, id: "", source: "" };
}

function rowidsOf(rows: readonly { readonly rowid: number }[]): string {
  return JSON.stringify(rows.map(({ rowid }) => rowid));
}

function listFew(
  connection: Connection,
  { rowids, end }: FewRows,
  { filter, limit, after }: ListInput,
): ListedRows {
  const { sql, parameters } = all([
    { sql: "rowid in (select value from json_each(?))", parameters: [rowids] },
    matching(filter),
    ...(after === undefined ? [] : [laterThan(after)]),
  ]);
  const matched = connection.all<EventRow>(
    `select ${eventColumns} from esim_webhooks_event where ${sql} ${newestFirst} limit ?`,
    ...parameters,
    limit + 1,
  );
  const rows = matched.slice(0, limit);
  return page(rows, matched.length > limit ? placeOf(rows.at(-1)) : end);
}

function laterThan({ receivedAt, id, source }: Place): Condition {
  return receivedAt === null
    ? { sql: "received_at is null and (id, source) < (?, ?)", parameters: [id, source] }
    : {
        sql: "(received_at is null or (received_at, id, source) < (?, ?, ?))",
        parameters: [receivedAt, id, source],
      };
}
