import { createHash } from "node:crypto";
import { isUint8Array } from "node:util/types";
import { WebhookError } from "../errors.ts";

/** A dump's bytes as they come in: counted, and cut off by a signal. */
export interface WatchedInput {
  readonly bytes: AsyncIterable<Uint8Array>;
  bytesRead(): number;
  /** A hash of its first 64 KiB, which are kept for `bytes`. Call it before. */
  fingerprint(): Promise<string>;
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
