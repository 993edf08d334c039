import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { makeFolder } from "@esim-webhooks/core/internal";
import type { ServiceClock } from "./base/clock.ts";
import { type Database, openDatabase } from "./base/database.ts";
import type { SandboxErrorCode } from "./base/refused.ts";

/** Opens the database in a folder. Creates the folder if it is missing. Throws `unusable_data`. */
export async function openFolder(folder: string): Promise<Database> {
  try {
    await makeFolder(folder);
    const path = join(folder, "sandbox.db");
    await makePrivate(path);
    return openDatabase(path);
  } catch (cause) {
    const [problem, remedy] = reasonOf(cause, folder);
    throw new WebhookError<SandboxErrorCode>("unusable_data", problem, remedy, { cause });
  }
}

/**
 * Makes the file readable only by its owner, since it holds secrets. SQLite gives the files that it adds the same mode. Refuses a symbolic
 * link, except on Windows: the mode of a file elsewhere is not ours to change.
 */
async function makePrivate(path: string): Promise<void> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants; // Windows has no O_NOFOLLOW
  const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    await file.chmod(0o600);
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown, folder: string): readonly [problem: string, remedy: string] {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (errcode === 5)
    // SQLITE_BUSY
    return [`Another sandbox keeps its state in ${folder}.`, "Stop that one, or name another folder."];
  if (code === "ELOOP")
    return [
      `The file sandbox.db in ${folder} is a symbolic link.`,
      "Name the folder that has the file itself.",
    ];
  return [`The state cannot be kept in ${folder}.`, "Name a folder that this user can write to."];
}

const everyMs = 1000;

/** Returns the service's time as it was last saved; 0 for a new database. */
export function savedTime(db: Database): number {
  return db.get<{ now: number }>("select now from clock")?.now ?? 0;
}

/** Returns the database with transactions that also save the service's time: after a kill, the clock starts no earlier than what was written. */
export function timekeepingDatabase(db: Database, clock: ServiceClock): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(() => {
        const result = work();
        saveTime(db, clock);
        return result;
      }),
  };
}

/** Saves the service's time once a second. Returns a function that stops this, and saves the time once more. */
export function keepTime(db: Database, clock: ServiceClock): () => void {
  const timer = setInterval(() => saveTime(db, clock), everyMs).unref();
  return () => {
    clearInterval(timer);
    saveTime(db, clock);
  };
}

function saveTime(db: Database, clock: ServiceClock): void {
  db.run("replace into clock (rowid, now) values (1, ?)", clock.now());
}
