import { WebhookError } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/kit";
import {
  type ConnectionProvider,
  type ControlledTransaction,
  type Kysely,
  type KyselyProps,
  sql,
  Transaction,
} from "kysely";
import { type ConnectionHandle, createHandle, withHandle } from "./connection-handle.ts";

/** A transaction that its first query begins, so that a handler without queries holds no connection. */
export interface LazyTransaction<Database> {
  /** The transaction, which this begins. Rejects after `end()`. */
  begun(): Promise<ControlledTransaction<Database>>;
  /** Its queries begin it. */
  readonly tx: Transaction<Database>;
  /** The handle of its connection. */
  readonly handle: ConnectionHandle;
  /** Rejects all further queries. Resolves to the transaction, or undefined if none began. Rejects if it could not begin. */
  end(): Promise<ControlledTransaction<Database> | undefined>;
}

/** The server ends a transaction that is idle for this long, so that a frozen process does not keep its row locks. */
const idleTimeout = "300s";

export function lazyTransaction<Database>(
  db: Kysely<Database>,
  guard: StoreGuard,
): LazyTransaction<Database> {
  const handle = createHandle();
  let transaction: Promise<ControlledTransaction<Database>> | undefined;
  let ended = false;

  async function begin(signal: AbortSignal): Promise<ControlledTransaction<Database>> {
    const transaction = await withHandle(handle, () => db.startTransaction().execute());
    try {
      signal.throwIfAborted();
      signal.addEventListener("abort", handle.cut);
      await sql`select set_config('idle_in_transaction_session_timeout', ${idleTimeout}, true)`.execute(
        transaction,
      );
      return transaction;
    } catch (error) {
      await transaction.rollback().execute();
      throw error;
    }
  }

  async function begun(): Promise<ControlledTransaction<Database>> {
    if (ended) {
      throw new WebhookError(
        "invalid_input",
        "context.tx was used after its handler had returned.",
        "Await every query before returning.",
      );
    }
    transaction ??= guard.run(begin);
    return transaction;
  }

  const provider: ConnectionProvider = {
    provideConnection: async (consumer, options) =>
      (await begun()).getExecutor().provideConnection(consumer, options),
  };
  // queries need only the executor, so the other properties stay empty
  const executor = db.getExecutor().withConnectionProvider(provider);
  const props = { config: {}, driver: {}, dialect: {}, executor };
  return {
    begun,
    tx: new Transaction<Database>(props as unknown as KyselyProps),
    handle,
    end() {
      ended = true;
      return Promise.resolve(transaction);
    },
  };
}
