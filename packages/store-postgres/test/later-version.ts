// Run as a process, it migrates the database that its argument names, as a later version does.
import { silentLogger } from "@esim-webhooks/core/internal";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { migrate } from "../src/database/migrate.ts";
import { type Migration, migrations } from "../src/database/migrations.ts";
import { tablesIn } from "../src/database/tables.ts";

/** The migrations of a later version, which adds a column and two indexes. */
export const later: readonly Migration[] = [
  ...migrations,
  { oldest: 1, statements: ["alter table esim_webhooks.event add column note text"] },
  {
    oldest: 1,
    indexes: [
      "event_note on esim_webhooks.event (note) where note is not null",
      "event_noted on esim_webhooks.event (received_at) where note is not null",
    ],
  },
];

/** Migrates as the later version does. */
export async function upgrade(pool: pg.Pool, patienceMs?: number): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  await migrate(db, tablesIn("esim_webhooks"), silentLogger, {
    known: later,
    ...(patienceMs && { patienceMs }),
  });
}

if (process.argv[1] === import.meta.filename)
  await upgrade(new pg.Pool({ connectionString: process.argv[2] }));
