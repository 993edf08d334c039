import { byteBuffer } from "@esim-webhooks/core/internal";
import type { MiddlewareHandler } from "hono";

/** The largest body that is read, of the API and of the control side. */
export const maxBodyBytes: number = 1024 * 1024;

/** The most bytes of all bodies in progress. A chunked one counts as `maxBodyBytes`. */
const mostBytesTogether = 64 * maxBodyBytes;

export interface BodyRefusals {
  /** Answers a body that is larger than the limit. May also throw. */
  tooLarge(): Response;
  /** Answers a body that does not fit next to those of the other requests in progress. May also throw. */
  tooMany(): Response;
}

/**
 * Limits the size of each body, and of all bodies together: a sender that falls silent holds memory until its request times out. Not
 * Hono's own `bodyLimit`: for a body without a length, it copies the adapter's `Request`, which Node.js refuses.
 */
export function bodyLimit({ tooLarge, tooMany }: BodyRefusals): MiddlewareHandler {
  let heldBytes = 0;
  return async ({ req }, next) => {
    const isChunked = req.header("transfer-encoding") !== undefined;
    const bytes = isChunked ? maxBodyBytes : Number(req.header("content-length") ?? 0);
    if (bytes > maxBodyBytes) return tooLarge();
    if (heldBytes + bytes > mostBytesTogether) return tooMany();
    heldBytes += bytes;
    try {
      if (isChunked) {
        const body = await readUpToLimit(req.raw.body);
        if (body === undefined) return tooLarge();
        req.bodyCache.arrayBuffer = Promise.resolve(body) as never; // Hono keeps promises here; its type leaves them out
      }
      return await next();
    } finally {
      heldBytes -= bytes;
    }
  };
}

/** Reads a body. Undefined as soon as it is larger than the limit: the rest is not read. */
async function readUpToLimit(stream: ReadableStream<Uint8Array> | null): Promise<ArrayBuffer | undefined> {
  const buffer = byteBuffer(maxBodyBytes);
  for await (const chunk of stream ?? []) {
    if (!buffer.add(chunk)) return undefined;
  }
  return new Uint8Array(buffer.bytes()).buffer;
}
