// A Worker that runs a test of `receiverSuite` at /run?name=…, with itself as the server under test: a receiver of its own for each path.
// The suite's connections are made outside, by `wire-outside.ts`: workerd has no client that sends raw HTTP.
import type { StartServer } from "@esim-webhooks/conformance";
import { webhookHandler } from "@esim-webhooks/core";
import { setWireUrl } from "./wire-outside.ts";

const tests = new Map<string, () => Promise<void>>();
const servers = new Map<
  string,
  (request: Request, env: unknown, context: ExecutionContext) => Promise<Response>
>();
let suite = "";
let origin = "";

interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

const startServer: StartServer = async (target, options, before) => {
  const path = `/${servers.size + 1}`;
  const handler = webhookHandler(target, options);
  servers.set(path, (request, env, context) => {
    const answer = before().then(() => handler(request, env, context));
    context.waitUntil(answer); // or the work of `before` ends when the client leaves
    return answer;
  });
  const url = `${origin}${path}`;
  return { url, shutDown: handler.close, close: handler.close };
};

/** By its file, since its package also starts processes. It makes secrets as it is loaded, which workerd allows only in a request. */
async function loadSuite(): Promise<void> {
  const { receiverSuite } = await import("../../conformance/src/receiver/receiver-suite.ts");
  receiverSuite("webhookHandler", startServer, {
    describe(name, body) {
      suite = name;
      body();
    },
    it: (name, body) => void tests.set(`${suite}: ${name}`, body),
  });
}

export default {
  async fetch(request: Request, env: unknown, context: ExecutionContext): Promise<Response> {
    const { pathname, searchParams, origin: own } = new URL(request.url);
    const server = servers.get(/^\/\d+/.exec(pathname)?.[0] ?? "");
    if (server !== undefined) return server(request, env, context);
    if (pathname !== "/run") return new Response();
    origin = own;
    setWireUrl(searchParams.get("wire") ?? "");
    const waiting = setInterval(() => {}, 1000); // or workerd ends a request that only waits for another one
    try {
      if (tests.size === 0) await loadSuite();
      await tests.get(searchParams.get("name") ?? "")?.();
      return new Response("passed");
    } catch (error) {
      return new Response(String((error as Error).stack), { status: 500 });
    } finally {
      clearInterval(waiting);
    }
  },
};
