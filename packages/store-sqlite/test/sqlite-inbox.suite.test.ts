import { join } from "node:path";
import { inboxSuite } from "@esim-webhooks/conformance";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { afterAll, describe, it } from "vitest";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { temporaryFolder } from "./temporary-folder.ts";

expectWarnings("event_dead", "listener_failed", "short_retention");

const folder = temporaryFolder();
afterAll(folder.remove);
const file = { path: join(folder.path, "events.db"), timeoutMs: 60_000 };

/** Keeps the threads of the file, which all inboxes of a process share: starting them for each test would be most of the work. */
const kept = sqliteInbox(file);
afterAll(kept.close);

const capabilities = {
  roles: ["writer", "queue", "admin", "rerun"],
  durable: true,
  multiProcess: true,
  transactional: true,
  ordered: true,
  retentionMs: 30 * 24 * 3_600_000,
} as const;

inboxSuite(
  "sqliteInbox",
  {
    capabilities,
    open: (options) => sqliteInbox({ ...file, ...options }),
    openStore: (options) => sqliteStore({ ...file, ...options }),
  },
  { describe, it },
);
