import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ProgramError } from "./program-error.ts";

export interface OpenServer {
  /** Where it listens, without a path. */
  readonly url: string;
  readonly server: Server;
}

export interface ServerAt {
  readonly host: string;
  readonly port: number;
  /** The flags that name them, for the message. */
  readonly flags: { readonly host: string; readonly port: string };
}

/** Listens. Throws `cannot_listen`. */
export async function openServer(
  answer: RequestListener,
  { host, port, flags }: ServerAt,
): Promise<OpenServer> {
  const server = createServer(answer).listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new ProgramError(
      "cannot_listen",
      `Cannot listen on ${host}, port ${port}.`,
      `Choose a free port with ${flags.port} (0: any), or an address of this machine with ${flags.host}.`,
      { cause },
    );
  }
  const { address, family, port: bound } = server.address() as AddressInfo;
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`, server };
}

/** The path that a request asks for, without a query and a slash at its end. */
export function requestedPath(url = ""): string {
  return withoutSlash(url.replace(/\?.*/s, ""));
}

export function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}
