import type { Logger } from "@esim-webhooks/core";
import { hasCode } from "../base/errors.ts";
import type { WaitingClock } from "../base/waiting-clock.ts";

export interface WhenFreeOptions {
  readonly clock: WaitingClock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** How long to wait for another pass. */
const otherPassMs = 10 * 60_000;
const pauseMs = 5000;

/** Reconciles as soon as no other pass is under way. Rejects with `reconcile_in_use` after ten minutes, and as `reconcile` does. */
export async function reconcileWhenFree<Reconciled>(
  reconcile: () => Promise<Reconciled>,
  { clock, signal, logger }: WhenFreeOptions,
): Promise<Reconciled> {
  const giveUpAt = clock.now() + otherPassMs;
  for (let isWaiting = false; ; isWaiting = true) {
    try {
      return await reconcile();
    } catch (error) {
      if (!hasCode(error, "reconcile_in_use") || clock.now() >= giveUpAt) throw error;
    }
    if (!isWaiting) logger.info({}, "A worker is reconciling the endpoint: waiting for it to end.");
    await clock.wait(pauseMs, signal);
  }
}
