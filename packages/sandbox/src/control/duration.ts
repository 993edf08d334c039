import { Refused } from "../base/refused.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const whole = /^(?:\d+(?:ms|s|m|h|d))+$/;
const longestMs = 10 * 366 * unitMs.d;

/** A duration in ms: a number of ms, or text such as "30s", "8h" or "15h51m30s" (ms, s, m, h, d). Throws `Refused("invalid")`. */
export function readDuration(duration: number | string): number {
  const ms = typeof duration === "number" ? duration : sum(duration);
  if (Number.isInteger(ms) && ms >= 0 && ms <= longestMs) return ms;
  throw new Refused(
    "invalid",
    `${JSON.stringify(duration)} is not a duration of at most ten years. Write it as "30s", "8h" or "15h51m30s", or as a number of ms.`,
  );
}

function sum(text: string): number {
  if (!whole.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g))
    ms += Number(amount) * unitMs[unit as keyof typeof unitMs];
  return ms;
}
