import { crashSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import { crashes } from "../../../test/support/crashes.ts";
import { redisStoreSuite } from "./redis-store-suite.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
  process.env["STORE_URL"] = server.url;
});
afterAll(() => server.close());

crashSuite(
  "Redis",
  {
    store: import.meta.resolve("./open-redis-store.ts"),
    state: import.meta.resolve("./open-redis-state.ts"),
    keys: import.meta.resolve("./open-redis-keys.ts"),
    ...crashes,
  },
  { describe, it },
);

redisStoreSuite("processes", async () => server);
