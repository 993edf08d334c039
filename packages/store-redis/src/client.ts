import type { Logger } from "@esim-webhooks/core";
import { Redis } from "ioredis";

type Argument = string | number;

/** The part of an ioredis client that is called: of `Redis`, be it behind Sentinel, or of `Cluster`. */
export interface RedisClient {
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: Argument[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: Argument[]): Promise<unknown>;
  config(subcommand: "GET", parameter: string): Promise<unknown>;
  pipeline(): RedisPipeline;
  /** Of a cluster: its servers. */
  nodes?(role: "master"): RedisClient[];
}

export interface RedisPipeline {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: Argument[]): RedisPipeline;
  wait(replicas: number, timeoutMs: number): RedisPipeline;
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/** A client, and how to be done with it: one that was handed in is left open. */
export interface OpenClient {
  readonly client: RedisClient;
  close(): Promise<void>;
}

/** Takes the client that was given, or makes one from a URL. */
export function openClient(given: RedisClient | string, timeoutMs: number, logger: Logger): OpenClient {
  if (typeof given !== "string") return { client: given, close: async () => {} };
  const client = new Redis(given, {
    enableAutoPipelining: true,
    maxRetriesPerRequest: 1, // a delivery is better answered 503 than kept waiting
    connectTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs, // a connection that went silent is made anew
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
  });
  client.on("error", (error: Error) => logger.debug({ err: error }, "redis connection"));
  return { client: client as unknown as RedisClient, close: async () => client.disconnect() };
}
