import type { FlagValues } from "../flags/flag.ts";
import {
  choiceFlag,
  comingTimeFlag,
  durationFlag,
  idsFlag,
  jsonFlag,
  limitFlag,
  parsedFlag,
  required,
  revealFlag,
  setUpAndJsonFlags,
  setUpFlags,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
  yesFlag,
} from "../flags/flag-kinds.ts";
import { invalidUsage } from "../program/program-error.ts";

const source = textFlag("name", "Only events from this source");

/** The flags that select events. */
export type FilterFlags = FlagValues<typeof filterFlags>;

const filterFlags = {
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

/** The flags of the inbox commands that take any inbox. */
export type InboxFlags = FlagValues<typeof inboxFlags>;

export const inboxFlags = {
  from: textFlag("file", "The file of your own sqliteInbox, in place of the config's or the default inbox"),
  ...setUpAndJsonFlags,
};

export type StatsFlags = FlagValues<typeof statsFlags>;

export const statsFlags = {
  exact: switchFlag("Count every event, by state and type: reads the whole inbox"),
  ...inboxFlags,
};

export type PauseFlags = FlagValues<typeof pauseFlags>;

export const pauseFlags = {
  types: textsFlag("type,…", "Only these types, or families such as esim.lifecycle.*. Default: all types"),
  reason: required(parsedFlag(parseReason, "text", "Why, for other operators")),
  for: durationFlag("How long the pause lasts: 30m, 2h. Default: until inbox resume", {
    min: "1s",
    max: "365d",
  }),
  until: comingTimeFlag("When the pause ends, in place of --for: 2026-11-20T14:00:00Z"),
  by: byFlag("Who pauses"),
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

function byFlag(who: string) {
  return parsedFlag(parseBy, "name", `${who}. Default: user@host`);
}

function parseBy(text: string): string {
  if (text.length <= mostBy) return text;
  throw invalidUsage(`--by has more than ${mostBy} characters.`, "Write a name.");
}

export type ResumeFlags = FlagValues<typeof resumeFlags>;

export const resumeFlags = {
  types: textsFlag("type,…", "Only the pauses of these types, or families. Default: all pauses"),
  ...inboxFlags,
};

export type EraseFlags = FlagValues<typeof eraseFlags>;

export const eraseFlags = {
  esim: required(textFlag("reference", "The esimReference of the eSIM whose data to erase")),
  dryRun: switchFlag("Say how many events there are, but change nothing"),
  yes: yesFlag,
  ...inboxFlags,
};

export type ListFlags = FlagValues<typeof listFlags>;

export const listFlags = {
  status: choiceFlag(["ready", "leased", "done", "unhandled", "dead"], "Only events in this state", "state"),
  ...filterFlags,
  limit: limitFlag("The most events to list", 50),
  all: switchFlag("List all events, regardless of --limit"),
  cursor: textFlag("cursor", "Continue an earlier list: its nextCursor"),
  reveal: revealFlag,
  ...inboxFlags,
};

export type ErrorsFlags = FlagValues<typeof errorsFlags>;

export const errorsFlags = {
  ...filterFlags,
  limit: limitFlag("The most errors to show", 20),
  ...inboxFlags,
};

export type ShowFlags = FlagValues<typeof showFlags>;

export const showFlags = { source, reveal: revealFlag, ...inboxFlags };

export type PurgeFlags = FlagValues<typeof purgeFlags>;

export const purgeFlags = {
  limit: limitFlag("The most events to change", 1000),
  dryRun: switchFlag("Say what would be done, but change nothing"),
  yes: yesFlag,
  ...inboxFlags,
};

export type DeadFlags = FlagValues<typeof deadFlags>;

export const deadFlags = {
  status: choiceFlag(["dead"], "Always dead: discard deletes no other events", "state"),
  ...filterFlags,
  ...purgeFlags,
};

export type RetryFlags = FlagValues<typeof retryFlags>;

export const retryFlags = {
  status: choiceFlag(
    ["dead", "unhandled", "waiting"],
    "Dead or unhandled events, or those that are due later. Default: dead",
    "state",
  ),
  ...filterFlags,
  by: byFlag("Who retries, for the history of the events"),
  ...purgeFlags,
};

export type GiveUpFlags = FlagValues<typeof giveUpFlags>;

export const giveUpFlags = {
  reason: required(parsedFlag(parseReason, "text", "Why, for other operators: the error of the events")),
  by: byFlag("Who gives up"),
  ...filterFlags,
  ...purgeFlags,
};

export type BackupFlags = FlagValues<typeof backupFlags>;

export const backupFlags = {
  from: textFlag(
    "file",
    "The SQLite file of the inbox. Default: that of the config, else the one in --data-dir",
  ),
  ...setUpFlags,
  json: jsonFlag,
};

export type CopyFlags = FlagValues<typeof copyFlags>;

export const copyFlags = {
  to: textFlag("url", "A postgres:// URL without a password. Default: DATABASE_URL"),
  ...backupFlags,
};
