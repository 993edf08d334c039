import type { IncomingMessage, ServerResponse } from "node:http";

/** Answers a request with a text. It looks at neither its method nor its path. */
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

/** Makes a handler of what `answer` resolves to, which must not reject. No cache keeps its answers. */
export function textHandler(contentType: string, answer: () => Promise<TextAnswer>): TextHandler {
  const headers = { "content-type": contentType, "cache-control": "no-store" };
  const handler = async (): Promise<Response> => {
    const { status, text } = await answer();
    return new Response(text, { status, headers });
  };
  return Object.assign(handler, {
    async node(_: IncomingMessage, response: ServerResponse) {
      const { status, text } = await answer();
      try {
        response.writeHead(status, headers).end(text);
      } catch {
        response.destroy(); // something else has answered already
      }
    },
  });
}
