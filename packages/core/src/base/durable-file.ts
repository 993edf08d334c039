import { fsync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

/** Writes a new file, readable only by this user, and resolves once its content is on the disk. */
export function writeDurably(path: string, text: string): Promise<void> {
  return writeFile(path, text, { flag: "wx", mode: 0o600, flush: true });
}

/** Writes a folder to the disk. Until then, a power cut loses the name of a file that was created or renamed in it. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return; // a folder cannot be opened there
  const handle = await open(folder, "r");
  try {
    await promisify(fsync)(handle.fd); // Yarn's Plug'n'Play has no handle.sync
  } finally {
    await handle.close();
  }
}

/**
 * Writes the folders above to the disk, since any of them may be as new as the folder: made here, by another process, or by the program that
 * uses it. A folder that this user may not open belongs to another user, and so is older. Rejects only when the disk fails.
 */
export async function syncFoldersAbove(folder: string): Promise<void> {
  const above = dirname(folder);
  if (above === folder) return;
  await syncFolder(above).catch((error: unknown) => {
    if (["EIO", "ENOSPC", "EDQUOT"].includes(errnoOf(error))) throw error;
  });
  await syncFoldersAbove(above);
}

/** For `catch`: returns undefined if the error says that a file is missing, and throws any other error again. */
export function unlessMissing(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error;
}

/** The code of a system error, such as `EEXIST`. */
export function errnoOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}
