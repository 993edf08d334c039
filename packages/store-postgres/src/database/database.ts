import { type Logger, WebhookError } from "@esim-webhooks/core";
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from "kysely";
import pg from "pg";
import { currentHandle } from "./connection-handle.ts";

/** A pg `Pool`, as far as it is used: what kysely needs. */
export type Pool = PostgresPool;

/** Where the database is: exactly one of the three. */
export interface DatabaseOptions<Database = unknown> {
  /** A `postgres://` URL: a pool of ten connections is made, and closed with the store. */
  url?: string | undefined;
  /**
   * A pool of `pg`, which stays yours to close. If you also use it yourself, have its clients listen to `"error"`:
   * `pool.on("connect", (client) => client.on("error", …))`, or one that is lost in use ends the process.
   */
  pool?: Pool | undefined;
  /**
   * A kysely instance, which stays yours to close; its schema types `context.tx`. Have its pool and the pool's clients
   * listen to `"error"`. A connection that went silent cannot be cut from here: give its pool a `query_timeout`.
   */
  kysely?: Kysely<Database> | undefined;
}

/** A database, and how to be done with it. */
export interface OpenPool<Database> {
  readonly db: Kysely<Database>;
  /** Undefined where a kysely instance was handed in. */
  readonly pool?: PostgresPool;
  close(): Promise<void>;
}

export function openPool<Database>(
  caller: string,
  { url, pool, kysely }: DatabaseOptions<Database>,
  timeoutMs: number,
  logger: Logger,
): OpenPool<Database> {
  if ([url, pool, kysely].filter((given) => given !== undefined).length !== 1) {
    throw new WebhookError(
      "invalid_option",
      `${caller} needs to know its database once.`,
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
  const watchedPool = watched(used, clients, logger);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: watchedPool }) });
  return {
    db,
    pool: watchedPool,
    async close() {
      if (pool !== undefined) return;
      const ended = db.destroy();
      const timer = setTimeout(cutAll, timeoutMs); // a server that is silent
      await ended.finally(() => clearTimeout(timer));
      cutAll();
    },
  };
}

/** What pools and clients of `pg` are besides what kysely needs of them. */
interface Emitter {
  on?(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on?(event: "connect", listener: (client: object) => void): unknown;
}

/** Pools and clients that somebody listens to. */
const heard = new WeakSet<object>();

/**
 * The same pool, listening to the errors of its connections, idle ones and those in use: one that nobody listens to
 * ends the process when the server drops it, as at a restart. Each connection it gives out can be cut by its handle.
 */
function watched(pool: Pool, clients: Set<PostgresPoolClient>, logger: Logger): PostgresPool {
  const listen = (emitter: object) => {
    if (heard.has(emitter)) return;
    heard.add(emitter);
    (emitter as Emitter).on?.("error", (err) => logger.debug({ err }, "postgres connection"));
  };
  const keep = (client: PostgresPoolClient) => {
    if (clients.has(client)) return;
    clients.add(client);
    (client as Emitter).on?.("end", () => clients.delete(client));
  };
  if (!heard.has(pool)) (pool as Emitter).on?.("connect", listen); // at once: a server that stops may end it in the same breath
  listen(pool);
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      listen(client);
      keep(client);
      currentHandle()?.taken(() => cut(client));
      return client;
    },
  };
}

/** Without a farewell, which a server that does not answer would not take. */
function cut(client: PostgresPoolClient): void {
  (client as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.();
}
