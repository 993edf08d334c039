import { Cluster, Redis } from "ioredis";
import { expect, it } from "vitest";
import { queuePlace } from "../src/redis/connection.ts";
import type { BullmqQueue } from "../src/redis/queue.ts";

const lazy = { lazyConnect: true, password: "hidden" };

it.each<[string, object | undefined, string]>([
  ["a client", new Redis(6380, "redis.example", { ...lazy, db: 2 }), "Redis at redis.example:6380/2"],
  ["a Cluster", new Cluster([{ host: "one" }], { lazyConnect: true }), "a Redis Cluster"],
  ["BullMQ's options", { host: "redis.example", password: "hidden" }, "Redis at redis.example:6379"],
  ["a URL in them", { url: "redis://user:hidden@redis.example:6380/2" }, "Redis at redis.example:6380/2"],
  [
    "a URL that says no end of its password",
    { url: "redis://user:hid/den@redis.example" },
    "Redis at its URL",
  ],
  [
    "a URL as the host",
    { host: "redis://:hidden@redis.example:6379", db: 2 },
    "Redis at an address that is a URL",
  ],
  [
    "a URL as the path",
    new Redis({ ...lazy, path: "redis://:hidden@redis.example:6379" }),
    "Redis at an address that is a URL",
  ],
  ["no options", undefined, "Redis at localhost:6379"],
])("says where the queue is, without user and password: %s", (_, connection, place) => {
  const queue = { name: "events", opts: { prefix: "bull", connection } } as unknown as BullmqQueue;
  expect(queuePlace(queue)).toBe(`the queue events on ${place}`);
});
