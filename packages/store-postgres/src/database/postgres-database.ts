import type { Lifecycle, Logger } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  type StoreGuard,
  storeShape,
  warnOfSetup,
} from "@esim-webhooks/core/engine";
import { isServerUrl, type SettingsOf } from "@esim-webhooks/core/internal";
import { type Kysely, type RawBuilder, sql } from "kysely";
import * as z from "zod/mini";
import { type Checked, checkServer } from "./check.ts";
import { misfitOf, refusalOf } from "./errors.ts";
import { migrate } from "./migrate.ts";
import {
  type DatabaseOptions,
  type OpenPool,
  openPool,
  type Pool,
  schemaPlace,
  withoutPlugins,
} from "./open-pool.ts";
import {
  commitStatement,
  commitWork,
  type OwnConnection,
  onConnection,
  runAndRollBack,
  type Work,
} from "./own-transaction.ts";
import { type Tables, tablesIn } from "./tables.ts";

/** The options that `postgresStore`, `postgresInbox` and `postgresState` share. */
export interface PostgresOptions<Database = unknown> extends DatabaseOptions<Database> {
  /** The schema of the tables. Default `"esim_webhooks"`. */
  schema?: string;
  /** The timeout of an operation, in ms, including the wait for a connection. Default 5,000. */
  timeoutMs?: number;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

export type PostgresSettings = SettingsOf<PostgresOptions<never>, keyof DatabaseOptions>;

export const postgresShape: OptionsShape<PostgresSettings> = {
  url: z.optional(
    z
      .string()
      .check(
        z.refine(
          (url) => isServerUrl(url, "postgres:", "postgresql:"),
          "expected a postgres:// URL, postgres://user:password@host:5432/database, with the password's special characters percent-encoded",
        ),
      ),
  ),
  pool: z.optional(z.custom<Pool>()),
  kysely: z.optional(z.custom<Kysely<never>>()),
  schema: z._default(
    z.string().check(z.regex(/^[a-z_][a-z0-9_]{0,62}$/, "expected lower-case letters, digits and _")),
    "esim_webhooks",
  ),
  timeoutMs: z._default(durationMs(1), 5000),
  logger: storeShape.logger,
};

/** An open database: its tables, and how to run operations on them. */
export interface OpenPostgres<Database>
  extends Pick<OpenPool<Database>, "db" | "pool">,
    Required<Pick<Lifecycle, "place" | "migrate" | "now" | "close">> {
  readonly tables: Tables;
  readonly guard: StoreGuard;
  /** Runs one operation in a transaction on a connection of its own, and commits it. */
  readonly run: <T>(operation: Work<T>) => Promise<T>;
  /** Commits an operation that is one statement, and resolves to its rows. It costs less: our own pool needs one round trip for it. */
  readonly runStatement: <Row>(statement: RawBuilder<Row>) => Promise<readonly Row[]>;
  /** Whether a crash of the server's machine loses nothing. True until the server was asked. */
  isDurable(): boolean;
}

/** Opens a Postgres; the first operation connects to it. `name` is the public function, for messages. `tryOut` is part of the check of the server. */
export function openPostgres<Database>(
  name: string,
  options: DatabaseOptions<Database>,
  settings: PostgresSettings,
  tryOut: Checked["tryOut"],
): OpenPostgres<Database> {
  const { logger, schema, timeoutMs } = settings;
  const { db, close, ...pool } = openPool(name, options, timeoutMs, logger);
  const ours = withoutPlugins(db);
  const tables = tablesIn(schema);
  const onOne = <T>(signal: AbortSignal, work: (own: OwnConnection) => Promise<T>) =>
    onConnection(ours, timeoutMs, signal, work);
  let durable = true;
  let isWarned = false;
  const check = (signal: AbortSignal) =>
    onOne(signal, async (own) => {
      const problem = await runAndRollBack(own, (tx) => checkServer(tx, { tables, tryOut }));
      durable = problem === undefined;
      if (problem !== undefined && !isWarned) warnOfSetup(logger, "not_durable", problem);
      isWarned ||= !durable;
    });
  const explain = (error: unknown) => refusalOf(error, tables) ?? misfitOf(error, tables);
  const guard = createStoreGuard({ name, timeoutMs, logger, check, explain });
  return {
    db,
    ...pool,
    tables,
    guard,
    run: (operation) => guard.run((signal) => onOne(signal, (own) => commitWork(own, operation))),
    runStatement: (statement) =>
      guard.run((signal) => onOne(signal, (own) => commitStatement(own, statement))),
    isDurable: () => durable,
    place: schemaPlace(options, schema),
    migrate: () => guard.runUnchecked(() => migrate(ours, tables, logger)),
    now: () => guard.runUnready((signal) => onOne(signal, ({ connection }) => timeOf(connection))),
    close: () => guard.close(close),
  };
}

async function timeOf(db: Kysely<unknown>): Promise<Date> {
  const { rows } = await sql<{
    ms: number;
  }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(db);
  return new Date(rows[0]?.ms ?? Number.NaN);
}
