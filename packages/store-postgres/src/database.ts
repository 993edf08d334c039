import { type Logger, WebhookError } from "@esim-webhooks/core";
import { Kysely, PostgresDialect, type PostgresPool } from "kysely";
import pg from "pg";

/** A pg `Pool`, as far as it is used: what kysely needs. */
export type Pool = PostgresPool;

/** Where the database is: exactly one of the three. */
export interface DatabaseOptions<Database = unknown> {
  /** A `postgres://` URL: a pool of ten connections is made, and closed with the store. */
  url?: string | undefined;
  /** A pool of `pg`, which stays yours to close. */
  pool?: Pool | undefined;
  /**
   * A kysely instance, which stays yours to close; its schema types `context.tx`. Have its pool and the pool's clients
   * listen to `"error"`, or a lost connection ends the process.
   */
  kysely?: Kysely<Database> | undefined;
}

/** A database, and how to be done with it. */
export interface OpenPool<Database> {
  readonly db: Kysely<Database>;
  close(): Promise<void>;
}

export function openPool<Database>(
  caller: string,
  {
    url,
    pool,
    kysely,
  }: { [Name in keyof DatabaseOptions<Database>]: DatabaseOptions<Database>[Name] | undefined },
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
  const onLost = (err: Error) => logger.debug({ err }, "postgres connection");
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: survivingLoss(used, onLost) }) });
  return { db, close: async () => (pool === undefined ? db.destroy() : undefined) };
}

type Emitter = Partial<Record<"on", (event: "error", listener: (error: Error) => void) => unknown>>;

/**
 * The same pool, listening to the errors of its connections, idle ones and those in use: one that nobody listens to
 * ends the process when the server drops it, as at a restart.
 */
function survivingLoss(pool: Pool, onLost: (error: Error) => void): PostgresPool {
  const heard = new WeakSet<object>();
  const listen = (emitter: object & Emitter) => {
    if (heard.has(emitter)) return;
    heard.add(emitter);
    emitter.on?.("error", onLost);
  };
  listen(pool);
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      listen(client);
      return client;
    },
  };
}
