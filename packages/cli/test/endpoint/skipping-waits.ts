// Preloaded into a command (`node: skippingWaits`): it skips waits of seconds, by its clock, too.
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

const shortestMs = 2000;
const { setTimeout: pause } = timers;
const { now } = Date;
let skippedMs = 0;

Date.now = () => now() + skippedMs;
timers.setTimeout = ((ms: number, ...given: unknown[]) => {
  if (ms >= shortestMs) skippedMs += ms;
  return pause(ms >= shortestMs ? 1 : ms, ...(given as []));
}) as typeof pause;
syncBuiltinESMExports();
