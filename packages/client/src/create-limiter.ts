import type { Logger } from "@esim-webhooks/core";
import { durationMs, type OptionsShape, parseOptions, withMethods } from "@esim-webhooks/core/engine";
import { loggerOption, silentLogger } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { type ClientClock, realClock } from "./base/client-clock.ts";
import type { Budget } from "./limit/budget.ts";
import { type Limiter, type LimiterParts, limiterOf } from "./limit/limiter.ts";

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** How many calls may be made in a window. Default 10. */
  readonly calls?: number | undefined;
  /** The length of the window, in ms. Default 1,000. */
  readonly windowMs?: number | undefined;
  /** Used instead of `calls` and `windowMs`: counts the calls of several processes, in Redis for instance. Default: only this process's calls. */
  readonly budget?: Budget | undefined;
  /** Gets a log line when the budget fails to note an answer. Default: silent. */
  readonly logger?: Logger | undefined;
  /** Returns the time and waits, for tests. Default: a monotonic clock and timers. */
  readonly clock?: ClientClock | undefined;
}

export const limiterShape: OptionsShape<LimiterParts> = {
  calls: z._default(z.int().check(z.gte(1)), 10),
  windowMs: z._default(durationMs(1), 1000),
  budget: z.optional(withMethods<Budget>("take")),
  logger: z._default(loggerOption, silentLogger),
  clock: z._default(withMethods<ClientClock>("now", "wait"), realClock),
};

/**
 * Creates a limiter: for several clients with one client id, for less than the whole limit, or with a budget that processes
 * share. Throws `invalid_option`.
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  return limiterOf(parseOptions("createLimiter", limiterShape, options));
}
