import type { FlagValues } from "../flags/flag.ts";
import { jsonFlag, metricsFlags, numberFlag, setUpFlags } from "../flags/flag-kinds.ts";

export type WorkFlags = FlagValues<typeof workFlags>;

export const workFlags = {
  ...setUpFlags,
  concurrency: numberFlag("How many events to process at the same time. Default: the config's, or 20"),
  ...metricsFlags,
  json: jsonFlag,
};
