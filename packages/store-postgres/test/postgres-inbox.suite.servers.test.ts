import { inboxSuite } from "@esim-webhooks/conformance";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startPostgres, type TestServer } from "../../../test/servers/index.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startPostgres();
  const inbox = postgresInbox({ url: server.url, fairBy: "source" });
  await inbox.migrate();
  await inbox.close();
});
afterAll(() => server.close());

inboxSuite(
  "postgresInbox",
  {
    capabilities: {
      roles: ["writer", "queue", "admin", "rerun"],
      durable: true,
      multiProcess: true,
      transactional: true,
      ordered: true,
      fairBy: "source",
      retentionMs: 30 * 86_400_000,
    },
    open: (options) => postgresInbox({ url: server.url, timeoutMs: 30_000, ...options }),
    openStore: (options) => postgresStore({ url: server.url, timeoutMs: 30_000, ...options }),
    server: async () => server,
  },
  { describe, it },
);
