import type { InboxState } from "@esim-webhooks/core";
import type { FlagParametersForType, TypedFlagParameter } from "@stricli/core";
import { textFlag, textsFlag, timeFlag, yesFlag } from "../flags/flag-kinds.ts";
import { wholeNumber } from "../flags/number-flag.ts";
import { jsonFlag, type SetUpFlags, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import type { ActionFlags } from "./action.ts";
import type { FilterFlags } from "./filter.ts";

/** The flags of every inbox command. */
export interface InboxFlags extends SetUpFlags {
  readonly json?: boolean;
}

export interface ListFlags extends InboxFlags, FilterFlags {
  readonly status?: InboxState;
  readonly limit: number;
  readonly all?: boolean;
  readonly cursor?: string;
  readonly reveal?: boolean;
}

export interface ShowFlags extends InboxFlags {
  readonly source?: string;
  readonly reveal?: boolean;
}

export interface PurgeFlags extends InboxFlags, ActionFlags {}

export interface DeadFlags extends PurgeFlags, FilterFlags {
  /** Only dead events are discarded; to say so is allowed. */
  readonly status?: "dead";
}

export interface RetryFlags extends PurgeFlags, FilterFlags {
  /** Default: dead. */
  readonly status?: "dead" | "unhandled";
}

type FlagsOf<Flags> = FlagParametersForType<Flags, CliContext>;
const reveal = yesFlag("Show personal data, which is masked otherwise");
const source = textFlag("name", "Of this source alone");

const limit = (what: string, preset: string): TypedFlagParameter<number, CliContext> => ({
  kind: "parsed",
  parse: wholeNumber(1, 1_000_000),
  default: preset,
  placeholder: "number",
  brief: what,
});

const filterFlags: FlagsOf<FilterFlags> = {
  source,
  types: textsFlag("type,…", "Of these types, or families such as esim.lifecycle.*"),
  since: timeFlag("Received then or later: 2h, 7d, 2026-11-20"),
  until: timeFlag("Received before then"),
  id: textsFlag("id,…", "With these ids"),
};

export const inboxFlags: FlagsOf<InboxFlags> = { ...setUpFlags, json: jsonFlag };

export const listFlags: FlagsOf<ListFlags> = {
  status: {
    kind: "enum",
    values: ["ready", "leased", "done", "unhandled", "dead"],
    optional: true,
    brief: "In this state",
  },
  ...filterFlags,
  limit: limit("At most so many", "50"),
  all: yesFlag("Without a limit"),
  cursor: {
    kind: "parsed",
    parse: String,
    optional: true,
    brief: "From where an earlier list ended",
  },
  reveal,
  ...inboxFlags,
};

export const showFlags: FlagsOf<ShowFlags> = { source, reveal, ...inboxFlags };

export const purgeFlags: FlagsOf<PurgeFlags> = {
  limit: limit("At most so many", "1000"),
  dryRun: yesFlag("Say what would be done, and do nothing"),
  yes: yesFlag("Do not ask: needed where there is no terminal"),
  ...inboxFlags,
};

export const deadFlags: FlagsOf<DeadFlags> = {
  status: {
    kind: "enum",
    values: ["dead"],
    optional: true,
    brief: "Dead events are meant anyway",
  },
  ...filterFlags,
  ...purgeFlags,
};

export const retryFlags: FlagsOf<RetryFlags> = {
  status: {
    kind: "enum",
    values: ["dead", "unhandled"],
    optional: true,
    brief: "Dead events, which is the default, or those that no handler took",
  },
  ...filterFlags,
  ...purgeFlags,
};
