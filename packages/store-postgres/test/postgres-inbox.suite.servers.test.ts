import { inboxSuite } from "@esim-webhooks/conformance";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { describe, it } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { suiteServer } from "./suite-server.ts";

expectWarnings("event_dead", "listener_failed", "short_retention");

const { server, database } = suiteServer();

inboxSuite(
  "postgresInbox",
  {
    capabilities: {
      roles: ["writer", "queue", "admin", "rerun"],
      durable: true,
      multiProcess: true,
      transactional: true,
      ordered: true,
      retentionMs: 30 * 86_400_000,
    },
    open: (options) => postgresInbox({ ...options, ...database(options) }),
    openStore: (options) => postgresStore({ ...options, ...database(options) }),
    server,
  },
  { describe, it },
);
