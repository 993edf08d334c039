import { createHash } from "node:crypto";
import { fstat, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { isUint8Array } from "node:util/types";
import { WebhookError } from "@esim-webhooks/core";

/** A dump's bytes as they come in: counted, and cut off by a signal. */
export interface WatchedInput {
  readonly bytes: AsyncIterable<Uint8Array>;
  bytesRead(): number;
  /** A hash of its first 64 KiB, which are kept for `bytes`. Call it before. */
  fingerprint(): Promise<string>;
  /** Whether it is read from this file, as far as a stream of Node.js tells. */
  isRead(path: string): Promise<boolean>;
  /** Throws what the input rejected with, which is not the dump's fault, or the signal's reason. */
  check(): void;
  /** Lets go of the input, read to its end or not. */
  close(): void;
}

const headBytes = 64 * 1024;

/** Throws `invalid_input` for what is no stream of bytes. Once the signal aborts, the bytes reject with its reason. */
export function watchInput(input: AsyncIterable<Uint8Array>, signal?: AbortSignal): WatchedInput {
  if (typeof input?.[Symbol.asyncIterator] !== "function") {
    throw notBytes("The input is not a stream.");
  }
  const chunks = input[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let bytesRead = 0;
  let failure: { readonly error: unknown } | undefined;

  async function next(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await unlessAborted(chunks.next(), signal);
      if (done) return undefined;
      if (isUint8Array(value)) return value;
      throw notBytes(`The stream gives a ${typeof value}.`);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = head.shift() ?? (await next());
      if (chunk === undefined) return;
      bytesRead += chunk.byteLength;
      yield chunk;
    }
  }

  return {
    bytes: bytes(),
    bytesRead: () => bytesRead,
    async isRead(path) {
      const [there, here] = await Promise.all([fileAt(path), fileOf(input)]);
      return there !== undefined && here !== undefined && there.ino === here.ino && there.dev === here.dev;
    },
    check() {
      signal?.throwIfAborted();
      if (failure) throw failure.error;
    },
    close() {
      chunks.return?.()?.catch(() => {}); // not awaited: it may wait for a chunk that never comes
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

/** What a stream reads; undefined where it is no file. */
async function fileOf(input: object): Promise<Stats | undefined> {
  const { path, fd } = input as { readonly path?: unknown; readonly fd?: unknown };
  if (typeof fd === "number") return regular(promisify(fstat)(fd)); // of standard input, there is nothing else
  return typeof path === "string" ? fileAt(path) : undefined;
}

function fileAt(path: string): Promise<Stats | undefined> {
  return regular(stat(path));
}

async function regular(looking: Promise<Stats>): Promise<Stats | undefined> {
  const stats = await looking.catch(() => undefined);
  return stats?.isFile() ? stats : undefined;
}

// not by a race with one promise for all, which would keep every one of them
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function notBytes(problem: string): WebhookError {
  return new WebhookError(
    "invalid_input",
    problem,
    "Pass a stream of bytes, such as createReadStream(file) without an encoding.",
  );
}
