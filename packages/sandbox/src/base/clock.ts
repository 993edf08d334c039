import * as z from "zod";

/** The service's clock, for the times that the service stores. `webhook-timestamp` is in real time, since receivers check it. */
export interface ServiceClock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Returns the real milliseconds until `time`; 0 if it has passed. Undefined for a later time on a manual clock. */
  realMsUntil(time: number): number | undefined;
}

/** A clock that only its owner moves. */
export interface ManualClock extends ServiceClock {
  /** Never goes back: an earlier time changes nothing. */
  moveTo(time: number): void;
}

/** Runs `speed` times as fast as real time. Starts at the real time or, if that is later, at `startAt`. */
export function runningClock(speed: number, startAt = 0): ServiceClock {
  const realStart = performance.now();
  const start = Math.max(Date.now(), startAt);
  const now = () => Math.floor(start + (performance.now() - realStart) * speed);
  return { now, realMsUntil: (time) => Math.max(0, Math.ceil((time - now()) / speed)) };
}

/** Stands still at the real time or, if that is later, at `startAt`. */
export function manualClock(startAt = 0): ManualClock {
  let time = Math.max(Date.now(), startAt);
  return {
    now: () => time,
    realMsUntil: (until) => (until <= time ? 0 : undefined),
    moveTo(later) {
      time = Math.max(time, later);
    },
  };
}

/** A time: RFC 3339 text with its offset, such as "2026-12-31T12:00:00Z", or ms since the Unix epoch. */
export type Time = string | number;

const endOfYear9999 = Date.UTC(10_000, 0) - 1;
const expected = 'expected a time such as "2026-12-31T12:00:00Z", or ms since the Unix epoch';

/** Accepts text with an offset, and ms from 1970 to the end of 9999: RFC 3339 has no later year. */
export const timeSchema: z.ZodType<Time> = z.union(
  [
    z.iso.datetime({ offset: true, error: expected }),
    z.number().min(0, expected).max(endOfYear9999, expected),
  ],
  expected,
);

/** Returns a time that `timeSchema` has accepted, in ms since the Unix epoch. */
export function timeMs(time: Time): number {
  return typeof time === "string" ? Date.parse(time) : time;
}
