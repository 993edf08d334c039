import { addressText, isServerUrl } from "@esim-webhooks/core/kit";
import type { BullmqQueue } from "./queue.ts";

/** The options of an ioredis client, or of BullMQ for one, that say where it connects to. */
interface Address {
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  /** Of a local socket. */
  readonly path?: string | null;
  readonly db?: number;
  readonly sentinels?: readonly object[] | null;
  /** Of the master, behind Sentinel. */
  readonly name?: string | null;
}

/** The queue and its server, for people, without user and password. */
export function placeOf({ name, opts: { prefix = "bull", connection = {} } }: BullmqQueue): string {
  const withPrefix = prefix === "bull" ? "" : ` with the prefix ${prefix}`;
  return `the queue ${name}${withPrefix} on ${serverOf(connection)}`;
}

/** The host, the port and the database in a URL. */
function hostIn(text: string): string {
  if (!isServerUrl(text, "redis:", "rediss:")) return "its URL"; // its password may have no clear end
  const { host, pathname } = URL.parse(text) ?? { host: "", pathname: "" };
  return host + pathname;
}

function serverOf(connection: object): string {
  if ("isCluster" in connection && connection.isCluster) return "a Redis Cluster";
  const options: Address = "options" in connection ? (connection.options as Address) : connection;
  if (options.url !== undefined) return `Redis at ${hostIn(options.url)}`;
  const { host = "localhost", port = 6379, path, db, sentinels, name } = options;
  if (sentinels) return `the Redis ${name} behind Sentinel${db ? `/${db}` : ""}`;
  return `Redis at ${addressText(path ? { host: path, database: db } : { host, port, database: db })}`;
}
