import { parseOptions } from "@esim-webhooks/core/engine";
import type { CopyTarget } from "@esim-webhooks/core/internal";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { copyEvents, copyLatest, copyStates } from "./sql/copy.ts";
import { tryEvents, tryState } from "./sql/try-out.ts";

/**
 * Copies another inbox into the tables of `postgresInbox`, `postgresStore` and `postgresState`. It can be repeated, also after the
 * other inbox was used again.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, or `migration_missing` until `migrate()` was run.
 */
export function postgresCopyTarget<Database = unknown>(options: PostgresOptions<Database>): CopyTarget {
  const settings = parseOptions("postgresCopyTarget", postgresShape, options);
  const { guard, run, tables, migrate, close } = openPostgres(
    "postgresCopyTarget",
    options,
    settings,
    async (transaction, tables) => {
      await tryEvents(transaction, tables);
      await tryState(transaction, tables);
    },
  );
  return {
    ready: guard.ready,
    migrate,
    copyEvents: (records) => run((connection) => copyEvents(connection, tables, records)),
    copyLatest: (records) => run((connection) => copyLatest(connection, tables, records)),
    copyStates: (records) => run((connection) => copyStates(connection, tables, records)),
    close,
  };
}
