import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crashSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { crashes } from "../../../test/support/crashes.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "crash-"));
  process.env["STATE_FOLDER"] = join(folder, "state");
  process.env["KEY_FOLDER"] = folder;
});
afterAll(() => rm(folder, { recursive: true }));

crashSuite(
  "files",
  {
    state: import.meta.resolve("./store/open-file-state.ts"),
    keys: import.meta.resolve("./verify/open-file-keys.ts"),
    ...crashes,
  },
  { describe, it },
);

crashSuite(
  "stateKeySource on files",
  { keys: import.meta.resolve("./store/open-state-keys.ts"), ...crashes },
  { describe, it },
);
