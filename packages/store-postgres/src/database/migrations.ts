import { WebhookError } from "@esim-webhooks/core";
import { packageVersion, pageOf } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import { type PostgresErrorCode, schemaMismatch } from "./errors.ts";
import * as first from "./migration-0001.ts";
import * as second from "./migration-0002.ts";
import * as third from "./migration-0003.ts";
import { qualified, type Tables } from "./tables.ts";

export interface Migration {
  readonly id: string;
  readonly text: string;
  /** A version may work with the schema once this was run, if it knows at least that many migrations. */
  readonly oldest: number;
  /**
   * The indexes that the text creates, if it does nothing else. Where there are events, each one is built concurrently instead, which
   * needs a statement outside of a transaction.
   */
  readonly indexes?: readonly string[];
}

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [first, second, third];

/** A migration that was run, as the schema records it: its id since the first release, the rest since the second migration. */
interface Recorded {
  readonly id?: string;
  readonly oldest?: number | null;
  /** Of the package that ran it. */
  readonly version?: string | null;
}

/**
 * What `migrate()` runs in a database without the schema, in order: for a review, or for a migration tool of your own. Each text is
 * several statements, and records that it was run. A text that only creates indexes leaves out those that exist: where there are
 * events, build them first, with `create index concurrently`.
 */
export function postgresMigrations(schema = "esim_webhooks"): readonly string[] {
  return texts().map((text) => inSchema(schema, text));
}

/** The same, for the default schema. */
export function texts(): readonly string[] {
  return migrations.map(({ text }, index) => `${text}\n${recording(index)}\n`);
}

/** SQL for another schema than the default one. */
export function inSchema(schema: string, text: string): string {
  return text.replaceAll("esim_webhooks", `"${schema}"`);
}

/** The statement that records the migration at that place. Of several processes that have run it, one does. */
export function recording(index: number): string {
  const { id, oldest } = migrations[index] as Migration;
  const [columns, values] =
    index === 0 ? ["", ""] : [", oldest, version", `, ${oldest}, '${packageVersion}'`];
  return `insert into esim_webhooks.migration (number, id${columns}) values (${index + 1}, '${id}'${values}) on conflict do nothing;`;
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
 * How many migrations of this version were run. Rejects unless they are the first ones, by their ids: a number may be another
 * version's. Rejects if a later one does not allow this version.
 */
export async function appliedMigrations(db: Kysely<unknown>, tables: Tables): Promise<number> {
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
  const refusing = recorded
    .slice(known.length)
    .findLast(({ oldest }) => (oldest ?? Infinity) > migrations.length);
  if (refusing === undefined) return known.length;
  const { oldest, version } = refusing;
  throw new WebhookError<PostgresErrorCode>(
    "database_newer",
    `The schema "${tables.schema}" is at migration ${recorded.length}. It needs a version that knows migration ${oldest ?? recorded.length}, and version ${packageVersion} knows only ${migrations.length}.`,
    `Run ${version ? `version ${version} or a newer one` : "the version that migrated it"} in every process. ${pageOf("docs/upgrading.md")} says what a rollback needs.`,
  );
}

/** The encodings that store every text. SQL_ASCII keeps the bytes of a text as they are. */
const encodings: readonly unknown[] = ["UTF8", "SQL_ASCII"];

/**
 * Without an id where the table has no such column. Checks first that it exists: a failing query would abort the transaction. Rejects
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
