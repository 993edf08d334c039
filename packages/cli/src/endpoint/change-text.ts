import type { KeyRecord } from "@esim-webhooks/core";
import { shellWord } from "../program/shell-word.ts";

export type Change = NonNullable<KeyRecord["change"]>;

/** A change of the keys that has begun and has not ended, as a sentence each. */
export interface ChangeText {
  readonly problem: string;
  readonly remedy: string;
}

/** What is under way in a key store, and the command that finishes it. */
export function changeText(change: Change): ChangeText {
  const { what, command } = describe(change);
  return {
    problem: `${what} has begun and has not ended.`,
    remedy: `If it is not running now, run: ${command}`,
  };
}

function describe(change: Change): { readonly what: string; readonly command: string } {
  const { kind, endpoint, url: given } = change as Readonly<Record<string, unknown>>;
  const url = typeof given === "string" ? shellWord(given) : "<url>";
  switch (kind) {
    case "rotate":
      return {
        what: `A rotation of the endpoint ${endpoint}`,
        command: `esim-webhooks rotate --endpoint ${endpoint}`,
      };
    case "replace":
      return {
        what: `A replacement of the endpoint at ${url}`,
        command: `esim-webhooks endpoint ensure ${url} --replace`,
      };
    case "ensure":
      return {
        what: `A registration of the endpoint at ${url}`,
        command: `esim-webhooks endpoint ensure ${url}`,
      };
    default:
      return { what: "A change of the keys", command: "what began it" };
  }
}
