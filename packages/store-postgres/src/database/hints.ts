import type { PostgresPool } from "kysely";
import { withoutHandle } from "./connection-handle.ts";
import { outdatedOf } from "./outdated.ts";

/** Wakes workers when there may be work, so that they need not wait for their next poll. */
export interface Hints {
  give(): void;
  on(listener: () => void): () => void;
}

/** Hints within this process. */
export function createHints(): Hints {
  const listeners = new Set<() => void>();
  return {
    give() {
      for (const listener of listeners) listener();
    },
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The part of a connection of `pg` that listening needs. */
interface Listening {
  query(sql: string, parameters: readonly unknown[]): Promise<unknown>;
  release(destroy?: boolean): void;
  on?(event: "notification" | "end" | "error", listener: () => void): unknown;
}

const reconnectMs = 1000;

/**
 * Listens for hints of other processes (LISTEN) on a connection of the pool, and calls `onHint` for each. Reconnects when the
 * connection is lost; workers find the missed events at their next poll. Returns a function that ends it.
 */
export function listenForHints(pool: PostgresPool, channel: string, onHint: () => void): () => void {
  let client: Listening | undefined;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;

  async function listen(): Promise<void> {
    timer = undefined;
    try {
      const connected: Listening = await withoutHandle(() => pool.connect());
      if (ended) return connected.release();
      client = connected;
      connected.on?.("notification", onHint);
      connected.on?.("end", lost);
      await connected.query(`listen "${channel}"`, []);
      onHint(); // events stored before LISTEN gave no hint
    } catch {
      lost();
    }
  }

  function lost(): void {
    client?.release(true);
    client = undefined;
    if (!ended) timer ??= setTimeout(listen, reconnectMs * (0.5 + Math.random())).unref();
  }

  const unsubscribe = outdatedOf(pool).onMore(() => {
    if (client !== undefined) lost(); // it never writes, so its server never refuses it
  });
  void listen();
  return () => {
    ended = true;
    unsubscribe();
    clearTimeout(timer);
    client?.release(true);
    client = undefined;
  };
}
