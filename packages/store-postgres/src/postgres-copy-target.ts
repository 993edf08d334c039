import { type CopyTarget, parseOptions } from "@esim-webhooks/core/kit";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { insertEvents, insertLatest, insertStates } from "./sql/insert-records.ts";

/**
 * The tables of `postgresInbox`, `postgresStore` and `postgresState` as another inbox is copied into them. What is there
 * already is left as it is, so a copy that was interrupted can be made again.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, or `migration_missing` until `migrate()` was run.
 */
export function postgresCopyTarget<Database = unknown>(options: PostgresOptions<Database>): CopyTarget {
  const settings = parseOptions("postgresCopyTarget", postgresShape, options);
  const { guard, run, tables, migrate, close } = openPostgres("postgresCopyTarget", options, settings);
  return {
    ready: guard.ready,
    migrate,
    insertEvents: (records) => run((connection) => insertEvents(connection, tables, records)),
    insertLatest: (records) => run((connection) => insertLatest(connection, tables, records)),
    insertStates: (records) => run((connection) => insertStates(connection, tables, records)),
    close,
  };
}
