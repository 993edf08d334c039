import type { EsimEvents, Handlers, InboxAdmin, InboxWriter } from "@esim-webhooks/core";
import {
  createMinuteCounter,
  createStoreGuard,
  subjectReader,
  warnOfShortRetention,
} from "@esim-webhooks/core/engine";
import { createAdminRole } from "./admin/admin-role.ts";
import { mostStacks } from "./admin/history.ts";
import { type BullmqInboxOptions, defaultEventJobOptions, readInboxOptions } from "./inbox-settings.ts";
import { addProbe, makeAddsAtomic } from "./redis/atomic-add.ts";
import { openQueue, queuePlace, waitUntilConnected } from "./redis/connection.ts";
import { explained } from "./redis/errors.ts";
import { createMinutes } from "./redis/minutes.ts";
import { createNotes } from "./redis/notes.ts";
import { createPauses } from "./redis/pauses.ts";
import { type BullmqQueue, clientReader } from "./redis/queue.ts";
import { createScripts } from "./redis/script.ts";
import { createServerCheck } from "./redis/server-check.ts";
import { checkCanWait, createOnDisk, type OnDisk } from "./redis/wait-aof.ts";
import { type BullmqWorker, createQueueWorker, type QueueWorkerOptions } from "./work/queue-worker.ts";
import { createWriter } from "./writer.ts";

/** An inbox whose queue is BullMQ's: BullMQ's `Worker` takes the events. With the option `queue`, it has no `createWorker`, which needs `connection`. */
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

/**
 * The inbox on BullMQ, for any number of receivers and workers on one Redis (7, or 6.2). `put` resolves once the jobs are in
 * Redis. Each is one atomic `queue.add` with BullMQ's deduplication, so an id is enqueued once in `retentionMs`, counted from
 * its first delivery. BullMQ's `Worker` handles the events, with `bullmqProcessor`.
 *
 * Throws `invalid_option`. Operations reject with `store_unavailable`, `store_full`, `wrong_credentials`, `missing_rights`,
 * `missing_replicas`, `unsaved_store` or `read_only_store`; while the server may evict keys, with `evicting_store`. Operations for
 * operators also reject with `invalid_input`, for filters that BullMQ cannot answer.
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
    removeOnFail: false, // an operator has to see each dead event
    stackTraceLimit: mostStacks,
  };
  const notes = createNotes(queue);
  const pauses = createPauses(queue, scripts, keyStart);
  const minutes = createMinutes(scripts, keyStart);

  async function check(signal: AbortSignal): Promise<void> {
    await waitUntilConnected(queue, signal);
    makeAddsAtomic(queue, await client());
    await scripts.define();
    if (waitAof) checkCanWait(await client());
    await server.check();
  }

  /** Adds a job as `put` does, to find out whether the server accepts all that a put writes. */
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

  const put = createWriter({
    ...{ queue, jobOptions, retentionMs, server, notes, pauses, onDisk, gatherWrites, run },
    onStored: (results) => counter?.put(results),
    explain: (error) => guard.runUnchecked(() => explain(error)),
  });
  const currentPause = () => run(() => pauses.current());
  const place =
    connection === undefined ? undefined : { connection, name, prefix, timeoutMs, counter, currentPause };
  const workers: Pick<BullmqInbox, "createWorker"> | undefined = place && {
    createWorker: (handlers, options = {}) => createQueueWorker(place, handlers, options),
  };

  const admin = createAdminRole({ queue, client, scripts, keyStart, notes, pauses, subjectOf }, minutes, run);
  return {
    capabilities: {
      roles: ["writer", "admin"],
      filters: ["state", "ids"],
      pauses: "all",
      givesUp: false,
      bodies: "with events",
      get durable() {
        return !allowEviction && server.isPersistent();
      },
      multiProcess: true,
      transactional: false,
      ordered: false,
      retentionMs,
    },
    place: queuePlace(queue),
    ready: () => run(tryOut),
    put,
    ...admin,
    ...workers,
    async close() {
      await counter?.close();
      await guard.close(close);
    },
  };
}
