import { fullJitter } from "@esim-webhooks/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** The largest number below 1: the largest that `Math.random` can return. */
const almostOne = 1 - Number.EPSILON / 2;

describe("fullJitter", () => {
  it("waits at most the base after the first failure, twice as long after each further one, up to the cap", () => {
    const longest = fullJitter({ baseMs: 1000, capMs: 10_000, random: () => almostOne });
    expect([1, 2, 3, 4, 5, 6].map(longest)).toEqual([999, 1999, 3999, 7999, 9999, 9999]);
  });

  it("can be any time from 0 up to that limit", () => {
    const of = (random: number) => fullJitter({ baseMs: 1000, capMs: 10_000, random: () => random });
    expect(of(0)(3)).toBe(0);
    expect(of(0.5)(3)).toBe(2000);
  });

  it("depends only on the attempt and the random number", () => {
    const numbers = [0.1, 0.9, 0.1, 0.9];
    const backoff = fullJitter({ baseMs: 100, capMs: 1000, random: () => numbers.shift() ?? 0 });
    expect([backoff(4), backoff(2), backoff(4), backoff(2)]).toEqual([80, 180, 80, 180]);
  });

  it("is a whole number of ms from 0 to below the cap, however many attempts there were", () => {
    const ms = fc.integer({ min: 0, max: 86_400_000 });
    const attempt = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1000, max: 2 ** 31 - 1 }));
    const random = fc.double({ min: 0, max: almostOne, noNaN: true });
    fc.assert(
      fc.property(ms, ms, attempt, random, (baseMs, capMs, tried, chance) => {
        const pauseMs = fullJitter({ baseMs, capMs, random: () => chance })(tried);
        expect(Number.isSafeInteger(pauseMs)).toBe(true);
        expect(pauseMs).toBeGreaterThanOrEqual(0);
        expect(pauseMs).toBeLessThanOrEqual(Math.max(0, capMs - 1));
      }),
    );
  });

  it("is random by default", () => {
    const backoff = fullJitter({ baseMs: 2 ** 30, capMs: 2 ** 30 });
    expect(new Set(Array.from({ length: 20 }, () => backoff(1))).size).toBeGreaterThan(1);
  });
});
