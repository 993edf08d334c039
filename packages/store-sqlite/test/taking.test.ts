import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { entryColumns } from "../src/columns.ts";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { put } from "../src/sql/put.ts";
import { take } from "../src/sql/take.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
let connection: Connection;
beforeAll(() => {
  connection = openWriter({ path: join(folder.path, "events.db"), durability: "full", busyMs: 100 });
});
afterAll(() => {
  connection.close();
  folder.remove();
});

it("gives the events that are due the longest first, whichever was stored first, each with a token of its own", () => {
  inTransaction(connection, (tx) => {
    for (const [id, dueSinceMs] of [
      ["last", 1000],
      ["first", 3000],
      ["second", 2000],
    ] as const) {
      const row = { source: "default", id, type: "a", receivedAt: 1, occurredAt: 1, lane: null };
      put(
        { ...tx, nowMs: tx.nowMs - dueSinceMs },
        {
          columns: entryColumns,
          rows: [
            {
              ...row,
              body: Buffer.from(id),
              replay: null,
              rebuilt: false,
              fingerprint: 1,
              subject: null,
              key: null,
              trace: null,
            },
          ],
        },
      );
    }
  });
  const { events: taken } = inTransaction(connection, (tx) =>
    take(tx, { limit: 5, leaseMs: 1000, laneHeldByDead: false, after: "" }),
  );
  expect(taken.map(({ id }) => id)).toEqual(["first", "second", "last"]);
  expect(taken.map(({ body }) => String.fromCharCode(...body))).toEqual(["first", "second", "last"]);
  expect(new Set(taken.map(({ token }) => token)).size).toBe(3);
});
