import { createInflateRaw } from "node:zlib";
import type { ByteSource } from "./byte-source.ts";
import { damagedDump, truncated } from "./damage.ts";
import { createEngine, type Engine } from "./engine.ts";

// 16 KiB of a bomb unpack to 16 MiB, which is all that is ever held
const pieceBytes = 16 * 1024;

/** Unpacks one deflate stream (RFC 1951) and leaves the source behind its last byte. Throws `damaged_dump`. */
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
      // the decoder leaves what is behind its stream
      if (taken < piece.byteLength) return packed.unread(piece.subarray(taken));
    }
  } finally {
    engine.close();
  }
}

/** The decoder says that it is at its end only by leaving a byte. */
async function hasEnded(engine: Engine): Promise<boolean> {
  const { taken, error } = await engine.feed(Buffer.alloc(1));
  return !error && taken === 0;
}
