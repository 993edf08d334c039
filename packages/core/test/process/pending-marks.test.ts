import { createProcessor, type DedupeStore, memoryStore } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";

const timestamp = "2026-11-20T12:00:00Z";
const eventOf = (id: string) => ({ id, type: "esim.faulted", timestamp, data: sampleData("esim.faulted") });

/** On this clock no lease ends, however slow the machine. */
const stopped = { now: () => 0 };

const away = (): never => {
  throw new Error("It is away.");
};

it("renews every claim within its lease, however many there are and although each call of the store is slow", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const leaseMs = 30_000;
  const ids = Array.from({ length: 2000 }, (_, n) => `msg_${n}`);
  const renewedAt = new Map(ids.map((id) => [id, performance.now()]));
  let longestGapMs = 0;
  const renew = (id: string) => {
    longestGapMs = Math.max(
      longestGapMs,
      performance.now() - (renewedAt.get(id) ?? Number.NEGATIVE_INFINITY),
    );
    renewedAt.set(id, performance.now());
  };
  const slowly = createSharedTimer(100);
  const store: DedupeStore = {
    ...memoryStore({ clock: stopped }),
    complete: () => slowly().then(away),
    async extend({ id }) {
      await slowly();
      renew(id);
      return true;
    },
  };
  const processor = createProcessor({ "*": () => {} }, { store, leaseMs });
  for (const id of ids) void processor.process(eventOf(id));
  for (const end = performance.now() + 3 * leaseMs; performance.now() < end; )
    await vi.advanceTimersToNextTimerAsync();
  for (const id of ids) renew(id); // up to the end
  expect(longestGapMs).toBeLessThan(leaseMs);
});

/** All who wait from the same moment share one timer, so that a test of thousands is quick. */
function createSharedTimer(ms: number): () => Promise<void> {
  let since: number | undefined;
  let over = Promise.resolve();
  return () => {
    if (since !== performance.now()) over = new Promise((resolve) => setTimeout(resolve, ms));
    since = performance.now();
    return over;
  };
}

/** A store that takes no mark before `recover()`, and then as `complete` does. */
function recovering(complete: DedupeStore["complete"], other: Partial<DedupeStore> = {}) {
  let isAway = true;
  let refusals = 0;
  const refuse = () => {
    refusals += 1;
    return away();
  };
  const store: DedupeStore = {
    ...memoryStore({ clock: stopped }),
    ...other,
    complete: (...args) => (isAway ? refuse() : complete(...args)),
  };
  return {
    store,
    refusals: () => refusals,
    recover: () => {
      isAway = false;
    },
  };
}

it("marks the other events while the store never answers for one of them", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const leaseMs = 60_000;
  const ids = Array.from({ length: 40 }, (_, n) => `msg_${n}`);
  const marked = new Set<string>();
  const { store, recover } = recovering(({ id }) => {
    if (id === "msg_3") return new Promise(() => {});
    marked.add(id);
    return true;
  });
  const processor = createProcessor({ "*": () => {} }, { store, leaseMs });
  const all = Promise.all(ids.map((id) => processor.process(eventOf(id))));
  await vi.advanceTimersByTimeAsync(1);
  recover();
  await vi.advanceTimersByTimeAsync(leaseMs);
  expect(marked.size).toBe(39);
  const unmarked = (await all).flatMap(({ code }, n) => (code === "processed" ? [] : [[ids[n], code]]));
  expect(unmarked).toEqual([["msg_3", "store_unavailable"]]);
});

it("goes on asking a store that answered a claim with nothing", async () => {
  const memory = memoryStore({ clock: stopped });
  let claims = 0;
  let completes = 0;
  const store: DedupeStore = {
    ...memory,
    claim: (...args) => {
      claims += 1;
      return claims === 2 ? (undefined as never) : memory.claim(...args);
    },
    complete: async (key, token) => {
      completes += 1;
      if (completes > 1) return memory.complete(key, token); // the second has the evicted token
      await memory.release(key, token); // evicted
      return false;
    },
  };
  const processor = createProcessor({ "*": () => {} }, { store });
  expect((await processor.process(eventOf("msg_1"))).code).toBe("lease_lost");
  await expect.poll(() => completes).toBe(3);
  expect(claims).toBe(3);
  expect(memory.claim({ source: "default", id: "msg_1" }, 1)).toEqual({ status: "done" });
});

