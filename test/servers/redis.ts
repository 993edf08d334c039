import { spawnSync } from "node:child_process";
import { Redis } from "ioredis";
import { find, program } from "./binaries.ts";
import { freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

/** A private Redis that keeps its data through a SIGKILL. `args` are arguments of redis-server. */
export async function privateRedis(...args: readonly string[]): Promise<TestServer> {
  return privateRedisAt(await freePort(), ...args);
}

/** The same, run by a program such as `env` with these arguments, which the command of the server follows. */
export async function privateRedisBy(runner: readonly string[]): Promise<TestServer> {
  return keepRedis(program("redis-server", "redis-server", ""), await freePort(), [], runner);
}

export async function privateRedisAt(port: number, ...args: readonly string[]): Promise<TestServer> {
  return keepRedis(program("redis-server", "redis-server", ", or start Docker"), port, args);
}

/** A private server that has WAITAOF: Redis 7.2 or newer, or Valkey. Undefined if none is installed. */
export async function privateRedisWithWaitAof(): Promise<TestServer | undefined> {
  const paths = ["redis-server", "valkey-server"].map(find).filter((path) => path !== undefined);
  const path = paths.find(hasWaitAof);
  if (path === undefined) return undefined;
  return keepRedis({ path, way: `a private ${path}` }, await freePort(), ["--appendfsync", "everysec"]);
}

function hasWaitAof(path: string): boolean {
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(spawnSync(path, ["--version"]).stdout.toString()) ?? [];
  return Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
}

async function keepRedis(
  { path, way }: ReturnType<typeof program>,
  port: number,
  args: readonly string[],
  runner: readonly string[] = [],
): Promise<TestServer> {
  const folder = await serverFolder("redis");
  const url = `redis://127.0.0.1:${port}`;
  // Redis writes the file before each answer; with everysec, a write waits while the file is synced, and a SIGKILL then loses it
  const files = ["--dir", folder, "--appendonly", "yes", "--appendfsync", "no", "--save", ""];
  const [command = path, ...before] = [...runner, path];
  return keepServer(way, folder, {
    command,
    args: [...before, "--bind", "127.0.0.1", "--port", String(port), ...files, ...args],
    url,
    stopSignal: "SIGTERM",
    probe: () => probeRedis(url),
  });
}

export async function probeRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on("error", () => {});
  try {
    await client.ping();
  } finally {
    client.disconnect();
  }
}
