import type { StoredState } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";

export async function readState(
  db: Kysely<unknown>,
  tables: Tables,
  name: string,
): Promise<StoredState | undefined> {
  const { rows } = await sql<{ value: string; version: string }>`
    select value, version::text as version from ${tables.state} where name = ${name}`.execute(db);
  const row = rows[0];
  return row && { value: JSON.parse(row.value), version: row.version };
}
