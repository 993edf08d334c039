import { type Logger, WebhookError } from "@esim-webhooks/core";
import { monotonicClock, warnOfSetup } from "@esim-webhooks/core/kit";
import type { BullmqErrorCode } from "./errors.ts";
import type { QueueClient } from "./queue.ts";
import { isOlder, type ServerFacts, serverFacts } from "./server-facts.ts";

/** Sooner than the sender's first retry, which comes after 30 s: a forgotten id is rarely asked for before. */
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
  /** Throws `evicting_store`, and `invalid_option` for a setting that this server cannot keep. Logs what it can lose. */
  check(): Promise<void>;
  /** Looks at the eviction policy again, ten seconds after the last look: it can change while the server runs. */
  recheck(): Promise<void>;
  /** False once a server has said that it writes no append-only file. */
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

/** BullMQ would ask for the version itself, which our queue leaves out. */
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
      "The Redis server's appendfsync is not always: when its machine fails, the acknowledged events of the last second (or, with no, of longer) can be lost. waitAof waits for the disk before it acknowledges.",
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
