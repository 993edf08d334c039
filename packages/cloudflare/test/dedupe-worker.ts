// A Worker that passes the requests of a `durableObjectStore` outside on to its Durable Objects, by the name in the path.
import { DedupeObject, type DurableObjectNamespace } from "@esim-webhooks/cloudflare";

export { DedupeObject };

interface Env {
  readonly DEDUPE: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

export default {
  fetch(request: Request, { DEDUPE }: Env): Promise<Response> | Response {
    const name = new URL(request.url).pathname.slice(1);
    return name === "" ? new Response() : DEDUPE.getByName(name).fetch(request);
  },
};

/** The binding of that Worker, for code outside. */
export function bindingAt(url: string): DurableObjectNamespace {
  const headers = { connection: "close" }; // workerd may close a connection just when it is used again
  return {
    getByName: (name) => ({ fetch: (_url, request) => fetch(`${url}/${name}`, { ...request, headers }) }),
  };
}
