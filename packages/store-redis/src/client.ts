import { type Logger, WebhookError } from "@esim-webhooks/core";
import { monotonicClock, throttledLog } from "@esim-webhooks/core/kit";
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
  /** What is behind an error of the client: it says that it gave up, and what the connection said tells why. */
  reasonOf(error: unknown): unknown;
  close(): Promise<void>;
}

/** Takes the client that was given, or makes one from a URL. */
export function openClient(given: RedisClient | string, timeoutMs: number, logger: Logger): OpenClient {
  return typeof given === "string"
    ? connectTo(given, timeoutMs, logger)
    : { client: given, reasonOf: (error) => error, close: async () => {} };
}

function connectTo(url: string, timeoutMs: number, logger: Logger): OpenClient {
  const client = new Redis(url, {
    enableAutoPipelining: true,
    maxRetriesPerRequest: 1, // a delivery is better answered 503 than kept waiting
    connectTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs, // a connection that went silent is made anew
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
  });
  const log = throttledLog((fields, message) => logger.debug(fields, message), monotonicClock);
  let trouble: Error | undefined;
  client.on("error", (error: Error) => {
    trouble = error;
    log({ err: error }, "redis connection");
    if (isRefusedDatabase(error)) {
      trouble = refusedDatabase(client.options.db, error);
      client.disconnect(true); // or ioredis would go on in database 0
    }
  });
  client.on("ready", () => {
    trouble = undefined;
  });
  return {
    client: client as unknown as RedisClient,
    reasonOf: (error) => (gaveUp(error) && trouble) || error,
    close: async () => client.disconnect(),
  };
}

function gaveUp(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "MaxRetriesPerRequestError" || error.message === "Connection is closed.";
}

function isRefusedDatabase(error: Error & { command?: { name?: string } }): boolean {
  return error.command?.name === "select";
}

function refusedDatabase(database: number | undefined, cause: Error): WebhookError {
  return new WebhookError(
    "invalid_option",
    `The Redis server refuses database ${database}, which the URL of redisStore names: ${cause.message}.`,
    "Correct the number after its slash, or leave it out for database 0.",
    { cause },
  );
}
