import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import type { StartServer } from "@esim-webhooks/conformance";
import { discardRest, nodeHandler, webhookHandler } from "@esim-webhooks/core";
import { listen } from "../../../../test/listen.ts";

export const onNode: StartServer = (target, options, before) => {
  const handler = nodeHandler(target, options);
  const listener: RequestListener = (request, response) =>
    void before().then(() => handler(request, response));
  return listen(listener, "/", handler.close);
};

export const behindBareRequest: StartServer = (target, options, before) => {
  const handler = webhookHandler(target, options);
  const closing = new AbortController();
  return listen(
    async (incoming, outgoing) => {
      const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
      const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method ?? "",
        headers: new Headers(incoming.headers as Record<string, string>),
        ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" }),
      } as RequestInit);
      await before();
      const response = await handler(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(Buffer.from(await response.arrayBuffer()));
      discardRest(incoming, closing.signal); // a fetch handler has no connection to cut
    },
    "/",
    () => {
      closing.abort();
      return handler.close();
    },
  );
};
