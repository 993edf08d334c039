import type { PostgresClient, PostgresPool, PostgresPoolClient } from "kysely";
import { ownTyped } from "./own-types.ts";

/** Resolves to whether the client's backend is at work, or to true if that is unknown. A backend that waits for its client is not. */
export type IsAtWork = (client: PostgresPoolClient) => Promise<boolean>;

const askMs = 30_000; // with a shorter time, a frozen server would find many questions once it runs again

/** Asks the server, one question at a time for all clients of the pool, on a short connection made as the pool makes its own. */
export function workingBackends({ Client, options }: PostgresPool): IsAtWork {
  let asked: Promise<ReadonlySet<number> | undefined> | undefined;

  async function ask(): Promise<ReadonlySet<number> | undefined> {
    try {
      // a pool hides its password from a copy
      const limits = { connectionTimeoutMillis: askMs, query_timeout: askMs };
      const { password } = options as { password?: unknown };
      return Client && (await pidsAtWork(new Client({ ...options, password, ...limits })));
    } catch {
      return undefined;
    } finally {
      asked = undefined;
    }
  }

  return async (client) => {
    asked ??= ask();
    const pids = await asked;
    return pids?.has((client as { processID?: number }).processID ?? 0) ?? true;
  };
}

/** The process ids of the server's backends at work. Closes the client. */
async function pidsAtWork(client: PostgresClient): Promise<ReadonlySet<number>> {
  (client as { on?(event: "error", listener: () => void): unknown }).on?.("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      ownTyped(`select pid from pg_stat_activity
      where backend_type = 'client backend' and wait_event_type is distinct from 'Client'`),
      [],
    );
    return new Set(rows.map(({ pid }) => pid));
  } finally {
    await client.end();
  }
}
