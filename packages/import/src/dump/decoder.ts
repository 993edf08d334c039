import type { Transform } from "node:stream";
import { createInflateRaw } from "node:zlib";
import type { ByteSource } from "./byte-source.ts";
import { damagedDump, truncated } from "./errors.ts";

/** The result of unpacking one piece of packed bytes. */
export interface Unpacked {
  readonly output: readonly Buffer[];
  /** How many of the piece's bytes were used: fewer than all when the packed stream ends inside the piece. */
  readonly taken: number;
  /** Why the piece cannot be unpacked. `output` has the bytes before the error. */
  readonly error?: unknown;
}

/** A decoder of `node:zlib`, fed piece by piece. */
export interface Decoder {
  /** Resolves when the piece is unpacked, as far as possible. Small pieces keep memory small. */
  feed(piece: Buffer): Promise<Unpacked>;
  close(): void;
}

/**
 * Creates a decoder on a stream of `node:zlib`. It collects output by `data` events and never ends the stream: a stream
 * that fails or ends early drops buffered output, and so does its iterator.
 */
export function createDecoder(stream: Transform & { readonly bytesWritten: number }): Decoder {
  let output: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => output.push(bytes));
  let fail: (error: unknown) => void = () => {};
  stream.on("error", (error) => fail(error)); // for an error, zstd does not call the callback of write
  return {
    async feed(piece) {
      const before = stream.bytesWritten;
      const error = await new Promise<unknown>((resolve) => {
        fail = resolve;
        stream.write(piece, resolve);
      });
      const unpacked = { output, taken: stream.bytesWritten - before };
      output = [];
      return error ? { ...unpacked, error } : unpacked;
    },
    close: () => stream.destroy(),
  };
}

// 16 KiB unpack to little more than 16 MiB, even in a zip bomb: no more is held in memory
const pieceBytes = 16 * 1024;

/**
 * Unpacks one deflate stream (RFC 1951) and takes no bytes after it. Throws `damaged_dump`; `what` names the file. Before it throws, it
 * puts at least the last 16 KiB back: a cut is noticed only in the bytes after it, where the next part may already have begun.
 */
export async function* inflate(
  packed: Pick<ByteSource, "next" | "unread">,
  what: string,
): AsyncGenerator<Buffer> {
  const decoder = createDecoder(createInflateRaw());
  const before: Buffer[] = [];
  let beforeBytes = 0;
  try {
    for (;;) {
      const piece = await packed.next(pieceBytes);
      if (piece === undefined) {
        if (await hasEnded(decoder)) return;
        packed.unread(Buffer.concat(before));
        throw truncated(what);
      }
      const { output, taken, error } = await decoder.feed(piece);
      yield* output;
      if (error) {
        packed.unread(Buffer.concat([...before, piece]));
        throw damagedDump(`The ${what} is damaged.`, error);
      }
      // bytes after the end of the stream are left over
      if (taken < piece.byteLength) return packed.unread(piece.subarray(taken));
      before.push(Buffer.from(piece)); // a copy: the chunk may be its reader's buffer
      beforeBytes += piece.byteLength;
      while (beforeBytes > 2 * pieceBytes) beforeBytes -= before.shift()?.byteLength ?? 0;
    }
  } finally {
    decoder.close();
  }
}

/** Whether the stream is complete: then the decoder does not take another byte. There is no other way to ask. */
async function hasEnded(decoder: Decoder): Promise<boolean> {
  const { taken, error } = await decoder.feed(Buffer.alloc(1));
  return !error && taken === 0;
}
