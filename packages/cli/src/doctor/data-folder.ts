import { existsSync } from "node:fs";
import { mkdtemp, rmdir, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { openModeOf } from "../set-up/folder-mode.ts";
import { bytes } from "../terminal/quantities.ts";
import { type Check, failed, passed } from "./check.ts";

/** With less room than this, a busy inbox may be full within the hour. */
const leastFreeBytes = 100 * 1024 * 1024;

/**
 * Checks that files can be made in the folder of embedded data, or where it will be, and that its disk has room. Says when other
 * users can use it.
 */
export async function checkDataFolder(folder: string, leastFree: number = leastFreeBytes): Promise<Check> {
  const existing = nearestExisting(resolve(folder));
  try {
    await rmdir(await mkdtemp(join(existing, ".esim-webhooks-")));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return isFull(code) ? full(folder, 0) : unwritable(folder, code);
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  if (free < leastFree) return full(folder, free);
  // not a failure: a volume of a container may have to have such a mode
  const openMode = existing === resolve(folder) ? await openModeOf(folder) : undefined;
  return passed("folder", [`${folder}; ${bytes(free)} free`, openMode].filter(Boolean).join(". "));
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function isFull(code: string): boolean {
  return code === "ENOSPC" || code === "EDQUOT";
}

function full(folder: string, free: number): Check {
  return failed(
    "folder",
    `The disk of ${folder} has ${bytes(free)} left. Free space on it, or name another folder with --data-dir.`,
  );
}

function unwritable(folder: string, code: string): Check {
  return failed(
    "folder",
    `No file can be made in ${folder} (${code}). Give this user the right to write there, or name another folder with --data-dir.`,
  );
}
