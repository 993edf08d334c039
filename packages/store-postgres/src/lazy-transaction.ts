import { WebhookError } from "@esim-webhooks/core";
import {
  type ConnectionProvider,
  type ControlledTransaction,
  type Kysely,
  type KyselyProps,
  sql,
  Transaction,
} from "kysely";

/** A transaction that is begun by its first query, so that a handler without one holds no connection. */
export interface LazyTransaction<Database> {
  readonly tx: Transaction<Database>;
  /** From now on its queries reject. Resolves to the transaction that was begun, or undefined. */
  end(): Promise<ControlledTransaction<Database> | undefined>;
}

/** A process that froze in its transaction would keep its row locks; the server ends it when it is idle for so long. */
const idleTimeout = "300s";

export function lazyTransaction<Database>(db: Kysely<Database>): LazyTransaction<Database> {
  let begun: Promise<ControlledTransaction<Database>> | undefined;
  let ended = false;

  async function begin(): Promise<ControlledTransaction<Database>> {
    const transaction = await db.startTransaction().execute();
    try {
      await sql`select set_config('idle_in_transaction_session_timeout', ${idleTimeout}, true)`.execute(
        transaction,
      );
      return transaction;
    } catch (error) {
      await transaction.rollback().execute();
      throw error;
    }
  }

  const provider: ConnectionProvider = {
    async provideConnection(consumer, options) {
      if (ended) {
        throw new WebhookError(
          "invalid_input",
          "context.tx was used after its handler had returned.",
          "Await every query before returning.",
        );
      }
      begun ??= begin();
      return (await begun).getExecutor().provideConnection(consumer, options);
    },
  };
  // the executor is all that queries go through; what else Kysely was made of is not handed out
  const props = {
    config: {},
    driver: {},
    dialect: {},
    executor: db.getExecutor().withConnectionProvider(provider),
  };
  return {
    tx: new Transaction<Database>(props as unknown as KyselyProps),
    end() {
      ended = true;
      return Promise.resolve(begun);
    },
  };
}
