import type { FlagParametersForType } from "@stricli/core";
import {
  durationFlag,
  endpointFlag,
  jsonFlag,
  parseDuration,
  type SetUpFlags,
  setUpFlags,
  sinceFlag,
  switchFlag,
  textFlag,
  textsFlag,
} from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";

export interface EnsureFlags extends SetUpFlags {
  readonly replace?: boolean;
  readonly since?: Date;
  readonly acceptLoss?: boolean;
  readonly types?: readonly string[];
  readonly description?: string;
  readonly keyFile?: string;
  readonly secretForm?: "hex" | "base64" | "utf8";
  readonly json?: boolean;
}

export const ensureFlags: FlagParametersForType<EnsureFlags, CliContext> = {
  replace: switchFlag(
    "Change the event types, by a second endpoint: reconcile the first one, then delete it. One event may come under two ids",
  ),
  since: sinceFlag(
    "With --replace, how far back to reconcile if that was never done: 2h, 7d, yesterday, 2026-11-20",
  ),
  acceptLoss: switchFlag(
    "With --replace, delete the first endpoint even if events of it are lost: handlers fail, they are not valid, or the listing has forgotten them",
  ),
  types: textsFlag(
    "type,…",
    "The event types, or families such as esim.lifecycle.*. Default: those that the handlers of the config take",
  ),
  description: textFlag("text", "A label, for people"),
  keyFile: textFlag("file", "The key file of the receivers. Default: the key source of the config"),
  secretForm: {
    kind: "enum",
    values: ["hex", "base64", "utf8"],
    optional: true,
    brief: "How the service writes secrets, if not as whsec_ and base64",
  },
  ...setUpFlags,
  json: jsonFlag,
};

export interface ReconcileFlags extends SetUpFlags {
  readonly endpoint?: string;
  readonly since?: Date;
  /** In ms. Undefined: once. */
  readonly every?: number;
  readonly includeComing?: boolean;
  readonly dryRun?: boolean;
  readonly acknowledgeGaps?: boolean;
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
    brief:
      "Run until it is stopped, with a pass every 5m, for example. Then --since is for the first pass alone",
  },
  includeComing: switchFlag("Recover what the service would send again, too"),
  dryRun: switchFlag("Read the listing and say what it has, but change nothing"),
  acknowledgeGaps: switchFlag(
    "Report no more the times in which the endpoint was inactive or not subscribed, as far as earlier passes have reported them",
  ),
  endpoint: endpointFlag,
  source: textFlag("name", "The name of the endpoint in the store. Default: the config's"),
  newSource: switchFlag("Accept a source of which the store has no events"),
  ...setUpFlags,
  json: jsonFlag,
};

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
