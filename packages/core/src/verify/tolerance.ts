import type { Skew, SkewRefusal } from "./refusal.ts";

/**
 * How far a delivery's timestamp may be from the time at which it is received, in whole seconds from 1: one number for
 * both directions, or one for each. A direction that is left out is 300.
 */
export type ToleranceSeconds =
  | number
  | { readonly past?: number | undefined; readonly future?: number | undefined };

/** How far a timestamp may be off, in each direction, in seconds. */
export type Tolerance = Readonly<Record<Skew["direction"], number>>;

/** The default of each side of `ToleranceSeconds`: five minutes. */
export const defaultToleranceSeconds = 300;
const byDefault: Tolerance = { past: defaultToleranceSeconds, future: defaultToleranceSeconds };

export const toleranceForm = "expected whole seconds from 1, or { past, future } with such numbers";

/** The tolerance in each direction. Undefined if `given` does not have the form of `ToleranceSeconds`. */
export function toleranceOf(given: unknown): Tolerance | undefined {
  if (given === undefined) return byDefault;
  if (typeof given === "number") return isSeconds(given) ? { past: given, future: given } : undefined;
  if (typeof given !== "object" || given === null) return undefined;
  const { past = byDefault.past, future = byDefault.future, ...others } = given as Partial<Tolerance>;
  const isKnown = !Array.isArray(given) && Object.keys(others).length === 0;
  return isKnown && isSeconds(past) && isSeconds(future) ? { past, future } : undefined;
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/**
 * Returns the refusal of a timestamp that is too far from the time at which the delivery was received, else undefined.
 * @param timestamp Unix seconds
 */
export function refuseBySkew(timestamp: number, atMs: number, tolerance: Tolerance): SkewRefusal | undefined {
  const ahead = timestamp - Math.floor(atMs / 1000);
  if (-tolerance.past <= ahead && ahead <= tolerance.future) return undefined;
  const skew: Skew = { direction: ahead < 0 ? "past" : "future", seconds: Math.abs(ahead) };
  return {
    ok: false,
    code: "timestamp_out_of_tolerance",
    skew,
    reason: reasonOf(skew, timestamp, tolerance),
  };
}

function reasonOf({ direction, seconds }: Skew, timestamp: number, tolerance: Tolerance): string {
  const unit = finerUnit(timestamp);
  if (unit !== undefined) return `webhook-timestamp is in ${unit.name}, not in seconds`;
  const side = direction === "past" ? "before" : "after";
  return `signed ${seconds} s ${side} this machine's time, and toleranceSeconds is ${tolerance[direction]}`;
}

/** The unit of a timestamp that is too large to be in seconds: these would be after the year 5000. Else undefined. */
export function finerUnit(
  timestamp: number,
): { readonly name: string; readonly perSecond: number } | undefined {
  if (timestamp < 1e11) return undefined;
  return timestamp < 1e14
    ? { name: "milliseconds", perSecond: 1000 }
    : { name: "microseconds", perSecond: 1_000_000 };
}
