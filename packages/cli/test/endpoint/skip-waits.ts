// Replaces what Node.js has for all: `Date.now`, and the timers of promises.
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

/** The waits that a command has skipped, in ms. */
export interface Skipped {
  ms: number;
}

const shortestMs = 2000;
const skippedTakesMs = Number(process.env["SKIPPED_WAIT_MS"] ?? 1);

/** From now on waits of seconds are skipped, by the clock, too, where there is a `Skipped`. Each takes SKIPPED_WAIT_MS instead. */
export function skipWaits(where: () => Skipped | undefined): void {
  const { setTimeout: pause } = timers;
  const { now } = Date;
  Date.now = () => now() + (where()?.ms ?? 0);
  timers.setTimeout = ((ms: number, ...given: unknown[]) => {
    const skipped = ms >= shortestMs ? where() : undefined;
    if (skipped !== undefined) skipped.ms += ms;
    return pause(skipped === undefined ? ms : skippedTakesMs, ...(given as []));
  }) as typeof pause;
  syncBuiltinESMExports();
}
