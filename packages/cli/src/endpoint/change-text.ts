import { type KeyRecord, type KeyStore, WebhookError } from "@esim-webhooks/core";
import { type EndpointErrorCode, explainChange } from "@esim-webhooks/endpoint";
import { shellWord } from "../program/shell.ts";

export type Change = NonNullable<KeyRecord["change"]>;

/** A change of the keys that has begun and has not ended, as a sentence each. */
export interface ChangeText {
  readonly problem: string;
  readonly remedy: string;
}

/** The change that is under way in a key store, and the command that finishes it. */
export function changeText(change: Change): ChangeText {
  const { problem } = explainChange(change);
  return { problem, remedy: `If it is not running now, run: ${commandFor(change)}` };
}

/** An error that says what is under way in the key store, with the command that finishes it; any other error as it is. */
export async function explainedChange(error: unknown, keyStore: KeyStore): Promise<unknown> {
  if (!WebhookError.is(error) || (error.code as EndpointErrorCode) !== "change_under_way") return error;
  const stored = await keyStore.read().catch(() => undefined);
  const { change } = stored?.record ?? {};
  if (change === undefined) return error; // it has just ended
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
