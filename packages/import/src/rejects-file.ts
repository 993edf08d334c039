import { fdatasync, fstat, writeFile } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import { descriptorOf, makeOwnFile, openOwnFileToWrite } from "./own-file.ts";

export interface RejectsFile {
  append(lines: string): Promise<void>;
  /** Truncates the file after the lines of this import: an earlier import may have left more. */
  cutOff(): Promise<void>;
  /** The length of the file, without lines that were written only in part. */
  bytes(): number;
  /** Resolves when those bytes are on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the file, readable by its owner only. Bytes after `keptBytes` stay until something is written there: an import that
 * fails early does not delete the rejects of the previous one. Resolves to undefined when the file is shorter than that.
 * Rejects with `foreign_file` when it is not this user's alone. A file that a shell has redirected a descriptor to, as with
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
      length += bytes.byteLength; // lines that a full disk has cut do not count
    },
    bytes: () => length,
    flush: () => promisify(fdatasync)(handle.fd).catch(() => {}), // a pipe cannot be flushed
    close: () => handle.close(),
  };
}

async function redirectedToFile(path: string): Promise<number | undefined> {
  const descriptor = descriptorOf(path);
  if (descriptor === undefined) return undefined;
  const found = await promisify(fstat)(descriptor).catch(() => undefined); // undefined when it is not open
  return found?.isFile() ? descriptor : undefined;
}

/** Continues where the descriptor is: the file has other output too, so nothing is cut off or taken up again. */
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
