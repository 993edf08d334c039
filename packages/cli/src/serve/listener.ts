import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger, NodeHandler } from "@esim-webhooks/core";
import { ProgramError } from "../program/program-error.ts";

export interface Listening {
  /** The URL for deliveries. */
  readonly url: string;
  /** Accepts no more connections. Waits for `answered`, then at most one second for the open connections, and closes them. */
  close(answered: Promise<unknown>): Promise<void>;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly logger: Logger;
}

/** Listens, and passes requests for `path` to the receiver. Throws `cannot_listen`. */
export async function listen(receive: NodeHandler, options: ListenerOptions): Promise<Listening> {
  const { host, port, path, logger } = options;
  const answer: RequestListener = (request, response) => {
    const requested = withoutSlash((request.url ?? "").replace(/\?.*/s, ""));
    if (requested === withoutSlash(path)) return receive(request, response);
    logger.warn(
      { outcome: "no_such_path", path: requested.slice(0, 100) },
      `Deliveries are accepted at ${path}.`,
    );
    response.writeHead(404, { "content-type": "text/plain" }).end(`Deliveries are accepted at ${path}.\n`);
  };
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new ProgramError(
      "cannot_listen",
      `Cannot listen on ${host}, port ${port}.`,
      "Choose a free port with --port (0: any), or an address of this machine with --host.",
      { cause },
    );
  }
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}${path}`,
    async close(answered) {
      const closed = once(server, "close");
      server.close();
      await answered;
      const cut = setTimeout(() => server.closeAllConnections(), 1000);
      await closed;
      clearTimeout(cut);
    },
  };
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}
