import { stat } from "node:fs/promises";
import { isServerUrl } from "@esim-webhooks/core/internal";
import { invalidUsage } from "../program/program-error.ts";

/** The default place of events: a database or a folder. */
export type Place = Database | Folder;

/** A Postgres. */
export interface Database {
  readonly url: string;
  /** The schema of the tables, if it is not the usual one. */
  readonly schema?: string;
}

/** The folder of an embedded database. */
export interface Folder {
  /** The path as it was written, for messages. */
  readonly dataDir: string;
  /** The absolute path. */
  readonly path: string;
  /** The user of this process; undefined on Windows, where modes say nothing. */
  readonly user: number | undefined;
}

/** The place in messages. Contains no password. */
export function nameOf(place: Place): string {
  if ("dataDir" in place) return `the embedded inbox in ${place.dataDir}`;
  const { host, pathname } = URL.parse(place.url) ?? { host: "", pathname: "" };
  return `Postgres at ${host}${pathname}${place.schema ? `, schema ${place.schema}` : ""}`;
}

export function isPostgresUrl(text: string): boolean {
  return isServerUrl(text, "postgres:", "postgresql:");
}

/** The URL of a place. Throws `invalid_usage` for one that is not of Postgres, without repeating it: it may contain a password. */
export function postgresUrlOf({ url }: Database): string {
  if (isPostgresUrl(url)) return url;
  throw invalidUsage(
    "DATABASE_URL is not a postgres:// URL.",
    "Write postgres://user:password@host:5432/database, with the password's special characters percent-encoded; or unset it.",
  );
}

/** The URL of a Postgres in a flag. Throws `invalid_usage` for another URL, and for a password in it, without repeating it. */
export function urlInFlag(flag: string, url: string): string {
  const { password, searchParams } = URL.parse(url) ?? {};
  if (password || searchParams?.has("password")) {
    throw invalidUsage(
      `${flag} contains a password, which other processes can read.`,
      `Set DATABASE_URL to this URL, and leave ${flag} out; or remove the password, and set PGPASSWORD.`,
    );
  }
  if (isPostgresUrl(url)) return url;
  throw invalidUsage(`${flag} is not a postgres:// URL.`, "Write postgres://user@host:port/database.");
}

/**
 * The rights that other users have in a folder, and the remedy. Undefined when they have none, and on Windows.
 * `content`: what the folder contains.
 */
export async function openModeOf(
  { dataDir: folder, path, user }: Folder,
  content = "personal data",
): Promise<string | undefined> {
  if (user === undefined) return undefined;
  const { mode, uid } = await stat(path);
  if (uid !== 0 && uid !== user) {
    const problem = `The folder ${folder}, which has ${content}, belongs to another user (uid ${uid}), who can read and replace what is in it.`;
    return `${problem} Run as that user, or run chown ${user} on it.`;
  }
  if ((mode & 0o077) === 0) return undefined;
  const what = (mode & 0o022) === 0 ? "look into" : "write to";
  return `Other users can ${what} the folder ${folder}, which has ${content}. Run chmod 700 on it.`;
}
