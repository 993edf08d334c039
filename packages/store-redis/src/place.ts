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

/** The server of a client, for people, without user and password. */
export function placeOf({ options, nodes }: RedisClient): string {
  if (nodes !== undefined) return "a Redis Cluster";
  const { host, port, path, db, sentinels, name }: Address = options ?? {};
  const database = db ? `/${db}` : "";
  if (sentinels) return `the Redis ${name} behind Sentinel${database}`;
  return `Redis at ${path ?? `${host}:${port}`}${database}`;
}
