import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * A path without symbolic links, also where its end is not there yet: SQLite names its own files after the real one, and a process
 * must have one writer for it, by whichever name.
 */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(realPath(folder), basename(path)); // what is wrong with it is told as it is opened
  }
}
