import type { ManualClock } from "../base/clock.ts";
import type { Sender } from "./sender.ts";

/**
 * Moves the clock by `ms`: from one due time to the next, and waits at each until all attempts that are due have ended.
 * So an attempt sees the effects of all attempts that were due before it. Rejects with `closed`.
 */
export async function advance(clock: ManualClock, sender: Sender, ms: number): Promise<void> {
  const end = clock.now() + ms;
  await sender.settle();
  while (clock.now() < end) {
    clock.moveTo(Math.min(sender.nextDueAt() ?? end, end));
    await sender.settle();
  }
}
