import { z } from "zod";
import { defaultRetentionMs, shortestSafeRetentionMs } from "./dedupe-store.ts";
import { type Logger, silentLogger, warnOfSetup } from "./logger.ts";
import { loggerOption, type OptionsShape } from "./options.ts";

/** What every dedupe store can be told. */
export interface StoreOptions {
  /** How long done ids are remembered, in ms. Default 30 days; below 8 days replays can run again. */
  retentionMs?: number;
  logger?: Logger;
}

export const storeShape: OptionsShape<Required<StoreOptions>> = {
  retentionMs: z.int().min(1).default(defaultRetentionMs),
  logger: loggerOption.default(silentLogger),
};

/** Warns when `caller` forgets done ids before the sender and support have done with them. */
export function warnOfShortRetention(caller: string, { retentionMs, logger }: Required<StoreOptions>): void {
  if (retentionMs >= shortestSafeRetentionMs) return;
  warnOfSetup(
    logger,
    "short_retention",
    `${caller} forgets done ids in less than 8 days, and replays reach back further. Raise retentionMs.`,
  );
}
