import type { FlagParametersForType } from "@stricli/core";
import { type OptionalFlag, textFlag, textsFlag, timeFlag, yesFlag } from "../flags/flag-kinds.ts";
import { wholeNumber } from "../flags/number-flag.ts";
import { jsonFlag, type SetUpFlags, setUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { ProgramError } from "../program/program-error.ts";

const statuses = ["pending", "sending", "delivered", "failed", "exhausted"] as const;

export interface ImportFlags extends SetUpFlags {
  readonly dryRun?: boolean;
  readonly only?: readonly (typeof statuses)[number][];
  readonly since?: Date;
  readonly until?: Date;
  readonly types?: readonly string[];
  readonly ids?: readonly string[];
  readonly esim?: readonly string[];
  readonly oldestFirst?: boolean;
  readonly force?: boolean;
  readonly trustUnsigned?: boolean;
  readonly map?: readonly (readonly [field: string, path: string])[];
  readonly source?: string;
  readonly rejects?: string;
  readonly checkpoint?: string;
  readonly noCheckpoint?: boolean;
  readonly maxRecordBytes?: number;
  readonly maxUnpackedBytes?: number;
  readonly maxRatio?: number;
  readonly json?: boolean;
}

const most = (brief: string): OptionalFlag<number> => ({
  kind: "parsed",
  parse: wholeNumber(1),
  optional: true,
  placeholder: "number",
  brief,
});

export const importFlags: FlagParametersForType<ImportFlags, CliContext> = {
  dryRun: yesFlag("Read, filter and verify, and touch nothing"),
  trustUnsigned: yesFlag("Your word for records without a signature"),
  only: {
    kind: "enum",
    values: statuses,
    optional: true,
    variadic: ",",
    brief: "Of these delivery statuses",
  },
  since: timeFlag("Of that time or later: 2h, 7d, 2026-11-20"),
  until: timeFlag("Of before that time"),
  types: textsFlag("type,…", "Of these types, or families: esim.lifecycle.*"),
  ids: textsFlag("id,…", "With these ids"),
  esim: textsFlag("reference,…", "Of these eSIMs, by esimReference"),
  oldestFirst: yesFlag("Order by timestamp; takes disk for the dump"),
  force: yesFlag("Run events again that are done"),
  map: {
    kind: "parsed",
    parse: parseMapping,
    optional: true,
    variadic: ",",
    placeholder: "field=path,…",
    brief: "For records of another shape: where our fields are",
  },
  source: textFlag("name", "The endpoint they were for. Default: the config's"),
  rejects: textFlag("file", "Where bad records go. Default: <dump>.rejects.ndjson"),
  checkpoint: textFlag("file", "Where to note how far it is. Default: beside the dump"),
  noCheckpoint: yesFlag("Note nothing: begin anew each time"),
  maxRecordBytes: most("The longest record. Default: 1048576"),
  maxUnpackedBytes: most("To what it may unpack. Default: 64 GiB"),
  maxRatio: most("To how many times its size it may. Default: 250"),
  ...setUpFlags,
  json: jsonFlag,
};

function parseMapping(given: string): readonly [field: string, path: string] {
  const [, field, path] = /^(\w+)=(.+)$/.exec(given) ?? [];
  if (field !== undefined && path !== undefined) return [field, path];
  throw new ProgramError(
    "invalid_usage",
    `"${given}" is not of the form field=path`,
    "as in eventId=message.id",
  );
}
