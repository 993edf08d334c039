import type { TypedFlagParameter } from "@stricli/core";
import { parsePastTime, parseTime } from "./parse-time.ts";

/** An optional flag. */
export type OptionalFlag<Value> = TypedFlagParameter<Value | undefined>;

export function switchFlag(brief: string): OptionalFlag<boolean> {
  return { kind: "boolean", optional: true, withNegated: false, brief };
}

export function textFlag(placeholder: string, brief: string): OptionalFlag<string> {
  return { kind: "parsed", parse: String, optional: true, placeholder, brief };
}

/** Several texts, separated by commas or given by repeating the flag. */
export function textsFlag(placeholder: string, brief: string): OptionalFlag<readonly string[]> {
  return { kind: "parsed", parse: String, optional: true, variadic: ",", placeholder, brief };
}

/** Event ids, by repeating the flag: an id may contain a comma. */
export function idsFlag(brief: string): OptionalFlag<readonly string[]> {
  return { kind: "parsed", parse: String, optional: true, variadic: true, placeholder: "id", brief };
}

export function timeFlag(brief: string, placeholder = "when"): OptionalFlag<Date> {
  return { kind: "parsed", parse: (text) => parseTime(text), optional: true, placeholder, brief };
}

/** The time from which on events are wanted. */
export function sinceFlag(brief: string): OptionalFlag<Date> {
  return { kind: "parsed", parse: (text) => parsePastTime(text), optional: true, placeholder: "when", brief };
}
