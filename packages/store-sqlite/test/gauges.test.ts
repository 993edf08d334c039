import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openWriter } from "../src/database/open.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { gauges } from "../src/sql/gauges.ts";
import { report, workers } from "../src/sql/notes.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();

function openFile() {
  const path = join(folder.path, "events.db");
  const connection = openWriter({ path, durability: "normal", busyMs: 100 });
  onTestFinished(() => connection.close());
  return connection;
}

it("counts up to 10,001 events of a state, in lanes and out of them, and says which counts stopped there", () => {
  const connection = openFile();
  const insert = (state: string, lane: string | null, rows: number) =>
    connection.run(
      `with recursive numbered (n) as (select 1 union all select n + 1 from numbered where n < ?)
      insert into esim_webhooks_event (source, id, state, due_at, lane, body)
      select 'default', ? || n, ?, 0, ?, x'00' from numbered`,
      ...[rows, `${state}-${lane}-`, state, lane],
    );
  inTransaction(connection, () => {
    insert("ready", null, 6000);
    insert("ready", "a", 6000);
    insert("dead", null, 10_000);
    insert("unhandled", null, 10_002);
    insert("done", null, 20_000);
  });
  expect(gauges(connection, { laneHeldByDead: false })).toMatchObject({
    counts: { ready: 10_001, waiting: 0, leased: 0, unhandled: 10_001, dead: 10_000 },
    capped: ["ready", "unhandled"],
  });
});

it("forgets a worker that has not reported for 30 seconds, at the next report of another one", () => {
  const connection = openFile();
  const worker = { host: "host", pid: 1, version: "0.1.0", concurrency: 20, running: 0 };
  const times = { startedMsAgo: 0, sinceLastTakeMs: null };
  const idsOf = () =>
    connection.all<{ id: string }>("select id from esim_webhooks_worker").map(({ id }) => id);
  inTransaction(connection, (tx) => {
    report({ ...tx, nowMs: tx.nowMs - 30_000 }, { id: "gone", ...worker, ...times });
    report({ ...tx, nowMs: tx.nowMs - 20_000 }, { id: "late", ...worker, ...times });
  });
  expect(idsOf()).toEqual(["gone", "late"]);
  expect(workers(connection, undefined).map(({ id }) => id)).toEqual(["late"]);
  inTransaction(connection, (tx) => report(tx, { id: "new", ...worker, ...times }));
  expect(idsOf()).toEqual(["late", "new"]);
});
