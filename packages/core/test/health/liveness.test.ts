import {
  createWorker,
  type EsimEvents,
  type Handlers,
  type Inbox,
  type InboxGauges,
} from "@esim-webhooks/core";
import { livenessHandler } from "@esim-webhooks/core/health";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";
import { watchStalls } from "../../src/health/event-loop.ts";

expectWarnings("event_dead");

type Options = Parameters<typeof livenessHandler>[0];

/** With bounds that a busy machine does not reach, unless the test says otherwise. */
function liveness(options: Options) {
  const live = livenessHandler({ stallMs: 60_000, ...options });
  onTestFinished(() => live.close());
  return live;
}

/** Runs a worker until the test ends. `end` lets its handlers end. */
function started(inbox: Inbox, handlers: Handlers<EsimEvents>, end: () => void, options = {}) {
  const stop = new AbortController();
  const worker = createWorker(inbox, handlers, { pollMs: 5, concurrency: 1, ...options });
  const running = worker.run({ signal: stop.signal });
  onTestFinished(() => {
    end();
    stop.abort();
    return running;
  });
  return worker;
}

const waiting = { timeout: 30_000 };

describe("livenessHandler", () => {
  it("answers 200 for a process without a worker, as JSON that no cache keeps", async () => {
    const response = await liveness({})();
    expect([response.status, await response.json()]).toEqual([
      200,
      { ok: true, checks: [{ name: "event_loop", ok: true }] },
    ]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("is not live while abandoned handlers fill the slots of the worker, and live once one has ended", async () => {
    const inbox = memoryInbox();
    const hangs = Promise.withResolvers<void>();
    const limits = { timeoutMs: 5, graceMs: 0, maxAttempts: 1 };
    const worker = started(inbox, { "*": () => hangs.promise }, hangs.resolve, limits);
    const live = liveness({ worker, inbox });
    expect(await live.check()).toMatchObject({ ok: true });
    await inbox.put([entry("hangs")]);
    await vi.waitFor(
      async () =>
        expect((await live.check()).checks).toMatchObject([
          { name: "event_loop", ok: true },
          { name: "worker", ok: false, code: "handlers_abandoned" },
        ]),
      waiting,
    );
    hangs.resolve();
    await vi.waitFor(async () => expect(await live.check()).toMatchObject({ ok: true }), waiting);
  });

  it("is not live when the worker takes nothing although an event is due for longer than its bound, and live once it takes it", async () => {
    const inbox = memoryInbox();
    const hangs = Promise.withResolvers<void>();
    const worker = started(inbox, { "*": () => hangs.promise }, hangs.resolve);
    await inbox.put([entry("hangs"), entry("due")]);
    const live = liveness({ worker, inbox, takeWithinMs: 50 });
    await vi.waitFor(
      async () =>
        expect((await live.check()).checks[1]).toMatchObject({
          code: "worker_stuck",
          problem: expect.stringContaining("nothing for more than 50 ms"),
          remedy: expect.stringContaining("raise takeWithinMs"),
        }),
      waiting,
    );
    expect((await live()).status).toBe(503);
    hangs.resolve();
    const patient = liveness({ worker, inbox }); // the default bound
    expect(await patient.check()).toMatchObject({ ok: true });
    await vi.waitFor(async () => expect((await inbox.gauges()).counts.ready).toBe(0), waiting);
    await vi.waitFor(async () => expect(await live.check()).toMatchObject({ ok: true }), waiting);
  });

  /** A worker that takes nothing. */
  const idle = { sinceLastTakeMs: () => null, isHealthy: () => true };
  const gaugesOf = (oldestReadyMs: number | null) => ({ oldestReadyMs }) as InboxGauges;

  /** Moves `performance.now()`, and no timer. */
  function withTime() {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    return (ms: number) => void vi.advanceTimersByTime(ms);
  }

  it("is live while nothing is due for the bound: an idle inbox, a pause of all types, an event that has just become due", async () => {
    const advance = withTime();
    const gauges = vi.fn(async () => gaugesOf(null));
    const live = liveness({ worker: idle, inbox: { gauges }, takeWithinMs: 60_000, stallMs: 10 ** 7 });
    for (const oldestMs of [null, 0, 60_000]) {
      gauges.mockResolvedValue(gaugesOf(oldestMs));
      advance(60_001);
      expect(await live.check()).toMatchObject({ ok: true });
    }
    gauges.mockResolvedValue(gaugesOf(60_001));
    advance(60_001);
    expect(await live.check()).toMatchObject({ ok: false, checks: [{}, { code: "worker_stuck" }] });
  });

  it("does not ask the inbox while the worker takes events", async () => {
    const advance = withTime();
    const gauges = vi.fn(async () => gaugesOf(10 ** 9));
    const worker = { sinceLastTakeMs: () => 1000, isHealthy: () => true };
    const live = liveness({ worker, inbox: { gauges }, takeWithinMs: 60_000, stallMs: 10 ** 7 });
    advance(10 ** 6);
    expect(await live.check()).toMatchObject({ ok: true });
    expect(gauges).not.toHaveBeenCalled();
  });

  it("is live while the inbox does not answer, and for the bound afterwards, in which the worker can take again", async () => {
    const advance = withTime();
    const gauges = vi.fn<() => Promise<InboxGauges>>(() => Promise.reject(new Error("down")));
    const live = liveness({ worker: idle, inbox: { gauges }, takeWithinMs: 60_000, stallMs: 10 ** 7 });
    advance(600_000);
    expect(await live.check()).toMatchObject({ ok: true });
    gauges.mockResolvedValue(gaugesOf(700_000));
    advance(60_000);
    expect(await live.check()).toMatchObject({ ok: true });
    advance(1);
    expect(await live.check()).toMatchObject({ ok: false });
  });

  it("is live again when the worker has taken an event while the inbox was asked", async () => {
    const advance = withTime();
    let sinceMs = 100_000;
    const gauges = async () => {
      sinceMs = 0;
      return gaugesOf(100_000);
    };
    const worker = { sinceLastTakeMs: () => sinceMs, isHealthy: () => true };
    const live = liveness({ worker, inbox: { gauges }, takeWithinMs: 60_000, stallMs: 10 ** 7 });
    advance(100_000);
    expect(await live.check()).toMatchObject({ ok: true });
  });

  it("is not live after the event loop has stalled for longer than its bound, and names how long", async () => {
    const live = liveness({ stallMs: 200 });
    for (const until = performance.now() + 250; performance.now() < until; );
    const { checks } = await live.check(); // before its timer fires
    expect(checks).toMatchObject([
      {
        name: "event_loop",
        code: "event_loop_stalled",
        problem: expect.stringMatching(/stalled for \d{3,} ms/),
      },
    ]);
    await vi.waitFor(async () => expect(await live.check()).toMatchObject({ ok: true }), waiting);
  });

  it.each([
    [{ worker: {} }, /"worker": expected an object with sinceLastTakeMs\(\), isHealthy\(\)/],
    [{ inbox: { put() {} } }, /"inbox": expected an object with gauges\(\)/],
    [{ stallMs: 10 }, /"stallMs": expected at least 100 ms/],
  ])("refuses the options %o", (options, message) => {
    expect(() => livenessHandler(options as object)).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringMatching(message) }),
    );
  });
});

describe("watchStalls", () => {
  it("sees a stall of the bound, and forgets it after the same time without another", () => {
    let now = 0;
    const stalls = watchStalls(10_000, () => now);
    onTestFinished(stalls.stop);
    const after = (ms: number) => {
      now += ms;
      return stalls.stalledMs();
    };
    expect(after(9999)).toBe(0);
    expect(after(12_000)).toBe(12_000);
    expect(after(9999)).toBe(12_000);
    expect(after(1)).toBe(0);
    expect(after(15_000)).toBe(15_000);
    expect(after(5000)).toBe(15_000);
    expect(after(10_000)).toBe(10_000); // another one, before the first was forgotten
    expect(after(9999)).toBe(10_000);
    expect(after(1)).toBe(0);
  });
});
