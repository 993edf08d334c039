import { Redis } from "ioredis";
import { program } from "./binaries.ts";
import { freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

/** A private Redis that keeps its data through a SIGKILL. `args` are arguments of redis-server. */
export async function privateRedis(...args: readonly string[]): Promise<TestServer> {
  return privateRedisAt(await freePort(), ...args);
}

export async function privateRedisAt(port: number, ...args: readonly string[]): Promise<TestServer> {
  const { path, way } = program("redis-server", "redis-server", ", or start Docker");
  const folder = await serverFolder("redis");
  const url = `redis://127.0.0.1:${port}`;
  const files = ["--dir", folder, "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
  return keepServer(way, folder, {
    command: path,
    args: ["--bind", "127.0.0.1", "--port", String(port), ...files, ...args],
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
