import { Refused } from "../base/refused.ts";
import { advance } from "../sender/advance.ts";
import type { Parts } from "./parts.ts";

/**
 * Moves the manual clock by a duration, as `readDuration` takes it. Resolves when all attempts that became due have ended.
 * Rejects with `Refused`: `invalid`, also if the clock goes by itself, and `closed`.
 */
export type Advance = (duration: number | string) => Promise<void>;

/** Calls at the same time add up: the second one starts where the first one ends. */
export function createAdvance({ manualClock, sender, changes }: Parts): Advance {
  let before: Promise<void> = Promise.resolve();
  return async (duration) => {
    const ms = readDuration(duration);
    if (manualClock === undefined)
      throw new Refused(
        "invalid",
        'The clock goes by itself. To advance it, start the sandbox with a manual clock: --clock manual, or { clock: "manual" } in code.',
      );
    const moved = before.then(() => advance(manualClock, sender, ms));
    before = moved.catch(() => {});
    await moved;
    changes.report("state");
  };
}

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const whole = /^(?:\d+(?:ms|s|m|h|d))+$/;
const longestMs = 10 * 366 * unitMs.d;

/** A duration in ms: a number of ms, or text such as "30s", "8h" or "15h51m30s" (ms, s, m, h, d). Throws `Refused("invalid")`. */
function readDuration(duration: number | string): number {
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
