import { Refused } from "../base/refused.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const whole = /^(?:\d+(?:ms|s|m|h|d))+$/;
const longestMs = 10 * 366 * unitMs.d;

/** A duration in ms: a number of ms, or text such as "30s", "8h" or "15h51m30s" (ms, s, m, h, d). Throws `Refused("invalid")`. */
export function readDuration(duration: number | string): number {
  const ms = typeof duration === "number" ? duration : sum(duration);
  const text = JSON.stringify(duration);
  if (!Number.isInteger(ms) || ms < 0)
    throw new Refused(
      "invalid",
      `${text} is not a duration. Write it as "30s", "8h" or "15h51m30s", or as a number of ms.`,
    );
  if (ms > longestMs)
    throw new Refused("invalid", `${text} is longer than ten years. Advance the clock in several steps.`);
  return ms;
}

function sum(text: string): number {
  if (!whole.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g))
    ms += Number(amount) * unitMs[unit as keyof typeof unitMs];
  return ms;
}
