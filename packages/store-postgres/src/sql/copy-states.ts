import type { StateRecord } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { copyMark } from "./copy-mark.ts";

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
