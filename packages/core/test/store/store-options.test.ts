import { expect, it } from "vitest";
import { spreadRetention } from "../../src/store/store-options.ts";

const dayMs = 86_400_000;

it.each([
  [1, 0],
  [50, 2],
  [1000, 50],
  [dayMs, dayMs / 20],
  [30 * dayMs, dayMs / 4],
])(
  "a retention of %d ms lasts at most %d ms longer, in whole ms, and is never shorter",
  (retentionMs, longerMs) => {
    const keptMs = Array.from({ length: 1000 }, () => spreadRetention(retentionMs));
    expect(Math.min(...keptMs)).toBeGreaterThanOrEqual(retentionMs);
    expect(Math.max(...keptMs)).toBeLessThanOrEqual(retentionMs + longerMs);
    expect(keptMs.every(Number.isInteger)).toBe(true);
    if (longerMs >= 50) expect(new Set(keptMs).size).toBeGreaterThan(1);
  },
);
