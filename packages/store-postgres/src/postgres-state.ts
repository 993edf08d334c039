import type { StateStore } from "@esim-webhooks/core";
import { checkStateName, encodeState, parseOptions } from "@esim-webhooks/core/engine";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { readState, writeState } from "./sql/state.ts";
import { tryState } from "./sql/try-out.ts";

export interface PostgresState extends StateStore {
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
  /** The server's time. Works before the migrations were run, too. */
  now(): Promise<Date>;
}

/**
 * Small state on Postgres 12 or newer, shared by any number of processes: one row per name. It can share a schema with
 * `postgresStore` and `postgresInbox`.
 *
 * If the answer to a write is lost, the write rejects with `store_unavailable` and may have taken effect: read again.
 *
 * Throws `invalid_option`. Operations reject as `StateStore` says, or with `store_full` or a code of `PostgresErrorCode`, such as
 * `migration_missing` until `migrate()` was run.
 */
export function postgresState<Database = unknown>(options: PostgresOptions<Database>): PostgresState {
  const settings = parseOptions("postgresState", postgresShape, options);
  const { guard, run, tables, isDurable, place, migrate, now, close } = openPostgres(
    "postgresState",
    options,
    settings,
    tryState,
  );
  return {
    capabilities: {
      get durable() {
        return isDurable();
      },
      multiProcess: true,
    },
    ready: guard.ready,
    async read(name) {
      checkStateName(name);
      return run((connection) => readState(connection, tables, name));
    },
    async write(name, value, version) {
      checkStateName(name);
      const write = { name, value: encodeState(value), version };
      return run((connection) => writeState(connection, tables, write));
    },
    place,
    migrate,
    now,
    close,
  };
}
