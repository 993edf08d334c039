import { AsyncLocalStorage } from "node:async_hooks";
import type { PostgresPoolClient } from "kysely";
import type { Checkout } from "./checkout.ts";

/** Controls the connection of one operation. The handle exists before the pool gives out the connection. */
export interface ConnectionHandle {
  /** Undefined before the pool gives out the connection, and always if the connection belongs to the pool of a kysely instance that was passed. */
  readonly client: PostgresPoolClient | undefined;
  /** Gives up the query or the commit, since its caller no longer waits. Does nothing without a connection. */
  giveUp(): void;
  /**
   * Runs a commit, which is never cancelled: a server whose commit waits for a synchronous standby would take the request to cancel as
   * permission to commit without the standby.
   */
  runCommit<T>(commit: () => Promise<T>): Promise<T>;
  /** The pool calls this when it gives out a connection. */
  taken(checkout: Checkout): void;
}

/** An operation that takes a connection now. */
export interface Taking {
  readonly handle: ConnectionHandle;
  /** Aborts when its caller no longer waits. */
  readonly signal: AbortSignal;
}

const current = new AsyncLocalStorage<Taking | undefined>();

export function createHandle(): ConnectionHandle {
  let checkout: Checkout | undefined;
  let isCommitting = false;
  return {
    get client() {
      return checkout?.client;
    },
    giveUp() {
      if (isCommitting) checkout?.giveUpCommit();
      else checkout?.giveUp();
    },
    async runCommit(commit) {
      isCommitting = true;
      try {
        return await commit();
      } finally {
        isCommitting = false;
      }
    },
    taken(given) {
      checkout = given;
    },
  };
}

/** Runs `work`. The connection that it takes from the pool belongs to the handle. */
export function withHandle<T>(taking: Taking, work: () => Promise<T>): Promise<T> {
  return current.run(taking, work);
}

/** Runs work that belongs to no operation, even if an operation has caused it: its connection must not end with that operation. */
export function withoutHandle<T>(work: () => T): T {
  return current.run(undefined, work);
}

/** The operation that takes a connection now. */
export function currentTaking(): Taking | undefined {
  return current.getStore();
}
