import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DedupeStore, Inbox, Logger, StateStore } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/engine";
import { makeFolder, silentLogger } from "@esim-webhooks/core/internal";
import { fullDisk } from "../program/error-text.ts";
import { invalidUsage } from "../program/program-error.ts";
import { type Database, type Folder, openModeOf, type Place, postgresUrlOf } from "./place.ts";

/** Opens the inbox of a place: a Postgres, or SQLite in a folder. Without a logger, it shows only warnings about its set-up. */
export async function defaultInbox(place: Place, logger: Logger = silentLogger): Promise<Inbox> {
  if ("url" in place) return (await postgres()).postgresInbox({ ...databaseOf(place), logger });
  const path = await ownFile(place);
  return (await sqlite()).sqliteInbox({ path, logger });
}

const postgres = () => import("@esim-webhooks/store-postgres");
const sqlite = () => import("@esim-webhooks/store-sqlite");

function databaseOf(place: Database): Database {
  const { schema } = place;
  return { url: postgresUrlOf(place), ...(schema !== undefined && { schema }) };
}

export async function defaultStore(place: Place): Promise<DedupeStore> {
  if ("url" in place) return (await postgres()).postgresStore(databaseOf(place));
  const path = await ownFile(place);
  return (await sqlite()).sqliteStore({ path });
}

export async function defaultState(place: Place): Promise<StateStore> {
  if ("url" in place) return (await postgres()).postgresState(databaseOf(place));
  const path = await ownFile(place);
  return (await sqlite()).sqliteState({ path });
}

/**
 * Creates the folder, which will contain personal data: only its owner can read it, and git ignores it. Warns if it existed
 * already and other users can use it.
 * Resolves to the path of the database in it.
 */
async function ownFile(folder: Folder): Promise<string> {
  const file = fileIn(folder);
  await makeFolder(folder.path).catch((cause: NodeJS.ErrnoException) => {
    throw (
      fullDisk(cause, folder.dataDir) ??
      invalidUsage(
        `The folder ${folder.dataDir} cannot be created (${cause.code}).`,
        "Name another folder with --data-dir or ESIM_WEBHOOKS_DATA_DIR, or a Postgres with DATABASE_URL.",
        { cause },
      )
    );
  });
  const openMode = await openModeOf(folder);
  if (openMode !== undefined) warnOfSetup(silentLogger, "data_folder_mode", openMode);
  await writeFile(join(folder.path, ".gitignore"), ignoreAll, { flag: "wx", mode: 0o600 }).catch(() => {}); // e.g. it exists
  return file;
}

const ignoreAll = "*\n";

/** Whether a database was ever created in the folder, or its creation was interrupted: the `.gitignore` stays. */
export function wasUsed(folder: Folder): boolean {
  const path = join(folder.path, ".gitignore");
  return existsSync(path) && readFileSync(path, "utf8") === ignoreAll;
}

/** The path of the database in the folder. */
export function fileIn({ path }: Pick<Folder, "path">): string {
  return join(path, "events.db");
}

/** Whether the embedded inbox exists: opening it would create it. Always true for a Postgres. */
export function isThere(place: Place): boolean {
  return "url" in place || existsSync(fileIn(place));
}
