import { WebhookError } from "@esim-webhooks/core";
import pg, { type PoolClient } from "pg";
import type { LazyTransaction } from "./lazy-transaction.ts";
import { transactionControlIn } from "./transaction-control.ts";

/** What `query` of a client of `pg` takes. */
type Query = string | { readonly text?: unknown; readonly submit?: unknown };
type Callback = (error: unknown, result?: unknown) => void;

/**
 * A client of `pg`, as ORMs expect one, whose queries run on the connection of a transaction. It refuses what would begin or end a
 * transaction: that would commit a handler's writes before its event is done. Its connection is not its own to end.
 */
export function lazyClient({ onConnection }: Pick<LazyTransaction<never>, "onConnection">): PoolClient {
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
