import { type FileHandle, open } from "node:fs/promises";
import type { Position, RawRecord } from "../dump/record.ts";

/** A line of the rejects file. */
export interface RejectedRecord {
  readonly position: Position;
  readonly code: string;
  /** Does not quote the record. */
  readonly reason: string;
  /** The record, or its text where it is not JSON. Neither where it is too large. */
  readonly record?: unknown;
  readonly text?: string | undefined;
}

export interface RejectsFile {
  append(lines: string): Promise<void>;
  /** How long it is, as far as it was written whole. */
  bytes(): number;
  /** Resolves when that is on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens it for its owner alone, and cuts off what was written after `keptBytes`. Undefined: it does not have so many.
 */
export async function openRejectsFile(path: string, keptBytes: number): Promise<RejectsFile | undefined> {
  const handle = await openAt(path, keptBytes);
  if (handle === undefined) return undefined;
  let length = keptBytes;
  return {
    async append(lines) {
      const bytes = Buffer.from(lines, "utf8");
      for (let written = 0; written < bytes.byteLength; ) {
        const left = bytes.byteLength - written;
        written += (await handle.write(bytes, written, left, length + written)).bytesWritten;
      }
      length += bytes.byteLength; // half of them, on a full disk, do not count
    },
    bytes: () => length,
    flush: () => handle.datasync().catch(() => {}), // what is no file has no disk
    close: () => handle.close(),
  };
}

async function openAt(path: string, keptBytes: number): Promise<FileHandle | undefined> {
  const handle = await open(path, keptBytes === 0 ? "w" : "r+", 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      if (keptBytes > 0 && error.code === "ENOENT") return undefined;
      throw error;
    },
  );
  const about = await handle?.stat();
  if (handle === undefined || about === undefined) return undefined;
  if (about.isFile()) await handle.chmod(0o600); // it may have been there before
  if (keptBytes === 0) return handle;
  if (about.size >= keptBytes) {
    await handle.truncate(keptBytes);
    return handle;
  }
  await handle.close();
  return undefined;
}

/** A line of the file. */
export function rejectLine(raw: RawRecord, code: string, reason: string): string {
  const { position } = raw;
  const what = "value" in raw ? { record: raw.value } : { text: raw.text };
  const line: RejectedRecord = { position, code, reason, ...what };
  return `${JSON.stringify(line)}\n`;
}
