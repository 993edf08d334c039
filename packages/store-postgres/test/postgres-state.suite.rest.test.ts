import { keySuite, stateSuite } from "@esim-webhooks/conformance";
import { postgresState } from "@esim-webhooks/store-postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startPostgres, type TestServer } from "../../../test/servers/index.ts";
import openKeys from "./open-postgres-keys.ts";
import open from "./open-postgres-state.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startPostgres();
  process.env["STORE_URL"] = server.url;
  const state = postgresState({ url: server.url });
  await state.migrate();
  await state.close();
});
afterAll(() => server.close());

stateSuite(
  "postgresState",
  {
    capabilities: { durable: true, multiProcess: true },
    open,
    module: import.meta.resolve("./open-postgres-state.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server: async () => server,
  },
  { describe, it },
);

keySuite(
  "stateKeySource on postgresState",
  {
    open: openKeys,
    module: import.meta.resolve("./open-postgres-keys.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
  },
  { describe, it },
);
