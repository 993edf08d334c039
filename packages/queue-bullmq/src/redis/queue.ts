import { WebhookError } from "@esim-webhooks/core";
import type { JobState, JobsOptions, JobType } from "bullmq";

/** The part of a BullMQ `Queue` on Redis that the inbox calls. */
export interface BullmqQueue {
  readonly name: string;
  readonly defaultJobOptions: JobsOptions;
  readonly opts: { readonly prefix?: string; readonly connection?: object };
  add(name: string, data: unknown, options?: JobsOptions): Promise<{ readonly id?: string | undefined }>;
  getJob(id: string): Promise<BullmqJob | undefined>;
  getJobs(types: JobType[], start: number, end: number, asc: boolean): Promise<BullmqJob[]>;
  /** The ids of jobs in these states. */
  getRanges(types: JobType[], start: number, end: number, asc: boolean): Promise<string[]>;
  getJobCounts(...types: JobType[]): Promise<{ [type: string]: number }>;
  getDeduplicationJobId(deduplicationId: string): Promise<string | null>;
  /** The Redis clients of the queue's workers, as CLIENT LIST shows them. */
  getWorkers(): Promise<readonly { readonly [field: string]: string }[]>;
  clean(graceMs: number, limit: number, type: "failed"): Promise<string[]>;
  waitUntilReady(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  getBackend(): object;
}

/** The part of a stored BullMQ `Job` that the inbox reads. */
export interface BullmqJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly opts: JobsOptions;
  readonly timestamp: number;
  /** When the last attempt began. `retry` removes it. */
  readonly processedOn?: number | undefined;
  readonly finishedOn?: number | undefined;
  readonly attemptsStarted: number;
  /** How often its worker ended, or lost its lock, while it was active. */
  readonly stalledCounter: number;
  readonly failedReason: string | null;
  /** The stacks of its attempts, the last one last. */
  readonly stacktrace: readonly string[] | null;
  getState(): Promise<JobState | "unknown">;
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

/** The Redis client of a queue. Throws `invalid_option` for a queue on another backend, such as Postgres. */
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
