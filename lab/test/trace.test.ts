import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { EsimEvents, Inbox, InboxLease, Settlement } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../packages/store-sqlite/test/temporary-folder.ts";
import { entry, fixedTime, key } from "../../test/inbox-entry.ts";
import {
  type CheckedHistory,
  checkHistory,
  checkQueueEvents,
  type RowChange,
  type Snapshot,
  sqliteHistory,
  sqliteHistoryIn,
} from "../model/trace.ts";

const ids = ["a", "b", "c", "d", "e", "f"];
const allIds = [...ids, ...ids.map((id) => `${id}2`)];
const typeOf = (id: string): keyof EsimEvents => (id < "d" ? "esim.enabled" : "esim.disabled");
const laneOf = (event: { data: unknown }) => (event.data as { esimReference: string }).esimReference;
const hourMs = 3_600_000;

/** An engine, and what has happened to its rows. */
interface Watched {
  readonly inbox: Inbox;
  /** Has all leases end that were taken for 1 ms. */
  endShortLeases(): Promise<void>;
  history(): readonly RowChange[];
}

/** Compares the rows before and after each call. A take first makes rows ready whose leases have ended: that is a call of its own. */
function watchedMemory(): Watched {
  let nowMs = Date.now();
  const real = memoryInbox({ lane: laneOf, retentionMs: hourMs, clock: { now: () => nowMs } });
  const changes: RowChange[] = [];
  const fences = new Map<string, string>();

  async function snapshot(id: string): Promise<Snapshot | null> {
    const row = await real.get(key(id));
    if (row === undefined) return null;
    const { state, attempts, body, erasedAt, lane } = row;
    return {
      state,
      attempts,
      lane,
      body: body !== null,
      fence: fences.get(id) ?? null,
      parked: false,
      erased: erasedAt !== null,
    };
  }

  async function watch<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    const before = await Promise.all(allIds.map(snapshot));
    const answer = await call();
    for (const lease of Array.isArray(answer) ? answer : [])
      if (typeof lease === "object" && "token" in lease) fences.set(lease.id, lease.token);
    for (const [index, after] of (await Promise.all(allIds.map(snapshot))).entries())
      changes.push({ ...key(allIds[index] ?? ""), before: before[index] ?? null, after });
    return answer;
  }

  const watched = new Proxy(real, {
    get(inbox, name: keyof Inbox) {
      const method = inbox[name];
      if (typeof method !== "function") return method;
      const call = method as (...given: unknown[]) => Promise<unknown>;
      return async (...given: unknown[]) => {
        if (name === "take") await watch(() => real.take({ limit: 0, leaseMs: 1 }));
        return watch(() => call.apply(inbox, given));
      };
    },
  });
  return {
    inbox: watched,
    async endShortLeases() {
      nowMs += 2;
    },
    history: () => changes,
  };
}

async function watchedSqlite(): Promise<Watched> {
  const folder = temporaryFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, "events.db");
  const inbox = sqliteInbox({ path, lane: laneOf, retentionMs: hourMs });
  onTestFinished(() => inbox.close());
  await inbox.migrate();
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(sqliteHistory());
  return {
    inbox,
    async endShortLeases() {
      const isLive =
        "select 1 from esim_webhooks_event where state = 'leased' and term_ms = 1 and ends_at > unixepoch('subsec') * 1000";
      await expect.poll(() => database.prepare(isLive).get()).toBeUndefined();
    },
    history: () => sqliteHistoryIn(database),
  };
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes random calls, as two workers, an import and an operator would, some with leases that were lost long ago. */
async function useAtRandom({ inbox, endShortLeases }: Watched, calls: number, seed: number): Promise<void> {
  const random = randomNumbers(seed);
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const esimOf = (id: string) => `esim ${id < "c" ? "ab" : id[0]}`;
  const stored = (id: string) => entry(id, { ...fixedTime, type: typeOf(id), esim: esimOf(id) });
  const leases: InboxLease[] = [];
  const endings: readonly ((lease: InboxLease) => Settlement)[] = [
    (lease) => ({ ...lease, state: "done" }),
    (lease) => ({ ...lease, state: "unhandled" }),
    (lease) => ({ ...lease, state: "ready", afterMs: 0, error: "failed" }),
    (lease) => ({ ...lease, state: "waiting", afterMs: 0, error: "retryLater" }),
    (lease) => ({ ...lease, state: "waiting", afterMs: 0, error: "runs", isPutOff: true }),
    (lease) => ({ ...lease, state: "untouched" }),
    (lease) => ({ ...lease, state: "dead", error: "failed" }),
  ];
  const lease = () => {
    const { source = "default", id = "a", token = "none" } = one(leases.slice(-12)) ?? {};
    return { source, id, token };
  };
  const take = async (leaseMs: number) =>
    void leases.push(...(await inbox.take({ limit: 2, leaseMs, suspects: random() < 0.4 })));
  const rerun = (id: string) => ({
    ...stored(id),
    replay: { run: one(["first", "second"]), rebuilt: false },
  });
  const uses: readonly (() => Promise<unknown>)[] = [
    () => inbox.put([stored(one(ids))]),
    () => inbox.put(ids.map(stored)),
    () => take(hourMs),
    () => take(hourMs),
    () => take(1),
    async () => {
      await endShortLeases();
      await take(hourMs);
    },
    ...Array.from({ length: 6 }, () => () => inbox.settle([one(endings)(lease())])),
    () => inbox.extend([lease()], hourMs),
    () => inbox.redrive({ state: one(["dead", "unhandled"] as const) }),
    () => inbox.rerun([rerun(one(ids))]),
    () => inbox.pause({ types: ["esim.enabled"], reason: "test" }),
    () => inbox.resume(),
    () => inbox.purge(),
    () => (random() < 0.2 ? inbox.purgeDead({}) : Promise.resolve()),
    () => (random() < 0.1 ? inbox.erase(esimOf(one(ids))) : Promise.resolve()),
  ];
  for (let call = 0; call < calls; call += 1) await one(uses)();
  await inbox.put(ids.map((id) => stored(`${id}2`)));
  for (const id of ids) await inbox.erase(esimOf(id));
}

