import { join } from "node:path";
import { storeSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import open from "./open-sqlite-store.ts";
import { temporaryFolder } from "./temporary-folder.ts";

expectWarnings("short_retention");

const folder = temporaryFolder();
beforeAll(() => {
  process.env["STORE_PATH"] = join(folder.path, "data", "events.db");
});
afterAll(folder.remove);

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
