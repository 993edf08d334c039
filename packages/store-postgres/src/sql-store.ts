import type { DedupeStore, EventKey, Transacted } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/store";
import type { ControlledTransaction, Kysely, Transaction } from "kysely";
import { lazyTransaction } from "./lazy-transaction.ts";
import { claim } from "./sql/claim.ts";
import { forget } from "./sql/forget.ts";
import { complete, extend, release } from "./sql/mark.ts";
import type { Tables } from "./tables.ts";

/** A dedupe store whose handlers get a transaction of the same database as `context.tx`. */
export interface TransactionalStore<Database = unknown> extends DedupeStore<Transaction<Database>> {
  ready(): Promise<void>;
  transact(
    key: EventKey,
    token: string,
    work: (tx: Transaction<Database>) => Promise<boolean>,
  ): Promise<Transacted>;
}

const forgetEveryMs = 60_000;
const forgetBatch = 500;

/** The store's operations, wherever its database runs. */
export function createSqlStore<Database>(
  db: Kysely<Database>,
  { guard, tables, retentionMs }: { guard: StoreGuard; tables: Tables; retentionMs: number },
): Omit<TransactionalStore<Database>, "capabilities" | "close"> {
  const ours = withoutPlugins(db);
  let forgetAt = 0;

  /** One operation on one connection; none is begun once nobody waits for it. */
  function run<T>(operation: (connection: Kysely<unknown>) => Promise<T>): Promise<T> {
    return guard.run((signal) =>
      ours.connection().execute((connection) => {
        signal.throwIfAborted();
        return operation(connection);
      }),
    );
  }

  /** Now and then, a completed event takes some forgettable ones with it. */
  function forgetSome(): void {
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + forgetEveryMs;
    run((connection) => forget(connection, tables, forgetBatch)).then(
      (forgotten) => {
        if (forgotten === forgetBatch) forgetAt = 0; // there are more
      },
      () => {}, // tried again later
    );
  }

  /** Commits the transaction with the mark in it. False: the lease was lost. */
  function commit(
    transaction: ControlledTransaction<Database>,
    key: EventKey,
    token: string,
  ): Promise<boolean> {
    return guard.run(async () => {
      if (!(await complete(withoutPlugins(transaction), tables, key, token, retentionMs))) return false;
      await transaction.commit().execute();
      return true;
    });
  }

  return {
    ready: guard.ready,
    claim: (key, leaseMs) => run((connection) => claim(connection, tables, key, leaseMs)),
    extend: (key, token, leaseMs) => run((connection) => extend(connection, tables, key, token, leaseMs)),
    async complete(key, token) {
      const completed = await run((connection) => complete(connection, tables, key, token, retentionMs));
      forgetSome();
      return completed;
    },
    release: (key, token) => run((connection) => release(connection, tables, key, token)),
    async transact(key, token, work) {
      const lazy = lazyTransaction(db);
      const worked = await settled(work(lazy.tx));
      const transaction = await lazy.end();
      if (transaction === undefined) {
        if (worked.status === "rejected") throw worked.reason;
        return "unused";
      }
      try {
        if (worked.status === "rejected") throw worked.reason;
        if (worked.value && (await commit(transaction, key, token))) {
          forgetSome();
          return "committed";
        }
        return "rolled_back";
      } finally {
        if (!transaction.isCommitted) await settled(transaction.rollback().execute());
      }
    },
  };
}

function withoutPlugins<Database>(db: Kysely<Database>): Kysely<unknown> {
  return db.withoutPlugins() as Kysely<unknown>;
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}
