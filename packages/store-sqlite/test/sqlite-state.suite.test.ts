import { join } from "node:path";
import { keySuite, stateSuite } from "@esim-webhooks/conformance";
import { sqliteState } from "@esim-webhooks/store-sqlite";
import { afterAll, beforeAll, describe, it } from "vitest";
import openKeys from "./open-sqlite-keys.ts";
import open from "./open-sqlite-state.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
afterAll(folder.remove);
beforeAll(() => {
  const path = join(folder.path, "events.db");
  process.env["STORE_PATH"] = path;
  return sqliteState({ path }).close; // its threads stay, and all states of the process share them
});

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
