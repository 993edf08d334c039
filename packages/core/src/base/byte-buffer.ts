/** Gathers chunks up to a limit. Its memory grows with their bytes, not with their number. */
export interface ByteBuffer {
  /** False once there are more than `limitBytes`. */
  add(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
  /** How many bytes there are. */
  size(): number;
  /** How much memory they take, in bytes: less than twice as much. */
  allocated(): number;
}

export function byteBuffer(limitBytes: number): ByteBuffer {
  let buffer: Uint8Array = new Uint8Array();
  let size = 0;
  return {
    add(chunk) {
      const end = size + chunk.byteLength;
      if (end > limitBytes) return false;
      if (size === 0) {
        buffer = chunk; // most are one chunk, and need no copy
      } else {
        if (end > buffer.byteLength) buffer = enlarged(buffer, end, limitBytes);
        buffer.set(chunk, size);
      }
      size = end;
      return true;
    },
    bytes: () => buffer.subarray(0, size),
    size: () => size,
    allocated: () => buffer.byteLength,
  };
}

/** A copy with room for `needed` bytes, or for twice the present size where the limit allows. */
function enlarged(buffer: Uint8Array, needed: number, limitBytes: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(limitBytes, Math.max(needed, 2 * buffer.byteLength)));
  larger.set(buffer);
  return larger;
}
