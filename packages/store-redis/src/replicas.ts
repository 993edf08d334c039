import { WebhookError } from "@esim-webhooks/core";
import { coalesce } from "@esim-webhooks/core/engine";
import type { RedisClient } from "./client.ts";
import { answersIn, type Operation, type Script } from "./scripts.ts";

/** Runs one operation, and resolves to its answer: an `Error` if its key has failed, null if it was not sent because `signal` had aborted. */
export type RunOnReplicas = (script: Script, operation: Operation, signal: AbortSignal) => Promise<unknown>;

/**
 * Returns a function that runs operations. Each succeeds only once `replicas` replicas have its write; else rejects with `store_unavailable`.
 * WAIT blocks its connection, so the operations that arrive meanwhile are sent together and share the next WAIT.
 */
export function onReplicas(
  name: string,
  client: RedisClient,
  replicas: number,
  timeoutMs: number,
): RunOnReplicas {
  const runTogether = coalesce(
    async (given: readonly Given[]): Promise<readonly unknown[]> => {
      const wanted = given.filter(({ signal }) => !signal.aborted);
      const { stream } = client;
      const pipeline = client.pipeline();
      for (const { script, operation } of wanted) {
        const { letter, key, args } = operation;
        pipeline.eval(script.source, 1, key, letter, ...args);
      }
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
      if (client.stream !== stream) {
        throw new WebhookError(
          "store_unavailable",
          `The connection of ${name} was replaced before WAIT had confirmed its writes.`,
          "Send the event again: the sender does so after 503.",
        );
      }
      const resultOf = new Map(wanted.map((each, index) => [each, results[index]]));
      return given.map((each) => {
        const result = resultOf.get(each);
        if (result === undefined) return null;
        const [error, answer] = result;
        return error ?? answersIn(answer, 1)[0];
      });
    },
    { maxItems: 100, maxFlushes: 1 },
  );
  return (script, operation, signal) => runTogether({ script, operation, signal });
}

interface Given {
  readonly script: Script;
  readonly operation: Operation;
  readonly signal: AbortSignal;
}
