import { afterAll, beforeAll } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { redisStoreSuite } from "./redis-store-suite.ts";

expectWarnings("short_retention");

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
  process.env["STORE_URL"] = server.url;
});
afterAll(() => server.close());

redisStoreSuite("others", async () => server);
