import { driftMs } from "../sql/lease.ts";

/** What a connection knows of the machine's clock. */
export interface Clock {
  /** Whether it may have been set back before a transaction at `nowMs`: before the first one, nobody has looked. */
  mayBeSetBack(nowMs: number): boolean;
  /** A transaction at `nowMs` was committed. */
  saw(nowMs: number): void;
}

export function createClock(): Clock {
  let latestMs = Number.POSITIVE_INFINITY;
  return {
    mayBeSetBack: (nowMs) => nowMs < latestMs - driftMs,
    saw(nowMs) {
      latestMs = nowMs;
    },
  };
}
