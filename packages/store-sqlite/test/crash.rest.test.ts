import { join } from "node:path";
import { crashSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { crashes } from "../../../test/support/crashes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
beforeAll(() => {
  process.env["STORE_PATH"] = join(folder.path, "events.db");
});
afterAll(folder.remove);

crashSuite(
  "SQLite",
  {
    inbox: import.meta.resolve("./open-sqlite-inbox.ts"),
    ordered: true,
    store: import.meta.resolve("./open-sqlite-store.ts"),
    state: import.meta.resolve("./open-sqlite-state.ts"),
    keys: import.meta.resolve("./open-sqlite-keys.ts"),
    ...crashes,
  },
  { describe, it },
);
