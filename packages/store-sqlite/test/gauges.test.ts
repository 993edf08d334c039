import { join } from "node:path";
import { gaugesOf, rowChange } from "@esim-webhooks/core/engine";
import { expect, it, onTestFinished } from "vitest";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction } from "../src/database/transaction.ts";
import { oldestReadyMs } from "../src/sql/due.ts";
import { erase } from "../src/sql/erase.ts";
import { gauges } from "../src/sql/gauges.ts";
import { report, workers } from "../src/sql/notes.ts";
import { pause, resume } from "../src/sql/pause.ts";
import { settle } from "../src/sql/settle.ts";
import { take } from "../src/sql/take.ts";
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
  expect(gaugesOf(gauges(connection, { laneHeldByDead: false }))).toMatchObject({
    counts: { ready: 10_001, waiting: 0, leased: 0, unhandled: 10_001, dead: 10_000 },
    capped: ["ready", "unhandled"],
  });
});

/** Lanes by number, each with so many events that have been due since 1970; the first one of each as it is said. */
function storeLanes(connection: Connection, lanes: number, rows: number, head: string): void {
  connection.run(
    `with recursive lane (l) as (select 1 union all select l + 1 from lane where l < ?),
      place (n) as (select 0 union all select n + 1 from place where n < ?)
    insert into esim_webhooks_event (source, id, state, due_at, held, type, occurred_at, lane, body)
    select 'default', $head || l || '-' || n, iif(n = 0 and $head = 'dead', 'dead', 'ready'), iif(n = 0 and $head = 'failing', 9e12, 1000),
      n = 0 and $head = 'paused', iif(n = 0, 'a', 'b'), n, printf('%s-%05d', $head, l), x'7b7d'
    from lane, place`.replaceAll("$head", `'${head}'`),
    ...[lanes, rows - 1],
  );
}

const paused = { type: "a", reason: "the CRM is down", until: null, by: null };

it.each(["failing", "paused", "dead"] as const)(
  "counts what is due behind a %s event in up to 1,000 lanes and 10,001 events, and says whether there are more",
  (head) => {
    const connection = openFile();
    inTransaction(connection, (tx) => pause(tx, { pauses: [paused] }));
    const blocked = (rule = { laneHeldByDead: true }) => {
      const { counts, capped, blockedBy } = gaugesOf(gauges(connection, rule));
      return [counts.ready, counts.blocked, blockedBy[head], capped.includes("blocked")];
    };
    storeLanes(connection, 1000, 3, head);
    expect(blocked()).toEqual([0, 2000, 2000, false]);
    connection.run(`delete from esim_webhooks_event where lane > '${head}-00500'`);
    storeLanes(connection, 1, 1, "due");
    expect(blocked()).toEqual([1, 1000, 1000, false]);
    connection.run("delete from esim_webhooks_event");
    storeLanes(connection, 1001, 3, head);
    expect(blocked()).toEqual([2, 2000, 2000, true]);
    connection.run("delete from esim_webhooks_event");
    storeLanes(connection, 3, 4000, head);
    expect(blocked()).toEqual([0, 10_001, 10_001, true]);
  },
);

it("says of an event that was behind others that it has been due since its turn came, and of all since their pause ended", () => {
  const connection = openFile();
  storeLanes(connection, 2, 3, "due");
  const oldestAt = (nowMs: number) =>
    inTransaction(connection, (tx) => oldestReadyMs({ ...tx, nowMs }, false, []));
  const settleNext = (nowMs: number) =>
    inTransaction(connection, (transaction) => {
      const tx = { ...transaction, nowMs };
      const { events } = take(tx, { limit: 1, leaseMs: 1000, laneHeldByDead: false, after: "" });
      const done = { state: "done" } as const;
      settle(tx, {
        settlements: events.map(({ source, id, token }) => ({
          source,
          id,
          token,
          ...done,
          change: rowChange(done),
        })),
        rules: { retentionMs: 1000, keepBodies: false },
      });
      return events.map(({ id }) => id);
    });
  expect(oldestAt(3_600_000)).toBe(3_599_000);
  expect(settleNext(3_600_000)).toEqual(["due1-0"]);
  expect(oldestAt(3_600_000)).toBe(3_599_000); // that of the other lane
  expect(settleNext(3_600_000)).toEqual(["due2-0"]);
  expect(oldestAt(3_600_500)).toBe(500);
  expect(settleNext(3_640_000)).toEqual(["due1-1"]);
  expect(settleNext(3_650_000)).toEqual(["due2-1"]);
  inTransaction(connection, (tx) => pause(tx, { pauses: [{ ...paused, type: null }] }));
  inTransaction(connection, (tx) => resume({ ...tx, nowMs: 3_700_000 }, { types: undefined }));
  expect(oldestAt(3_700_700)).toBe(700);
});

it("says of an event that was behind an erased one that it has been due since the erasure", () => {
  const connection = openFile();
  storeLanes(connection, 1, 2, "due");
  connection.run("update esim_webhooks_event set subject = 'esim_1', received_at = 0 where id = 'due1-0'");
  const nowMs = 3_600_000;
  const erased = { subject: "esim_1", replacement: "#", limit: 10, retentionMs: 1000 };
  const oldestMs = inTransaction(connection, (transaction) => {
    const tx = { ...transaction, nowMs };
    expect(erase(tx, erased)).toMatchObject({ ready: 1 });
    return oldestReadyMs({ ...tx, nowMs: nowMs + 500 }, false, []);
  });
  expect(oldestMs).toBe(500);
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
