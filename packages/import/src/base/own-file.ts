import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "./errors.ts";

/**
 * Opens a file that is there, if it is this user's alone. In a folder where others can write, they may have put a link
 * there, or a file of theirs. Pipes and devices are taken by links too, as `/dev/stdout` and `>(…)` of a shell are: nothing
 * in them is overwritten. Rejects with `foreign_file`.
 */
export async function openOwnFile(path: string, flags: number): Promise<FileHandle> {
  let isLink = false;
  // Windows has no O_NOFOLLOW: it is undefined there, which sets no bit
  const handle = await open(path, flags | constants.O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOOP") throw error;
    isLink = true;
    return open(path, flags);
  });
  try {
    const fault = faultOf(await handle.stat(), isLink);
    if (fault !== undefined) throw notOurs(path, fault);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Makes a file that only this user can read. Opens it as `openOwnFile` does where it exists. */
export async function makeOwnFile(path: string): Promise<FileHandle> {
  return open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    return openOwnFile(path, constants.O_WRONLY);
  });
}

const root = 0;

function faultOf(found: Stats, isLink: boolean): string | undefined {
  const isFile = found.isFile();
  if (isFile && isLink) return "is a symbolic link";
  if (isFile && found.nlink > 1) return "has a second name (a hard link)";
  const user = process.geteuid?.() ?? found.uid; // Windows has none
  const isOurs = found.uid === user || (found.uid === root && !isFile); // the devices are root's
  return isOurs ? undefined : "belongs to another user";
}

function notOurs(path: string, fault: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "foreign_file",
    `The file ${path} ${fault}, and is neither read nor written.`,
    "Remove it, or name a file in a folder where only you can write.",
  );
}
