import { AsyncResource } from "node:async_hooks";
import { type InboxEntry, type InboxWriter, type PutResult, WebhookError } from "@esim-webhooks/core";
import { type EncodedEntry, encodeEntry, spreadRetention } from "@esim-webhooks/core/engine";
import type { JobsOptions } from "bullmq";
import { deduplicationIdOf, newJobId, resultOf } from "./redis/job-identity.ts";
import type { Notes } from "./redis/notes.ts";
import type { Pauses } from "./redis/pauses.ts";
import type { BullmqQueue } from "./redis/queue.ts";
import type { ServerCheck } from "./redis/server-check.ts";
import type { OnDisk } from "./redis/wait-aof.ts";

/** The arguments of `queue.add` for an entry. */
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

/** The parts of its inbox that the writer needs. */
interface WriterOptions {
  readonly queue: BullmqQueue;
  /** The options of every job. */
  readonly jobOptions: JobsOptions;
  readonly retentionMs: number;
  readonly server: Pick<ServerCheck, "recheck">;
  readonly notes: Notes;
  readonly pauses: Pauses;
  readonly onDisk: OnDisk;
  /** Sends the next commands of this tick in one write. */
  gatherWrites(): void;
  /** Runs an operation after the checks of the set-up, within the time limit. */
  run<Result>(operation: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  onStored(results: readonly PutResult[]): void;
  /** Rejects with the error that callers get in place of `error`. */
  explain(error: unknown): Promise<never>;
}

/** Creates the `put` of an inbox. All calls of an event-loop tick go to Redis together. */
export function createWriter({
  queue,
  jobOptions,
  retentionMs,
  server,
  notes,
  pauses,
  onDisk,
  gatherWrites,
  run,
  onStored,
  explain,
}: WriterOptions): InboxWriter["put"] {
  function newJob(entry: InboxEntry): NewJob {
    const deduplication = { id: deduplicationIdOf(entry), ttl: spreadRetention(retentionMs) };
    return {
      source: entry.source,
      deliveredAtMs: entry.replay === undefined ? entry.receivedAt.getTime() : Number.NEGATIVE_INFINITY,
      name: entry.type || "(no type)",
      data: encodeEntry(entry),
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
              onStored(results);
              resolve(results);
            })
            .catch((error) => explain(error).catch(reject)),
        ),
      );
    }).catch((error) => {
      for (const { reject } of puts) reject(error);
    });
  }

  const storeSoon = oncePerTick(store);
  return async (entries) => {
    const jobs = entries.map(newJob);
    if (jobs.length === 0) return [];
    const context = new AsyncResource("bullmqInbox.put");
    return new Promise((resolve, reject) => storeSoon({ jobs, context, resolve, reject }));
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
