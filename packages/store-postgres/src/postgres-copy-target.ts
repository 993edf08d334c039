import { parseOptions } from "@esim-webhooks/core/engine";
import type { CopyTarget } from "@esim-webhooks/core/internal";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { copyEvents, copyLatest, copyStates } from "./sql/copy.ts";
import { noteDelivery } from "./sql/gauges.ts";
import { copyMinutes } from "./sql/minutes.ts";
import { copyPauses } from "./sql/pauses.ts";
import { copyRuns } from "./sql/runs.ts";
import { tryEvents, tryState } from "./sql/try-out.ts";

/**
 * A target that copies another inbox into the tables of `postgresInbox`, `postgresStore` and `postgresState`. The copy can be repeated,
 * also after the other inbox was used again.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, `store_full`, or a code of `PostgresErrorCode`.
 */
export function postgresCopyTarget<Database = unknown>(options: PostgresOptions<Database>): CopyTarget {
  const settings = parseOptions("postgresCopyTarget", postgresShape, options);
  const database = openPostgres("postgresCopyTarget", options, settings, async (transaction, tables) => {
    await tryEvents(transaction, tables);
    await tryState(transaction, tables);
  });
  const { guard, run, tables, migrate, close } = database;
  return {
    ready: guard.ready,
    migrate,
    copyPauses: (pauses) => copyPauses(database, pauses),
    copyEvents: (records) => run((connection) => copyEvents(connection, tables, records)),
    copyLatest: (records) => run((connection) => copyLatest(connection, tables, records)),
    copyStates: (records) => run((connection) => copyStates(connection, tables, records)),
    copyNotes: ({ runs, minutes, lastReceivedAt }) =>
      run(async (connection) => {
        await copyRuns(connection, tables, runs);
        await copyMinutes(connection, tables, minutes);
        if (lastReceivedAt !== null) await noteDelivery(connection, tables, lastReceivedAt);
      }),
    close,
  };
}
