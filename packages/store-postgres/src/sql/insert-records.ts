import type { EventRecord, LatestRecord, StateRecord } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { inKeyOrder } from "./key-order.ts";
import { storableJson, storableLane } from "./put-rows.ts";

/**
 * Inserts records of another inbox whose keys are not here. Resolves to how many. The bodies are one parameter, which travels
 * as the bytes it is; all the rest is another one, as JSON.
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
    ) as given
    on conflict (id, source) do nothing`.execute(db);
  return Number(numAffectedRows);
}

/** What is left out is null there. */
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

/** How far `latestOnly` has come, here or there. */
export async function insertLatest(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly LatestRecord[],
): Promise<void> {
  const rows = records.map(({ occurredAtMs, ...row }) => ({ ...row, occurred: occurredAtMs / 1000 }));
  await sql`
    insert into ${tables.latest} (family, subject, occurred_at)
    select family, subject, to_timestamp(occurred)
    from jsonb_to_recordset(${storableJson(JSON.stringify(rows))}::jsonb) as given (family text, subject text, occurred float8)
    on conflict (family, subject) do update set occurred_at = excluded.occurred_at
    where latest.occurred_at < excluded.occurred_at`.execute(db);
}

/** States whose names are not here. */
export async function insertStates(
  db: Kysely<unknown>,
  tables: Tables,
  records: readonly StateRecord[],
): Promise<void> {
  await sql`
    insert into ${tables.state} (name, value)
    select name, value from unnest(
      ${records.map(({ name }) => name)}::text[], ${records.map(({ value }) => value)}::text[]
    ) as given (name, value)
    on conflict do nothing`.execute(db);
}
