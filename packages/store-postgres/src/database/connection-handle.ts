import { AsyncLocalStorage } from "node:async_hooks";

/** The connection that an operation has taken from the pool, to be cut when its server does not answer. */
export interface ConnectionHandle {
  /** Cuts the connection: its query rejects, and the pool makes a new one. Does nothing when there is none yet. */
  cut(): void;
  /** Called by the pool with what cuts the connection that it gives out. */
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

/** Runs `work`, so that the connection it takes is the handle's. */
export function withHandle<T>(handle: ConnectionHandle, work: () => Promise<T>): Promise<T> {
  return current.run(handle, work);
}

/** The handle of whoever takes a connection just now. */
export function currentHandle(): ConnectionHandle | undefined {
  return current.getStore();
}
