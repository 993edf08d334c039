import {
  type ApiError,
  type Budget,
  createLimiter,
  type Limiter,
  type Priority,
} from "@esim-webhooks/client";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { type FakeClock, fakeClock } from "../fake-clock.ts";
import { scriptedClient } from "../scripted-client.ts";

const forever = new AbortController().signal;

/** Makes calls that reach the service after `toMs` and are answered after `backMs`, or given up as soon as they are sent. Returns when the service counted each. */
function callAll(
  clock: FakeClock,
  limiter: Limiter,
  ways: readonly { readonly toMs: number; readonly backMs: number; readonly givesUp?: boolean }[],
): Promise<number[]> {
  return clock.run(
    Promise.all(
      ways.map(async ({ toMs, backMs, givesUp = false }) => {
        const slot = await limiter.take("normal", forever);
        if (givesUp) slot.givenUp();
        await clock.wait(toMs, forever);
        const countedAt = clock.now();
        await clock.wait(backMs, forever);
        if (!givesUp) slot.answered();
        return countedAt;
      }),
    ),
  );
}

/** The most calls that a service counts in any window of a second: the second call of a pair that is exactly one apart is outside. */
function mostInASecond(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return Math.max(...sorted.map((start) => sorted.filter((at) => at >= start && at < start + 1000).length));
}

describe("the rate", () => {
  it("is kept by 1,000 calls at the same time: at most 10 in any second, and not much less", async () => {
    const clock = fakeClock();
    const startedAt = clock.now();
    const times = await callAll(
      clock,
      createLimiter({ clock }),
      Array.from({ length: 1000 }, () => ({ toMs: 20, backMs: 20 })),
    );
    expect(mostInASecond(times)).toBe(10);
    expect(clock.now() - startedAt).toBeLessThan(110_000);
  });

  it("is kept for any time that calls take to arrive and to be answered, and when callers give up", async () => {
    const way = fc.record({
      toMs: fc.integer({ min: 0, max: 1900 }),
      backMs: fc.integer({ min: 0, max: 5000 }),
      givesUp: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(way, { minLength: 11, maxLength: 60 }), async (ways) => {
        const clock = fakeClock();
        expect(mostInASecond(await callAll(clock, createLimiter({ clock }), ways))).toBeLessThanOrEqual(10);
      }),
      { numRuns: 100 },
    );
  });

  it("is kept by 1,000 operations of a client, with the default time-out, and no call is refused", async () => {
    const { api, clock, service } = scriptedClient();
    await clock.run(Promise.all(Array.from({ length: 1000 }, () => api.client.get().catch(() => {}))));
    expect(service.seen).toHaveLength(1000);
    expect(mostInASecond(service.seen.map(({ at }) => at))).toBe(10);
  });

  it("is kept when callers give up: their requests may still arrive", async () => {
    const { api, clock, service } = scriptedClient(Array.from({ length: 10 }, () => ({ answer: "hang" })));
    const gone = new AbortController();
    const startedAt = clock.now();
    const calls = Array.from({ length: 10 }, () =>
      api.request("GET", "/", undefined, { signal: gone.signal }).catch(() => {}),
    );
    await expect.poll(() => service.seen.length).toBe(10);
    gone.abort();
    await clock.run(Promise.all(calls));
    await clock.run(api.request("GET", "/"));
    expect(clock.now() - startedAt).toBe(3000);
  });

  it("does not fall to nothing when calls hang: their places are free after three seconds", async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ clock });
    for (let call = 0; call < 10; call++) await limiter.take("low", forever);
    const startedAt = clock.now();
    await clock.run(limiter.take("high", forever));
    expect(clock.now() - startedAt).toBe(3000);
  });
});

