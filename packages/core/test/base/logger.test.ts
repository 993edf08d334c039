import { describe, expect, it } from "vitest";
import { throttledLog } from "../../src/base/logger.ts";

describe("throttledLog", () => {
  it("logs one line a second, with how many were left out after the last one, and how long ago that was", () => {
    const lines: unknown[] = [];
    const clock = { time: 0, now: () => clock.time };
    const log = throttledLog((fields) => lines.push(fields), clock);
    for (const time of [0, 1, 999, 1000.4, 1500, 172_800_000, 172_900_000]) {
      clock.time = time;
      log({ time }, "away");
    }
    expect(lines).toEqual([
      { time: 0 },
      { time: 1000.4, alike: 2, sinceMs: 1000 },
      { time: 172_800_000, alike: 1, sinceMs: 172_799_000 },
      { time: 172_900_000 },
    ]);
  });
});
