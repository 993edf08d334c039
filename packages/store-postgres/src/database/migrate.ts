import { setTimeout as delay } from "node:timers/promises";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { buildIndex } from "./build-index.ts";
import type { PostgresErrorCode } from "./errors.ts";
import {
  appliedMigrations,
  inSchema,
  type Migration,
  migrations,
  recording,
  statementsToRun,
} from "./migrations.ts";
import { runSteps } from "./statements.ts";
import { qualified, type Tables } from "./tables.ts";

/** How long a migration waits for a lock on a table in use. Meanwhile all others that need the table wait, too. */
const lockMs = 300;
/** How long it waits for a lock that blocks only other migrations, autovacuum and index builds. The server stops an autovacuum after a second. */
const quietLockMs = 10_000;
const pauseMs = 500;

interface MigrateOptions {
  /** How long to try to lock the tables, in ms. Default 60 s. */
  readonly patienceMs?: number;
  /** Default: those of this version. */
  readonly known?: readonly Migration[];
}

/**
 * Updates the schema, while receivers and workers use it. When several processes do it at the same time, each step is run once. Rejects
 * with `database_newer`, `schema_mismatch` or `database_not_utf8` for a schema or database that this version cannot work with, and with `migration_blocked` when
 * a transaction has kept the tables locked for `patienceMs`.
 */
export async function migrate(
  db: Kysely<unknown>,
  tables: Tables,
  logger: Logger,
  { patienceMs = 60_000, known = migrations }: MigrateOptions = {},
): Promise<void> {
  await db.connection().execute(async (connection) => {
    const count = () => appliedMigrations(connection, tables, known);
    for (let applied = await count(); applied < known.length; applied = await count()) {
      const next = known[applied] as Migration;
      if (applied === 0 || "statements" in next) {
        await inTransaction(connection, tables, known, applied, patienceMs);
        continue;
      }
      for (const index of next.indexes) await buildIndex(connection, tables, logger, applied, index);
      const record = recording(next, applied);
      await sql.raw(inSchema(tables.schema, record)).execute(connection);
    }
  });
}

/** Runs the next migration, or all of them if none was run yet. Tries for `patienceMs` to get its locks. */
async function inTransaction(
  connection: Kysely<unknown>,
  tables: Tables,
  known: readonly Migration[],
  applied: number,
  patienceMs: number,
): Promise<void> {
  const endsAt = performance.now() + patienceMs;
  while (!(await tryOnce(connection, tables, known, applied))) {
    if (performance.now() >= endsAt) throw await whyBlocked(connection, tables, patienceMs);
    await delay(pauseMs * (0.5 + Math.random()));
  }
}

/**
 * False: another process migrates, or a table is in use. The advisory lock of the migrating process belongs to the transaction, so it
 * works behind a transaction pooler. With `pg`, the tables are locked within one message that ends with the commit, so a process that
 * freezes locks no table. With another driver, the server ends the transaction of a frozen process.
 */
async function tryOnce(
  connection: Kysely<unknown>,
  tables: Tables,
  known: readonly Migration[],
  applied: number,
): Promise<boolean> {
  const texts = known.map(statementsToRun);
  const run = (...statements: readonly string[]) =>
    runSteps(
      connection,
      statements.map((statement) => inSchema(tables.schema, statement)),
    );
  const limits = {
    statement_timeout: 0,
    idle_in_transaction_session_timeout: quietLockMs,
    lock_timeout: quietLockMs,
  };
  await runSteps(connection, ["begin isolation level read committed", limits]);
  try {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended(${`esim-webhooks ${tables.schema}`}, 0)) as mine`.execute(
      connection,
    );
    const isMine = rows[0]?.mine === true;
    if (isMine && (await appliedMigrations(connection, tables, known)) === applied) {
      const locks = [
        "lock table esim_webhooks.event in share update exclusive mode",
        `set local lock_timeout = ${lockMs}`,
      ];
      await run(...(applied === 0 ? texts.flat() : [...locks, ...(texts[applied] ?? [])]), "commit");
    } else {
      await run("rollback");
    }
    return isMine;
  } catch (error) {
    await run("rollback").catch(() => {});
    if ((error as { code?: unknown }).code === "55P03") return false; // lock_not_available
    throw error;
  }
}

interface Holder {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly seconds: number | null;
}

/** The error `migration_blocked`. Names the oldest transaction that holds a lock on the tables of events or migrations. */
async function whyBlocked(
  db: Kysely<unknown>,
  tables: Tables,
  patienceMs: number,
): Promise<WebhookError<PostgresErrorCode>> {
  const { rows } = await sql<Holder>`
    select activity.pid, usename as user, application_name as application, state,
      floor(extract(epoch from clock_timestamp() - xact_start))::float8 as seconds
    from pg_locks as locks join pg_stat_activity as activity using (pid)
    where locks.granted and locks.database = activity.datid and datname = current_database() and pid <> pg_backend_pid()
      and relation in (to_regclass(${qualified(tables, "event")}), to_regclass(${qualified(tables, "migration")}))
    order by xact_start limit 1`.execute(db);
  const [holder] = rows;
  const waited = `The migration of the schema "${tables.schema}" could not lock its tables within ${patienceMs / 1000} s`;
  if (holder === undefined)
    return new WebhookError<PostgresErrorCode>(
      "migration_blocked",
      `${waited}.`,
      "Run it again when no other migration is running.",
    );
  const { pid, user, application, state, seconds } = holder;
  const who = [user && `user ${user}`, application, state].filter(Boolean).join(", ");
  return new WebhookError<PostgresErrorCode>(
    "migration_blocked",
    `${waited}: the transaction of the backend ${pid} (${who}) uses them, and is ${seconds} s old.`,
    `Nothing was changed. End that transaction, for example with select pg_terminate_backend(${pid}), and run the migration again.`,
  );
}
