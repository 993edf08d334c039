import type { EventRecord, LatestRecord, StateRecord } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { inKeyOrder } from "./key-order.ts";
import { storableJson, storableLane } from "./put-rows.ts";

/**
 * Inserts the records of another inbox that have new keys. Resolves to how many. All bodies are one binary parameter, and the
 * other columns are a second one, as JSON.
 */
export async function insertEvents(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly EventRecord[],
): Promise<number> {
  const sorted = inKeyOrder(records, (record) => record);
  const bodies = Buffer.concat(sorted.flatMap(({ body }) => body ?? []));
  const { numAffectedRows = 0n } = await sql`
    insert into ${tables.event}
      (source, id, state, ends_at, type, body, body_hash, received_at, occurred_at, lane,
      attempts, conflicts, error, replay, runs, fingerprint)
    select source, id, state, coalesce(to_timestamp(ends), 'infinity'), type, body, sha256(body), to_timestamp(received),
      to_timestamp(occurred), lane, attempts, conflicts, error, replay, runs, fingerprint
    from (
      select *, substring(${bodies}::bytea from body_begin for body_length) as body
      from jsonb_to_recordset(${storableJson(JSON.stringify(rowsOf(sorted)))}::jsonb) as record (
        source text, id text, state text, ends float8, type text, body_begin int, body_length int, received float8,
        occurred float8, lane text, attempts int, conflicts int, error text, replay jsonb, runs text[], fingerprint bigint
      )
    ) as record
    on conflict (id, source) do nothing`.execute(db);
  return Number(numAffectedRows);
}

/** The rows for `jsonb_to_recordset`, which reads an omitted column as null. */
function rowsOf(records: readonly EventRecord[]): object[] {
  let offset = 1;
  return records.map((record) => {
    const { source, id, state, type, body, fingerprint, attempts, conflicts, error, replay, runs } = record;
    const begin = offset;
    offset += body?.byteLength ?? 0;
    return {
      ...{ source, id, state, type, fingerprint, attempts, conflicts, error },
      ...(body && { body_begin: begin, body_length: body.byteLength }),
      ends: seconds(record.endsAtMs),
      received: seconds(record.receivedAtMs),
      occurred: seconds(record.occurredAtMs),
      lane: storableLane(record.lane),
      ...(replay && { replay }),
      ...(runs.length > 0 && { runs }),
    };
  });
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}

/** Keeps the later time of each subject of `latestOnly`. */
export async function insertLatest(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly LatestRecord[],
): Promise<void> {
  const rows = records.map(({ occurredAtMs, ...row }) => ({ ...row, occurred: occurredAtMs / 1000 }));
  await sql`
    insert into ${tables.latest} (family, subject, occurred_at)
    select family, subject, to_timestamp(occurred)
    from jsonb_to_recordset(${storableJson(JSON.stringify(rows))}::jsonb) as record (family text, subject text, occurred float8)
    on conflict (family, subject) do update set occurred_at = excluded.occurred_at
    where latest.occurred_at < excluded.occurred_at`.execute(db);
}

/** Inserts the states with new names. */
export async function insertStates(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly StateRecord[],
): Promise<void> {
  await sql`
    insert into ${tables.state} (name, value)
    select name, value from unnest(
      ${records.map(({ name }) => name)}::text[], ${records.map(({ value }) => value)}::text[]
    ) as record (name, value)
    on conflict do nothing`.execute(db);
}
