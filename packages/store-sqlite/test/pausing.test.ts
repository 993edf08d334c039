import { join } from "node:path";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Connection } from "../src/database/connection.ts";
import { openWriter } from "../src/database/open.ts";
import { inTransaction, type Transaction } from "../src/database/transaction.ts";
import { erase } from "../src/sql/erase.ts";
import { gauges } from "../src/sql/gauges.ts";
import { type ParkPlace, park, pause, paused, release, resume } from "../src/sql/pause.ts";
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
    insert into esim_webhooks_event (source, id, state, ends_at, type, received_at, occurred_at, lane, body)
    select 'default', ? || n, 'ready', ?, ?, 0, n, ?, x'7b7d' from numbered`,
    ...[rows, `${type}-${lane}-`, dueAt, type, lane],
  );
}

function pauseType(type: string | null, until: Date | null = null): void {
  write((tx) => pause(tx, { pauses: [{ type, reason: "the CRM is down", until, by: null }] }));
}

function parkAll(): number {
  let calls = 0;
  for (let after: ParkPlace | undefined; ; ) {
    after = write((tx) => park(tx, { after }));
    calls += 1;
    if (after === undefined) return calls;
  }
}

const takenTypes = (limit = 10, only?: string[]) =>
  write((tx) => take(tx, { limit, leaseMs: 60_000, laneHeldByDead: false, ...(only && { only }) })).map(
    ({ type }) => type,
  );

const parked = () => gauges(connection, undefined).counts.paused;

it("parks what is due when a type is paused in calls of 2,000 events each, and only events of that type", () => {
  store("a", 3000);
  store("b", 1500);
  store("a", 500, { lane: "one" });
  store("b", 10, { lane: "two" });
  pauseType("a");
  expect(parkAll()).toBe(4);
  expect(gauges(connection, undefined).counts).toMatchObject({ paused: 3500, ready: 1510, waiting: 0 });
  write((tx) => resume(tx, { types: ["a"] }));
  expect(write((tx) => release(tx, { limit: 10_000 }))).toBe(3500);
  expect(gauges(connection, undefined).counts).toMatchObject({ paused: 0, ready: 5010, waiting: 0 });
  expect(connection.all("select 1 from esim_webhooks_pause")).toEqual([]);
});

it("parks what it meets in each take if a pause was interrupted, so that events of other types are taken", () => {
  store("a", 2500);
  store("a", 1500, { lane: "one" });
  store("b", 3, { dueAt: 2000 });
  pauseType("a");
  expect(takenTypes()).toEqual(["b", "b", "b"]);
  expect(takenTypes()).toEqual([]);
  expect(parked()).toBe(4000);
});

it.each([null, "lane"])(
  "takes an event behind thousands of a paused type in one take, if a pause was interrupted (lane: %s)",
  (lane) => {
    store("a", 5000, { lane });
    store("b", 1, { dueAt: 2000, lane: lane && "other" });
    pauseType("a");
    expect(takenTypes()).toEqual(["b"]);
    expect(parked()).toBeGreaterThan(4000);
  },
);

it("parks a bounded number of events in one take", () => {
  store("a", 25_000);
  store("b", 1, { dueAt: 2000 });
  pauseType("a");
  expect(takenTypes()).toEqual([]);
  expect(connection.all("select 1 from esim_webhooks_event where parked_due is not null")).toHaveLength(
    10_100,
  );
});

it("takes an event behind many that no worker asks for, while a type is paused", () => {
  store("other", 3000);
  store("a", 10, { dueAt: 2000 });
  store("b", 1, { dueAt: 3000 });
  pauseType("a");
  expect(takenTypes(5, ["b"])).toEqual(["b"]);
});

/** Lanes `lane-1` to `lane-<lanes>`, each with one event of type a and then some of type b. */
function storeLanes(lanes: number, behind: number): void {
  connection.run(
    `with recursive lane (l) as (select 1 union all select l + 1 from lane where l < ?),
      place (n) as (select 0 union all select n + 1 from place where n < ?)
    insert into esim_webhooks_event (source, id, state, ends_at, type, received_at, occurred_at, lane, subject, body)
    select 'default', l || '-' || n, 'ready', 1000 + n, iif(n = 0, 'a', 'b'), 0, n, 'lane-' || l, 'esim-' || iif(n = 0, l, 0), x'7b7d'
    from lane, place`,
    ...[lanes, behind],
  );
}

describe("events that wait in their lanes behind one of a paused type", () => {
  const due = () =>
    connection.all("select 1 from esim_webhooks_event where state = 'ready' and ends_at <= 1e12");

  it("are parked with it, so that a take does not read past them", () => {
    storeLanes(500, 3);
    store("b", 1, { lane: "other", dueAt: 2000 });
    pauseType("a");
    parkAll();
    expect([parked(), due().length]).toEqual([2000, 1]);
    expect(takenTypes()).toEqual(["b"]);
  });

  it("are parked by the takes that meet them, if they come later or the pause was interrupted", () => {
    storeLanes(1500, 3);
    store("b", 5, { dueAt: 2000, lane: "other" });
    pauseType("a");
    expect(takenTypes(1)).toEqual(["b"]);
    expect(parked()).toBeGreaterThan(4000);
    expect(takenTypes()).toEqual([]); // the others of that lane wait for the one that is leased
    expect(due().length).toBeLessThan(1100); // few enough to read them in each take
  });

  it("are released with it, before the pause is forgotten, and taken in their order", () => {
    storeLanes(3, 2);
    pauseType("a");
    parkAll();
    write((tx) => resume(tx, { types: ["a"] }));
    expect(write((tx) => release(tx, { limit: 4 }))).toBe(4);
    expect(connection.all("select 1 from esim_webhooks_pause")).toHaveLength(1);
    expect(takenTypes()).toEqual(["a", "a", "a"]);
    expect([parked(), connection.all("select 1 from esim_webhooks_pause")]).toEqual([0, []]);
  });

  it("are released when it is erased, also if no take has parked anything since", () => {
    storeLanes(2, 3);
    store("a", 1, { lane: "lane-1" }); // another one of the type stays parked
    pauseType("a");
    parkAll();
    write((tx) => erase(tx, { subject: "esim-1", replacement: "erased", limit: 10, retentionMs: 1000 }));
    expect(takenTypes()).toEqual(["b"]);
    expect(
      connection.get(
        "select 1 from esim_webhooks_event where state = 'ready' and lane = 'lane-2' and ends_at <= 1e12",
      ),
    ).toBeDefined();
    parkAll(); // those of the other lane wait as before
    expect(due().length).toBe(2);
  });

  it("are taken if the type is paused again before all are released, but events before them were taken", () => {
    storeLanes(600, 3);
    pauseType("a");
    parkAll();
    const settle = () =>
      connection.run(
        "update esim_webhooks_event set state = 'done', lane = null, body = null where state = 'leased'",
      );
    write((tx) => resume(tx, { types: ["a"] }));
    expect(takenTypes(100)).toHaveLength(100);
    settle();
    pauseType("a");
    parkAll();
    let taken = 0;
    for (let call = 0; call < 8; call += 1) {
      taken += takenTypes(100).length;
      settle();
    }
    expect(taken).toBe(300);
  });

  it("are not parked if they are suspects", () => {
    storeLanes(1, 2);
    connection.run("update esim_webhooks_event set suspect = 1 where occurred_at = 2");
    pauseType("a");
    parkAll();
    expect([parked(), due().length]).toEqual([2, 1]);
  });

  it("stay parked once by one pause, and then by the other, if their lane has events of two paused types", () => {
    storeLanes(1, 2);
    store("c", 1, { lane: "lane-1" });
    connection.run("update esim_webhooks_event set occurred_at = -1 where type = 'c'");
    pauseType("a");
    pauseType("c");
    parkAll();
    const by = () =>
      connection
        .all<{ by: string }>("select parked_by as by from esim_webhooks_event order by occurred_at")
        .map(({ by }) => by);
    expect(by()).toEqual(["c", "a", "c 0", "c 0"]);
    write((tx) => resume(tx, { types: ["a"] }));
    for (const _ of "12") {
      expect(takenTypes()).toEqual([]);
      expect(connection.all("select type from esim_webhooks_pause")).toEqual([{ type: "c" }]);
    }
    write((tx) => resume(tx, { types: ["c"] }));
    const taken = [];
    for (let left = 4; left > 0; left -= 1) {
      taken.push(...takenTypes());
      connection.run("update esim_webhooks_event set state = 'dead' where state = 'leased'");
    }
    expect(taken).toEqual(["c", "a", "b", "b"]);
  });
});

it("releases 1,000 events in each take once a pause has ended by itself, and then forgets the pause", () => {
  store("a", 1500);
  pauseType("a", new Date(Date.now() + 3_600_000));
  parkAll();
  expect(parked()).toBe(1500);
  connection.run("update esim_webhooks_pause set until = 1000");
  expect(paused(connection, undefined)).toEqual([]);
  expect(takenTypes(1)).toEqual(["a"]);
  expect(parked()).toBe(500);
  expect(connection.all("select 1 from esim_webhooks_pause")).toHaveLength(1);
  expect(takenTypes(1)).toEqual(["a"]);
  expect(parked()).toBe(0);
  expect(connection.all("select 1 from esim_webhooks_pause")).toEqual([]);
});

it("does not release what a pause has parked if the type was paused again meanwhile", () => {
  store("a", 5);
  pauseType("a");
  parkAll();
  write((tx) => resume(tx, { types: ["a"] }));
  pauseType("a");
  expect(write((tx) => release(tx, { limit: 10 }))).toBe(0);
  expect(takenTypes()).toEqual([]);
  expect(parked()).toBe(5);
});

it("counts all due events as paused, and none as ready, while all types are paused", () => {
  store("a", 5);
  pauseType(null);
  expect(takenTypes()).toEqual([]);
  expect(gauges(connection, undefined)).toMatchObject({
    counts: { paused: 5, ready: 0 },
    oldestReadyMs: null,
  });
  expect(write((tx) => resume(tx, { types: undefined })).map(({ type }) => type)).toEqual([null]);
  expect(takenTypes()).toHaveLength(5);
});

const broken =
  "create trigger broken before update of parked_due on esim_webhooks_event begin select raise(abort, 'broken'); end";

it("pauses and resumes although parking and releasing fail, and logs that", async () => {
  const logged: unknown[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => logged.push(fields) };
  const inbox = sqliteInbox({ path: join(folder.path, "events.db"), logger });
  onTestFinished(() => inbox.close());
  store("esim.enabled", 2);
  connection.exec(broken);
  await inbox.pause({ types: ["esim.enabled"], reason: "the CRM is down" });
  expect(await inbox.paused()).toHaveLength(1);
  expect(logged).toEqual([expect.objectContaining({ code: "parking_failed" })]);
  connection.exec("drop trigger broken");
  expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toEqual([]);
  connection.exec(broken);
  expect(await inbox.resume()).toHaveLength(1);
  expect(await inbox.paused()).toEqual([]);
  expect(logged).toHaveLength(2);
  connection.exec("drop trigger broken");
  expect(await inbox.take({ limit: 1, leaseMs: 1000 })).toHaveLength(1);
});
