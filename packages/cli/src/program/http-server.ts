import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { targetPath } from "@esim-webhooks/core/internal";
import { programError } from "./program-error.ts";

export interface OpenServer {
  /** Where the server listens, without a path. */
  readonly url: string;
  readonly server: Server;
}

export interface ServerAt {
  readonly host: string;
  readonly port: number;
  /** The flags that name the host and the port, for the message. */
  readonly flags: { readonly host: string; readonly port: string };
}

/** Listens. Throws `cannot_listen`. */
export function openServer(answer: RequestListener, at: ServerAt): Promise<OpenServer> {
  return listenOn(createServer(answer), at);
}

/** As `openServer`, with a server of `createSideServer`. */
export function openSideServer(answer: RequestListener, at: ServerAt): Promise<OpenServer> {
  return listenOn(createSideServer().on("request", answer), at);
}

/** The time that a request to a side server may take to arrive, in ms. */
const arrivalMs = 5000;

/**
 * Makes a server for metrics, probes or the dashboard, which a single client cannot keep busy: each connection has one request, which
 * must arrive within 5 s or is answered 408. The answer closes the connection.
 */
export function createSideServer(): Server {
  const bounds = { headersTimeout: arrivalMs, requestTimeout: arrivalMs, connectionsCheckingInterval: 1000 };
  const server = createServer(bounds, (_, response) => {
    response.shouldKeepAlive = false;
  });
  server.maxRequestsPerSocket = 1; // drops other requests that were read with the first one
  return server;
}

async function listenOn(server: Server, { host, port, flags }: ServerAt): Promise<OpenServer> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw programError(
      "cannot_listen",
      `Cannot listen on ${host}, port ${port}.`,
      `Choose a free port with ${flags.port} (0: any), or an address of this machine with ${flags.host}.`,
      { cause },
    );
  }
  const { address, family, port: bound } = server.address() as AddressInfo;
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`, server };
}

/** The path of a request's target, without the query, and without a slash at the end. */
export function requestedPath(target = ""): string {
  return withoutSlash(targetPath(target).replace(/\?.*/s, ""));
}

export function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}
