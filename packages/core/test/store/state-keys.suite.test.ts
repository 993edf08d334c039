import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keySuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import open from "./open-state-keys.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "state-keys-"));
  process.env["STATE_FOLDER"] = folder;
});
afterAll(() => rm(folder, { recursive: true }));

keySuite(
  "stateKeySource on fileState",
  {
    open,
  },
  { describe, it },
);
