import type { TypedFlagParameter } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";

/** An optional flag. */
export type OptionalFlag<Value> = TypedFlagParameter<Value | undefined, CliContext>;

export function switchFlag(brief: string): OptionalFlag<boolean> {
  return { kind: "boolean", optional: true, withNegated: false, brief };
}

export function textFlag(placeholder: string, brief: string): OptionalFlag<string> {
  return { kind: "parsed", parse: String, optional: true, placeholder, brief };
}

/** Several texts, separated by commas or given by repeating the flag. */
export function textsFlag(placeholder: string, brief: string): OptionalFlag<readonly string[]> {
  return { kind: "parsed", parse: String, optional: true, variadic: ",", placeholder, brief };
}

/** Event ids, by repeating the flag: an id may contain a comma. */
export function idsFlag(brief: string): OptionalFlag<readonly string[]> {
  return { kind: "parsed", parse: String, optional: true, variadic: true, placeholder: "id", brief };
}

/** Parses a time by the clock of the run. */
export function timeNow(
  parse: (text: string, now: number) => Date,
): (this: CliContext, text: string) => Date {
  return function (this: CliContext, text: string): Date {
    return parse(text, this.now());
  };
}

export function timeFlag(brief: string, placeholder = "when"): OptionalFlag<Date> {
  return { kind: "parsed", parse: timeNow(parseTime), optional: true, placeholder, brief };
}

/** The time from which on events are wanted. */
export function sinceFlag(brief: string): OptionalFlag<Date> {
  return { kind: "parsed", parse: timeNow(parsePastTime), optional: true, placeholder: "when", brief };
}

/** A parser of whole numbers from `min` to `max`, for a flag. It throws `invalid_usage` for all other text. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw invalidUsage(`"${text}" is not a whole number ${range}.`, "Correct it.");
  };
}

/** A flag for the most items that a command lists or changes. */
export function limitFlag(brief: string, preset: number): TypedFlagParameter<number> {
  return {
    kind: "parsed",
    parse: wholeNumber(1, 1_000_000),
    default: String(preset),
    placeholder: "number",
    brief,
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

/** A flag for a duration. Its value is in ms. */
export function durationFlag(
  brief: string,
  preset: string,
  range: DurationRange,
): TypedFlagParameter<number> {
  return {
    kind: "parsed",
    parse: (text) => parseDuration(text, range),
    default: preset,
    placeholder: "duration",
    brief,
  };
}

/** A flag for a duration that may be left out. Its value is in ms. */
export function optionalDurationFlag(brief: string, range: DurationRange): OptionalFlag<number> {
  return {
    kind: "parsed",
    parse: (text) => parseDuration(text, range),
    optional: true,
    placeholder: "duration",
    brief,
  };
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

/** The same for a time from which on events are wanted: one more than a day ahead of our clock is refused, too. */
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

/** The flags of every command that uses the set-up: config, inbox, handlers. */
export interface SetUpFlags {
  readonly config?: string;
  readonly dataDir?: string;
}

export const configFlag: OptionalFlag<string> = textFlag(
  "file",
  "The config file. Default: esim-webhooks.config.ts or .js",
);

export const setUpFlags: { readonly config: OptionalFlag<string>; readonly dataDir: OptionalFlag<string> } = {
  config: configFlag,
  dataDir: textFlag("folder", "The folder of the embedded inbox. Default: .esim-webhooks"),
};

/** Where a command shows its metrics and probes. */
export const metricsFlags: {
  readonly metricsPort: OptionalFlag<number>;
  readonly metricsHost: OptionalFlag<string>;
} = {
  metricsPort: {
    kind: "parsed",
    parse: wholeNumber(0, 65_535),
    optional: true,
    placeholder: "number",
    brief: "Serve /metrics for Prometheus, /livez and /readyz on this port; 0: any free port. Default: none",
  },
  metricsHost: textFlag("address", "The address for --metrics-port. Default: 127.0.0.1"),
};

/** Which endpoint a command is about, as `theEndpoint` takes it. */
export const endpointFlag: OptionalFlag<string> = textFlag(
  "reference",
  "The endpoint's webhookEndpointReference. Default: the client's only one",
);

export const revealFlag: OptionalFlag<boolean> = switchFlag("Show personal data instead of masking it");

/** A flag that makes a command print JSON. */
export const jsonFlag: OptionalFlag<boolean> = switchFlag("Print JSON, for programs");
