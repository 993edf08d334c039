// Preloaded into a command (`node: skippingWaits`): it skips waits of seconds, by its clock, too. Each takes SKIPPED_WAIT_MS instead.
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

const shortestMs = 2000;
const skippedTakesMs = Number(process.env["SKIPPED_WAIT_MS"] ?? 1);
const { setTimeout: pause } = timers;
const { now } = Date;
let skippedMs = 0;

Date.now = () => now() + skippedMs;
timers.setTimeout = ((ms: number, ...given: unknown[]) => {
  if (ms >= shortestMs) skippedMs += ms;
  return pause(ms >= shortestMs ? skippedTakesMs : ms, ...(given as []));
}) as typeof pause;
syncBuiltinESMExports();
