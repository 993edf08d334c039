import { WebhookError } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { type PostgresErrorCode, schemaMismatch } from "./errors.ts";
import * as first from "./migration-0001.ts";
import * as second from "./migration-0002.ts";
import { qualified, type Tables } from "./tables.ts";

export interface Migration {
  readonly id: string;
  readonly text: string;
}

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [first, second];

/**
 * What `migrate()` runs in a database without the schema, in order: for a review, or for a migration tool of your own. Each text is
 * several statements, and records that it was run.
 */
export function postgresMigrations(schema = "esim_webhooks"): readonly string[] {
  return migrations.map(({ id, text }, index) =>
    `${text}
insert into esim_webhooks.migration (number, id) values (${index + 1}, '${id}');
`.replaceAll("esim_webhooks", `"${schema}"`),
  );
}

/**
 * Updates the schema in one transaction. When several processes do it at the same time, the first one runs the migrations
 * and the others wait for it. The lock belongs to the transaction, so it works behind a transaction pooler. Rejects for a schema
 * that a newer version has migrated, and for one that other migrations have made.
 */
export async function migrate(db: Kysely<unknown>, tables: Tables): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel("read committed") // so that those who waited see what the first one did
    .execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`esim-webhooks ${tables.schema}`}, 0))`.execute(
        tx,
      );
      const applied = await appliedMigrations(tx, tables);
      for (const text of postgresMigrations(tables.schema).slice(applied)) await sql.raw(text).execute(tx);
    });
}

/** Rejects with `migration_missing`, `schema_mismatch` or `database_newer` unless the schema has exactly the migrations of this package. */
export async function checkMigrations(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const applied = await appliedMigrations(db, tables);
  if (applied === migrations.length) return;
  throw new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `The schema "${tables.schema}" is at migration ${applied}, and this version needs ${migrations.length}.`,
    "Call migrate() at deployment, or run the later texts of postgresMigrations().",
  );
}

/** How many migrations were run. Rejects unless they are the first ones of this package, by their ids: a number may be another version's. */
async function appliedMigrations(db: Kysely<unknown>, tables: Tables): Promise<number> {
  const recorded = await recordedMigrations(db, tables);
  const known = recorded.slice(0, migrations.length);
  const differing = known.findIndex(({ id }, index) => id !== migrations[index]?.id);
  if (differing !== -1) {
    const id = known[differing]?.id;
    throw schemaMismatch(
      tables,
      `its migration ${differing + 1} ${id === undefined ? "has no id" : `is "${id}"`}, and this version's is "${migrations[differing]?.id}"`,
    );
  }
  if (recorded.length === known.length) return recorded.length;
  throw new WebhookError<PostgresErrorCode>(
    "database_newer",
    `The schema "${tables.schema}" is at migration ${recorded.length}, and this version knows no later one than ${migrations.length}.`,
    "Run the version that migrated it, in every process.",
  );
}

/** Without an id where the table has no such column. Checks first that it exists: a failing query would abort the transaction. */
async function recordedMigrations(
  db: Kysely<unknown>,
  tables: Tables,
): Promise<readonly Partial<Pick<Migration, "id">>[]> {
  const { rows } = await sql<{ present: boolean }>`
    select to_regclass(${qualified(tables, "migration")}) is not null as present`.execute(db);
  if (!rows[0]?.present) return [];
  const recorded = await sql<{ id?: string }>`select * from ${tables.migration} order by number`.execute(db);
  return recorded.rows;
}
