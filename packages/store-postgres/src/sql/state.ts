import type { StoredState } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { qualified, type Tables } from "../database/tables.ts";

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

/** A value as JSON, and the version that it replaces. */
export interface StateWrite {
  readonly name: string;
  readonly value: string;
  /** Undefined for a name without a value. */
  readonly version: string | undefined;
}

const versionPattern = /^-?[1-9]\d{0,17}$/; // negative if a copy wrote the value

/** Writes with one statement. Concurrent writes of a name wait for each other at its row, and only the first one finds the version. */
export async function writeState(
  db: Kysely<unknown>,
  tables: Tables,
  { name, value, version }: StateWrite,
): Promise<boolean> {
  if (version !== undefined && !versionPattern.test(version)) return false; // the database would refuse it
  const statement =
    version === undefined
      ? sql`insert into ${tables.state} (name, value) values (${name}, ${value}) on conflict do nothing`
      : sql`
        update ${tables.state} set value = ${value}, version = nextval(${qualified(tables, "fence")}::regclass)
        where name = ${name} and version = ${version}::bigint`;
  const { numAffectedRows = 0n } = await statement.execute(db);
  return numAffectedRows > 0n;
}
