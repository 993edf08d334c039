import { createZstdDecompress } from "node:zlib";
import { type ByteSource, exactly, isText, skipTo, skipZeros } from "./byte-source.ts";
import { createDecoder, type Decoder } from "./decoder.ts";
import { damagedDump, truncated, unknownDump } from "./errors.ts";
import { packingOf } from "./recognise.ts";
import type { Parts } from "./unpacking.ts";

const what = "zstd file";
const magic = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);
const skippableMagic = 0x184d2a50; // to 0x184d2a5f
const blockLimit = 128 * 1024;
// zstd's own default limit
const windowLimit = 128 * 1024 * 1024;

/**
 * Unpacks every frame of a zstd file (RFC 8878), and skips skippable frames, and zeros between and after frames. Calls `onPart` for each
 * frame and each block, which takes as much time as a frame. Damaged frames, and bytes outside frames, are noted in `parts`;
 * `damaged_dump` is thrown at the end.
 * It finds the blocks itself, because node:zlib silently stops after the first frame and accepts a truncated one
 * (nodejs/node#64741).
 */
export async function* unzstd(packed: ByteSource, onPart: () => void, parts: Parts): AsyncGenerator<Buffer> {
  // each frame is fed exactly to its end, so one decoder can read all of them
  let decoder = createDecoder(createZstdDecompress());
  try {
    for (let isFound = true; isFound; await skipZeros(packed)) {
      const at = packed.taken();
      const head = await packed.peek(64);
      if (head.byteLength === 0) break;
      if (packingOf(head) === "zstd" || magic.indexOf(head) === 0) {
        onPart();
        const isWhole = yield* parts.read(
          at,
          isSkippable(head) ? skipFrame(packed) : unpackFrame(packed, decoder, onPart),
        );
        if (isWhole) continue;
        decoder.close();
        decoder = createDecoder(createZstdDecompress());
        isFound = await skipTo(packed, magic, isFrame);
      } else {
        isFound = await skipTo(packed, magic, isFrame);
        const size = packed.taken() - at;
        parts.foreign(at, size, isText(head.subarray(0, size)));
      }
    }
    await packed.next(); // throws if the input failed
    parts.check();
  } finally {
    decoder.close();
  }
}

function isFrame(head: Buffer): boolean {
  return head.subarray(0, 4).equals(magic);
}

function isSkippable(head: Buffer): boolean {
  return head.byteLength >= 4 && (head.readUInt32LE(0) & 0xfffffff0) >>> 0 === skippableMagic;
}

// biome-ignore lint/correctness/useYield: it has the shape of unpackFrame
async function* skipFrame(packed: ByteSource): AsyncGenerator<Buffer> {
  const head = await exactly(packed, 8, what);
  if (!(await packed.skip(head.readUInt32LE(4)))) throw truncated(what);
}

async function* unpackFrame(
  packed: ByteSource,
  decoder: Decoder,
  onBlock: () => void,
): AsyncGenerator<Buffer> {
  await packed.take(magic.byteLength);
  const { header, hasChecksum } = await readHeader(packed);
  let before: Buffer = Buffer.concat([magic, header]);
  for (let last = false; !last; before = Buffer.alloc(0)) {
    onBlock();
    const head = await exactly(packed, 3, what);
    const word = head.readUIntLE(0, 3);
    const type = (word >> 1) & 3;
    const size = type === 1 ? 1 : word >> 3; // type 1: one byte, repeated
    if (type === 3 || size > blockLimit) {
      packed.unread(head); // the next frame may begin here
      throw damaged();
    }
    const body = await exactly(packed, size, what);
    // each block is unpacked as soon as it is complete
    try {
      yield* unpack(Buffer.concat([before, head, body]), decoder);
    } catch (error) {
      packed.unread(Buffer.concat([head, body])); // the next frame may begin here, or within the block
      throw error;
    }
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
