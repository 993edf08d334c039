import type { Settlement, TakenEvent } from "@esim-webhooks/core";
import { observe, type SettleMessage, type SettlementsMessage } from "@esim-webhooks/core/observe";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { keptLog } from "../../../../test/support/kept-log.ts";
import { countOwnTimers } from "../../../../test/support/own-timers.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { silentLogger } from "../../src/base/logger.ts";
import type { Ending } from "../../src/store/ending.ts";
import { createInFlight, type InFlightOptions } from "../../src/work/in-flight.ts";
import { keepLeases } from "../../src/work/leases.ts";
import { pass, stopTime } from "./stopped-time.ts";

expectWarnings("event_dead");

const leaseMs = 30_000;

function takenEvent(id: string): TakenEvent {
  return {
    source: "default",
    id,
    token: id,
    type: "esim.enabled",
    body: new Uint8Array(),
    receivedAt: new Date(0),
    attempt: 1,
    tries: 1,
    waitedMs: 0,
    replayed: false,
    waitMs: 0,
    trace: null,
  };
}

/** Events in flight, and what became of each. */
function inFlightWith({ inbox, ...options }: Partial<InFlightOptions>) {
  stopTime();
  const timers = countOwnTimers();
  const steps: string[] = [];
  const inFlight = createInFlight({
    worker: "host:1:abc",
    inbox: {
      extend: async (leases) => leases.map(() => true),
      async settle(settlements) {
        for (const { id, state } of settlements) steps.push(`${id} is ${state}`);
        return settlements.map(() => true);
      },
      ...inbox,
    },
    leaseMs,
    signal: new AbortController().signal,
    backoff: () => 0,
    logger: silentLogger,
    watch: { expectedAt() {} },
    runEvent: async () => ({ ending: { state: "done" } }),
    onFree() {},
    onEnded() {},
    ...options,
  });
  return { inFlight, steps, timers };
}

/** Events in hand, where the handler of one runs until `end`, and that of a suspect waits until the other has ended. */
function suspectAfterAnother() {
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  const { inFlight, steps } = inFlightWith({
    signal: stop.signal,
    async runEvent({ taken: { id } }) {
      steps.push(`${id} starts`);
      if (id === "other") await ended.promise;
      return { ending: { state: "done" } };
    },
  });
  inFlight.start(takenEvent("other"), performance.now(), null);
  const alone = inFlight.startAlone(takenEvent("suspect"), performance.now(), null);
  return { inFlight, steps, alone, end: ended.resolve, stop: () => stop.abort() };
}

it("handles a suspect once the other events are settled", async () => {
  const { inFlight, steps, alone, end } = suspectAfterAnother();
  await pass(leaseMs - 1);
  expect(steps).toEqual(["other starts"]);
  end();
  expect(await alone).toBe(true);
  expect(steps).toEqual(["other starts", "other is done", "suspect starts", "suspect is done"]);
  await inFlight.stop(0);
});

it("handles a suspect while another handler runs that has not ended within a lease", async () => {
  const { inFlight, steps, alone, end } = suspectAfterAnother();
  await pass(leaseMs);
  expect(await alone).toBe(true);
  expect(steps).toEqual(["other starts", "suspect starts", "suspect is done"]);
  end();
  await inFlight.stop(leaseMs);
});

it("gives a suspect back, and does not handle it, if the worker stops while it waits for the others", async () => {
  const { inFlight, steps, alone, end, stop } = suspectAfterAnother();
  stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(await alone).toBe(false);
  end();
  await inFlight.stop(leaseMs);
  expect(steps).toEqual(["other starts", "suspect is given_back", "other is done"]);
});

