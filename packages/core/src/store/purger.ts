import type { Logger } from "../base/logger.ts";
import { warnOfSetup } from "../base/safe-logger.ts";

/** Deletes data whose retention has ended, one slice at a time. */
export interface Purger {
  /** Deletes a slice if one is due and none is being deleted. Rejects as `purge` does. */
  purgeIfDue(): Promise<void>;
  /** The time until the next slice is due, in ms. */
  waitMs(): number;
}

const sliceRows = 500;
const mostRows = 4000;
const longestToGrowMs = 500; // far from the time limit of a store
const pauseByWork = 9; // so a tenth of the time is for purging
const everyMs = 60_000;

/**
 * For authors of stores: calls `purge` with a limit, at most once a minute. If it resolves to the limit, there may be more: then the
 * next slice is due after nine times the time that this one took, so a large import whose retention ends slows down nothing else. For each
 * minute after which there is still more, the slices have twice as many rows, up to 4,000, unless they take half a second already. Otherwise a busy
 * store, which answers late, would grow.
 */
export function createPurger(purge: (limit: number) => Promise<number>): Purger {
  let nextAt = 0;
  let rows = sliceRows;
  let growsAt: number | undefined;
  return {
    waitMs: () => Math.max(0, nextAt - performance.now()),
    async purgeIfDue() {
      const startedAt = performance.now();
      if (startedAt < nextAt) return;
      nextAt = Number.POSITIVE_INFINITY;
      let purged = 0;
      try {
        purged = await purge(rows);
      } finally {
        const now = performance.now();
        const tookMs = now - startedAt;
        const isAll = purged < rows;
        nextAt = now + (isAll ? everyMs : pauseByWork * tookMs);
        if (isAll) [rows, growsAt] = [sliceRows, undefined];
        else if (growsAt === undefined) growsAt = now + everyMs;
        else if (now >= growsAt && tookMs < longestToGrowMs)
          [rows, growsAt] = [Math.min(2 * rows, mostRows), now + everyMs];
      }
    },
  };
}

/** The memory of a store's own clock from one purge to the next, in ms since the Unix epoch by that clock. */
export interface PurgeClock {
  /** When a purge last looked. */
  readonly seenMs: number;
  /** Nothing is deleted before this time. */
  readonly heldUntilMs: number;
}

const hourMs = 3_600_000;
const longestHoldMs = 86_400_000;

/**
 * Returns the memory to keep when the store's clock shows `nowMs`. `expectedMs` is the time that it should show by this process's monotonic clock;
 * undefined if this process has not looked before. If the clock is more than an hour ahead of that, and of the last purge of any process, purging
 * is held for as long as the clock is ahead, 24 hours at most. If the clock was set back, the rest of a hold stays: the clock may still be ahead.
 *
 * To a process that has not looked before, a pause in which nothing ran looks like a jump. Such a process can begin a hold but not extend one;
 * otherwise a store used only by short processes would never be purged.
 */
function nextPurgeClock(
  nowMs: number,
  last: PurgeClock | undefined,
  expectedMs: number | undefined,
): PurgeClock {
  if (last === undefined) return { seenMs: nowMs, heldUntilMs: nowMs };
  if (nowMs < last.seenMs - hourMs) {
    return { seenMs: nowMs, heldUntilMs: nowMs + Math.max(0, last.heldUntilMs - last.seenMs) };
  }
  const aheadMs = nowMs - Math.max(last.seenMs, expectedMs ?? last.seenMs);
  const wasHeld = last.heldUntilMs > last.seenMs;
  if (aheadMs <= hourMs || (wasHeld && expectedMs === undefined)) return { ...last, seenMs: nowMs };
  return { seenMs: nowMs, heldUntilMs: nowMs + Math.min(aheadMs, longestHoldMs) };
}

/** How a store purges by a clock that may jump. */
export interface PurgeSteps {
  /** The time by the clock that decides about retentions, and the memory that is kept of that clock. */
  look(): Promise<{ readonly nowMs: number; readonly kept: PurgeClock | undefined }>;
  /**
   * Keeps `next` in place of `kept`, then deletes at most `limit` rows, or bodies, whose retention had ended at `next.seenMs`. Resolves to how
   * many, or to undefined if another process has replaced `kept` since the look.
   */
  forget(limit: number, next: PurgeClock, kept: PurgeClock | undefined): Promise<number | undefined>;
}

/**
 * For authors of stores: the `purge` of a store whose clock may jump. It deletes nothing while purging is held, and logs one line when a
 * hold begins. `name` is the public function of the store, for messages.
 */
export function safePurge(
  name: string,
  logger: Logger,
  { look, forget }: PurgeSteps,
): (limit: number) => Promise<number> {
  let seen: { readonly storeMs: number; readonly at: number } | undefined;

  return async (limit) => {
    for (;;) {
      const expectedMs = seen && Math.round(seen.storeMs + performance.now() - seen.at); // a store may keep only whole ms
      const { nowMs, kept } = await look();
      const next = nextPurgeClock(nowMs, kept, expectedMs);
      const forgotten = await forget(next.heldUntilMs > nowMs ? 0 : limit, next, kept);
      if (forgotten === undefined) continue;
      seen = { storeMs: nowMs, at: performance.now() };
      if (next.heldUntilMs > Math.max(nowMs, kept?.heldUntilMs ?? nowMs)) logHold(next, expectedMs);
      return forgotten;
    }
  };

  function logHold({ seenMs, heldUntilMs }: PurgeClock, expectedMs: number | undefined): void {
    const shown = `The clock of the ${name} shows ${timeText(seenMs)}`;
    const until = `Handled ids are kept until it shows ${timeText(heldUntilMs)}, in case it is wrong.`;
    if (expectedMs === undefined) {
      logger.info({ code: "purge_held" }, `${shown}, and nothing was purged in the hour before. ${until}`);
    } else {
      const jumped = `${shown}, where ${timeText(expectedMs)} was expected. ${until}`;
      warnOfSetup(logger, "clock_jumped", `${jumped} Set the clock right, and keep it so with NTP.`);
    }
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
