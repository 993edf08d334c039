import { startContainer } from "./docker.ts";
import type { TestServer } from "./kept-server.ts";
import { privatePostgres, probePostgres } from "./postgres.ts";
import { privateRedis, privateRedisWithWaitAof, probeRedis } from "./redis.ts";

export type { TestServer } from "./kept-server.ts";
export { privatePgBouncer } from "./pgbouncer.ts";
export { privatePostgres, privateStandby } from "./postgres.ts";
export { startProxy, type TestProxy } from "./proxy.ts";
export { privateRedis } from "./redis.ts";
export { privateRedisCluster, type TestCluster } from "./redis-cluster.ts";
export { privateFailover, privateReplica } from "./redis-sentinel.ts";

/** Starts a Redis for one test, which may stop and kill it: in Docker, else from an installed program. */
export async function startRedis(): Promise<TestServer> {
  return (await redisContainer("no")) ?? privateRedis();
}

/** The same, of a version that has WAITAOF (7.2). Undefined without Docker, if no such server is installed. */
export async function startRedisWithWaitAof(): Promise<TestServer | undefined> {
  return (await redisContainer("everysec")) ?? privateRedisWithWaitAof();
}

function redisContainer(appendfsync: string): Promise<TestServer | undefined> {
  return startContainer({
    image: "redis:7-alpine",
    port: 6379,
    command: ["redis-server", "--appendonly", "yes", "--appendfsync", appendfsync],
    environment: {},
    url: (port) => `redis://127.0.0.1:${port}`,
    probe: probeRedis,
  });
}

/** Starts a Postgres for one test, which may stop and kill it: in Docker, else from an installed program, by `startPrivate`. */
export async function startPostgres(startPrivate = privatePostgres): Promise<TestServer> {
  const container = await startContainer({
    image: "postgres:17-alpine",
    port: 5432,
    command: ["postgres", "-c", "max_connections=200"],
    environment: { POSTGRES_HOST_AUTH_METHOD: "trust" },
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    probe: probePostgres,
  });
  return container ?? startPrivate();
}