it("retries an event during which the inbox failed, counts the attempt, and reports it when that is settled", async () => {
  const settled: Settlement[] = [];
  const logger = keptLog();
  const down = new Error("connection lost");
  const { inFlight } = inFlightWith({
    inbox: {
      extend: async () => [],
      async settle(settlements) {
        settled.push(...settlements);
        return settlements.map(() => true);
      },
    },
    logger,
    backoff: (tries) => tries * 7,
    async runEvent() {
      await pass(50);
      throw down;
    },
  });
  await pass(5000);
  inFlight.start({ ...takenEvent("a"), attempt: 5, tries: 3 }, performance.now(), null);
  await inFlight.stop(leaseMs);
  const error = "The inbox did not answer while the event was handled.";
  expect(settled).toEqual([
    {
      ...{ source: "default", id: "a", token: "a", state: "retry", afterMs: 21, error },
      report: { reason: "store_unavailable", durationMs: 50, error, worker: "host:1:abc" },
    },
  ]);
  expect(logger.error).toHaveBeenCalledWith({ err: down, id: "a", source: "default" }, error);
});

it("reports failed attempts alone: none of an event that was put off, given back, done, or dead before it was tried", async () => {
  const endings: Record<string, Ending> = {
    failed: { state: "retry", afterMs: 1, error: "x", reason: "failed" },
    dead: { state: "dead", error: "x", reason: "failed" },
    untried: { state: "dead", error: "x", reason: "attempts" },
    waiting: { state: "waiting", afterMs: 1, error: "x" },
    off: { state: "given_back", afterMs: 1, error: "x" },
    done: { state: "done" },
  };
  const reported: string[] = [];
  const { inFlight } = inFlightWith({
    inbox: {
      extend: async () => [],
      async settle(settlements) {
        for (const each of settlements) if ("report" in each && each.report) reported.push(each.id);
        return settlements.map(() => true);
      },
    },
    runEvent: async ({ taken }) => ({ ending: endings[taken.id] as Ending }),
  });
  for (const id of Object.keys(endings)) inFlight.start(takenEvent(id), performance.now(), null);
  await inFlight.stop(leaseMs);
  expect(reported).toEqual(["failed", "dead"]);
});

describe("a result that the inbox does not store", () => {
  /** An inbox that does not answer a settlement `failures` times. */
  function failing(failures: number) {
    const calls: number[] = [];
    const settle = async (settlements: readonly Settlement[]) => {
      calls.push(performance.now());
      if (calls.length <= failures) throw new Error("connection lost");
      return settlements.map(() => true);
    };
    return { calls, settle };
  }
  /** What is published of the ends of events until the test ends. */
  function published() {
    const ends: SettleMessage[] = [];
    const batches: SettlementsMessage[] = [];
    onTestFinished(observe({ settle: (end) => ends.push(end), settlements: (batch) => batches.push(batch) }));
    return { ends, batches };
  }

  it("is settled again after at most 0.2 s, 0.4 s and so on, but not more than 5 s, and then is published once", async () => {
    const { calls, settle } = failing(7);
    const { ends, batches } = published();
    const logger = keptLog();
    const { inFlight } = inFlightWith({
      inbox: { extend: async (all) => all.map(() => true), settle },
      logger,
    });
    inFlight.start(takenEvent("a"), performance.now(), null);
    expect(inFlight.unsettled()).toBe(1);
    await pass(40_000);
    const pauses = calls.slice(1).map((at, index) => at - (calls[index] as number));
    const longest = [200, 400, 800, 1600, 3200, 5000, 5000];
    expect(pauses.map((ms, index) => ms <= (longest[index] as number))).toEqual(Array(7).fill(true));
    expect([inFlight.running(), inFlight.unsettled()]).toEqual([0, 0]);
    expect(ends.map(({ id, outcome }) => [id, outcome])).toEqual([["a", "done"]]);
    expect(batches.map(({ settlements, outcome }) => [settlements, outcome])).toEqual([
      ...Array(7).fill([1, "store_unavailable"]),
      [1, "settled"],
    ]);
    expect(logger.error.mock.calls[0]?.[0]).toEqual({ err: new Error("connection lost") });
    await inFlight.stop(0);
  });

  it("is given up once its lease is lost, for another worker may have the event, and is published as lost", async () => {
    const { calls, settle } = failing(Number.POSITIVE_INFINITY);
    const { ends } = published();
    const { inFlight } = inFlightWith({ inbox: { extend: async (all) => all.map(() => false), settle } });
    inFlight.start(takenEvent("a"), performance.now(), null);
    await pass(60_000);
    const { length } = calls;
    await pass(60_000);
    expect(calls).toHaveLength(length);
    expect(inFlight.unsettled()).toBe(0);
    expect(ends.map(({ outcome }) => outcome)).toEqual(["lost"]);
    await inFlight.stop(0);
  });
});

