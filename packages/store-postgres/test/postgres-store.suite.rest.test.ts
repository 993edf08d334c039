import { storeSuite } from "@esim-webhooks/conformance";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { describe, it } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { suiteServer } from "./suite-server.ts";

expectWarnings("short_retention");

const { server, database } = suiteServer();

storeSuite(
  "postgresStore",
  {
    capabilities: { durable: true, multiProcess: true, transactional: true, retentionMs: 30 * 86_400_000 },
    open: (options) => postgresStore({ ...options, ...database(options) }),
    module: import.meta.resolve("./open-postgres-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
    server,
  },
  { describe, it },
);
