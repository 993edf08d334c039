import type { PostgresPool } from "kysely";

/** The part of a client of `pg` that shows the errors of its server. */
interface Client {
  readonly connection?: {
    on?(event: "errorMessage", listener: (error: { readonly code?: unknown }) => void): unknown;
  };
}

/**
 * The connections of a pool that reach a server which is not the primary any more. Their address may lead to another server by now, but a
 * connection that stays open never reaches it.
 */
export interface Outdated {
  /** Begins to watch a new connection for refusals of its server. */
  watch(client: object): void;
  /** Whether the connection was opened before a server said that it only reads. Such a connection is to be closed. */
  has(client: object): boolean;
  /** Calls `listener` when connections have become outdated. Returns a function that unsubscribes. */
  onMore(listener: () => void): () => void;
}

const ofPools = new WeakMap<object, Outdated>();

/** The outdated connections of a pool, for all that share it: a wrapper has the same options. */
export function outdatedOf(pool: PostgresPool): Outdated {
  const key: object = pool.options ?? pool;
  const outdated = ofPools.get(key) ?? createOutdated();
  ofPools.set(key, outdated);
  return outdated;
}

/** The least time, in ms, until a pool replaces all its connections again: a role or a server may be read-only at all times. */
const againMs = 1000;

function createOutdated(): Outdated {
  const opened = new WeakMap<object, number>();
  const listeners = new Set<() => void>();
  let before = Number.NEGATIVE_INFINITY;

  const has = (client: object) => (opened.get(client) ?? before) < before;

  function noteRefusal(client: object): void {
    if (has(client) || performance.now() - before < againMs) return;
    before = performance.now();
    for (const listener of listeners) listener();
  }

  return {
    watch(client) {
      opened.set(client, performance.now());
      (client as Client).connection?.on?.("errorMessage", ({ code }) => {
        if (code === readOnly) noteRefusal(client);
      });
    },
    has,
    onMore(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The error code `read_only_sql_transaction`. A standby refuses writes with it, and so does a primary with `default_transaction_read_only`. */
const readOnly = "25006";
