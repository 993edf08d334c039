import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLaneVisits } from "../../src/store/lane-visits.ts";

const options = { limit: 20, leaseMs: 1000 };
const [vain, found] = [
  { upto: "lane5", found: false },
  { upto: "lane9", found: true },
];

const wake = vi.fn();

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  wake.mockClear();
});

it("continues after the lane at which the last visit has ended, for each choice of types", () => {
  const visits = createLaneVisits(wake);
  expect(visits.after(options)).toBe("");
  visits.note(options, found);
  visits.note({ ...options, only: ["esim.enabled"] }, { upto: "lane2", found: true });
  visits.note(options, undefined);
  expect(visits.after(options)).toBe("lane9");
  expect(visits.after({ ...options, only: ["esim.enabled"] })).toBe("lane2");
  expect(visits.after({ ...options, except: ["esim.enabled"] })).toBe("");
});

it("leaves out lanes for 250 ms after a visit in vain when nothing was in them for long, and then continues", () => {
  const visits = createLaneVisits(wake);
  vi.advanceTimersByTime(10_000);
  visits.note(options, vain);
  vi.advanceTimersByTime(249);
  expect(visits.after(options)).toBeNull();
  expect(visits.after({ ...options, only: ["esim.enabled"] })).toBe("");
  vi.advanceTimersByTime(1);
  expect(visits.after(options)).toBe("lane5");
});

it("wakes workers for the next visit after one in vain, until the last lane is reached", () => {
  const visits = createLaneVisits(wake);
  vi.advanceTimersByTime(10_000);
  visits.note(options, vain);
  vi.advanceTimersByTime(250);
  expect(wake).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(wake).toHaveBeenCalledOnce();
  visits.note(options, { upto: "", found: false });
  visits.note(options, found);
  vi.advanceTimersByTime(1000);
  expect(wake).toHaveBeenCalledOnce();
});

it("leaves out lanes for a quarter of the time since the last event in them, so that short handlers keep their pace", () => {
  const visits = createLaneVisits(wake);
  vi.advanceTimersByTime(10_000);
  visits.note(options, found);
  vi.advanceTimersByTime(8);
  visits.note(options, vain);
  vi.advanceTimersByTime(1);
  expect(visits.after(options)).toBeNull();
  vi.advanceTimersByTime(1);
  expect(visits.after(options)).toBe("lane5");
});

it("lets one of concurrent takes visit lanes after a visit in vain, and all of them once it has found an event", () => {
  const visits = createLaneVisits(wake);
  vi.advanceTimersByTime(10_000);
  visits.note(options, vain);
  vi.advanceTimersByTime(250);
  expect([1, 2, 3].map(() => visits.after(options))).toEqual(["lane5", null, null]);
  visits.note(options, found);
  expect([1, 2, 3].map(() => visits.after(options))).toEqual(["lane9", "lane9", "lane9"]);
});

it("remembers a hundred choices of types, and then begins anew", () => {
  const visits = createLaneVisits(wake);
  for (let n = 0; n < 101; n += 1) visits.note({ ...options, only: [`test.${n}`] }, found);
  expect(visits.after({ ...options, only: ["test.0"] })).toBe("");
  expect(visits.after({ ...options, only: ["test.100"] })).toBe("lane9");
});
