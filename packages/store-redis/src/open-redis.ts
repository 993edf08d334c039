import { type Logger, WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  storeShape,
  withMethods,
} from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import { openClient, type RedisClient } from "./client.ts";
import { createEvictionCheck } from "./eviction.ts";
import { explained } from "./refusal.ts";
import { onReplicas } from "./replicas.ts";
import { answersIn, type Operation, type Operations, probe, runTogether } from "./scripts.ts";
import { areOnOneServer, createTogether } from "./together.ts";

/** The options that `redisStore` and `redisState` share. */
export interface RedisOptions {
  /** The prefix of all keys. Default `"esim-webhooks:"`. */
  keyPrefix?: string;
  /** The timeout of an operation, in ms. Default 5,000. */
  timeoutMs?: number;
  /**
   * Accept a server whose `maxmemory-policy` may evict keys. When memory is short, it then evicts done ids and states, and
   * redeliveries run again: `capabilities.durable` is false. Default false: such a server is refused.
   */
  allowEviction?: boolean;
  /**
   * How many replicas must have a write before it counts (`WAIT`). Default 0. Waiting blocks the connection, so give the
   * store its own. Not for a `Cluster`.
   */
  waitReplicas?: number;
  /** Gets the log lines: pino, `console`, or anything of their shape. Default: silent. */
  logger?: Logger;
}

export const redisShape: OptionsShape<Required<RedisOptions>> = {
  keyPrefix: z._default(z.string(), "esim-webhooks:"),
  timeoutMs: z._default(durationMs(1), 5000),
  allowEviction: z._default(z.boolean(), false),
  waitReplicas: z._default(z.int().check(z.gte(0)), 0),
  logger: storeShape.logger,
};

const clientShape = z.union([
  z.string().check(z.regex(/^rediss?:\/\//)),
  withMethods<RedisClient>("eval", "evalsha", "config", "pipeline"),
]);

/** An operation of a store. */
export interface StoreOperation extends Operation {
  /** Sent when the operation fails, and when it succeeds after its time limit, since nobody waits for it any more. */
  readonly undo?: Operation;
}

/** A client with the guard of the store that uses it. Rejects with a `WebhookError`. */
export interface OpenRedis {
  /** Runs every command once, and looks at the eviction policy. Throws what is wrong. */
  ready(): Promise<void>;
  /** Looks at the eviction policy again, before operations that begin something. Undefined: the last look was not ten seconds ago. */
  recheck(): Promise<void> | undefined;
  /** Runs one operation within the time limit. */
  send(operation: StoreOperation): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens a Redis. `name` is the public function, for messages. Throws `invalid_option`. */
export function openRedis(
  name: string,
  redis: RedisClient | string,
  { keyPrefix, timeoutMs, logger, allowEviction, waitReplicas }: Required<RedisOptions>,
): OpenRedis {
  if (!clientShape.safeParse(redis).success) {
    throw new WebhookError(
      "invalid_option",
      `${name} was given neither an ioredis client nor a redis:// URL.`,
      'Pass new Redis(…), or a URL such as "redis://localhost:6379".',
    );
  }
  if (waitReplicas > 0 && typeof redis === "object" && redis.nodes !== undefined) {
    throw new WebhookError(
      "invalid_option",
      `${name} cannot use waitReplicas with a Cluster, since every node has its own replicas.`,
      "Remove waitReplicas, or pass a client of a single master, for example behind Sentinel.",
    );
  }
  const { client, reasonOf, close } = openClient(name, redis, timeoutMs, logger);
  const rethrow = (error: unknown): never => {
    throw explained(name, reasonOf(error));
  };
  const eviction = createEvictionCheck(client, allowEviction, logger);
  const runOnReplicas = waitReplicas > 0 && onReplicas(name, client, waitReplicas, timeoutMs);
  const sendTogether = createTogether(sendGuarded);
  let areTogether = false; // until it is known, each operation is a command of its own
  const guard = createStoreGuard({
    name,
    timeoutMs,
    logger,
    async check(signal) {
      await eviction.check().catch(rethrow);
      const letter = probe.letters.probe;
      const probing: Operation = { script: probe, letter, key: `${keyPrefix}probe`, args: [] };
      const evaluated = client.eval(probe.source, 1, probing.key, letter); // needed only after a restart of the server
      await evaluated.then((answer) => answerOf(answersIn(answer)[0])).catch(rethrow);
      await send([probing], signal)
        .then(([answer]) => answerOf(answer))
        .catch(rethrow);
      areTogether = !runOnReplicas && (await areOnOneServer(client, keyPrefix).catch(rethrow));
    },
  });

  async function send(operations: Operations, signal: AbortSignal): Promise<readonly unknown[]> {
    if (runOnReplicas) return [await runOnReplicas(operations[0], signal)];
    return runTogether(client, operations, signal);
  }

  /** One command, and one time limit for all its operations: a guard for each would cost more than the operation. */
  function sendGuarded(
    operations: readonly [StoreOperation, ...StoreOperation[]],
  ): Promise<readonly unknown[]> {
    return guard.run((signal) => {
      const sent = send(operations, signal);
      const isUndone = (answer: unknown) => answer instanceof Error || (signal.aborted && isOne(answer));
      sent.then(
        (answers) => undo(operations.filter((_, index) => isUndone(answers[index]))),
        () => undo(operations),
      );
      return sent.catch(rethrow);
    });
  }

  function undo(operations: readonly StoreOperation[]): void {
    for (const { undo } of operations) if (undo) runTogether(client, [undo]).catch(() => {});
  }

  const recheck = () => (eviction.isDue() ? guard.run(() => eviction.recheck().catch(rethrow)) : undefined);
  return {
    async ready() {
      await guard.ready();
      await recheck();
    },
    recheck,
    async send(operation) {
      const answer = areTogether ? await sendTogether(operation) : (await sendGuarded([operation]))[0];
      return answer instanceof Error ? guard.run(async () => rethrow(answer)) : answer;
    },
    close: () => guard.close(close),
  };
}

function answerOf(answer: unknown): unknown {
  if (answer instanceof Error) throw answer;
  return answer;
}

/** A client made with `stringNumbers` answers "1". */
export function isOne(answer: unknown): boolean {
  return Number(answer) === 1;
}
