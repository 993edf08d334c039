import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/store";
import type { RedisClient } from "./client.ts";
import type { Script } from "./scripts.ts";

/** One operation, until `signal` says that nobody waits for it any more. */
export interface Operation {
  readonly script: Script;
  readonly key: string;
  readonly args: readonly (string | number)[];
  readonly signal: AbortSignal;
}

/**
 * Runs operations so that each counts only once `replicas` of them have what it wrote. WAIT holds up its connection, so
 * operations that come meanwhile go together and share the next one.
 */
export function onReplicas(
  client: RedisClient,
  replicas: number,
  timeoutMs: number,
): (operation: Operation) => Promise<unknown> {
  return coalesce(
    async (operations: readonly Operation[]) => {
      const wanted = operations.filter(({ signal }) => !signal.aborted);
      const pipeline = client.pipeline();
      for (const { script, key, args } of wanted) pipeline.eval(script.source, 1, key, ...args);
      const results = (await pipeline.wait(replicas, Math.ceil(timeoutMs / 2)).exec()) ?? [];
      const [unheard, reached] = results.at(-1) ?? [];
      const answers = results.slice(0, -1);
      const failed = unheard ?? answers.find(([error]) => error)?.[0];
      if (failed) throw failed;
      if (Number(reached) >= replicas) {
        const answerOf = new Map(wanted.map((operation, index) => [operation, answers[index]?.[1]]));
        return operations.map((operation) => answerOf.get(operation) ?? null);
      }
      throw new WebhookError(
        "store_unavailable",
        `redisStore reached ${reached} of the ${replicas} replicas that waitReplicas asks for.`,
        "Check the replicas, or lower waitReplicas.",
      );
    },
    { maxItems: 100, maxFlushes: 1 },
  );
}
