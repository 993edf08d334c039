import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inboxSuite } from "@esim-webhooks/conformance";
import { embeddedInbox } from "@esim-webhooks/store-postgres";
import { afterAll, beforeAll, describe, it } from "vitest";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "esim-webhooks-embedded-"));
});
afterAll(() => rm(folder, { recursive: true }));

inboxSuite(
  "embeddedInbox",
  {
    capabilities: {
      roles: ["writer", "queue", "admin", "rerun"],
      durable: true,
      multiProcess: false,
      transactional: true,
      ordered: true,
      retentionMs: 30 * 86_400_000,
    },
    open: ({ timeoutMs: _, ...options }) => embeddedInbox({ dataDir: join(folder, "data"), ...options }),
  },
  { describe, it },
);
