import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { type EndpointErrorCode, explainChange } from "@esim-webhooks/endpoint";
import { shellWord } from "../program/shell.ts";

export type Change = NonNullable<KeyRecord["change"]>;

/** The problem and the remedy of a change of the keys that is under way: a sentence each. */
export interface ChangeText {
  readonly problem: string;
  readonly remedy: string;
}

/** Says which change is under way in a key store, and which command finishes it. */
export function changeText(change: Change): ChangeText {
  const { problem } = explainChange(change);
  return { problem, remedy: `If it is not running now, run: ${commandFor(change)}` };
}

/** For `change_under_way`, an error that says which change it is and which command finishes it. Any other error as it is. */
export async function explainedChange(error: unknown, keyStore: KeyStore): Promise<unknown> {
  if (!WebhookError.is(error) || (error.code as EndpointErrorCode) !== "change_under_way") return error;
  const stored = await keyStore.read().catch(() => undefined);
  const { change } = stored?.record ?? {};
  if (change === undefined) return error; // it has just ended, or cannot be read
  const { problem, remedy } = changeText(change);
  return new WebhookError<EndpointErrorCode>("change_under_way", problem, remedy, { cause: error.cause });
}

function commandFor(change: Change): string {
  const { kind, endpoint, url: given } = change as Readonly<Record<string, unknown>>;
  const url = typeof given === "string" && isPlain(given) ? shellWord(given) : "<url>";
  switch (kind) {
    case "rotate":
      return `esim-webhooks rotate --endpoint ${endpoint}`;
    case "replace":
      return `esim-webhooks endpoint ensure ${url} --replace`;
    case "ensure":
      return `esim-webhooks endpoint ensure ${url}`;
    default:
      return "what began it";
  }
}

/** Whether a URL has no user, no password and no query: each may be secret. */
function isPlain(url: string): boolean {
  const { username, password, search } = URL.parse(url) ?? {};
  return username === "" && password === "" && search === "";
}
