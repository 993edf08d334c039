import type { IncomingMessage, ServerResponse } from "node:http";
import { createPlaces } from "./places.ts";

/** Answers any request with a text: the request's method and path make no difference. */
export interface TextHandler {
  /** For fetch: Hono, Next.js, Bun, Deno. */
  (request?: Request): Promise<Response>;
  /**
   * For Node.js and Express: `app.get(path, handler.node)`. For Fastify: `handler.node(request.raw, reply.raw)`. It never rejects.
   */
  readonly node: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

/** The answer of a `TextHandler`. */
export interface TextAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** The body. */
  readonly text: string;
}

const busy: TextAnswer = { status: 503, text: "Too many requests are in progress. Try again later.\n" };
const busyHeaders = { "content-type": "text/plain", "cache-control": "no-store", "retry-after": "1" };

/**
 * Makes a handler that answers with what `answer` resolves to; `answer` must not reject. No cache keeps an answer. While 32 answers are being
 * made or written, further requests are answered 503.
 */
export function textHandler(contentType: string, answer: () => Promise<TextAnswer>): TextHandler {
  const headers = { "content-type": contentType, "cache-control": "no-store" };
  const places = createPlaces();
  const handler = async (): Promise<Response> => {
    if (!places.enter()) return new Response(busy.text, { status: busy.status, headers: busyHeaders });
    try {
      const { status, text } = await answer();
      return new Response(text, { status, headers });
    } finally {
      places.leave();
    }
  };
  return Object.assign(handler, {
    async node(request: IncomingMessage, response: ServerResponse) {
      const isHeld = places.hold(request, response);
      const { status, text } = isHeld ? await answer() : busy;
      if (!isHeld) response.shouldKeepAlive = false; // further requests on this connection are not read
      try {
        response.writeHead(status, isHeld ? headers : busyHeaders).end(text);
      } catch {
        response.destroy(); // something else has answered already
      }
    },
  });
}
