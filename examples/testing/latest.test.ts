// node --test
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createProcessor } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { sqliteStore } from "@esim-webhooks/store-sqlite";
import { handlers } from "./latest.ts";

test("an older event does not overwrite the status of a newer one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "latest-"));
  const path = join(folder, "lines.db");
  const database = new DatabaseSync(path);
  database.exec("create table line (esim text primary key, status text not null)");
  const store = sqliteStore({ path });
  const { process } = createProcessor(handlers, { store });
  const newer = { id: "2", type: "esim.lifecycle.activated", timestamp: "2026-11-20T09:30:02Z" } as const;
  const older = { id: "1", type: "esim.lifecycle.suspended", timestamp: "2026-11-20T09:30:01Z" } as const;
  const outcomes = [
    await process({ ...newer, data: sampleData(newer.type) }),
    await process({ ...older, data: sampleData(older.type) }),
  ];
  const statuses = database.prepare("select status from line").all();
  database.close();
  await store.close();
  rmSync(folder, { recursive: true });
  assert.deepEqual(
    outcomes.map(({ code }) => code),
    ["processed", "discarded"],
  );
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ["active"],
  );
});
