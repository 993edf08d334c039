import { type Logger, WebhookError } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import type { RedisErrorCode } from "./errors.ts";

/**
 * Refuses a server that may evict keys when its memory is short, since it would forget done ids. Every key here has
 * a time to live, so the `volatile-*` policies evict them too. Of a cluster, every master is asked.
 */
export async function checkEviction(
  client: RedisClient,
  allowEviction: boolean,
  logger: Logger,
): Promise<void> {
  const policies = [await evictionPolicy(client, logger)]; // a cluster names its nodes once it is connected
  for (const server of client.nodes?.("master") ?? []) policies.push(await evictionPolicy(server, logger));
  for (const policy of policies) {
    if (policy === undefined || policy === "noeviction" || allowEviction) continue;
    throw new WebhookError<RedisErrorCode>(
      "evicting_store",
      `The Redis server's maxmemory-policy is ${policy}: when memory is short it forgets ids, and their redeliveries run again.`,
      "Set maxmemory-policy to noeviction, use a server of its own, or accept that with allowEviction: true.",
    );
  }
}

/** Undefined when the server forbids the question, as managed ones do, or has no answer to it, as proxies have. */
async function evictionPolicy(server: RedisClient, logger: Logger): Promise<string | undefined> {
  const policy = policyIn(await server.config("GET", parameter).catch(unlessRefused));
  if (policy !== undefined) return policy;
  warnOfSetup(
    logger,
    "eviction_unknown",
    "The Redis server does not say its maxmemory-policy. Make sure that it is noeviction, or done ids may be forgotten.",
  );
  return undefined;
}

const parameter = "maxmemory-policy";

function unlessRefused(error: unknown): undefined {
  const refused = error instanceof Error && /^(?:NOPERM|ERR) /.test(error.message);
  if (!refused) throw error;
}

/** ioredis answers with a list of names and values, or by name when its `replyMapping` is `resp3`. */
function policyIn(answer: unknown): string | undefined {
  const policy = Array.isArray(answer)
    ? answer[1]
    : (answer as Record<string, unknown> | undefined)?.[parameter];
  return typeof policy === "string" ? policy : undefined;
}
