import { type KeyRecord, WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { shownAddress } from "../base/list-endpoints.ts";

/** The names of the functions that finish a change of the keys, by its `kind`. */
const finishedBy: Readonly<Record<string, string>> = {
  rotate: "rotateSecret",
  ensure: "ensureEndpoint",
  replace: "replaceEndpoint",
};

/** Explains the change under way in a key store, and which function finishes it: a sentence each. */
export function explainChange(change: NonNullable<KeyRecord["change"]>): {
  readonly problem: string;
  readonly remedy: string;
} {
  const { kind, endpoint, url } = change as Readonly<Record<string, unknown>>;
  const of =
    typeof url === "string"
      ? ` of the endpoint at ${shownAddress(url)}`
      : typeof endpoint === "string"
        ? ` of the endpoint ${endpoint}`
        : "";
  const what =
    { rotate: "rotation", ensure: "registration", replace: "replacement" }[String(kind)] ?? "change";
  const finish = finishedBy[String(kind)];
  return {
    problem: `A ${what}${of} has begun and has not ended.`,
    remedy:
      finish === undefined ? "Use the version that began it." : `Finish it with ${finish}, as it was begun.`,
  };
}

/** The error of a run that cannot begin or continue its change because this one is under way. */
export function changeUnderWay(change: NonNullable<KeyRecord["change"]>): WebhookError<EndpointErrorCode> {
  const { problem, remedy } = explainChange(change);
  return new WebhookError<EndpointErrorCode>("change_under_way", problem, remedy);
}
