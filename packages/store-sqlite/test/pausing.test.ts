import { join } from "node:path";
import { gaugesOf } from "@esim-webhooks/core/engine";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { loggerWith } from "../../../test/support/loggers.ts";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction, type Transaction } from "../src/database/transaction.ts";
import { erase } from "../src/sql/erase.ts";
import { gauges } from "../src/sql/gauges.ts";
import { type HoldPlace, hold, holdMissed, letGo, pause, paused, resume } from "../src/sql/pause.ts";
import { take } from "../src/sql/take.ts";
import { folderOfEachTest } from "./temporary-folder.ts";

const folder = folderOfEachTest();
let connection: Connection;
beforeEach(() => {
  connection = openWriter({ path: join(folder.path, "events.db"), durability: "normal", busyMs: 100 });
  onTestFinished(() => connection.close());
});

function write<Result>(work: (tx: Transaction) => Result): Result {
  return inTransaction(connection, work);
}

/** Due events of a type: all in one lane, one after the other, or in none. */
function store(type: string, rows: number, { lane = null as string | null, dueAt = 1000 } = {}): void {
  connection.run(
    `with recursive numbered (n) as (select 1 union all select n + 1 from numbered where n < ?)
    insert into esim_webhooks_event (source, id, state, due_at, term_ms, type, received_at, occurred_at, lane, body)
    select 'default', ? || n, 'ready', ?, 3700000, ?, 0, n, ?, x'7b7d' from numbered`,
    ...[rows, `${type}-${lane}-`, dueAt, type, lane],
  );
}

/** Lanes by number, each with one event of type a and then some of type b. */
function storeLanes(lanes: number, behind: number): void {
  connection.run(
    `with recursive lane (l) as (select 1 union all select l + 1 from lane where l < ?),
      place (n) as (select 0 union all select n + 1 from place where n < ?)
    insert into esim_webhooks_event (source, id, state, due_at, type, received_at, occurred_at, lane, subject, body)
    select 'default', l || '-' || n, 'ready', 1000 + n, iif(n = 0, 'a', 'b'), 0, n, printf('lane-%05d', l), 'esim-' || iif(n = 0, l, 0), x'7b7d'
    from lane, place`,
    ...[lanes, behind],
  );
}

function pauseType(type: string | null, until: Date | null = null): void {
  write((tx) => pause(tx, { pauses: [{ type, reason: "the CRM is down", until, by: null }] }));
}

function holdAll(): number {
  let calls = 0;
  for (let after: HoldPlace | undefined; ; ) {
    after = write((tx) => hold(tx, { after }));
    calls += 1;
    if (after === undefined) return calls;
  }
}

let after: string | null = "";
beforeEach(() => {
  after = "";
});

function takenTypes(limit = 10, only?: string[]) {
  const input = { limit, leaseMs: 60_000, laneHeldByDead: false, after, ...(only && { only }) };
  const { events, visit } = write((tx) => take(tx, input));
  after = visit?.upto ?? after;
  return events.map(({ type }) => type);
}

const counts = () => gaugesOf(gauges(connection, { laneHeldByDead: false })).counts;
const pauses = () => connection.all("select 1 from esim_webhooks_pause").length;

it("holds the ready events of a type when it is paused, 2,000 rows in each call, and lets them go when it is resumed", () => {
  store("a", 3000);
  store("b", 1500);
  store("a", 500, { lane: "one", dueAt: Date.now() + 3_600_000 });
  store("b", 10, { lane: "two" });
  pauseType("a");
  expect(holdAll()).toBe(4);
  expect(counts()).toMatchObject({ paused: 3500, ready: 1510, waiting: 0 });
  write((tx) => resume(tx, { types: ["a"] }));
  expect([1, 2, 3, 4, 5].map(() => write(letGo))).toEqual([1000, 1000, 1000, 500, 0]);
  expect(counts()).toMatchObject({ paused: 0, ready: 4510, waiting: 500 });
  expect(pauses()).toBe(0);
});

