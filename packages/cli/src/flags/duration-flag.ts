import type { TypedFlagParameter } from "@stricli/core";
import { ProgramError } from "../program/program-error.ts";

const amountAndUnit = /^(\d{1,6})(s|m|h|d)$/;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

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
  throw new ProgramError(
    "invalid_usage",
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
