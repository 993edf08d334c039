/**
 * How often the handler of an event has failed, and when the last time: in minutes since the Unix epoch, by our own clock.
 * Short, because a state has 2,000 of them.
 */
export type Tries = readonly [count: number, lastMinute: number];

const minuteMs = 60_000;
const firstWaitMs = 5 * minuteMs;
/** The waits between them, from 5 min to 10 h 40 min, are 21 h 15 min in all. */
const maxTries = 9;

/** Whether the event is given up. */
export function areUsedUp([count]: Tries): boolean {
  return count >= maxTries;
}

/** Whether it is time for the next try. Each wait is twice as long as the one before. */
export function isDue([count, lastMinute]: Tries, nowMs: number): boolean {
  const waitedMs = nowMs - lastMinute * minuteMs;
  return waitedMs < 0 || waitedMs >= firstWaitMs * 2 ** (count - 1); // below 0: the clock was set back
}

/** The tries with one more, at this time. */
export function oneMore(tries: Tries | undefined, nowMs: number): Tries {
  const [count] = tries ?? [0];
  return [count + 1, Math.floor(nowMs / minuteMs)];
}
