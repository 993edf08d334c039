import { type Logger, WebhookError } from "@esim-webhooks/core";
import {
  monotonicClock,
  redisAt,
  redisText,
  throttledLog,
  withoutArguments,
} from "@esim-webhooks/core/internal";
import { Redis } from "ioredis";

/** The part of an ioredis client that the store calls. Both `Redis` (also behind Sentinel) and `Cluster` have it. */
export interface RedisClient {
  /** Runs a script that the server knows by its hash. */
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  /** Runs a script, and makes the server know it. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  /** Reads a setting of the server. */
  config(subcommand: "GET", parameter: string): Promise<unknown>;
  /** Gathers commands, which are sent together. */
  pipeline(): RedisPipeline;
  /** The servers of a cluster. Only `Cluster` has it. */
  nodes?(role: "master"): RedisClient[];
  /** The client's options, which say where it connects to. */
  readonly options?: object;
  /** The socket. Another one after a reconnect. */
  readonly stream?: unknown;
}

/** The part of a pipeline that the store calls. */
export interface RedisPipeline {
  /** Adds a script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): RedisPipeline;
  /** Adds WAIT: it answers how many replicas have the writes that were added before it, at the latest after `timeoutMs`. */
  wait(replicas: number, timeoutMs: number): RedisPipeline;
  /** Sends the commands. Resolves to their results, in order. */
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/** A client, and a function that closes it if the store made it. */
export interface OpenClient {
  readonly client: RedisClient;
  /** Removes a command's arguments from an error. Replaces the "gave up" error of the store's own client by the connection's last error. */
  reasonOf(error: unknown): unknown;
  close(): Promise<void>;
}

/** Uses the client, or makes one from a URL. `name` is the public function, for messages. */
export function openClient(
  name: string,
  redis: RedisClient | string,
  timeoutMs: number,
  logger: Logger,
): OpenClient {
  return typeof redis === "string"
    ? connectTo(name, redis, timeoutMs, logger)
    : { client: redis, reasonOf: withoutArguments, close: async () => {} };
}

function connectTo(name: string, url: string, timeoutMs: number, logger: Logger): OpenClient {
  const client = redisAt(name, url, timeoutMs, Redis);
  const log = throttledLog((fields, message) => logger.debug(fields, message), monotonicClock);
  let connectionError: Error | undefined;
  client.on("error", (error: Error) => {
    connectionError = withoutArguments(error);
    log({ err: error }, "redis connection");
    if (isRefusedDatabase(error)) {
      connectionError = refusedDatabase(name, client.options.db, error);
      client.disconnect(true); // ioredis would otherwise continue in database 0
    }
  });
  client.on("ready", () => {
    connectionError = undefined;
  });
  return {
    client: client as unknown as RedisClient,
    reasonOf: (error) => (gaveUp(error) && connectionError) || withoutArguments(error),
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

function refusedDatabase(name: string, database: number | undefined, cause: Error): WebhookError {
  return new WebhookError(
    "invalid_option",
    `The Redis server refuses database ${database}, which is in the URL of ${name}: ${cause.message}.`,
    "Correct the number after the URL's slash, or remove it to use database 0.",
    { cause },
  );
}

/** The server of a client, for people, without user and password. Undefined if the client does not reveal it. */
export function serverPlace({ options = {}, nodes }: RedisClient): string | undefined {
  return nodes === undefined ? redisText(options) : "a Redis Cluster";
}
