import { type Logger, WebhookError } from "@esim-webhooks/core";
import { isServerUrl, monotonicClock, throttledLog } from "@esim-webhooks/core/kit";
import { Queue } from "bullmq";
import { type Cluster, Redis } from "ioredis";
import type { BullmqQueue } from "./queue.ts";
import { withoutArguments } from "./without-arguments.ts";

/** A queue, and a function that closes what the inbox opened of it. */
export interface OpenQueue {
  readonly queue: BullmqQueue;
  /** Commands that are sent at once, before anything is waited for, leave in one write. No effect on a handed-in client. */
  gatherWrites(): void;
  close(): Promise<void>;
}

export interface OpenQueueOptions {
  readonly connection: string | Redis | Cluster;
  readonly name: string;
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** The oldest version that we support. */
const oldestRedis = "6.2.0";

/** Opens a queue on a client, which stays the user's to close, or on a new connection to a URL. Throws `invalid_option`. */
export function openQueue(options: OpenQueueOptions): OpenQueue {
  const { connection, name, prefix, timeoutMs, logger } = options;
  const own = typeof connection === "string" ? redisAt(connection, timeoutMs) : undefined;
  // a handed-in client may come from another copy of ioredis, whose types differ in private fields
  const client = (own ?? connection) as Redis;
  if (client.options.keyPrefix) {
    own?.disconnect();
    throw withKeyPrefix();
  }
  // a queue whose own first `connect` is rejected would reject for good
  if (client.status === "wait") client.connect().catch(() => {});
  const queue = new Queue(name, { connection: client, prefix, skipVersionCheck: true });
  // BullMQ would ask for the version once, and reject for good if the connection ended meanwhile. Since 6.0.6, it uses LPOS
  Object.defineProperty(queue.getBackend().connection, "redisVersion", { value: oldestRedis });
  const log = throttledLog((fields, message) => logger.debug(fields, message), monotonicClock);
  queue.on("error", (err) => log({ err: withoutArguments(err) }, "redis connection"));
  return {
    queue,
    gatherWrites() {
      if (own !== undefined) gatherWrites(own.stream);
    },
    async close() {
      await queue.close();
      own?.disconnect();
    },
  };
}

/** A write of its own for each command is a large part of what `queue.add` costs. */
function gatherWrites(stream: Redis["stream"]): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork()); // it comes after the microtasks, in which BullMQ makes its commands
}

/** Throws `invalid_option` with neither the URL nor a cause, which would quote it: it may contain a password. */
function redisAt(url: string, timeoutMs: number): Redis {
  try {
    if (isServerUrl(url, "redis:", "rediss:")) {
      return new Redis(url, {
        maxRetriesPerRequest: 1, // a delivery should get 503 rather than wait
        connectTimeout: timeoutMs,
        socketTimeout: 2 * timeoutMs, // replaces a connection that went silent
        retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
      });
    }
  } catch {} // a percent sign that encodes nothing
  throw new WebhookError(
    "invalid_option",
    "The redis:// URL that bullmqInbox was given cannot be read.",
    "Write redis://user:password@host:6379/0, with the password's special characters percent-encoded and a port of at most 65535.",
  );
}

function withKeyPrefix(): WebhookError {
  return new WebhookError(
    "invalid_option",
    "the connection has a keyPrefix, which BullMQ's scripts do not add to their keys.",
    "Remove keyPrefix from the client or the URL, and pass prefix to bullmqInbox and to each Worker.",
    { where: "bullmqInbox" },
  );
}
