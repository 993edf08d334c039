import { WebhookError } from "./errors.ts";
import { type ReplaceableClient, replaceWhenRefused } from "./replace-when-refused.ts";
import { addressText, isServerUrl } from "./server-url.ts";

/** Makes a client, which reconnects after a failover. Core imports no ioredis: pass its class. Throws `invalid_option` for an unreadable URL. */
export function redisAt<Client extends ReplaceableClient>(
  name: string,
  url: string,
  timeoutMs: number,
  Redis: new (url: string, options: object) => Client,
): Client {
  try {
    if (isServerUrl(url, "redis:", "rediss:")) {
      const client = new Redis(url, {
        maxRetriesPerRequest: 1, // a delivery should get 503 rather than wait
        connectTimeout: timeoutMs,
        socketTimeout: 2 * timeoutMs, // replaces a connection that went silent
        maxLoadingRetryTime: 500,
        retryStrategy: (attempt: number) => Math.min(50 * 2 ** attempt, 1000),
      });
      replaceWhenRefused(client);
      return client;
    }
  } catch {} // a percent sign that encodes nothing
  // neither the URL nor a cause, which would quote it: it may contain a password
  throw new WebhookError(
    "invalid_option",
    `The redis:// URL that ${name} was given cannot be read.`,
    "Write redis://user:password@host:6379/0, with the password's special characters percent-encoded and a port of at most 65535.",
  );
}

/** The options of an ioredis client that say where it connects to. */
export interface RedisAddress {
  /** The name or address of the server. */
  readonly host?: string;
  /** Its TCP port. */
  readonly port?: number;
  /** The path of a local socket. */
  readonly path?: string | null;
  /** The number of the database. */
  readonly db?: number;
  /** The Sentinels that know the master. */
  readonly sentinels?: readonly object[] | null;
  /** The name of the master, behind Sentinel. */
  readonly name?: string | null;
}

/** The server of a client, for people, without user and password. Undefined if the options have no address. */
export function redisText({ host, port, path, db, sentinels, name }: RedisAddress): string | undefined {
  if (sentinels) return `the Redis ${name} behind Sentinel${db ? `/${db}` : ""}`;
  if (path) return `Redis at ${addressText({ host: path, database: db })}`;
  return host && `Redis at ${addressText({ host, port, database: db })}`;
}

interface RedisError {
  readonly command?: { args?: unknown };
  /** The last error of a node, if the client is a Cluster. */
  readonly lastNodeError?: RedisError;
}

/**
 * Removes the command's arguments, which ioredis adds to an error, and returns the error. Otherwise the log would have them: the password
 * of AUTH and HELLO, and the data of an event.
 */
export function withoutArguments<Reason>(error: Reason): Reason {
  const { command, lastNodeError } = error as RedisError;
  if (command !== undefined) delete command.args;
  if (lastNodeError !== undefined) withoutArguments(lastNodeError);
  return error;
}
