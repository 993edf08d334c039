import { constants, fdatasync, fstat, type Stats, writeFile } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { WebhookError } from "@esim-webhooks/core";
import { syncFolder } from "@esim-webhooks/core/internal";
import type { ImportErrorCode } from "./dump/errors.ts";

/**
 * Opens an existing file to read it, if the file belongs to this user and is not a link. In a folder where others can write, they may have
 * put a link, or a file or a pipe of theirs. Never waits for the other end of a pipe. Rejects with `foreign_file`.
 */
export function openOwnFile(path: string): Promise<FileHandle> {
  return openChecked(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

/**
 * Opens a file as `openOwnFile` does, but to write. Accepts links to pipes and devices, such as `/dev/stdout` and `>(…)` of a shell:
 * nothing in them is overwritten. Waits for the reader of a pipe, if the pipe is this user's. Rejects with `foreign_file`.
 */
async function openOwnFileToWrite(path: string): Promise<FileHandle> {
  const checked = await openChecked(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(async (error) => {
    if (error.code !== "ENXIO") throw error; // a pipe without a reader
    refuse(path, await stat(path));
    return undefined;
  });
  if (checked !== undefined && (await checked.stat()).isFile()) return checked;
  try {
    // without O_NONBLOCK: with it, a write into a full pipe would fail
    return await openChecked(path, constants.O_WRONLY);
  } finally {
    await checked?.close(); // only now: otherwise the pipe's reader would have seen the end
  }
}

/** Makes a file that only this user can read. If it exists, opens it as `openOwnFileToWrite` does. */
async function makeOwnFile(path: string): Promise<FileHandle> {
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
    const found = await handle.stat();
    if (isLink && found.isFile()) throw notOurs(path, "is a symbolic link");
    refuse(path, found);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function refuse(path: string, found: Stats): void {
  const fault = faultOf(path, found);
  if (fault !== undefined) throw notOurs(path, fault);
}

function faultOf(path: string, found: Stats): string | undefined {
  const isFile = found.isFile();
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
 * Returns the descriptor that a path names, such as 1 for `/dev/stdout` and 3 for `/dev/fd/3`. Judges by the path alone, and follows no
 * link: another user's link could lead to a database that this process has open.
 */
function descriptorOf(path: string): number | undefined {
  const [, digits] = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path) ?? [];
  return digits === undefined ? named[path] : Number(digits);
}

export interface RejectsFile {
  append(lines: string): Promise<void>;
  /** Truncates the file after the lines of this import: an earlier import may have left more. */
  cutOff(): Promise<void>;
  /** How many bytes of the file are lines of this import, without a line that was written only in part. */
  bytes(): number;
  /** Resolves when these lines and the name of the file are on disk. Does nothing for a pipe or a redirected file. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the file, readable by its owner only. Bytes after `keptBytes` stay until something is written there: an import that
 * fails early does not delete the rejects of the previous one. Resolves to undefined if the file has fewer than `keptBytes` bytes.
 * Rejects with `foreign_file` if it is a link, or another user's. A file that a shell has redirected a descriptor to, as with
 * `/dev/stdout`, is written through this descriptor.
 */
export async function openRejectsFile(path: string, keptBytes: number): Promise<RejectsFile | undefined> {
  const redirected = await redirectedToFile(path);
  if (redirected !== undefined) return keptBytes === 0 ? rejectsInto(redirected) : undefined;
  const opened = await openAt(path, keptBytes);
  if (opened === undefined) return undefined;
  const { handle, isFile } = opened;
  let length = keptBytes;
  let isCut = !isFile;
  let isNameDurable = false;
  async function cutOff(): Promise<void> {
    if (isCut) return;
    await handle.truncate(length);
    isCut = true;
  }
  return {
    cutOff,
    async append(lines) {
      await cutOff();
      const bytes = Buffer.from(lines, "utf8");
      for (let written = 0; written < bytes.byteLength; ) {
        const left = bytes.byteLength - written;
        const place = isFile ? length + written : null; // a pipe has no positions
        written += (await handle.write(bytes, written, left, place)).bytesWritten;
      }
      length += bytes.byteLength; // not for lines of which a full disk took only a part
    },
    bytes: () => length,
    async flush() {
      if (!isFile) return; // a pipe cannot be flushed
      await promisify(fdatasync)(handle.fd);
      if (!isNameDurable) await syncFolder(dirname(path));
      isNameDurable = true;
    },
    close: () => handle.close(),
  };
}

async function redirectedToFile(path: string): Promise<number | undefined> {
  const descriptor = descriptorOf(path);
  if (descriptor === undefined) return undefined;
  const found = await promisify(fstat)(descriptor).catch(() => undefined); // undefined when it is not open
  return found?.isFile() ? descriptor : undefined;
}

/** Appends at the position of the descriptor: the file has other output too, so nothing is truncated or resumed. */
function rejectsInto(descriptor: number): RejectsFile {
  return {
    cutOff: async () => {},
    append: (lines) => promisify(writeFile)(descriptor, lines),
    bytes: () => 0,
    flush: async () => {},
    close: async () => {}, // it is not ours
  };
}

interface Opened {
  readonly handle: FileHandle;
  readonly isFile: boolean;
}

async function openAt(path: string, keptBytes: number): Promise<Opened | undefined> {
  const handle = keptBytes === 0 ? await makeOwnFile(path) : await openIfThere(path);
  if (handle === undefined) return undefined;
  const about = await handle.stat();
  const isFile = about.isFile();
  if (isFile) await handle.chmod(0o600); // for a file that already existed
  if (keptBytes === 0 || about.size >= keptBytes) return { handle, isFile };
  await handle.close();
  return undefined;
}

function openIfThere(path: string): Promise<FileHandle | undefined> {
  return openOwnFileToWrite(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}
