import { addressText } from "@esim-webhooks/core/kit";
import type { RedisClient } from "./client.ts";

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

/** The server of a client, for people, without user and password. Undefined if the client does not tell. */
export function placeOf({ options, nodes }: RedisClient): string | undefined {
  if (nodes !== undefined) return "a Redis Cluster";
  const { host, port, path, db, sentinels, name }: Address = options ?? {};
  if (sentinels) return `the Redis ${name} behind Sentinel${db ? `/${db}` : ""}`;
  if (path) return `Redis at ${addressText({ host: path, database: db })}`;
  return host && `Redis at ${addressText({ host, port, database: db })}`;
}
