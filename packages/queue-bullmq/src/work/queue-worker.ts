import type { Catalog, EsimEvents, Handlers, Logger, Pause, Worker } from "@esim-webhooks/core";
import type { MinuteCounter } from "@esim-webhooks/core/engine";
import { createDeadline, durationMs, type OptionsShape, parseOptions } from "@esim-webhooks/core/engine";
import {
  monotonicClock,
  processorShape,
  replaceWhenRefused,
  type TimeLimitOptions,
  type TimeLimitSettings,
  throttledLog,
  timeLimitShape,
  withoutArguments,
} from "@esim-webhooks/core/internal";
import { Worker as QueueWorker } from "bullmq";
import { type Cluster, Redis } from "ioredis";
import * as z from "zod/mini";
import { workerName } from "../admin/workers.ts";
import { cut } from "../redis/connection.ts";
import { type BullmqProcessor, bullmqProcessor, maxWaitMs } from "./bullmq-processor.ts";
import { pollPause } from "./pause-poll.ts";
import { watchStuck } from "./stuck-worker.ts";
import { createTakenJobs } from "./taken-jobs.ts";

export interface QueueWorkerOptions<Data = EsimEvents> extends TimeLimitOptions<Data> {
  /** How many handlers run at the same time. Default 20. */
  concurrency?: number;
  /**
   * How long handlers can put an event off with `retryLater` before it is dead, in ms, counted from the first time. Default
   * 86,400,000: a day.
   */
  maxWaitMs?: number;
  /** How long handlers may continue after the signal to stop, in ms. Default 20,000. */
  shutdownMs?: number;
  /** The event types and their schemas. Default: the eSIM events. Extend them with `defineCatalog`. */
  catalog?: Catalog<Data>;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

const { catalog, logger } = processorShape;
const shape: OptionsShape<
  Required<Omit<QueueWorkerOptions<unknown>, keyof TimeLimitOptions<unknown>>> & TimeLimitSettings
> = {
  concurrency: z._default(z.int().check(z.gte(1)), 20),
  maxWaitMs,
  shutdownMs: z._default(durationMs(0), 20_000),
  ...timeLimitShape,
  catalog,
  logger,
};

/** A worker of a `bullmqInbox`. */
export interface BullmqWorker extends Worker, Pick<BullmqProcessor, "sinceLastTakeMs"> {}

/** Where the jobs are. */
export interface QueuePlace {
  readonly connection: string | Redis | Cluster;
  readonly name: string;
  readonly prefix: string;
  /** The timeout of an operation, in ms. */
  readonly timeoutMs: number;
  /** Counts how attempts end. Undefined without the option `minuteCounts`. */
  readonly counter: MinuteCounter | undefined;
  /** The pause of the queue. Ends it if its `until` has passed. */
  currentPause(): Promise<Pause | null>;
}

/** How many crashes of workers a job survives; BullMQ's 1 would make an event dead after two deployments that went wrong. */
const maxStalledCount = 16;

/** BullMQ's `Worker` with `bullmqProcessor`, on connections of its own, to be run like core's worker. */
export function createQueueWorker<Data>(
  place: QueuePlace,
  handlers: Handlers<Data, unknown>,
  options: QueueWorkerOptions<Data>,
): BullmqWorker {
  const settings = parseOptions("bullmqInbox.createWorker", shape, options);
  const { concurrency, maxWaitMs, shutdownMs, graceMs, logger } = settings;
  const { name, prefix, timeoutMs, counter, currentPause } = place;
  const catalog = settings.catalog as Catalog<Data>;
  const processor = bullmqProcessor<Data>(handlers, {
    maxWaitMs,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    timeouts: options.timeouts ?? {},
    graceMs,
    catalog,
    logger,
  });
  const isStuck = () => processor.abandoned() >= concurrency;
  let running = () => 0;

  return {
    sinceLastTakeMs: processor.sinceLastTakeMs,
    isHealthy: () => !isStuck(),
    slots: () => ({ concurrency, running: running(), abandoned: processor.abandoned() }),
    async run({ signal }) {
      const connection = connect(place.connection);
      replaceWhenRefused(connection);
      const duplicates = duplicatesOf(connection);
      const taken = createTakenJobs(
        processor,
        () => stuck.check(),
        () => counter?.settled([{ state: "waiting" }], [true]),
      );
      running = taken.running;
      const worker = new QueueWorker(name, taken.process, {
        connection,
        prefix,
        concurrency,
        name: workerName(concurrency),
        maxStalledCount,
        autorun: false,
      });
      const unstored = countUnstored(worker);
      const stuck = watchStuck(worker, processor, logger);
      const stopPolling = pollPause(currentPause, logger);
      if (counter !== undefined) countEnds(worker, counter);
      const log = throttledLog(logger.error, monotonicClock);
      worker.on("error", (err) => log({ err: withoutArguments(err) }, "BullMQ's worker had an error."));
      worker.on("failed", processor.onFailed);
      worker.on("lockRenewalFailed", (ids) => ids.forEach((id) => void worker.cancelJob(id))); // another worker has them
      const ended = worker.run();
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      stopPolling();
      stuck.stop();
      if (worker.isPaused()) void worker.resume(); // it was paused as stuck: pause() waits for the handlers only of a worker that is not paused yet
      const stopReason = new DOMException("The worker is stopping.", "AbortError");
      const paused = Promise.all([worker.pause().catch((error) => worker.emit("error", error)), ended]);
      const lost = lostIdle([connection, ...duplicates], unstored);
      const stopped = await createDeadline(shutdownMs).before(Promise.race([paused, lost.promise]));
      lost.stop();
      if (stopped === undefined) {
        worker.cancelAllJobs(stopReason as never); // typed as a text, but passed to the signals as it is
        taken.giveBack();
        await createDeadline(timeoutMs).before(paused);
      }
      try {
        await createDeadline(timeoutMs).before(worker.close(true)); // without force, it waits for a Redis that is down, and its timers keep the process
      } finally {
        for (const client of [connection, ...duplicates]) cut(client);
      }
      await counter?.close();
    },
  };
}

/** Returns a function that counts the worker's jobs whose result is not stored yet. */
function countUnstored(worker: QueueWorker): () => number {
  let count = 0;
  const processJob = worker.processJob;
  worker.processJob = async (...given) => {
    count += 1;
    try {
      return await processJob.apply(worker, given);
    } finally {
      count -= 1;
    }
  };
  return () => count;
}

const lookMs = 50;

/**
 * Resolves to true once a connection is lost and no job needs it to store its result: BullMQ would wait until Redis is back, and ioredis
 * emits no `end` for a connection that it closes between two attempts.
 */
function lostIdle(
  clients: readonly Redis[],
  unstored: () => number,
): { readonly promise: Promise<true>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<true>();
  const [main] = clients;
  const timer = setInterval(() => {
    const isLost = main?.status !== "ready" || clients.some(({ status }) => status === "reconnecting");
    if (isLost && unstored() === 0) resolve(true);
  }, lookMs);
  return { promise, stop: () => clearInterval(timer) };
}

/** A connection for a worker, which waits for Redis indefinitely. */
function connect(connection: string | Redis | Cluster): Redis {
  if (typeof connection === "string")
    return new Redis(connection, { maxRetriesPerRequest: null, maxLoadingRetryTime: 500 });
  if (!isCluster(connection)) return connection.duplicate({ maxRetriesPerRequest: null });
  const redisOptions = { ...connection.options.redisOptions, maxRetriesPerRequest: null };
  const overridden = { redisOptions } as Parameters<Cluster["duplicate"]>[1];
  return connection.duplicate([], overridden) as unknown as Redis; // a Worker takes both
}

/** Returns a list that gets each connection that BullMQ duplicates from this one: its worker waits for jobs on one. */
function duplicatesOf(connection: Redis): readonly Redis[] {
  const made: Redis[] = [];
  const { duplicate } = connection;
  connection.duplicate = (...given) => {
    const client = duplicate.apply(connection, given);
    replaceWhenRefused(client);
    made.push(client);
    return client;
  };
  return made;
}

/** Not `instanceof`: the client may come from another copy of ioredis. */
function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

/** Counts the ends of attempts that BullMQ has stored. It emits no event for a job that is delayed. */
function countEnds(worker: QueueWorker, counter: MinuteCounter): void {
  const count = (state: "done" | "retry" | "dead") => counter.settled([{ state }], [true]);
  worker.on("completed", () => count("done"));
  worker.on("failed", (job) => count(job?.finishedOn === undefined ? "retry" : "dead"));
}
