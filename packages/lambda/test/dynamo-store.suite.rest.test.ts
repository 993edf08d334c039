import { storeSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { TestServer } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { startDynalite } from "./dynalite.ts";
import open from "./open-dynamo-store.ts";

expectWarnings("short_retention");

let server: TestServer;
beforeAll(async () => {
  server = await startDynalite();
  process.env["DYNAMO_URL"] = server.url;
});
afterAll(() => server.close());

storeSuite(
  "dynamoStore",
  {
    capabilities: { durable: true, multiProcess: true, transactional: false, retentionMs: 30 * 86_400_000 },
    open,
    module: import.meta.resolve("./open-dynamo-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server: async () => server,
  },
  { describe, it },
);
