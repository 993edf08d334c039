import { createHash } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import { packageVersion, pageOf } from "@esim-webhooks/core/internal";
import { type Kysely, sql } from "kysely";
import { createIndexes } from "../schema/create-indexes.ts";
import { createTables } from "../schema/create-tables.ts";
import { gaugeFunctions } from "../schema/gauge-functions.ts";
import { pauseFunctions } from "../schema/pause-functions.ts";
import { settleFunctions } from "../schema/settle-functions.ts";
import { takeFunctions } from "../schema/take-functions.ts";
import { type PostgresErrorCode, schemaMismatch } from "./errors.ts";
import { qualified, type Tables } from "./tables.ts";

/**
 * One step of the schema: statements, or indexes. Once released, it never changes. For another schema, every `esim_webhooks` is replaced with
 * its name.
 */
export type Migration = {
  /** How many migrations a version must know to work with the schema once this one was run. */
  readonly oldest: number;
} & (
  | {
      /** Run in one transaction. */
      readonly statements: readonly string[];
    }
  | {
      /** The name of each index, and what follows in `create index`. If the tables exist already, built concurrently, without a transaction. */
      readonly indexes: readonly string[];
    }
);

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [
  {
    oldest: 1,
    statements: [
      ...createTables,
      ...createIndexes,
      ...pauseFunctions,
      ...takeFunctions,
      ...settleFunctions,
      ...gaugeFunctions,
    ],
  },
];

/** A migration that was run, as the schema records it. */
interface Recorded {
  readonly id: string;
  /** How many migrations a version must know to work with the schema, as in `Migration`. */
  readonly oldest: number;
  /** The version of the package that ran it. */
  readonly version: string;
}

/**
 * The statements that `migrate()` runs in a database without the schema, in order: for a review, or for a migration tool of your own. Each text is
 * several statements, and records that it was run. A text that only creates indexes leaves out those that exist: where there are
 * events, build them first, with `create index concurrently`.
 */
export function postgresMigrations(schema = "esim_webhooks"): readonly string[] {
  return migrations.map((migration, index) =>
    inSchema(schema, statementsText(statementsToRun(migration, index))),
  );
}

/** All statements of a migration, for the default schema. */
function statementsOf(migration: Migration): readonly string[] {
  if ("statements" in migration) return migration.statements;
  return migration.indexes.map((index) => `create index if not exists ${index}`);
}

function statementsText(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};\n`).join("\n");
}

/** All statements of a migration, then the one that records it under the number of its place. */
export function statementsToRun(migration: Migration, index: number): readonly string[] {
  return [...statementsOf(migration), recording(migration, index)];
}

/** SQL for another schema than the default one. */
export function inSchema(schema: string, text: string): string {
  return text.replaceAll("esim_webhooks", `"${schema}"`);
}

/** The SHA-256 of a migration's text, cut to 16 digits. The schema records it; a version whose migration has another text refuses the schema. */
export function idOf(migration: Migration): string {
  return createHash("sha256")
    .update(statementsText(statementsOf(migration)))
    .digest("hex")
    .slice(0, 16);
}

/** The statement that records a migration. If several processes have run the migration, one of them records it. */
export function recording(migration: Migration, index: number): string {
  const values = `${index + 1}, '${idOf(migration)}', ${migration.oldest}, '${packageVersion}'`;
  return `insert into esim_webhooks.migration (number, id, oldest, version) values (${values}) on conflict do nothing`;
}

/** Rejects with `migration_missing`, `schema_mismatch`, `database_newer` or `database_not_utf8` unless this version can work with the schema. */
export async function checkMigrations(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const applied = await appliedMigrations(db, tables);
  if (applied === migrations.length) return;
  throw new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `The schema "${tables.schema}" is at migration ${applied}, and this version needs ${migrations.length}.`,
    "Call migrate() at deployment, or run the later texts of postgresMigrations().",
  );
}

/**
 * How many of these migrations were run. Rejects if a migration of the schema has another id than ours of the same number, or if a later
 * one does not allow this version.
 */
export async function appliedMigrations(
  db: Kysely<unknown>,
  tables: Tables,
  known: readonly Migration[] = migrations,
): Promise<number> {
  const recorded = await recordedMigrations(db, tables);
  for (const [index, migration] of known.slice(0, recorded.length).entries()) {
    const [id, own] = [recorded[index]?.id, idOf(migration)];
    if (id !== own)
      throw schemaMismatch(tables, `its migration ${index + 1} is "${id}", and this version's is "${own}"`);
  }
  const refusing = recorded.slice(known.length).findLast(({ oldest }) => oldest > known.length);
  if (refusing === undefined) return Math.min(recorded.length, known.length);
  const { oldest, version } = refusing;
  throw new WebhookError<PostgresErrorCode>(
    "database_newer",
    `The schema "${tables.schema}" is at migration ${recorded.length}. It needs a version that knows migration ${oldest}, and version ${packageVersion} knows only ${known.length}.`,
    `Run version ${version} or a newer one in every process. ${pageOf("docs/upgrading.md")} says what a rollback needs.`,
  );
}

/** The encodings that store every text. SQL_ASCII keeps the bytes of a text as they are. */
const encodings: readonly unknown[] = ["UTF8", "SQL_ASCII"];

/**
 * Checks first that the table exists: a failing query would abort the transaction. Rejects
 * with `database_not_utf8` where the text of an error could not be stored, so that its event would stay leased.
 */
async function recordedMigrations(db: Kysely<unknown>, tables: Tables): Promise<readonly Recorded[]> {
  const { rows } = await sql<{ present: boolean; encoding: string }>`
    select to_regclass(${qualified(tables, "migration")}) is not null as present,
      current_setting('server_encoding') as encoding`.execute(db);
  const encoding = rows[0]?.encoding;
  if (!encodings.includes(encoding))
    throw new WebhookError<PostgresErrorCode>(
      "database_not_utf8",
      `The database has the encoding ${encoding}, which cannot store every text.`,
      "Use a database with the encoding UTF8: create database … encoding 'UTF8' template template0.",
    );
  if (!rows[0]?.present) return [];
  const recorded = await sql<Recorded>`select * from ${tables.migration} order by number`.execute(db);
  return recorded.rows;
}
