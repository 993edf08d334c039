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
  let buffer = Buffer.allocUnsafe(Math.min(limitBytes, 4096));
  let size = 0;
  return {
    add(chunk) {
      const end = size + chunk.byteLength;
      if (end > limitBytes) return false;
      if (end > buffer.byteLength) {
        const larger = Buffer.allocUnsafe(Math.min(limitBytes, Math.max(end, 2 * buffer.byteLength)));
        buffer.copy(larger, 0, 0, size);
        buffer = larger;
      }
      buffer.set(chunk, size);
      size = end;
      return true;
    },
    bytes: () => buffer.subarray(0, size),
  };
}
