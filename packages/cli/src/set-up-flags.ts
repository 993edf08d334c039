import type { TypedFlagParameter } from "@stricli/core";

/** The flags of every command that has to do with a set-up. */
export interface SetUpFlags {
  readonly config?: string;
  readonly dataDir?: string;
}

type StringFlag = TypedFlagParameter<string | undefined>;

export const configFlag: StringFlag = {
  kind: "parsed",
  parse: String,
  optional: true,
  placeholder: "file",
  brief: "The config file. Default: esim-webhooks.config.ts or .js",
};

export const setUpFlags: { readonly config: StringFlag; readonly dataDir: StringFlag } = {
  config: configFlag,
  dataDir: {
    kind: "parsed",
    parse: String,
    optional: true,
    placeholder: "folder",
    brief: "The embedded inbox. Default: .esim-webhooks",
  },
};

/** A flag that makes a command print JSON. */
export const jsonFlag: {
  readonly kind: "boolean";
  readonly optional: true;
  readonly withNegated: false;
  readonly brief: string;
} = {
  kind: "boolean",
  optional: true,
  withNegated: false,
  brief: "Print JSON, for programs",
};
