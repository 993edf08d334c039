import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "./dump/errors.ts";

/**
 * Opens a file that is there, if it is this user's alone, to read it. In a folder where others can write, they may have put a
 * link there, or a file or a pipe of theirs. Never waits for the other end of a pipe. Rejects with `foreign_file`.
 */
export function openOwnFile(path: string): Promise<FileHandle> {
  return openChecked(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/**
 * Opens it to write. Pipes and devices are taken by links too, as `/dev/stdout` and `>(…)` of a shell are: nothing in them is
 * overwritten. Waits for the reader of a pipe, if the pipe is this user's. Rejects with `foreign_file`.
 */
export async function openOwnFileToWrite(path: string): Promise<FileHandle> {
  const checked = await openChecked(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(async (error) => {
    if (error.code !== "ENXIO") throw error; // a pipe without a reader
    refuse(path, await stat(path), false);
    return undefined;
  });
  if (checked !== undefined && (await checked.stat()).isFile()) return checked;
  try {
    // without O_NONBLOCK, where a write into a full pipe would fail
    return await openChecked(path, constants.O_WRONLY);
  } finally {
    await checked?.close(); // only now: its reader would have seen the end
  }
}

/** Makes a file that only this user can read. Opens it as `openOwnFileToWrite` does where it exists. */
export async function makeOwnFile(path: string): Promise<FileHandle> {
  return open(path, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    return openOwnFileToWrite(path);
  });
}

async function openChecked(path: string, flags: number): Promise<FileHandle> {
  let isLink = false;
  // Windows has neither O_NOFOLLOW nor O_NONBLOCK: they are undefined there, which sets no bit
  const handle = await open(path, flags | constants.O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ELOOP") throw error;
    isLink = true;
    return open(path, flags);
  });
  try {
    refuse(path, await handle.stat(), isLink);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function refuse(path: string, found: Stats, isLink: boolean): void {
  const fault = faultOf(path, found, isLink);
  if (fault !== undefined) throw notOurs(path, fault);
}

function faultOf(path: string, found: Stats, isLink: boolean): string | undefined {
  const isFile = found.isFile();
  if (isFile && isLink) return "is a symbolic link";
  if (isFile && found.nlink > 1) return "has a second name (a hard link)";
  // only root makes devices, and a pipe that this process inherited may be of another user, as with sudo
  if (found.isCharacterDevice() || (!isFile && descriptorOf(path) !== undefined)) return undefined;
  const user = process.geteuid?.() ?? found.uid; // Windows has none
  return found.uid === user ? undefined : "belongs to another user";
}

function notOurs(path: string, fault: string): WebhookError<ImportErrorCode> {
  return new WebhookError<ImportErrorCode>(
    "foreign_file",
    `The file ${path} ${fault}, and is neither read nor written.`,
    /^\/dev\/(?!shm\/)/.test(resolve(path)) // a descriptor or a device
      ? "Name a file in a folder where only you can write."
      : "Remove it, or name a file in a folder where only you can write.",
    { path },
  );
}

const named: Readonly<Record<string, number>> = { "/dev/stdout": 1, "/dev/stderr": 2 };

/**
 * The descriptor of this process that the path names, as `/dev/stdout` and `/dev/fd/3` do. Goes by the name alone: a link from
 * elsewhere may be of another user, and lead to a database that this process has open.
 */
export function descriptorOf(path: string): number | undefined {
  const [, digits] = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path) ?? [];
  return digits === undefined ? named[path] : Number(digits);
}
