import { AsyncLocalStorage } from "node:async_hooks";
import type { PostgresPoolClient } from "kysely";

/** The connection of one operation, from when the pool gives it out. */
export interface ConnectionHandle {
  /** Undefined until then, and for ever if it is of the pool of a kysely instance that was passed. */
  readonly client: PostgresPoolClient | undefined;
  /** Cuts the connection, so its query rejects and the pool opens a new one. Does nothing without a connection. */
  cut(): void;
  /** The pool calls this when it gives out a connection. */
  taken(client: PostgresPoolClient): void;
}

const current = new AsyncLocalStorage<ConnectionHandle>();

export function createHandle(): ConnectionHandle {
  let client: PostgresPoolClient | undefined;
  return {
    get client() {
      return client;
    },
    cut() {
      if (client !== undefined) cut(client);
    },
    taken(given) {
      client = given;
    },
  };
}

/** Destroys the socket, since a server that does not answer would not close the connection. */
export function cut(client: PostgresPoolClient): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}

/** Runs `work`. The connection that it takes from the pool belongs to the handle. */
export function withHandle<T>(handle: ConnectionHandle, work: () => Promise<T>): Promise<T> {
  return current.run(handle, work);
}

/** The handle of the operation that takes a connection now. */
export function currentHandle(): ConnectionHandle | undefined {
  return current.getStore();
}
