import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { TestServer } from "./kept-server.ts";
import { privateRedis } from "./redis.ts";

export interface RedisOfFile {
  readonly server: TestServer;
  readonly admin: Redis;
}

/** A Redis for one test file, which is empty before each test. Call it at the top of the file, and read its fields in hooks and tests. */
export function redisOfFile(...options: string[]): RedisOfFile {
  let server: TestServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await privateRedis(...options);
    admin = new Redis(server.url);
  });
  beforeEach(() => admin.flushall());
  afterAll(async () => {
    admin.disconnect();
    await server.close();
  });
  return {
    get server() {
      return server;
    },
    get admin() {
      return admin;
    },
  };
}
