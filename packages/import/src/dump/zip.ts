import { crc32 } from "node:zlib";
import { type ByteSource, exactly } from "./byte-source.ts";
import { damagedDump, truncated, unknownDump } from "./damage.ts";
import { inflate } from "./inflate.ts";
import {
  readZipHeader,
  signatures,
  takeDescriptor,
  takeUnknownDescriptor,
  type ZipHeader,
} from "./zip-header.ts";

/** One entry of a ZIP archive. Its bytes have to be read, to their end or to their error, before the next one is. */
export interface ZipEntry {
  /** Without control characters; its first 255 characters. */
  readonly name: string;
  /** Throws `damaged_dump`, also at their end when the checksum is wrong, and `unknown_dump` where they cannot be unpacked. */
  readonly bytes: AsyncGenerator<Buffer>;
}

const what = "ZIP archive";
const stored = 0;
const deflated = 8;

/**
 * Reads a ZIP archive from front to back (APPNOTE 6.3), since a stream has no random access to its directory; the directory is
 * read all the same, to know that the archive is whole. Throws `damaged_dump` where the next entry cannot be found.
 */
export async function* zipEntries(packed: ByteSource): AsyncGenerator<ZipEntry> {
  for (let entries = 0; ; ) {
    const signature = await readSignature(packed);
    if (signature === signatures.entry) {
      const header = await readZipHeader(packed);
      const data = section(packed, header.sizes?.packedBytes);
      const seen: Seen = { end: false, descriptor: false };
      yield { name: header.name, bytes: readEntry(packed, data, header, seen) };
      await moveOn(packed, data, header, seen);
      entries++;
    } else {
      const told = await readDirectory(packed, signature);
      if (told !== entries % 2 ** 16 && told !== 2 ** 16 - 1) {
        throw damagedDump(
          `The ${what} is damaged: its directory has another number of entries than it holds.`,
        );
      }
      if (!(await anotherArchive(packed))) return;
      entries = 0;
    }
  }
}

export function isZip(head: Buffer): boolean {
  if (head.byteLength < 4) return false;
  const signature = head.readUInt32LE(0);
  return signature === signatures.entry || signature === signatures.end;
}

/** How far the reading of an entry has come. */
interface Seen {
  end: boolean;
  descriptor: boolean;
}

type Section = Pick<ByteSource, "next" | "unread"> & { taken(): number };

/** The bytes of one entry, which may be all that follow when their number is not known. */
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
  seen: Seen,
): AsyncGenerator<Buffer> {
  refuse(header);
  let crc = 0;
  let unpackedBytes = 0;
  for await (const bytes of header.method === stored
    ? everything(data)
    : inflate(data, "ZIP archive's entry")) {
    crc = crc32(bytes, crc);
    unpackedBytes += bytes.byteLength;
    yield bytes;
  }
  seen.end = true;
  if (header.hasDescriptor) {
    seen.descriptor = await takeDescriptor(packed, { crc, packedBytes: data.taken(), unpackedBytes });
    if (!seen.descriptor) throw wrongChecksum();
  } else if (header.sizes?.crc !== crc || header.sizes.unpackedBytes !== unpackedBytes) {
    throw wrongChecksum();
  }
}

function wrongChecksum(): Error {
  return damagedDump(
    `An entry of the ${what} is damaged: what it holds does not match its checksum, and any of it may be wrong.`,
  );
}

function refuse({ encrypted, method, sizes }: ZipHeader): void {
  if (encrypted)
    throw unknownDump(`An entry of the ${what} is encrypted.`, "Unpack it with its password before.");
  if (method !== stored && method !== deflated) {
    throw unknownDump(
      `An entry of the ${what} is packed by method ${method}; there are 0 (stored) and 8 (deflate).`,
      "Unpack it before, or pack it anew with `zip`.",
    );
  }
  if (method === stored && !sizes) {
    throw unknownDump(
      `An entry of the ${what} is stored without its size, so that its end cannot be told in a stream.`,
      "Unpack it before, or pack it anew with `zip`.",
    );
  }
}

async function* everything(data: Section): AsyncGenerator<Buffer> {
  for (let bytes = await data.next(); bytes; bytes = await data.next()) yield bytes;
}

/** Goes to what follows the entry. */
async function moveOn(packed: ByteSource, data: Section, header: ZipHeader, seen: Seen): Promise<void> {
  const isFound =
    header.sizes === undefined ? seen.end : await packed.skip(header.sizes.packedBytes - data.taken());
  const isPast =
    !header.hasDescriptor || seen.descriptor || (isFound && (await takeUnknownDescriptor(packed)));
  if (!isFound || !isPast) {
    throw damagedDump(`Where the ${what} goes on behind an entry that cannot be read is not known.`);
  }
}

async function readSignature(packed: ByteSource): Promise<number> {
  return (await exactly(packed, 4, what)).readUInt32LE(0);
}

/** Reads the directory and what ends it; returns how many entries it says there are. */
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
      throw damagedDump(`The ${what} is damaged: it goes on with something that is no part of one.`);
    }
  }
}

async function anotherArchive(packed: ByteSource): Promise<boolean> {
  const head = await packed.peek(4);
  if (isZip(head)) return true;
  if (head.byteLength === 0) return (await packed.next()) !== undefined; // or throws, where the input failed
  throw damagedDump(`The ${what} goes on with something that is no part of one.`);
}