it.each([null, "lane"])(
  "takes no paused event, and those behind it, if a pause was interrupted (lane: %s)",
  (lane) => {
    store("a", 500, { lane });
    store("b", 1, { dueAt: 2000, lane: lane && "other" });
    pauseType("a");
    expect([takenTypes(), takenTypes()]).toEqual([["b"], []]);
    expect(counts().paused).toBe(0); // a take holds nothing
  },
);

it("visits 1,000 lanes in each take if thousands wait behind paused events, and goes on where the last take ended", () => {
  storeLanes(2500, 2);
  store("b", 1, { lane: "lane-02250", dueAt: 2000 });
  connection.run("delete from esim_webhooks_event where type = 'a' and lane = 'lane-02250'");
  store("b", 2, { lane: "lane-02251", dueAt: 2000 });
  pauseType("a");
  holdAll();
  expect([takenTypes(), takenTypes(), takenTypes()]).toEqual([[], [], ["b"]]);
  expect(takenTypes()).toEqual([]);
  write((tx) => resume(tx, { types: ["a"] }));
  while (write(letGo) > 0);
  expect(takenTypes()).toEqual(Array(10).fill("a"));
});

it("takes only events without a lane while visits of lanes rest", () => {
  store("b", 1, { lane: "one" });
  store("c", 1);
  after = null;
  expect(takenTypes()).toEqual(["c"]);
  after = "";
  expect(takenTypes()).toEqual(["b"]);
});

it("takes the event of a free lane, although many others are due, in lanes and out of them, behind a thousand that wait", () => {
  storeLanes(1, 1200);
  pauseType("a");
  holdAll();
  connection.run(
    `with recursive lane (l) as (select 1 union all select l + 1 from lane where l < 2100), place (n) as (select 1 union all select n + 1 from place where n < 3)
    insert into esim_webhooks_event (source, id, state, due_at, type, received_at, occurred_at, lane, body)
    select 'default', 'many-' || l || '-' || n, 'ready', 3000, 'many', 0, n, printf('many-%05d', l), x'7b7d' from lane, place`,
  );
  store("z", 1, { lane: "z", dueAt: 2500 });
  store("c", 500, { dueAt: 2600 });
  const taken: (string | null)[] = [];
  for (let calls = 0; calls < 400 && !taken.includes("z"); calls += 1) {
    taken.push(...takenTypes());
    connection.run(
      "update esim_webhooks_event set state = 'done', lane = null, body = null where state = 'leased'",
    );
  }
  expect(taken.at(-1)).toBe("z");
});

it("holds a part of what a pause has missed, which was killed before it had held all", () => {
  store("a", 3000);
  pauseType("a");
  write((tx) => holdMissed(tx, undefined));
  expect(counts().paused).toBe(2000);
  write((tx) => holdMissed(tx, undefined));
  expect(counts()).toMatchObject({ paused: 3000, ready: 0 });
});

it("counts as ready what is held of a pause that has ended, before a take has let it go", () => {
  store("a", 3);
  pauseType("a", new Date(Date.now() + 3_600_000));
  holdAll();
  connection.run("update esim_webhooks_pause set until = 1000");
  expect(counts()).toMatchObject({ paused: 0, ready: 3 });
  expect(gauges(connection, { laneHeldByDead: false }).oldestReadyMs).toBeGreaterThan(1_000_000);
});

it("finds each lane in its turn, also those that it has passed since older events went first", () => {
  storeLanes(2500, 1);
  store("c", 60, { lane: null, dueAt: 3000 });
  connection.run(
    "update esim_webhooks_event set type = 'c', due_at = 4000 where type = 'a' and lane < 'lane-00100'",
  );
  pauseType("a");
  holdAll();
  const taken = [];
  for (let calls = 0; calls < 20; calls += 1) taken.push(...takenTypes(10));
  expect(taken).toEqual(Array(159).fill("c"));
});

