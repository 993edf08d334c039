import type { FlagParametersForType } from "@stricli/core";
import { sinceFlag, switchFlag, textFlag, textsFlag } from "../flags/flag-kinds.ts";
import { jsonFlag, type SetUpFlags, setUpFlags } from "../flags/set-up-flags.ts";
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
