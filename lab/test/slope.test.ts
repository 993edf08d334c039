import { expect, it } from "vitest";
import { seededRandom } from "../simulation/random.ts";
import { type Point, slopeOf } from "../time/slope.ts";

/** 35 minutes of samples, ten seconds apart. */
function series(valueAt: (sample: number) => number): Point[] {
  return Array.from({ length: 210 }, (_, sample) => ({ hours: sample / 360, value: valueAt(sample) }));
}

/** Noise of a few kB around 0, nearly normal. */
function noise(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random.between(-2000, 2000) + random.between(-2000, 2000) + random.between(-2000, 2000);
}

const perHourOf = (kilobytes: number) => (sample: number) => (kilobytes * sample) / 360;
const meanKilobytes = 90_000;

it("finds the slope of a line, with no doubt", () => {
  const slope = slopeOf(series((sample) => 100 + perHourOf(36)(sample)));

  expect(slope.perHour).toBeCloseTo(36, 6);
  expect(slope.plusMinus).toBeCloseTo(0, 6);
  expect(slope.mean).toBeCloseTo(100 + perHourOf(36)(104.5), 6);
});

it("gives the interval of a textbook: 1, 3, 2, 5 at 0, 1, 2, 3 hours", () => {
  const values = [1, 3, 2, 5].map((value, hours) => ({ hours, value }));

  // the slope is 1.1; the residuals alternate, so none is taken off the count; Student's t for two degrees of freedom is 4.303
  expect(slopeOf(values).perHour).toBeCloseTo(1.1, 6);
  const interval = 4.303 * Math.sqrt(2.7 / 2 / 5);
  expect(slopeOf(values).plusMinus).toBeGreaterThan(0.96 * interval); // the quantile is approximated
  expect(slopeOf(values).plusMinus).toBeLessThanOrEqual(interval);
});

it("takes noise for noise in 95 of 100 runs", () => {
  const seeds = Array.from({ length: 100 }, (_, seed) => seed);
  const doubted = seeds.filter((seed) => {
    const next = noise(seed);
    const { perHour, plusMinus } = slopeOf(series(() => meanKilobytes + next()));
    return Math.abs(perHour) > plusMinus;
  });

  expect(doubted.length).toBeGreaterThanOrEqual(1); // an interval that is too wide would doubt none
  expect(doubted.length).toBeLessThanOrEqual(10);
});

it("notices a leak of 5 % an hour in noise", () => {
  const next = noise(1);
  const leak = perHourOf(meanKilobytes / 20);

  const { perHour, plusMinus, verdict } = slopeOf(series((sample) => meanKilobytes + leak(sample) + next()));
  expect(verdict).toBe("grows");
  expect(Math.abs(perHour - meanKilobytes / 20)).toBeLessThan(plusMinus);
  expect(Math.abs(plusMinus / 1614 - 1)).toBeLessThan(0.1); // 1.97 × 2,000 / √5.96, by the deviation of the noise and the spread of the hours
});

it("notices a table that gets smaller", () => {
  expect(slopeOf(series((sample) => meanKilobytes - perHourOf(9000)(sample))).verdict).toBe("falls");
});

it.each([18, 30, 36, 60])("does not take a saw-tooth of %i samples for a leak", (length) => {
  const next = noise(2);
  const values = series((sample) => meanKilobytes + (20_000 * (sample % length)) / length + next());

  expect(slopeOf(values).verdict).toBe("within noise");
});

it("notices the leak below a saw-tooth", () => {
  const values = series((sample) => meanKilobytes + 500 * (sample % 18) + perHourOf(60_000)(sample));

  expect(slopeOf(values).verdict).toBe("grows");
});

it("does not report a slope that is certain and tiny", () => {
  expect(slopeOf(series((sample) => meanKilobytes + perHourOf(900)(sample))).verdict).toBe("within noise");
});

it("says that a constant is within noise", () => {
  expect(slopeOf(series(() => 31))).toEqual({ mean: 31, perHour: 0, plusMinus: 0, verdict: "within noise" });
});
