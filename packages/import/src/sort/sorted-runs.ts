import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Entries, entryReader, type Keyed } from "./sorted-entries.ts";

/** Sorted runs on disk. */
export interface SortedRuns {
  write(run: Entries): Promise<void>;
  /** One reader for each run, in the order in which they were written. */
  readers(): RunReader[];
  close(): Promise<void>;
}

export interface RunReader {
  /** The next entry; undefined when `fill` must read more, or at the end. */
  next(): Keyed | undefined;
  /** Reads more from disk. Resolves to false at the end of the run. */
  fill(): Promise<boolean>;
}

const writeBytes = 1024 * 1024;
const allReadBytes = 16 * 1024 * 1024;
const leastReadBytes = 16 * 1024;

/** Opens a temporary file that only its owner can read. It is already unlinked, so it disappears with the process. */
export async function openSortedRuns(): Promise<SortedRuns> {
  const file = await openUnlinked();
  const runs: { readonly begin: number; readonly end: number }[] = [];
  let length = 0;

  async function append(parts: readonly Uint8Array[]): Promise<void> {
    const bytes = Buffer.concat(parts);
    for (let written = 0; written < bytes.byteLength; ) {
      const { bytesWritten } = await file.write(bytes, written, bytes.byteLength - written, length);
      written += bytesWritten;
      length += bytesWritten;
    }
  }

  return {
    async write(run) {
      const begin = length;
      let parts: Uint8Array[] = [];
      let bytes = 0;
      for (const part of run.sorted()) {
        parts.push(part);
        bytes += part.byteLength;
        if (bytes < writeBytes) continue;
        await append(parts);
        parts = [];
        bytes = 0;
      }
      await append(parts);
      runs.push({ begin, end: length });
    },
    readers() {
      const readBytes = Math.max(
        leastReadBytes,
        Math.min(writeBytes, Math.floor(allReadBytes / runs.length)),
      );
      return runs.map(({ begin, end }) => createReader(file, begin, end, readBytes));
    },
    close: () => file.close(),
  };
}

function createReader(file: FileHandle, begin: number, end: number, readBytes: number): RunReader {
  let position = begin;
  let entries = entryReader(Buffer.alloc(0));
  return {
    next: () => entries.next(),
    async fill() {
      const rest = entries.rest();
      const length = Math.min(Math.max(readBytes, entries.missing()), end - position);
      if (length === 0) return false;
      const bytes = Buffer.allocUnsafe(rest.byteLength + length);
      bytes.set(rest);
      for (let filled = rest.byteLength; filled < bytes.byteLength; ) {
        const { bytesRead } = await file.read(bytes, filled, bytes.byteLength - filled, position);
        if (bytesRead === 0) throw new Error("The temporary file of oldestFirst was truncated.");
        filled += bytesRead;
        position += bytesRead;
      }
      entries = entryReader(bytes);
      return true;
    },
  };
}

async function openUnlinked(): Promise<FileHandle> {
  const path = join(tmpdir(), `esim-webhooks-${randomUUID()}`);
  const handle = await open(path, "wx+", 0o600);
  await unlink(path);
  return handle;
}
