import type { Connection } from "./connection.ts";
import { FaultError } from "./faults.ts";
import * as first from "./migration-0001.ts";
import * as second from "./migration-0002.ts";
import { inTransaction } from "./transaction.ts";

export interface Migration {
  readonly id: string;
  readonly text: string;
}

/** In the order in which they are run. Their numbers count from 1. */
export const migrations: readonly Migration[] = [first, second];

/**
 * Brings our tables up to date, in one transaction: of many processes that start concurrently, one does it. Which migrations were
 * applied is in a table of ours, since `user_version` belongs to the user's own tables.
 */
export function migrate(connection: Connection, path: string): void {
  if (appliedMigrations(connection, path) === migrations.length) return;
  inTransaction(connection, ({ nowMs }) => {
    const applied = appliedMigrations(connection, path);
    for (const [index, { id, text }] of migrations.entries()) {
      if (index < applied) continue;
      connection.exec(text);
      connection.run(
        "insert into esim_webhooks_migration (number, id, applied_at) values (?, ?, ?)",
        ...[index + 1, id, nowMs],
      );
    }
  });
}

/**
 * How many migrations were run; 0 when there are no tables. Throws a `FaultError` unless they are the first ones of this version, by
 * their ids: a number may be another version's.
 */
export function appliedMigrations(connection: Connection, path: string): number {
  const isThere = connection.get("select 1 from sqlite_schema where name = 'esim_webhooks_migration'");
  if (isThere === undefined) return 0;
  const recorded = connection.all<Partial<Pick<Migration, "id">>>(
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
  if (recorded.length === known.length) return recorded.length;
  throw new FaultError({
    code: "database_newer",
    problem: `The tables in ${path} are at migration ${recorded.length}, and this version knows ${migrations.length}.`,
    remedy: "Upgrade @esim-webhooks/store-sqlite in this process as well.",
  });
}
