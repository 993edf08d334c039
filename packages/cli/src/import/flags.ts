import { type FlagValues, sets } from "../flags/flag.ts";
import {
  choiceFlag,
  idsFlag,
  listFlag,
  numberFlag,
  parsedFlag,
  setUpAndJsonFlags,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
} from "../flags/flag-kinds.ts";
import { invalidUsage } from "../program/program-error.ts";

const statuses = ["pending", "sending", "delivered", "failed", "exhausted"] as const;

export type ImportFlags = FlagValues<typeof importFlags>;

export const importFlags = {
  dryRun: sets("dryRun", switchFlag("Read, filter and verify, but change nothing")),
  trustUnsigned: sets("trustUnsigned", switchFlag("Accept records without a signature")),
  acceptRoundedIds: sets(
    "acceptRoundedIds",
    switchFlag("Accept ids that a spreadsheet has rounded: 1.23E+17"),
  ),
  only: sets("statuses", listFlag(choiceFlag(statuses, "Only these delivery statuses", "status,…"))),
  since: sets("since", timeFlag("Only from this time on: 2h, 7d, yesterday, 2026-11-20")),
  until: sets("until", timeFlag("Only before this time")),
  types: sets("types", textsFlag("type,…", "Only these types or families: esim.lifecycle.*")),
  id: sets("ids", idsFlag("Only the event with this id; repeat it for more")),
  esim: sets("esimReferences", textsFlag("reference,…", "Only these eSIMs, by esimReference")),
  oldestFirst: sets("oldestFirst", switchFlag("Order by timestamp; needs disk space for the dump")),
  force: sets("force", switchFlag("Run done events again")),
  map: sets(
    "mapping",
    listFlag(
      parsedFlag(parseMapping, "field=path,…", "For records of another shape: the path of each field"),
    ),
    Object.fromEntries<string>,
  ),
  source: sets("source", textFlag("name", "The endpoint they were sent to. Default: the config's")),
  newSource: sets("newSource", switchFlag("Accept a source of which the target has no events")),
  rejects: textFlag("file", "The file for bad records. Default: <dump>.rejects.ndjson"),
  checkpoint: textFlag("file", "The file for progress. Default: <dump>.checkpoint.json"),
  noCheckpoint: switchFlag("Keep no checkpoint: start over each time"),
  maxRecordBytes: sets("maxRecordBytes", numberFlag("The most bytes of one record. Default: 1048576")),
  maxUnpackedBytes: sets("maxUnpackedBytes", numberFlag("The most bytes it may unpack to. Default: 64 GiB")),
  maxRatio: sets("maxRatio", numberFlag("The most times its size it may unpack to. Default: 250")),
  ...setUpAndJsonFlags,
};

function parseMapping(text: string): readonly [field: string, path: string] {
  const [, field, path] = /^(\w+)=(.+)$/.exec(text) ?? [];
  if (field !== undefined && path !== undefined) return [field, path];
  throw invalidUsage(`"${text}" is not of the form field=path.`, "Write, for example, eventId=message.id.");
}
