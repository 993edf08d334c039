import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Text with the number it is sorted by. */
export interface Keyed {
  readonly key: number;
  readonly text: string;
}

/** Sorted lists on disk, each of which is read from its begin to its end. */
export interface SortedRuns {
  write(run: readonly Keyed[]): Promise<void>;
  /** One reader for each run, in the order in which they were written. */
  readers(): RunReader[];
  close(): Promise<void>;
}

export interface RunReader {
  /** The next one; undefined at the end, or before the first `fill`. */
  next(): Keyed | undefined;
  /** Reads on, when `next` has come to the end of what was read. False: there is no more. */
  fill(): Promise<boolean>;
}

const headerBytes = 12; // the key as a double, and the length of the text
const writeBytes = 1024 * 1024;
const allReadBytes = 16 * 1024 * 1024;
const leastReadBytes = 16 * 1024;

/** In a file for its owner alone that no folder names any more, so that it goes with the process, however that ends. */
export async function openSortedRuns(): Promise<SortedRuns> {
  const file = await openUnlinked();
  const runs: { readonly begin: number; readonly end: number }[] = [];
  let length = 0;

  async function append(parts: readonly Buffer[]): Promise<void> {
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
      let parts: Buffer[] = [];
      let bytes = 0;
      for (const keyed of run) {
        const part = encode(keyed);
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

function encode({ key, text }: Keyed): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(headerBytes + length);
  bytes.writeDoubleLE(key, 0);
  bytes.writeUInt32LE(length, 8);
  bytes.write(text, headerBytes, "utf8");
  return bytes;
}

function createReader(file: FileHandle, begin: number, end: number, readBytes: number): RunReader {
  let position = begin;
  let bytes = Buffer.alloc(0);
  let at = 0;

  /** How long the next one is, as far as that can be seen. */
  const nextBytes = () =>
    bytes.byteLength - at < headerBytes ? headerBytes : headerBytes + bytes.readUInt32LE(at + 8);

  return {
    next() {
      const length = nextBytes();
      if (bytes.byteLength - at < length || length === headerBytes) return undefined;
      const text = bytes.toString("utf8", at + headerBytes, at + length);
      const key = bytes.readDoubleLE(at);
      at += length;
      return { key, text };
    },
    async fill() {
      const rest = bytes.subarray(at);
      const length = Math.min(Math.max(readBytes, nextBytes() - rest.byteLength), end - position);
      if (length === 0) return false;
      const read = Buffer.allocUnsafe(length);
      for (let filled = 0; filled < length; ) {
        const { bytesRead } = await file.read(read, filled, length - filled, position);
        if (bytesRead === 0)
          throw new Error("The temporary file of oldestFirst is shorter than what was written.");
        filled += bytesRead;
        position += bytesRead;
      }
      bytes = Buffer.concat([rest, read]);
      at = 0;
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
