import { storeSuite } from "@esim-webhooks/conformance";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startPostgres, type TestServer } from "../../../test/servers/index.ts";
import open from "./open-postgres-store.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startPostgres();
  process.env["STORE_URL"] = server.url;
  const store = postgresStore({ url: server.url });
  await store.migrate();
  await store.close();
});
afterAll(() => server.close());

storeSuite(
  "postgresStore",
  {
    capabilities: { durable: true, multiProcess: true, transactional: true, retentionMs: 30 * 86_400_000 },
    open,
    module: import.meta.resolve("./open-postgres-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server: async () => server,
  },
  { describe, it },
);
