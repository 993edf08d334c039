import type { FlagParametersForType } from "@stricli/core";
import { durationFlag } from "../flags/duration-flag.ts";
import { switchFlag, textFlag } from "../flags/flag-kinds.ts";
import { jsonFlag, type SetUpFlags, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { ensureFlags } from "./ensure-flags.ts";

export interface RotateFlags extends SetUpFlags {
  readonly endpoint?: string;
  readonly keyFile?: string;
  readonly secretForm?: "hex" | "base64" | "utf8";
  /** In ms. */
  readonly overlap: number;
  readonly noCheck?: boolean;
  readonly noReconcile?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export const rotateFlags: FlagParametersForType<RotateFlags, CliContext> = {
  endpoint: textFlag(
    "reference",
    "The endpoint. Default: the one that all keys name, or the client's only one",
  ),
  keyFile: ensureFlags.keyFile,
  secretForm: ensureFlags.secretForm,
  overlap: durationFlag("How long the old key counts on", "2m", { min: "1m", max: "1d" }),
  noCheck: switchFlag("Do not check first that receivers read the key store, by posting to the endpoint"),
  noReconcile: switchFlag("Do not look for events that the rotation may have cost"),
  dryRun: switchFlag("Say what would be done, and change nothing. Receivers are not asked"),
  ...setUpFlags,
  json: jsonFlag,
};
