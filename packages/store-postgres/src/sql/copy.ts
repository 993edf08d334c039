import type { EventKey } from "@esim-webhooks/core";
import { type EventColumn, eventColumns, keyText } from "@esim-webhooks/core/engine";
import type {
  CopiedEvents,
  DifferentEvent,
  EventRecord,
  LatestRecord,
  StateRecord,
} from "@esim-webhooks/core/internal";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { isPausedType, qualified, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder } from "./batch.ts";
import { storableJson, storableLane } from "./put-rows.ts";

/**
 * Inserts the records of another inbox that have new keys, updates the rows that may be updated, and reads which of the others
 * are in another state. `db` is in a transaction: DO UPDATE locks a row also if it does not update it, so none is deleted meanwhile.
 */
export async function copyEvents(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly EventRecord[],
): Promise<CopiedEvents> {
  const sorted = inKeyOrder(records, keyText);
  const inserted = await write(db, tables, sorted, sql`do nothing`);
  const present = sorted.filter((record) => !inserted.has(keyText(record)));
  if (present.length === 0) return { inserted: inserted.size, updated: 0, different: [] };
  const updated = await write(db, tables, present, updateIfAllowed);
  const left = present.filter((record) => !updated.has(keyText(record)));
  return {
    inserted: inserted.size,
    updated: updated.size,
    different: await inAnotherState(db, tables, left),
  };
}

/** The row is as a copy wrote it, and the event has changed in the source since. */
const isOutdated = sql`event.fence < 0
  and (event.state, event.due_at, event.kept_until, event.attempts, event.tries, event.conflicts, event.replay, event.suspect, event.waiting_since)
    is distinct from (excluded.state, excluded.due_at, excluded.kept_until, excluded.attempts, excluded.tries, greatest(event.conflicts, excluded.conflicts), excluded.replay, excluded.suspect, excluded.waiting_since)`;

/** The row is an inline claim whose lease has ended: it is treated as absent. */
const isAbandoned = sql`event.state = 'leased' and event.body is null and event.leased_until <= ${serverTime}`;

/** The event is done in the source, and would be handled again here. False if a worker has it, or if another run was requested here. */
const wouldRunTwice = sql`excluded.state = 'done' and event.state <> 'done'
  and (event.state <> 'leased' or event.leased_until <= ${serverTime})
  and (event.runs is null or event.runs = excluded.runs)`;

/** The columns that a copy writes as the source has them. It copies no lease. */
const copied = eventColumns.filter(({ name }) => name !== "leased_until");
const copiedNames = sql.raw(copied.map(({ name }) => name).join(", "));

const replaced = copied
  .filter(({ name }) => !["source", "id", "conflicts"].includes(name))
  .map(({ name }) => `${name} = excluded.${name}`);

const updateIfAllowed = sql`do update
  set ${sql.raw(replaced.join(", "))}, runs = excluded.runs, fence = excluded.fence, held = excluded.held, suspect = excluded.suspect,
    leased_until = null, conflicts = greatest(event.conflicts, excluded.conflicts)
  where (${isOutdated}) or (${isAbandoned}) or (${wouldRunTwice})`;

/** The SQL type of a column of each kind in a record. In place of a body, a record has the place of the body and its length. */
const recordTypes: Readonly<Record<EventColumn["kind"], string>> = {
  text: "text",
  integer: "bigint",
  time: "float8",
  json: "jsonb",
  bytes: "int[]",
};
const recordColumns = sql.raw(copied.map(({ name, kind }) => `${name} ${recordTypes[kind]}`).join(", "));

/** How a column of each kind is read from a record. */
const reading: Readonly<Record<EventColumn["kind"], (name: string) => string>> = {
  text: (name) => name,
  integer: (name) => name,
  json: (name) => name,
  time: (name) => `to_timestamp(${name})`,
  bytes: (name) => `substring(bodies from ${name}[1] for ${name}[2])`,
};
const recordValues = sql.raw(copied.map(({ name, kind }) => reading[kind](`record.${name}`)).join(", "));

/**
 * Resolves to the key texts of the rows that were inserted or updated. All bodies are one binary parameter, and the other columns
 * are a second one, as JSON.
 */
