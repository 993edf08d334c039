import { invalidUsage } from "../program/program-error.ts";

/** A parser of whole numbers from `min` to `max`, for a flag. It throws `invalid_usage` for all other text. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw invalidUsage(`"${text}" is not a whole number ${range}.`, "Correct it.");
  };
}

const amountAndUnit = /^(\d{1,6})(s|m|h|d)$/;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** The shortest and the longest duration that a flag takes, as they are written. */
export interface DurationRange {
  readonly min: string;
  readonly max: string;
}

/** A duration in ms: `30s`, `5m`, `2h`, `1d`. Throws `invalid_usage` for other text, and outside the range. */
export function parseDuration(text: string, { min, max }: DurationRange): number {
  const isInRange = (ms: number) => ms >= msOf(min) && ms <= msOf(max);
  if (isInRange(msOf(text))) return msOf(text);
  const examples = ["30s", "5m", "2h", "1d"].filter((example) => isInRange(msOf(example)));
  throw invalidUsage(
    `"${text}" is not a duration from ${min} to ${max}.`,
    `Write a whole number and its unit: ${examples.join(", ")}.`,
  );
}

function msOf(text: string): number {
  const [, amount, unit] = amountAndUnit.exec(text) ?? [];
  return amount === undefined ? Number.NaN : Number(amount) * unitMs[unit as keyof typeof unitMs];
}

const day = /^\d{4}-\d\d-\d\d$/;
// the offset is required: without it the time would depend on the machine's time zone
const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const longAgo = /^(\d{1,6})(s|m|h|d|w)(?: ago)?$/;

const daysAgo: ReadonlyMap<string, number> = new Map([
  ["today", 0],
  ["yesterday", 1],
]);

/**
 * Parses a point in time: how long ago (`90s`, `30m`, `2h`, `7d`, `1w`), a date-time with its offset
 * (`2026-11-20T14:00:00Z`), or a day (`today`, `yesterday`, `2026-11-20`: midnight UTC). Throws `invalid_usage` for anything else.
 */
export function parseTime(text: string, now: number): Date {
  const days = daysAgo.get(text);
  if (days !== undefined) return new Date(now - (now % unitMs.d) - days * unitMs.d);
  const [, amount, unit] = longAgo.exec(text) ?? [];
  if (amount !== undefined) return new Date(now - Number(amount) * unitMs[unit as keyof typeof unitMs]);
  const ms = day.test(text) || dateTime.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms);
  throw mistake(`"${text}" is not a point in time.`);
}

/** As `parseTime`, for the time from which events are wanted: also refuses a time more than a day ahead of our clock. */
export function parsePastTime(text: string, now: number): Date {
  const time = parseTime(text, now);
  if (time.getTime() <= now + unitMs.d) return time; // the service's clock may be ahead of ours
  throw mistake(`"${text}" is in the future.`);
}

/** A point in time that is still to come: a date-time with its offset, or a day. Throws `invalid_usage` for anything else. */
export function parseComingTime(text: string, now: number): Date {
  const remedy =
    "Write a date-time with its offset (2026-11-20T14:00:00Z), or a day (2026-11-20: from midnight UTC).";
  const ms = day.test(text) || dateTime.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw invalidUsage(`"${text}" is not a time to come.`, remedy);
  if (ms <= now) throw invalidUsage(`"${text}" has passed.`, remedy);
  return new Date(ms);
}

function mistake(problem: string): Error {
  return invalidUsage(
    problem,
    "Write how long ago it was (30m, 2h, 7d), a day (today, yesterday, 2026-11-20: from midnight UTC) or a date-time with its offset (2026-11-20T14:00:00Z).",
  );
}
