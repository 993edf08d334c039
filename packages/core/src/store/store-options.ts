import * as z from "zod/mini";
import { type Logger, silentLogger, warnOfSetup } from "../base/logger.ts";
import { loggerOption, type OptionsShape } from "../base/options.ts";
import { defaultRetentionMs, shortestSafeRetentionMs } from "./dedupe-store.ts";

/** What every dedupe store can be told. */
export interface StoreOptions {
  /** How long done ids are remembered, in ms. Default 30 days; below 8 days replays can run again. */
  retentionMs?: number;
  logger?: Logger;
}

export const storeShape: OptionsShape<Required<StoreOptions>> = {
  retentionMs: z._default(z.int().check(z.gte(1)), defaultRetentionMs),
  logger: z._default(loggerOption, silentLogger),
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
