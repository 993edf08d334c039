import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

export interface RejectsFile {
  append(lines: string): Promise<void>;
  /** Cuts off what an earlier import, or one that was killed, has left behind what this one kept or wrote. */
  cutOff(): Promise<void>;
  /** How long it is, as far as it was written whole. */
  bytes(): number;
  /** Resolves when that is on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens it for its owner alone. What is in it behind `keptBytes` stays until there is something to write there: an import
 * that comes to nothing takes nothing from the one before. Undefined: it does not have so many.
 */
export async function openRejectsFile(path: string, keptBytes: number): Promise<RejectsFile | undefined> {
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
        const place = isFile ? length + written : null; // a pipe has none
        written += (await handle.write(bytes, written, left, place)).bytesWritten;
      }
      length += bytes.byteLength; // half of them, on a full disk, do not count
    },
    bytes: () => length,
    flush: () => handle.datasync().catch(() => {}), // what is no file has no disk
    close: () => handle.close(),
  };
}

interface Opened {
  readonly handle: FileHandle;
  readonly isFile: boolean;
}

async function openAt(path: string, keptBytes: number): Promise<Opened | undefined> {
  const make = keptBytes === 0 ? constants.O_CREAT : 0;
  const handle = await open(path, constants.O_WRONLY | make, 0o600).catch((error: NodeJS.ErrnoException) => {
    if (keptBytes > 0 && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  const about = await handle.stat();
  const isFile = about.isFile();
  if (isFile) await handle.chmod(0o600); // it may have been there before
  if (keptBytes === 0 || about.size >= keptBytes) return { handle, isFile };
  await handle.close();
  return undefined;
}
