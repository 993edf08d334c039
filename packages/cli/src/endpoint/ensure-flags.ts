import type { FlagParametersForType } from "@stricli/core";
import { textFlag, textsFlag } from "../flags/flag-kinds.ts";
import { configFlag, jsonFlag } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";

export interface EnsureFlags {
  readonly config?: string;
  readonly types?: readonly string[];
  readonly description?: string;
  readonly keyFile?: string;
  readonly secretForm?: "hex" | "base64" | "utf8";
  readonly json?: boolean;
}

export const ensureFlags: FlagParametersForType<EnsureFlags, CliContext> = {
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
  config: configFlag,
  json: jsonFlag,
};
