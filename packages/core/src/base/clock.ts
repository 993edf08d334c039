/** Where the time comes from; tests pass their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The clock of this machine: `Date.now()`. */
export const systemClock: Clock = { now: () => Date.now() };

const { timeOrigin } = performance; // slow to read

/** Starts at the system's time and never jumps, even when that time is set: for leases. */
export const monotonicClock: Clock = { now: () => timeOrigin + performance.now() };

// an offset is required: without one the same text means another time on another machine
const dateTime =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether a text is a date-time with its offset (RFC 3339), on a day that the calendar has. Leap seconds are accepted. */
export function isDateTime(text: string): boolean {
  const [, year, month, day] = dateTime.exec(text) ?? [];
  if (day === undefined) return false;
  return day <= "28" || Number(day) <= daysIn(Number(year), Number(month)); // computing the days of a month is the slow part
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate(); // Date.UTC takes the years 0 to 99 for 19xx
}

/** Returns the ms since the Unix epoch of a `Date`, or of a text that `isDateTime` accepts. NaN for anything else. */
export function dateTimeMs(given: unknown): number {
  if (given instanceof Date) return given.getTime();
  if (typeof given !== "string" || !isDateTime(given)) return Number.NaN;
  const ms = Date.parse(given);
  // Date.parse knows no leap seconds
  return Number.isNaN(ms) ? Date.parse(given.replace(/:60(?=[.Zz+-])/, ":59")) + 1000 : ms;
}
