import { ProgramError } from "../program/program-error.ts";

/** How a flag's text is read as a whole number. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
    throw new ProgramError("invalid_usage", `"${text}" is not a whole number`, `of ${range}`);
  };
}
