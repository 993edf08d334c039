import { join } from "node:path";
import { storeSuite } from "@esim-webhooks/conformance";
import { sqliteStore } from "@esim-webhooks/store-sqlite";
import { afterAll, beforeAll, describe, it } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import open from "./open-sqlite-store.ts";
import { temporaryFolder } from "./temporary-folder.ts";

expectWarnings("short_retention");

const folder = temporaryFolder();
afterAll(folder.remove);
beforeAll(() => {
  const path = join(folder.path, "data", "events.db");
  process.env["STORE_PATH"] = path;
  return sqliteStore({ path }).close; // its threads stay, and all stores of the process share them
});

const execArgv = ["--conditions=@esim-webhooks/source"];
const module = import.meta.resolve("./open-sqlite-store.ts");

storeSuite(
  "sqliteStore",
  {
    capabilities: {
      durable: true,
      multiProcess: true,
      transactional: true,
      retentionMs: 30 * 24 * 3_600_000,
    },
    open,
    module,
    execArgv,
  },
  { describe, it },
);
