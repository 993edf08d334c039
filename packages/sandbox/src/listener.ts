import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebhookError } from "@esim-webhooks/core";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import type { SandboxErrorCode } from "./base/refused.ts";

/** A Hono app, which answers requests. */
export interface App {
  fetch(request: Request, bindings: HttpBindings): Response | Promise<Response>;
}

export interface Listening {
  /** The address, without a slash at its end. */
  readonly url: string;
  /** Stops listening, and cuts the open connections. */
  close(): Promise<void>;
}

/** The name of a server and the way to choose its port, for messages. */
export interface Listener {
  readonly name: string;
  readonly option: string;
}

/** How long a request may take to arrive completely, in ms. */
const arrivalMs = 10_000;

/**
 * Listens only on 127.0.0.1, and answers 408 to a request that has not arrived whole after `requestTimeout` ms. Throws
 * `cannot_listen`.
 */
export async function listen(
  app: App,
  port: number,
  { name, option }: Listener,
  requestTimeout: number = arrivalMs,
): Promise<Listening> {
  const server = createAdaptorServer({
    fetch: (request, bindings) => app.fetch(request, bindings as HttpBindings), // HTTP/1.1: no bindings of HTTP/2
    overrideGlobalObjects: false,
    serverOptions: {
      requestTimeout,
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: requestTimeout / 4,
    },
  }) as Server;
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === "EADDRINUSE";
    const why = isTaken ? ": another program, perhaps another sandbox, has it" : "";
    throw new WebhookError<SandboxErrorCode>(
      "cannot_listen",
      `Cannot listen on port ${port} of 127.0.0.1 for ${name}${why}.`,
      `Choose another with the option ${option}; 0 is any free one.`,
      { cause, option },
    );
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
