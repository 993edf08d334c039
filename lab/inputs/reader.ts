import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import type { Grammar, Input } from "./grammar.ts";

/** Something that reads input that others have written. */
export interface Reader<Prepared = unknown, Result = unknown> {
  readonly name: string;
  /** How many of all inputs it gets, in proportion to the others. */
  readonly share: number;
  readonly grammar: Grammar;
  /** A template for each part of an input. */
  readonly parts: readonly string[];
  /** The codes of the errors that it may throw. */
  readonly throws: readonly string[];
  /** The most CPU time for an input, in ms. Default 50. */
  readonly mostCpuMs?: number;
  /** Makes what is read from an input, such as a signed delivery. */
  prepare(input: Input): Prepared;
  /** Reads it. Its time counts. */
  call(prepared: Prepared): Result | Promise<Result>;
  /** Throws if the result is not one that the docs name for this input. */
  check(result: Result, prepared: Prepared): void;
  /** Checks an error besides what `checkThrown` does. */
  checkError?(message: string, prepared: Prepared): void;
}

/** Makes an entry of the table: only its own functions know the types of what they pass on. */
export function reader<Prepared, Result>(parts: Reader<Prepared, Result>): Reader {
  return parts as unknown as Reader;
}

/** Personal data and secrets of inputs: no error, answer or log line may have them. */
export const privates = [
  "8944501234567890123",
  "+447700900123",
  "jane.doe@example.org",
  "LPA:1$smdp.example$K2-ABCDE-FGHIJ",
] as const;

/** Throws if a text has personal data or a secret in it. */
export function checkSecrecy(text: string, what: string, secrets: readonly string[] = privates): void {
  const found = secrets.find((secret) => secret !== "" && text.includes(secret));
  if (found !== undefined) throw new Error(`${what} has ${JSON.stringify(found)} of the input in it`);
}

/** The rows of a table of a page in docs: the code, and the cells after it. */
export function rowsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(join(import.meta.dirname, "../../docs", page), "utf8");
  const rows = text.matchAll(/^\| (?:<a id="[^"]*"><\/a>)?`(\w+)` (?:\(.*?\) )?\| (.*) \|$/gm);
  return new Map([...rows].map(([, code = "", rest = ""]) => [code, rest.split(" | ")]));
}

const documented = rowsOf("errors.md");

/** Throws unless an error is a documented one that this reader may throw, has both halves and shows nothing of the input. */
export function checkThrown(thrown: unknown, { throws }: Reader): void {
  if (!WebhookError.is(thrown)) {
    const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    throw new Error(`a crash: ${text.slice(0, 200)}`, { cause: thrown });
  }
  const { code, problem, remedy, message } = thrown;
  if (!throws.includes(code)) throw new Error(`an error with the code ${code}, which is not one of its own`);
  if (!documented.has(code)) throw new Error(`the code ${code} is not in docs/errors.md`);
  for (const [half, text] of Object.entries({ problem, remedy }))
    if (typeof text !== "string" || !/\S.*[.!?:…)]$/s.test(text.trimEnd()))
      throw new Error(`the ${half} of ${code} is no sentence: ${JSON.stringify(text)}`);
  checkSecrecy(message, `the message of ${code}`);
}
