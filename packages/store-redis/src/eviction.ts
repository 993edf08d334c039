import { type Logger, WebhookError } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/engine";
import type { RedisClient } from "./client.ts";
import type { RedisErrorCode } from "./errors.ts";

/** Shorter than the 30 s before the sender's first retry, which is the first to ask for an evicted id. */
const everyMs = 10_000;

/**
 * Refuses a server that may evict keys when memory is short, and so forget done ids and states. All keys of a dedupe store have
 * a time to live, so the `volatile-*` policies evict them too.
 */
export interface EvictionCheck {
  /** Checks every master of a cluster. Throws `evicting_store`, unless eviction is allowed. */
  check(): Promise<void>;
  /** Whether `recheck` is due: ten seconds after the last success, and each time after a failure. Never if eviction is allowed, or the policy hidden. */
  isDue(): boolean;
  /** Checks again while the store is used, since the policy can change. Logs a refusal once. Concurrent calls share a check. */
  recheck(): Promise<void>;
}

export function createEvictionCheck(
  client: RedisClient,
  allowEviction: boolean,
  logger: Logger,
): EvictionCheck {
  let isKnown = true;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let rechecked: Promise<void> | undefined;
  let isRefused = false;

  async function check(): Promise<void> {
    const policies = [await policyOf(client)]; // a cluster knows its nodes only once it is connected
    for (const server of client.nodes?.("master") ?? []) policies.push(await policyOf(server));
    if (isKnown && policies.includes(undefined)) {
      isKnown = false;
      warnOfSetup(
        logger,
        "eviction_unknown",
        "The Redis server does not reveal its maxmemory-policy. Make sure that it is noeviction, or done ids may be forgotten.",
      );
    }
    const evicting = policies.find((policy) => policy !== undefined && policy !== "noeviction");
    if (evicting !== undefined && !allowEviction) throw evictingStore(evicting);
    checkedAt = performance.now();
    rechecked = undefined;
  }

  async function checkAgain(): Promise<void> {
    try {
      await check();
      isRefused = false;
    } catch (error) {
      checkedAt = Number.NEGATIVE_INFINITY; // refused, or the server did not answer: the next operation asks again
      if (WebhookError.is(error)) {
        if (!isRefused) warnOfSetup(logger, error.code, error.message);
        isRefused = true;
      }
      throw error;
    }
  }

  const isOld = () => performance.now() - checkedAt >= everyMs;

  return {
    check,
    isDue: () => !allowEviction && isKnown && (rechecked !== undefined || isOld()),
    async recheck() {
      if (isOld()) {
        checkedAt = performance.now();
        rechecked = checkAgain();
      }
      return rechecked;
    },
  };
}

function evictingStore(policy: string): WebhookError<RedisErrorCode> {
  return new WebhookError<RedisErrorCode>(
    "evicting_store",
    `The Redis server's maxmemory-policy is ${policy}: when memory is short, it evicts done ids and states, and redeliveries run again.`,
    "Set maxmemory-policy to noeviction, use a separate server, or accept the risk with allowEviction: true.",
  );
}

/** Undefined when the server refuses CONFIG, as managed servers and proxies do. */
async function policyOf(server: RedisClient): Promise<string | undefined> {
  return policyIn(await server.config("GET", parameter).catch(unlessRefused));
}

const parameter = "maxmemory-policy";

function unlessRefused(error: unknown): undefined {
  const refused = error instanceof Error && /^(?:NOPERM|ERR) /.test(error.message);
  if (!refused) throw error;
}

/** ioredis returns a list of names and values, or an object when its `replyMapping` is `resp3`. */
function policyIn(answer: unknown): string | undefined {
  const policy = Array.isArray(answer)
    ? answer[1]
    : (answer as Record<string, unknown> | undefined)?.[parameter];
  return typeof policy === "string" ? policy : undefined;
}
