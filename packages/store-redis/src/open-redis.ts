import { type Logger, WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  durationMs,
  type OptionsShape,
  type StoreGuard,
  storeShape,
  withMethods,
} from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import { openClient, type RedisClient } from "./client.ts";
import { createEvictionCheck } from "./eviction.ts";
import { explained } from "./refusal.ts";
import { onReplicas } from "./replicas.ts";
import { type Operation, onlyAnswerIn, probe, run } from "./scripts.ts";
import { createTogether } from "./together.ts";

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

/** A client, and the guard of the store that uses it. */
export interface OpenRedis {
  readonly guard: StoreGuard;
  /** Runs every command once, and looks at the eviction policy. Throws what is wrong. */
  ready(): Promise<void>;
  /** Looks at the eviction policy again, if the last look was ten seconds ago: before operations that begin something. */
  recheck(): Promise<void>;
  /** Runs one script inside `guard`. Rejects with the cause of a client's error. */
  send(operation: Operation): Promise<unknown>;
  /** Runs one script outside the guard, without waiting for replicas. */
  sendUnguarded(operation: Operation): Promise<unknown>;
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
  const sendUnguarded = (operation: Operation) => run(client, operation);
  const together = createTogether(client, keyPrefix);
  const send = waitReplicas === 0 ? together.send : onReplicas(name, client, waitReplicas, timeoutMs);
  const guard = createStoreGuard({
    name,
    timeoutMs,
    logger,
    async check(signal) {
      await eviction.check().catch(rethrow);
      const key = `${keyPrefix}probe`;
      const evaluated = client.eval(probe.source, 1, key, "probe"); // `run` needs EVAL only after a restart of the server
      await evaluated.then(onlyAnswerIn).catch(rethrow);
      await send({ script: probe, key, args: ["probe"], signal }).catch(rethrow);
      if (waitReplicas === 0) await together.prepare().catch(rethrow);
    },
  });
  const recheck = () => eviction.recheck().catch(rethrow);
  return {
    guard,
    async ready() {
      await guard.ready();
      await recheck();
    },
    recheck,
    send: (operation) => send(operation).catch(rethrow),
    sendUnguarded,
    close: () => guard.close(close),
  };
}
