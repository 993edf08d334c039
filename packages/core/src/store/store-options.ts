import * as z from "zod/mini";
import { type Logger, silentLogger } from "../base/logger.ts";
import { loggerOption, type OptionsShape } from "../base/options.ts";
import { warnOfSetup } from "../base/safe-logger.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The sender replays events of the last 7 days, and retries for 15 h 51 min 30 s: with less than 8 days, a done event can run again. */
export const shortestSafeRetentionMs: number = 8 * dayMs;

/** The stores, inboxes and states that are durable, for remedies. */
export const durableStores =
  'SQLite with durability "full", Redis without allowEviction, or Postgres with fsync';

const longestSpreadMs = 6 * 60 * 60 * 1000;

/** The options of every dedupe store. */
export interface StoreOptions {
  /**
   * How long done ids are remembered at least, in ms. Most stores keep each id a little longer (up to a twentieth, at most 6 hours), so
   * that not all end together. Default 30 days. With less than 8 days, a done event can run again when the sender replays it.
   */
  retentionMs?: number;
  /** Gets the log lines: `consoleLogger()`, pino, or anything of their shape. Default: silent. */
  logger?: Logger;
}

/** The schemas of `StoreOptions`. */
export const storeShape: OptionsShape<Required<StoreOptions>> = {
  retentionMs: z._default(z.int().check(z.gte(1)), 30 * dayMs),
  logger: z._default(loggerOption, () => silentLogger),
};

/**
 * Returns for how long to remember an id that is done now, in ms: `retentionMs`, and at random up to a twentieth more, at most 6 hours.
 * So the retentions of ids that were done in a short time, as by an import, do not end together.
 */
export function spreadRetention(retentionMs: number): number {
  return retentionMs + Math.floor(Math.random() * Math.min(retentionMs / 20, longestSpreadMs));
}

/** Logs a warning when `caller` forgets done ids that the sender may still retry or replay. */
export function warnOfShortRetention(caller: string, { retentionMs, logger }: Required<StoreOptions>): void {
  if (retentionMs >= shortestSafeRetentionMs) return;
  warnOfSetup(
    logger,
    "short_retention",
    `${caller} forgets done ids after less than 8 days, so a replay can run again. Raise retentionMs.`,
  );
}
