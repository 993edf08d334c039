import { isUint8Array } from "node:util/types";
import { WebhookError } from "@esim-webhooks/core";
import { byteBuffer } from "@esim-webhooks/core/internal";
import { truncated } from "./errors.ts";

/** A source of bytes that reads its input only when needed, and can look ahead. */
export interface ByteSource {
  /**
   * Takes the next bytes, at most `max`: fewer when only fewer have arrived; undefined at the end.
   * Throws the error of the input, after everything before it was taken.
   */
  next(max?: number): Promise<Buffer | undefined>;
  /** Puts bytes back, so that `next` returns them again. */
  unread(bytes: Buffer): void;
  /** Returns the next `size` bytes without taking them; fewer if the input ends or fails before. */
  peek(size: number): Promise<Buffer>;
  /** Takes `size` bytes; fewer if the input ends before. */
  take(size: number): Promise<Buffer>;
  /** Skips `size` bytes. Resolves to false if the input ends before. */
  skip(size: number): Promise<boolean>;
  /** How many bytes were taken: the offset of the next one. */
  taken(): number;
  /** Closes the input. */
  close(): Promise<void>;
}

// the most bytes in one chunk: a caller may pass a whole file as one
const largestChunk = 64 * 1024;

const noText = "Read it without an encoding: createReadStream(path).";

/**
 * Creates a source. Taking bytes throws `invalid_input` if the input yields anything but bytes.
 * @param count gets the size of every chunk before the chunk is used, and may throw
 */
export function byteSource(
  input: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void = () => {},
): ByteSource {
  let iterator: AsyncIterator<Uint8Array> | undefined;
  let held: Buffer = Buffer.alloc(0);
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  let taken = 0;

  /** Reads the next chunk of the input; undefined at its end or error. The error is kept until the held bytes are used up. */
  async function pull(): Promise<Buffer | undefined> {
    while (!ended) {
      try {
        iterator ??= input[Symbol.asyncIterator]();
        const { done, value } = await iterator.next();
        if (done) {
          ended = true;
        } else if (!isUint8Array(value)) {
          throw new WebhookError(
            "invalid_input",
            `A dump must be bytes, and its stream yields a ${typeof value}.`,
            noText,
          );
        } else if (value.byteLength > 0) {
          count(value.byteLength);
          return asBuffer(value);
        }
      } catch (error) {
        ended = true;
        failure = { error };
      }
    }
    return undefined;
  }

  async function hold(size: number): Promise<void> {
    if (held.byteLength >= size) return;
    const buffer = byteBuffer(Number.POSITIVE_INFINITY);
    buffer.add(Buffer.from(held));
    let length = held.byteLength;
    while (length < size) {
      const chunk = await pull();
      if (chunk === undefined) break;
      buffer.add(length === 0 ? Buffer.from(chunk) : chunk);
      length += chunk.byteLength;
    }
    held = asBuffer(buffer.bytes());
  }

  async function next(max = largestChunk): Promise<Buffer | undefined> {
    if (held.byteLength === 0) {
      const chunk = await pull();
      if (chunk === undefined) {
        if (failure) throw failure.error;
        return undefined;
      }
      held = chunk;
    }
    const bytes = held.subarray(0, max);
    return drop(bytes);
  }

  function drop(bytes: Buffer): Buffer {
    held = held.subarray(bytes.byteLength);
    taken += bytes.byteLength;
    return bytes;
  }

  return {
    next,
    taken: () => taken,
    unread(bytes) {
      taken -= bytes.byteLength;
      held = joined(bytes, held);
    },
    async peek(size) {
      await hold(size);
      return held.subarray(0, size);
    },
    async take(size) {
      await hold(size);
      if (held.byteLength < size && failure) throw failure.error;
      return drop(held.subarray(0, size));
    },
    async skip(size) {
      for (let left = size; left > 0; ) {
        const bytes = await next(Math.min(left, largestChunk));
        if (bytes === undefined) return false;
        left -= bytes.byteLength;
      }
      return true;
    },
    async close() {
      if (ended) return;
      ended = true;
      await iterator?.return?.();
    },
  };
}

/** Joins two buffers, without a copy if they are neighbours in one: short gzip members put bytes back very often. */
function joined(first: Buffer, second: Buffer): Buffer {
  if (second.byteLength === 0) return first;
  const wereOne = first.buffer === second.buffer && first.byteOffset + first.byteLength === second.byteOffset;
  if (!wereOne) return Buffer.concat([first, second]);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength + second.byteLength);
}

/** Takes `size` bytes. Takes none and throws `damaged_dump` if the input ends before; `what` names the input. */
export async function exactly(source: ByteSource, size: number, what: string): Promise<Buffer> {
  const bytes = await source.take(size);
  if (bytes.byteLength === size) return bytes;
  source.unread(bytes);
  throw truncated(what);
}

/** Whether the bytes have no control characters (below 0x20) except tab, LF and CR. */
export function isText(bytes: Buffer): boolean {
  return bytes.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

/** Skips zeros: tapes and some uploaders fill files up with them. */
export async function skipZeros(source: ByteSource): Promise<void> {
  for (let bytes = await source.next(); bytes; bytes = await source.next()) {
    const end = bytes.findIndex((byte) => byte !== 0);
    if (end !== -1) return source.unread(bytes.subarray(end));
  }
}

/**
 * Skips to the next part of a damaged archive. If no part begins in the rest of the input, skips to its end and resolves to false.
 * @param magic the first bytes of a part
 * @param isStart whether a part begins at these 16 bytes, or fewer at the end of the input. A short magic also occurs by chance
 */
export async function skipTo(
  source: ByteSource,
  magic: Buffer,
  isStart: (head: Buffer) => boolean,
): Promise<boolean> {
  // begins with few bytes: a long look ahead would copy them again at each of many damaged places
  for (let size = 1024; ; size = Math.min(2 * size, largestChunk)) {
    const head = await source.peek(size);
    const isLast = head.byteLength < size;
    const last = isLast ? head.byteLength : head.byteLength - 16;
    let at = head.indexOf(magic);
    while (at !== -1 && at <= last && !isStart(head.subarray(at, at + 16))) at = head.indexOf(magic, at + 1);
    if (at !== -1 && at <= last) return source.skip(at);
    if (isLast) {
      await source.skip(Number.POSITIVE_INFINITY); // throws if the input failed
      return false;
    }
    await source.skip(last + 1);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
