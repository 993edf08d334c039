import {
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/kit";
import {
  openPostgres,
  type PostgresOptions,
  type PostgresSettings,
  postgresShape,
} from "./database/postgres-database.ts";
import { createSqlStore, type TransactionalStore } from "./sql-store.ts";

export interface PostgresStoreOptions<Database = unknown> extends PostgresOptions<Database>, StoreOptions {}

export interface PostgresStore<Database = unknown> extends TransactionalStore<Database> {
  /** The server's time. Works before the migrations were run, too. */
  now(): Promise<Date>;
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
}

const shape: OptionsShape<PostgresSettings & Required<StoreOptions>> = { ...postgresShape, ...storeShape };

/**
 * The dedupe store on Postgres 12 or newer, shared by any number of processes. An operation needs one connection and no
 * session state, so it works with a pool of one and behind a transaction pooler. It uses the server's time.
 * What a handler writes through `context.tx` commits together with the done mark, so it takes effect exactly once.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, or with `migration_missing` until `migrate()` was run.
 */
export function postgresStore<Database = unknown>(
  options: PostgresStoreOptions<Database>,
): PostgresStore<Database> {
  const settings = parseOptions("postgresStore", shape, options);
  warnOfShortRetention("postgresStore", settings);
  const { migrate, now, close, ...open } = openPostgres("postgresStore", options, settings);
  return {
    ...createSqlStore(open, settings.retentionMs),
    capabilities: {
      durable: true,
      multiProcess: true,
      transactional: true,
      retentionMs: settings.retentionMs,
    },
    migrate,
    now,
    close,
  };
}
