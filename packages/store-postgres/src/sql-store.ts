import type { DedupeStore, EventKey, Transacted } from "@esim-webhooks/core";
import type { Kysely, Transaction } from "kysely";
import type { OpenTables } from "./database/postgres-database.ts";
import { runOn } from "./database/run-on.ts";
import { transact } from "./database/transact.ts";
import { claim } from "./sql/claim.ts";
import { forget } from "./sql/forget.ts";
import { complete, completeInTransaction, extend, release } from "./sql/mark.ts";

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

/** The operations of the dedupe store. */
export function createSqlStore<Database>(
  { db, guard, tables }: Omit<OpenTables<Database>, "close">,
  retentionMs: number,
): Omit<TransactionalStore<Database>, "capabilities" | "close"> {
  const run = runOn(db, guard);
  let forgetAt = 0;

  /** Deletes a batch of ids whose retention is over, at most once a minute. */
  function forgetSome(): void {
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + forgetEveryMs;
    run((connection) => forget(connection, tables, forgetBatch)).then(
      (forgotten) => {
        if (forgotten === forgetBatch) forgetAt = 0; // there may be more
      },
      () => {}, // the next interval tries again
    );
  }

  return {
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
      const transacted = await transact(db, guard, work, mark);
      if (transacted === "committed") forgetSome();
      return transacted;
    },
  };
}
