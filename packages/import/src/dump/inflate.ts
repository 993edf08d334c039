import { createInflateRaw } from "node:zlib";
import type { ByteSource } from "./byte-source.ts";
import { damagedDump, truncated } from "./damage.ts";
import { createEngine, type Engine } from "./engine.ts";

// 16 KiB unpack to at most 16 MiB, even in a zip bomb: no more is held in memory
const pieceBytes = 16 * 1024;

/** Unpacks one deflate stream (RFC 1951) and takes no bytes after it. Throws `damaged_dump`; `what` names the file. */
export async function* inflate(
  packed: Pick<ByteSource, "next" | "unread">,
  what: string,
): AsyncGenerator<Buffer> {
  const engine = createEngine(createInflateRaw());
  try {
    for (;;) {
      const piece = await packed.next(pieceBytes);
      if (piece === undefined) {
        if (await hasEnded(engine)) return;
        throw truncated(what);
      }
      const { output, taken, error } = await engine.feed(piece);
      yield* output;
      if (error) throw damagedDump(`The ${what} is damaged.`, error);
      // bytes after the end of the stream are left over
      if (taken < piece.byteLength) return packed.unread(piece.subarray(taken));
    }
  } finally {
    engine.close();
  }
}

/** Whether the stream is complete: then the decoder does not take another byte. There is no other way to ask. */
async function hasEnded(engine: Engine): Promise<boolean> {
  const { taken, error } = await engine.feed(Buffer.alloc(1));
  return !error && taken === 0;
}
