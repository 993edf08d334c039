import type { Transform } from "node:stream";

/** What one piece of packed bytes came to. */
export interface Unpacked {
  readonly output: readonly Buffer[];
  /** How many of the piece's bytes were taken: fewer than all where the packed stream ends within it. */
  readonly taken: number;
  /** What is wrong with the piece; the output before it is there all the same. */
  readonly error?: unknown;
}

/** A decoder of `node:zlib`, fed piece by piece. */
export interface Engine {
  /** Resolves once the whole piece is unpacked, so that the pieces' size is the back-pressure. */
  feed(piece: Buffer): Promise<Unpacked>;
  close(): void;
}

/**
 * Never ends the stream and reads each output as it is made: a stream that is ended or destroyed drops what it holds, and
 * so does its iterator.
 */
export function createEngine(stream: Transform & { readonly bytesWritten: number }): Engine {
  let output: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => output.push(bytes));
  let fail: (error: unknown) => void = () => {};
  stream.on("error", (error) => fail(error)); // zstd's does not call back the write
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
