import { open } from "node:fs/promises";

/** Writes a new file, readable only by this user, and resolves once its content is on the disk. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A created or renamed file is on the disk only once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** For `catch`: undefined for a file that is not there. */
export function unlessMissing(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error;
}

/** The code of a system error, such as `EEXIST`. */
export function errnoOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}
