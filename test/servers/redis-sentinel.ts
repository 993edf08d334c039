import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { program } from "./binaries.ts";
import { freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";
import { privateRedis, probeRedis } from "./redis.ts";

/** A replica that is in sync with its master. It is ready sooner if the master was started with `--repl-diskless-sync no`. */
export async function privateReplica(master: TestServer): Promise<TestServer> {
  const { hostname, port } = new URL(master.url);
  const replica = await privateRedis("--replicaof", hostname, port);
  await untilInfo(replica.url, "replication", /master_link_status:up/);
  return replica;
}

/** A master with a replica, and a Sentinel that promotes the replica once the master was killed. */
export interface TestFailover {
  killMaster(): Promise<void>;
  readonly replica: TestServer;
  /** The options of an ioredis client that finds the master through the Sentinel. */
  readonly options: { readonly sentinels: { host: string; port: number }[]; readonly name: string };
  close(): Promise<void>;
}

export async function privateFailover(): Promise<TestFailover> {
  const name = "main";
  const master = await privateRedis("--repl-diskless-sync", "no");
  const replica = await privateReplica(master);
  const sentinel = await sentinelOf(name, master);
  return {
    async killMaster() {
      await master.kill();
      await withClient(sentinel.url, (client) =>
        client.call("SENTINEL", "SET", name, "down-after-milliseconds", "500"),
      );
    },
    replica,
    options: { sentinels: [{ host: "127.0.0.1", port: Number(new URL(sentinel.url).port) }], name },
    async close() {
      for (const server of [sentinel, replica, master]) await server.close();
    },
  };
}

/** Starts a Sentinel that takes a silent master for down after a minute: on a busy machine, a master may stall for seconds. */
async function sentinelOf(name: string, master: TestServer): Promise<TestServer> {
  const { path, way } = program("redis-server", "redis-server", "");
  const folder = await serverFolder("sentinel");
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const file = join(folder, "sentinel.conf"); // Sentinel rewrites it
  const { hostname, port: masterPort } = new URL(master.url);
  const lines = [
    "bind 127.0.0.1",
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor ${name} ${hostname} ${masterPort} 1`,
    `sentinel down-after-milliseconds ${name} 60000`,
    `sentinel failover-timeout ${name} 2000`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  await chmod(file, 0o666); // only the server can enter the folder
  const sentinel = await keepServer(way, folder, {
    command: path,
    args: [file, "--sentinel"],
    url,
    stopSignal: "SIGTERM",
    probe: () => probeRedis(url),
  });
  await untilInfo(url, "sentinel", /status=ok.*slaves=1,/);
  return sentinel;
}

/** Polls until a section of INFO matches the pattern. */
async function untilInfo(url: string, section: string, pattern: RegExp): Promise<void> {
  await withClient(url, async (client) => {
    while (!pattern.test(await client.info(section))) await new Promise((resolve) => setTimeout(resolve, 50));
  });
}

async function withClient(url: string, use: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url);
  try {
    await use(client);
  } finally {
    client.disconnect();
  }
}
