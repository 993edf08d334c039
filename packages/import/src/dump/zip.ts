import { crc32 } from "node:zlib";
import { type ByteSource, exactly, skipTo, skipZeros } from "./byte-source.ts";
import { inflate } from "./decoder.ts";
import { damagedDump, truncated, unknownDump } from "./errors.ts";
import { packingOf } from "./recognise.ts";
import { isDamage } from "./unpacking.ts";
import {
  readZipHeader,
  signatures,
  takeDescriptor,
  takeUnknownDescriptor,
  type ZipHeader,
} from "./zip-header.ts";

/** An entry of a ZIP archive. Read its bytes, to their end or an error, before you ask for the next entry. */
export interface ZipEntry {
  /** Its first 255 characters, with U+FFFD for control characters. */
  readonly name: string;
  /** Throws `damaged_dump`, at the end too if the checksum is wrong, and `unknown_dump` for an unsupported entry. */
  readonly bytes: AsyncGenerator<Buffer>;
}

// Our own reader, because each library fails a dump of test/dump/damage.test.ts: fflate 0.8 compares no checksum ("is detected by the
// checksum of a stored entry"), and zip.js 2.24 reads nothing without the directory at the end, so it holds the whole archive and
// loses a truncated one ("ZIP, at 0.5 of it").
const what = "ZIP archive";
const stored = 0;
const deflated = 8;

/**
 * Reads a ZIP archive from front to back (APPNOTE 6.3): a stream cannot jump to the directory at its end. It compares the
 * number of entries with that in the directory. Calls `onPart` for each entry and each archive. After damage it searches for the next
 * entry, and throws `damaged_dump` at the end.
 */