describe("who is served next", () => {
  async function orderOf(priorities: readonly Priority[]): Promise<number[]> {
    const clock = fakeClock();
    const limiter = createLimiter({ calls: 1, clock });
    const order: number[] = [];
    await clock.run(
      Promise.all(
        priorities.map(async (priority, index) => {
          const slot = await limiter.take(priority, forever);
          order.push(index);
          slot.answered();
        }),
      ),
    );
    return order;
  }

  it("is first come, first served among calls of one priority", async () => {
    expect(await orderOf(["normal", "normal", "normal", "normal", "normal"])).toEqual([0, 1, 2, 3, 4]);
  });

  it("is an order's before a listing's", async () => {
    expect(await orderOf(["low", "low", "high"])).toEqual([2, 0, 1]);
  });

  it("is an order's of the client before a listing of the client", async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ calls: 1, clock });
    const { api, service } = scriptedClient([], { clock, limiter });
    const exchanged = clock.run(api.client.get().catch(() => {}));
    await exchanged;
    const listing = api.webhooks.list().page();
    const reading = api.client.get();
    const order = api.esims.order({});
    await clock.run(Promise.allSettled([listing, reading, order]));
    expect(service.seen.slice(1).map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
      "POST /api/v3/esims",
      "GET /api/v3/management/client",
      "GET /api/v3/management/webhooks",
    ]);
  });

  it("is every fourth time the oldest caller's, so that a listing is not starved by orders", async () => {
    const order = await orderOf(["low", ...Array.from({ length: 20 }, () => "high" as const)]);
    expect(order.indexOf(0)).toBe(3);
  });

  it("does not go to a caller that has given up, and the others do not wait for it", async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ calls: 1, clock });
    (await limiter.take("normal", forever)).answered();
    const gone = new AbortController();
    const first = limiter.take("normal", gone.signal);
    const second = limiter.take("normal", forever);
    expect(limiter.state()).toMatchObject({ waiting: 2, inFlight: 0 });
    gone.abort(new Error("gave up"));
    await expect(first).rejects.toThrow("gave up");
    const slot = await clock.run(second);
    expect(limiter.state()).toMatchObject({ waiting: 0, inFlight: 1 });
    slot.answered();
    expect(limiter.state()).toMatchObject({ waiting: 0, inFlight: 0 });
  });
});

describe("what the service says", () => {
  it("pauses every call for the Retry-After of one", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 429, headers: { "retry-after": "5" } }]);
    const refused = api.request("GET", "/first");
    await expect.poll(() => service.seen.length).toBe(1);
    await clock.run(Promise.all([refused, api.request("GET", "/second")]));
    const [first, ...others] = service.seen;
    expect(others).toHaveLength(2);
    for (const { at } of others) expect(at - (first?.at ?? 0)).toBeGreaterThanOrEqual(5000);
  });

  it("refuses a call at once whose time is shorter than the pause, and says when to call again", async () => {
    const { api, clock, service } = scriptedClient([{ answer: 429, headers: { "retry-after": "50" } }]);
    const short = { timeoutMs: 20_000 };
    await clock.run(api.request("GET", "/", undefined, short).catch(() => {}));
    expect(api.limiter.state().pauseMs).toBe(50_000);
    const since = clock.now();
    const error = await clock.run(
      api.request("POST", "/", {}, short).catch((failure: unknown) => failure as ApiError),
    );
    expect(error).toMatchObject({
      code: "rate_limited",
      retryAfterMs: 50_000,
      attempts: 0,
      retryable: true,
      idempotencyKey: expect.any(String),
      message: expect.not.stringContaining("fewer calls"),
    });
    expect(clock.now()).toBe(since);
    expect(service.seen).toHaveLength(1);
  });

  it("refuses a call that waits already, once a longer pause begins", async () => {
    const limited = { answer: 429, headers: { "retry-after": "50" } } as const;
    const clock = fakeClock();
    const { api } = scriptedClient([limited], { clock, limiter: createLimiter({ calls: 1, clock }) });
    const since = clock.now();
    const calls = [1, 2, 3].map(() => api.request("GET", "/", undefined, { timeoutMs: 20_000 }));
    const ended = await clock.run(Promise.allSettled(calls));
    for (const call of ended) expect(call).toMatchObject({ reason: { code: "rate_limited" } });
    expect(clock.now()).toBe(since);
  });

  it("pauses all calls for a minute at most, however long one is told to wait", async () => {
    const { api, clock } = scriptedClient([{ answer: 429, headers: { "retry-after": "3600" } }]);
    await expect(clock.run(api.request("GET", "/"))).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
    expect(api.limiter.state().pauseMs).toBe(60_000);
    await clock.run(api.request("GET", "/"));
    expect(api.limiter.state().pauseMs).toBe(0);
  });

  it("keeps to a stricter RateLimit-Policy until the next one", async () => {
    const policy = (value: string) => ({ answer: 200, headers: { "ratelimit-policy": value }, body: "{}" });
    const { api, clock } = scriptedClient([policy("1;w=60"), policy("10;w=1")] as never);
    await clock.run(api.request("GET", "/"));
    await clock.run(api.request("GET", "/"));
    const since = clock.now();
    await clock.run(Promise.all(Array.from({ length: 9 }, () => api.request("GET", "/"))));
    expect(clock.now()).toBe(since);
  });

  it("slows down to a stricter RateLimit-Policy, in either of its forms", async () => {
    for (const policy of ["2;w=1", '"default";q=2;w=1']) {
      const { api, clock, service } = scriptedClient([
        { answer: 200, headers: { "ratelimit-policy": policy }, body: "{}" },
      ]);
      await clock.run(api.request("GET", "/"));
      await clock.run(Promise.all(Array.from({ length: 20 }, () => api.request("GET", "/"))));
      expect(mostInASecond(service.seen.slice(1).map(({ at }) => at))).toBe(2);
    }
  });

  it("reports what remains", async () => {
    const { api, clock } = scriptedClient([
      { answer: 200, headers: { "x-ratelimit-remaining": "7" }, body: "{}" },
    ]);
    expect(api.limiter.state()).toEqual({ waiting: 0, inFlight: 0, remaining: undefined, pauseMs: 0 });
    await clock.run(api.request("GET", "/"));
    expect(api.limiter.state()).toEqual({ waiting: 0, inFlight: 0, remaining: 7, pauseMs: 0 });
  });
});

