import { postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { startPostgres, type TestServer } from "../../../test/servers/index.ts";

/** A private server for a suite, which may kill it. */
export interface SuiteServer {
  readonly server: () => Promise<TestServer>;
  /**
   * The database for the options of one test: the pool that all tests of the suite share, or the URL if the test has a time limit of
   * its own, which is about lost connections.
   */
  database(options: { readonly timeoutMs?: number }): {
    readonly timeoutMs: number;
    readonly pool?: pg.Pool;
    readonly url?: string;
  };
}

/** Starts a server with the tables of an inbox, and stops it after the tests of the file. `STORE_URL` is its URL. */
export function suiteServer(): SuiteServer {
  let server: TestServer;
  let pool: pg.Pool;
  beforeAll(async () => {
    server = await startPostgres();
    process.env["STORE_URL"] = server.url;
    pool = suitePool(server.url);
    const inbox = postgresInbox({ pool });
    await inbox.migrate();
    await inbox.close();
  });
  afterAll(async () => {
    await pool.end();
    await server.close();
  });
  return {
    server: async () => server,
    database: ({ timeoutMs }) =>
      timeoutMs === undefined ? { pool, timeoutMs: 30_000 } : { url: server.url, timeoutMs },
  };
}

/** A pool as a store opens it for a URL. */
export function suitePool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, pipeline: true });
  pool.on("error", () => {}); // the server is killed
  return pool;
}
