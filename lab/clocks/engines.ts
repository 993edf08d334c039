import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { privatePostgresBy } from "../../test/servers/postgres.ts";
import { privateRedisBy } from "../../test/servers/redis.ts";
import {
  checkHistory,
  checkQueueEvents,
  postgresHistory,
  postgresHistoryOf,
  type RowChange,
  sqliteHistory,
  sqliteHistoryIn,
} from "../model/trace.ts";
import type { FakeClock } from "./faketime.ts";

export const engineNames = ["sqlite", "postgres", "redis", "bullmq"] as const;
export type EngineName = (typeof engineNames)[number];

/** The events of one trial on an engine. */
export interface Watched {
  /** The ids of the events that are done. Undefined where only the answers to the sender show it. */
  done(): Promise<ReadonlySet<string> | undefined>;
  /** The changes of rows that no transition of docs/state-machine.md explains. */
  unexplained(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** An engine whose server, if it has one, has a clock of its own. */
export interface Engine {
  /** The path or URL that processes are given, for a trial with its own folder. */
  at(folder: string): string;
  /** Logs every change of an event of this trial from now on. Call it once the processes run. */
  watch(at: string, name: string): Promise<Watched>;
  close(): Promise<void>;
}

/** Starts the server of an engine by this clock. */
export const startEngine: Readonly<Record<EngineName, (clock: FakeClock) => Promise<Engine>>> = {
  sqlite: async () => ({
    at: (folder) => join(folder, "events.db"),
    watch: async (at) => watchSqlite(at),
    close: async () => {},
  }),
  async postgres(clock) {
    const server = await privatePostgresBy(runnerOf(clock));
    return { at: () => server.url, watch: watchPostgres, close: () => server.close() };
  },
  async redis(clock) {
    const server = await privateRedisBy(runnerOf(clock));
    const watched = { done: async () => undefined, unexplained: async () => [], close: async () => {} };
    return { at: () => server.url, watch: async () => watched, close: () => server.close() };
  },
  async bullmq(clock) {
    const server = await privateRedisBy(runnerOf(clock));
    return { at: () => server.url, watch: watchBullmq, close: () => server.close() };
  },
};

function runnerOf({ environment }: FakeClock): readonly string[] {
  return ["/usr/bin/env", ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)];
}

function watchSqlite(path: string): Watched {
  const database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec(sqliteHistory());
  return {
    async done() {
      const rows = database.prepare("select id from esim_webhooks_event where state = 'done'").all();
      return new Set(rows.map(({ id }) => String(id)));
    },
    unexplained: async () => checkHistory(sqliteHistoryIn(database)).unknown,
    close: async () => database.close(),
  };
}

async function watchPostgres(url: string, schema: string): Promise<Watched> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on("error", () => {}); // the server ends last
  await pool.query(postgresHistory(schema));
  return {
    async done() {
      const { rows } = await pool.query<{ id: string }>(
        `select id from "${schema}".event where state = 'done'`,
      );
      return new Set(rows.map(({ id }) => id));
    },
    async unexplained() {
      const { rows } = await pool.query<RowChange>(postgresHistoryOf(schema));
      return checkHistory(rows).unknown;
    },
    close: () => pool.end(),
  };
}

async function watchBullmq(url: string, name: string): Promise<Watched> {
  const client = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection: client });
  return {
    async done() {
      const jobs = await queue.getJobs(["completed"]);
      return new Set(jobs.map(({ data }) => String(data.id)));
    },
    async unexplained() {
      const entries = await client.xrange(`bull:${name}:events`, "-", "+");
      const events = entries.map(([, fields]) => {
        const fieldOf = (field: string) => String(fields[fields.indexOf(field) + 1]);
        return { event: fieldOf("event"), jobId: fieldOf("jobId") };
      });
      return checkQueueEvents(events.filter(({ jobId }) => !jobId.startsWith("probe-"))).unknown; // an opening inbox adds one and removes it
    },
    async close() {
      await queue.close();
      client.disconnect();
    },
  };
}
