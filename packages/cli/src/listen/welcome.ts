import type { WebhookEndpoint } from "@esim-webhooks/client";
import { createKeyring } from "@esim-webhooks/core";
import { listedMs } from "@esim-webhooks/endpoint";
import { shownText } from "../api/shown-record.ts";
import { printable } from "../program/printable.ts";
import { counted } from "../terminal/quantities.ts";
import type { Session } from "./session.ts";

/** What is going to be posted: whose events, since when, where to. `found` is how many events there are already. */
export function welcome(
  { endpoint, url, secret, flags }: WelcomedSession,
  found: number,
  now: number = Date.now(),
): readonly string[] {
  const { webhookEndpointReference: reference, active } = endpoint;
  const [key] = createKeyring([secret]).keysAt(now);
  return [
    `${which(flags.since, found, now)} of ${printable(reference)} (${printable(shownText(endpoint.url, false))}) are posted to ${url}, signed with ${key?.fingerprint}. Press Ctrl-C to stop.`,
    ...(active ? [] : ["The endpoint is not active, so there will be no new ones."]),
  ];
}

/** As much of a session as its first line tells. */
export type WelcomedSession = Pick<Session, "url"> & {
  readonly secret: string | Uint8Array;
  readonly endpoint: Pick<WebhookEndpoint, "webhookEndpointReference" | "url" | "active">;
  readonly flags: Pick<Session["flags"], "since">;
};

function which(since: Date | undefined, found: number, now: number): string {
  if (since === undefined) return "New events";
  const from =
    since.getTime() < now - listedMs
      ? "from the last 7 days, which is all that the service lists"
      : `since ${since.toISOString()}`;
  return `${counted(found, "event")} ${from}, and new ones,`;
}
