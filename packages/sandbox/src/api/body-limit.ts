import type { MiddlewareHandler } from "hono";

/** The largest body that is read, of the API and of the control side. */
export const maxBodyBytes: number = 1024 * 1024;

/**
 * Answers larger bodies with `refuse`, which may also throw. Not Hono's own: that makes a `Request` of one that is not Node's,
 * which throws for every body without a length.
 */
export function bodyLimit(refuse: () => Response): MiddlewareHandler {
  return async ({ req }, next) => {
    const isChunked = req.header("transfer-encoding") !== undefined;
    const bytes = isChunked
      ? (await req.arrayBuffer()).byteLength
      : Number(req.header("content-length") ?? 0);
    return bytes > maxBodyBytes ? refuse() : next();
  };
}
