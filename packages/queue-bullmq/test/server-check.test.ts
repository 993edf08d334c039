import { expect, it } from "vitest";
import { loggerWith } from "../../../test/support/loggers.ts";
import type { QueueClient } from "../src/redis/queue.ts";
import { createServerCheck, isOlder } from "../src/redis/server-check.ts";

function checkOf(version: string) {
  const client = { isCluster: false, info: async () => `redis_version:${version}\r\n` } as QueueClient;
  return createServerCheck({
    client: async () => client,
    keyStart: "bull:events",
    allowEviction: false,
    waitAof: false,
    logger: loggerWith(),
  });
}

it("refuses a server that is older than Redis 6.2, and says which it is", async () => {
  await expect(checkOf("6.0.16").check()).rejects.toMatchObject({
    code: "invalid_option",
    message: /needs Redis 6\.2 or newer; the server is 6\.0\.16/,
  });
  for (const version of ["6.2.0", "7.0.15", "10.0.0"]) await checkOf(version).check();
});

it.each([
  ["7.0.15", "7.2", true],
  ["6.9.0", "7.2", true],
  ["7.2.0", "7.2", false],
  ["7.10.1", "7.2", false],
  ["8.0.0", "7.2", false],
])("of the version %s, detects whether it is older than %s: %s", (version, than, expected) => {
  expect(isOlder(version, than)).toBe(expected);
});
