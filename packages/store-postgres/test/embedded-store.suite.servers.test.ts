import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import open from "./open-embedded-store.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "esim-webhooks-embedded-"));
  process.env["STORE_FOLDER"] = join(folder, "data");
});
afterAll(() => rm(folder, { recursive: true }));

const execArgv = ["--conditions=@esim-webhooks/source"];
const module = import.meta.resolve("./open-embedded-store.ts");

storeSuite(
  "embeddedStore",
  {
    capabilities: { durable: true, multiProcess: false, transactional: true, retentionMs: 30 * 86_400_000 },
    open,
    module,
    execArgv,
  },
  { describe, it },
);
