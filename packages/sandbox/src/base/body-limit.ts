import { byteBuffer } from "@esim-webhooks/core/kit";
import type { MiddlewareHandler } from "hono";

/** The largest body that is read, of the API and of the control side. */
export const maxBodyBytes: number = 1024 * 1024;

/**
 * Answers larger bodies with `refuse`, which may also throw. Not Hono's own: that makes a `Request` of one that is not Node's,
 * which throws for every body without a length.
 */
export function bodyLimit(refuse: () => Response): MiddlewareHandler {
  return async ({ req }, next) => {
    if (Number(req.header("content-length") ?? 0) > maxBodyBytes) return refuse();
    if (req.header("transfer-encoding") === undefined) return next();
    const body = await readUpToLimit(req.raw.body);
    if (body === undefined) return refuse();
    req.bodyCache.arrayBuffer = Promise.resolve(body) as never; // Hono keeps promises here; its type leaves them out
    return next();
  };
}

/** Undefined once there is more than the limit: the rest is not read. */
async function readUpToLimit(stream: ReadableStream<Uint8Array> | null): Promise<ArrayBuffer | undefined> {
  const buffer = byteBuffer(maxBodyBytes);
  for await (const chunk of stream ?? []) {
    if (!buffer.add(chunk)) return undefined;
  }
  return new Uint8Array(buffer.bytes()).buffer;
}
