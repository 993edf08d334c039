import { createZstdDecompress } from "node:zlib";
import { type ByteSource, exactly } from "./byte-source.ts";
import { createDecoder, type Decoder } from "./decoder.ts";
import { damagedDump, truncated, unknownDump } from "./errors.ts";

const what = "zstd file";
const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50; // to 0x184d2a5f
const blockLimit = 128 * 1024;
// zstd's own default limit
const windowLimit = 128 * 1024 * 1024;

/**
 * Unpacks every frame of a zstd file (RFC 8878), and skips skippable frames. Calls `onPart` for each frame and each block, which
 * takes as much time as a frame. Throws `damaged_dump`.
 * It finds the blocks itself, because node:zlib silently stops after the first frame and accepts a truncated one
 * (nodejs/node#64741).
 */
export async function* unzstd(packed: ByteSource, onPart: () => void): AsyncGenerator<Buffer> {
  // each frame is fed exactly to its end, so one decoder can read all of them
  const decoder = createDecoder(createZstdDecompress());
  try {
    for (let magic = await packed.take(4); magic.byteLength > 0; magic = await packed.take(4)) {
      onPart();
      if (isSkippable(magic)) {
        const size = await exactly(packed, 4, what);
        if (!(await packed.skip(size.readUInt32LE(0)))) throw truncated(what);
      } else if (isFrame(magic)) {
        yield* unpackFrame(packed, magic, decoder, onPart);
      } else {
        throw magic.byteLength < 4
          ? truncated(what)
          : damagedDump("The zstd file continues with data that is not zstd.");
      }
    }
  } finally {
    decoder.close();
  }
}

export function isZstd(head: Buffer): boolean {
  return isFrame(head) || isSkippable(head);
}

function isFrame(head: Buffer): boolean {
  return head.byteLength >= 4 && head.readUInt32LE(0) === frameMagic;
}

function isSkippable(head: Buffer): boolean {
  return head.byteLength >= 4 && (head.readUInt32LE(0) & 0xfffffff0) >>> 0 === skippableMagic;
}

async function* unpackFrame(
  packed: ByteSource,
  magic: Buffer,
  decoder: Decoder,
  onBlock: () => void,
): AsyncGenerator<Buffer> {
  const { header, hasChecksum } = await readHeader(packed);
  let before: Buffer = Buffer.concat([magic, header]);
  for (let last = false; !last; before = Buffer.alloc(0)) {
    onBlock();
    const head = await exactly(packed, 3, what);
    const word = head.readUIntLE(0, 3);
    const type = (word >> 1) & 3;
    const size = type === 1 ? 1 : word >> 3; // type 1: one byte, repeated
    if (type === 3 || size > blockLimit) throw damaged();
    // each block is unpacked as soon as it is complete
    yield* unpack(Buffer.concat([before, head, await exactly(packed, size, what)]), decoder);
    last = (word & 1) === 1;
  }
  if (hasChecksum) yield* unpack(await exactly(packed, 4, what), decoder);
}

async function* unpack(bytes: Buffer, decoder: Decoder): AsyncGenerator<Buffer> {
  const { output, taken, error } = await decoder.feed(bytes);
  yield* output;
  if (error || taken < bytes.byteLength) throw damaged(error);
}

async function readHeader(packed: ByteSource): Promise<{ header: Buffer; hasChecksum: boolean }> {
  const descriptor = (await exactly(packed, 1, what))[0] as number;
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeLog = descriptor >> 6;
  const sizeBytes = sizeLog === 0 && !isSingle ? 0 : 2 ** sizeLog;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number;
  const rest = await exactly(packed, (isSingle ? 0 : 1) + dictionaryBytes + sizeBytes, what);
  if (dictionaryBytes > 0) {
    throw unknownDump(
      "The zstd file needs a dictionary.",
      "Unpack it with `zstd -dc -D <dictionary>` first.",
    );
  }
  const window = isSingle ? contentSize(rest, sizeBytes) : windowSize(rest[0] as number);
  if (window > windowLimit) {
    throw unknownDump(
      "The zstd file needs more than 128 MiB of memory to unpack.",
      "Unpack it with `zstd -dc --long=31` first.",
    );
  }
  return { header: Buffer.concat([Buffer.of(descriptor), rest]), hasChecksum: (descriptor & 4) !== 0 };
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentSize(rest: Buffer, bytes: number): number {
  if (bytes === 8) return Number(rest.readBigUInt64LE(0));
  return bytes === 2 ? rest.readUInt16LE(0) + 256 : rest.readUIntLE(0, bytes);
}

function damaged(cause?: unknown): Error {
  return damagedDump("The zstd file is damaged.", cause);
}
