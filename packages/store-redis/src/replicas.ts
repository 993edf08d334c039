import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";
import { type Operation, onlyAnswerIn } from "./scripts.ts";

/**
 * Runs operations, each of which succeeds only once `replicas` replicas have its write; else throws `store_unavailable`.
 * WAIT blocks its connection, so the operations that arrive meanwhile are sent together and share the next WAIT.
 */
export function onReplicas(
  name: string,
  client: RedisClient,
  replicas: number,
  timeoutMs: number,
): (operation: Operation) => Promise<unknown> {
  const runTogether = coalesce(
    async (operations: readonly Operation[]): Promise<readonly Result[]> => {
      const wanted = operations.filter(({ signal }) => !signal?.aborted);
      const pipeline = client.pipeline();
      for (const { script, key, args } of wanted) pipeline.eval(script.source, 1, key, ...args);
      const results = (await pipeline.wait(replicas, Math.ceil(timeoutMs / 2)).exec()) ?? [];
      const [waitError, reached] = results.at(-1) ?? [];
      if (waitError) throw waitError;
      if (!(Number(reached) >= replicas)) {
        throw new WebhookError(
          "store_unavailable",
          `${name} reached ${reached} of the ${replicas} replicas that waitReplicas asks for.`,
          "Check the replicas, or lower waitReplicas.",
        );
      }
      const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
      return operations.map((operation) => resultOf.get(operation) ?? notSent);
    },
    { maxItems: 100, maxFlushes: 1 },
  );
  return async (operation) => {
    const [error, answer] = await runTogether(operation);
    if (error) throw error; // of this operation alone, e.g. when its key is not ours
    return answer === null ? null : onlyAnswerIn(answer);
  };
}

type Result = readonly [error: Error | null, answer: unknown];

const notSent: Result = [null, null];
