import { execAddingColumns } from "./add-columns.ts";
import type { Connection } from "./connection.ts";
import { FaultError } from "./faults.ts";
import * as first from "./migration-0001.ts";
import * as second from "./migration-0002.ts";
import * as third from "./migration-0003.ts";
import { inTransaction, type Transaction } from "./transaction.ts";
import { packageVersion } from "./version.ts";

export interface Migration {
  readonly id: string;
  readonly text: string;
  /** A version may work with the file once this was run, if it knows at least that many migrations. */
  readonly oldest: number;
  /** The indexes that the text creates, if nothing else in it takes long. Where there are events, each is built in a transaction of its own. */
  readonly indexes?: readonly string[];
}

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [first, second, third];

/** A migration that was run, as the file records it: its id since the first release, the rest since the second migration. */
interface Recorded {
  readonly id?: string;
  readonly oldest?: number | null;
  /** Of the package that ran it. */
  readonly version?: string | null;
}

/**
 * Brings our tables up to date, step by step, so that other processes write between the steps: of many processes that start
 * concurrently, one runs each. Which migrations were applied is in a table of ours, since `user_version` belongs to the user's own
 * tables.
 */
export function migrate(connection: Connection, path: string): void {
  for (;;) {
    const applied = appliedMigrations(connection, path);
    if (applied === migrations.length) return;
    const indexes = applied === 0 ? [] : (migrations[applied]?.indexes ?? []);
    for (const index of indexes)
      inTransaction(connection, (tx) => tx.exec(`create index if not exists ${index}`));
    inTransaction(connection, (tx) => {
      if (appliedMigrations(connection, path) !== applied) return; // another process has run it
      const last = applied === 0 ? migrations.length : applied + 1;
      for (let index = applied; index < last; index += 1) run(tx, index);
    });
  }
}

function run(tx: Transaction, index: number): void {
  const migration = migrations[index];
  if (migration === undefined) return;
  execAddingColumns(tx, migration.text);
  tx.run(
    "insert into esim_webhooks_migration (number, id, applied_at) values (?, ?, ?)",
    ...[index + 1, migration.id, tx.nowMs],
  );
  if (index > 0)
    tx.run(
      "update esim_webhooks_migration set oldest = ?, version = ? where number = ?",
      ...[migration.oldest, packageVersion, index + 1],
    );
}

/**
 * How many migrations of this version were run; 0 when there are no tables. Throws a `FaultError` unless they are the first ones, by
 * their ids: a number may be another version's. Throws one if a later migration does not allow this version.
 */
export function appliedMigrations(connection: Connection, path: string): number {
  const isThere = connection.get("select 1 from sqlite_schema where name = 'esim_webhooks_migration'");
  if (isThere === undefined) return 0;
  const recorded = connection.all<Recorded>(
    "select * from esim_webhooks_migration order by number", // the table may have no ids
  );
  const known = recorded.slice(0, migrations.length);
  const differing = known.findIndex(({ id }, index) => id !== migrations[index]?.id);
  if (differing !== -1) {
    const id = known[differing]?.id;
    throw new FaultError({
      code: "schema_mismatch",
      problem: `The tables in ${path} are not those of this version: their migration ${differing + 1} ${id === undefined ? "has no id" : `is "${id}"`}, and this version's is "${migrations[differing]?.id}".`,
      remedy: `To keep the events and handled ids in them, move them to new tables as the README of @esim-webhooks/store-sqlite shows under "Tables of another version". Otherwise name another file.`,
    });
  }
  const refusing = recorded
    .slice(known.length)
    .findLast(({ oldest }) => (oldest ?? Infinity) > migrations.length);
  if (refusing === undefined) return known.length;
  const { oldest, version } = refusing;
  throw new FaultError({
    code: "database_newer",
    problem: `The tables in ${path} are at migration ${recorded.length}. They need a version that knows migration ${oldest ?? recorded.length}, and version ${packageVersion} knows only ${migrations.length}.`,
    remedy: `Run ${version ? `version ${version} or a newer one` : "the version that migrated them"} of @esim-webhooks/store-sqlite in every process.`,
  });
}
