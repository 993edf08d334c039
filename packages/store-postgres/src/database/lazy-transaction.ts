import { WebhookError } from "@esim-webhooks/core";
import type { StoreGuard } from "@esim-webhooks/core/kit";
import { type Kysely, type PostgresPoolClient, Transaction } from "kysely";
import type { HeldConnection, Hold } from "./held-connection.ts";
import { rollback } from "./own-transaction.ts";
import { propsWith, withoutPlugins } from "./own-types.ts";
import { runSteps } from "./statements.ts";

/** A transaction that its first query begins, so that a handler without queries holds no connection. */
export interface LazyTransaction<Database> {
  readonly tx: Transaction<Database>;
  /** Runs a query on its connection, in place of `tx`. Undefined is passed if a kysely instance has the connection. */
  onConnection<T>(query: (client: PostgresPoolClient | undefined) => Promise<T>): Promise<T>;
  /** Rejects all further queries. Returns its connection, which rejects if it could not begin, or undefined if none began. */
  end(): Promise<HeldConnection> | undefined;
}

/**
 * The server ends a transaction that is idle for this long, so that a frozen process does not keep its row locks. Not
 * `set_config`: after a select, a handler could no longer choose the isolation.
 */
const idleLimit = "set local idle_in_transaction_session_timeout = '300s'";

/** Most events never use theirs, so it makes only what `tx` needs. */
export function lazyTransaction<Database>(
  db: Kysely<Database>,
  hold: Hold,
  guard: StoreGuard,
): LazyTransaction<Database> {
  let held: Promise<HeldConnection> | undefined;
  let ended = false;

  /** Begins it, unless it has begun. A query that the handler did not await must not run outside of it. */
  async function begun(): Promise<HeldConnection> {
    refuseLate();
    held ??= guard.run((signal) => begin(hold, signal));
    await held;
    refuseLate();
    return held;
  }

  function refuseLate(): void {
    if (!ended) return;
    throw new WebhookError(
      "invalid_input",
      "context.tx was used after its handler had returned.",
      "Await every query before returning.",
    );
  }

  const props = propsWith(db, async (consumer, options) =>
    (await begun()).db.getExecutor().provideConnection(consumer, options),
  );
  return {
    onConnection: async (query) => query((await begun()).client),
    tx: new Transaction<Database>(props),
    end() {
      ended = true;
      return held;
    },
  };
}

async function begin(hold: Hold, signal: AbortSignal): Promise<HeldConnection> {
  const held = await hold(signal);
  const connection = withoutPlugins(held.db);
  try {
    signal.addEventListener("abort", held.giveUp);
    await runSteps(connection, ["begin isolation level read committed", idleLimit]);
    signal.throwIfAborted(); // no caller would end it
    return held;
  } catch (error) {
    await rollback({ held, connection });
    held.release();
    throw error;
  }
}