it("counts the handlers that run, of all and of each group, and says when a place of a group is free", async () => {
  const finish = Promise.withResolvers<void>();
  const freed: (string | null)[] = [];
  const { inFlight } = inFlightWith({
    async runEvent() {
      await finish.promise;
      return { ending: { state: "done" } };
    },
    onFree: (group) => freed.push(group),
  });
  for (const [id, group] of [
    ["a", "esim.enabled"],
    ["b", "esim.enabled"],
    ["c", null],
  ] as const)
    inFlight.start(takenEvent(id), performance.now(), group);
  expect([inFlight.running(), inFlight.running("esim.enabled"), inFlight.running("other")]).toEqual([
    3, 2, 0,
  ]);
  finish.resolve();
  await inFlight.stop(leaseMs);
  expect(freed).toEqual(["esim.enabled", "esim.enabled", null]);
  expect(inFlight.running("esim.enabled")).toBe(0);
});

it("at its stop aborts the signals of handlers, gives their events back, and leaves no timer", async () => {
  const extend = vi.fn(async (leases: readonly unknown[]) => leases.map(() => true));
  const givenBack: Settlement[] = [];
  let reason: unknown;
  const { inFlight, timers } = inFlightWith({
    inbox: {
      extend,
      async settle(settlements) {
        givenBack.push(...settlements);
        return settlements.map(() => true);
      },
    },
    runEvent: ({ controller: { signal } }) =>
      new Promise(() => {
        signal.addEventListener("abort", () => {
          reason = signal.reason;
        });
      }),
  });
  inFlight.start(takenEvent("a"), performance.now(), null);
  expect(timers()).toBeGreaterThan(0);
  const stopped = inFlight.stop(1000);
  await pass(999);
  expect(reason).toBe(undefined);
  await pass(1);
  await stopped;
  expect(reason).toMatchObject({ name: "AbortError", message: "The worker is stopping." });
  expect(givenBack).toEqual([{ source: "default", id: "a", token: "a", state: "given_back", started: true }]);
  expect(timers()).toBe(0);
  expect(extend).not.toHaveBeenCalled();
});

it("renews no lease of an event that is settled", async () => {
  const extend = vi.fn(async (leases: readonly unknown[]) => leases.map(() => true));
  const { inFlight } = inFlightWith({ inbox: { extend, settle: async (all) => all.map(() => true) } });
  inFlight.start(takenEvent("a"), performance.now(), null);
  await pass(2 * leaseMs);
  expect(extend).not.toHaveBeenCalled();
  await inFlight.stop(0);
});

