import { readdirSync, readFileSync } from "node:fs";
import type { Connection } from "./connection.ts";
import { FaultError } from "./errors.ts";
import { inTransaction } from "./transaction.ts";

/** The number of the newest file in `migrations/`. */
export const newestMigration = 2;

const folder = new URL("../../migrations/", import.meta.url);

/**
 * Brings our tables up to date, in one transaction: of many processes that start at once, one does it. Which migrations were
 * applied is in a table of ours, since `user_version` belongs to the user's own tables.
 */
export function migrate(connection: Connection, path: string): void {
  if (appliedMigration(connection, path) === newestMigration) return;
  inTransaction(connection, ({ nowMs }) => {
    const applied = appliedMigration(connection, path);
    for (const file of readdirSync(folder).sort()) {
      const number = Number.parseInt(file, 10);
      if (!(number > applied)) continue;
      connection.exec(readFileSync(new URL(file, folder), "utf8"));
      connection.run("insert into esim_webhooks_migration (number, applied_at) values (?, ?)", number, nowMs);
    }
  });
}

/** 0 when there is none. Throws a `FaultError` when the tables are newer than this version. */
export function appliedMigration(connection: Connection, path: string): number {
  const isThere = connection.get("select 1 from sqlite_schema where name = 'esim_webhooks_migration'");
  if (isThere === undefined) return 0;
  const number =
    connection.get<{ number: number | null }>("select max(number) as number from esim_webhooks_migration")
      ?.number ?? 0;
  if (number <= newestMigration) return number;
  throw new FaultError({
    code: "database_newer",
    problem: `The tables in ${path} are at migration ${number}, and this version knows ${newestMigration}.`,
    remedy: "Upgrade @esim-webhooks/store-sqlite in this process as well.",
  });
}
