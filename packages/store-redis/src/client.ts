import { type Logger, WebhookError } from "@esim-webhooks/core";
import {
  addressText,
  isServerUrl,
  monotonicClock,
  replaceWhenRefused,
  throttledLog,
} from "@esim-webhooks/core/kit";
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
  /** Where it connects to. */
  readonly options?: object;
  /** The socket. Another one after a reconnect. */
  readonly stream?: unknown;
}

/** The part of a pipeline that the store calls. */
export interface RedisPipeline {
  /** Adds a script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): RedisPipeline;
  /** Adds WAIT: how many replicas must have the writes before it. */
  wait(replicas: number, timeoutMs: number): RedisPipeline;
  /** Sends the commands. Resolves to their results, in order. */
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/** A client, and a function that closes it if the store made it. */
export interface OpenClient {
  readonly client: RedisClient;
  /** Replaces the client's "gave up" error by the last error of the connection, which says why. */
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
    : { client: redis, reasonOf: withoutPassword, close: async () => {} };
}

function connectTo(name: string, url: string, timeoutMs: number, logger: Logger): OpenClient {
  const client = redisAt(name, url, timeoutMs);
  const log = throttledLog((fields, message) => logger.debug(fields, message), monotonicClock);
  replaceWhenRefused(client);
  let connectionError: Error | undefined;
  client.on("error", (error: Error) => {
    connectionError = withoutPassword(error);
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
    reasonOf: (error) => (gaveUp(error) && connectionError) || withoutPassword(error),
    close: async () => client.disconnect(),
  };
}

/** Throws `invalid_option` with neither the URL nor a cause, which would quote it: it may contain a password. */
function redisAt(name: string, url: string, timeoutMs: number): Redis {
  try {
    if (isServerUrl(url, "redis:", "rediss:")) {
      return new Redis(url, {
        maxRetriesPerRequest: 1, // a delivery should get 503 rather than wait
        connectTimeout: timeoutMs,
        socketTimeout: 2 * timeoutMs, // replaces a connection that went silent
        maxLoadingRetryTime: 500,
        retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 1000),
      });
    }
  } catch {} // a percent sign that encodes nothing
  throw new WebhookError(
    "invalid_option",
    `The redis:// URL that ${name} was given cannot be read.`,
    "Write redis://user:password@host:6379/0, with the password's special characters percent-encoded and a port of at most 65535.",
  );
}

/** Removes the arguments of AUTH and HELLO, which ioredis adds to the error: the password would be logged with it. */
function withoutPassword<Reason>(error: Reason): Reason {
  const { command } = error as { command?: { name?: string; args?: unknown } };
  if (command?.name === "auth" || command?.name === "hello") delete command.args;
  return error;
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

/** The options of an ioredis client that say where it connects to. */
interface Address {
  readonly host?: string;
  readonly port?: number;
  /** Of a local socket. */
  readonly path?: string | null;
  readonly db?: number;
  readonly sentinels?: readonly object[] | null;
  /** Of the master, behind Sentinel. */
  readonly name?: string | null;
}

/** The server of a client, for people, without user and password. Undefined if the client does not reveal it. */
export function placeOf({ options, nodes }: RedisClient): string | undefined {
  if (nodes !== undefined) return "a Redis Cluster";
  const { host, port, path, db, sentinels, name }: Address = options ?? {};
  if (sentinels) return `the Redis ${name} behind Sentinel${db ? `/${db}` : ""}`;
  if (path) return `Redis at ${addressText({ host: path, database: db })}`;
  return host && `Redis at ${addressText({ host, port, database: db })}`;
}
