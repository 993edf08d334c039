/** Where the time comes from; tests hand in their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Starts at the system's time and from then on never jumps: for leases. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };
