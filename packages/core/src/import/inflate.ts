import { createInflateRaw } from "node:zlib";
import type { ByteSource } from "./byte-source.ts";
import { damagedDump } from "./damage.ts";
import { createEngine } from "./engine.ts";

// 16 KiB of a bomb unpack to 16 MiB, which is all that is ever held
const pieceBytes = 16 * 1024;

/** Unpacks one deflate stream (RFC 1951) and leaves the source behind its last byte. Throws `damaged_dump`. */
export async function* inflate(packed: ByteSource, what: string): AsyncGenerator<Buffer> {
  const engine = createEngine(createInflateRaw());
  try {
    for (;;) {
      const piece = await packed.next(pieceBytes);
      if (piece === undefined) throw damagedDump(`The ${what} ends before its end.`);
      const { output, taken, error } = await engine.feed(piece);
      yield* output;
      if (error) throw damagedDump(`The ${what} is damaged.`, error);
      // the decoder leaves what is behind its stream, of which a trailer is always there
      if (taken < piece.byteLength) return packed.unread(piece.subarray(taken));
    }
  } finally {
    engine.close();
  }
}
