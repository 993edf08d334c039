import { expect, it, onTestFinished, vi } from "vitest";
import { askInTime } from "../../src/base/ask.ts";

it("asks what hangs once a minute, and gives the answer of the newest call", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const calls: ((answer: string) => void)[] = [];
  const ask = askInTime(() => new Promise<string>((resolve) => calls.push(resolve)), {
    withinMs: 1000,
    keptMs: 5000,
    late: () => new Error("late"),
  });
  const isLate = async () => {
    const asked = expect(ask()).rejects.toThrow("late");
    await vi.advanceTimersByTimeAsync(1000);
    await asked;
  };
  await isLate();
  await isLate();
  expect(calls).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(58_000);
  await isLate();
  expect(calls).toHaveLength(2);
  calls[1]?.("new");
  expect(await ask()).toBe("new");
  calls[0]?.("old"); // it comes after all
  await vi.advanceTimersByTimeAsync(4000);
  expect(await ask()).toBe("new");
  expect(calls).toHaveLength(2);
});
