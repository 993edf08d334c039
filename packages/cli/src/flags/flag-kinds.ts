import type { CliContext } from "../program/context.ts";
import type { Flag, FlagValues } from "./flag.ts";
import {
  type DurationRange,
  parseComingTime,
  parseDuration,
  parsePastTime,
  parseTime,
  wholeNumber,
} from "./parsers.ts";

type Parse<Value> = (this: CliContext, text: string) => Value;

/** A flag whose text is parsed. */
export function parsedFlag<Value>(
  parse: Parse<Value>,
  placeholder: string,
  brief: string,
): Flag<Value | undefined> {
  return { kind: "parsed", parse, optional: true, placeholder, brief };
}

/** A flag that has to be given. */
export function required<Value>(flag: Flag<Value | undefined>): Flag<Value> {
  return { ...flag, optional: undefined } as Flag<Value>;
}

export function withDefault<Value>(preset: string, flag: Flag<Value | undefined>): Flag<Value> {
  return { ...required(flag), default: preset } as Flag<Value>;
}

/** A flag that may be repeated, or has several values with commas between them. */
export function listFlag<Value>(flag: Flag<Value | undefined>): Flag<readonly Value[] | undefined> {
  return { ...flag, variadic: "," } as Flag<readonly Value[] | undefined>;
}

/** A flag that may be repeated: a value may contain a comma. */
export function repeatedFlag<Value>(flag: Flag<Value | undefined>): Flag<readonly Value[] | undefined> {
  return { ...flag, variadic: true } as Flag<readonly Value[] | undefined>;
}

export function switchFlag(brief: string): Flag<boolean | undefined> {
  return { kind: "boolean", optional: true, withNegated: false, brief };
}

export function choiceFlag<const Value extends string>(
  values: readonly Value[],
  brief: string,
  placeholder?: string,
): Flag<Value | undefined> {
  return { kind: "enum", values, optional: true, brief, ...(placeholder && { placeholder }) };
}

export function textFlag(placeholder: string, brief: string): Flag<string | undefined> {
  return parsedFlag(String, placeholder, brief);
}

export function textsFlag(placeholder: string, brief: string): Flag<readonly string[] | undefined> {
  return listFlag(textFlag(placeholder, brief));
}

/** Event ids, by repeating the flag. */
export function idsFlag(brief: string): Flag<readonly string[] | undefined> {
  return repeatedFlag(textFlag("id", brief));
}

/** Parses a time by the clock of the run. */
function timeNow(parse: (text: string, now: number) => Date): Parse<Date> {
  return function (text) {
    return parse(text, this.now());
  };
}

export function timeFlag(brief: string, placeholder = "when"): Flag<Date | undefined> {
  return parsedFlag(timeNow(parseTime), placeholder, brief);
}

/** The time from which events are wanted. */
export function sinceFlag(brief: string): Flag<Date | undefined> {
  return parsedFlag(timeNow(parsePastTime), "when", brief);
}

/** A time that is still to come. */
export function comingTimeFlag(brief: string): Flag<Date | undefined> {
  return parsedFlag(timeNow(parseComingTime), "time", brief);
}

export function numberFlag(
  brief: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER, placeholder = "number" } = {},
): Flag<number | undefined> {
  return parsedFlag(wholeNumber(min, max), placeholder, brief);
}

export function portFlag(brief: string): Flag<number | undefined> {
  return numberFlag(brief, { min: 0, max: 65_535 });
}

/** A flag for the most items that a command lists or changes. */
export function limitFlag(brief: string, preset: number): Flag<number> {
  return withDefault(String(preset), numberFlag(brief, { max: 1_000_000 }));
}

/** A flag for a duration that may be left out. Its value is in ms. */
export function durationFlag(brief: string, range: DurationRange): Flag<number | undefined> {
  return parsedFlag((text) => parseDuration(text, range), "duration", brief);
}

/** The flags that name the config file and the folder of the embedded inbox. */
export type SetUpFlags = FlagValues<typeof setUpFlags>;

export const configFlag = textFlag("file", "The config file. Default: esim-webhooks.config.ts or .js");

export const setUpFlags = {
  config: configFlag,
  dataDir: textFlag("folder", "The folder of the embedded inbox. Default: .esim-webhooks"),
};

/** Where a command serves its metrics and probes. */
export type MetricsFlags = FlagValues<typeof metricsFlags>;

export const metricsFlags = {
  metricsPort: portFlag(
    "Serve /metrics for Prometheus, /livez and /readyz on this port; 0: any free port. Default: none",
  ),
  metricsHost: textFlag("address", "The address for --metrics-port. Default: 127.0.0.1"),
};

/** The endpoint of a command, as `theEndpoint` takes it. */
export const endpointFlag = textFlag(
  "reference",
  "The endpoint's webhookEndpointReference. Default: the client's only one",
);

export const revealFlag = switchFlag("Show personal data instead of masking it");

/** A flag for a command that asks first. */
export const yesFlag = switchFlag("Do not ask; needed without a terminal");

/** A flag that makes a command print JSON. */
export const jsonFlag = switchFlag("Print JSON, for programs");

export const setUpAndJsonFlags = { ...setUpFlags, json: jsonFlag };
