import { type RedisClient, redisStore } from "@esim-webhooks/store-redis";
import { Cluster, Redis } from "ioredis";
import { expect, it } from "vitest";

const lazy = { lazyConnect: true, password: "hidden" };

it.each<[string, Redis | Cluster, string]>([
  ["a client", new Redis(6380, "redis.example", { ...lazy, db: 2 }), "Redis at redis.example:6380/2"],
  ["a client on a local socket", new Redis("/run/redis.sock", lazy), "Redis at /run/redis.sock"],
  [
    "a client behind Sentinel",
    new Redis({ ...lazy, sentinels: [{ host: "one", port: 26_379 }], name: "events" }),
    "the Redis events behind Sentinel",
  ],
  [
    "a client with a URL as its host",
    new Redis({ ...lazy, host: "redis://:hidden@redis.example:6379", db: 2 }),
    "Redis at an address that is a URL",
  ],
  [
    "a client with a URL as its path",
    new Redis({ ...lazy, path: "redis://:hidden@redis.example:6379" }),
    "Redis at an address that is a URL",
  ],
  ["a Cluster", new Cluster([{ host: "one" }], { lazyConnect: true }), "a Redis Cluster"],
])("says where its keys are, without user and password: %s", async (_, client, place) => {
  const store = redisStore(client);
  expect(store.place).toBe(`${place}, keys esim-webhooks:*`);
  await store.close();
  client.disconnect();
});

it.each([
  ["no options", undefined],
  ["options without an address", {}],
])("says no place of a client with %s", async (_, options) => {
  const { evalsha, eval: evaluate, config, pipeline } = new Redis(lazy);
  const client = { evalsha, eval: evaluate, config, pipeline, ...(options && { options }) } as RedisClient;
  const store = redisStore(client);
  expect(store.place).toBeUndefined();
  await store.close();
});