export async function* zipEntries(packed: ByteSource, onPart: () => void): AsyncGenerator<ZipEntry> {
  const problems: string[] = [];
  let entries = 0;
  for (let isFound = true; isFound; ) {
    onPart();
    const at = packed.taken();
    try {
      const signature = await readSignature(packed);
      if (signature === signatures.entry) {
        const header = await readZipHeader(packed);
        const data = section(packed, header.sizes?.packedBytes);
        const seen: Seen = { end: false, descriptor: false };
        entries++;
        yield { name: header.name, bytes: readEntry(packed, data, header, at, seen) };
        isFound = (await moveOn(packed, data, header, seen)) || (await skipToPart(packed));
        if (!isFound)
          problems.push(`The ${what} ends without its directory, so more entries may be missing.`);
      } else {
        const listed = await readDirectory(packed, signature);
        if (listed !== entries % 2 ** 16 && listed !== 2 ** 16 - 1) {
          problems.push(
            `The directory of the ${what} lists ${listed} entries, but ${entries} ${entries === 1 ? "was" : "were"} found.`,
          );
        }
        entries = 0;
        isFound = await anotherArchive(packed);
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (problems.length < 3) problems.push(error.problem);
      isFound = await skipToPart(packed);
    }
  }
  if (problems.length > 0) throw damagedDump(problems.join(" "));
}

/** Skips to the next entry, directory or end record. Resolves to false when there is none. */
function skipToPart(packed: ByteSource): Promise<boolean> {
  return skipTo(packed, Buffer.from("PK"), (head) => {
    if (head.byteLength < 16) return false;
    const signature = head.readUInt32LE(0);
    // versions up to 6.3 and methods up to 99 exist: compressed bytes contain a signature by chance
    if (signature === signatures.entry) return head.readUInt16LE(4) <= 63 && head.readUInt16LE(8) <= 99;
    return signature === signatures.directory || signature === signatures.end;
  });
}

/** How far an entry was read. */
interface Seen {
  end: boolean;
  descriptor: boolean;
}

type Section = Pick<ByteSource, "next" | "unread"> & { taken(): number };

/** The bytes of one entry; all following bytes if its size is not known. */
function section(packed: ByteSource, size = Number.POSITIVE_INFINITY): Section {
  let taken = 0;
  return {
    async next(max = 64 * 1024) {
      if (taken >= size) return undefined;
      const bytes = await packed.next(Math.min(max, size - taken));
      if (bytes === undefined) throw truncated(what);
      taken += bytes.byteLength;
      return bytes;
    },
    unread(bytes) {
      taken -= bytes.byteLength;
      packed.unread(bytes);
    },
    taken: () => taken,
  };
}

async function* readEntry(
  packed: ByteSource,
  data: Section,
  header: ZipHeader,
  at: number,
  seen: Seen,
): AsyncGenerator<Buffer> {
  const named = `entry "${header.name}" of the ${what}, at byte ${at},`;
  refuse(header, named);
  let crc = 0;
  let unpackedBytes = 0;
  for await (const bytes of header.method === stored ? everything(data) : inflate(data, named)) {
    crc = crc32(bytes, crc);
    unpackedBytes += bytes.byteLength;
    yield bytes;
  }
  seen.end = true;
  if (header.hasDescriptor) {
    seen.descriptor = await takeDescriptor(packed, { crc, packedBytes: data.taken(), unpackedBytes });
    if (!seen.descriptor) throw wrongChecksum(named);
  } else if (header.sizes?.crc !== crc || header.sizes.unpackedBytes !== unpackedBytes) {
    throw wrongChecksum(named);
  }
}

function wrongChecksum(named: string): Error {
  return damagedDump(
    `The ${named} is damaged: its content does not match its checksum, so any part of it may be wrong.`,
  );
}

function refuse({ encrypted, method, sizes }: ZipHeader, named: string): void {
  if (encrypted) throw unknownDump(`The ${named} is encrypted.`, "Unpack it with its password first.");
  if (method !== stored && method !== deflated) {
    throw unknownDump(
      `The ${named} uses the compression method ${method}; only 0 (stored) and 8 (deflate) are supported.`,
      "Unpack it first, or pack it again with `zip`.",
    );
  }
  if (method === stored && !sizes) {
    throw unknownDump(
      `The ${named} is stored without its size, so its end cannot be found in a stream.`,
      "Unpack it first, or pack it again with `zip`.",
    );
  }
}

async function* everything(data: Section): AsyncGenerator<Buffer> {
  for (let bytes = await data.next(); bytes; bytes = await data.next()) yield bytes;
}

/** Moves to the end of the entry and its descriptor. Resolves to false when that end is not known. */
async function moveOn(packed: ByteSource, data: Section, header: ZipHeader, seen: Seen): Promise<boolean> {
  const isFound =
    header.sizes === undefined ? seen.end : await packed.skip(header.sizes.packedBytes - data.taken());
  if (!isFound) return false;
  return !header.hasDescriptor || seen.descriptor || takeUnknownDescriptor(packed);
}

async function readSignature(packed: ByteSource): Promise<number> {
  return (await exactly(packed, 4, what)).readUInt32LE(0);
}

/** Reads the directory and its end record. Resolves to the number of entries in that record. */
async function readDirectory(packed: ByteSource, first: number): Promise<number> {
  for (let signature = first; ; signature = await readSignature(packed)) {
    if (signature === signatures.directory) {
      const head = await exactly(packed, 42, what);
      const size = head.readUInt16LE(24) + head.readUInt16LE(26) + head.readUInt16LE(28);
      await exactly(packed, size, what);
    } else if (signature === signatures.zip64End) {
      const size = await exactly(packed, 8, what);
      if (!(await packed.skip(Number(size.readBigUInt64LE(0))))) throw truncated(what);
    } else if (signature === signatures.zip64Locator) {
      await exactly(packed, 16, what);
    } else if (signature === signatures.end) {
      const head = await exactly(packed, 18, what);
      await exactly(packed, head.readUInt16LE(16), what);
      return head.readUInt16LE(6);
    } else {
      const at = packed.taken() - 4;
      packed.unread(asSignature(signature)); // the next entry may begin within these bytes
      throw damagedDump(`The ${what} contains data at byte ${at} that is not part of a ZIP archive.`);
    }
  }
}

function asSignature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

async function anotherArchive(packed: ByteSource): Promise<boolean> {
  await skipZeros(packed);
  const head = await packed.peek(4);
  if (head.byteLength === 0) return (await packed.next()) !== undefined; // throws if the input failed
  if (packingOf(head) === "zip") return true;
  throw damagedDump(
    `The ${what} continues at byte ${packed.taken()} with data that is not part of a ZIP archive.`,
  );
}
