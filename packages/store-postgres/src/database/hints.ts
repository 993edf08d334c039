import { WebhookError } from "@esim-webhooks/core";
import { safeListener } from "@esim-webhooks/core/engine";
import type { PostgresPool } from "kysely";
import { withoutHandle } from "./connection-handle.ts";
import { outdatedOf } from "./outdated.ts";

/** Wakes workers when there may be work, so that they need not wait for their next poll. */
export interface Hints {
  /** Wakes the workers of this process. */
  give(): void;
  /** Wakes the workers of this process and, with `notify`, those of other processes. */
  announce(): void;
  /** Returns a function that unsubscribes. */
  on(listener: () => void): () => void;
}

/** How hints are sent to other processes, and received from them. */
export interface Notify {
  /** The pool on whose connections workers listen: see `listenable`. */
  readonly pool: PostgresPool;
  readonly channel: string;
  /** Sends a hint (NOTIFY). No caller waits for it. */
  send(channel: string): void;
}

/** Creates the hints of an inbox. Without `notify`, they stay within this process. */
export function createHints(notify: Notify | undefined): Hints {
  const listeners = new Set<() => void>();
  const give = () => {
    for (const listener of listeners) listener();
  };
  return {
    give,
    announce() {
      give();
      notify?.send(notify.channel);
    },
    on(listener) {
      const own = safeListener(listener);
      listeners.add(own);
      const stopListening = notify && listenForHints(notify.pool, notify.channel, own);
      return () => {
        listeners.delete(own);
        stopListening?.();
      };
    },
  };
}

/** The part of a connection of `pg` that listening needs. */
interface Listening {
  query<Row>(sql: string, parameters: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>;
  release(destroy?: boolean): void;
  on?(event: "notification" | "end" | "error", listener: () => void): unknown;
}

const reconnectMs = 1000;

/**
 * Listens for hints of other processes (LISTEN) on a connection of the pool, and calls `onHint` for each. Reconnects when the
 * connection is lost, or its server only reads; workers find the missed events at their next poll. Returns a function that stops it.
 */
export function listenForHints(pool: PostgresPool, channel: string, onHint: () => void): () => void {
  let client: Listening | undefined;
  let ended = false;
  let timer: NodeJS.Timeout | undefined;

  async function listen(): Promise<void> {
    let connected: Listening | undefined;
    const lost = () => {
      if (client === connected) reconnect(); // a connection that was given up may end once there is another one
    };
    try {
      connected = await withoutHandle<Promise<Listening>>(() => pool.connect());
      if (ended) return connected.release();
      client = connected;
      connected.on?.("notification", onHint);
      connected.on?.("end", lost);
      if (await onlyReads(connected)) return lost(); // a former primary still lets us listen, but no event reaches it
      await connected.query(`listen "${channel}"`, []);
      onHint(); // events stored before LISTEN gave no hint
    } catch {
      lost();
    }
  }

  function reconnect(): void {
    client?.release(true);
    client = undefined;
    if (ended) return;
    timer = setTimeout(listen, reconnectMs * (0.5 + Math.random())).unref();
  }

  const unsubscribe = outdatedOf(pool).onMore(() => {
    if (client !== undefined) reconnect(); // this connection never writes, so its server never refuses anything
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

async function onlyReads(client: Listening): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only", []);
  return rows[0]?.transaction_read_only === "on";
}

/** Returns the pool. Throws `invalid_option` if a worker cannot listen on one of its connections. */
export function listenable(pool: PostgresPool | undefined): PostgresPool {
  if (pool === undefined) {
    throw new WebhookError(
      "invalid_option",
      "postgresInbox cannot use notify with a kysely instance.",
      "Pass its pool instead, or remove notify.",
    );
  }
  if ((pool.options as { max?: number } | undefined)?.max === 1) {
    throw new WebhookError(
      "invalid_option",
      "postgresInbox with notify needs more than one connection, since a worker keeps one to listen.",
      "Set the pool's max to 2 or more, or remove notify.",
    );
  }
  return pool;
}
