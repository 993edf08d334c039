import { join } from "node:path";
import { keySuite, stateSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import openKeys from "./open-sqlite-keys.ts";
import open from "./open-sqlite-state.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
beforeAll(() => {
  process.env["STORE_PATH"] = join(folder.path, "events.db");
});
afterAll(folder.remove);

stateSuite(
  "sqliteState",
  {
    capabilities: { durable: true, multiProcess: true },
    open,
  },
  { describe, it },
);

keySuite(
  "stateKeySource on sqliteState",
  {
    open: openKeys,
  },
  { describe, it },
);
