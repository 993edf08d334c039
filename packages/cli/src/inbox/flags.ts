import type { InboxState } from "@esim-webhooks/core";
import type { FlagParametersForType } from "@stricli/core";
import {
  idsFlag,
  jsonFlag,
  limitFlag,
  optionalDurationFlag,
  parseComingTime,
  revealFlag,
  type SetUpFlags,
  setUpFlags,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
  timeNow,
} from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";

/** The flags that name the file of an embedded inbox. */
export interface FileFlags {
  readonly from?: string;
  readonly dataDir?: string;
}

export interface ActionFlags {
  readonly limit: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The flags that select events. */
export interface FilterFlags {
  readonly source?: string;
  readonly types?: readonly string[];
  readonly since?: Date;
  readonly until?: Date;
  readonly id?: readonly string[];
  readonly error?: string;
  readonly esim?: string;
}

/** The flags of the inbox commands that take any inbox. */
export interface InboxFlags extends SetUpFlags, FileFlags {
  readonly json?: boolean;
}

export interface StatsFlags extends InboxFlags {
  readonly exact?: boolean;
}

export interface PauseFlags extends InboxFlags {
  readonly types?: readonly string[];
  readonly reason: string;
  /** In ms. */
  readonly for?: number;
  readonly until?: Date;
  readonly by?: string;
}

export interface ResumeFlags extends InboxFlags {
  readonly types?: readonly string[];
}

export interface EraseFlags extends InboxFlags {
  readonly esim: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export interface ListFlags extends InboxFlags, FilterFlags {
  readonly status?: InboxState;
  readonly limit: number;
  readonly all?: boolean;
  readonly cursor?: string;
  readonly reveal?: boolean;
}

export interface ErrorsFlags extends InboxFlags, FilterFlags {
  readonly limit: number;
}

export interface ShowFlags extends InboxFlags {
  readonly source?: string;
  readonly reveal?: boolean;
}

export interface PurgeFlags extends InboxFlags, ActionFlags {}

export interface DeadFlags extends PurgeFlags, FilterFlags {
  /** Changes nothing: only dead events are discarded. */
  readonly status?: "dead";
}

export interface RetryFlags extends PurgeFlags, FilterFlags {
  /** Default: dead. */
  readonly status?: "dead" | "unhandled";
}

export interface BackupFlags extends FileFlags {
  readonly json?: boolean;
}

export interface CopyFlags extends BackupFlags {
  readonly to?: string;
}

type FlagsOf<Flags> = FlagParametersForType<Flags, CliContext>;
const source = textFlag("name", "Only events from this source");

const filterFlags: FlagsOf<FilterFlags> = {
  source,
  types: textsFlag("type,…", "Only events of these types, or families such as esim.lifecycle.*"),
  since: timeFlag("Only events received at this time or later: 2h, 7d, yesterday, 2026-11-20"),
  until: timeFlag("Only events received before this time"),
  id: idsFlag(
    "Only events with this id; repeat it for more. The beginning of an id is enough if no other id begins so",
  ),
  error: textFlag("text", "Only events whose last error contains this text"),
  esim: textFlag("reference", "Only events of the eSIM with this esimReference"),
};

const from = textFlag(
  "file",
  "The file of your own sqliteInbox, in place of the config's or the default inbox",
);

export const inboxFlags: FlagsOf<InboxFlags> = { from, ...setUpFlags, json: jsonFlag };

export const statsFlags: FlagsOf<StatsFlags> = {
  exact: switchFlag("Count every event, by state and type: reads the whole inbox"),
  ...inboxFlags,
};

export const pauseFlags: FlagsOf<PauseFlags> = {
  types: textsFlag("type,…", "Only these types, or families such as esim.lifecycle.*. Default: all types"),
  reason: { kind: "parsed", parse: parseReason, placeholder: "text", brief: "Why, for other operators" },
  for: optionalDurationFlag("How long the pause lasts: 30m, 2h. Default: until inbox resume", {
    min: "1s",
    max: "365d",
  }),
  until: {
    kind: "parsed",
    parse: timeNow(parseComingTime),
    optional: true,
    placeholder: "time",
    brief: "When the pause ends, in place of --for: 2026-11-20T14:00:00Z",
  },
  by: {
    kind: "parsed",
    parse: parseBy,
    optional: true,
    placeholder: "name",
    brief: "Who pauses. Default: user@host",
  },
  ...inboxFlags,
};

const mostReason = 500;
const mostBy = 200;

function parseReason(text: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= mostReason) return reason;
  const problem = reason === "" ? "--reason is empty." : `--reason has more than ${mostReason} characters.`;
  throw invalidUsage(problem, "Say in a sentence why, for other operators.");
}

function parseBy(text: string): string {
  if (text.length <= mostBy) return text;
  throw invalidUsage(`--by has more than ${mostBy} characters.`, "Write a name.");
}

export const resumeFlags: FlagsOf<ResumeFlags> = {
  types: textsFlag("type,…", "Only the pauses of these types, or families. Default: all pauses"),
  ...inboxFlags,
};

export const eraseFlags: FlagsOf<EraseFlags> = {
  esim: {
    kind: "parsed",
    parse: String,
    placeholder: "reference",
    brief: "The esimReference of the eSIM whose data to erase",
  },
  dryRun: switchFlag("Say how many events there are, but change nothing"),
  yes: switchFlag("Do not ask; needed without a terminal"),
  ...inboxFlags,
};

export const listFlags: FlagsOf<ListFlags> = {
  status: {
    kind: "enum",
    values: ["ready", "leased", "done", "unhandled", "dead"],
    optional: true,
    placeholder: "state",
    brief: "Only events in this state",
  },
  ...filterFlags,
  limit: limitFlag("The most events to list", 50),
  all: switchFlag("List all events, regardless of --limit"),
  cursor: {
    kind: "parsed",
    parse: String,
    optional: true,
    placeholder: "cursor",
    brief: "Continue an earlier list: its nextCursor",
  },
  reveal: revealFlag,
  ...inboxFlags,
};

export const errorsFlags: FlagsOf<ErrorsFlags> = {
  ...filterFlags,
  limit: limitFlag("The most errors to show", 20),
  ...inboxFlags,
};

export const showFlags: FlagsOf<ShowFlags> = { source, reveal: revealFlag, ...inboxFlags };

export const purgeFlags: FlagsOf<PurgeFlags> = {
  limit: limitFlag("The most events to change", 1000),
  dryRun: switchFlag("Say what would be done, but change nothing"),
  yes: switchFlag("Do not ask; needed without a terminal"),
  ...inboxFlags,
};

export const deadFlags: FlagsOf<DeadFlags> = {
  status: {
    kind: "enum",
    values: ["dead"],
    optional: true,
    placeholder: "state",
    brief: "Always dead: discard deletes no other events",
  },
  ...filterFlags,
  ...purgeFlags,
};

export const retryFlags: FlagsOf<RetryFlags> = {
  status: {
    kind: "enum",
    values: ["dead", "unhandled"],
    optional: true,
    placeholder: "state",
    brief: "Only events in this state. Default: dead",
  },
  ...filterFlags,
  ...purgeFlags,
};

export const backupFlags: FlagsOf<BackupFlags> = {
  from: textFlag("file", "The SQLite file of the inbox. Default: the one in --data-dir"),
  dataDir: setUpFlags.dataDir,
  json: jsonFlag,
};

export const copyFlags: FlagsOf<CopyFlags> = {
  to: textFlag("url", "A postgres:// URL without a password. Default: DATABASE_URL"),
  ...backupFlags,
};
