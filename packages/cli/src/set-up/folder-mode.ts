import { stat } from "node:fs/promises";

/**
 * What other users can do in a folder, and how to fix it. Undefined when they can do nothing, and on Windows, where modes say nothing.
 * `content`: why that matters.
 */
export async function openModeOf(folder: string, content = "personal data"): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const { mode, uid } = await stat(folder);
  const self = process.geteuid?.();
  if (uid !== 0 && uid !== self) {
    const problem = `The folder ${folder}, which has ${content}, belongs to another user (uid ${uid}), who can read and replace what is in it.`;
    return `${problem} Run as that user, or run chown ${self} on it.`;
  }
  if ((mode & 0o077) === 0) return undefined;
  const what = (mode & 0o022) === 0 ? "look into" : "write to";
  return `Other users can ${what} the folder ${folder}, which has ${content}. Run chmod 700 on it.`;
}
