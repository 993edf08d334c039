import type { Logger, Pause } from "@esim-webhooks/core";

const pollMs = 1000;

/**
 * Looks every second whether the queue is paused, which also ends a pause whose `until` has passed, and logs each pause and its end. Returns
 * a function that stops it.
 */
export function pollPause(current: () => Promise<Pause | null>, logger: Logger): () => void {
  let known: Pause | null = null;

  async function poll(): Promise<void> {
    const pause = await current().catch(() => known);
    if (pause?.since.getTime() === known?.since.getTime()) return;
    known = pause;
    if (pause === null) return logger.info({}, "The queue is no longer paused.");
    const { reason, since, until, by } = pause;
    logger.info({ reason, since, until, by }, "The queue is paused: its workers take no events.");
  }

  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  void poll();
  return () => clearInterval(timer);
}
