import { esimCatalog, type InboxAdmin, type Logger, WebhookError } from "@esim-webhooks/core";
import type { PostgresErrorCode } from "@esim-webhooks/store-postgres";
import type { SetUpFlags } from "../flags/flag-kinds.ts";
import type { CliContext } from "../program/context.ts";
import { namingStore } from "../set-up/named-store.ts";
import { findInbox, hasInbox, type OpenInbox } from "../set-up/open-target.ts";
import { readSetUp, type SetUp } from "../set-up/set-up.ts";
import { type EmbeddedFile, namedFile } from "./backup.ts";
import type { BackupFlags } from "./flags.ts";

/** An open inbox, and what a command needs to know about it. */
export interface InboxAccess {
  readonly inbox: InboxAdmin;
  /** Names the inbox in messages. */
  readonly where: string;
  /** The types in the catalog. */
  readonly types: readonly string[];
  /** The source of the config. */
  readonly source: string;
  readonly setUp: SetUp;
}

/** Opens the inbox for a command, and closes it even if the command fails. Does not migrate, except that opening an SQLite file updates its tables. The config's own inbox does not log to `logger`. */
export async function withInbox(
  context: CliContext,
  flags: SetUpFlags & BackupFlags,
  use: (access: InboxAccess) => Promise<void>,
  logger?: Logger,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  const { from } = flags;
  const isNamed = from !== undefined;
  const { inbox, where, close } = isNamed
    ? await openFile(namedFile(context, from, flags), logger)
    : await openOwn(setUp, logger);
  const { types } = setUp.catalog ?? esimCatalog;
  try {
    await use({ inbox, where, types, source: setUp.source, setUp });
  } catch (error) {
    throw isNamed ? error : namingStore(error, setUp); // an error of a file names the file
  } finally {
    await close();
  }
}

async function openOwn(setUp: SetUp, logger?: Logger): Promise<OpenInbox<InboxAdmin>> {
  if (!hasInbox(setUp)) throw noInbox(setUp);
  return findInbox(setUp, "admin", logger);
}

/** Refuses a database without our tables (`invalid_option`): opening it as an inbox would create them. */
async function openFile({ path, where }: EmbeddedFile, logger?: Logger): Promise<OpenInbox<InboxAdmin>> {
  const { sqliteCopySource, sqliteInbox } = await import("@esim-webhooks/store-sqlite");
  const source = sqliteCopySource({ path });
  await source.ready().finally(() => source.close());
  const inbox = sqliteInbox({ path, ...(logger && { logger }) });
  return { inbox, where, close: () => inbox.close() };
}

/** The error if there is no inbox. Inbox commands create none: if the folder is misspelt, a new, empty inbox would hide that. */
function noInbox({ place }: SetUp): WebhookError<PostgresErrorCode> {
  return new WebhookError<PostgresErrorCode>(
    "migration_missing",
    `There is no inbox${"dataDir" in place ? ` in ${place.dataDir}` : ""}.`,
    "Name its folder with --data-dir, the file of your own sqliteInbox with --from, or its Postgres with DATABASE_URL; esim-webhooks serve, import and migrate create one.",
  );
}
