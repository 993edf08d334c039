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
  for (const table of ["line", "profile"])
    database.exec(`create table ${table} (esim text primary key, status text not null)`);
  const store = sqliteStore({ path });
  const { process } = createProcessor(handlers, { store });
  const outcomes: string[] = [];
  for (const [type, timestamp] of [
    ["esim.lifecycle.activated", "2026-11-20T09:30:02Z"],
    ["esim.lifecycle.suspended", "2026-11-20T09:30:01Z"],
    ["esim.disabled", "2026-11-20T09:30:04Z"],
    ["esim.enabled", "2026-11-20T09:30:03Z"],
  ] as const) {
    const { code } = await process({ id: timestamp, type, timestamp, data: sampleData(type) } as never);
    outcomes.push(code);
  }
  const statuses = database.prepare("select status from line union all select status from profile").all();
  database.close();
  await store.close();
  rmSync(folder, { recursive: true });
  assert.deepEqual(outcomes, ["processed", "discarded", "processed", "discarded"]);
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ["active", "esim.disabled"],
  );
});
