import { readdir, readFile } from "node:fs/promises";
import { WebhookError } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import type { PostgresErrorCode } from "./errors.ts";
import { qualified, type Tables } from "./tables.ts";

/** The number of the newest file in `migrations/`. */
export const newestMigration = 5;

const folder = new URL("../../migrations/", import.meta.url);

/**
 * Updates the schema in one transaction. When several processes do it at the same time, the first one runs the migrations
 * and the others wait for it. The lock belongs to the transaction, so it works behind a transaction pooler.
 */
export async function migrate(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`esim-webhooks ${tables.schema}`}, 0))`.execute(
      tx,
    );
    const applied = await appliedMigration(tx, tables);
    for (const file of files.filter((name) => Number.parseInt(name, 10) > applied)) {
      const text = await readFile(new URL(file, folder), "utf8");
      for (const statement of text.replaceAll("esim_webhooks", `"${tables.schema}"`).split(/;\n\n/)) {
        if (statement.trim() !== "") await sql.raw(statement).execute(tx);
      }
    }
  });
}

/** Rejects with `migration_missing` when the schema is older than this package. */
export async function checkMigrations(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const applied = await appliedMigration(db, tables);
  if (applied >= newestMigration) return;
  throw new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `The schema "${tables.schema}" is at migration ${applied}, and this version needs ${newestMigration}.`,
    "Call migrate() at deployment, or run the later files of the package's migrations/*.sql.",
  );
}

/** The newest applied migration, or 0. Checks first that the table exists: a failing query would abort the transaction. */
async function appliedMigration(db: Kysely<unknown>, tables: Tables): Promise<number> {
  const { rows } = await sql<{ present: boolean }>`
    select to_regclass(${qualified(tables, "migration")}) is not null as present`.execute(db);
  if (!rows[0]?.present) return 0;
  const newest = await sql<{
    number: number | null;
  }>`select max(number) as number from ${tables.migration}`.execute(db);
  return newest.rows[0]?.number ?? 0;
}
