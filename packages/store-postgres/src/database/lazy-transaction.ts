import { WebhookError } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/engine";
import {
  type ConnectionProvider,
  type ControlledTransaction,
  type Kysely,
  type KyselyProps,
  type PostgresPoolClient,
  sql,
  Transaction,
} from "kysely";
import { type ConnectionHandle, createHandle, withHandle } from "./connection-handle.ts";

/** A transaction that its first query begins, so that a handler without queries holds no connection. */
export interface LazyTransaction<Database> {
  readonly tx: Transaction<Database>;
  /** Runs a query directly on the transaction's connection, not by `tx`. `client` is undefined if a kysely instance has the connection. */
  onConnection<T>(query: (client: PostgresPoolClient | undefined) => Promise<T>): Promise<T>;
  /** Rejects all further queries. Returns the transaction, which rejects if it could not begin, or undefined if none began. */
  end(): Promise<BegunTransaction<Database>> | undefined;
}

export interface BegunTransaction<Database> {
  readonly transaction: ControlledTransaction<Database>;
  /** The handle of its connection. */
  readonly handle: ConnectionHandle;
}

/**
 * The server ends a transaction that is idle for this long, so that a frozen process does not keep its row locks. Not
 * `set_config`: after a select, a handler could no longer choose the isolation.
 */
const idleLimit = "set local idle_in_transaction_session_timeout = '300s'";

/** Makes only the parts that `tx` needs, since most events never use their transaction. */
export function lazyTransaction<Database>(
  db: Kysely<Database>,
  guard: StoreGuard,
): LazyTransaction<Database> {
  let transaction: Promise<BegunTransaction<Database>> | undefined;
  let ended = false;

  /** Begins the transaction, unless it has begun. A query that the handler did not await must not run outside of it. */
  async function beginOnce(): Promise<BegunTransaction<Database>> {
    refuseLate();
    transaction ??= guard.run((signal) => begin(db, signal));
    await transaction;
    refuseLate();
    return transaction;
  }

  function refuseLate(): void {
    if (!ended) return;
    throw new WebhookError(
      "invalid_input",
      "context.tx was used after its handler had returned.",
      "Await every query before returning.",
    );
  }

  const provider: ConnectionProvider = {
    provideConnection: async (consumer, options) =>
      (await beginOnce()).transaction.getExecutor().provideConnection(consumer, options),
  };
  // queries need only the executor, so the other properties stay empty
  const executor = db.getExecutor().withConnectionProvider(provider);
  const props = { config: {}, driver: {}, dialect: {}, executor };
  return {
    onConnection: async (query) => query((await beginOnce()).handle.client),
    tx: new Transaction<Database>(props as unknown as KyselyProps),
    end() {
      ended = true;
      return transaction;
    },
  };
}

async function begin<Database>(
  db: Kysely<Database>,
  signal: AbortSignal,
): Promise<BegunTransaction<Database>> {
  const handle = createHandle();
  const transaction = await withHandle({ handle, signal }, () =>
    db.startTransaction().setIsolationLevel("read committed").execute(),
  );
  try {
    signal.throwIfAborted();
    signal.addEventListener("abort", handle.giveUp);
    await sql.raw(idleLimit).execute(transaction);
    signal.throwIfAborted(); // the caller has given up, and would not end it
    return { transaction, handle };
  } catch (error) {
    await transaction.rollback().execute();
    throw error;
  }
}
