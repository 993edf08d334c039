/** Where the time comes from; tests hand in their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Starts at the system's time and from then on never jumps: for leases. */
export const monotonicClock: Clock = { now: () => performance.timeOrigin + performance.now() };

// with its offset, without which it would mean another time on another machine
const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Milliseconds since the Unix epoch of a `Date` or a date-time with its offset (RFC 3339); NaN for all else. */
export function dateTimeMs(given: unknown): number {
  if (given instanceof Date) return given.getTime();
  return typeof given === "string" && dateTime.test(given) ? Date.parse(given) : Number.NaN;
}
