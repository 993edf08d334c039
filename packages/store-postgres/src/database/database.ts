import { type Logger, WebhookError } from "@esim-webhooks/core";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import { currentHandle, cut } from "./connection-handle.ts";

/** The part of a pg `Pool` that kysely needs. */
export type Pool = PostgresPool;

/** The database: pass exactly one of the three. */
export interface DatabaseOptions<Database = unknown> {
  /** A `postgres://` URL. The store opens a pool of ten connections, and closes it in `close()`. */
  url?: string | undefined;
  /**
   * A pool of `pg`, which stays yours to close. If you also use it yourself, add an `"error"` listener to its clients:
   * `pool.on("connect", (client) => client.on("error", …))`. Otherwise a lost connection ends the process.
   */
  pool?: Pool | undefined;
  /**
   * A kysely instance, which stays yours to close; its schema types `context.tx`. Add `"error"` listeners to its pool and the
   * pool's clients. The store cannot cut a silent connection of its pool: set the pool's `query_timeout`.
   */
  kysely?: Kysely<Database> | undefined;
}

/** An open database. */
export interface OpenPool<Database> {
  readonly db: Kysely<Database>;
  /** Undefined if a kysely instance was passed. */
  readonly pool?: PostgresPool;
  close(): Promise<void>;
}

export function openPool<Database>(
  caller: string,
  { url, pool, kysely }: DatabaseOptions<Database>,
  timeoutMs: number,
  logger: Logger,
): OpenPool<Database> {
  if ([url, pool, kysely].filter((option) => option !== undefined).length !== 1) {
    throw new WebhookError(
      "invalid_option",
      `${caller} needs exactly one database.`,
      "Pass one of url, pool and kysely.",
    );
  }
  if (kysely !== undefined) return { db: kysely, close: async () => {} };
  const used =
    pool ?? new pg.Pool({ connectionString: url, connectionTimeoutMillis: timeoutMs, keepAlive: true });
  const clients = new Set<PostgresPoolClient>();
  const cutAll = () => {
    for (const client of clients) cut(client);
  };
  const watchedPool = withListeners(used, clients, logger);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: watchedPool }) });
  return {
    db,
    pool: watchedPool,
    async close() {
      if (pool !== undefined) return;
      const ended = db.destroy();
      const timer = setTimeout(cutAll, timeoutMs); // for a server that does not answer
      await ended.finally(() => clearTimeout(timer));
      cutAll();
    },
  };
}

/** The events of pools and clients of `pg`, which kysely's types omit. */
interface Emitter {
  on?(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on?(event: "connect", listener: (client: object) => void): unknown;
}

/** Pools and clients that have an `"error"` listener. */
const listenedTo = new WeakSet<object>();

/**
 * Wraps a pool. Listens to the errors of its connections, idle or in use: without a listener, a connection that the server
 * drops ends the process. Registers each connection that it gives out with the current handle, which can cut it.
 */
function withListeners(pool: Pool, clients: Set<PostgresPoolClient>, logger: Logger): PostgresPool {
  const listen = (emitter: object) => {
    if (listenedTo.has(emitter)) return;
    listenedTo.add(emitter);
    (emitter as Emitter).on?.("error", (err) => logger.debug({ err }, "postgres connection"));
  };
  const keep = (client: PostgresPoolClient) => {
    if (clients.has(client)) return;
    clients.add(client);
    (client as Emitter).on?.("end", () => clients.delete(client));
  };
  if (!listenedTo.has(pool)) (pool as Emitter).on?.("connect", listen); // at once, since a stopping server may drop the connection right away
  listen(pool);
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      listen(client);
      keep(client);
      currentHandle()?.taken(client);
      return client;
    },
  };
}