async function write(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly EventRecord[],
  onConflict: RawBuilder<unknown>,
): Promise<ReadonlySet<string>> {
  const bodies = Buffer.concat(records.flatMap(({ body }) => body ?? []));
  const { rows } = await sql<EventKey>`
    insert into ${tables.event} as event (fence, held, runs, suspect, ${copiedNames})
    select ${copyMark(tables)}, state = 'ready' and ${isPausedType(tables, sql`type`)}, runs, coalesce(suspect, false), ${recordValues}
    from (select ${bodies}::bytea as bodies) as given,
      jsonb_to_recordset(${storableJson(JSON.stringify(rowsOf(records)))}::text::jsonb) as record (${recordColumns}, runs text[], suspect boolean)
    on conflict (id, source) ${onConflict}
    returning source, id`.execute(db);
  return new Set(rows.map(keyText));
}

/** The rows for `jsonb_to_recordset`, which reads an omitted column as null. */
function rowsOf(records: readonly EventRecord[]): object[] {
  let next = 1;
  return records.map((record) => {
    const length = record.body?.byteLength ?? 0;
    next += length;
    const place = record.body && [next - length, length];
    const values = copied.map((column) => [column.name, recordValue(column, record, place)] as const);
    const known = values.filter(([, value]) => value !== null);
    return {
      ...Object.fromEntries(known),
      ...(record.runs.length > 0 && { runs: record.runs }),
      ...(record.suspect && { suspect: true }),
    };
  });
}

function recordValue({ field, kind }: EventColumn, record: EventRecord, place: number[] | null): unknown {
  if (kind === "bytes") return place;
  const value = record[(kind === "time" ? `${field}Ms` : field) as keyof EventRecord];
  if (kind === "time") return value === null ? null : Number(value) / 1000;
  if (field === "lane") return storableLane(record.lane);
  return field === "history" && record.history !== null ? JSON.parse(record.history) : value;
}

/** The events that have another state here, except those that are done here: they were handled, and are not handled again. */
async function inAnotherState(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly EventRecord[],
): Promise<DifferentEvent[]> {
  const { rows } = await sql<DifferentEvent>`
    select source, id, record.state, event.state as "targetState"
    from ${tables.event} as event join unnest(
      ${records.map(({ source }) => source)}::text[],
      ${records.map(({ id }) => id)}::text[],
      ${records.map(({ state }) => state)}::text[]
    ) as record (source, id, state) using (source, id)
    where event.state not in (record.state, 'done')
    order by id, source`.execute(db);
  return rows;
}

/** Keeps the later time of each subject of `latestOnly`. */
export async function copyLatest(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly LatestRecord[],
): Promise<void> {
  const rows = records.map(({ occurredAtMs, ...row }) => ({ ...row, occurred: occurredAtMs / 1000 }));
  await sql`
    insert into ${tables.latest} (family, subject, occurred_at)
    select family, subject, to_timestamp(occurred)
    from jsonb_to_recordset(${storableJson(JSON.stringify(rows))}::text::jsonb) as record (family text, subject text, occurred float8)
    on conflict (family, subject) do update set occurred_at = excluded.occurred_at
    where latest.occurred_at < excluded.occurred_at`.execute(db);
}

/**
 * Writes the states with new names, and those that only a copy has written. Resolves to the names of the others whose values
 * differ.
 */
export async function copyStates(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly StateRecord[],
): Promise<string[]> {
  const record = sql`unnest(
    ${records.map(({ name }) => name)}::text[], ${records.map(({ value }) => value)}::text[]
  ) as record (name, value)`;
  await sql`
    insert into ${tables.state} (name, value, version)
    select name, value, ${copyMark(tables)} from ${record}
    on conflict (name) do update set value = excluded.value, version = excluded.version
    where state.version < 0 and state.value <> excluded.value`.execute(db);
  const { rows } = await sql<{ name: string }>`
    select name from ${tables.state} as state join ${record} using (name)
    where state.value <> record.value order by name`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * The fence or version of a row that a copy writes: a new negative number. Every later lease, rerun or redrive of the event, and every
 * write of the state, sets a positive one. So the next copy recognises the rows that have not changed since.
 */
function copyMark(tables: Tables): RawBuilder<string> {
  return sql`-nextval(${qualified(tables, "fence")}::regclass)`;
}
