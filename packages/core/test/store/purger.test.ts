import { describe, expect, it, onTestFinished, vi } from "vitest";
import { loggerTo } from "../../../../test/support/loggers.ts";
import { createPurger, type PurgeClock, safePurge } from "../../src/store/purger.ts";

/** A store in which so many rows are over. Deleting a slice takes it 20 ms or as long as is given, on a clock of the test's own. */
function storeWith(over: number, sliceMs = 20) {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const slices: number[] = [];
  let left = over;
  const purger = createPurger(async (limit) => {
    const purged = Math.min(limit, left);
    left -= purged;
    vi.advanceTimersByTime(sliceMs);
    slices.push(purged);
    return purged;
  });
  const add = (rows: number) => {
    left += rows;
  };
  return { purger, slices, add };
}

describe("createPurger", () => {
  it("deletes many rows in slices that grow with each minute, leaves nine tenths of the time to others, and begins with small ones again", async () => {
    const { purger, slices, add } = storeWith(2_000_000);
    const startedAt = performance.now();
    async function purgeAll() {
      await purger.purgeIfDue();
      while (purger.waitMs() < 60_000) {
        vi.advanceTimersByTime(purger.waitMs());
        await purger.purgeIfDue();
      }
    }
    await purgeAll();
    const inMinute = (rows: number) => slices.filter((purged) => purged === rows).length;
    expect([500, 1000, 2000].map(inMinute)).toEqual([301, 300, 300]);
    expect(Math.max(...slices)).toBe(4000);
    expect((performance.now() - startedAt) / (slices.length * 20)).toBeCloseTo(10, 1);

    add(501);
    vi.advanceTimersByTime(60_000);
    await purgeAll();
    expect(slices.slice(-2)).toEqual([500, 1]);
  });

  it("does not let slices grow that take half a second", async () => {
    const { purger, slices } = storeWith(100_000, 500);
    while (slices.length < 100) {
      await purger.purgeIfDue();
      vi.advanceTimersByTime(purger.waitMs());
    }
    expect(new Set(slices)).toEqual(new Set([500]));
  });

  it("deletes nothing before the time has come", async () => {
    const { purger, slices } = storeWith(2000);
    for (let n = 0; n < 10; n++) await purger.purgeIfDue();
    expect(slices).toEqual([500]);
    expect(purger.waitMs()).toBe(180);
  });

  it("deletes one slice at a time", async () => {
    const answers: ((purged: number) => void)[] = [];
    const purger = createPurger(() => new Promise((resolve) => answers.push(resolve)));
    const first = purger.purgeIfDue();
    await purger.purgeIfDue();
    expect(answers).toHaveLength(1);
    answers[0]?.(0);
    await first;
  });

  it("tries again after a minute when the store does not answer", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const away = new Error("away");
    const purger = createPurger(() => Promise.reject(away));
    await expect(purger.purgeIfDue()).rejects.toBe(away);
    expect(purger.waitMs()).toBe(60_000);
  });
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A store with a clock of its own, in which something is always over. `process` opens it as a process does. */
function storeWithClock() {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let aheadMs = 0;
  let kept: PurgeClock | undefined;
  const lines: object[] = [];
  const logger = loggerTo((fields, _, level) => lines.push({ level, ...fields }));
  const look = async () => ({ nowMs: dayMs + performance.now() + aheadMs, kept });
  return {
    lines,
    /** Sets the store's clock ahead, or back. */
    set(ms: number) {
      aheadMs += ms;
    },
    process() {
      const purge = safePurge("testStore", logger, {
        look,
        async forget(limit, next, last) {
          if (last !== kept) return undefined;
          kept = next;
          return limit;
        },
      });
      return async () => (await purge(1)) === 1;
    },
  };
}

/** Calls `purges` once a minute. Resolves to how long it deleted nothing, in whole hours. */
async function heldHours(purges: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  while (!(await purges())) vi.advanceTimersByTime(60_000);
  return Math.round((performance.now() - startedAt) / hourMs);
}

describe("safePurge", () => {
  it.each([
    ["two hours", 2 * hourMs, 2],
    ["32 days", 32 * dayMs, 24],
  ])("holds for as long as the clock jumped ahead, by %s, and 24 hours at most", async (_, jumpMs, hours) => {
    const { process, set, lines } = storeWithClock();
    const purges = process();
    expect(await purges()).toBe(true);
    set(jumpMs);
    expect(await heldHours(purges)).toBe(hours);
    expect(await purges()).toBe(true);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: "error", code: "clock_jumped" });
  });

  it.each([-1, -31, -32])(
    "keeps a hold when the clock is set back by %d days: it may still be ahead",
    async (days) => {
      const { process, set } = storeWithClock();
      const purges = process();
      await purges();
      set(32 * dayMs);
      expect(await purges()).toBe(false);
      set(days * dayMs);
      expect(await heldHours(purges)).toBe(24);
    },
  );

  it("keeps a jump in whole milliseconds, which a store may need", async () => {
    let nowMs = dayMs;
    let kept: PurgeClock | undefined;
    const purge = safePurge(
      "testStore",
      loggerTo(() => {}),
      {
        look: async () => ({ nowMs, kept }),
        async forget(_, next) {
          kept = next;
          return 0;
        },
      },
    );
    const elapsed = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => elapsed.mockRestore());
    await purge(1);
    elapsed.mockReturnValue(0.25);
    nowMs += 2 * hourMs;
    await purge(1);
    expect(kept).toEqual({ seenMs: nowMs, heldUntilMs: nowMs + 2 * hourMs });
  });

  it("does not take hours without a purge for a jump, if its process was there", async () => {
    const { process } = storeWithClock();
    const purges = process();
    await purges();
    vi.advanceTimersByTime(5 * dayMs);
    expect(await purges()).toBe(true);
  });

  it("does not take an hour's correction for a jump", async () => {
    const { process, set } = storeWithClock();
    const purges = process();
    await purges();
    set(hourMs - 1000);
    expect(await purges()).toBe(true);
  });

  it("finds a jump however long this process has not purged, if another one has", async () => {
    const { process, set } = storeWithClock();
    const [first, second] = [process(), process()];
    await first();
    await second();
    for (let n = 0; n < 10; n += 1) {
      vi.advanceTimersByTime(hourMs / 2);
      expect(await second()).toBe(true);
    }
    set(2 * hourMs);
    expect(await first()).toBe(false);
  });

  it("keeps a hold that another process has begun, and finds a jump that happened while none ran", async () => {
    const { process, set, lines } = storeWithClock();
    const purges = process();
    await purges();
    set(32 * dayMs);
    await purges();
    expect(await heldHours(process())).toBe(24);
    set(32 * dayMs);
    expect(await process()()).toBe(false);
    expect(lines).toMatchObject([{ code: "clock_jumped" }, { level: "info", code: "purge_held" }]);
  });

  it("finds a second jump during a hold", async () => {
    const { process, set } = storeWithClock();
    const purges = process();
    await purges();
    set(32 * dayMs);
    await purges();
    set(32 * dayMs);
    expect(await heldHours(purges)).toBe(24);
  });

  it("is not held for ever in a store whose processes all end after one purge", async () => {
    const { process } = storeWithClock();
    const purged: boolean[] = [];
    for (let n = 0; n < 5; n += 1) {
      purged.push(await process()());
      vi.advanceTimersByTime(2 * hourMs);
    }
    expect(purged).toEqual([true, false, true, false, true]);
  });
});
