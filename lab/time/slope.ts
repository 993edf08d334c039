/** A value of a series. */
export interface Point {
  readonly hours: number;
  readonly value: number;
}

/** A line through a series, by least squares. */
export interface Slope {
  readonly mean: number;
  /** How much the values rise in an hour. */
  readonly perHour: number;
  /** With a probability of 95 %, the true slope is at most this far from `perHour`. */
  readonly plusMinus: number;
  readonly verdict: "within noise" | "grows" | "falls";
}

/** A slope below this share of the mean in an hour is within noise, however certain it is. */
export const leastShare = 0.02;

/**
 * Fits a line. Its interval allows for values that follow each other, as in a saw-tooth: `n` values whose residuals have the autocorrelation `r` from one
 * to the next say as much as `n (1 - r) / (1 + r)` independent ones. Throws for a value that is not finite.
 */
export function slopeOf(points: readonly Point[]): Slope {
  if (points.some(({ value }) => !Number.isFinite(value))) throw new Error("A sample has no value.");
  const count = points.length;
  const mean = average(points.map(({ value }) => value));
  const middle = average(points.map(({ hours }) => hours));
  const spread = points.reduce((sum, { hours }) => sum + (hours - middle) ** 2, 0);
  const perHour =
    points.reduce((sum, { hours, value }) => sum + (hours - middle) * (value - mean), 0) / spread;
  const residuals = points.map(({ hours, value }) => value - mean - perHour * (hours - middle));
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const products = residuals.slice(1).reduce((sum, residual, at) => sum + residual * (residuals[at] ?? 0), 0);
  const correlation = squares === 0 ? 0 : Math.min(0.99, Math.max(0, products / squares));
  const inflation = (1 + correlation) / (1 - correlation);
  const error = Math.sqrt((squares / (count - 2) / spread) * inflation);
  const plusMinus = quantile(Math.max(2, count / inflation - 2)) * error;
  return { mean, perHour, plusMinus, verdict: verdictOf(mean, perHour, plusMinus) };
}

function verdictOf(mean: number, perHour: number, plusMinus: number): Slope["verdict"] {
  if (Math.abs(perHour) <= plusMinus || Math.abs(perHour) < leastShare * Math.abs(mean))
    return "within noise";
  return perHour > 0 ? "grows" : "falls";
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The 97.5 % quantile of Student's distribution with at least two degrees of freedom (Abramowitz and Stegun, 26.7.5). */
function quantile(degrees: number): number {
  const z = 1.959964;
  return (
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  );
}
