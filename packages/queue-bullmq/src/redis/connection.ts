import { type Logger, WebhookError } from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import {
  isServerUrl,
  monotonicClock,
  type RedisAddress,
  redisAt,
  redisText,
  throttledLog,
  withoutArguments,
} from "@esim-webhooks/core/internal";
import { Queue } from "bullmq";
import { type Cluster, Redis } from "ioredis";
import { explained } from "./errors.ts";
import type { BullmqQueue } from "./queue.ts";

/** A queue, and a function that closes what the inbox has opened for it. */
export interface OpenQueue {
  readonly queue: BullmqQueue;
  /** Sends the commands of this event-loop tick in one write. No effect on a client that was passed. */
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
  const own =
    typeof connection === "string" ? redisAt("bullmqInbox", connection, timeoutMs, Redis) : undefined;
  // a client that was passed may come from another copy of ioredis, whose types differ in private fields
  const client = (own ?? connection) as Redis;
  if (client.options.keyPrefix) {
    own?.disconnect();
    throw withKeyPrefix();
  }
  // a queue whose own first `connect` is rejected would reject for good
  if (client.status === "wait") client.connect().catch(() => {});
  const queue = new Queue(name, { connection: client, prefix, skipVersionCheck: true });
  // BullMQ would ask for the version once, and reject for good if the connection ended meanwhile. From Redis 6.0.6 on, it uses LPOS
  Object.defineProperty(queue.getBackend().connection, "redisVersion", { value: oldestRedis });
  const log = throttledLog((fields, message) => logger.debug(fields, message), monotonicClock);
  queue.on("error", (err) => log({ err: withoutArguments(err) }, "redis connection"));
  return {
    queue,
    gatherWrites() {
      if (own !== undefined) gatherWrites(own.stream);
    },
    async close() {
      own?.on("error", () => {}); // BullMQ removes its listener, and without one ioredis writes errors to stderr
      try {
        await createDeadline(timeoutMs).before(queue.close());
      } finally {
        if (own !== undefined) cut(own);
      }
    },
  };
}

/**
 * Closes a client for good. BullMQ reconnects a client that it has interrupted, even after the close: a server that does not answer would
 * keep this connection open, and so keep the process running.
 */
export function cut(client: Redis | Cluster): void {
  client.connect = async () => {};
  client.disconnect(); // ioredis destroys the socket 2 s later, if the server leaves it open
}

/** Sends the commands of this tick in one write: with a write for each, the writes are a large part of the cost of `queue.add`. */
function gatherWrites(stream: Redis["stream"]): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork()); // this runs after the microtasks, in which BullMQ makes its commands
}

function withKeyPrefix(): WebhookError {
  return new WebhookError(
    "invalid_option",
    "the connection has a keyPrefix, which BullMQ's scripts do not add to their keys.",
    "Remove keyPrefix from the client or the URL, and pass prefix to bullmqInbox and to each Worker.",
    { where: "bullmqInbox" },
  );
}

/**
 * Resolves once the queue is connected. Rejects if the server refuses it or nothing listens there, since its client would try
 * again indefinitely, and when the signal aborts.
 */
export async function waitUntilConnected(queue: BullmqQueue, signal: AbortSignal): Promise<void> {
  const failure = Promise.withResolvers<never>();
  const onError = (error: Error) => {
    if (WebhookError.is(explained(error)) || isUnreachable(error)) failure.reject(error);
  };
  queue.on("error", onError);
  signal.addEventListener("abort", () => failure.reject(signal.reason));
  try {
    await Promise.race([queue.waitUntilReady(), failure.promise]);
  } finally {
    queue.off("error", onError);
  }
}

function isUnreachable({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || /CERT|SIGNATURE/.test(code ?? ""); // a certificate that is not accepted
}

/** The queue and its server, for people, without user and password. */
export function queuePlace({ name, opts: { prefix = "bull", connection = {} } }: BullmqQueue): string {
  const withPrefix = prefix === "bull" ? "" : ` with the prefix ${prefix}`;
  return `the queue ${name}${withPrefix} on ${serverOf(connection)}`;
}

/** The host, the port and the database in a URL. */
function hostIn(text: string): string {
  if (!isServerUrl(text, "redis:", "rediss:")) return "its URL"; // in another text, it may be unclear where the password ends
  const { host, pathname } = URL.parse(text) ?? { host: "", pathname: "" };
  return host + pathname;
}

function serverOf(connection: object): string {
  if ("isCluster" in connection && connection.isCluster) return "a Redis Cluster";
  const options: RedisAddress & { readonly url?: string } =
    "options" in connection ? (connection.options as RedisAddress) : connection;
  if (options.url !== undefined) return `Redis at ${hostIn(options.url)}`;
  return redisText({ host: "localhost", port: 6379, ...options }) ?? "Redis";
}
