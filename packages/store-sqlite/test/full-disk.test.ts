import { join } from "node:path";
import { expect, it } from "vitest";
import { entryColumns } from "../src/columns.ts";
import { pragma } from "../src/database/connection.ts";
import { faultOf } from "../src/database/faults.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { type PutRow, put } from "../src/sql/put.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();

function row(n: number): PutRow {
  const body = new Uint8Array(5000).fill(n);
  const times = { receivedAt: n, occurredAt: n };
  return {
    source: "default",
    id: `msg_${n}`,
    type: null,
    lane: null,
    replay: null,
    rebuilt: false,
    fingerprint: n,
    subject: null,
    key: null,
    trace: null,
    body,
    ...times,
  };
}

it("says that the disk is full, keeps what it has stored, and goes on once there is room", () => {
  const path = join(folder.path, "events.db");
  const connection = openWriter({ path, durability: "full", busyMs: 100 });
  const store = (n: number) =>
    inTransaction(connection, (tx) => put(tx, { rows: [row(n)], columns: entryColumns }));
  const pages = Number(pragma(connection, "page_count"));
  connection.exec(`pragma max_page_count = ${pages + 20}`);
  let stored = 0;
  const fill = () => {
    for (; stored < 100; stored++) store(stored);
  };
  let error: unknown;
  try {
    fill();
  } catch (thrown) {
    error = thrown;
  }
  expect(faultOf(error, path).code).toBe("store_full");
  expect(stored).toBeGreaterThan(1);
  expect(stored).toBeLessThan(20);
  const ids = () => connection.all<{ id: string }>("select id from esim_webhooks_event").length;
  expect(ids()).toBe(stored);
  connection.exec("pragma max_page_count = 1073741823");
  fill();
  expect(ids()).toBe(100);
  expect(pragma(connection, "integrity_check")).toBe("ok");
  connection.close();
});
