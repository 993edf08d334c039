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
