import { join } from "node:path";
import { stateSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
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
    module: import.meta.resolve("./open-sqlite-state.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
  },
  { describe, it },
);
