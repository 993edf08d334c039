import { ProgramError } from "../program/program-error.ts";
import { isPostgresUrl } from "../set-up/place.ts";

/** The Postgres to copy to: `--to`, else `DATABASE_URL`. Throws `invalid_usage` for none, and for a password in `--to`. */
export function targetUrl(to: string | undefined, { DATABASE_URL }: NodeJS.ProcessEnv): string {
  const url = to ?? DATABASE_URL;
  if (!url) {
    throw new ProgramError(
      "invalid_usage",
      "There is no Postgres to copy to.",
      "Set DATABASE_URL, or add --to postgres://user@host/database.",
    );
  }
  const { password, searchParams } = URL.parse(url) ?? {};
  if (to !== undefined && (password || searchParams?.has("password"))) {
    throw new ProgramError(
      "invalid_usage",
      "--to contains a password, which other processes can read.",
      "Set DATABASE_URL to this URL, and leave --to out; or remove the password, and set PGPASSWORD.",
    );
  }
  if (isPostgresUrl(url)) return url;
  throw new ProgramError(
    "invalid_usage",
    `${to === undefined ? "DATABASE_URL" : "--to"} is not a postgres:// URL.`, // which may contain a password
    "Write postgres://user@host:port/database.",
  );
}
