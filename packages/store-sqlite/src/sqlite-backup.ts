import { parseOptions } from "@esim-webhooks/core/kit";
import { writeWhole } from "./database/whole-file.ts";
import { openSource } from "./open-source.ts";
import { rethrow } from "./open-sqlite.ts";
import { type SqliteFileOptions, sqliteFileShape } from "./sqlite-options.ts";

/**
 * Copies the whole database, your own tables included, to a new file, while others read and write it. Resolves once the copy
 * is on the disk, readable by its user alone: it holds every write that was acknowledged before the call.
 *
 * Rejects with `invalid_option` when the database is not there, when `file` is there already or its folder is not; with `store_unavailable`, `store_full`, or a
 * code of `SqliteErrorCode`.
 */
export async function sqliteBackup(options: SqliteFileOptions, file: string): Promise<void> {
  const settings = parseOptions("sqliteBackup", sqliteFileShape, options);
  const { ready, readApart, close } = openSource("sqliteBackup", "backup", settings);
  try {
    await ready();
    await writeWhole(file, (partial) => readApart("backup", { file: partial })).catch(rethrow);
  } finally {
    await close();
  }
}