const usual = [
  "put",
  "take",
  "settle done",
  "settle unhandled",
  "settle ready",
  "settle dead",
  "redrive",
  "rerun",
  "erase",
];

function expectUsual({ seen, unknown }: CheckedHistory): void {
  expect(unknown).toEqual([]);
  expect(usual.filter((name) => ![...seen.keys()].includes(name as never))).toEqual([]);
}

describe("what happens to the rows of an engine", () => {
  it.each([1, 2, 3])(
    "is in the table of the states for a memory inbox that is used at random (seed %i)",
    async (seed) => {
      const watched = watchedMemory();
      await useAtRandom(watched, 1500, seed);
      expectUsual(checkHistory(watched.history()));
    },
  );

  it.each([1, 2])(
    "is in the table of the states for a SQLite inbox that is used at random (seed %i)",
    async (seed) => {
      const watched = await watchedSqlite();
      await useAtRandom(watched, 1500, seed);
      const checked = checkHistory(watched.history());
      expectUsual(checked);
      expect(checked.seen.get("lease end")).toBeGreaterThan(0); // a memory inbox does not show suspects
      expect(checked.seen.get("park")).toBeGreaterThan(0);
      expect(checked.seen.get("release")).toBeGreaterThan(0);
    },
  );
});

describe("a history", () => {
  const leased: Snapshot = {
    state: "leased",
    body: true,
    suspect: false,
    parked: false,
    erased: false,
    fence: "1",
    attempts: 1,
  };
  const done: Snapshot = { ...leased, state: "done", body: false };
  const ready: Snapshot = { ...leased, state: "ready" };

  it.each([
    ["a done event becomes ready with its fence and attempts", done, ready],
    ["a lease ends and the next one has the same fence", ready, { ...leased, attempts: 2 }],
    ["an attempt is not counted", ready, { ...leased, fence: "2" }],
    ["an event is deleted while it is leased", leased, null],
    ["a dead event is made ready by a delivery", { ...leased, state: "dead" }, { ...leased, state: "ready" }],
    ["the body of a ready event is removed", ready, { ...ready, body: false }],
  ] as const)("is refused if %s", (_, before, after) => {
    expect(checkHistory([{ ...key("a"), before, after }]).unknown).toHaveLength(1);
  });

  it("is refused if two events of one lane are leased", () => {
    const take = (id: string, lane: string) => ({
      ...key(id),
      before: { ...ready, lane, fence: null, attempts: 0 },
      after: { ...leased, lane, fence: id },
    });
    expect(checkHistory([take("a", "one"), take("b", "two")]).unknown).toEqual([]);
    expect(checkHistory([take("a", "one"), take("b", "one")]).unknown).toHaveLength(1);
  });

  it("is refused if a fence is used twice, or if a change is missing", () => {
    const take = (id: string) => ({
      ...key(id),
      before: { ...ready, fence: null, attempts: 0 },
      after: leased,
    });
    expect(checkHistory([take("a"), take("b")]).unknown).toEqual([expect.stringContaining("fence 1, which")]);
    expect(checkHistory([take("a"), { ...key("a"), before: done, after: null }]).unknown).toHaveLength(1);
  });

  it("of a queue is refused if a job runs again after it was completed", () => {
    const of = (...events: string[]) => events.map((event) => ({ event, jobId: "1" }));
    expect(
      checkQueueEvents(of("added", "waiting", "active", "waiting", "active", "completed")).unknown,
    ).toEqual([]);
    expect(checkQueueEvents(of("added", "active", "completed", "active")).unknown).toHaveLength(1);
    expect(checkQueueEvents(of("added", "active", "removed")).unknown).toHaveLength(1);
  });
});
