import { ProgramError } from "../program/program-error.ts";

const day = /^\d{4}-\d\d-\d\d$/;
// the offset is required: without it the time would depend on the machine's time zone
const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const longAgo = /^(\d{1,6})(s|m|h|d|w)(?: ago)?$/;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const daysAgo: ReadonlyMap<string, number> = new Map([
  ["today", 0],
  ["yesterday", 1],
]);

/**
 * Parses a point in time: how long ago (`90s`, `30m`, `2h`, `7d`, `1w`), a date-time with its offset
 * (`2026-11-20T14:00:00Z`), or a day (`today`, `yesterday`, `2026-11-20`: midnight UTC). Throws `invalid_usage` for anything else.
 */
export function parseTime(text: string, now: number = Date.now()): Date {
  const days = daysAgo.get(text);
  if (days !== undefined) return new Date(now - (now % unitMs.d) - days * unitMs.d);
  const [, amount, unit] = longAgo.exec(text) ?? [];
  if (amount !== undefined) return new Date(now - Number(amount) * unitMs[unit as keyof typeof unitMs]);
  const ms = day.test(text) || dateTime.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms);
  throw mistake(`"${text}" is not a point in time.`);
}

/** The same for a time from which on events are wanted: one more than a day ahead of our clock is refused, too. */
export function parsePastTime(text: string, now: number = Date.now()): Date {
  const time = parseTime(text, now);
  if (time.getTime() <= now + unitMs.d) return time; // the service's clock may be ahead of ours
  throw mistake(`"${text}" is in the future.`);
}

function mistake(problem: string): ProgramError {
  return new ProgramError(
    "invalid_usage",
    problem,
    "Write how long ago it was (30m, 2h, 7d), a day (today, yesterday, 2026-11-20: from midnight UTC) or a date-time with its offset (2026-11-20T14:00:00Z).",
  );
}
