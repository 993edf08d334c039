/** Gathers chunks up to a limit. Its memory grows with their bytes, not with their number. */
export interface ByteBuffer {
  /** Adds a chunk, which may be kept and not copied. Returns false, and does not add it, if there would be more than `limitBytes`. */
  add(chunk: Uint8Array): boolean;
  /** Joins the chunks. A single chunk is returned as it is, not copied. */
  bytes(): Uint8Array;
  /** How many bytes there are. */
  size(): number;
  /** How much memory the chunks take, in bytes: less than twice `size()`. */
  allocated(): number;
}

/** Chunks of at least this length, and the first one, are kept as they are until `bytes()` joins all. Others are copied immediately. */
const longBytes = 4 * 1024;

/** Creates an empty buffer. */
export function byteBuffer(limitBytes: number): ByteBuffer {
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  let tail: Uint8Array = empty; // the short chunks after the last kept one
  let tailSize = 0;
  let size = 0;

  function keep(part: Uint8Array, allocatedBytes: number): void {
    kept.push(part);
    keptBytes += allocatedBytes;
  }

  function keepTail(): void {
    if (tailSize > 0) keep(tail.subarray(0, tailSize), tail.byteLength);
    tail = empty;
    tailSize = 0;
  }

  return {
    add(chunk) {
      const { byteLength } = chunk;
      if (size + byteLength > limitBytes) return false;
      // most bodies are one chunk, and need no copy
      if (size === 0 || byteLength >= longBytes) {
        keepTail();
        keep(chunk, byteLength);
      } else {
        if (tailSize + byteLength > tail.byteLength) tail = enlarged(tail, tailSize + byteLength);
        tail.set(chunk, tailSize);
        tailSize += byteLength;
      }
      size += byteLength;
      return true;
    },
    bytes() {
      keepTail();
      if (kept.length > 1) kept = [Buffer.concat(kept, size)];
      keptBytes = size;
      return kept[0] ?? empty;
    },
    size: () => size,
    allocated: () => keptBytes + tail.byteLength,
  };
}

const empty = new Uint8Array();

/** Returns a copy with room for `needed` bytes, or for twice as many as now if that is more. */
function enlarged(buffer: Uint8Array, needed: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(needed, 2 * buffer.byteLength));
  larger.set(buffer);
  return larger;
}
