import { type Transacted, WebhookError } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/kit";
import type { Kysely } from "kysely";
import type { HeldConnection, Hold } from "./held-connection.ts";
import { lazyTransaction } from "./lazy-transaction.ts";
import { commit, rollback, settings } from "./own-transaction.ts";
import { withoutPlugins } from "./own-types.ts";
import { runSteps } from "./statements.ts";
import type { TransactionForm } from "./transaction-form.ts";

/** Where transactions are, and how they look to handlers. */
export interface Transactions<Database, Tx> {
  readonly db: Kysely<Database>;
  readonly hold: Hold;
  readonly guard: StoreGuard;
  readonly timeoutMs: number;
  readonly form: TransactionForm<Database, Tx>;
}

/**
 * Runs `work` with a transaction. Commits it if `work` resolves to true and `mark` could write the done mark under its
 * fence. Locks no row before that, so neither a duplicate nor a renewal of the lease waits for the handler.
 */
export async function transact<Database, Tx>(
  transactions: Transactions<Database, Tx>,
  work: (tx: Tx) => Promise<boolean>,
  mark: (tx: Kysely<unknown>) => Promise<boolean>,
): Promise<Transacted> {
  const lazy = lazyTransaction(transactions.db, transactions.hold, transactions.guard);
  let worked: Worked;
  try {
    worked = { isDone: await work(transactions.form(lazy)) };
  } catch (error) {
    worked = { error };
  }
  const begun = lazy.end();
  if (begun !== undefined) return ended(transactions, await begun, worked, mark);
  if ("error" in worked) throw worked.error;
  return "unused";
}

/** What `work` has resolved to, or rejected with. */
type Worked = { readonly isDone: boolean } | { readonly error: unknown };

async function ended<Database, Tx>(
  { guard, timeoutMs }: Transactions<Database, Tx>,
  held: HeldConnection,
  worked: Worked,
  mark: (tx: Kysely<unknown>) => Promise<boolean>,
): Promise<Transacted> {
  const connection = withoutPlugins(held.db);

  async function marked(signal: AbortSignal): Promise<boolean> {
    await runSteps(connection, settings(timeoutMs));
    if (!(await mark(connection))) return false;
    signal.throwIfAborted();
    await commit(held);
    return true;
  }

  const committing = guard.run(async (signal) => {
    signal.addEventListener("abort", held.cancel);
    let isCommitted = false;
    try {
      isCommitted = "isDone" in worked && worked.isDone && (await marked(signal));
    } finally {
      if (!isCommitted) await rollback({ held, connection });
      held.release();
    }
    return isCommitted;
  });
  if ("error" in worked) {
    await Promise.allSettled([committing]);
    throw worked.error;
  }
  try {
    return (await committing) ? "committed" : "rolled_back";
  } catch (error) {
    throw isFaultOfWork(error) ? error.cause : error;
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
  const { code } = error.cause as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !serverFault.test(code);
}
