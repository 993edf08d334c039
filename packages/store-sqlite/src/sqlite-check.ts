import { WebhookError } from "@esim-webhooks/core";
import { parseOptions } from "@esim-webhooks/core/kit";
import type { SqliteErrorCode } from "./database/errors.ts";
import { openSource } from "./open-source.ts";
import { type SqliteFileOptions, sqliteFileShape } from "./sqlite-options.ts";

/**
 * Looks for damage in the whole database, your own tables included, while others read and write it. It reads the whole file: a second
 * for a gigabyte that is in memory, and as long as the disk takes for one that is not.
 *
 * Rejects with `database_corrupt` if it finds any, with `invalid_option` when the database is not there, with `store_unavailable`, or
 * another code of `SqliteErrorCode`.
 */
export async function sqliteCheck(options: SqliteFileOptions): Promise<void> {
  const settings = parseOptions("sqliteCheck", sqliteFileShape, options);
  const { ready, readApart, close } = openSource("sqliteCheck", "backup", settings);
  try {
    await ready();
    const damage = await readApart("quickCheck", undefined);
    if (damage === undefined) return;
    throw new WebhookError<SqliteErrorCode>(
      "database_corrupt",
      `The file ${settings.path} is damaged: ${damage}.`,
      "Keep a copy, and restore a backup or try sqlite3's .recover.",
    );
  } finally {
    await close();
  }
}
