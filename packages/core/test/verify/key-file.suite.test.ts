import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keySuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import open from "./open-file-keys.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "key-file-"));
  process.env["KEY_FOLDER"] = folder;
});
afterAll(() => rm(folder, { recursive: true }));

keySuite(
  "fileKeySource",
  {
    open,
  },
  { describe, it },
);
