import { ProgramError } from "../program/program-error.ts";

/** Parses `name=value`. Throws `invalid_usage`. */
export function parseSetting(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^(\w+)=(.*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new ProgramError(
    "invalid_usage",
    `"${text}" is not a switch and its value.`,
    "Write it as inFlight=423.",
  );
}
