import type { ApiClient } from "@esim-webhooks/client";
import { isSameUrl } from "@esim-webhooks/endpoint";
import { shownText } from "../api/shown-record.ts";
import { printable } from "../program/printable.ts";
import { ProgramError } from "../program/program-error.ts";
import { allEndpoints } from "./all-endpoints.ts";

/** A slash too many would register a second endpoint for a receiver that has one. Throws `invalid_usage`. */
export async function refuseOtherSlash(api: ApiClient, url: string): Promise<void> {
  const all = await allEndpoints(api);
  const other = all.find((endpoint) => differsInSlash(endpoint.url, url));
  if (other === undefined || all.some((endpoint) => isSameUrl(endpoint.url, url))) return;
  throw new ProgramError(
    "invalid_usage",
    `The client has no endpoint for ${printable(url)}, but ${printable(other.webhookEndpointReference)} for ${printable(shownText(other.url, false))}: only the slash at the end differs.`,
    "Write the URL of that endpoint. If you want two, register the second one with esim-webhooks api endpoints create.",
  );
}

/** Whether two URLs are the same but for a slash at the end of their paths: to a service they are two, to most receivers one. */
export function differsInSlash(one: string, other: string): boolean {
  return !isSameUrl(one, other) && withoutSlash(one) === withoutSlash(other);
}

function withoutSlash(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url.href;
}
