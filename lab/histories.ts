// The committed changes of an engine's rows, which docs/state-machine.md must explain, and queries of its tables.
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import pg from "pg";
import {
  type CheckedHistory,
  checkHistory,
  checkQueueEvents,
  postgresHistory,
  postgresHistoryOf,
  type RowChange,
  sqliteHistory,
  sqliteHistoryIn,
} from "./model/trace.ts";

/** The log of every change of an event, in tables that exist. It begins when it is opened. */
export interface History {
  check(): Promise<CheckedHistory>;
  /** Runs a statement of SQL. Resolves to the first column of its rows. */
  query(sql: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

const firstColumn = (rows: readonly object[]) => rows.map((row) => String(Object.values(row)[0]));

export function openSqliteHistory(path: string): History {
  const database = new DatabaseSync(path, { timeout: 60_000 });
  database.exec(sqliteHistory());
  return {
    check: async () => checkHistory(sqliteHistoryIn(database)),
    async query(sql) {
      return firstColumn(database.prepare(sql).all());
    },
    close: async () => database.close(),
  };
}

/** Connects for each query, so that it also reads a server that has taken over the address. */
export async function openPostgresHistory(url: string, schema: string): Promise<History> {
  async function run(sql: string): Promise<readonly object[]> {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {}); // the server ends
    await client.connect();
    return client
      .query<object>(sql)
      .then(({ rows }) => rows)
      .finally(() => client.end());
  }
  await run(postgresHistory(schema));
  return {
    check: async () => checkHistory((await run(postgresHistoryOf(schema))) as readonly RowChange[]),
    query: async (sql) => firstColumn(await run(sql)),
    close: async () => {},
  };
}

/** Compares the history of the jobs of a BullMQ queue with docs/state-machine.md. Redis writes each entry together with the change that it is about. */
export async function checkQueueHistory(url: string, queue = "events"): Promise<CheckedHistory> {
  const client = new Redis(url);
  const entries = await client.xrange(`bull:${queue}:events`, "-", "+").finally(() => client.quit());
  const events = entries.map(([, fields]) => {
    const fieldOf = (name: string) => String(fields[fields.indexOf(name) + 1]);
    return { event: fieldOf("event"), jobId: fieldOf("jobId") };
  });
  return checkQueueEvents(events.filter(({ jobId }) => !jobId.startsWith("probe-"))); // an inbox that opens adds one and removes it
}
