import { tmpdir } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { checkCopies } from "../scale/check-copies.ts";
import { makeRows } from "../scale/kinds.ts";
import { postgresEngine } from "../scale/postgres.ts";
import { sqliteEngine } from "../scale/sqlite.ts";

const copies = { rows: 2000, expired: 500 };

it.each([
  ["SQLite", async () => sqliteEngine(tmpdir())],
  ["Postgres", postgresEngine],
])("%s: the product reads, purges and migrates the copies as rows of its own", async (_, openEngine) => {
  const engine = await openEngine();
  onTestFinished(() => engine.close());
  const table = await engine.open("copies", copies, makeRows);
  const { inbox } = table;
  await checkCopies(inbox, copies);

  expect(await inbox.purge(1000)).toBe(copies.expired);
  await table.addColumn();
  await table.addColumn();
  const leases = await inbox.take({ limit: 100, leaseMs: 60_000 });
  expect(leases.length).toBeGreaterThan(15); // a hundredth is due, half of them in lanes
  expect((await inbox.gauges()).counts.dead).toBe(41); // the copies, and the row that was copied
  await table.close();
});
