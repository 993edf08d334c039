import { type Logger, WebhookError } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/engine";
import { monotonicClock } from "@esim-webhooks/core/internal";
import type { BullmqErrorCode } from "./errors.ts";
import type { QueueClient } from "./queue.ts";

/** Shorter than the 30 s before the sender's first retry, which is the first to ask for an evicted id. */
const everyMs = 10_000;

export interface ServerCheckOptions {
  readonly client: () => Promise<QueueClient>;
  /** The prefix and the name of the queue's keys. */
  readonly keyStart: string;
  readonly allowEviction: boolean;
  readonly waitAof: boolean;
  readonly logger: Logger;
}

/** Checks the settings of the Redis server that can lose events. */
export interface ServerCheck {
  /** Throws `evicting_store`, and `invalid_option` for an option that needs another server. Logs what this server can lose. */
  check(): Promise<void>;
  /** Checks the eviction policy again if the last check was at least ten seconds ago: the policy can change while the server runs. */
  recheck(): Promise<void>;
  /** False if a server said at the last check that it writes no append-only file. */
  isPersistent(): boolean;
}

export function createServerCheck(options: ServerCheckOptions): ServerCheck {
  const { client, keyStart, allowEviction, waitAof, logger } = options;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let rechecked: Promise<void> | undefined;
  let isPersistent = true;

  async function factsOfAll(): Promise<readonly ServerFacts[]> {
    const any = await client();
    const masters = any.nodes?.("master") ?? [];
    const servers = await Promise.all((masters.length > 0 ? masters : [any]).map(serverFacts));
    isPersistent = servers.every(({ isAofOn }) => isAofOn !== false);
    return servers;
  }

  function refuseEviction(servers: readonly ServerFacts[]): void {
    const evicting = servers.find(({ policy }) => policy !== undefined && policy !== "noeviction");
    if (evicting !== undefined && !allowEviction) throw evictingStore(evicting.policy);
    checkedAt = monotonicClock.now();
  }

  async function checkAgain(): Promise<void> {
    try {
      refuseEviction(await factsOfAll());
    } catch (error) {
      checkedAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  return {
    async check() {
      const { isCluster } = await client();
      if (isCluster && !/\{[^}]+\}/.test(keyStart)) throw withoutHashTag(keyStart);
      const servers = await factsOfAll();
      refuseOldServer(servers);
      refuseEviction(servers);
      if (waitAof) for (const server of servers) checkWaitAof(server);
      else sayWhatCanBeLost(servers, logger);
      if (servers.some(({ policy }) => policy === undefined)) {
        warnOfSetup(
          logger,
          "eviction_unknown",
          "The Redis server does not reveal its maxmemory-policy. Make sure that it is noeviction, or events and their ids may be lost.",
        );
      }
    },
    async recheck() {
      if (allowEviction) return;
      const now = monotonicClock.now();
      if (now - checkedAt >= everyMs) {
        checkedAt = now;
        rechecked = checkAgain();
      }
      return rechecked;
    },
    isPersistent: () => isPersistent,
  };
}

/** Throws for a Redis that is too old: our queue skips BullMQ's own check. */
function refuseOldServer(servers: readonly ServerFacts[]): void {
  const old = servers.find(({ version }) => version !== undefined && isOlder(version, "6.2"));
  if (old === undefined) return;
  throw new WebhookError(
    "invalid_option",
    `bullmqInbox needs Redis 6.2 or newer; the server is ${old.version}.`,
    "Upgrade the server.",
  );
}

function checkWaitAof({ isAofOn, version }: ServerFacts): void {
  if (version === undefined || isOlder(version, "7.2")) {
    throw new WebhookError(
      "invalid_option",
      `waitAof needs Redis 7.2 or newer; the server is ${version ?? "of an unknown version"}.`,
      "Upgrade the server, or leave waitAof out and set appendfsync to always.",
      { where: "bullmqInbox" },
    );
  }
  if (isAofOn) return;
  throw new WebhookError(
    "invalid_option",
    "waitAof waits for the append-only file, which the Redis server does not write.",
    "Set appendonly to yes on the server.",
    { where: "bullmqInbox" },
  );
}

function sayWhatCanBeLost(servers: readonly ServerFacts[], logger: Logger): void {
  if (servers.some(({ isAofOn }) => isAofOn === false)) {
    warnOfSetup(
      logger,
      "persistence_off",
      "The Redis server writes no append-only file: when it ends, all events since its last snapshot are lost, also acknowledged ones. Set appendonly to yes.",
    );
  } else if (servers.some(({ fsync }) => fsync === "everysec" || fsync === "no")) {
    logger.info(
      {},
      "The Redis server's appendfsync is not always: when its machine fails, or with everysec also when Redis is killed, acknowledged events can be lost: those of the last second or two, with no of longer. waitAof waits for the disk before it acknowledges.",
    );
  }
}

function evictingStore(policy: string | undefined): WebhookError<BullmqErrorCode> {
  return new WebhookError<BullmqErrorCode>(
    "evicting_store",
    `The Redis server's maxmemory-policy is ${policy}: when memory is short, it evicts events and the ids of done ones.`,
    "Set maxmemory-policy to noeviction, use a separate server, or accept the risk with allowEviction: true.",
  );
}

function withoutHashTag(keyStart: string): WebhookError {
  return new WebhookError(
    "invalid_option",
    `the keys of the queue, ${keyStart}:*, have no hash tag, so a Redis Cluster would spread them over its nodes.`,
    'Write the prefix in braces, such as prefix: "{bull}", here and in each Worker.',
    { where: "bullmqInbox" },
  );
}

/** The facts that a Redis server reports. Undefined: it does not reveal this one, like some managed servers and proxies. */
interface ServerFacts {
  readonly version: string | undefined;
  /** Its `maxmemory-policy`. */
  readonly policy: string | undefined;
  /** Whether it writes an append-only file. */
  readonly isAofOn: boolean | undefined;
  /** Its `appendfsync`. */
  readonly fsync: string | undefined;
}

/** Reads INFO, which BullMQ needs anyway, and CONFIG as far as the server and the client allow. */
async function serverFacts(server: QueueClient): Promise<ServerFacts> {
  const info = await server.info();
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
  const aof = field("aof_enabled");
  return {
    version: field("redis_version"),
    policy: field("maxmemory_policy"),
    isAofOn: aof === undefined ? undefined : aof === "1",
    fsync: valueIn(await server.config?.("GET", "appendfsync").catch(() => undefined)),
  };
}

/** Whether a version, such as 7.0.15, is older than another one, such as 7.2. */
export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [thanMajor = 0, thanMinor = 0] = than.split(".").map(Number);
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}

/** ioredis returns a list of names and values, or an object when its `replyMapping` is `resp3`. */
function valueIn(answer: unknown): string | undefined {
  const value = Array.isArray(answer)
    ? answer[1]
    : (answer as Record<string, unknown> | undefined)?.["appendfsync"];
  return typeof value === "string" ? value : undefined;
}
