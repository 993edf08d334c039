import { storeSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import open from "./open-redis-store.ts";

expectWarnings("short_retention");

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
  process.env["STORE_URL"] = server.url;
});
afterAll(() => server.close());

storeSuite(
  "redisStore",
  {
    capabilities: { durable: true, multiProcess: true, transactional: false, retentionMs: 30 * 86_400_000 },
    open,
    module: import.meta.resolve("./open-redis-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server: async () => server,
  },
  { describe, it },
);
