import { createHash } from "node:crypto";
import type { EventKey, InboxEntry, PutResult } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../tables.ts";

/** An entry, and the lane it is to be worked in. */
export interface PutRow {
  readonly entry: InboxEntry;
  readonly lane: string | null;
}

/**
 * Stores rows of different keys. An insert that does nothing on conflict, then a look at the keys that did not come
 * back: a statement that does both sees the table as it was before, and finds nothing for a concurrent duplicate.
 * Rows are inserted in the order of their keys, so that two batches with the same keys wait for each other one way only.
 */
export async function put(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<PutResult[]> {
  const sorted = [...rows].sort((a, b) => (nameOf(a.entry) < nameOf(b.entry) ? -1 : 1));
  const inserted = await insert(db, tables, sorted);
  const present = rows.filter(({ entry }) => !inserted.has(nameOf(entry)));
  const results = present.length === 0 ? new Map<string, PutResult>() : await compare(db, tables, present);
  return rows.map(({ entry }) => results.get(nameOf(entry)) ?? "stored");
}

async function insert(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<ReadonlySet<string>> {
  const entries = rows.map(({ entry }) => entry);
  let offset = 1;
  const offsets = entries.map(({ body }) => {
    const begin = offset;
    offset += body.byteLength;
    return begin;
  });
  // all bodies as one parameter, which travels as the bytes it is; an array of them would travel as text
  const bodies = Buffer.concat(entries.map(({ body }) => body));
  const { rows: inserted } = await sql<EventKey>`
    insert into ${tables.event}
      (source, id, state, ends_at, type, body, body_hash, received_at, occurred_at, lane)
    select source, id, 'ready', ${tables.now()}, type, body, sha256(body),
      to_timestamp(received), to_timestamp(occurred), lane
    from (
      select given.*, substring(${bodies}::bytea from body_begin for body_length) as body
      from unnest(
        ${entries.map(({ source }) => source)}::text[],
        ${entries.map(({ id }) => id)}::text[],
        ${entries.map(({ type }) => storable(type))}::text[],
        ${offsets}::int[],
        ${entries.map(({ body }) => body.byteLength)}::int[],
        ${entries.map(({ receivedAt }) => receivedAt.getTime() / 1000)}::float8[],
        ${entries.map(occurredAt)}::float8[],
        ${rows.map(({ lane }) => storable(lane))}::text[]
      ) as given (source, id, type, body_begin, body_length, received, occurred, lane)
    ) as entry
    on conflict do nothing
    returning source, id`.execute(db);
  return new Set(inserted.map(nameOf));
}

/** What the rows are that did not go in, by name. */
async function compare(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<Map<string, PutResult>> {
  const present = await look(db, tables, rows);
  const results = new Map<string, PutResult>();
  for (const row of rows) {
    const name = nameOf(row.entry);
    results.set(name, await compareOne(db, tables, row, present.get(name)));
  }
  return results;
}

interface Present extends EventKey {
  readonly state: string;
  readonly hash: Buffer | null;
  readonly bodiless: boolean;
}

async function look(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<Map<string, Present>> {
  const { rows: present } = await sql<Present>`
    select source, id, state, body_hash as hash, body is null as bodiless
    from ${tables.event} join unnest(
      ${rows.map(({ entry }) => entry.source)}::text[], ${rows.map(({ entry }) => entry.id)}::text[]
    ) as given (source, id) using (source, id)`.execute(db);
  return new Map(present.map((row) => [nameOf(row), row]));
}

async function compareOne(
  db: Kysely<unknown>,
  tables: Tables,
  row: PutRow,
  present: Present | undefined,
): Promise<PutResult> {
  if (present === undefined) {
    // given back, or forgotten, since the insert
    if ((await insert(db, tables, [row])).size > 0) return "stored";
  } else if (present.state === "leased" && present.bodiless) {
    if (await leaveBody(db, tables, row.entry)) return "stored";
  } else {
    const { hash } = present; // none where the id was done inline
    if (hash === null || createHash("sha256").update(row.entry.body).digest().equals(hash))
      return "duplicate";
    await countConflict(db, tables, row.entry);
    return "conflict";
  }
  return compareOne(db, tables, row, (await look(db, tables, [row])).get(nameOf(row.entry))); // it has changed meanwhile
}

/**
 * The id is being worked inline just now. Its body is left with it, so that the event is worked from here if that does
 * not end well; in no lane, since its turn there is over. False: that has ended meanwhile.
 */
async function leaveBody(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id, type, body, receivedAt }: InboxEntry,
): Promise<boolean> {
  const bytes = Buffer.from(body);
  const { numAffectedRows = 0n } = await sql`
    update ${tables.event}
    set type = ${storable(type)}, body = ${bytes}::bytea, body_hash = sha256(${bytes}::bytea),
      received_at = to_timestamp(${receivedAt.getTime() / 1000}::float8)
    where source = ${source} and id = ${id} and state = 'leased' and body is null`.execute(db);
  return numAffectedRows > 0n;
}

async function countConflict(db: Kysely<unknown>, tables: Tables, { source, id }: EventKey): Promise<void> {
  await sql`update ${tables.event} set conflicts = conflicts + 1 where source = ${source} and id = ${id}`.execute(
    db,
  );
}

/** A name for a key, unique: the length keeps ("a", "bc") and ("ab", "c") apart. */
export function nameOf({ source, id }: EventKey): string {
  return `${source.length}:${source}${id}`;
}

/** As far as both Postgres and JavaScript can tell the time. */
const firstSecond = Date.parse("0001-01-01T00:00:00Z") / 1000 - 86_400;
const lastSecond = Date.parse("9999-12-31T00:00:00Z") / 1000 + 2 * 86_400;

/**
 * When the event occurred, in seconds since the epoch, to the microsecond that `Date.parse` leaves out. When it came in,
 * where the timestamp is none that can be told, such as a leap second.
 */
function occurredAt({ event, receivedAt }: InboxEntry): number | null {
  if (event === null) return null;
  const seconds = Date.parse(event.timestamp) / 1000;
  if (!(seconds > firstSecond && seconds < lastSecond)) return receivedAt.getTime() / 1000;
  const [, micros = ""] = /\.\d{3}(\d{1,3})/.exec(event.timestamp) ?? [];
  return seconds + Number(micros.padEnd(3, "0")) / 1_000_000;
}

/** Text as Postgres can keep it, which refuses NUL. Only for what is read from the body again. */
function storable(text: string | null): string | null {
  return text?.replaceAll("\0", "\uFFFD") ?? null;
}
