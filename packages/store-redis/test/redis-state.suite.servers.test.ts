import { keySuite, stateSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import openKeys from "./open-redis-keys.ts";
import open from "./open-redis-state.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
  process.env["STORE_URL"] = server.url;
});
afterAll(() => server.close());

stateSuite(
  "redisState",
  {
    capabilities: { durable: true, multiProcess: true },
    open,
    server: async () => server,
  },
  { describe, it },
);

keySuite(
  "stateKeySource on redisState",
  {
    open: openKeys,
  },
  { describe, it },
);
