import { Socket } from "node:net";
import { type Logger, WebhookError } from "@esim-webhooks/core";
import { addressText, isServerUrl, type ServerAddress } from "@esim-webhooks/core/internal";
import { Kysely, PostgresDialect, type PostgresPool } from "kysely";
import pg from "pg";
import { withOwnTypes } from "./own-types.ts";
import { watchedPool } from "./watched-pool.ts";

/** The part of a pg `Pool` that kysely needs. */
export type Pool = PostgresPool;

/** The database: pass exactly one of the three. */
export interface DatabaseOptions<Database = unknown> {
  /**
   * A `postgres://` URL. The store opens a pool of ten connections, and closes it in `close()`. If it is undefined, as an unset
   * `process.env.DATABASE_URL` during a build, operations and `ready()` reject with `invalid_option`.
   */
  url?: string | undefined;
  /**
   * A pool of `pg`, which stays yours to close. If you also use it yourself, add an `"error"` listener to its clients:
   * `pool.on("connect", (client) => client.on("error", …))`. Otherwise a lost connection ends the process.
   */
  pool?: Pool | undefined;
  /**
   * A kysely instance, which stays yours to close; its schema types `context.tx`. Add `"error"` listeners to its pool and the
   * pool's clients. The store cannot cancel a query on its pool, or cut a silent connection: set the pool's `query_timeout`.
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

/** A connection attempt without an answer ends after this time. With a shorter one, a frozen server would find many of them once it runs again. */
const connectMs = 60_000;

export function openPool<Database>(
  caller: string,
  options: DatabaseOptions<Database>,
  timeoutMs: number,
  logger: Logger,
): OpenPool<Database> {
  const { url, pool, kysely } = options;
  const named = (["url", "pool", "kysely"] as const).filter((name) => name in options);
  const given = named.filter((name) => options[name] !== undefined);
  const unset = given.length === 0 && named.length === 1 ? named[0] : undefined;
  const undefinedOption = () =>
    new WebhookError(
      "invalid_option",
      `"${unset}" is undefined.`,
      "If it comes from a variable such as DATABASE_URL, set that variable.",
      { where: caller },
    );
  if (unset === "pool" || unset === "kysely") throw undefinedOption();
  if (unset === undefined && given.length !== 1) {
    throw new WebhookError(
      "invalid_option",
      `${caller} needs exactly one database.`,
      "Pass one of url, pool and kysely.",
    );
  }
  if (kysely !== undefined) return { db: kysely, close: async () => {} };
  const sockets = new Set<Socket>();
  const stream = () => {
    const socket = new Socket();
    sockets.add(socket);
    return socket.once("close", () => sockets.delete(socket));
  };
  const ownPool = () =>
    new pg.Pool({
      connectionString: url,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      pipeline: true,
      stream,
    });
  // during a build, DATABASE_URL may be unset: the store can be made, but its first connection is refused
  const noPool = { options: {}, connect: () => Promise.reject(undefinedOption()), end: async () => {} };
  const watched = watchedPool(unset === undefined ? (pool ?? ownPool()) : noPool, timeoutMs, logger);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: watched }) });
  return {
    db,
    pool: watched,
    async close() {
      if (pool !== undefined) return;
      const ended = db.destroy();
      // a server that does not answer would not close a connection
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, timeoutMs);
      await ended.finally(() => clearTimeout(timer));
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The same database for our own queries, without the user's plugins and type parsers, which are for the user's tables. */
export function withoutPlugins<Database>(db: Kysely<Database>): Kysely<unknown> {
  return withOwnTypes(db.withoutPlugins());
}

/** The options of a pool of `pg` that say where it connects to. */
interface Address extends ServerAddress {
  readonly connectionString?: string;
}

/** The server, the database and the schema, for people, without user and password. */
export function schemaPlace<Database>(
  { url, pool, kysely }: DatabaseOptions<Database>,
  schema: string,
): string {
  if (kysely !== undefined) return `Postgres, by a kysely instance, schema ${schema}`;
  const { connectionString = url, ...parts }: Address = pool?.options ?? {};
  const address = connectionString === undefined ? addressText(parts) : hostIn(connectionString);
  return `Postgres${address && ` at ${address}`}, schema ${schema}`; // the environment may have the address
}

/** The host, the port and the database in a URL. */
function hostIn(text: string): string {
  if (!isServerUrl(text, "postgres:", "postgresql:")) return ""; // in another text, it may be unclear where the password ends
  const { host, pathname } = URL.parse(text) ?? { host: "", pathname: "" };
  return host + pathname;
}
