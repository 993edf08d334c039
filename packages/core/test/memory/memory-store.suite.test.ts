import { storeSuite } from "@esim-webhooks/conformance";
import { describe, it } from "vitest";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import open from "./open-memory-store.ts";

expectWarnings("short_retention");

storeSuite(
  "memoryStore",
  {
    capabilities: { durable: false, multiProcess: false, transactional: false, retentionMs: 30 * 86_400_000 },
    open,
    module: import.meta.resolve("./open-memory-store.ts"),
    execArgv: ["--conditions=@esim-webhooks/source"],
  },
  { describe, it },
);
