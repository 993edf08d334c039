import { esimCatalog, type InboxAdmin, WebhookError } from "@esim-webhooks/core";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { SetUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { findInbox, hasInbox } from "../set-up/open-target.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";

export interface AtInbox {
  readonly inbox: InboxAdmin;
  /** For people: which inbox it is. */
  readonly where: string;
  /** The types that the catalog knows. */
  readonly types: readonly string[];
  /** The source of the config. */
  readonly source: string;
}

/** Opens the inbox for a command, and closes it whatever happens. Migrates nothing: that is for those who store and work. */
export async function withInbox(
  context: CliContext,
  flags: SetUpFlags,
  use: (at: AtInbox) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  if (!hasInbox(setUp)) throw noInbox(setUp);
  const { inbox, where, close } = await findInbox(setUp, "admin");
  const { types } = setUp.catalog ?? esimCatalog;
  try {
    await use({ inbox, where, types, source: setUp.source });
  } catch (error) {
    throw explained(error, where);
  } finally {
    await close();
  }
}

/** Looking makes no inbox where there is none: a folder may be misspelt. */
function noInbox({ place }: SetUp): WebhookError<PostgresErrorCode> {
  return new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `There is no inbox${"dataDir" in place ? ` in ${place.dataDir}` : ""}.`,
    "Name its folder by --data-dir, or its Postgres by DATABASE_URL; esim-webhooks serve and import make one.",
  );
}

/** Nothing is there yet, or it is older than this program: another command sets it up. */
function explained(error: unknown, where: string): unknown {
  if (!WebhookError.is(error) || error.code !== "migration_missing") return error;
  return new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `${where.charAt(0).toUpperCase()}${where.slice(1)} is not set up for this version.`,
    "esim-webhooks serve, work and import do so, as does migrate() at deployment.",
    { cause: error },
  );
}
