import { Refused } from "../base/refused.ts";
import { advance } from "../sender/advance.ts";
import { readDuration } from "./duration.ts";
import type { Parts } from "./parts.ts";

/**
 * Moves the manual clock by a duration, as `readDuration` takes it. Resolves when everything that became due was sent and
 * answered, or has hung. Throws `Refused("invalid")`, also when the clock goes by itself, and rejects with `closed`.
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
    changes.tell("state");
  };
}
