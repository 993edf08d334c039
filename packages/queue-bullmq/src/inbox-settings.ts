import { type InboxOptions, type Logger, WebhookError } from "@esim-webhooks/core";
import {
  durationMs,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  storeShape,
  withMethods,
} from "@esim-webhooks/core/engine";
import { subjectOption } from "@esim-webhooks/core/internal";
import type { JobsOptions } from "bullmq";
import type { Cluster, Redis } from "ioredis";
import * as z from "zod/mini";
import type { BullmqQueue } from "./redis/queue.ts";

/** The options of BullMQ for the jobs of events. The inbox sets the other options itself. */
export type EventJobOptions = Pick<
  JobsOptions,
  "attempts" | "backoff" | "removeOnComplete" | "delay" | "lifo" | "priority"
>;

export interface BullmqInboxOptions extends StoreOptions, Pick<InboxOptions, "subject"> {
  /** A BullMQ `Queue` on Redis, which stays yours to close. In place of `connection`, `name` and `prefix`. */
  queue?: BullmqQueue;
  /** A `redis://` or `rediss://` URL, or an ioredis client (`Redis`, also behind Sentinel, or `Cluster`), which stays yours to close. */
  connection?: string | Redis | Cluster;
  /** The name of the queue, also for the `Worker`. Default `"esim-webhooks"`. */
  name?: string;
  /** The prefix of all keys, also for the `Worker`. On a `Cluster`, write it in braces: `"{bull}"`. Default `"bull"`. */
  prefix?: string;
  /**
   * Options of the jobs; they override the queue's `defaultJobOptions`. Default: 16 attempts with exponential backoff from 1 s, over nine
   * hours; done jobs are removed after an hour or once there are 10,000. Failed jobs are always kept.
   */
  jobOptions?: EventJobOptions;
  /** The timeout of an operation, in ms. Default 5,000. */
  timeoutMs?: number;
  /**
   * Accept a server whose `maxmemory-policy` may evict keys. When memory is short, it then evicts events and the ids of done
   * ones: `capabilities.durable` is false. Default false: such a server is refused.
   */
  allowEviction?: boolean;
  /**
   * Acknowledge an event once it is in the append-only file on the server's disk (`WAITAOF`, Redis 7.2), so that not even a
   * power cut loses it. With `appendfsync everysec`, an answer then takes up to a second or two. Not for a `Cluster`. Default
   * false.
   */
  waitAof?: boolean;
  /**
   * Whether to count for each minute of the last day how many events were stored, done, retried and dead (or unhandled), for `minutes()` and the
   * dashboard's plots. What a `Worker` of your own does is not counted. Each process writes at most once in ten seconds. Default false.
   */
  minuteCounts?: boolean;
}

export interface BullmqInboxSettings
  extends Required<Omit<BullmqInboxOptions, "queue" | "connection" | "subject">>,
    Pick<InboxOptions, "subject"> {
  readonly queue: BullmqQueue | undefined;
  readonly connection: string | Redis | Cluster | undefined;
  readonly logger: Logger;
}

/** The job options of an event where neither the queue nor the inbox has others. */
export const defaultEventJobOptions: EventJobOptions = {
  attempts: 16,
  backoff: { type: "exponential", delay: 1000 },
  removeOnComplete: { age: 3600, count: 10_000 },
};

const jobOptionNames = {
  attempts: z.optional(z.int().check(z.gte(1))),
  backoff: z.optional(z.unknown()),
  removeOnComplete: z.optional(z.unknown()),
  delay: z.optional(z.int().check(z.gte(0))),
  lifo: z.optional(z.boolean()),
  priority: z.optional(z.int().check(z.gte(0))),
} satisfies Record<keyof EventJobOptions, z.ZodMiniType>;

const shape: OptionsShape<BullmqInboxSettings> = {
  ...storeShape,
  queue: z.optional(withMethods<BullmqQueue>("add", "getJob", "getBackend", "getDeduplicationJobId")),
  connection: z.optional(
    z.union([z.string().check(z.regex(/^rediss?:\/\//)), withMethods<Redis>("defineCommand", "info")]),
  ),
  name: z._default(z.string().check(z.regex(/^[^:]+$/, "expected a name without a colon")), "esim-webhooks"),
  prefix: z._default(z.string().check(z.minLength(1)), "bull"),
  jobOptions: z._default(z.strictObject(jobOptionNames) as z.ZodMiniType<EventJobOptions>, {}),
  timeoutMs: z._default(durationMs(1), 5000),
  allowEviction: z._default(z.boolean(), false),
  waitAof: z._default(z.boolean(), false),
  minuteCounts: z._default(z.boolean(), false),
  subject: subjectOption,
};

/** Parses the options of `bullmqInbox`. Throws `invalid_option`. */
export function readInboxOptions(options: unknown): BullmqInboxSettings {
  const given = (typeof options === "object" && options) || {};
  if ("lane" in given || "laneHeldByDead" in given) {
    throw new WebhookError(
      "invalid_option",
      "bullmqInbox has no lanes: BullMQ works jobs concurrently, and a retry lets later jobs pass.",
      "Use postgresInbox or sqliteInbox, which have them, or make handlers independent of the order (latestOnly).",
    );
  }
  for (const option of ["bodyRetentionMs", "keepBodies"]) {
    if (option in given)
      throw new WebhookError(
        "invalid_option",
        `there is no option "${option}": BullMQ keeps a body for as long as its job.`,
        "Remove it. removeOnComplete of jobOptions says how long done jobs are kept; dead ones are kept until they are deleted.",
        { where: "bullmqInbox", option },
      );
  }
  const settings = parseOptions("bullmqInbox", shape, options);
  const { queue, connection } = settings;
  if ((queue === undefined) === (connection === undefined)) {
    throw new WebhookError(
      "invalid_option",
      queue === undefined
        ? "bullmqInbox has neither a queue nor a connection."
        : "bullmqInbox has both a queue and a connection.",
      'Pass one of them: { connection: "redis://…" }, or { queue } with a BullMQ Queue.',
    );
  }
  const [unused] = ["name", "prefix"].filter((option) => queue !== undefined && option in given);
  if (unused === undefined) return settings;
  throw new WebhookError(
    "invalid_option",
    `the option ${unused} has no effect with a queue, which has its own.`,
    `Remove ${unused}, or pass connection in place of the queue.`,
    { where: "bullmqInbox" },
  );
}
