import { randomUUID } from "node:crypto";
import { mkdir, readFile, realpath, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import type { CliProcess } from "../program/context.ts";
import { fullDisk } from "../program/error-text.ts";
import { invalidUsage } from "../program/program-error.ts";
import type { NamedFile } from "../set-up/key-place.ts";

/**
 * Refuses a key file that a rotation could not read or replace, before the service is asked for anything. Leaves no change.
 * Throws `missing_secret`, `invalid_usage` or `store_full`.
 */
export async function refuseUnfitForRotation(
  named: NamedFile,
  user: Pick<CliProcess, "getuid">,
): Promise<void> {
  const { file, where } = named;
  await refuseNoFile(named);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unfit(where, `cannot be read (${error.code})`, "Let this user read it.");
  });
  if (text === undefined || text.trim() === "") {
    throw new WebhookError(
      "missing_secret",
      `The key file ${where} ${text === undefined ? "does not exist" : "is empty"}, so no receiver has a key from it.`,
      `Name the file that the receivers read; or if it is this one, and no one has the secret, write that it has no key yet, and run this again: (umask 077; echo '{ "keys": [] }' > ${where})`,
    );
  }
  await refuseReadOnly(named, user);
}

/** Refuses a path at which there can be no key file. Throws `invalid_usage`. */
export async function refuseNoFile({ file, where }: NamedFile): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) throw unfit(where, "is a folder", "Name the file in it that the receivers read.");
  if (found?.isFile() === false)
    throw unfit(where, "is not a regular file", "Name the file that the receivers read.");
  const folder = dirname(where);
  if (found === undefined && (await stat(dirname(file)).catch(() => undefined)) === undefined)
    throw unfit(
      where,
      `cannot be there: its folder ${folder} does not exist`,
      "Correct the path, or create the folder.",
    );
}

/**
 * Refuses a key file that this user cannot replace. A rotation writes a new file next to it, with the same owner (else receivers could not
 * read it), and renames it.
 */
async function refuseReadOnly(named: NamedFile, { getuid }: Pick<CliProcess, "getuid">): Promise<void> {
  const { where } = named;
  const file = await realpath(named.file);
  const draft = `${file}.draft-${randomUUID()}`; // named like the drafts of fileKeySource, which removes it if a kill leaves it
  try {
    await mkdir(draft, { mode: 0o700 });
    await rmdir(draft);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw (
      fullDisk(error, where) ??
      unfit(
        where,
        `cannot be replaced: nothing can be written to its folder (${code})`,
        `Give this user the right to write to ${dirname(file)}. In a container, mount the folder, not the file.`,
      )
    );
  }
  const { uid } = await stat(file);
  const user = getuid?.() ?? 0;
  if (user !== 0 && user !== uid)
    throw unfit(where, "cannot be replaced: it is another user's", "Run this as the user that owns it.");
}

function unfit(where: string, problem: string, remedy: string): Error {
  return invalidUsage(`The key file ${where} ${problem}.`, remedy);
}
