import { type OptionalFlag, switchFlag, textFlag } from "./flag-kinds.ts";

/** The flags of every command that uses the set-up: config, inbox, handlers. */
export interface SetUpFlags {
  readonly config?: string;
  readonly dataDir?: string;
}

export const configFlag: OptionalFlag<string> = textFlag(
  "file",
  "The config file. Default: esim-webhooks.config.ts or .js",
);

export const setUpFlags: { readonly config: OptionalFlag<string>; readonly dataDir: OptionalFlag<string> } = {
  config: configFlag,
  dataDir: textFlag("folder", "The folder of the embedded inbox. Default: .esim-webhooks"),
};

/** Which endpoint a command is about, as `theEndpoint` takes it. */
export const endpointFlag: OptionalFlag<string> = textFlag(
  "reference",
  "The endpoint's webhookEndpointReference. Default: the client's only one",
);

export const revealFlag: OptionalFlag<boolean> = switchFlag("Show personal data instead of masking it");

/** A flag that makes a command print JSON. */
export const jsonFlag: OptionalFlag<boolean> = switchFlag("Print JSON, for programs");
