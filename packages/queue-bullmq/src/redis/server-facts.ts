import type { QueueClient } from "./queue.ts";

/** What a Redis server says about itself. Undefined: it does not tell, as some managed servers and proxies. */
export interface ServerFacts {
  readonly version: string | undefined;
  /** Its `maxmemory-policy`. */
  readonly policy: string | undefined;
  /** Whether it writes an append-only file. */
  readonly isAofOn: boolean | undefined;
  /** Its `appendfsync`. */
  readonly fsync: string | undefined;
}

/** Reads INFO, which BullMQ needs anyway, and CONFIG as far as the server and the client allow. */
export async function serverFacts(server: QueueClient): Promise<ServerFacts> {
  const info = await server.info();
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
  const aof = field("aof_enabled");
  return {
    version: field("redis_version"),
    policy: field("maxmemory_policy"),
    isAofOn: aof === undefined ? undefined : aof === "1",
    fsync: valueIn(await server.config?.("GET", "appendfsync").catch(() => undefined)),
  };
}

/** Whether a version, such as 7.0.15, is older than another one, such as 7.2. */
export function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [thanMajor = 0, thanMinor = 0] = than.split(".").map(Number);
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}

/** ioredis returns a list of names and values, or an object when its `replyMapping` is `resp3`. */
function valueIn(answer: unknown): string | undefined {
  const value = Array.isArray(answer)
    ? answer[1]
    : (answer as Record<string, unknown> | undefined)?.["appendfsync"];
  return typeof value === "string" ? value : undefined;
}
