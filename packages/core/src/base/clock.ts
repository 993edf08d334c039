/** Where the time comes from; tests hand in their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Starts at the system's time and never jumps, even when that time is set: for leases. */
export const monotonicClock: Clock = { now: () => performance.timeOrigin + performance.now() };

// an offset is required: without one the same text means another time on another machine
const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Milliseconds since the Unix epoch of a `Date`, or of a date-time with its offset (RFC 3339). NaN for anything else. */
export function dateTimeMs(given: unknown): number {
  if (given instanceof Date) return given.getTime();
  return typeof given === "string" && dateTime.test(given) ? Date.parse(given) : Number.NaN;
}
