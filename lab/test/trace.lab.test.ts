import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../packages/store-sqlite/test/temporary-folder.ts";
import { key } from "../../test/inbox-entry.ts";
import {
  type CheckedHistory,
  checkHistory,
  checkQueueEvents,
  type RowChange,
  type Snapshot,
  sqliteHistory,
  sqliteHistoryIn,
} from "../model/trace.ts";
import { allIds, expectInTable, hourMs, laneOf, type Used } from "./random-use.ts";

/** An engine, and what has happened to its rows. */
interface Watched extends Used {
  changes(): CheckedHistory;
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
      held: false,
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
    async endRetentions() {
      nowMs += 2 * hourMs;
    },
    changes: () => checkHistory(changes),
  };
}

async function watchedSqlite(): Promise<Watched> {
  const folder = temporaryFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, "events.db");
  const inbox = sqliteInbox({ path, lane: laneOf, retentionMs: hourMs });
  onTestFinished(() => inbox.close());
  await inbox.migrate();
  const store = sqliteStore({ path, retentionMs: hourMs });
  onTestFinished(() => store.close());
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(sqliteHistory());
  return {
    inbox,
    store,
    async endShortLeases() {
      const isLive =
        "select 1 from esim_webhooks_event where state = 'leased' and term_ms = 1 and leased_until > unixepoch('subsec') * 1000";
      await expect.poll(() => database.prepare(isLive).get()).toBeUndefined();
    },
    async endRetentions() {
      database.exec("update esim_webhooks_event set kept_until = 1000 where state in ('done', 'unhandled')");
    },
    changes: () => checkHistory(sqliteHistoryIn(database)),
  };
}

describe("what happens to the rows of an engine", () => {
  it("is in the table of the states for a memory inbox that is used at random", () =>
    expectInTable(async () => watchedMemory(), ["give up"]));

  it("is in the table of the states for a SQLite inbox that is used at random, inline as well", () =>
    expectInTable(watchedSqlite, [
      ...(["lease end", "claim"] as const),
      ...(["claim ends", "hold", "let go", "run now", "give up"] as const),
    ]));
});

describe("a history", () => {
  const leased: Snapshot = {
    state: "leased",
    body: true,
    suspect: false,
    held: false,
    erased: false,
    fence: "1",
    attempts: 1,
    tries: 1,
  };
  const done: Snapshot = { ...leased, state: "done", body: false };
  const ready: Snapshot = { ...leased, state: "ready" };

  it.each([
    ["a done event becomes ready with its fence and attempts", done, ready],
    ["a lease ends and the next one has the same fence", ready, { ...leased, attempts: 2, tries: 2 }],
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
      before: { ...ready, lane, fence: null, attempts: 0, tries: 0 },
      after: { ...leased, lane, fence: id },
    });
    expect(checkHistory([take("a", "one"), take("b", "two")]).unknown).toEqual([]);
    expect(checkHistory([take("a", "one"), take("b", "one")]).unknown).toHaveLength(1);
  });

  it("is refused if a fence is used twice, or if a change is missing", () => {
    const take = (id: string) => ({
      ...key(id),
      before: { ...ready, fence: null, attempts: 0, tries: 0 },
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
