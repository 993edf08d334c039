import type { FlagParametersForType } from "@stricli/core";
import {
  idsFlag,
  jsonFlag,
  type OptionalFlag,
  type SetUpFlags,
  setUpFlags,
  switchFlag,
  textFlag,
  textsFlag,
  timeFlag,
  wholeNumber,
} from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";

const statuses = ["pending", "sending", "delivered", "failed", "exhausted"] as const;

export interface ImportFlags extends SetUpFlags {
  readonly dryRun?: boolean;
  readonly only?: readonly (typeof statuses)[number][];
  readonly since?: Date;
  readonly until?: Date;
  readonly types?: readonly string[];
  readonly id?: readonly string[];
  readonly esim?: readonly string[];
  readonly oldestFirst?: boolean;
  readonly force?: boolean;
  readonly trustUnsigned?: boolean;
  readonly acceptRoundedIds?: boolean;
  readonly map?: readonly (readonly [field: string, path: string])[];
  readonly source?: string;
  readonly newSource?: boolean;
  readonly rejects?: string;
  readonly checkpoint?: string;
  readonly noCheckpoint?: boolean;
  readonly maxRecordBytes?: number;
  readonly maxUnpackedBytes?: number;
  readonly maxRatio?: number;
  readonly json?: boolean;
}

const limitFlag = (brief: string): OptionalFlag<number> => ({
  kind: "parsed",
  parse: wholeNumber(1),
  optional: true,
  placeholder: "number",
  brief,
});

export const importFlags: FlagParametersForType<ImportFlags, CliContext> = {
  dryRun: switchFlag("Read, filter and verify, but change nothing"),
  trustUnsigned: switchFlag("Accept records without a signature"),
  acceptRoundedIds: switchFlag("Accept ids that a spreadsheet has rounded: 1.23E+17"),
  only: {
    kind: "enum",
    values: statuses,
    optional: true,
    variadic: ",",
    placeholder: "status,…",
    brief: "Only these delivery statuses",
  },
  since: timeFlag("Only from this time on: 2h, 7d, yesterday, 2026-11-20"),
  until: timeFlag("Only before this time"),
  types: textsFlag("type,…", "Only these types or families: esim.lifecycle.*"),
  id: idsFlag("Only the event with this id; repeat it for more"),
  esim: textsFlag("reference,…", "Only these eSIMs, by esimReference"),
  oldestFirst: switchFlag("Order by timestamp; needs disk space for the dump"),
  force: switchFlag("Run done events again"),
  map: {
    kind: "parsed",
    parse: parseMapping,
    optional: true,
    variadic: ",",
    placeholder: "field=path,…",
    brief: "For records of another shape: the path of each field",
  },
  source: textFlag("name", "The endpoint they were sent to. Default: the config's"),
  newSource: switchFlag("Accept a source of which the target has no events"),
  rejects: textFlag("file", "The file for bad records. Default: <dump>.rejects.ndjson"),
  checkpoint: textFlag("file", "The file for progress. Default: <dump>.checkpoint.json"),
  noCheckpoint: switchFlag("Keep no checkpoint: start over each time"),
  maxRecordBytes: limitFlag("The most bytes of one record. Default: 1048576"),
  maxUnpackedBytes: limitFlag("The most bytes it may unpack to. Default: 64 GiB"),
  maxRatio: limitFlag("The most times its size it may unpack to. Default: 250"),
  ...setUpFlags,
  json: jsonFlag,
};

function parseMapping(text: string): readonly [field: string, path: string] {
  const [, field, path] = /^(\w+)=(.+)$/.exec(text) ?? [];
  if (field !== undefined && path !== undefined) return [field, path];
  throw invalidUsage(`"${text}" is not of the form field=path.`, "Write, for example, eventId=message.id.");
}
