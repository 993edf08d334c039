import { WebhookError } from "@esim-webhooks/core";
import type { JobState, JobsOptions, JobType } from "bullmq";

/** The part of a BullMQ `Queue` on Redis that the inbox calls. */
export interface BullmqQueue {
  /** Part of its keys in Redis. */
  readonly name: string;
  /** The options that a job gets where it has none of its own. */
  readonly defaultJobOptions: JobsOptions;
  /** The options with which it was made. */
  readonly opts: {
    /** The keys of the queue in Redis begin with it. Default `bull`. */
    readonly prefix?: string;
    /** A client of Redis, or the options of one. */
    readonly connection?: object;
  };
  /** Adds a job, unless one with the same deduplication id exists. */
  add(name: string, data: unknown, options?: JobsOptions): Promise<{ readonly id?: string | undefined }>;
  /** Resolves to undefined if there is no such job. */
  getJob(id: string): Promise<BullmqJob | undefined>;
  /** The jobs in these states, from one position to another. */
  getJobs(types: JobType[], start: number, end: number, asc: boolean): Promise<BullmqJob[]>;
  /** The ids of jobs in these states. */
  getRanges(types: JobType[], start: number, end: number, asc: boolean): Promise<string[]>;
  /** How many jobs are in each of these states. */
  getJobCounts(...types: JobType[]): Promise<{ [type: string]: number }>;
  /** The job that holds a deduplication id. Null: none does. */
  getDeduplicationJobId(deduplicationId: string): Promise<string | null>;
  /** The Redis clients of the queue's workers, as CLIENT LIST shows them. */
  getWorkers(): Promise<readonly { readonly [field: string]: string }[]>;
  /** Deletes failed jobs. Resolves to their ids. */
  clean(graceMs: number, limit: number, type: "failed"): Promise<string[]>;
  /** Resolves once it is connected. */
  waitUntilReady(): Promise<unknown>;
  /** Listens for errors of the connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Stops listening. */
  off(event: "error", listener: (error: Error) => void): unknown;
  /** The connection that it stores jobs with: on Redis, it has the client. */
  getBackend(): object;
}

/** The part of a stored BullMQ `Job` that the inbox reads. */
export interface BullmqJob {
  /** Identifies the job, not the event. */
  readonly id?: string | undefined;
  /** The encoded entry of the event. */
  readonly data: unknown;
  /** The options with which it was added. */
  readonly opts: JobsOptions;
  /** When it was added, in ms since the Unix epoch. */
  readonly timestamp: number;
  /** When the last attempt began. `retry` removes it. */
  readonly processedOn?: number | undefined;
  /** When it completed or failed, in ms since the Unix epoch. Absent until then. */
  readonly finishedOn?: number | undefined;
  /** How many attempts have begun. */
  readonly attemptsStarted: number;
  /** How many attempts have failed or completed. `retry` resets it. */
  readonly attemptsMade: number;
  /** How many times its worker ended, or lost its lock, while it was active. */
  readonly stalledCounter: number;
  /** The message of what its last attempt threw. */
  readonly failedReason: string | null;
  /** The stacks of its attempts, the last one last. */
  readonly stacktrace: readonly string[] | null;
  /** Where the job is. `unknown`: it was removed. */
  getState(): Promise<JobState | "unknown">;
  /** Makes a delayed job due. */
  promote(): Promise<unknown>;
  /** Puts a failed job into the queue again. */
  retry(
    state: "failed",
    options: { readonly resetAttemptsMade: boolean; readonly resetAttemptsStarted: boolean },
  ): Promise<unknown>;
}

/** The part of a queue's own Redis client that the inbox calls. Clients other than ioredis lack the optional members. */
export interface QueueClient {
  readonly isCluster: boolean;
  info(): Promise<string>;
  zrange(key: string, start: number, end: number, options: { WITHSCORES: true }): Promise<string[]>;
  /** Makes a Lua script callable by `runCommand`, with its keys first. */
  defineCommand(name: string, script: { readonly numberOfKeys: number; readonly lua: string }): void;
  runCommand(name: string, args: readonly string[]): Promise<unknown>;
  config?(subcommand: "GET", parameter: string): Promise<unknown>;
  call?(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** The socket. Another one after a reconnect. */
  readonly stream?: object;
  /** The servers of a cluster. */
  nodes?(role: "master"): QueueClient[];
}

/** Returns a function that resolves to the Redis client of a queue. Throws `invalid_option` for another backend, such as Postgres. */
export function clientReader(queue: BullmqQueue): () => Promise<QueueClient> {
  const backend = queue.getBackend();
  if ("client" in backend) return () => backend.client as Promise<QueueClient>;
  throw new WebhookError(
    "invalid_option",
    `the queue "${queue.name}" is not on Redis.`,
    "Pass a Queue on Redis. On Postgres, use postgresInbox, whose one row per event is also the dedupe record.",
    { where: "bullmqInbox" },
  );
}

/** The number of starts of a job in all: a redrive lets BullMQ count from zero, and notes the starts before it in the data. */
export function startsOf({ data, attemptsStarted }: Pick<BullmqJob, "data" | "attemptsStarted">): number {
  const { startsBefore = 0 } = (data ?? {}) as { readonly startsBefore?: number };
  return startsBefore + attemptsStarted;
}
