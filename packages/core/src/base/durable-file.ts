import { fsync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Writes a new file, readable only by this user, and resolves once its content is on the disk. */
export function writeDurably(path: string, text: string): Promise<void> {
  return writeFile(path, text, { flag: "wx", mode: 0o600, flush: true });
}

/** Writes a folder to the disk. Until then, a power cut can lose the name of a file that was created or renamed in the folder. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return; // a folder cannot be opened there
  const handle = await open(folder, "r");
  try {
    await promisify(fsync)(handle.fd); // Yarn's Plug'n'Play has no handle.sync
  } finally {
    await handle.close();
  }
}

/** For `catch`: returns undefined if the error says that a file is missing, and throws any other error again. */
export function unlessMissing(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error;
}

/** The code of a system error, such as `EEXIST`. */
export function errnoOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}
