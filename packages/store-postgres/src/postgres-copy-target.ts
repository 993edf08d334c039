import { type CopyTarget, parseOptions } from "@esim-webhooks/core/kit";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { insertEvents, insertLatest, insertStates } from "./sql/insert-records.ts";

/**
 * Copies another inbox into the tables of `postgresInbox`, `postgresStore` and `postgresState`. It does not change existing
 * rows, so an interrupted copy can be repeated.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, or `migration_missing` until `migrate()` was run.
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
