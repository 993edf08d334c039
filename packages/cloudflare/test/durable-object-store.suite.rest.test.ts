import { join } from "node:path";
import { storeSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { TestServer } from "../../../test/servers/index.ts";
import { bundleWorker, startWorkerd } from "../../../test/servers/workerd.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import open from "./open-durable-object-store.ts";

expectWarnings("short_retention");

let server: TestServer;
beforeAll(async () => {
  server = await startWorkerd(await bundleWorker(join(import.meta.dirname, "dedupe-worker.ts")));
  process.env["WORKERD_URL"] = server.url;
});
afterAll(() => server.close());

storeSuite(
  "durableObjectStore, whose objects run on workerd",
  {
    capabilities: { durable: true, multiProcess: true, transactional: false, retentionMs: 30 * 86_400_000 },
    open,
    module: import.meta.resolve("./open-durable-object-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server: async () => server,
  },
  { describe, it },
);
