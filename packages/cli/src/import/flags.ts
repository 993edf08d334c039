import type { FlagParametersForType, TypedFlagParameter } from "@stricli/core";
import type { CliContext } from "../context.ts";
import { parseMoment } from "../moment.ts";
import { ProgramError } from "../program-error.ts";
import { jsonFlag, type SetUpFlags, setUpFlags } from "../set-up-flags.ts";

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
  readonly json?: boolean;
}

type Flag<Value> = TypedFlagParameter<Value | undefined, CliContext>;

const flag = (brief: string): Flag<boolean> => ({
  kind: "boolean",
  optional: true,
  withNegated: false,
  brief,
});

const text = (placeholder: string, brief: string): Flag<string> => ({
  kind: "parsed",
  parse: String,
  optional: true,
  placeholder,
  brief,
});

const texts = (placeholder: string, brief: string): Flag<readonly string[]> => ({
  kind: "parsed",
  parse: String,
  optional: true,
  variadic: ",",
  placeholder,
  brief,
});

const moment = (brief: string): Flag<Date> => ({
  kind: "parsed",
  parse: (given) => parseMoment(given),
  optional: true,
  placeholder: "when",
  brief,
});

export const importFlags: FlagParametersForType<ImportFlags, CliContext> = {
  dryRun: flag("Read, filter and verify, and touch nothing"),
  trustUnsigned: flag("Your word for records without a signature"),
  only: {
    kind: "enum",
    values: statuses,
    optional: true,
    variadic: ",",
    brief: "Of these delivery statuses",
  },
  since: moment("Of that time or later: 2h, 7d, 2026-11-20"),
  until: moment("Of before that time"),
  types: texts("type,…", "Of these types, or families: esim.lifecycle.*"),
  ids: texts("id,…", "With these ids"),
  esim: texts("reference,…", "Of these eSIMs, by esimReference"),
  oldestFirst: flag("Order by timestamp; takes disk for the dump"),
  force: flag("Run events again that are done"),
  map: {
    kind: "parsed",
    parse: parseMapping,
    optional: true,
    variadic: ",",
    placeholder: "field=path,…",
    brief: "For records of another shape: where our fields are",
  },
  source: text("name", "The endpoint they were for. Default: the config's"),
  rejects: text("file", "Where bad records go. Default: <dump>.rejects.ndjson"),
  checkpoint: text("file", "Where to note how far it is. Default: beside the dump"),
  noCheckpoint: flag("Note nothing: begin anew each time"),
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
