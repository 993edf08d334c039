import { WebhookError } from "@esim-webhooks/core";
import type { OptionsShape, SettingsOf } from "@esim-webhooks/core/kit";
import type { Kysely } from "kysely";
import type { PoolClient } from "pg";
import * as z from "zod/mini";
import type { DatabaseOptions } from "./database.ts";
import { lazyClient } from "./lazy-client.ts";
import type { LazyTransaction } from "./lazy-transaction.ts";
import { withoutPlugins } from "./without-plugins.ts";

export interface TransactionOptions<Tx> {
  /**
   * Makes `context.tx` of a client of `pg`: `(client) => drizzle(client)`, or `(client) => client` for the client itself. Called once
   * for each event, so keep it cheap. Default: a kysely transaction. Needs `url` or `pool`.
   *
   * The first query begins the transaction, so a handler without queries holds no connection. The client rejects BEGIN, COMMIT,
   * ROLLBACK and the like, an ORM's own `.transaction()` included: it commits with the done mark of the event. Savepoints are
   * allowed, query objects such as cursors are not.
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

/** The kysely transactions of those that were given another form. */
const formed = new WeakMap<object, Kysely<unknown>>();

/** How a transaction looks to a handler. */
export type TransactionForm<Database, Tx> = (lazy: LazyTransaction<Database>) => Tx;

/** Throws `invalid_option` when `caller` was given a kysely instance as well, whose clients nobody else can have. */
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

/** The kysely transaction of any form of `context.tx`, for our own queries. Throws `invalid_input` when it is no transaction of Postgres. */
export function kyselyOf(tx: object): Kysely<unknown> {
  const kysely = (formed.get(tx) ?? tx) as Kysely<unknown> | undefined; // without a store there is none
  if (kysely?.getExecutor !== undefined) return withoutPlugins(kysely);
  throw new WebhookError(
    "invalid_input",
    "latestOnly was given a context.tx that is not of postgresStore or postgresInbox.",
    "Pass one of them to the receiver or worker; the SQLite package has a latestOnly of its own.",
  );
}
