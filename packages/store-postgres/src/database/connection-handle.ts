import { AsyncLocalStorage } from "node:async_hooks";

/** Cuts an operation's connection when the server does not answer. */
export interface ConnectionHandle {
  /** Cuts the connection, so its query rejects and the pool opens a new one. Does nothing without a connection. */
  cut(): void;
  /** The pool calls this when it gives out a connection, with a function that cuts it. */
  taken(cut: () => void): void;
}

const current = new AsyncLocalStorage<ConnectionHandle>();

export function createHandle(): ConnectionHandle {
  let cutTaken = () => {};
  return {
    cut: () => cutTaken(),
    taken: (cut) => {
      cutTaken = cut;
    },
  };
}

/** Runs `work`. The connection that it takes from the pool belongs to the handle. */
export function withHandle<T>(handle: ConnectionHandle, work: () => Promise<T>): Promise<T> {
  return current.run(handle, work);
}

/** The handle of the operation that takes a connection now. */
export function currentHandle(): ConnectionHandle | undefined {
  return current.getStore();
}
