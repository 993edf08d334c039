import { createPurger } from "@esim-webhooks/core/kit";
import { describe, expect, it, onTestFinished, vi } from "vitest";

/** A store in which so many rows are over. Deleting a slice takes it 20 ms, on a clock of the test's own. */
function storeWith(over: number) {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const slices: number[] = [];
  let left = over;
  const purger = createPurger(async (limit) => {
    const purged = Math.min(limit, left);
    left -= purged;
    vi.advanceTimersByTime(20);
    slices.push(purged);
    return purged;
  });
  return { purger, slices };
}

describe("createPurger", () => {
  it("deletes 300,000 rows in slices, and leaves nine tenths of the time to others", async () => {
    const { purger, slices } = storeWith(300_000);
    const startedAt = performance.now();
    await purger.purgeIfDue();
    while (purger.waitMs() < 60_000) {
      vi.advanceTimersByTime(purger.waitMs());
      await purger.purgeIfDue();
    }
    expect(slices).toEqual([...Array(600).fill(500), 0]);
    expect((performance.now() - startedAt) / (slices.length * 20)).toBeCloseTo(10, 1);
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
