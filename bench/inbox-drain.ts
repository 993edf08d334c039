import { createWorker, type InboxQueue, type InboxWriter } from "@esim-webhooks/core";
import type { PostgresInbox } from "@esim-webhooks/store-postgres";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { type CpuOfEvent, withCpu } from "./process-cpu.ts";

export const jobs = 30_000;
export const lanes = 4000;
const batchSize = 500;

/** How fast jobs were drained, per second, and what each took. */
export interface Drained {
  readonly figure: number;
  readonly cpu: CpuOfEvent;
}

/** `server` is the pid of the database's server, `concurrency` how many events are handled at a time. */
export async function drain(
  inbox: PostgresInbox,
  pool: pg.Pool,
  schema: string,
  server: number,
  concurrency = batchSize,
): Promise<Drained> {
  await pool.query(`truncate ${schema}.event`);
  await fillWithJobs(inbox);
  await pool.query(`analyze ${schema}.event`);
  return withCpu(jobs, server, () => drainJobs(inbox, concurrency));
}

export async function fillWithJobs(inbox: InboxWriter): Promise<void> {
  for (const batch of batchesOf(entriesOf(jobs, lanes), batchSize)) await inbox.put(batch);
}

/** Jobs per second of a worker whose handler does nothing, until all are settled. */
export async function drainJobs(inbox: InboxQueue, concurrency = batchSize): Promise<number> {
  const drained = new AbortController();
  let left = jobs;
  const handler = () => {
    left -= 1;
    if (left === 0) drained.abort();
  };
  const worker = createWorker(inbox, { "*": handler }, { concurrency });
  const start = performance.now();
  await worker.run({ signal: drained.signal });
  return jobs / ((performance.now() - start) / 1000);
}

/**
 * Jobs per second of graphile-worker. With its `localQueue` it takes jobs in batches. It completes them in batches when
 * `completeJobBatchDelay` is 0, and one by one when it is -1, the default.
 */
export async function drainPeer(
  url: string,
  completeJobBatchDelay: 0 | -1,
  server: number,
  concurrency = batchSize,
): Promise<Drained> {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 });
  pgPool.on("error", () => {}).on("connect", (client) => client.on("error", () => {}));
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  for (const batch of batchesOf(entriesOf(jobs, lanes), batchSize)) {
    await utils.addJobs(batch.map(({ event }) => ({ identifier: "work", payload: event })));
  }
  await pgPool.query("analyze graphile_worker._private_jobs");
  const { promise: drained, resolve } = Promise.withResolvers<void>();
  let left = jobs;
  const work = () => {
    left -= 1;
    if (left === 0) resolve();
  };
  const measured = await withCpu(jobs, server, async () => {
    const start = performance.now();
    const runner = await run({
      pgPool,
      logger,
      taskList: { work },
      noHandleSignals: true,
      preset: {
        worker: { concurrentJobs: concurrency, localQueue: { size: concurrency }, completeJobBatchDelay },
      },
    });
    await drained;
    await runner.stop();
    return jobs / ((performance.now() - start) / 1000);
  });
  await utils.release();
  await pgPool.end();
  return measured;
}
