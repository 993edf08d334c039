import { type EndpointFinding, isSameUrl } from "@esim-webhooks/endpoint";
import { shellWord } from "../program/shell.ts";
import { type Change, changeText } from "./change-text.ts";

/** The facts that the remedies of findings need. */
export interface FindingContext {
  /** The URL of the endpoint. */
  readonly url: string;
  /** The command that replaces the endpoint. */
  readonly replace: string;
  /** The command that rotates its secret. */
  readonly rotate: string;
  /** The change that is under way in the key store. */
  readonly change: Change | undefined;
}

/**
 * The findings as the command line says them: remedies have whole commands. While the endpoint is being replaced, the only finding is
 * `change_under_way`: the replacement resolves the others, and their remedies would disturb it.
 */
export function explainedFindings(
  findings: readonly EndpointFinding[],
  context: FindingContext,
): readonly EndpointFinding[] {
  const { change, url } = context;
  const { kind, url: changed } = (change ?? {}) as Readonly<Record<string, unknown>>;
  const isReplaced = kind === "replace" && isSameUrl(String(changed), url);
  return findings
    .filter(({ code }) => !isReplaced || code === "change_under_way")
    .map((finding) => ({ ...finding, ...explained(finding, context) }));
}

function explained(
  { code, about: [about = ""] }: EndpointFinding,
  { replace, rotate, change }: FindingContext,
): Partial<Pick<EndpointFinding, "problem" | "remedy">> {
  const orReplace = `replace the endpoint by one that is not subscribed: ${replace}`;
  switch (code) {
    case "change_under_way":
      return change === undefined ? {} : changeText(change); // undefined: it has just ended, or cannot be read
    case "inactive":
      return { remedy: `The API cannot activate it. Ask support, or replace it: ${replace}` };
    case "not_subscribed":
      return { remedy: `The API cannot change an endpoint. Replace it by one that is: ${replace}` };
    case "no_handler":
      return { remedy: `Add a handler, or ${orReplace}` };
    case "not_wanted":
      return { remedy: `Add it to --types, or ${orReplace}` };
    case "no_secret":
      return {
        remedy: `If you have the secret, put it into the key store with endpoint: "${about}". Else get another one: ${rotate} --endpoint ${shellWord(about)}`,
      };
    case "same_url":
      return {
        remedy:
          "Reconcile the one that is not needed, then delete it: esim-webhooks reconcile --endpoint <reference>, esim-webhooks api endpoints delete <reference>",
      };
    case "other_endpoints":
      return {
        remedy: `If the URL is mistyped, delete the new endpoint: esim-webhooks api endpoints delete ${shellWord(about)}. If you need all of them, do nothing: this is said only once.`,
      };
    case "retired":
      return {
        remedy:
          "Read the service's announcements for its replacement. esim-webhooks api event-types lists what it offers.",
      };
    case "not_in_catalog":
    case "not_offered":
      return {};
  }
}
