import { setTimeout as delay } from "node:timers/promises";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { busyBackends } from "./busy-backends.ts";
import { type Checkout, checkOut } from "./checkout.ts";
import { currentTaking } from "./connection-handle.ts";
import { outdatedOf } from "./outdated.ts";

/** The events of pools and clients of `pg`, which kysely's types omit. */
interface Emitter {
  on?(event: "error", listener: (error?: Error & { readonly code?: unknown }) => void): unknown;
  on?(event: "connect", listener: (client: object) => void): unknown;
}

/** Pools and clients that have an `"error"` listener. */
const listenedTo = new WeakSet<object>();

/**
 * Wraps a pool. Listens to the errors of its connections, idle or in use: without a listener, a connection that the server
 * drops ends the process. Replaces connections to a server that has become a standby. Gives each connection to the handle of the operation
 * that takes it. Keeps operations that wait in a queue of its own, so that the pool is asked for no more connections than it may open. They
 * leave it after half of the timeout: a query that began with less would often be cancelled, and its connection closed, so that under too
 * much load no operation would end any more.
 */
export function watchedPool(pool: PostgresPool, timeoutMs: number, logger: Logger): PostgresPool {
  const most = (pool.options as { max?: number } | undefined)?.max ?? Number.POSITIVE_INFINITY;
  const slots = createSlots(most, timeoutMs / 2);
  const isBusy = busyBackends(pool);
  const outdated = outdatedOf(pool);
  const listen = (emitter: object) => {
    if (listenedTo.has(emitter)) return;
    listenedTo.add(emitter);
    if (emitter !== pool) outdated.watch(emitter);
    // does not log the error itself: pg attaches its whole client to it
    (emitter as Emitter).on?.("error", (error) =>
      logger.debug({ code: error?.code, reason: error?.message }, "postgres connection"),
    );
  };
  if (!listenedTo.has(pool)) (pool as Emitter).on?.("connect", listen); // before the connection is used: a stopping server may drop it right away
  listen(pool);

  async function connectionOf(signal: AbortSignal): Promise<Checkout> {
    try {
      for (;;) {
        const client = await connectWhenUp(pool, signal);
        listen(client);
        refuseNative(client);
        if (!outdated.has(client)) return checkOut(client, timeoutMs, isBusy, outdated.has, slots.free);
        client.release(true);
      }
    } catch (error) {
      slots.free();
      throw error;
    }
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const { signal, handle } = currentTaking() ?? { signal: AbortSignal.timeout(timeoutMs) };
      signal.throwIfAborted();
      await slots.take();
      const opening = connectionOf(signal);
      const late = Promise.withResolvers<never>();
      const leave = () => late.reject(signal.reason);
      signal.addEventListener("abort", leave);
      try {
        const checkout = await Promise.race([opening, late.promise]);
        handle?.taken(checkout);
        return checkout.client;
      } catch (error) {
        void opening.then(
          ({ client }) => client.release(false),
          () => {},
        );
        throw error;
      } finally {
        signal.removeEventListener("abort", leave);
      }
    },
  };
}

/** Tries again while the server starts, stops or recovers (57P03). */
async function connectWhenUp(pool: PostgresPool, signal: AbortSignal): Promise<PostgresPoolClient> {
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

/** The connections that may be open, given out in the order of asking. */
interface Slots {
  /** Resolves when there is a slot. Rejects with `store_unavailable` if there is none for so long. */
  take(): Promise<void>;
  free(): void;
}

function createSlots(most: number, patienceMs: number): Slots {
  const waiting = new Set<() => void>();
  let taken = 0;
  return {
    async take() {
      if (taken < most) {
        taken += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(give);
          reject(allInUse(most, patienceMs));
        }, patienceMs);
        const give = () => {
          clearTimeout(timer);
          resolve();
        };
        waiting.add(give);
      });
    },
    free() {
      const [next] = waiting;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}

function allInUse(most: number, ms: number): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `All ${most} connections of the Postgres pool were in use for ${ms} ms.`,
    "Send less to this process, start another one, or pass a pool with more connections.",
  );
}
