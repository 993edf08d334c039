import { type Logger, WebhookError } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import type { RedisErrorCode } from "./errors.ts";

/**
 * Throws `evicting_store` for a server that may evict keys when memory is short, and so forget done ids and states. All keys
 * of a dedupe store have a time to live, so the `volatile-*` policies evict them too. Checks every master of a cluster.
 */
export async function checkEviction(
  client: RedisClient,
  allowEviction: boolean,
  logger: Logger,
): Promise<void> {
  const policies = [await evictionPolicy(client, logger)]; // a cluster knows its nodes only once it is connected
  for (const server of client.nodes?.("master") ?? []) policies.push(await evictionPolicy(server, logger));
  for (const policy of policies) {
    if (policy === undefined || policy === "noeviction" || allowEviction) continue;
    throw new WebhookError<RedisErrorCode>(
      "evicting_store",
      `The Redis server's maxmemory-policy is ${policy}: when memory is short, it evicts done ids and states, and redeliveries run again.`,
      "Set maxmemory-policy to noeviction, use a separate server, or accept the risk with allowEviction: true.",
    );
  }
}

/** Undefined, with a warning, when the server refuses CONFIG, as managed servers and proxies do. */
async function evictionPolicy(server: RedisClient, logger: Logger): Promise<string | undefined> {
  const policy = policyIn(await server.config("GET", parameter).catch(unlessRefused));
  if (policy !== undefined) return policy;
  warnOfSetup(
    logger,
    "eviction_unknown",
    "The Redis server does not reveal its maxmemory-policy. Make sure that it is noeviction, or done ids may be forgotten.",
  );
  return undefined;
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
