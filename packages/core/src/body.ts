import type { Outcome } from "./outcome.ts";

/** Why there are no bytes to verify. */
export type BodyFault = Extract<Outcome, { code: "too_large" | "body_incomplete" | "body_consumed" }>;

/**
 * Reads a request's raw body: at most `limitBytes`, and no longer than until `signal` aborts.
 * Resolves with the fault instead of rejecting; leaves the connection open, so that an answer can be sent.
 */
export type BodyReader = (limitBytes: number, signal: AbortSignal) => Promise<Uint8Array | BodyFault>;

/** Gathers chunks up to a limit, in memory in proportion to their bytes and not to their number. */
export interface BodyBuffer {
  /** False once there are more than `limitBytes`. */
  add(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
}

export function bodyBuffer(limitBytes: number): BodyBuffer {
  let buffer: Uint8Array = new Uint8Array();
  let size = 0;
  return {
    add(chunk) {
      const end = size + chunk.byteLength;
      if (end > limitBytes) return false;
      if (size === 0) {
        buffer = chunk; // most bodies are one chunk, and need no copy
      } else {
        if (end > buffer.byteLength) buffer = enlarged(buffer, end, limitBytes);
        buffer.set(chunk, size);
      }
      size = end;
      return true;
    },
    bytes: () => buffer.subarray(0, size),
  };
}

/** A copy with room for `needed` bytes, and for as many again while the limit allows. */
function enlarged(buffer: Uint8Array, needed: number, limitBytes: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(limitBytes, Math.max(needed, 2 * buffer.byteLength)));
  larger.set(buffer);
  return larger;
}
