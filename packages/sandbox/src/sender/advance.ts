import type { ManualClock } from "../base/clock.ts";
import type { Sender } from "./sender.ts";

/**
 * Moves the clock by `ms`: from one due time to the next, and at each waits until everything due was answered, or has hung.
 * So an attempt sees the effects of everything that was due before it. Rejects with `closed`.
 */
export async function advance(clock: ManualClock, sender: Sender, ms: number): Promise<void> {
  const end = clock.now() + ms;
  await sender.settle();
  while (clock.now() < end) {
    clock.moveTo(Math.min(sender.nextDueAt() ?? end, end));
    await sender.settle();
  }
}
