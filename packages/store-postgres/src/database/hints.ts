import type { PostgresPool } from "kysely";

/** Tells workers that there is something to take, so that they need not wait for their next look. */
export interface Hints {
  give(): void;
  on(listener: () => void): () => void;
}

/** Within this process. */
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

/** What a connection of `pg` has besides what kysely needs. */
interface Listening {
  query(sql: string, parameters: readonly unknown[]): Promise<unknown>;
  release(destroy?: boolean): void;
  on?(event: "notification" | "end" | "error", listener: () => void): unknown;
}

const reconnectMs = 1000;

/**
 * Hears the hints of other processes (LISTEN) on a connection of the pool, for as long as it is not ended. One that is
 * lost is made anew; what was missed meanwhile is found at the next look. Returns what ends it.
 */
export function hearHints(pool: PostgresPool, channel: string, give: () => void): () => void {
  let client: Listening | undefined;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;

  async function listen(): Promise<void> {
    timer = undefined;
    try {
      const connected: Listening = await pool.connect();
      if (ended) return connected.release();
      client = connected;
      connected.on?.("notification", give);
      connected.on?.("end", lost);
      await connected.query(`listen "${channel}"`, []);
      give(); // what came in before is not told
    } catch {
      lost();
    }
  }

  function lost(): void {
    client?.release(true);
    client = undefined;
    if (!ended) timer ??= setTimeout(listen, reconnectMs * (0.5 + Math.random())).unref();
  }

  void listen();
  return () => {
    ended = true;
    clearTimeout(timer);
    client?.release(true);
    client = undefined;
  };
}
