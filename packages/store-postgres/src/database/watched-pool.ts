import { setTimeout as delay } from "node:timers/promises";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { outdatedOf } from "./outdated.ts";

/** The events of pools and clients of `pg`, which kysely's types omit. */
interface Emitter {
  on?(event: "error", listener: (error?: Error & { readonly code?: unknown }) => void): unknown;
  on?(event: "connect", listener: (client: object) => void): unknown;
}

/** Pools and clients that have an `"error"` listener. */
const listenedTo = new WeakSet<object>();

/** A pool whose connections are listened to. */
interface WatchedPool extends PostgresPool {
  /** Takes a connection. Rejects when the signal aborts first, and then gives the late connection back. */
  take(signal: AbortSignal): Promise<PostgresPoolClient>;
}

/**
 * Wraps a pool. Listens to the errors of its connections, idle or in use: without a listener, a connection that the server
 * drops ends the process. Replaces connections to a server that has become a standby.
 */
export function watchedPool(pool: PostgresPool, timeoutMs: number, logger: Logger): WatchedPool {
  const outdated = outdatedOf(pool);
  const listen = (emitter: object) => {
    if (listenedTo.has(emitter)) return;
    listenedTo.add(emitter);
    if (emitter !== pool) outdated.watch(emitter);
    // not the error itself: pg hangs its whole client on it
    (emitter as Emitter).on?.("error", (error) =>
      logger.debug({ code: error?.code, reason: error?.message }, "postgres connection"),
    );
  };
  if (!listenedTo.has(pool)) (pool as Emitter).on?.("connect", listen); // before the connection is used: a stopping server may drop it right away
  listen(pool);

  async function opened(signal: AbortSignal): Promise<PostgresPoolClient> {
    for (;;) {
      const client = await connected(pool, signal);
      listen(client);
      refuseNative(client);
      if (!outdated.has(client)) return client;
      client.release(true);
    }
  }

  async function take(signal: AbortSignal): Promise<PostgresPoolClient> {
    signal.throwIfAborted();
    const opening = opened(signal);
    const late = Promise.withResolvers<never>();
    const leave = () => late.reject(signal.reason);
    signal.addEventListener("abort", leave);
    try {
      return await Promise.race([opening, late.promise]);
    } catch (error) {
      void opening.then(
        (client) => client.release(),
        () => {},
      );
      throw error;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    connect: () => take(AbortSignal.timeout(timeoutMs)),
    take,
  };
}

/** Tries again while the server starts, stops or recovers (57P03). */
async function connected(pool: PostgresPool, signal: AbortSignal): Promise<PostgresPoolClient> {
  for (let pauseMs = 25; ; pauseMs = Math.min(2 * pauseMs, 500)) {
    try {
      return await pool.connect();
    } catch (error) {
      if (signal.aborted || (error as { code?: unknown }).code !== "57P03") throw error;
    }
    await delay(pauseMs);
  }
}

/** Throws for a client of `pg.native`, after it has returned to its pool. */
function refuseNative(client: PostgresPoolClient): void {
  if (!("native" in client)) return;
  client.release();
  throw new WebhookError(
    "invalid_option",
    "The pool is of pg.native, whose queries cannot be cancelled and whose values the process's type parsers read.",
    "Pass a pool of pg without native bindings, and unset NODE_PG_FORCE_NATIVE.",
    { option: "pool" },
  );
}
