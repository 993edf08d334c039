import type { IncomingMessage, ServerResponse } from "node:http";
import { isUint8Array } from "node:util/types";
import { createPlaces, targetPath } from "@esim-webhooks/core/internal";

export interface Asked {
  readonly request: Request;
  /** The framework's own request. */
  readonly native?: unknown;
  /**
   * The `accept-encoding` of the browser, where this mount writes the answer itself. A framework that writes a `Response` may leave out
   * its `content-encoding`, as Next.js does: the browser would then read compressed bytes as a script.
   */
  readonly encodings?: string | undefined;
}

export type Answer = (asked: Asked) => Promise<Response>;

/** A request with the fields that Express adds: the whole path, including the mount's, and perhaps a parsed body. */
export type NodeRequest = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };

/** `authorize` gets the same request as its second argument. The promise never rejects. */
export type NodeMount = (request: NodeRequest, response: ServerResponse) => Promise<void>;

/** The part of a Fastify instance that the plugin calls. */
export interface FastifyApp {
  /** Adds a route for all methods. */
  all(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown;
}

/** The part of a request of Fastify that is read. */
export interface FastifyRequest {
  /** The request of Node.js. */
  readonly raw: IncomingMessage;
  /** The body, which Fastify has parsed. */
  readonly body: unknown;
}

/** The part of a reply of Fastify that is called. */
export interface FastifyReply {
  /** The response of Node.js. */
  readonly raw: ServerResponse;
  /** Sets the status. */
  code(status: number): FastifyReply;
  /** Sets the headers. */
  headers(values: Record<string, string>): FastifyReply;
  /** Sends the body. */
  send(body: Uint8Array): unknown;
}

/** The part of a context of Hono that is read. */
export interface HonoContext {
  /** The request of Hono. */
  readonly req: {
    /** The request of fetch. */
    readonly raw: Request;
  };
}

export interface Mounts {
  /** For Node.js: `http.createServer(dashboard.node)`. For Express 5 and 4: `app.use("/inbox", dashboard.node)`. */
  readonly node: NodeMount;
  /** For Fastify: `app.register(dashboard.fastify, { prefix: "/inbox" })`. */
  readonly fastify: (app: FastifyApp) => Promise<void>;
  /** For Hono: `app.all("/inbox/*", dashboard.hono)`. */
  readonly hono: (context: HonoContext) => Promise<Response>;
}

/** The most bytes of a call's body. */
export const mostBodyBytes = 64_000;

/**
 * Mounts for frameworks, none of which is imported. While 32 answers are being made or written, other requests get 503: a page sends far fewer,
 * and deliveries to the same process wait for these answers.
 */
export function mountsOf(answer: Answer, busy: () => Response): Mounts & { readonly fetch: Answer } {
  const places = createPlaces();

  async function fetch(asked: Asked): Promise<Response> {
    if (!places.enter()) return busy();
    try {
      return await answer(asked);
    } finally {
      places.leave();
    }
  }

  return {
    fetch,
    async node(request, response) {
      if (!places.hold(request, response)) return writeBusy(busy(), response);
      try {
        const answered = await answer({
          request: await requestOf(request, request.originalUrl, request.body),
          native: request,
          encodings: encodingsOf(request),
        });
        const body = Buffer.from(await answered.arrayBuffer());
        response.writeHead(answered.status, Object.fromEntries(answered.headers));
        response.end(request.method === "HEAD" ? undefined : body);
      } catch {
        response.destroy(); // the client has left, or something else has answered
      }
    },
    async fastify(app) {
      for (const path of ["/", "/*"])
        app.all(path, async (request, reply) => {
          const isHeld = places.hold(request.raw, reply.raw);
          if (!isHeld) reply.raw.shouldKeepAlive = false;
          const answered = !isHeld
            ? busy()
            : await answer({
                request: await requestOf(request.raw, undefined, request.body),
                native: request,
                encodings: encodingsOf(request.raw),
              });
          return reply
            .code(answered.status)
            .headers(Object.fromEntries(answered.headers))
            .send(Buffer.from(await answered.arrayBuffer()));
        });
    },
    hono: (context) => fetch({ request: context.req.raw, native: context }),
  };
}

/** Writes the answer and closes the connection: other requests that wait on it are not read. */
function writeBusy({ status, headers }: Response, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  try {
    response.writeHead(status, Object.fromEntries(headers)).end();
  } catch {
    response.destroy(); // something else has answered
  }
}

function encodingsOf({ headers }: IncomingMessage): string | undefined {
  return headers["accept-encoding"]?.toString();
}

/** Returns a fetch request, with the body that a parser has read, or that it reads itself: of a body that is too large, just more than the limit. */
async function requestOf(
  request: IncomingMessage,
  url = request.url ?? "/",
  parsed?: unknown,
): Promise<Request> {
  const { method = "GET", headers } = request;
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name.startsWith(":") ? [] : [[name, String(value)] as [string, string]],
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  // `//host` would be another host in a relative URL
  return new Request(`http://${headers.host ?? "localhost"}${targetPath(url)}`, {
    method,
    headers: given,
    ...(hasBody && { body: parsed === undefined ? await firstBytes(request) : unparsedBody(parsed) }),
  });
}

async function firstBytes(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > mostBodyBytes) break;
  }
  return Buffer.concat(chunks);
}

function unparsedBody(parsed: unknown): string | Uint8Array<ArrayBuffer> {
  if (isUint8Array(parsed)) return new Uint8Array(parsed);
  return typeof parsed === "string" ? parsed : JSON.stringify(parsed);
}
