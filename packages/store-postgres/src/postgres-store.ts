import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/store";
import type { Kysely } from "kysely";
import { z } from "zod";
import { type DatabaseOptions, openDatabase, type Pool } from "./database.ts";
import { checkMigrations, migrate } from "./migrations.ts";
import { createSqlStore, type TransactionalStore } from "./sql-store.ts";
import { tablesIn } from "./tables.ts";

export interface PostgresStoreOptions<Database = unknown> extends DatabaseOptions<Database>, StoreOptions {
  /** The schema the tables are in. Default `"esim_webhooks"`. */
  schema?: string;
  /** How long an operation may take, in ms, waiting for a connection included, before it rejects. Default 5,000. */
  timeoutMs?: number;
}

export interface PostgresStore<Database = unknown> extends TransactionalStore<Database> {
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
}

type Settings = Required<StoreOptions> & {
  [Name in keyof DatabaseOptions]: DatabaseOptions<never>[Name] | undefined;
} & { schema: string; timeoutMs: number };

const shape: OptionsShape<Settings> = {
  ...storeShape,
  url: z
    .string()
    .regex(/^postgres(?:ql)?:\/\//, "expected a postgres:// URL")
    .optional(),
  pool: z.custom<Pool>().optional(),
  kysely: z.custom<Kysely<never>>().optional(),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, "expected lower-case letters, digits and _")
    .default("esim_webhooks"),
  timeoutMs: durationMs(1).default(5000),
};

/**
 * The dedupe store on Postgres 12 or newer, shared by any number of processes. An operation takes one connection and
 * no session state, so that a pool of one and a transaction pooler are enough; time is the server's.
 * What a handler writes by `context.tx` commits together with the mark, so it takes effect exactly once.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, or `migration_missing` until `migrate()` was run.
 */
export function postgresStore<Database = unknown>(
  options: PostgresStoreOptions<Database>,
): PostgresStore<Database> {
  const settings = parseOptions("postgresStore", shape, options);
  const { retentionMs, logger, schema, timeoutMs } = settings;
  warnOfShortRetention("postgresStore", settings);
  const { db, close } = openDatabase("postgresStore", options, timeoutMs, logger);
  const plain = db.withoutPlugins() as Kysely<unknown>;
  const tables = tablesIn(schema);
  const check = () => checkMigrations(plain, tables);
  const guard = createStoreGuard({ name: "postgresStore", timeoutMs, logger, check });
  return {
    ...createSqlStore(db, { guard, tables, retentionMs }),
    capabilities: { durable: true, multiProcess: true, transactional: true },
    migrate: () => guard.runUnchecked(() => migrate(plain, tables)),
    close: () => guard.close(close),
  };
}
