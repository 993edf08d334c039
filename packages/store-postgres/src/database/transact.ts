import { type Transacted, WebhookError } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/engine";
import type { Kysely } from "kysely";
import { type BegunTransaction, lazyTransaction } from "./lazy-transaction.ts";
import { withoutPlugins } from "./open-pool.ts";
import { settings } from "./own-transaction.ts";
import { runSteps } from "./statements.ts";
import type { TransactionForm } from "./transaction-form.ts";

/** Where transactions are, and how they look to handlers. */
export interface Transactions<Database, Tx> {
  readonly db: Kysely<Database>;
  readonly guard: StoreGuard;
  readonly timeoutMs: number;
  readonly form: TransactionForm<Database, Tx>;
}

/**
 * Runs `work` with a transaction. Commits it if `work` resolves to true and `mark` could write the done mark under its
 * fence. Does not lock the row of the event before that, so neither a duplicate nor a renewal of the lease waits for the handler.
 */
export async function transact<Database, Tx>(
  transactions: Transactions<Database, Tx>,
  work: (tx: Tx) => Promise<boolean>,
  mark: (tx: Kysely<unknown>) => Promise<boolean>,
): Promise<Transacted> {
  const lazy = lazyTransaction(transactions.db, transactions.guard);
  let worked: Worked;
  try {
    worked = { isDone: await work(transactions.form(lazy)) };
  } catch (error) {
    worked = { error };
  }
  const begun = lazy.end();
  if (begun !== undefined) return endTransaction(transactions, await begun, worked, mark);
  if ("error" in worked) throw worked.error;
  return "unused";
}

/** The value that `work` has resolved to, or its error. */
type Worked = { readonly isDone: boolean } | { readonly error: unknown };

async function endTransaction<Database, Tx>(
  { guard, timeoutMs }: Transactions<Database, Tx>,
  { transaction, handle }: BegunTransaction<Database>,
  worked: Worked,
  mark: (tx: Kysely<unknown>) => Promise<boolean>,
): Promise<Transacted> {
  const inTime = <T>(operation: (signal: AbortSignal) => Promise<T>) =>
    guard.run((signal) => {
      signal.addEventListener("abort", handle.giveUp);
      return operation(signal);
    });

  async function markAndCommit(signal: AbortSignal): Promise<boolean> {
    const ours = withoutPlugins(transaction);
    await runSteps(ours, settings(timeoutMs));
    if (!(await mark(ours))) return false;
    signal.throwIfAborted();
    await handle.runCommit(() => transaction.commit().execute());
    return true;
  }

  try {
    if ("error" in worked) throw worked.error;
    if (worked.isDone && (await inTime(markAndCommit))) return "committed";
    return "rolled_back";
  } catch (error) {
    throw isFaultOfWork(error) ? error.cause : error;
  } finally {
    if (!transaction.isCommitted) await Promise.allSettled([inTime(() => transaction.rollback().execute())]);
  }
}

/** The SQLSTATE classes for faults of the server, and that of a server which only reads. All others are faults of the statement. */
const serverFault = /^(?:08|25006|53|57|58|XX)/;

/**
 * Whether the server refused what `work` had written: a deferred constraint failed, or the handler had caught an error, which
 * aborts the transaction anyway.
 */
function isFaultOfWork(error: unknown): error is WebhookError {
  if (!WebhookError.is(error) || typeof error.cause !== "object" || error.cause === null) return false;
  const { code, name } = error.cause as { code?: unknown; name?: unknown };
  if (name === "AbortedTransactionError") return true;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !serverFault.test(code);
}
