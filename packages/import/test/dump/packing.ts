import { crc32, deflateRawSync, gzipSync, zstdCompressSync } from "node:zlib";

export interface EntryToPack {
  readonly name: string;
  readonly bytes: Uint8Array | string;
  readonly method?: "stored" | "deflate";
  /** Its sizes are in a descriptor after it, as when a stream is packed. */
  readonly descriptor?: boolean;
  readonly zip64?: boolean;
  readonly encrypted?: boolean;
  /** A method number that is not the real one. */
  readonly claims?: number;
}

/** Packs a ZIP archive: the same bytes for the same entries. */
export function zipSync(entries: readonly EntryToPack[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  const push = (...buffers: Buffer[]) => {
    parts.push(...buffers);
    for (const buffer of buffers) offset += buffer.byteLength;
  };
  for (const entry of entries) {
    const start = offset;
    const bytes = Buffer.from(entry.bytes as string);
    const data = entry.method === "stored" ? bytes : deflateRawSync(bytes);
    const sum = crc32(bytes);
    const name = Buffer.from(entry.name);
    const flags = 0x800 | (entry.descriptor ? 8 : 0) | (entry.encrypted ? 1 : 0);
    const method = entry.claims ?? (entry.method === "stored" ? 0 : 8);
    const sizes = Buffer.concat(
      entry.zip64
        ? [u64(bytes.byteLength), u64(data.byteLength)]
        : [u32(data.byteLength), u32(bytes.byteLength)],
    );
    const known = entry.zip64 ? Buffer.concat([u32(0xffffffff), u32(0xffffffff)]) : sizes;
    const extra =
      entry.zip64 && !entry.descriptor ? Buffer.concat([u16(1), u16(16), sizes]) : Buffer.alloc(0);
    const common = (inDirectory: boolean) =>
      Buffer.concat([
        u16(45),
        u16(flags),
        u16(method),
        u32(0x5a6b7c00),
        entry.descriptor && !inDirectory ? Buffer.alloc(12) : Buffer.concat([u32(sum), known]),
        u16(name.byteLength),
        u16(extra.byteLength),
      ]);
    push(u32(0x04034b50), common(false), name, extra, data);
    if (entry.descriptor) {
      const [unpacked, packed] = [bytes.byteLength, data.byteLength];
      const after = entry.zip64 ? [u64(packed), u64(unpacked)] : [u32(packed), u32(unpacked)];
      push(u32(0x08074b50), u32(sum), ...after);
    }
    directory.push(
      Buffer.concat([u32(0x02014b50), u16(45), common(true), Buffer.alloc(10), u32(start), name, extra]),
    );
  }
  const start = offset;
  push(...directory);
  const count = u16(entries.length);
  push(u32(0x06054b50), u32(0), count, count, u32(offset - start), u32(start), u16(0));
  return Buffer.concat(parts);
}

/** A frame that decoders skip; pzstd begins each file with one. */
export function skippableFrame(bytes: Uint8Array, magic = 0x184d2a50): Buffer {
  return Buffer.concat([u32(magic), u32(bytes.byteLength), bytes]);
}

/** Two members, as `cat a.gz b.gz` makes them. */
export function gzipTwo(bytes: Uint8Array): Buffer {
  const half = bytes.byteLength >> 1;
  return Buffer.concat([gzipSync(bytes.subarray(0, half)), gzipSync(bytes.subarray(half))]);
}

/** Two frames, each after a skippable one. */
export function zstdTwo(bytes: Uint8Array): Buffer {
  const half = bytes.byteLength >> 1;
  const skip = skippableFrame(Buffer.from("skip"));
  return Buffer.concat([
    skip,
    zstdCompressSync(bytes.subarray(0, half)),
    skip,
    zstdCompressSync(bytes.subarray(half)),
  ]);
}

function u16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeUInt16LE(value);
  return buffer;
}

function u32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value >>> 0);
  return buffer;
}

function u64(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
}
