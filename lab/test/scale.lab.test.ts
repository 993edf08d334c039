import { tmpdir } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { calls, timeOnce } from "../scale/calls.ts";
import { checkCopies } from "../scale/check-copies.ts";
import { postgresEngine } from "../scale/postgres.ts";
import { sqliteEngine } from "../scale/sqlite.ts";

const copies = { rows: 20_000, expired: 1500 };

it.each([
  ["SQLite", async () => sqliteEngine(tmpdir())],
  ["Postgres", postgresEngine],
])(
  "%s: the product reads, works, erases, purges and migrates the copies as rows of its own",
  async (_, openEngine) => {
    const engine = await openEngine();
    onTestFinished(() => engine.close());
    const table = await engine.open("copies", copies);
    const { inbox } = table;
    await checkCopies(inbox, copies);

    expect((await inbox.gauges()).counts.dead).toBe(401); // the copies, and the row that was copied
    const due = await inbox.take({ limit: 300, leaseMs: 600_000 });
    expect(due.length).toBeGreaterThan(150); // 100 are due, and 100 more in lanes
    for (const round of [0, 1]) for (const call of calls) await timeOnce(call, table, copies.rows, round);
    expect(await inbox.purge(1000)).toBe(500); // the calls have purged 500 in each round
    await table.close();
  },
);
