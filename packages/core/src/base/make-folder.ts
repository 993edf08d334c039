import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder and its missing parents, readable only by the current user. Resolves to the outermost one that it made, or undefined. Node's
 * own `mkdir` with `recursive` never ends where no folder can be made, such as in /proc.
 */
export async function makeFolder(folder: string): Promise<string | undefined> {
  try {
    return await makeOne(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(folder) === folder) throw error;
  }
  const first = await makeFolder(dirname(folder));
  const made = await makeOne(folder);
  return first ?? made;
}

async function makeOne(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (error) {
    if (await isFolder(folder)) return undefined;
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
