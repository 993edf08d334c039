import type { WebhookDelivery } from "@esim-webhooks/client";
import type { FlagParametersForType } from "@stricli/core";
import {
  configFlag,
  jsonFlag,
  limitFlag,
  revealFlag,
  switchFlag,
  textFlag,
  textsFlag,
} from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";

/** The flags of every command that calls the API. */
export interface ApiFlags {
  readonly config?: string;
  readonly json?: boolean;
}

export interface ReadFlags extends ApiFlags {
  readonly reveal?: boolean;
}

export interface ListFlags extends ReadFlags {
  readonly limit: number;
  readonly all?: boolean;
}

export interface DeliveriesFlags extends ListFlags {
  readonly status?: readonly NonNullable<WebhookDelivery["status"]>[];
}

export interface CreateFlags extends ApiFlags {
  readonly types?: readonly string[];
  readonly description?: string;
  readonly keyFile?: string;
  readonly printSecret?: boolean;
}

export interface DeleteFlags extends ApiFlags {
  readonly yes?: boolean;
}

type FlagsOf<Flags> = FlagParametersForType<Flags, CliContext>;

export const apiFlags: FlagsOf<ApiFlags> = { config: configFlag, json: jsonFlag };

export const readFlags: FlagsOf<ReadFlags> = { reveal: revealFlag, ...apiFlags };

const listFlagsOf = (nouns: string): FlagsOf<ListFlags> => ({
  limit: limitFlag(`The most ${nouns} to list`, 50),
  all: switchFlag(`List all ${nouns}, regardless of --limit`),
  ...readFlags,
});

export const endpointsFlags: FlagsOf<ListFlags> = listFlagsOf("endpoints");

export const deliveriesFlags: FlagsOf<DeliveriesFlags> = {
  status: {
    kind: "enum",
    values: ["pending", "sending", "delivered", "failed", "exhausted"],
    optional: true,
    variadic: ",",
    placeholder: "status,…",
    brief: "Only deliveries of these statuses",
  },
  ...listFlagsOf("deliveries"),
};

export const createFlags: FlagsOf<CreateFlags> = {
  types: textsFlag(
    "type,…",
    "The event types to subscribe to, or families such as esim.lifecycle.*. Default: all",
  ),
  description: textFlag("text", "A label, for people"),
  keyFile: textFlag("file", "A new file for the signing secret. Default: the fileKeySource of the config"),
  printSecret: switchFlag("Print the signing secret, in place of a file"),
  ...apiFlags,
};

export const deleteFlags: FlagsOf<DeleteFlags> = {
  yes: switchFlag("Do not ask; needed without a terminal"),
  ...apiFlags,
};