it("counts no event as the oldest due one that no worker could take: it is paused, or waits behind one that is paused or in backoff", () => {
  const now = Date.now();
  const oldest = () => gauges(connection, { laneHeldByDead: false }).oldestReadyMs;
  storeLanes(2, 2);
  pauseType("a");
  holdAll();
  store("c", 1, { lane: "retried", dueAt: now + 60_000 });
  store("b", 1, { lane: "retried" });
  connection.run("update esim_webhooks_event set occurred_at = 2 where type = 'b' and lane = 'retried'");
  expect(oldest()).toBe(null);
  store("b", 1, { lane: "free", dueAt: now - 5000 });
  expect(oldest()).toBeLessThan(60_000);
  store("b", 1, { dueAt: now - 100_000 });
  expect(oldest()).toBeGreaterThanOrEqual(100_000);
  expect(oldest()).toBeLessThan(160_000);
});

it("takes what waits behind a paused event once that is erased", () => {
  storeLanes(2, 3);
  pauseType("a");
  holdAll();
  expect(takenTypes()).toEqual([]);
  write((tx) => erase(tx, { subject: "esim-1", replacement: "erased", limit: 10, retentionMs: 1000 }));
  expect(takenTypes()).toEqual(["b"]);
});

it("lets 1,000 events go in each take once a pause has ended by itself, and forgets the pause", () => {
  store("a", 1500);
  pauseType("a", new Date(Date.now() + 3_600_000));
  holdAll();
  connection.run("update esim_webhooks_pause set until = 1000");
  expect(paused(connection, undefined)).toEqual([]);
  expect(takenTypes(1)).toEqual(["a"]);
  const held = () => connection.all("select 1 from esim_webhooks_event where held = 1").length;
  expect([held(), pauses()]).toEqual([500, 0]);
  expect(takenTypes(1)).toEqual(["a"]);
  expect(held()).toBe(0);
});

it("lets nothing go of a type that was paused again meanwhile", () => {
  store("a", 5);
  pauseType("a");
  holdAll();
  write((tx) => resume(tx, { types: ["a"] }));
  pauseType("a");
  expect(write(letGo)).toBe(0);
  expect(takenTypes()).toEqual([]);
  expect(counts().paused).toBe(5);
});

it("counts all ready events as paused, and none as ready, while all types are paused", () => {
  store("a", 5);
  pauseType(null);
  expect(takenTypes()).toEqual([]);
  expect(gaugesOf(gauges(connection, { laneHeldByDead: false }))).toMatchObject({
    counts: { paused: 5, ready: 0 },
    oldestReadyMs: null,
  });
  expect(write((tx) => resume(tx, { types: undefined })).map(({ type }) => type)).toEqual([null]);
  expect(takenTypes()).toHaveLength(5);
});

const broken =
  "create trigger broken before update of held on esim_webhooks_event begin select raise(abort, 'broken'); end";

it("pauses and resumes although holding and letting go fail, and logs that", async () => {
  const logged: unknown[] = [];
  const logger = loggerWith({ warn: (fields) => logged.push(fields) });
  const inbox = sqliteInbox({ path: join(folder.path, "events.db"), logger });
  onTestFinished(() => inbox.close());
  store("esim.enabled", 2);
  connection.exec(broken);
  await inbox.pause({ types: ["esim.enabled"], reason: "the CRM is down" });
  expect(await inbox.paused()).toHaveLength(1);
  expect(logged).toEqual([expect.objectContaining({ code: "holding_failed" })]);
  connection.exec("drop trigger broken");
  expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toEqual([]);
  await inbox.pause({ types: ["esim.enabled"], reason: "the CRM is down" });
  connection.exec(broken);
  expect(await inbox.resume()).toHaveLength(1);
  expect(await inbox.paused()).toEqual([]);
  expect(logged).toHaveLength(2);
  connection.exec("drop trigger broken");
  expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toHaveLength(1);
});
