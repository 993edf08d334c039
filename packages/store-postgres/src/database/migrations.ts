import { readdir, readFile } from "node:fs/promises";
import { WebhookError } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import type { PostgresErrorCode } from "./errors.ts";
import { qualified, type Tables } from "./tables.ts";

/** The number of the newest file in `migrations/`. */
export const newestMigration = 6;

const folder = new URL("../../migrations/", import.meta.url);

/**
 * Updates the schema in one transaction. When several processes do it at the same time, the first one runs the migrations
 * and the others wait for it. The lock belongs to the transaction, so it works behind a transaction pooler. Rejects for a schema
 * that a newer version has migrated, and for one with a gap: running an older file after a newer one could undo it.
 */
export async function migrate(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  await db
    .transaction()
    .setIsolationLevel("read committed") // so that those who waited see what the first one did
    .execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`esim-webhooks ${tables.schema}`}, 0))`.execute(
        tx,
      );
      const applied = await appliedMigrations(tx, tables);
      const newest = applied.at(-1) ?? 0;
      refuseNewer(newest, tables);
      refuseGap(missingUpTo(newest, applied), tables);
      for (const file of files.filter((name) => Number.parseInt(name, 10) > newest)) {
        const text = await readFile(new URL(file, folder), "utf8");
        for (const statement of text.replaceAll("esim_webhooks", `"${tables.schema}"`).split(/;\n\n/)) {
          if (statement.trim() !== "") await sql.raw(statement).execute(tx);
        }
      }
    });
}

/** Rejects with `migration_missing`, `migration_gap` or `database_newer` unless the schema has exactly the migrations of this package. */
export async function checkMigrations(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const applied = await appliedMigrations(db, tables);
  const newest = applied.at(-1) ?? 0;
  refuseNewer(newest, tables);
  refuseGap(missingUpTo(newest, applied), tables);
  if (newest === newestMigration) return;
  throw new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `The schema "${tables.schema}" is at migration ${newest}, and this version needs ${newestMigration}.`,
    "Call migrate() at deployment, or run the later files of the package's migrations/*.sql.",
  );
}

function refuseNewer(newest: number, { schema }: Tables): void {
  if (newest <= newestMigration) return;
  throw new WebhookError<PostgresErrorCode>(
    "database_newer",
    `The schema "${schema}" is at migration ${newest}, and this version knows no later one than ${newestMigration}.`,
    "Run the version that migrated it, in every process.",
  );
}

function refuseGap(missing: readonly number[], { schema }: Tables): void {
  if (missing.length === 0) return;
  throw new WebhookError<PostgresErrorCode>(
    "migration_gap",
    `The schema "${schema}" has later migrations, but not ${missing.join(", ")}.`,
    "Restore it from a backup; or, if only the rows of its table migration were lost, insert them again.",
  );
}

function missingUpTo(newest: number, applied: readonly number[]): readonly number[] {
  return Array.from({ length: newest }, (_, index) => index + 1).filter((one) => !applied.includes(one));
}

/** In ascending order. Checks first that the table exists: a failing query would abort the transaction. */
async function appliedMigrations(db: Kysely<unknown>, tables: Tables): Promise<readonly number[]> {
  const { rows } = await sql<{ present: boolean }>`
    select to_regclass(${qualified(tables, "migration")}) is not null as present`.execute(db);
  if (!rows[0]?.present) return [];
  const applied = await sql<{
    number: number;
  }>`select number from ${tables.migration} order by number`.execute(db);
  return applied.rows.map(({ number }) => number);
}
