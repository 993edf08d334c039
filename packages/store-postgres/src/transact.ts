import type { Transacted } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/store";
import type { Kysely, Transaction } from "kysely";
import { lazyTransaction } from "./lazy-transaction.ts";
import { plain } from "./plain.ts";

/**
 * Runs `work` with a transaction, and commits it if `work` says so and `mark` could write its mark in it, by the fence.
 * No row is locked before that, so that neither a duplicate nor a renewal of the lease waits for the handler.
 */
export async function transact<Database>(
  db: Kysely<Database>,
  guard: StoreGuard,
  work: (tx: Transaction<Database>) => Promise<boolean>,
  mark: (tx: Kysely<unknown>) => Promise<boolean>,
): Promise<Transacted> {
  const lazy = lazyTransaction(db);
  const [worked] = await Promise.allSettled([work(lazy.tx)]);
  const transaction = await lazy.end();
  try {
    if (worked.status === "rejected") throw worked.reason;
    if (transaction === undefined) return "unused";
    const commits = worked.value;
    const committed = await guard.run(async () => {
      if (!commits || !(await mark(plain(transaction)))) return false;
      await transaction.commit().execute();
      return true;
    });
    return committed ? "committed" : "rolled_back";
  } finally {
    if (transaction?.isCommitted === false) await Promise.allSettled([transaction.rollback().execute()]);
  }
}
