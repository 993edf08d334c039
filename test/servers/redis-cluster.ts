import { Redis } from "ioredis";
import { freePort, type TestServer } from "./kept-server.ts";
import { privateRedisAt } from "./redis.ts";

/** A Redis Cluster of masters only, with an equal share of the slots each. */
export interface TestCluster {
  readonly nodes: readonly { host: string; port: number; url: string }[];
  close(): Promise<void>;
}

const slots = 16_384;

export async function privateRedisCluster(size: number): Promise<TestCluster> {
  const servers = await Promise.all(Array.from({ length: size }, startNode));
  const nodes = servers.map(({ url }) => ({ host: "127.0.0.1", port: Number(new URL(url).port), url }));
  const clients = nodes.map(({ url }) => new Redis(url));
  try {
    await Promise.all(clients.map((client, index) => client.cluster("ADDSLOTS", slotsOf(index, size))));
    for (const { host, port } of nodes) await clients[0]?.cluster("MEET", host, port);
    await Promise.all(clients.map((client) => untilItKnows(client, size)));
  } finally {
    for (const client of clients) client.disconnect();
  }
  return {
    nodes,
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

async function startNode(): Promise<TestServer> {
  const port = await freePort(); // the port + 10,000 is the cluster bus
  return privateRedisAt(port, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1");
}

function slotsOf(index: number, size: number): number[] {
  return Array.from({ length: slots }, (_, slot) => slot).filter(
    (slot) => Math.floor((slot * size) / slots) === index,
  );
}

/** Polls until a node knows the owner of each slot. */
async function untilItKnows(client: Redis, size: number): Promise<void> {
  for (;;) {
    const info = await client.cluster("INFO");
    if (info.includes("cluster_state:ok") && info.includes(`cluster_size:${size}`)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
