import type { Outcome } from "./outcome.ts";

/** Why there are no bytes to verify. */
export type BodyFault = Extract<Outcome, { code: "too_large" | "body_incomplete" | "body_consumed" }>;

/**
 * Reads a request's raw body: at most `limitBytes`, and no longer than until `signal` aborts.
 * Resolves with the fault instead of rejecting; leaves the connection open, so that an answer can be sent.
 */
export type BodyReader = (limitBytes: number, signal: AbortSignal) => Promise<Uint8Array | BodyFault>;

/** Gathers chunks up to a limit. */
export interface BodyBuffer {
  /** False once there are more than `limitBytes`. */
  add(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
}

export function bodyBuffer(limitBytes: number): BodyBuffer {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    add(chunk) {
      size += chunk.byteLength;
      if (size > limitBytes) return false;
      chunks.push(chunk);
      return true;
    },
    bytes: () => (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
  };
}
