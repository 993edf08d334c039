import { redisState, redisStore } from "@esim-webhooks/store-redis";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { closedAfterEach } from "../../../test/closed-after-each.ts";
import { redisPair } from "../../../test/failover/pair.ts";
import { failoverSuite, stateWriter, storeWriter } from "../../../test/failover/suite.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings("read_only_store");

failoverSuite("redisStore", {
  start: redisPair,
  open: async (url) => storeWriter(redisStore(url)),
  openWaiting: async (url) => storeWriter(redisStore(url, { waitReplicas: 1, timeoutMs: 10_000 })),
});

failoverSuite("redisState", {
  start: redisPair,
  open: async (url) => stateWriter(redisState(url)),
  openWaiting: async (url) => stateWriter(redisState(url, { waitReplicas: 1, timeoutMs: 10_000 })),
});

const opened = closedAfterEach();

it("writes to the new primary on a client that was passed with the reconnectOnError of the error's message", async () => {
  const pair = await redisPair();
  opened.push(pair);
  const client = new Redis(pair.url, { reconnectOnError: ({ message }) => message.includes("READONLY") });
  client.on("error", () => {});
  opened.push({ close: () => client.disconnect() });
  const writer = storeWriter(redisStore(client));
  await writer.write("before");
  await pair.demote();
  await expect(writer.ready()).rejects.toThrow(
    /reconnectOnError: \(\{ message \}\) => message\.includes\("READONLY"\)/,
  );
  await pair.lead();
  await expect.poll(() => writer.write("after").catch(String)).toBeUndefined();
});
