import { crc32 } from "node:zlib";
import { type ByteSource, exactly, isText, skipTo, skipZeros } from "./byte-source.ts";
import { inflate } from "./decoder.ts";
import { damagedDump, truncated } from "./errors.ts";
import { packingOf } from "./recognise.ts";
import type { Parts } from "./unpacking.ts";

const what = "gzip file";
const magic = Buffer.of(0x1f, 0x8b, 8);
const headerBytes = 32; // most headers are shorter
const has = { headerCrc: 2, extra: 4, name: 8, comment: 16 };

/**
 * Unpacks every member of a gzip file (RFC 1952), and calls `onMember` for each. Zeros between and after members are padding. Damaged
 * members, and bytes outside members, are noted in `parts`; `damaged_dump` is thrown at the end.
 */
export async function* gunzip(
  packed: ByteSource,
  onMember: () => void,
  parts: Parts,
): AsyncGenerator<Buffer> {
  do {
    onMember();
    const at = packed.taken();
    const head = Buffer.from(await packed.peek(headerBytes));
    if (yield* parts.read(at, unpackMember(packed))) continue;
    // the next member may begin within the header of this one
    const used = packed.taken() - at;
    if (used <= headerBytes) packed.unread(head.subarray(1, used));
    if (!(await skipTo(packed, magic, isMember))) break;
  } while (await anotherMember(packed, parts));
  parts.check();
}

async function* unpackMember(packed: ByteSource): AsyncGenerator<Buffer> {
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
}

/** Whether a member probably begins with these bytes. The magic alone, 3 bytes, also occurs by chance. */
function isMember(head: Buffer): boolean {
  const [, , method, flags = 0, , , , , level = 0, system = 0] = head;
  return (
    packingOf(head) === "gzip" &&
    method === 8 &&
    flags < 32 &&
    [0, 2, 4].includes(level) &&
    (system < 20 || system === 255)
  );
}

async function anotherMember(packed: ByteSource, parts: Parts): Promise<boolean> {
  await skipZeros(packed);
  const head = await packed.peek(64);
  if (packingOf(head) === "gzip") return true;
  if (head.byteLength === 0) return (await packed.next()) !== undefined; // throws if the input failed
  const at = packed.taken();
  const isFound = await skipTo(packed, magic, isMember);
  const size = packed.taken() - at;
  parts.foreign(at, size, isText(head.subarray(0, size)));
  return isFound;
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
