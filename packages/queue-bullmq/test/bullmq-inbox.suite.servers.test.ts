import { inboxSuite } from "@esim-webhooks/conformance";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startRedis, type TestServer } from "../../../test/servers/index.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings("event_dead", "listener_failed", "short_retention");

let server: TestServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());

inboxSuite(
  "bullmqInbox",
  {
    capabilities: {
      roles: ["writer", "admin"],
      filters: ["state", "ids"],
      pauses: "all",
      givesUp: false,
      bodies: "with events",
      durable: true,
      multiProcess: true,
      transactional: false,
      ordered: false,
      retentionMs: 30 * 86_400_000,
    },
    open: ({ retentionMs, timeoutMs = 30_000, minuteCounts = false, subject }) =>
      bullmqInbox({
        connection: server.url,
        timeoutMs,
        minuteCounts,
        ...(retentionMs !== undefined && { retentionMs }),
        ...(subject !== undefined && { subject }),
      }),
    server: async () => server,
  },
  { describe, it },
);