describe("leases", () => {
  /** The leases of a worker, the ids in each renewal, and when the timer was expected. `answer` is what the inbox says to a renewal. */
  function leasesWith(answer: (ids: string[]) => Promise<boolean[]> | boolean[]) {
    stopTime();
    const renewals: string[][] = [];
    const expected: [number, readonly (string | null)[]][] = [];
    const leases = keepLeases(
      {
        async extend(due, ms) {
          expect(ms).toBe(leaseMs);
          const ids = due.map(({ id }) => id);
          renewals.push(ids);
          return answer(ids);
        },
      },
      leaseMs,
      { expectedAt: (at, types) => expected.push([at, types()]) },
    );
    const startedAt = performance.now();
    return {
      leases,
      renewals,
      expected,
      /** Holds an event that was taken so many ms after the start. */
      hold: (id: string, afterMs = 0) => leases.hold(takenEvent(id), startedAt + afterMs),
      /** Moves the time to a renewal, which is every third of a lease. */
      renewal: (ms = leaseMs / 3) => pass(ms),
      /** In ms since the start. */
      since: (at: number) => at - startedAt,
    };
  }
  const third = leaseMs / 3;

  it("are renewed together, once a quarter of their time has passed, until they are dropped", async () => {
    const { leases, renewals, hold, renewal, since } = leasesWith((ids) => ids.map(() => true));
    const first = hold("first");
    const quarter = hold("a quarter", third - leaseMs / 4);
    const fresh = hold("fresh", third - leaseMs / 4 + 1);
    expect(since(first.heldUntil)).toBe(leaseMs);
    await renewal();
    expect(renewals).toEqual([["first", "a quarter"]]);
    expect([first, quarter].map(({ heldUntil }) => since(heldUntil))).toEqual(Array(2).fill(third + leaseMs));
    expect(since(fresh.heldUntil)).toBe(third + (leaseMs / 4) * 3 + 1);
    leases.drop(first);
    await renewal();
    expect(renewals.slice(1)).toEqual([["a quarter", "fresh"]]);
    leases.drop(quarter);
    leases.drop(fresh);
    await renewal();
    expect(renewals).toHaveLength(2);
    const timers = vi.getTimerCount(); // also of other files that run in this process
    leases.stop(undefined);
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  it("are lost when the inbox says so: their signals abort, and nothing holds the event any more", async () => {
    const { renewals, hold, renewal } = leasesWith((ids) => ids.map((id) => id === "kept"));
    const [kept, lost] = [hold("kept"), hold("lost")];
    await renewal();
    expect([kept.state, kept.controller.signal.aborted]).toEqual(["held", false]);
    expect(lost.state).toBe("lost");
    expect(lost.controller.signal.reason).toMatchObject({
      name: "AbortError",
      message: "The lease on this event was lost.",
    });
    await renewal();
    expect(renewals).toEqual([["kept", "lost"], ["kept"]]);
  });

  it("are lost when no renewal has succeeded for a whole lease, at its very end", async () => {
    const { renewals, hold, renewal } = leasesWith(() => Promise.reject(new Error("connection lost")));
    const lease = hold("a");
    await renewal(leaseMs - 1);
    expect([lease.state, renewals.length]).toEqual(["held", 2]);
    await renewal(1);
    expect(lease.state).toBe("lost");
    await renewal();
    expect(renewals).toHaveLength(2); // a lost lease is not renewed
  });

  it("last from when a renewal was asked for, however late its answer is", async () => {
    const slow = Promise.withResolvers<boolean[]>();
    const { hold, renewal, since } = leasesWith(() => slow.promise);
    const lease = hold("a");
    await renewal();
    await pass(third);
    slow.resolve([true]);
    await pass(0);
    expect(since(lease.heldUntil)).toBe(third + leaseMs);
  });

  it("stay as they are, lost or dropped, when a slow renewal ends later; until then there is no other one", async () => {
    const slow = Promise.withResolvers<boolean[]>();
    let calls = 0;
    const { leases, renewals, hold, renewal } = leasesWith((ids) =>
      ++calls === 1 ? slow.promise : ids.map(() => true),
    );
    const [lost, dropped] = [hold("lost"), hold("dropped")];
    await renewal();
    leases.drop(dropped);
    await renewal(leaseMs - third);
    expect([lost.state, renewals.length]).toEqual(["lost", 1]);
    slow.resolve([true, false]);
    hold("next", leaseMs);
    await renewal();
    expect(lost.state).toBe("lost");
    expect([dropped.state, dropped.controller.signal.aborted]).toEqual(["held", false]);
    expect(renewals.slice(1)).toEqual([["next"]]);
  });

  it("report when they should be renewed, with the types of their events, only while there are some", async () => {
    const { leases, expected, hold, renewal, since } = leasesWith((ids) => ids.map(() => true));
    await renewal();
    expect(expected).toEqual([]);
    const lease = hold("a", third);
    await renewal();
    await renewal();
    leases.drop(lease);
    await renewal();
    expect(expected.map(([at, types]) => [since(at), types])).toEqual([
      [2 * third, ["esim.enabled"]],
      [3 * third, ["esim.enabled"]],
    ]);
  });
});
