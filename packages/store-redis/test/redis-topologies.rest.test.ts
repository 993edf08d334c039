import type { DedupeStore, EventKey } from "@esim-webhooks/core";
import { redisStore } from "@esim-webhooks/store-redis";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closedAfterEach } from "../../../test/closed-after-each.ts";
import { privateFailover, privateRedisCluster, type TestCluster } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings("evicting_store");

const hourMs = 3_600_000;

const opened = closedAfterEach();

function keep<Client extends Redis | Cluster>(client: Client): Client {
  client.on("error", () => {});
  opened.push({ close: () => client.disconnect() });
  return client;
}

function keys(count: number, source: string): EventKey[] {
  return Array.from({ length: count }, (_, index) => ({ source, id: `msg_${index}` }));
}

async function statuses(store: DedupeStore, ids: readonly EventKey[]): Promise<string[]> {
  const claims = await Promise.all(ids.map((id) => store.claim(id, hourMs)));
  return claims.map(({ status }) => status);
}

async function complete(store: DedupeStore, ids: readonly EventKey[]): Promise<boolean[]> {
  return Promise.all(
    ids.map(async (id) => {
      const claim = await store.claim(id, hourMs);
      return claim.status === "claimed" && store.complete(id, claim.token);
    }),
  );
}

describe("redisStore on a Redis Cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await privateRedisCluster(3);
  });
  afterAll(() => cluster.close());

  it.each([false, true])(
    "claims and completes 300 ids once each, on all nodes, with enableAutoPipelining: %s",
    async (enableAutoPipelining) => {
      const masters = cluster.nodes.map(({ url }) => keep(new Redis(url)));
      for (const master of masters) await master.flushall();
      const client = keep(new Cluster([...cluster.nodes], { enableAutoPipelining }));
      const store = redisStore(client, { timeoutMs: 60_000 });
      const ids = keys(300, "cluster");
      const claims = await Promise.all([...ids, ...ids].map((id) => store.claim(id, hourMs)));
      const tokens = claims.map((claim) => (claim.status === "claimed" ? claim.token : ""));
      expect(tokens.filter(Boolean)).toHaveLength(300);
      expect(claims.filter(({ status }) => status === "busy")).toHaveLength(300);
      const completed = await Promise.all(
        [...ids, ...ids].map((id, index) => store.complete(id, tokens[index] ?? "")),
      );
      expect(completed.filter(Boolean)).toHaveLength(300);
      expect(new Set(await statuses(store, ids))).toEqual(new Set(["done"]));
      const sizes = await Promise.all(masters.map((master) => master.dbsize()));
      for (const size of sizes) expect(size).toBeGreaterThan(50);
      expect(sizes.reduce((sum, size) => sum + size)).toBe(300);
    },
  );

  it("rejects operations while one of its masters may evict keys, and names the policy", async () => {
    const client = keep(new Cluster([...cluster.nodes]));
    for (const { url } of cluster.nodes) {
      const master = keep(new Redis(url));
      const store = redisStore(client);
      await master.config("SET", "maxmemory-policy", "allkeys-lru");
      await expect(store.ready?.()).rejects.toMatchObject({
        code: "evicting_store",
        message: expect.stringContaining("allkeys-lru"),
      });
      await master.config("SET", "maxmemory-policy", "noeviction");
      await store.ready?.();
    }
  });

  it("refuses waitReplicas, since every node has replicas of its own", () => {
    const client = keep(new Cluster([...cluster.nodes]));
    expect(() => redisStore(client, { waitReplicas: 1 })).toThrow(/with a Cluster.*Remove waitReplicas/);
  });
});

describe("redisStore behind Sentinel", () => {
  it("still knows done ids after the replica was promoted, with waitReplicas", async () => {
    const failover = await privateFailover();
    opened.push(failover);
    const { replica, options } = failover;
    const client = keep(new Redis(options));
    const ids = keys(50, "sentinel");
    expect(new Set(await complete(redisStore(client, { waitReplicas: 1 }), ids))).toEqual(new Set([true]));

    const reconnected = new Promise((resolve) => client.once("ready", resolve));
    await failover.killMaster();
    await reconnected;
    const store = redisStore(client);
    expect(new Set(await statuses(store, ids))).toEqual(new Set(["done"]));
    expect(await complete(store, keys(1, "afterwards"))).toEqual([true]);
    expect(`redis://${client.stream.remoteAddress}:${client.stream.remotePort}`).toBe(replica.url);
  });
});
