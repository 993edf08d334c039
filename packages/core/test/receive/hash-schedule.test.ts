import { afterEach, expect, it, vi } from "vitest";
import { createHashSchedule } from "../../src/receive/hash-schedule.ts";

const kib = 1024;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("hashes a long body although the tick it waits for was lost, as that of a request which has ended on Cloudflare Workers", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  vi.stubGlobal("setImmediate", () => {});
  const schedule = createHashSchedule();
  expect(schedule.tryAdmit(256 * kib)).toBe(true);
  const started: string[] = [];
  schedule.wait(100 * kib, () => started.push("one"));
  schedule.wait(200 * kib, () => started.push("other"));
  const withdraw = schedule.wait(300 * kib, () => started.push("withdrawn"));
  expect(schedule.tryAdmit(100 * kib)).toBe(false);
  withdraw();
  vi.advanceTimersByTime(5000);
  expect(started).toEqual(["one", "other"]);
  expect(vi.getTimerCount()).toBe(0);
});
