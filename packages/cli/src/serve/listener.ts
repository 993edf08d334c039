import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger, NodeHandler } from "@esim-webhooks/core";
import { ProgramError } from "../program/program-error.ts";

export interface Listening {
  /** Where deliveries are to be sent. */
  readonly url: string;
  /** Takes no more connections. Resolves when those that are open have ended, or a second after `answered` has. */
  close(answered: Promise<unknown>): Promise<void>;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly logger: Logger;
}

/** Listens, and hands what comes for `path` to the receiver. Throws `cannot_listen`. */
export async function listen(receive: NodeHandler, options: ListenerOptions): Promise<Listening> {
  const { host, port, path, logger } = options;
  const answer: RequestListener = (request, response) => {
    const asked = withoutSlash((request.url ?? "").replace(/\?.*/s, ""));
    if (asked === withoutSlash(path)) return receive(request, response);
    logger.warn({ outcome: "no_such_path", path: asked.slice(0, 100) }, `Deliveries are taken at ${path}.`);
    response.writeHead(404, { "content-type": "text/plain" }).end(`Deliveries are taken at ${path}.\n`);
  };
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new ProgramError(
      "cannot_listen",
      `Nothing can listen at ${host}, port ${port}.`,
      "Name a free port by --port (0: any), and an address of this machine by --host.",
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
