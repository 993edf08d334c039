import { type ByteSource, exactly } from "./byte-source.ts";

/** The local header of an entry (APPNOTE 4.3.7). */
export interface ZipHeader {
  /** Its first 255 characters, with U+FFFD for control characters. */
  readonly name: string;
  readonly method: number;
  readonly encrypted: boolean;
  /** Undefined when only the descriptor after the entry contains them. */
  readonly sizes: ZipSizes | undefined;
  /** Whether a descriptor follows the entry. */
  readonly hasDescriptor: boolean;
}

export interface ZipSizes {
  readonly crc: number;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

export const signatures = {
  entry: 0x04034b50,
  descriptor: 0x08074b50,
  directory: 0x02014b50,
  zip64End: 0x06064b50,
  zip64Locator: 0x07064b50,
  end: 0x06054b50,
} as const;

const what = "ZIP archive";
const inZip64 = 0xffffffff;

/** Takes a header, after its signature. */
export async function readZipHeader(packed: ByteSource): Promise<ZipHeader> {
  const head = await exactly(packed, 26, what);
  const flags = head.readUInt16LE(2);
  const name = await exactly(packed, head.readUInt16LE(22), what);
  const extra = await exactly(packed, head.readUInt16LE(24), what);
  const sizes = sizesOf(head, extra);
  const method = head.readUInt16LE(4);
  const hasDescriptor = (flags & 8) !== 0;
  const isFolder = method === 0 && name.at(-1) === 0x2f;
  return {
    name: printable(name.toString((flags & 0x800) !== 0 ? "utf8" : "latin1")),
    method,
    encrypted: (flags & 1) !== 0,
    sizes: hasDescriptor && sizes.packedBytes === 0 && !isFolder ? undefined : sizes,
    hasDescriptor,
  };
}

function sizesOf(head: Buffer, extra: Buffer): ZipSizes {
  const crc = head.readUInt32LE(10);
  let packedBytes = head.readUInt32LE(14);
  let unpackedBytes = head.readUInt32LE(18);
  let at = zip64Field(extra);
  if (at !== -1 && unpackedBytes === inZip64) {
    unpackedBytes = Number(extra.readBigUInt64LE(at));
    at += 8;
  }
  if (at !== -1 && packedBytes === inZip64) packedBytes = Number(extra.readBigUInt64LE(at));
  return { crc, packedBytes, unpackedBytes };
}

/** The index of the sizes in extra field 1, or -1. */
function zip64Field(extra: Buffer): number {
  for (let at = 0; at + 4 <= extra.byteLength; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === 1 && at + 20 <= extra.byteLength) return at + 4;
  }
  return -1;
}

/**
 * Takes the descriptor after an entry. It may have a signature or not, and sizes of 32 or 64 bits: only the sizes
 * themselves show which. Resolves to false when no form of it matches the unpacked entry.
 */
export async function takeDescriptor(packed: ByteSource, sizes: ZipSizes): Promise<boolean> {
  const head = await packed.peek(24);
  const start = head.byteLength >= 4 && head.readUInt32LE(0) === signatures.descriptor ? 4 : 0;
  for (const [from, size] of [
    [start, 8],
    [start, 4],
    [0, 8],
    [0, 4],
  ] as const) {
    if (head.byteLength < from + 4 + 2 * size || head.readUInt32LE(from) !== sizes.crc) continue;
    const number = (at: number) => (size === 8 ? Number(head.readBigUInt64LE(at)) : head.readUInt32LE(at));
    const wrap = size === 8 ? Number.POSITIVE_INFINITY : 2 ** 32;
    if (number(from + 4) !== sizes.packedBytes % wrap) continue;
    if (number(from + 4 + size) !== sizes.unpackedBytes % wrap) continue;
    await packed.take(from + 4 + 2 * size);
    return true;
  }
  return false;
}

/** Takes the descriptor after an entry that could not be read. Resolves to false when no signature follows any form of it. */
export async function takeUnknownDescriptor(packed: ByteSource): Promise<boolean> {
  const head = await packed.peek(28);
  const size = [0, 12, 16, 20, 24].find((length) => {
    const signature = head.byteLength < length + 4 ? 0 : head.readUInt32LE(length);
    return signature === signatures.entry || signature === signatures.directory;
  });
  await packed.take(size ?? 0);
  return size !== undefined;
}

// a name may have 64 KiB, and every record of its entry has it in its position
const longestName = 255;

function printable(name: string): string {
  return name.slice(0, longestName).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
