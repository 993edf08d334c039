import { randomUUID } from "node:crypto";
import { mkdir, readFile, realpath, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { fullDisk } from "../program/error-text.ts";
import { ProgramError } from "../program/program-error.ts";

/**
 * Refuses a key file that a rotation could not read or replace, before the service is asked for anything; leaves no change.
 * Throws `missing_secret` or `invalid_usage`.
 */
export async function refuseUnfitForRotation(file: string): Promise<void> {
  await refuseNoFile(file);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unfit(file, `cannot be read (${error.code})`, "Let this user read it.");
  });
  if (text === undefined || text.trim() === "") {
    throw new WebhookError(
      "missing_secret",
      `The key file ${file} ${text === undefined ? "does not exist" : "is empty"}, so no receiver has a key from it.`,
      `Name the file that the receivers read; or if it is this one, and no one has the secret, write that it has no key yet, and run this again: (umask 077; echo '{ "keys": [] }' > ${file})`,
    );
  }
  await refuseReadOnly(file);
}

/** Refuses a path at which there can be no key file. Throws `invalid_usage`. */
export async function refuseNoFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw unfit(file, "is a folder", "Name the file in it that the receivers read.");
  if (found?.isFile() === false)
    throw unfit(file, "is not a regular file", "Name the file that the receivers read.");
  const folder = dirname(file);
  if (found === undefined && (await stat(folder).catch(() => undefined)) === undefined)
    throw unfit(
      file,
      `cannot be there: its folder ${folder} does not exist`,
      "Correct the path, or create the folder.",
    );
}

/** A new file is written next to it, and renamed over it: with its owner, else receivers could not read it any more. */
async function refuseReadOnly(path: string): Promise<void> {
  const file = await realpath(path);
  const draft = `${file}.draft-${randomUUID()}`; // as fileKeySource names it, which removes what a kill leaves
  try {
    await mkdir(draft, { mode: 0o700 });
    await rmdir(draft);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw (
      fullDisk(error, path) ??
      unfit(
        path,
        `cannot be replaced: nothing can be written to its folder (${code})`,
        `Give this user the right to write to ${dirname(file)}. In a container, mount the folder, not the file.`,
      )
    );
  }
  const { uid } = await stat(file);
  const user = process.getuid?.() ?? 0;
  if (user !== 0 && user !== uid)
    throw unfit(path, "cannot be replaced: it is another user's", "Run this as the user that owns it.");
}

function unfit(file: string, problem: string, remedy: string): ProgramError {
  return new ProgramError("invalid_usage", `The key file ${file} ${problem}.`, remedy);
}
