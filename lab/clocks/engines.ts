import { join } from "node:path";
import { Queue } from "bullmq";
import { privatePostgresBy } from "../../test/servers/postgres.ts";
import { privateRedisBy } from "../../test/servers/redis.ts";
import type { EngineName } from "../engines.ts";
import { checkQueueHistory, type History, openPostgresHistory, openSqliteHistory } from "../histories.ts";
import type { FakeClock } from "./faketime.ts";

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
    watch: (at) => watchRows(openSqliteHistory(at), "esim_webhooks_event"),
    close: async () => {},
  }),
  async postgres(clock) {
    const server = await privatePostgresBy(runnerOf(clock));
    const watch: Engine["watch"] = (url, schema) =>
      watchRows(openPostgresHistory(url, schema), `"${schema}".event`);
    return { at: () => server.url, watch, close: () => server.close() };
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

async function watchRows(opened: History | Promise<History>, table: string): Promise<Watched> {
  const { check, query, close } = await opened;
  return {
    done: async () => new Set(await query(`select id from ${table} where state = 'done'`)),
    unexplained: async () => (await check()).unknown,
    close,
  };
}

async function watchBullmq(url: string, name: string): Promise<Watched> {
  const queue = new Queue(name, { connection: { url, maxRetriesPerRequest: null } });
  return {
    async done() {
      const jobs = await queue.getJobs(["completed"]);
      return new Set(jobs.map(({ data }) => String(data.id)));
    },
    unexplained: async () => (await checkQueueHistory(url, name)).unknown,
    close: () => queue.close(),
  };
}
