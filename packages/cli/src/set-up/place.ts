import { isServerUrl } from "@esim-webhooks/core/kit";
import { ProgramError } from "../program/program-error.ts";

/** The default place of events: a database or a folder. */
export type Place = { readonly url: string } | { readonly dataDir: string };

/** The place in messages. Contains no password. */
export function nameOf(place: Place): string {
  if ("dataDir" in place) return `the embedded inbox in ${place.dataDir}`;
  const { host, pathname } = URL.parse(place.url) ?? { host: "", pathname: "" };
  return `Postgres at ${host}${pathname}`;
}

export function isPostgresUrl(text: string): boolean {
  return isServerUrl(text, "postgres:", "postgresql:");
}

/** The URL of a place. Throws `invalid_usage` for one that is not of Postgres, without repeating it: it may contain a password. */
export function postgresUrlOf({ url }: Extract<Place, { url: string }>): string {
  if (isPostgresUrl(url)) return url;
  throw new ProgramError(
    "invalid_usage",
    "DATABASE_URL is not a postgres:// URL.",
    "Write postgres://user:password@host:5432/database, with the password's special characters percent-encoded; or unset it.",
  );
}
