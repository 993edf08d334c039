import { createHash } from "node:crypto";
import { fstat, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { isUint8Array } from "node:util/types";
import { crc32 } from "node:zlib";
import { WebhookError } from "@esim-webhooks/core";
import { unlessAborted } from "./replay/batches.ts";

/** The first bytes of a dump, by their number and their CRC-32. */
export interface Prefix {
  readonly bytes: number;
  readonly crc32: number;
}

/** The input of an import. It counts the bytes, and a signal can end it. */
export interface WatchedInput {
  readonly bytes: AsyncIterable<Uint8Array>;
  bytesRead(): number;
  /** Resolves to a hash of the first 64 KiB. Call it before reading `bytes`, which still yields them. */
  fingerprint(): Promise<string>;
  /** The part that was read so far. */
  prefix(): Prefix;
  /** Once that many bytes are read, `bytes` fails with this error unless they are the same. Call it before reading. */
  expect(prefix: Prefix, error: Error): void;
  /** Whether the expected bytes were read, or none were expected. */
  isAsExpected(): boolean;
  /** Whether the input is a Node.js stream of this file. */
  isOfFile(path: string): Promise<boolean>;
  /** Throws the input's own error, if it rejected, or the signal's reason. */
  check(): void;
  /** Closes the input, whether it was read to its end or not. */
  close(): void;
}

const headBytes = 64 * 1024;

/** Throws `invalid_input` if the input is not a stream. `bytes` rejects with it if the stream yields anything but bytes, and with the signal's reason once the signal aborts. */
export function watchInput(input: AsyncIterable<Uint8Array>, signal?: AbortSignal): WatchedInput {
  if (typeof input?.[Symbol.asyncIterator] !== "function") {
    throw notBytes("The input is not a stream.");
  }
  const chunks = input[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let bytesRead = 0;
  let checksum = 0;
  let expected: { readonly prefix: Prefix; readonly error: Error } | undefined;
  let failure: { readonly error: unknown } | undefined;

  /** Counts a chunk. Throws at the end of the expected prefix if the bytes up to there are not the expected ones. */
  function count(chunk: Uint8Array): void {
    const left = (expected?.prefix.bytes ?? 0) - bytesRead;
    if (expected !== undefined && left <= chunk.byteLength) {
      const { prefix, error } = expected;
      if (crc32(chunk.subarray(0, left), checksum) !== prefix.crc32) {
        failure ??= { error };
        throw error;
      }
      expected = undefined;
    }
    checksum = crc32(chunk, checksum);
    bytesRead += chunk.byteLength;
  }

  async function next(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await unlessAborted(chunks.next(), signal);
      if (done) return undefined;
      if (isUint8Array(value)) return value;
      throw notBytes(`The stream yields a ${typeof value}, not bytes.`);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = head.shift() ?? (await next());
      if (chunk === undefined) return;
      count(chunk);
      yield chunk;
    }
  }

  return {
    bytes: bytes(),
    bytesRead: () => bytesRead,
    prefix: () => ({ bytes: bytesRead, crc32: checksum }),
    expect(prefix, error) {
      if (prefix.bytes > 0) expected = { prefix, error };
    },
    isAsExpected: () => expected === undefined,
    async isOfFile(path) {
      const [there, here] = await Promise.all([fileAt(path), fileOf(input)]);
      return there !== undefined && here !== undefined && there.ino === here.ino && there.dev === here.dev;
    },
    check() {
      signal?.throwIfAborted();
      if (failure) throw failure.error;
    },
    close() {
      chunks.return?.()?.catch(() => {}); // not awaited: a stream may never answer
    },
    async fingerprint() {
      for (let length = 0; length < headBytes; ) {
        const chunk = await next();
        if (chunk === undefined) break;
        head.push(chunk);
        length += chunk.byteLength;
      }
      return createHash("sha256").update(Buffer.concat(head).subarray(0, headBytes)).digest("hex");
    },
  };
}

/** The file that a stream reads; undefined for any other source. */
async function fileOf(input: object): Promise<Stats | undefined> {
  const { path, fd } = input as { readonly path?: unknown; readonly fd?: unknown };
  if (typeof fd === "number") return regular(promisify(fstat)(fd)); // standard input has only a descriptor
  return typeof path === "string" ? fileAt(path) : undefined;
}

function fileAt(path: string): Promise<Stats | undefined> {
  return regular(stat(path));
}

async function regular(result: Promise<Stats>): Promise<Stats | undefined> {
  const stats = await result.catch(() => undefined);
  return stats?.isFile() ? stats : undefined;
}

function notBytes(problem: string): WebhookError {
  return new WebhookError(
    "invalid_input",
    problem,
    "Pass a stream of bytes, such as createReadStream(file) without an encoding.",
  );
}
