import { isUint8Array } from "node:util/types";
import { WebhookError } from "@esim-webhooks/core";
import { byteBuffer } from "@esim-webhooks/core/kit";
import { truncated } from "./damage.ts";

/** Bytes that are pulled as they are needed, and that can be looked at before they are taken. */
export interface ByteSource {
  /**
   * The next bytes, as many as there are at hand and at most `max`; undefined at the end.
   * Throws what the input throws, once everything before it was taken.
   */
  next(max?: number): Promise<Buffer | undefined>;
  /** Puts bytes back in front. */
  unread(bytes: Buffer): void;
  /** The next `size` bytes, without taking them; fewer where the input ends or fails before. */
  peek(size: number): Promise<Buffer>;
  /** Takes `size` bytes; fewer where the input ends before. */
  take(size: number): Promise<Buffer>;
  /** Takes and drops as many bytes; false where the input ends before. */
  skip(size: number): Promise<boolean>;
  /** Lets go of the input. */
  close(): Promise<void>;
}

// what is parsed at once: a caller may hand over a whole file as one chunk
const largestChunk = 64 * 1024;

const noText = "Read it without an encoding: createReadStream(path).";

/**
 * Throws `invalid_input` where the input gives anything but bytes.
 * @param count is told of every chunk before anybody sees it, and may throw
 */
export function byteSource(
  input: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void = () => {},
): ByteSource {
  let iterator: AsyncIterator<Uint8Array> | undefined;
  let held: Buffer = Buffer.alloc(0);
  let ended = false;
  let failure: { readonly error: unknown } | undefined;

  /** The input's next chunk; a failure is kept until what is held was taken. */
  async function pull(): Promise<Buffer | undefined> {
    while (!ended) {
      try {
        iterator ??= input[Symbol.asyncIterator]();
        const { done, value } = await iterator.next();
        if (done) {
          ended = true;
        } else if (!isUint8Array(value)) {
          throw new WebhookError("invalid_input", `A dump is bytes; got a ${typeof value}.`, noText);
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
    held = held.subarray(bytes.byteLength);
    return bytes;
  }

  return {
    next,
    unread(bytes) {
      held = joined(bytes, held);
    },
    async peek(size) {
      await hold(size);
      return held.subarray(0, size);
    },
    async take(size) {
      await hold(size);
      if (held.byteLength < size && failure) throw failure.error;
      const bytes = held.subarray(0, size);
      held = held.subarray(bytes.byteLength);
      return bytes;
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

/** One buffer of two, without a copy where they were one: short members are put back by the thousand. */
function joined(first: Buffer, second: Buffer): Buffer {
  if (second.byteLength === 0) return first;
  const wereOne = first.buffer === second.buffer && first.byteOffset + first.byteLength === second.byteOffset;
  if (!wereOne) return Buffer.concat([first, second]);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength + second.byteLength);
}

/** Takes `size` bytes. Throws `damaged_dump` where the input, which is `what`, ends before. */
export async function exactly(source: ByteSource, size: number, what: string): Promise<Buffer> {
  const bytes = await source.take(size);
  if (bytes.byteLength < size) throw truncated(what);
  return bytes;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
