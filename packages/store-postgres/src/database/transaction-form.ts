import { WebhookError } from "@esim-webhooks/core";
import type { OptionsShape } from "@esim-webhooks/core/engine";
import type { SettingsOf } from "@esim-webhooks/core/internal";
import type { Kysely } from "kysely";
import pg, { type PoolClient } from "pg";
import * as z from "zod/mini";
import type { LazyTransaction } from "./lazy-transaction.ts";
import { type DatabaseOptions, withoutPlugins } from "./open-pool.ts";
import { transactionControlIn } from "./transaction-control.ts";

/** The value that handlers get as `context.tx`. */
export interface TransactionOptions<Tx> {
  /**
   * Makes `context.tx` of a client of `pg`: `(client) => drizzle(client)`, or `(client) => client` for the client itself. Called once
   * for each event, so keep it cheap. Default: a kysely transaction. Needs `url` or `pool`.
   *
   * The first query begins the transaction, so a handler without queries holds no connection. The client rejects BEGIN, COMMIT,
   * ROLLBACK and the like, an ORM's own `.transaction()` included: the store commits, together with the done mark of the event.
   * Savepoints are allowed, query objects such as cursors are not.
   */
  tx?: ((client: PoolClient) => Tx) | undefined;
}

export type TransactionSettings = SettingsOf<TransactionOptions<unknown>, "tx">;

export const transactionShape: OptionsShape<TransactionSettings> = {
  tx: z.optional(
    z.custom<(client: PoolClient) => unknown>(
      (value) => typeof value === "function",
      "expected a function, such as (client) => drizzle(client)",
    ),
  ),
};

/** The kysely transaction of each `context.tx` that the `tx` option has made. */
const formed = new WeakMap<object, Kysely<unknown>>();

/** How a transaction looks to a handler. */
export type TransactionForm<Database, Tx> = (lazy: LazyTransaction<Database>) => Tx;

/** Reads the option `tx`. Throws `invalid_option` if `caller` was also given a kysely instance, whose clients are not available. */
export function transactionForm<Database, Tx>(
  caller: string,
  { kysely, tx }: DatabaseOptions<Database> & TransactionOptions<Tx>,
): TransactionForm<Database, Tx> {
  if (tx === undefined) return (lazy) => lazy.tx as Tx; // the default of Tx
  if (kysely !== undefined) {
    throw new WebhookError(
      "invalid_option",
      `${caller} cannot use tx with a kysely instance.`,
      "Pass its pool instead, or remove tx.",
    );
  }
  return (lazy) => {
    const made = tx(lazyClient(lazy));
    if (Object(made) === made) formed.set(made as object, withoutPlugins(lazy.tx)); // an object or a function
    return made;
  };
}

/** Returns the kysely transaction behind any form of `context.tx`, for our own queries. Throws `invalid_input` if there is none. */
export function kyselyOf(tx: object): Kysely<unknown> {
  const kysely = (formed.get(tx) ?? tx) as Kysely<unknown> | undefined; // undefined without a store
  if (kysely?.getExecutor !== undefined) return withoutPlugins(kysely);
  throw new WebhookError(
    "invalid_input",
    "latestOnly was given a context.tx that is not of postgresStore or postgresInbox.",
    "Pass one of them to the receiver or worker; the SQLite package has a latestOnly of its own.",
  );
}

/** The argument of `query` of a client of `pg`. */
type Query = string | { readonly text?: unknown; readonly submit?: unknown };
type Callback = (error: unknown, result?: unknown) => void;

/**
 * A client of `pg`, as ORMs expect one, whose queries run on the connection of a transaction. It refuses what would begin or end a
 * transaction: that would commit a handler's writes before its event is done. `release` and `end` do nothing: the connection is the store's.
 */
function lazyClient({ onConnection }: Pick<LazyTransaction<never>, "onConnection">): PoolClient {
  const run = async (query: Query, values: unknown) => {
    refuseTransactionControl(query);
    return onConnection((client) => (client as PoolClient).query(query as string, values as unknown[]));
  };
  const client: PoolClient = Object.create(pg.Client.prototype);
  return Object.assign(client, {
    query(query: Query, ...rest: readonly unknown[]) {
      const callback = rest.find((each): each is Callback => typeof each === "function");
      const result = run(query, typeof rest[0] === "function" ? undefined : rest[0]);
      if (callback === undefined) return result;
      return void result.then((value) => callback(null, value), callback);
    },
    connect: async () => client,
    release() {},
    end: async () => {},
  });
}

function refuseTransactionControl(query: Query): void {
  const text = typeof query === "string" ? query : query?.text;
  if (typeof text !== "string" || (typeof query === "object" && "submit" in query)) {
    throw new WebhookError(
      "invalid_input",
      "The client of context.tx was given a query without a text, or a query object, such as a cursor.",
      "Give it a text, or { text, values }.",
    );
  }
  const control = transactionControlIn(text);
  if (control === undefined) return;
  throw new WebhookError(
    "invalid_input",
    `context.tx was given ${control}, and is a transaction already: it commits with the done mark of the event.`,
    "Run the queries on context.tx itself, without the ORM's own transaction; SAVEPOINT is allowed.",
  );
}