it("is not stopped by a logger that throws", async () => {
  const memory = memoryStore({ clock: stopped });
  const { store, recover } = recovering(memory.complete, memory);
  const logger = loggerTo(away);
  const processor = createProcessor({ "*": () => {} }, { store, logger });
  const processing = processor.process(eventOf("msg_1"));
  await expect.poll(() => processor.process(eventOf("msg_1"))).toEqual({ code: "duplicate" });
  recover();
  expect(await processing).toEqual({ code: "processed" });
});

it("marks an event that two claims left unmarked, and answers both deliveries", async () => {
  let claims = 0;
  const { store, recover, refusals } = recovering(() => true, {
    claim: () => ({ status: "claimed", token: `${claims++}` }), // the first was evicted
    extend: () => true,
  });
  const handled = Promise.withResolvers<void>();
  const processor = createProcessor({ "*": () => handled.promise }, { store });
  const both = Promise.all([processor.process(eventOf("msg_1")), processor.process(eventOf("msg_1"))]);
  handled.resolve();
  await expect.poll(refusals).toBeGreaterThanOrEqual(2);
  recover();
  expect(await both).toEqual([{ code: "processed" }, { code: "processed" }]);
  expect(claims).toBe(2);
});

it("asks a store that is down less and less often, down to once a second", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, refusals } = recovering(() => true);
  const processor = createProcessor({ "*": () => {} }, { store, leaseMs: 60_000 });
  void processor.process(eventOf("msg_1"));
  const callsWithin = async (ms: number) => {
    const before = refusals();
    await vi.advanceTimersByTimeAsync(ms);
    return refusals() - before;
  };
  expect(await callsWithin(1550)).toBe(5); // after 50, 100, 200, 400 and 800 ms
  expect(await callsWithin(10_000)).toBe(10);
});

it("marks an event that the store refuses after all earlier ones were marked", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let refused = "";
  const memory = memoryStore({ clock: stopped });
  const store: DedupeStore = {
    ...memory,
    complete(key, token) {
      if (refused === key.id) return memory.complete(key, token);
      refused = key.id;
      return away();
    },
  };
  const processor = createProcessor({ "*": () => {} }, { store });
  for (const id of ["msg_1", "msg_2"]) {
    const processing = processor.process(eventOf(id));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await processing).toEqual({ code: "processed" });
    expect(memory.claim({ source: "default", id }, 1)).toEqual({ status: "done" });
  }
});

it("remembers an event that is not marked for a day, and then lets its next delivery claim it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  let laterMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + laterMs);
  onTestFinished(() => void vi.restoreAllMocks());
  onTestFinished(() => void vi.useRealTimers());
  const { store } = recovering(() => true, { extend: () => true });
  let runs = 0;
  const processor = createProcessor({ "*": () => void runs++ }, { store });
  const first = processor.process(eventOf("msg_1"), { fingerprint: 7 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect((await first).code).toBe("store_unavailable");
  laterMs = 86_400_000 - 60_000;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await processor.process(eventOf("msg_1"))).toEqual({ code: "duplicate" });
  laterMs = 86_400_000;
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await processor.process(eventOf("msg_1"))).code).toBe("busy"); // of the claim that was kept until now
  expect(runs).toBe(1);
});

it("takes no delivery for another event because the first one was without a fingerprint", async () => {
  const { store, recover } = recovering(() => true);
  const processor = createProcessor({ "*": () => {} }, { store });
  const first = processor.process(eventOf("msg_1"));
  await expect
    .poll(() => processor.process(eventOf("msg_1"), { fingerprint: 7 }))
    .toEqual({ code: "duplicate" });
  recover();
  expect((await first).code).toBe("processed");
});
