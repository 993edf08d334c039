import { gzipSync } from "node:zlib";

const lineOf = (id: string) => `${JSON.stringify({ eventId: id })}\n`;

/** A dump in pieces of 64 KiB, as from a file. */
export async function* inPieces(dump: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < dump.byteLength; at += 65_536) yield dump.subarray(at, at + 65_536);
}

/** Packs one line and that many bytes of blanks to a thousandth. */
export function gzipOfBlanks(bytes: number): Uint8Array {
  return gzipSync(Buffer.concat([Buffer.from(lineOf("msg_1")), Buffer.alloc(bytes, "\n")]));
}

/** A million members with nothing in them. */
export function emptyGzipMembers(): Uint8Array {
  return Buffer.alloc(20_000_000, gzipSync(""));
}
