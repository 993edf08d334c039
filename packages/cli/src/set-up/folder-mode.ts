import { stat } from "node:fs/promises";

/**
 * What other users can do in a folder, which holds personal data, and how to mend it. Undefined when they can do nothing, and
 * on Windows, where modes say nothing.
 */
export async function openModeOf(folder: string): Promise<string | undefined> {
  const { mode } = await stat(folder);
  if (process.platform === "win32" || (mode & 0o077) === 0) return undefined;
  const what = (mode & 0o022) === 0 ? "look into" : "write to";
  return `Other users can ${what} the folder ${folder}, which has personal data. Run chmod 700 on it.`;
}
