import { AsyncResource } from "node:async_hooks";
import {
  type EsimEvents,
  type Handlers,
  type InboxAdmin,
  type InboxEntry,
  type InboxWriter,
  type PutResult,
  WebhookError,
} from "@esim-webhooks/core";
import {
  createMinuteCounter,
  createStoreGuard,
  type EncodedEntry,
  encodeEntry,
  publishChanges,
  readPauses,
  spreadRetention,
  subjectReader,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import { refuseTypes } from "@esim-webhooks/core/internal";
import type { JobsOptions } from "bullmq";
import { createAdmin, operatorLimit } from "./admin/admin.ts";
import { createErase } from "./admin/erase.ts";
import { mostStacks } from "./admin/history.ts";
import { type BullmqInboxOptions, defaultEventJobOptions, readInboxOptions } from "./inbox-settings.ts";
import { addProbe, makeAddsAtomic } from "./redis/atomic-add.ts";
import { connected, openQueue, placeOf } from "./redis/connection.ts";
import { explained } from "./redis/errors.ts";
import { deduplicationIdOf, newJobId, resultOf } from "./redis/job-identity.ts";
import { createMinutes } from "./redis/minutes.ts";
import { createNotes } from "./redis/notes.ts";
import { createPauses } from "./redis/pauses.ts";
import { type BullmqQueue, clientReader } from "./redis/queue.ts";
import { createRunNotes } from "./redis/run-notes.ts";
import { createScripts } from "./redis/script.ts";
import { createServerCheck } from "./redis/server-check.ts";
import { checkCanWait, createOnDisk, type OnDisk } from "./redis/wait-aof.ts";
import { type BullmqWorker, createQueueWorker, type QueueWorkerOptions } from "./work/queue-worker.ts";

/** An inbox whose queue is BullMQ's: its `Worker` takes the events. If it was given a queue, it has no `createWorker`. */
export interface BullmqInbox extends InboxWriter, InboxAdmin {
  /**
   * BullMQ's `Worker` with `bullmqProcessor`, on connections of its own, for programs that run workers of any inbox, such as
   * `esim-webhooks work`. Throws `invalid_option` and `unknown_event_type`.
   */
  createWorker<Data = EsimEvents>(
    handlers: NoInfer<Handlers<Data>>,
    options?: QueueWorkerOptions<Data>,
  ): BullmqWorker;
}

/** What `queue.add` takes for an entry. */
interface NewJob {
  readonly source: string;
  /** When it was received; minus infinity for an import. */
  readonly deliveredAtMs: number;
  readonly name: string;
  readonly data: EncodedEntry;
  readonly options: JobsOptions & { readonly jobId: string };
}

/** A call of `put`. */
interface Put {
  readonly jobs: readonly NewJob[];
  /** The async context of the call, which instrumentations of BullMQ and ioredis read. */
  readonly context: AsyncResource;
  resolve(results: readonly PutResult[]): void;
  reject(error: unknown): void;
}

/**
 * The inbox on BullMQ, for any number of receivers and workers on one Redis (7, or 6.2). `put` resolves once the jobs are in
 * Redis. Each is one atomic `queue.add` with BullMQ's deduplication, so an id is enqueued once in `retentionMs`, counted from
 * its first delivery. BullMQ's `Worker` handles the events, with `bullmqProcessor`.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, `store_full`, `wrong_credentials`, `missing_rights`,
 * `missing_replicas`, `unsaved_store` or `read_only_store`; while the server may evict keys, with `evicting_store`; and those for operators with `invalid_input` for
 * filters that BullMQ cannot answer.
 */
export function bullmqInbox(
  options: BullmqInboxOptions & { queue: BullmqQueue },
): Omit<BullmqInbox, "createWorker">;
export function bullmqInbox(options: BullmqInboxOptions): BullmqInbox;
export function bullmqInbox(
  options: BullmqInboxOptions,
): Omit<BullmqInbox, "createWorker"> & Partial<Pick<BullmqInbox, "createWorker">> {
  const settings = readInboxOptions(options);
  const { retentionMs, allowEviction, waitAof, timeoutMs, logger } = settings;
  const subjectOf = subjectReader(settings, logger);
  warnOfShortRetention("bullmqInbox", settings);
  const { connection, name, prefix } = settings;
  const { queue, gatherWrites, close } =
    connection === undefined
      ? {
          queue: settings.queue as NonNullable<typeof settings.queue>,
          gatherWrites() {},
          close: async () => {},
        }
      : openQueue({ connection, name, prefix, timeoutMs, logger });
  const client = clientReader(queue);
  const scripts = createScripts(client);
  const keyStart = `${queue.opts.prefix ?? "bull"}:${queue.name}`;
  const server = createServerCheck({ client, keyStart, allowEviction, waitAof, logger });
  const onDisk: OnDisk = waitAof ? createOnDisk(client, timeoutMs) : (write) => write();
  const jobOptions = {
    ...defaultEventJobOptions,
    ...queue.defaultJobOptions,
    ...settings.jobOptions,
    removeOnFail: false, // a dead event is for an operator to see
    stackTraceLimit: mostStacks,
  };
  const notes = createNotes(queue);
  const pauses = createPauses(queue, scripts, keyStart);
  const runs = createRunNotes(scripts, keyStart);
  const minutes = createMinutes(scripts, keyStart);

  async function check(signal: AbortSignal): Promise<void> {
    await connected(queue, signal);
    makeAddsAtomic(queue, await client());
    await scripts.define();
    if (waitAof) checkCanWait(await client());
    await server.check();
  }

  /** Adds a job as `put` does: shows whether the server accepts all that a put writes. */
  async function tryOut(): Promise<void> {
    await server.recheck();
    await notes.tryOut();
    const redis = await client();
    await onDisk(() => addProbe(queue, redis, jobOptions));
  }

  const explain = (error: unknown) => Promise.reject(explained(error));
  const guard = createStoreGuard({
    name: "bullmqInbox",
    timeoutMs,
    logger,
    check: (signal) => check(signal).catch(explain),
  });

  function run<Result>(operation: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    return guard.run((signal) => operation(signal).catch(explain));
  }

  const counter = settings.minuteCounts
    ? createMinuteCounter((counts) => run(() => minutes.add(counts)))
    : undefined;

  function newJob(entry: InboxEntry): NewJob {
    const deduplication = { id: deduplicationIdOf(entry), ttl: spreadRetention(retentionMs) };
    return {
      source: entry.source,
      deliveredAtMs: entry.replay === undefined ? entry.receivedAt.getTime() : Number.NEGATIVE_INFINITY,
      name: entry.type || "(no type)",
      data: encodeEntry({ ...entry, event: null }), // the event is in the body
      options: { ...jobOptions, jobId: newJobId(entry), deduplication },
    };
  }

  async function add({ name, data, options }: NewJob): Promise<PutResult> {
    const job = await queue.add(name, data, options);
    const result = resultOf(options.jobId, job.id ?? "");
    if (result !== "foreign") return result;
    throw new WebhookError(
      "store_unavailable",
      `The queue "${queue.name}" has a job for this event that bullmqInbox did not add.`,
      "Give the inbox a queue of its own.",
    );
  }

  /** Stores the events of several puts, which share the checks, the time limit and the write to Redis; each is answered by itself. */
  function store(puts: readonly Put[]): void {
    run(async (signal) => {
      await server.recheck();
      if (signal.aborted) return; // their callers no longer wait
      for (const source of new Set(puts.flatMap((put) => put.jobs.map((job) => job.source))))
        await notes.noteSource(source);
      const receivedAtMs = Math.max(...puts.flatMap((put) => put.jobs.map((job) => job.deliveredAtMs)));
      if (Number.isFinite(receivedAtMs)) await notes.noteDelivery(receivedAtMs);
      void pauses.endInTime();
      gatherWrites();
      await Promise.all(
        puts.map(({ jobs, context, resolve, reject }) =>
          context
            .runInAsyncScope(() => onDisk(() => Promise.all(jobs.map(add))))
            .then((results) => {
              counter?.put(results);
              resolve(results);
            })
            .catch((error) => guard.runUnchecked(() => explain(error)).catch(reject)),
        ),
      );
    }).catch((error) => {
      for (const { reject } of puts) reject(error);
    });
  }

  const storeSoon = oncePerTick(store);

  const currentPause = () => run(() => pauses.current());
  const place =
    connection === undefined ? undefined : { connection, name, prefix, timeoutMs, counter, currentPause };
  const workers: Pick<BullmqInbox, "createWorker"> | undefined = place && {
    createWorker: (handlers, options = {}) => createQueueWorker(place, handlers, options),
  };

  const admin = createAdmin({ queue, client, scripts, keyStart, notes, pauses, subjectOf });
  const erase = createErase(queue, scripts, keyStart, subjectOf);
  const { purge: _, ...changes } = publishChanges({
    redrive: (filter, limit) => run(() => admin.redrive(filter, limit)),
    purgeDead: (filter, limit) => run(() => admin.purgeDead(filter, limit)),
    async pause(options) {
      const [pause] = readPauses(options);
      refuseTypes("pause", options.types);
      if (pause !== undefined) await run(() => pauses.pause(pause));
    },
    async resume(options = {}) {
      refuseTypes("resume", options.types);
      const ended = await run(() => pauses.resume());
      return ended === null ? [] : [ended];
    },
    erase: (subject, limit = operatorLimit) => erase(subject, limit, run),
    purge: async () => 0, // BullMQ removes what is done
  });
  return {
    capabilities: {
      roles: ["writer", "admin"],
      filters: ["state", "ids"],
      pauses: "all",
      bodies: "with events",
      get durable() {
        return !allowEviction && server.isPersistent();
      },
      multiProcess: true,
      transactional: false,
      ordered: false,
      retentionMs,
    },
    place: placeOf(queue),
    ready: () => run(tryOut),
    async put(entries) {
      const jobs = entries.map(newJob);
      if (jobs.length === 0) return [];
      const context = new AsyncResource("bullmqInbox.put");
      return new Promise((resolve, reject) => storeSoon({ jobs, context, resolve, reject }));
    },
    stats: () => run(() => admin.stats()),
    gauges: () => run(() => admin.gauges()),
    workers: () => run(() => admin.workers()),
    noteRun: (note) => run(() => runs.note(note)),
    runs: () => run(() => runs.list()),
    minutes: () => run(() => minutes.list()),
    count: (filter, most) => run(() => admin.count(filter, most)),
    list: (filter, page) => run(() => admin.list(filter, page)),
    get: (key) => run(() => admin.get(key)),
    async paused() {
      const pause = await run(() => pauses.current());
      return pause === null ? [] : [pause];
    },
    ...changes,
    ...workers,
    async close() {
      await counter?.close();
      await guard.close(close);
    },
  };
}

/**
 * Calls `work` at the end of an event-loop tick with all items of that tick. Not core's `coalesce`, which answers all items of a batch
 * together: here each item is answered by itself, without waiting for the others.
 */
function oncePerTick<Item>(work: (items: readonly Item[]) => void): (item: Item) => void {
  let items: Item[] = [];
  return (item) => {
    if (items.push(item) > 1) return;
    setImmediate(() => {
      const gathered = items;
      items = [];
      work(gathered);
    });
  };
}
