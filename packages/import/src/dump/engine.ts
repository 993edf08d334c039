import type { Transform } from "node:stream";

/** The result of unpacking one piece of packed bytes. */
export interface Unpacked {
  readonly output: readonly Buffer[];
  /** How many of the piece's bytes were used: fewer than all when the packed stream ends inside the piece. */
  readonly taken: number;
  /** Why the piece cannot be unpacked. `output` has the bytes before the error. */
  readonly error?: unknown;
}

/** A decoder of `node:zlib`, fed piece by piece. */
export interface Engine {
  /** Resolves when the whole piece is unpacked: small pieces keep memory small. */
  feed(piece: Buffer): Promise<Unpacked>;
  close(): void;
}

/**
 * Creates an engine on a stream of `node:zlib`. It collects output by `data` events and never ends the stream: a stream
 * that fails or ends early drops buffered output, and so does its iterator.
 */
export function createEngine(stream: Transform & { readonly bytesWritten: number }): Engine {
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
