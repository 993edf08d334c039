import { crc32 } from "node:zlib";
import { type ByteSource, exactly } from "./byte-source.ts";
import { inflate } from "./decoder.ts";
import { damagedDump, truncated } from "./errors.ts";

const what = "gzip file";
const has = { headerCrc: 2, extra: 4, name: 8, comment: 16 };

/**
 * Unpacks every member of a gzip file (RFC 1952), and calls `onMember` for each. Throws `damaged_dump`, also for other data
 * after the last member.
 */
export async function* gunzip(packed: ByteSource, onMember: () => void): AsyncGenerator<Buffer> {
  do {
    onMember();
    await skipHeader(packed);
    let sum = 0;
    let size = 0;
    for await (const bytes of inflate(packed, what)) {
      sum = crc32(bytes, sum);
      size = (size + bytes.byteLength) % 2 ** 32;
      yield bytes;
    }
    const trailer = await exactly(packed, 8, what);
    if (trailer.readUInt32LE(0) !== sum || trailer.readUInt32LE(4) !== size) {
      throw damagedDump(
        "The gzip file is damaged: its content does not match its checksum, so any part of it may be wrong.",
      );
    }
  } while (await anotherMember(packed));
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

async function anotherMember(packed: ByteSource): Promise<boolean> {
  for (;;) {
    const head = await packed.peek(2);
    if (isGzip(head)) return true;
    const bytes = await packed.next();
    if (bytes === undefined) return false;
    // tapes and some uploaders append zeros
    const end = bytes.findIndex((byte) => byte !== 0);
    if (end === -1) continue;
    const rest = bytes.subarray(end);
    packed.unread(rest);
    if (!isGzip(await packed.peek(2)))
      throw damagedDump("The gzip file continues with data that is not gzip.");
  }
}

async function skipHeader(packed: ByteSource): Promise<void> {
  const header = await exactly(packed, 10, what);
  const flags = header[3] ?? 0;
  if (header[2] !== 8 || flags > 31)
    throw damagedDump("The gzip file is damaged: one of its headers is not valid.");
  if (flags & has.extra) await exactly(packed, (await exactly(packed, 2, what)).readUInt16LE(0), what);
  if (flags & has.name) await skipText(packed);
  if (flags & has.comment) await skipText(packed);
  if (flags & has.headerCrc) await exactly(packed, 2, what);
}

async function skipText(packed: ByteSource): Promise<void> {
  for (;;) {
    const bytes = await packed.next();
    if (bytes === undefined) throw truncated(what);
    const end = bytes.indexOf(0);
    if (end !== -1) return packed.unread(bytes.subarray(end + 1));
  }
}
