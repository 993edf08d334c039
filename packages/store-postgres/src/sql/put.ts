import { crc32 } from "node:zlib";
import type { EventKey, InboxEntry, PutResult, WebhookError } from "@esim-webhooks/core";
import { keyText } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type PostgresErrorCode, schemaMismatch } from "../database/errors.ts";
import type { OpenPostgres } from "../database/postgres-database.ts";
import { isPausedType, qualified, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder, textArray } from "./batch.ts";
import { entryAssignments, entryNames, type PutRow, putRows } from "./put-rows.ts";

/**
 * Stores rows of different keys. First inserts with ON CONFLICT DO NOTHING, then selects the keys that were not inserted. One
 * statement for both would see the table as it was before, and miss a concurrent duplicate. The inserted rows are committed before the
 * select, and most puts need no select. Calls `onStored` as soon as an event is ready, since the second step may fail.
 */
export async function put(
  { run, runStatement, tables }: Pick<OpenPostgres<never>, "run" | "runStatement" | "tables">,
  rows: readonly PutRow[],
  onStored: () => void,
): Promise<PutResult[]> {
  const inserted = await runStatement(
    insert(
      tables,
      inKeyOrder(rows, ({ key }) => key),
    ),
  );
  if (inserted.length > 0) onStored();
  if (inserted.length === rows.length) return rows.map(() => "stored");
  const stored = new Set(inserted.map(keyText));
  const others = inKeyOrder(
    rows.filter(({ key }) => !stored.has(key)),
    ({ key }) => key,
  );
  const results = await run((db) => compare(db, tables, others));
  if ([...results.values()].includes("stored")) onStored();
  return rows.map(({ key }) => results.get(key) ?? "stored");
}

/** The statement that inserts rows with new keys. It returns these keys. */
export function insert(tables: Tables, rows: readonly PutRow[]): RawBuilder<EventKey> {
  return sql<EventKey>`
    insert into ${tables.event}
      (state, due_at, held, ${entryNames})
    select 'ready', ${serverTime}, ${isPausedType(tables, sql`type`)}, ${entryNames}
    from (${putRows(rows)}) as entry
    on conflict do nothing
    returning source, id`;
}

/** The results of the rows that were not inserted, by key text. */
async function compare(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<Map<string, PutResult>> {
  const present = await look(db, tables, rows);
  const results = new Map<string, PutResult>();
  for (const row of rows) results.set(row.key, await compareOne(db, tables, row, present.get(row.key)));
  return results;
}

interface Present extends EventKey {
  /** Whether it is an inline claim. */
  readonly inline: boolean;
  /** Whether its lease has ended. */
  readonly ended: boolean;
  /** The CRC-32 of its body. Null if unknown. */
  readonly fingerprint: number | null;
  readonly rebuilt: boolean;
}

const isInline = sql<boolean>`(state = 'leased' and body is null)`;

async function look(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<Map<string, Present>> {
  const { rows: present } = await sql<Present>`
    select source, id, ${isInline} as inline, coalesce(leased_until <= ${serverTime}, false) as ended, fingerprint::float8 as fingerprint,
      coalesce(replay -> 'rebuilt' = 'true', false) as rebuilt
    from ${tables.event} join unnest(
      ${textArray(rows.map(({ entry }) => entry.source))}::text[], ${textArray(rows.map(({ entry }) => entry.id))}::text[]
    ) as wanted (source, id) using (source, id)`.execute(db);
  return new Map(present.map((row) => [keyText(row), row]));
}

/** Compares an entry with the row of its id. An inline claim whose lease has ended is treated as absent. */
async function compareOne(
  db: Kysely<unknown>,
  tables: Tables,
  row: PutRow,
  present: Present | undefined,
  tries = mostTries,
): Promise<PutResult> {
  if (present?.inline) {
    const isAbsent = present.ended && (await remove(db, tables, row.entry, endedClaim));
    return isAbsent ? compareOne(db, tables, row, undefined, tries) : "busy";
  }
  if (present === undefined) {
    // released or purged since the insert
    if ((await insert(tables, [row]).execute(db)).rows.length > 0) return "stored";
    if (tries === 0) throw discardsRows(tables);
    const changed = (await look(db, tables, [row])).get(row.key); // inserted by another process meanwhile
    return compareOne(db, tables, row, changed, tries - 1);
  }
  if (!isConflict(row.entry, present)) return "already_stored";
  await countConflict(db, tables, row.entry);
  return "conflict";
}

/** An inline claim whose lease has ended. */
export const endedClaim: RawBuilder<boolean> = sql<boolean>`${isInline} and leased_until <= ${serverTime}`;

/**
 * Deletes a row that is treated as absent, with all that it kept, so that another can be inserted. False: `isAbsent` is no longer true, or
 * another transaction has locked the row; this does not wait for the lock.
 */
export async function remove(
  db: Kysely<unknown>,
  { event }: Tables,
  { source, id }: EventKey,
  isAbsent: RawBuilder<boolean>,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${event} where ctid in (
      select ctid from ${event} where source = ${source} and id = ${id} and (${isAbsent}) for update skip locked
    )`.execute(db);
  return numAffectedRows > 0n;
}

/** How often an insert may fail because of a row that a select then does not find. */
export const mostTries = 3;

/** The error for a table whose new rows disappear, which only a trigger of the user can cause. */
export function discardsRows(tables: Tables): WebhookError<PostgresErrorCode> {
  return schemaMismatch(tables, "the table of events discards rows that are inserted");
}

/** Compares bodies only if both are signed bytes or both were rebuilt: a dump formats JSON its own way. */
function isConflict({ body, replay }: InboxEntry, { fingerprint, rebuilt }: Present): boolean {
  return (replay?.rebuilt ?? false) === rebuilt && fingerprint !== null && fingerprint !== crc32(body);
}

/** Counts a delivery that had the id of an event, but another body. */
export async function countConflict(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id }: EventKey,
): Promise<void> {
  await sql`update ${tables.event} set conflicts = conflicts + 1 where source = ${source} and id = ${id}`.execute(
    db,
  );
}

/**
 * Done → ready with a new body, for rows of different keys. Resolves to a boolean for each entry, in the same order: whether its row was done
 * and not erased, and its run had not made it ready before. Locks rows in the order of their keys. A statement that waited for a lock checks the row again, so
 * only one of many statements with the same run changes it. Keeps the earlier runs in `runs`.
 */
export async function rerun(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<boolean[]> {
  const { rows: changed } = await sql<EventKey>`
    with entry as materialized (${putRows(inKeyOrder(rows, ({ key }) => key))}),
    done as materialized (
      select event.source, event.id from ${tables.event} as event join entry using (source, id)
      where event.state = 'done' and event.erased_at is null
        and event.replay ->> 'run' is distinct from entry.replay ->> 'run'
        and (event.runs is null or entry.replay ->> 'run' <> all (event.runs))
      order by entry.place
      for update of event
    )
    update ${tables.event} as event
    set state = 'ready', fence = nextval(${qualified(tables, "fence")}::regclass), due_at = ${serverTime}, kept_until = null,
      held = ${isPausedType(tables, sql`entry.type`)}, tries = 0, suspect = false, error = null, ${entryAssignments}, taken_at = null, settled_at = null, history = null,
      runs = array_remove(event.runs || (event.replay ->> 'run'), null)
    from entry join done using (source, id)
    where event.source = entry.source and event.id = entry.id
    returning event.source, event.id`.execute(db);
  const names = new Set(changed.map(keyText));
  return rows.map(({ key }) => names.has(key));
}
