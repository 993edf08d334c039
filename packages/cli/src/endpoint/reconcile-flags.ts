import type { FlagParametersForType } from "@stricli/core";
import { parseDuration } from "../flags/duration-flag.ts";
import { sinceFlag, switchFlag, textFlag } from "../flags/flag-kinds.ts";
import { endpointFlag, jsonFlag, type SetUpFlags, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";

export interface ReconcileFlags extends SetUpFlags {
  readonly endpoint?: string;
  readonly since?: Date;
  /** In ms. Undefined: once. */
  readonly every?: number;
  readonly includeComing?: boolean;
  readonly dryRun?: boolean;
  readonly source?: string;
  readonly newSource?: boolean;
  readonly json?: boolean;
}

export const reconcileFlags: FlagParametersForType<ReconcileFlags, CliContext> = {
  since: sinceFlag(
    "How far back to look at least: 2h, 7d, yesterday, 2026-11-20. Needed the first time. Default: to where it has come",
  ),
  every: {
    kind: "parsed",
    parse: (text) => parseDuration(text, { min: "1s", max: "1d" }),
    optional: true,
    placeholder: "duration",
    brief: "Go on until it is stopped, with a pass every 5m, say. Then --since is for the first pass alone",
  },
  includeComing: switchFlag("Bring in what the service would send again, too"),
  dryRun: switchFlag("Read the listing and say what it has, but change nothing"),
  endpoint: endpointFlag,
  source: textFlag("name", "The name of the endpoint in the store. Default: the config's"),
  newSource: switchFlag("Accept a source of which the store has no events"),
  ...setUpFlags,
  json: jsonFlag,
};
