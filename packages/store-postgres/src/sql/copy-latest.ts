import type { LatestRecord } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { storableJson } from "./put-rows.ts";

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
    from jsonb_to_recordset(${storableJson(JSON.stringify(rows))}::jsonb) as record (family text, subject text, occurred float8)
    on conflict (family, subject) do update set occurred_at = excluded.occurred_at
    where latest.occurred_at < excluded.occurred_at`.execute(db);
}
