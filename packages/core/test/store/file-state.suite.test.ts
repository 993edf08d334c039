import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stateSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import open from "./open-file-state.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "file-state-"));
  process.env["STATE_FOLDER"] = join(folder, "made", "by-it");
});
afterAll(() => rm(folder, { recursive: true }));

stateSuite(
  "fileState",
  {
    capabilities: { durable: true, multiProcess: true },
    open,
  },
  { describe, it },
);
