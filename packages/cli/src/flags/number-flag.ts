import type { TypedFlagParameter } from "@stricli/core";
import { ProgramError } from "../program/program-error.ts";

/** A parser of whole numbers from `min` to `max`, for a flag. It throws `invalid_usage` for all other text. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw new ProgramError("invalid_usage", `"${text}" is not a whole number ${range}.`, "Correct it.");
  };
}

/** A flag for the most items that a command lists or changes. */
export function limitFlag(brief: string, preset: number): TypedFlagParameter<number> {
  return {
    kind: "parsed",
    parse: wholeNumber(1, 1_000_000),
    default: String(preset),
    placeholder: "number",
    brief,
  };
}