describe("a budget that processes share", () => {
  it("decides how many calls go, for all limiters together", async () => {
    const clock = fakeClock();
    let taken: number[] = [];
    const shared: Budget = {
      async take() {
        taken = taken.filter((at) => at > clock.now() - 1000);
        if (taken.length >= 10) return { waitMs: (taken[0] ?? 0) + 1000 - clock.now() };
        taken.push(clock.now());
        return { answered() {} };
      },
    };
    const ways = Array.from({ length: 50 }, () => ({ toMs: 0, backMs: 0 }));
    const limiters = [createLimiter({ clock, budget: shared }), createLimiter({ clock, budget: shared })];
    const times = await Promise.all(limiters.map((limiter) => callAll(clock, limiter, ways)));
    expect(mostInASecond(times.flat())).toBe(10);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no Redis");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no Redis"))],
  ])("loses no answer when its answered() %s, and says so once", async (_, answered) => {
    const clock = fakeClock();
    const lines: unknown[] = [];
    const logger = loggerWith({ warn: (fields) => void lines.push(fields) });
    const limiter = createLimiter({ clock, logger, budget: { take: () => ({ answered }) } });
    const { api, service } = scriptedClient([], { clock, limiter });
    const calls = [1, 2].map(() => clock.run(api.request("POST", "/", {})));
    await expect(Promise.all(calls)).resolves.toHaveLength(2);
    expect(service.effects).toBe(2);
    await expect.poll(() => lines).toMatchObject([{ err: { message: "no Redis" } }]);
  });

  it("fails a call when it throws, and says that nothing was sent", async () => {
    const clock = fakeClock();
    const budget: Budget = { take: () => Promise.reject(new Error("no Redis")) };
    const { api, service } = scriptedClient([], { limiter: createLimiter({ clock, budget }) });
    await expect(api.client.get()).rejects.toMatchObject({
      code: "limiter_failed",
      attempts: 0,
      cause: { message: "no Redis" },
    });
    expect(service.seen).toEqual([]);
  });

  it("fails a call when it throws before a retry, and says how often the request was sent", async () => {
    const clock = fakeClock();
    const slot = { answered() {}, givenUp() {} };
    const take = vi.fn().mockResolvedValueOnce(slot).mockRejectedValue(new Error("no Redis"));
    const limiter = createLimiter({ clock, budget: { take } });
    const { api } = scriptedClient([{ answer: 503 }], { clock, limiter });
    await expect(clock.run(api.client.get())).rejects.toMatchObject({ code: "limiter_failed", attempts: 1 });
  });
});
