import { createHash } from "node:crypto";
import { execAddingColumns } from "./add-columns.ts";
import type { Connection } from "./connection.ts";
import { FaultError } from "./faults.ts";
import { statements } from "./schema.ts";
import { inTransaction, type Transaction } from "./transaction.ts";
import { packageVersion } from "./version.ts";

/** One step of the tables: statements, or indexes. Once released, it never changes. */
export type Migration = {
  /** How many migrations a version must know to work with the file once this one was run. */
  readonly oldest: number;
} & (
  | {
      /** Run in one transaction. A line `alter table … add column …` takes no time that grows with the file. */
      readonly statements: readonly string[];
    }
  | {
      /** The name of each index, and what follows in `create index`. If the tables exist already, each is built in a transaction of its own. */
      readonly indexes: readonly string[];
    }
);

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [{ oldest: 1, statements }];

/** A migration that was run, as the file records it. */
interface Recorded {
  readonly id: string;
  readonly oldest: number;
  /** The version of the package that ran it. */
  readonly version: string;
}

/** All of a migration as SQL. */
function migrationText(migration: Migration): string {
  const all =
    "statements" in migration
      ? migration.statements
      : migration.indexes.map((index) => `create index if not exists ${index}`);
  return all.map((statement) => `${statement};\n`).join("\n");
}

/** The SHA-256 of a migration's text, cut to 16 digits. The file records it; a version whose migration has another text refuses the file. */
export function idOf(migration: Migration): string {
  return createHash("sha256").update(migrationText(migration)).digest("hex").slice(0, 16);
}

/**
 * Brings our tables up to date, step by step, so that other processes can write between the steps. If many processes start
 * concurrently, each step is run by one of them. A table of ours records the applied migrations, since `user_version` belongs to the
 * user's own tables.
 */
export function migrate(
  connection: Connection,
  path: string,
  known: readonly Migration[] = migrations,
): void {
  for (;;) {
    const applied = appliedMigrations(connection, path, known);
    if (applied === known.length) return;
    const next = known[applied];
    const indexes = applied > 0 && next !== undefined && "indexes" in next ? next.indexes : [];
    for (const index of indexes)
      inTransaction(connection, (tx) => tx.exec(`create index if not exists ${index}`));
    inTransaction(connection, (tx) => {
      if (appliedMigrations(connection, path, known) !== applied) return; // another process has run it
      const due = applied === 0 ? known : known.slice(applied, applied + 1);
      for (const [index, migration] of due.entries()) run(tx, migration, applied + index + 1);
    });
  }
}

function run(tx: Transaction, migration: Migration, number: number): void {
  execAddingColumns(tx, migrationText(migration));
  tx.run(
    "insert into esim_webhooks_migration (number, id, oldest, version, applied_at) values (?, ?, ?, ?, ?)",
    ...[number, idOf(migration), migration.oldest, packageVersion, tx.nowMs],
  );
}

/**
 * How many of these migrations were run; 0 when there are no tables. Throws a `FaultError` if a migration of the file has another id
 * than ours of the same number, or if a later migration does not allow this version.
 */
export function appliedMigrations(
  connection: Connection,
  path: string,
  known: readonly Migration[] = migrations,
): number {
  const isThere = connection.get("select 1 from sqlite_schema where name = 'esim_webhooks_migration'");
  if (isThere === undefined) return 0;
  const recorded = connection.all<Recorded>("select * from esim_webhooks_migration order by number");
  for (const [index, migration] of known.slice(0, recorded.length).entries()) {
    const [id, own] = [recorded[index]?.id, idOf(migration)];
    if (id !== own)
      throw new FaultError({
        code: "schema_mismatch",
        problem: `The tables in ${path} are not those of this version: their migration ${index + 1} is "${id}", and this version's is "${own}".`,
        remedy: "Run the version that made the file, or name another file.",
      });
  }
  const refusing = recorded.slice(known.length).findLast(({ oldest }) => oldest > known.length);
  if (refusing === undefined) return Math.min(recorded.length, known.length);
  const { oldest, version } = refusing;
  throw new FaultError({
    code: "database_newer",
    problem: `The tables in ${path} are at migration ${recorded.length}. They need a version that knows migration ${oldest}, and version ${packageVersion} knows only ${known.length}.`,
    remedy: `Run version ${version} or a newer one of @esim-webhooks/store-sqlite in every process.`,
  });
}
