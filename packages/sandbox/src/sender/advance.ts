import type { ManualClock } from "../base/clock.ts";
import type { Sender } from "./sender.ts";

/**
 * Moves the clock by `ms`: from one due time to the next, and at each waits until everything due was answered, or has hung.
 * So what is due at a time sees what came before it.
 */
export async function advance(clock: ManualClock, sender: Sender, ms: number): Promise<void> {
  const end = clock.now() + ms;
  await sender.settle();
  for (let due = sender.nextDueAt(); due !== undefined && due <= end; due = sender.nextDueAt()) {
    clock.moveTo(due);
    await sender.settle();
  }
  clock.moveTo(end);
}
