import type { TestProject } from "vitest/node";
import { startPostgres, startRedis, type TestServer } from "./index.ts";
import { missingServers, type SharedServer } from "./missing.ts";
import { sharedPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string;
    postgresUrl: string;
  }
}

/**
 * Starts the servers that the tests share, unless the environment names them, and prints how each was started. Their files are where
 * the tests have theirs. Prints which tests are skipped for want of a server; in CI this is an error.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { TMPDIR } = project.config.env;
  if (TMPDIR !== undefined) process.env["TMPDIR"] = TMPDIR;
  const missing = missingServers();
  for (const { notice } of Object.values(missing)) {
    if (process.env["CI"]) throw new Error(notice);
    process.stdout.write(`${notice}\n`);
  }
  const serverOf = (name: SharedServer, variable: string, start: () => Promise<TestServer>) =>
    missing[name] === undefined ? sharedServer(name, variable, start) : noServer;
  const [redis, postgres] = await Promise.all([
    serverOf("Redis", "REDIS_URL", startRedis),
    serverOf("Postgres", "DATABASE_URL", () => startPostgres(sharedPostgres)),
  ]);
  project.provide("redisUrl", redis.url);
  project.provide("postgresUrl", postgres.url);
  return async () => {
    await Promise.all([redis.close(), postgres.close()]);
  };
}

/** In place of a server whose tests are skipped. */
const noServer: Pick<TestServer, "url" | "close"> = { url: "", close: async () => {} };

async function sharedServer(
  name: SharedServer,
  variable: string,
  start: () => Promise<TestServer>,
): Promise<Pick<TestServer, "url" | "close">> {
  const url = process.env[variable];
  const server = url ? { url, way: `the one in ${variable}`, close: async () => {} } : await start();
  process.stdout.write(`${name} for the tests: ${server.way}\n`);
  return server;
}
