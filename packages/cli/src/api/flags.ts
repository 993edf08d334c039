import type { FlagValues } from "../flags/flag.ts";
import {
  choiceFlag,
  configFlag,
  jsonFlag,
  limitFlag,
  listFlag,
  revealFlag,
  switchFlag,
  textFlag,
  textsFlag,
  yesFlag,
} from "../flags/flag-kinds.ts";

export type ApiFlags = FlagValues<typeof apiFlags>;
export const apiFlags = { config: configFlag, json: jsonFlag };

export type ReadFlags = FlagValues<typeof readFlags>;
export const readFlags = { reveal: revealFlag, ...apiFlags };

const listFlagsOf = (nouns: string) => ({
  limit: limitFlag(`The most ${nouns} to list`, 50),
  all: switchFlag(`List all ${nouns}, regardless of --limit`),
  ...readFlags,
});

export type ListFlags = FlagValues<typeof endpointsFlags>;
export const endpointsFlags = listFlagsOf("endpoints");

export type DeliveriesFlags = FlagValues<typeof deliveriesFlags>;
export const deliveriesFlags = {
  status: listFlag(
    choiceFlag(
      ["pending", "sending", "delivered", "failed", "exhausted"],
      "Only deliveries of these statuses",
      "status,…",
    ),
  ),
  ...listFlagsOf("deliveries"),
};

export type CreateFlags = FlagValues<typeof createFlags>;
export const createFlags = {
  types: textsFlag(
    "type,…",
    "The event types to subscribe to, or families such as esim.lifecycle.*. Default: all",
  ),
  description: textFlag("text", "A label, for people"),
  keyFile: textFlag("file", "A new file for the signing secret. Default: the fileKeySource of the config"),
  printSecret: switchFlag("Print the signing secret, in place of a file"),
  ...apiFlags,
};

export type DeleteFlags = FlagValues<typeof deleteFlags>;
export const deleteFlags = { yes: yesFlag, ...apiFlags };
