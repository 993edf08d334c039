import { esimCatalog, type InboxAdmin, WebhookError } from "@esim-webhooks/core";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { SetUpFlags } from "../flags/set-up-flags.ts";
import type { CliContext } from "../program/context.ts";
import { namingStore } from "../set-up/named-store.ts";
import { findInbox, hasInbox } from "../set-up/open-target.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";

/** An open inbox, and what a command needs to know about it. */
export interface InboxAccess {
  readonly inbox: InboxAdmin;
  /** Names the inbox in messages. */
  readonly where: string;
  /** The types in the catalog. */
  readonly types: readonly string[];
  /** The source of the config. */
  readonly source: string;
}

/** Opens the inbox for a command, and closes it whatever happens. Migrates nothing: serve, work and import do. */
export async function withInbox(
  context: CliContext,
  flags: SetUpFlags,
  use: (access: InboxAccess) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  if (!hasInbox(setUp)) throw noInbox(setUp);
  const { inbox, where, close } = await findInbox(setUp, "admin");
  const { types } = setUp.catalog ?? esimCatalog;
  try {
    await use({ inbox, where, types, source: setUp.source });
  } catch (error) {
    throw namingStore(error, setUp);
  } finally {
    await close();
  }
}

/** Commands that only look create no inbox: the folder may be misspelt. */
function noInbox({ place }: SetUp): WebhookError<PostgresErrorCode> {
  return new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `There is no inbox${"dataDir" in place ? ` in ${place.dataDir}` : ""}.`,
    "Name its folder with --data-dir, or its Postgres with DATABASE_URL; esim-webhooks serve, import and migrate create one.",
  );
}
