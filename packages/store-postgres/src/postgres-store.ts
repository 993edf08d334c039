import type { DedupeStore, EventKey, Transacted } from "@esim-webhooks/core";
import {
  createPurger,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  safePurge,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import type { Kysely, Transaction } from "kysely";
import {
  openPostgres,
  type PostgresOptions,
  type PostgresSettings,
  postgresShape,
} from "./database/postgres-database.ts";
import { transact } from "./database/transact.ts";
import {
  type TransactionOptions,
  type TransactionSettings,
  transactionForm,
  transactionShape,
} from "./database/transaction-form.ts";
import { sources } from "./sql/admin.ts";
import { claim, complete, completeInTransaction, extend, release } from "./sql/claim.ts";
import { purgeSteps } from "./sql/forget.ts";
import { tryEvents } from "./sql/try-out.ts";

export interface PostgresStoreOptions<Database = unknown, Tx = Transaction<Database>>
  extends PostgresOptions<Database>,
    TransactionOptions<Tx>,
    StoreOptions {}

/** A dedupe store whose handlers get a transaction of the same database as `context.tx`. */
export interface PostgresStore<Database = unknown, Tx = Transaction<Database>> extends DedupeStore<Tx> {
  ready(): Promise<void>;
  transact(key: EventKey, token: string, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;
  /** The server's time. Works before the migrations were run, too. */
  now(): Promise<Date>;
  /** Creates or updates the tables. Safe when many processes do it at the same time. */
  migrate(): Promise<void>;
}

const shape: OptionsShape<PostgresSettings & Required<StoreOptions> & TransactionSettings> = {
  ...postgresShape,
  ...storeShape,
  ...transactionShape,
};

/**
 * The dedupe store on Postgres 12 or newer, shared by any number of processes. An operation needs one connection and no
 * session state, so it works with a pool of one and behind a transaction pooler. It uses the server's time.
 * The writes of a handler through `context.tx` commit together with the done mark, so they take effect exactly once for each id.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, `store_full`, or a code of `PostgresErrorCode`, such as
 * `migration_missing` until `migrate()` was run.
 */
export function postgresStore<Database = unknown, Tx = Transaction<Database>>(
  options: PostgresStoreOptions<Database, Tx>,
): PostgresStore<Database, Tx> {
  const settings = parseOptions("postgresStore", shape, options);
  warnOfShortRetention("postgresStore", settings);
  const { retentionMs, timeoutMs } = settings;
  const form = transactionForm("postgresStore", options);
  const database = openPostgres("postgresStore", options, settings, tryEvents);
  const { db, guard, run, tables, isDurable, place, migrate, now, close } = database;
  const purger = createPurger(safePurge("postgresStore", settings.logger, purgeSteps(database)));

  let forgetting: Promise<void> = Promise.resolve();

  /** Deletes some ids whose retention has expired, if it is time. Only `close` waits for it: postgres.js does not end while it is under way. */
  function forgetSome(): void {
    const earlier = forgetting;
    forgetting = purger
      .purgeIfDue()
      .catch(() => {}) // tried again later
      .then(() => earlier);
  }

  return {
    capabilities: {
      get durable() {
        return isDurable();
      },
      multiProcess: true,
      transactional: true,
      retentionMs,
    },
    ready: guard.ready,
    claim: (key, leaseMs, fingerprint) =>
      run((connection) => claim(connection, tables, key, leaseMs, fingerprint)),
    extend: (key, token, leaseMs) => run((connection) => extend(connection, tables, key, token, leaseMs)),
    async complete(key, token) {
      const completed = await run((connection) => complete(connection, tables, key, token, retentionMs));
      forgetSome();
      return completed;
    },
    release: (key, token) => run((connection) => release(connection, tables, key, token)),
    async transact(key, token, work) {
      const mark = (tx: Kysely<unknown>) => completeInTransaction(tx, tables, key, token, retentionMs);
      const transacted = await transact({ db, guard, timeoutMs, form }, work, mark);
      if (transacted === "committed") forgetSome();
      return transacted;
    },
    sources: () => run((connection) => sources(connection, tables)),
    place,
    migrate,
    now,
    async close() {
      await forgetting;
      await close();
    },
  };
}
